//! Nodes over an archive: a writer in one directory, a node in another, and nothing between them but the store.

use super::*;
use crate::node::{Node, NodeOptions};
use crate::standing::Waited;

/// A node with its mirror.
struct Far {
    node: Node,
    mirror: Mirror,
}

fn for_nodes() -> ArchiveOptions {
    ArchiveOptions { nodes: true, ..quick() }
}

fn far_options() -> MirrorOptions {
    MirrorOptions { interval: Duration::from_millis(3), patience: Duration::from_secs(20) }
}

impl Bench {
    fn mirror(&self, name: &str) -> weft_format::Result<Mirror> {
        Mirror::start(&Env::real(), self.store(), &self.at(name), far_options())
    }

    fn node_at(&self, name: &str) -> Node {
        node_at(&self.at(name))
    }

    fn far(&self, name: &str) -> Far {
        let mirror = self.mirror(name).unwrap();
        Far { node: self.node_at(name), mirror }
    }
}

/// A node in a directory.
pub(super) fn node_at(dir: &Path) -> Node {
    let methods = vec![column_method(), row_method(), lineage_method()];
    let options = NodeOptions { name: Some("far".into()), engine: options(), ..NodeOptions::default() };
    Node::start(&Env::real(), dir, methods, options, Box::new(|_, _| {})).unwrap()
}

/// Waits until a node shows what the writer has, and compares everything.
pub(super) fn far_is_as(node: &Node, mirror: &Mirror, engine: &Arc<Engine>) {
    let expected = all(engine);
    let seconds = Duration::from_secs(LIMIT_SECONDS.load(Ordering::Relaxed));
    let waited = node.wait_for(engine.published(), seconds, None).unwrap();
    assert_eq!(waited, Waited::Shown, "{:?} {:?}", node.status(), mirror.status());
    assert_eq!(node.engine().published(), engine.published());
    assert_eq!(all(&node.engine()), expected, "{:?} {:?}", node.status(), mirror.status());
}

impl Far {
    fn is_as(&self, engine: &Arc<Engine>) {
        far_is_as(&self.node, &self.mirror, engine);
    }

    fn stop(self) {
        self.node.stop();
        self.mirror.stop();
        self.node.engine().close().unwrap();
    }
}

/// Writes, loads, converts and merges.
pub(super) fn work(engine: &Arc<Engine>, round: i64) {
    (0..50).for_each(|k| put(engine, (k * 7 + round) % 60, round * 1000 + k).unwrap());
    if round % 2 == 1 && round < 12 {
        load(engine, 60 + round * 5..65 + round * 5);
    }
    if round % 3 != 0 {
        tidy_up(engine);
    }
    (0..5).for_each(|k| put(engine, k, round * 1000 + 500 + k).unwrap());
}

#[test]
fn a_node_follows_writes_loads_conversions_and_merges() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, ArchiveOptions { base_log_bytes: 1 << 17, ..for_nodes() });
    (0..20).for_each(|k| put(&engine, k, k).unwrap());
    let far = bench.far("far");
    for round in 0..12 {
        work(&engine, round);
        if round % 4 != 2 {
            far.is_as(&engine);
        }
    }
    far.is_as(&engine);
    assert_eq!(far.node.status().joins, 1, "it was never lost: {:?}", far.node.status());
    let status = archive.status();
    assert!(status.base > Some(1), "{status:?}");
    // What is not needed any more goes, on both sides.
    until("the newest base is adopted", || {
        put(&engine, 1, 1).unwrap();
        far.mirror.status().base == archive.status().base
    });
    far.is_as(&engine);
    let log: u64 = std::fs::read_dir(bench.at("far"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("log-"))
        .map(|entry| entry.metadata().unwrap().len())
        .sum();
    assert!(log < 1 << 19, "the log is cut: {log} bytes");
    far.stop();
}

#[test]
fn tables_that_come_and_go_are_followed() {
    let bench = Bench::new();
    let methods = || vec![column_method(), row_method(), lineage_method()];
    let engine = Engine::open(Env::real(), &bench.at("db"), methods(), options()).unwrap();
    let _archive = bench.archive(&engine, for_nodes());
    let far = bench.far("far");
    for round in 0..3 {
        drop(open_tables(engine.clone()));
        (0..60).for_each(|k| put(&engine, k, k).unwrap());
        load(&engine, 60..110);
        tidy_up(&engine);
        (0..30).for_each(|k| put(&engine, k, -k - round).unwrap());
        far.is_as(&engine);
        let mut txn = engine.begin().unwrap();
        TABLES.iter().for_each(|name| txn.drop_table(name).unwrap());
        txn.commit().unwrap();
        tidy_up(&engine);
    }
    assert_eq!(far.node.status().joins, 1);
}

