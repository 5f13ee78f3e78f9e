mod abilities;
mod altering;
mod blind;
pub(crate) mod bounded;
mod chains;
mod expressions;
mod follow;
mod gate;
mod indexes;
mod levels;
mod partial;
mod session_locks;
mod speculation;
pub(crate) mod unique;

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array};
use weft_env::Env;
use weft_format::{Code, Timestamp};

use crate::testing::{Scratch, by_hand, create, get, key, keyless_table, new_table, open_with, put, row};
use crate::{Durability, Engine, EngineOptions, IsolationLevel};

fn engine(scratch: &Scratch) -> Arc<Engine> {
    let options = EngineOptions { lock_timeout: Duration::from_millis(50), ..by_hand() };
    let engine = open_with(Env::real(), scratch.path(), options).unwrap();
    create(&engine, &["t", "u"]).unwrap();
    engine
}

#[test]
fn a_snapshot_sees_what_was_committed_before_it_and_its_own_writes() {
    let scratch = Scratch::new("visibility");
    let engine = engine(&scratch);
    put(&engine, "t", 1, 10).unwrap();
    let before = engine.begin().unwrap();
    let mut own = engine.begin().unwrap();
    let t = own.table("t").unwrap();
    own.update(&t, &key(&t, 1), &row(&t, 1, 11)).unwrap();
    own.insert(&t, &row(&t, 2, 20)).unwrap();
    assert_eq!((get(&own, &t, 1), get(&own, &t, 2)), (Some(11), Some(20)));
    assert_eq!((get(&before, &t, 1), get(&before, &t, 2)), (Some(10), None));
    let view = own.view(&t).unwrap();
    assert_eq!(view.own.as_ref().unwrap().rows.len(), 2);
    assert!(own.delete(&t, &key(&t, 2)).unwrap());
    assert_eq!(
        view.own.unwrap().rows.values().filter(|staged| staged.row.is_some()).count(),
        2,
        "a view stays as it was"
    );
    let ts = own.commit().unwrap();
    assert_eq!(get(&before, &t, 1), Some(10));
    let after = engine.begin().unwrap();
    assert_eq!(after.read_ts(), ts);
    assert_eq!((get(&after, &t, 1), get(&after, &t, 2)), (Some(11), None));
}

#[test]
fn the_first_committer_wins() {
    let scratch = Scratch::new("conflict");
    let engine = engine(&scratch);
    put(&engine, "t", 1, 10).unwrap();
    let levels = [IsolationLevel::ReadCommitted, IsolationLevel::RepeatableRead, IsolationLevel::Serializable];
    for (fresh, level) in (5..).zip(levels) {
        let mut late = engine.begin().unwrap();
        late.set_level(level).unwrap();
        let t = late.table("t").unwrap();
        put(&engine, "t", 1, 11).unwrap();
        put(&engine, "t", fresh, 0).unwrap();
        let code = |result: weft_format::Result<()>| result.unwrap_err().code();
        assert_eq!(code(late.update(&t, &key(&t, 1), &row(&t, 1, 12))), Code::SerializationFailure);
        assert_eq!(code(late.delete(&t, &key(&t, 1)).map(|_| ())), Code::SerializationFailure);
        assert_eq!(code(late.get_for_update(&t, &key(&t, 1)).map(|_| ())), Code::SerializationFailure);
        // A row that the snapshot does not show is not there to delete; inserting it finds it there.
        assert!(!late.delete(&t, &key(&t, fresh)).unwrap());
        assert!(late.get_for_update(&t, &key(&t, fresh)).unwrap().is_none());
        assert_eq!(code(late.get_for_upsert(&t, &key(&t, fresh)).map(|_| ())), Code::SerializationFailure);
        let serializable = level == IsolationLevel::Serializable;
        let insert = if serializable { Code::SerializationFailure } else { Code::UniqueViolation };
        assert_eq!(code(late.insert(&t, &row(&t, fresh, 1))), insert);
        late.refresh_snapshot().unwrap();
        late.update(&t, &key(&t, 1), &row(&t, 1, 10)).unwrap();
        late.commit().unwrap();
    }
}

