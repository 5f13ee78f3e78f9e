//! Commits that are acknowledged when the store has them.

use super::*;

fn acknowledged() -> ArchiveOptions {
    // The interval is long: who waits hurries it.
    ArchiveOptions { interval: Duration::from_secs(20), ack: Duration::from_secs(15), ..ArchiveOptions::default() }
}

#[test]
pub(super) fn a_commit_is_acknowledged_when_the_archive_has_it() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, acknowledged());
    // Behind the first base; then at once, many at a time.
    put(&engine, 0, 1000).unwrap();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let engine = &engine;
            scope.spawn(move || (0..10).for_each(|k| put(engine, 1 + writer * 10 + k, k).unwrap()));
        }
    });
    assert!(begun.elapsed() < Duration::from_secs(15), "nobody waits for the interval: {:?}", begun.elapsed());
    let (restored, copy) = bench.restored("copy");
    assert_eq!(all(&copy), all(&engine), "what was acknowledged is there at once: {restored:?}");
    // While the store is away nothing is acknowledged; it is there when that is back.
    bench.store.before(|operation, name| match operation {
        "create" if name.starts_with("piece-") => Err(io::Error::other("the store is away")),
        _ => Ok(()),
    });
    let writing = engine.clone();
    let waiting = std::thread::spawn(move || put(&writing, 50, 50));
    until("it fails", || archive.status().failures > 0);
    assert!(!waiting.is_finished(), "it is not acknowledged");
    bench.store.let_all();
    archive.stop();
    let told = waiting.join().unwrap();
    assert!(told.as_ref().map_or_else(|error| error.message().contains("durable here"), |()| true), "{told:?}");
    let (_, copy) = bench.restored("again");
    assert_eq!(all(&copy), all(&engine));
}

#[test]
fn who_waits_in_vain_is_told_that_the_commit_is_made() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let ack = Duration::from_millis(300);
    let archive = bench.archive(&engine, quick());
    put(&engine, 1, 1).unwrap();
    shipped(&engine, &archive);
    drop((archive, engine));
    let engine = bench.open("db");
    let archive = bench.archive(&engine, ArchiveOptions { ack, ..quick() });
    put(&engine, 1, 2).unwrap();
    bench.store.before(|_, _| Err(io::Error::other("the store is away")));
    let error = put(&engine, 2, 2).unwrap_err();
    assert_eq!(error.code(), Code::Io, "{error}");
    assert!(error.message().contains("is made and durable here"), "{error}");
    assert_eq!(get(&engine.begin().unwrap(), "row", 2), Some(2), "others see it");
    bench.store.let_all();
    shipped(&engine, &archive);
    // Who has lost the archive acknowledges nothing more.
    let (_, other) = bench.restored("other");
    let _second = bench.archive(&other, quick());
    let error = put(&engine, 3, 3).unwrap_err();
    assert_eq!(error.code(), Code::Poisoned, "{error}");
    assert_eq!(get(&other.begin().unwrap(), "row", 3), None);
}

/// Nothing of a commit is undone, whatever it made, and nothing is held while it waits.
#[test]
fn what_waited_in_vain_stays() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, ArchiveOptions { ack: Duration::from_secs(15), ..quick() });
    put(&engine, 1, 1).unwrap();
    archive.stop();
    drop((archive, engine));
    let engine = bench.open("db");
    let archive = bench.archive(&engine, ArchiveOptions { ack: Duration::from_millis(150), ..quick() });
    shipped(&engine, &archive);
    bench.store.before(|_, _| Err(io::Error::other("the store is away")));
    let in_vain = |made: weft_format::Result<()>| {
        let error = made.unwrap_err();
        assert!(error.message().contains("is made and durable here"), "{error}");
    };
    in_vain(try_load(&engine, 10..40));
    let mut txn = engine.begin().unwrap();
    for method in TABLES {
        let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: false };
        let schema = Schema::new(vec![column("k"), column("v")], vec![0]);
        txn.create_table(NewTable::new(format!("late_{method}"), schema, method)).unwrap();
    }
    in_vain(txn.commit().map(drop));
    let mut txn = engine.begin().unwrap();
    for method in TABLES {
        let t = txn.table(&format!("late_{method}")).unwrap();
        txn.insert(&t, &t.codec.encode([ValueRef::Int(7), ValueRef::Int(70)])).unwrap();
    }
    in_vain(txn.commit().map(drop));
    bench.store.let_all();
    tidy_up(&engine);
    shipped(&engine, &archive);
    let have_all = |engine: &Arc<Engine>| {
        let txn = engine.begin().unwrap();
        for method in TABLES {
            assert_eq!(get(&txn, &format!("late_{method}"), 7), Some(70), "{method}");
            assert!((10..40).all(|k| get(&txn, method, k) == Some(k * 7)), "{method}");
        }
    };
    have_all(&engine);
    archive.stop();
    drop((archive, engine));
    let engine = bench.open("db");
    have_all(&engine);
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    have_all(&bench.restored("copy").1);
}