/// What a crash may leave: bytes behind what was durable, and files that were not whole.
pub(super) fn leave_torn(dir: &Path) {
    let names = || std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let last = names().filter(|name| name.starts_with("log-")).max().unwrap();
    let mut bytes = std::fs::read(dir.join(&last)).unwrap();
    bytes.extend((0..777_u32).map(|at| (at * 31) as u8));
    std::fs::write(dir.join(&last), bytes).unwrap();
    std::fs::write(dir.join("log-00000000ffffff00-00000063"), b"begun").unwrap();
    std::fs::write(dir.join("t3-4711.data.coming"), b"half").unwrap();
    std::fs::write(dir.join("mirror.note.tmp"), b"half").unwrap();
}

/// A node ends and begins again: from its directory, whatever it missed.
#[test]
fn a_node_goes_on_from_its_directory() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, ArchiveOptions { base_log_bytes: 1 << 16, ..for_nodes() });
    for round in 0..5 {
        let far = bench.far("far");
        far.is_as(&engine);
        work(&engine, round);
        if round % 2 == 0 {
            far.is_as(&engine);
        }
        far.stop();
        if round % 3 == 1 {
            leave_torn(&bench.at("far"));
        }
        work(&engine, round + 20);
    }
    shipped(&engine, &archive);
    // The store is away: what is there is shown.
    bench.far("far").stop();
    bench.store.before(|_, _| Err(io::Error::other("the store is away")));
    let far = bench.far("far");
    assert!(far.node.engine().published() > weft_format::Timestamp(0));
    until("it says so", || far.mirror.status().error.is_some());
    bench.store.let_all();
    far.is_as(&engine);
}

/// Openings of the writer, with and without a farewell, and a node that follows over them.
#[test]
fn writers_come_and_go() {
    let bench = Bench::new();
    let mut engine = bench.open("db");
    let mut archive = bench.archive(&engine, for_nodes());
    let far = bench.far("far");
    for round in 0..6 {
        work(&engine, round);
        if round % 2 == 0 {
            archive.stop();
            engine.close().unwrap();
        } else {
            // Nothing of what was done last was shipped, perhaps.
            archive.stop();
            tidy_up(&engine);
            put(&engine, 1, round).unwrap();
        }
        drop((archive, engine));
        engine = bench.open("db");
        archive = bench.archive(&engine, for_nodes());
        work(&engine, round + 30);
        far.is_as(&engine);
    }
    // Its machine is lost, and another goes on from the archive.
    shipped(&engine, &archive);
    let (_, other) = bench.restored("other");
    let second = bench.archive(&other, for_nodes());
    work(&other, 50);
    shipped(&other, &second);
    far.is_as(&other);
}

/// A store that fails now and then, answers late, and lists late.
#[test]
fn a_store_in_trouble_is_followed_all_the_same() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let _archive = bench.archive(&engine, ArchiveOptions { base_log_bytes: 1 << 16, ..for_nodes() });
    let far = bench.far("far");
    let count = AtomicU64::new(0);
    bench.store.before(move |operation, _| match count.fetch_add(1, Ordering::Relaxed) {
        n if n % 5 == 0 => Err(io::Error::other("one of five")),
        n if n % 7 == 0 => {
            std::thread::sleep(Duration::from_millis(3));
            Ok(())
        }
        _ if operation == "list" => Err(io::Error::other("no lists")),
        _ => Ok(()),
    });
    for round in 0..6 {
        work(&engine, round);
    }
    bench.store.let_all();
    far.is_as(&engine);
}

#[test]
fn a_node_that_was_overtaken_or_meets_a_gap_begins_anew() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let keep_time = Duration::ZERO;
    let options = ArchiveOptions { base_log_bytes: 1 << 14, keep_time, keep_bytes: 40_000, ..for_nodes() };
    let archive = bench.archive(&engine, options);
    put(&engine, 1, 1).unwrap();
    let far = bench.far("far");
    far.is_as(&engine);
    far.stop();
    // What it lacks is removed.
    for round in 0..8 {
        work(&engine, round);
        shipped(&engine, &archive);
    }
    until("old pieces go", || !bench.names("piece-").contains(&"piece-1-00000003".to_owned()));
    let far = bench.far("far");
    far.is_as(&engine);
    // A gap, beside a transaction that reads.
    let before = far.node.engine();
    let reading = before.begin().unwrap();
    let seen = get(&reading, "column", 3);
    // Bases are made meanwhile: after one that failed none is begun for a while.
    bench.store.before(|operation, name| match operation {
        "create" if name.starts_with("piece-") => Err(io::Error::other("the store is away")),
        _ => Ok(()),
    });
    for round in 0..6 {
        (0..50).for_each(|k| put(&engine, k, round * 100 + k).unwrap());
        tidy_up(&engine);
    }
    until("the log is let go", || {
        tidy_up(&engine);
        archive.status().failures > 2 && engine.followed_log_bytes() < 40_000 + 2 * super::options().log_segment_bytes
    });
    bench.store.let_all();
    shipped(&engine, &archive);
    put(&engine, 2, 2).unwrap();
    far.is_as(&engine);
    assert!(far.node.status().joins >= 2, "{:?}", far.node.status());
    assert_eq!(get(&reading, "column", 3), seen, "who reads reads on");
}