#[test]
fn a_unique_violation_names_table_and_key() {
    let scratch = Scratch::new("unique");
    let engine = engine(&scratch);
    put(&engine, "t", 7, 1).unwrap();
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    let error = txn.insert(&t, &row(&t, 7, 2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "duplicate key value violates unique constraint \"t_pkey\" (23505); detail: Key (k)=(7) already exists."
    );
    txn.insert(&t, &row(&t, 8, 2)).unwrap();
    assert_eq!(txn.insert(&t, &row(&t, 8, 2)).unwrap_err().code(), Code::UniqueViolation);
    // Deleted by the transaction itself, a key is free.
    assert!(txn.delete(&t, &key(&t, 7)).unwrap());
    assert!(!txn.delete(&t, &key(&t, 7)).unwrap());
    txn.insert(&t, &row(&t, 7, 3)).unwrap();
    // A key may change; the new one must be free.
    txn.update(&t, &key(&t, 8), &row(&t, 9, 2)).unwrap();
    assert_eq!(txn.update(&t, &key(&t, 9), &row(&t, 7, 2)).unwrap_err().code(), Code::UniqueViolation);
    txn.commit().unwrap();
    let txn = engine.begin().unwrap();
    assert_eq!(get(&txn, &t, 7), Some(3));
}

#[test]
fn a_statement_can_be_taken_back() {
    let scratch = Scratch::new("marks");
    let engine = engine(&scratch);
    put(&engine, "t", 1, 10).unwrap();
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    let start = txn.mark();
    txn.insert(&t, &row(&t, 2, 20)).unwrap();
    let mark = txn.mark();
    txn.update(&t, &key(&t, 2), &row(&t, 2, 21)).unwrap();
    txn.update(&t, &key(&t, 1), &row(&t, 1, 11)).unwrap();
    txn.insert(&t, &row(&t, 3, 30)).unwrap();
    txn.create_table(new_table("fresh")).unwrap();
    txn.drop_table("u").unwrap();
    assert!(txn.table("fresh").is_ok() && txn.table("u").is_err());
    txn.rollback_to(mark);
    assert!(txn.table("fresh").is_err() && txn.table("u").is_ok());
    assert_eq!((get(&txn, &t, 1), get(&txn, &t, 2), get(&txn, &t, 3)), (Some(10), Some(20), None));
    txn.rollback_to(start);
    assert_eq!(get(&txn, &t, 2), None);
    assert!(txn.is_read_only());
    txn.refresh_snapshot().unwrap();
    txn.insert(&t, &row(&t, 4, 40)).unwrap();
    txn.commit().unwrap();
    let txn = engine.begin().unwrap();
    assert_eq!((get(&txn, &t, 2), get(&txn, &t, 4)), (None, Some(40)));
}

#[test]
fn a_deadlock_has_one_victim_and_names_the_parties() {
    let scratch = Scratch::new("deadlock");
    let options = EngineOptions { lock_timeout: Duration::from_secs(60), ..by_hand() };
    let engine = open_with(Env::real(), scratch.path(), options).unwrap();
    create(&engine, &["t"]).unwrap();
    for k in [1, 2] {
        put(&engine, "t", k, 0).unwrap();
    }
    let both_hold = std::sync::Barrier::new(2);
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads = [(1, 2), (2, 1)].map(|(first, second)| {
            let (engine, both_hold) = (&engine, &both_hold);
            scope.spawn(move || {
                let mut txn = engine.begin().unwrap();
                let t = txn.table("t").unwrap();
                txn.update(&t, &key(&t, first), &row(&t, first, 1)).unwrap();
                both_hold.wait();
                let result = txn.update(&t, &key(&t, second), &row(&t, second, 1));
                let id = txn.id();
                match result {
                    Ok(()) => txn.commit().map(|_| ()),
                    Err(error) => Err(error),
                }
                .map_err(|error| (id, error))
            })
        });
        threads.map(|thread| thread.join().unwrap()).into()
    });
    let errors: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    assert_eq!(errors.len(), 1);
    let (id, error) = &errors[0];
    assert_eq!(error.code(), Code::DeadlockDetected);
    let message = error.message();
    assert!(message.contains(&format!("transaction {id} waits for transaction")), "{message}");
    assert_eq!(engine.status().lock_count, 0);
}

