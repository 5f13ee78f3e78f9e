//! Writes that do not look at what their key has.

use super::chains::last_commit;
use super::*;
use crate::catalog::TableRef;
use crate::txn::Transaction;

/// A table `b` that takes blind writes, with rows 1 to 4 of value 10.
fn blind(scratch: &Scratch) -> (Arc<Engine>, TableRef) {
    let engine = engine(scratch);
    let mut txn = engine.begin().unwrap();
    let mut new = new_table("b");
    new.options.insert("blind".into(), "1".into());
    txn.create_table(new).unwrap();
    txn.commit().unwrap();
    (1..=4).for_each(|k| _ = put(&engine, "b", k, 10).unwrap());
    let t = engine.begin().unwrap().table("b").unwrap();
    (engine, t)
}

fn set(txn: &mut Transaction, t: &TableRef, k: i64, v: i64) -> weft_format::Result<()> {
    txn.put(t, &key(t, k), &row(t, k, v))
}

#[test]
fn what_a_transaction_does_after_a_blind_write_builds_on_it() {
    let scratch = Scratch::new("blind");
    let check = |engine: &Arc<Engine>| {
        let reader = engine.begin().unwrap();
        let t = reader.table("b").unwrap();
        let seen: Vec<Option<i64>> = (1..=8).map(|k| get(&reader, &t, k)).collect();
        assert_eq!(seen, [Some(11), Some(22), None, Some(40), None, Some(60), Some(71), None]);
    };
    {
        let (engine, t) = blind(&scratch);
        let before = engine.begin().unwrap();
        let mut txn = engine.begin().unwrap();
        set(&mut txn, &t, 1, 11).unwrap();
        set(&mut txn, &t, 2, 20).unwrap();
        set(&mut txn, &t, 2, 21).unwrap();
        txn.update(&t, &key(&t, 2), &row(&t, 2, 22)).unwrap();
        set(&mut txn, &t, 3, 30).unwrap();
        assert!(txn.delete(&t, &key(&t, 3)).unwrap(), "the row is there, by this transaction");
        assert!(!txn.delete(&t, &key(&t, 3)).unwrap());
        set(&mut txn, &t, 4, 41).unwrap();
        assert!(txn.delete(&t, &key(&t, 4)).unwrap());
        txn.insert(&t, &row(&t, 4, 40)).unwrap();
        set(&mut txn, &t, 5, 50).unwrap();
        assert!(txn.delete(&t, &key(&t, 5)).unwrap());
        set(&mut txn, &t, 6, 60).unwrap();
        assert_eq!(txn.insert(&t, &row(&t, 6, 61)).unwrap_err().code(), Code::UniqueViolation);
        set(&mut txn, &t, 7, 70).unwrap();
        let mark = txn.mark();
        set(&mut txn, &t, 8, 80).unwrap();
        assert!(txn.delete(&t, &key(&t, 7)).unwrap());
        txn.rollback_to(mark);
        txn.update(&t, &key(&t, 7), &row(&t, 7, 71)).unwrap();
        txn.commit().unwrap();
        let log = ["put 1 Int(11)", "put 2 Int(22)", "clear 3", "put 4 Int(40)", "clear 5", "put 6 Int(60)"];
        assert_eq!(last_commit(scratch.path(), &t), [&log[..], &["put 7 Int(71)"]].concat());
        check(&engine);
        assert_eq!((get(&before, &t, 1), get(&before, &t, 3), get(&before, &t, 6)), (Some(10), Some(10), None));
    }
    check(&open_with(Env::real(), scratch.path(), by_hand()).unwrap());
}

#[test]
fn a_blind_write_finds_what_changed_since_its_snapshot() {
    let scratch = Scratch::new("blind-conflicts");
    let (engine, t) = blind(&scratch);
    for level in [IsolationLevel::ReadCommitted, IsolationLevel::RepeatableRead, IsolationLevel::Serializable] {
        let mut late = engine.begin_at(level).unwrap();
        let mut other = engine.begin().unwrap();
        set(&mut other, &t, 1, 11).unwrap();
        assert!(other.delete(&t, &key(&t, 2)).unwrap());
        set(&mut other, &t, 5, 50).unwrap();
        // The lock of the key is taken, blind or not.
        assert_eq!(set(&mut late, &t, 1, 12).unwrap_err().code(), Code::LockTimeout);
        other.commit().unwrap();
        for k in [1, 2, 5] {
            let error = set(&mut late, &t, k, 12).unwrap_err();
            assert_eq!(error.code(), Code::SerializationFailure, "{level}: key {k} was changed");
        }
        set(&mut late, &t, 3, 12).unwrap();
        late.refresh_snapshot().unwrap();
        for k in [1, 2, 5] {
            set(&mut late, &t, k, 13).unwrap();
        }
        late.commit().unwrap();
        let mut tidy = engine.begin().unwrap();
        let seen: Vec<Option<i64>> = [1, 2, 3, 5].iter().map(|&k| get(&tidy, &t, k)).collect();
        assert_eq!(seen, [Some(13), Some(13), Some(12), Some(13)], "{level}");
        assert!(tidy.delete(&t, &key(&t, 5)).unwrap());
        tidy.commit().unwrap();
    }
}

#[test]
fn what_a_blind_write_replaces_is_validated() {
    let scratch = Scratch::new("blind-validated");
    let (engine, t) = blind(&scratch);
    let mut reader = engine.begin_at(IsolationLevel::Serializable).unwrap();
    assert_eq!(get(&reader, &t, 1), Some(10));
    let mut writer = engine.begin().unwrap();
    set(&mut writer, &t, 1, 11).unwrap();
    writer.commit().unwrap();
    reader.insert(&t, &row(&t, 9, 9)).unwrap();
    assert_eq!(reader.commit().unwrap_err().code(), Code::SerializationFailure);
}

#[test]
fn who_has_indexes_looks() {
    let scratch = Scratch::new("blind-indexed");
    let (engine, t) = blind(&scratch);
    let mut txn = engine.begin().unwrap();
    txn.create_index(&t, crate::index::NewIndex::new("b_v", vec![1], true)).unwrap_err();
    drop(txn);
    (2..=4).for_each(|k| _ = put(&engine, "b", k, k * 10).unwrap());
    // Staged before the index is there, and installed after: its entry is not missed.
    let mut early = engine.begin().unwrap();
    set(&mut early, &t, 1, 15).unwrap();
    let mut maker = engine.begin().unwrap();
    maker.create_index(&t, crate::index::NewIndex::new("b_v", vec![1], false)).unwrap();
    early.commit().unwrap();
    maker.commit().unwrap();
    let mut txn = engine.begin().unwrap();
    let (_, index) = txn.index("b_v").unwrap();
    let low = [weft_format::Value::Int(15)];
    let bound = std::ops::Bound::Included(&low[..]);
    let found = txn.index_keys(&t, &index, bound, bound, crate::index::Direction::Forward, 9).unwrap().unwrap();
    assert_eq!(found, [key(&t, 1)]);
    set(&mut txn, &t, 1, 16).unwrap();
    txn.commit().unwrap();
    assert_eq!(last_commit(scratch.path(), &t), ["update 1 1=Int(16)"]);
}