#[test]
pub(super) fn files_are_there_before_the_log_that_names_them() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let _archive = bench.archive(&engine, for_nodes());
    let far = bench.far("far");
    // Files come late; what is announced by then is shown without an error.
    bench.store.before(|operation, name| {
        if operation == "get" && name.starts_with("files-") {
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    });
    for round in 0..4 {
        work(&engine, round);
        far.is_as(&engine);
    }
    let status = far.node.status();
    assert!(status.joins == 1 && status.lost.is_none(), "nothing was missing: {status:?}");
}

/// Files that an edit names, and a later one takes away, before a round looks at the log.
#[test]
pub(super) fn files_that_merges_took_at_once_are_followed() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, for_nodes());
    let far = bench.far("far");
    for round in 0..4 {
        far.is_as(&engine);
        let base = archive.status().base;
        let held = Arc::new(AtomicBool::new(true));
        let is_held = held.clone();
        bench.store.before(move |operation, name| match operation {
            "create" | "put" if !name.starts_with("backup-") && is_held.load(Ordering::Acquire) => {
                Err(io::Error::other("not now"))
            }
            _ => Ok(()),
        });
        for step in 0..4 {
            (0..60).for_each(|k| put(&engine, k, round * 1000 + step * 100 + k).unwrap());
            tidy_up(&engine);
            std::thread::sleep(Duration::from_millis(10));
        }
        held.store(false, Ordering::Release);
        far.is_as(&engine);
        assert_eq!(archive.status().base, base, "nothing was lacking: {:?}", archive.status());
    }
    assert_eq!(far.node.status().joins, 1, "{:?}", far.node.status());
}

/// What jobs did last is told and shipped though nobody commits any more, so that nothing is kept for it.
#[test]
fn the_last_edit_is_shipped_though_nobody_commits() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, for_nodes());
    let far = bench.far("far");
    (0..60).for_each(|k| put(&engine, k, k).unwrap());
    far.is_as(&engine);
    engine.freeze().unwrap();
    engine.run_jobs().unwrap();
    let followed = || {
        let registered = crate::place::Place::of(&Env::real(), &bench.at("far")).registered().unwrap();
        registered.into_iter().find_map(|(_, told)| told).map(|told| told.edits)
    };
    until("the last edit is followed", || followed() == Some(engine.edits()));
    until("files go", || engine.kept_bytes() == 0);
    assert_eq!(archive.status().base, Some(1), "without a gap: {:?}", archive.status());
}

/// A writer that hangs between a piece and its look for a fence: the piece is there, and nobody goes on from it.
#[test]
pub(super) fn what_somebody_ships_who_has_lost_the_archive_is_not_shown() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, for_nodes());
    (0..20).for_each(|k| put(&engine, k, k).unwrap());
    shipped(&engine, &archive);
    let far = bench.far("far");
    far.is_as(&engine);
    far.stop();
    // It stands before a piece.
    let stands = Arc::new(AtomicBool::new(false));
    let goes_on = Arc::new(AtomicBool::new(false));
    let (standing, going) = (stands.clone(), goes_on.clone());
    bench.store.before(move |operation, name| {
        if operation == "create" && name.starts_with("piece-1-") {
            standing.store(true, Ordering::Release);
            while !going.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    });
    put(&engine, 3, 333).unwrap();
    until("it stands", || stands.load(Ordering::Acquire));
    let (_, other) = bench.restored("other");
    let second = bench.archive(&other, for_nodes());
    // The piece is made behind the fence; nobody who restores sees it.
    goes_on.store(true, Ordering::Release);
    until("it is lost", || archive.lost().is_some());
    let far = bench.far("far");
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(get(&far.node.engine().begin().unwrap(), "row", 3), Some(3), "it never counted");
    put(&other, 4, 444).unwrap();
    shipped(&other, &second);
    far.is_as(&other);
}