#[test]
fn a_lock_that_is_not_granted_times_out_and_names_the_holder() {
    let scratch = Scratch::new("timeout");
    let engine = engine(&scratch);
    let mut holder = engine.begin().unwrap();
    let t = holder.table("t").unwrap();
    holder.insert(&t, &row(&t, 1, 1)).unwrap();
    let mut other = engine.begin().unwrap();
    let error = other.insert(&t, &row(&t, 1, 2)).unwrap_err();
    assert_eq!(error.code(), Code::LockTimeout);
    assert!(error.message().contains("key (1) of table \"t\""), "{error}");
    assert!(error.hint_text().unwrap().contains(&format!("transaction {}", holder.id())), "{error}");
    let cancel = crate::CancelToken::new();
    cancel.cancel();
    other.set_cancel(cancel);
    assert_eq!(other.insert(&t, &row(&t, 1, 2)).unwrap_err().code(), Code::QueryCanceled);
    let late = crate::CancelToken::new();
    late.set_deadline(0);
    other.set_cancel(late);
    assert!(other.insert(&t, &row(&t, 1, 2)).unwrap_err().message().contains("statement timeout"));
    drop(holder);
    other.set_cancel(crate::CancelToken::new());
    other.insert(&t, &row(&t, 1, 2)).unwrap();
    other.commit().unwrap();
}

#[test]
fn dropping_a_transaction_rolls_it_back() {
    let scratch = Scratch::new("drop");
    let engine = engine(&scratch);
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    txn.insert(&t, &row(&t, 1, 1)).unwrap();
    drop(txn);
    let status = engine.status();
    assert_eq!((status.lock_count, status.snapshot_count, status.row_memory_bytes), (0, 0, 0));
    assert_eq!(get(&engine.begin().unwrap(), &t, 1), None);
}

#[test]
fn ddl_is_transactional_and_versioned() {
    let scratch = Scratch::new("ddl");
    let engine = engine(&scratch);
    let version = engine.catalog_version();
    let before = engine.begin().unwrap();
    let mut txn = engine.begin().unwrap();
    assert_eq!(txn.create_table(new_table("t")).unwrap_err().code(), Code::DuplicateTable);
    let fresh = txn.create_table(new_table("fresh")).unwrap();
    txn.insert(&fresh, &row(&fresh, 1, 1)).unwrap();
    assert_eq!((get(&txn, &fresh, 1), txn.catalog_version()), (Some(1), None));
    assert_eq!(before.table("fresh").unwrap_err().code(), Code::UndefinedTable);
    txn.rollback();
    assert_eq!(engine.catalog_version(), version);

    let mut txn = engine.begin().unwrap();
    let fresh = txn.create_table(new_table("fresh")).unwrap();
    txn.insert(&fresh, &row(&fresh, 1, 1)).unwrap();
    txn.drop_table("t").unwrap();
    let passing = txn.create_table(new_table("passing")).unwrap();
    txn.insert(&passing, &row(&passing, 1, 1)).unwrap();
    txn.drop_table("passing").unwrap();
    let again = txn.create_table(new_table("t")).unwrap();
    let ts = txn.commit().unwrap();
    assert_eq!(engine.catalog_version(), ts.0);
    assert_eq!(before.catalog_version(), Some(version));
    assert_ne!(before.table("t").unwrap().def.id, again.def.id);
    assert!(before.table("fresh").is_err());
    let mut after = engine.begin().unwrap();
    assert_eq!(after.tables().iter().map(|def| def.name.as_str()).collect::<Vec<_>>(), ["u", "fresh", "t"]);
    assert_eq!(after.table("t").unwrap().def.id, again.def.id);
    let old = before.table("t").unwrap();
    assert_eq!(after.insert(&old, &row(&old, 1, 1)).unwrap_err().code(), Code::UndefinedTable);
}

#[test]
fn a_drop_waits_for_writers_and_stops_later_ones() {
    let scratch = Scratch::new("drop-table");
    let engine = engine(&scratch);
    let mut writer = engine.begin().unwrap();
    let t = writer.table("t").unwrap();
    writer.insert(&t, &row(&t, 1, 1)).unwrap();
    let mut late = engine.begin().unwrap();
    let mut dropper = engine.begin().unwrap();
    assert_eq!(dropper.drop_table("t").unwrap_err().code(), Code::LockTimeout);
    writer.commit().unwrap();
    dropper.drop_table("t").unwrap();
    dropper.commit().unwrap();
    assert_eq!(late.insert(&t, &row(&t, 2, 2)).unwrap_err().code(), Code::SerializationFailure);
}

#[test]
fn hidden_row_ids_go_on() {
    let scratch = Scratch::new("row-ids");
    let ids = |engine: &Arc<Engine>, count: usize| -> Vec<i64> {
        let mut txn = engine.begin().unwrap();
        let t = txn.table("k").unwrap();
        let insert = |_| {
            let id = txn.next_row_id(&t);
            let row = t.codec.encode([weft_format::ValueRef::Int(5), weft_format::ValueRef::Int(id)]);
            txn.insert(&t, &row).unwrap();
            id
        };
        let ids = (0..count).map(insert).collect();
        txn.commit().unwrap();
        ids
    };
    let engine = engine(&scratch);
    let mut txn = engine.begin().unwrap();
    txn.create_table(keyless_table("k")).unwrap();
    txn.commit().unwrap();
    assert_eq!(ids(&engine, 3), [1, 2, 3]);
    engine.close().unwrap();
    drop(engine);
    let engine = open_with(Env::real(), scratch.path(), by_hand()).unwrap();
    assert_eq!(ids(&engine, 2), [4, 5]);
}

#[test]
fn an_asynchronous_commit_is_visible_at_once_and_durable_after_a_flush() {
    let scratch = Scratch::new("async");
    let engine = engine(&scratch);
    let blocks = engine.status().log.blocks;
    let mut txn = engine.begin().unwrap();
    txn.set_durability(Durability::Async);
    let t = txn.table("t").unwrap();
    txn.insert(&t, &row(&t, 1, 1)).unwrap();
    txn.commit().unwrap();
    assert_eq!(engine.status().log.blocks, blocks);
    assert_eq!(get(&engine.begin().unwrap(), &t, 1), Some(1));
    engine.flush().unwrap();
    assert_eq!(engine.status().log.blocks, blocks + 1);
}