#[test]
pub(super) fn a_node_is_as_old_as_what_was_shipped() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let _archive = bench.archive(&engine, for_nodes());
    put(&engine, 1, 1).unwrap();
    let far = bench.far("far");
    far.is_as(&engine);
    let within = |ms| far.node.wait_within(Duration::from_millis(ms), Duration::from_millis(500), None).unwrap();
    assert_eq!(within(400), Waited::Shown, "the writer says that nothing comes: {:?}", far.node.status());
    let refused = far.node.wait_latest(Duration::from_secs(1), None).unwrap_err();
    assert_eq!(refused.code(), Code::FeatureNotSupported, "{refused}");
    // Nothing is shipped any more: what is there grows old, though the store is asked.
    bench.store.before(|operation, _| match operation {
        "create" | "put" => Err(io::Error::other("not now")),
        _ => Ok(()),
    });
    std::thread::sleep(Duration::from_millis(700));
    let age = far.node.status().age.expect("it was fresh");
    assert!(age >= Duration::from_millis(600), "{age:?}");
    assert!(far.mirror.status().age.unwrap() >= Duration::from_millis(600));
    assert_eq!(within(10), Waited::TimedOut, "{:?}", far.node.status());
    put(&engine, 2, 2).unwrap();
    let token = engine.published();
    assert_eq!(far.node.wait_for(token, Duration::from_millis(100), None).unwrap(), Waited::TimedOut);
    bench.store.let_all();
    assert_eq!(far.node.wait_for(token, Duration::from_secs(20), None).unwrap(), Waited::Shown);
    assert_eq!(within(400), Waited::Shown);
}

#[test]
fn what_cannot_be_followed_is_refused_with_the_remedy() {
    let bench = Bench::new();
    let quickly = MirrorOptions { patience: Duration::from_millis(20), ..far_options() };
    let start = |name: &str| Mirror::start(&Env::real(), bench.store(), &bench.at(name), quickly).err().unwrap();
    assert_eq!(start("none").code(), Code::UndefinedObject, "there is no archive");
    let engine = bench.open("db");
    let archive = bench.archive(&engine, quick());
    put(&engine, 1, 1).unwrap();
    shipped(&engine, &archive);
    tidy_up(&engine);
    put(&engine, 1, 2).unwrap();
    shipped(&engine, &archive);
    let refused = start("off");
    assert_eq!(refused.code(), Code::CannotConnectNow, "{refused}");
    assert!(refused.hint_text().is_some_and(|hint| hint.contains("archive_nodes")), "{refused}");
    assert_eq!(start("db").code(), Code::CannotConnectNow, "a database is there, and open");
    archive.stop();
    drop(archive);
    let archive = bench.archive(&engine, for_nodes());
    let far = bench.far("far");
    far.is_as(&engine);
    assert!(archive.status().base > Some(1), "switched on, it makes a base for nodes");
    let other = bench.mirror("far").err().expect("one at a time");
    assert_eq!(other.code(), Code::CannotConnectNow, "{other}");
    let promoted = far.node.promote(options()).err().expect("it cannot be the writer");
    assert_eq!(promoted.code(), Code::NotInPrerequisiteState, "{promoted}");
    far.is_as(&engine);
    far.stop();
    engine.close().unwrap();
    drop(engine);
    let refused = start("db");
    assert_eq!(refused.code(), Code::InvalidParameterValue, "a database is there: {refused}");
    // Another archive.
    let elsewhere = Bench::new();
    let engine = elsewhere.open("db");
    let _archive = elsewhere.archive(&engine, for_nodes());
    let _far = elsewhere.far("far");
    let mirror = Mirror::start(&Env::real(), elsewhere.store(), &bench.at("far"), far_options()).unwrap();
    until("it says so", || mirror.status().error.is_some_and(|error| error.code() == Code::InvalidParameterValue));
}

/// Somebody puts another archive where the first was, while nodes follow it.
#[test]
fn another_archive_in_the_place_of_the_first_is_not_followed() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, for_nodes());
    (0..20).for_each(|k| put(&engine, k, k).unwrap());
    let far = bench.far("far");
    far.is_as(&engine);
    let (before, seen) = (all(&far.node.engine()), far.mirror.status().commit);
    archive.stop();
    drop(archive);
    std::fs::rename(bench.at("store"), bench.at("store-before")).unwrap();
    let other = bench.open("other");
    (0..300).for_each(|k| put(&other, k % 40, -k).unwrap());
    let _archive = bench.archive(&other, for_nodes());
    put(&other, 1, -1).unwrap();
    until("it says so", || far.mirror.status().error.is_some_and(|error| error.code() == Code::InvalidParameterValue));
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(far.mirror.status().commit, seen);
    assert_eq!(all(&far.node.engine()), before, "what the node shows is of the first archive");
    far.stop();
    // Nor by a mirror that is started there.
    let mirror = bench.mirror("far").unwrap();
    until("it says so", || mirror.status().error.is_some_and(|error| error.code() == Code::InvalidParameterValue));
}