#[test]
fn the_flusher_writes_asynchronous_commits() {
    let scratch = Scratch::new("flusher");
    let options = EngineOptions { workers: 1, durability: Durability::Async, ..by_hand() };
    let engine = open_with(Env::real(), scratch.path(), options).unwrap();
    create(&engine, &["t"]).unwrap();
    for _ in 0..500 {
        if engine.status().log.commits == 1 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{:?}", engine.status());
}

#[test]
fn a_long_transaction_is_logged_in_chunks() {
    let scratch = Scratch::new("chunks");
    let engine = engine(&scratch);
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    for k in 0..30_000 {
        txn.insert(&t, &row(&t, k, k)).unwrap();
    }
    assert!(engine.status().row_memory_bytes > 30_000 * 24);
    txn.commit().unwrap();
    drop(engine);
    let engine = open_with(Env::real(), scratch.path(), by_hand()).unwrap();
    let txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    assert!((0..30_000).all(|k| get(&txn, &t, k) == Some(k)));
}

#[test]
fn commits_are_published_in_order_under_many_threads() {
    let scratch = Scratch::new("order");
    let engine = engine(&scratch);
    let committed = std::sync::Mutex::new(std::collections::BTreeMap::new());
    std::thread::scope(|scope| {
        for thread in 0..8i64 {
            let (engine, committed) = (&engine, &committed);
            scope.spawn(move || {
                for i in 0..50i64 {
                    let mut txn = engine.begin().unwrap();
                    txn.set_durability(if i % 3 == 0 { Durability::Full } else { Durability::Async });
                    let (t, u) = (txn.table("t").unwrap(), txn.table("u").unwrap());
                    let k = thread * 1000 + i;
                    txn.insert(&t, &row(&t, k, k)).unwrap();
                    txn.insert(&u, &row(&u, k, k)).unwrap();
                    let ts = txn.commit().unwrap();
                    assert!(committed.lock().unwrap().insert(ts, k).is_none(), "two commits at {ts}");
                    let reader = engine.begin().unwrap();
                    assert!(reader.read_ts() >= ts, "an acknowledged commit is seen");
                    let (a, b) = (get(&reader, &t, k), get(&reader, &u, k));
                    assert_eq!((a, b), (Some(k), Some(k)));
                }
            });
        }
    });
    let committed = committed.into_inner().unwrap();
    assert_eq!(committed.len(), 400);
    assert_eq!(*committed.keys().next_back().unwrap(), engine.published());
    assert_eq!(engine.status().last_sequenced, Timestamp(401));
    assert_eq!(engine.status().lock_count, 0);
}

fn columns(rows: &[(i64, i64)]) -> Vec<ArrayRef> {
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    vec![column(rows.iter().map(|row| row.0).collect()), column(rows.iter().map(|row| row.1).collect())]
}

#[test]
fn a_batch_is_inserted_like_its_rows() {
    let scratch = Scratch::new("batch");
    let engine = engine(&scratch);
    put(&engine, "t", 5, 50).unwrap();
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    txn.insert_batch(&t, &columns(&[(9, 1), (7, 2), (8, 3)])).unwrap();
    assert!(txn.delete(&t, &key(&t, 8)).unwrap());
    txn.insert_batch(&t, &columns(&[(8, 4)])).unwrap();
    let mark = txn.mark();
    for bad in [[(3, 1), (5, 2), (4, 3)], [(3, 1), (7, 2), (4, 3)], [(3, 1), (3, 2), (4, 3)]] {
        let error = txn.insert_batch(&t, &columns(&bad)).unwrap_err();
        let twice = bad[1].0;
        assert_eq!(error.detail_text(), Some(&*format!("Key (k)=({twice}) already exists.")));
        txn.rollback_to(mark);
        assert_eq!((get(&txn, &t, 3), get(&txn, &t, 4), get(&txn, &t, 7)), (None, None, Some(2)));
    }
    // A key that another transaction holds is waited for.
    let mut other = engine.begin().unwrap();
    other.insert(&t, &row(&t, 20, 1)).unwrap();
    assert_eq!(txn.insert_batch(&t, &columns(&[(20, 1)])).unwrap_err().code(), Code::LockTimeout);
    txn.rollback_to(mark);
    drop(other);
    txn.insert_batch(&t, &columns(&[(20, 2), (3, 3)])).unwrap();
    txn.commit().unwrap();
    let reader = engine.begin().unwrap();
    let seen: Vec<Option<i64>> = [3, 4, 5, 7, 8, 9, 20].iter().map(|&k| get(&reader, &t, k)).collect();
    assert_eq!(seen, [Some(3), None, Some(50), Some(2), Some(4), Some(1), Some(2)]);
}

#[test]
fn an_upsert_replaces_or_inserts_without_reading() {
    let scratch = Scratch::new("upsert");
    {
        let engine = engine(&scratch);
        put(&engine, "t", 1, 10).unwrap();
        let mut late = engine.begin().unwrap();
        let mut txn = engine.begin().unwrap();
        let t = txn.table("t").unwrap();
        let mut upsert = |k, v| txn.upsert(&t, &key(&t, k), &row(&t, k, v)).unwrap();
        assert_eq!([upsert(1, 11), upsert(2, 20), upsert(2, 21), upsert(1, 12)], [true, false, true, true]);
        assert!(txn.delete(&t, &key(&t, 1)).unwrap());
        assert!(!txn.upsert(&t, &key(&t, 1), &row(&t, 1, 13)).unwrap());
        let mark = txn.mark();
        assert!(txn.upsert(&t, &key(&t, 1), &row(&t, 1, 99)).unwrap());
        txn.rollback_to(mark);
        assert_eq!((get(&txn, &t, 1), get(&txn, &t, 2)), (Some(13), Some(21)));
        txn.commit().unwrap();
        // A row that changed since the snapshot is a conflict, as for an update.
        let error = late.upsert(&t, &key(&t, 1), &row(&t, 1, 14)).unwrap_err();
        assert_eq!(error.code(), Code::SerializationFailure);
        drop(late);
        let mut txn = engine.begin().unwrap();
        assert!(txn.upsert(&t, &key(&t, 2), &row(&t, 2, 22)).unwrap());
        txn.commit().unwrap();
        // Dropped without a checkpoint: redo must find every column in the log.
    }
    let engine = open_with(Env::real(), scratch.path(), by_hand()).unwrap();
    let reader = engine.begin().unwrap();
    let t = reader.table("t").unwrap();
    assert_eq!((get(&reader, &t, 1), get(&reader, &t, 2)), (Some(13), Some(22)));
}
