//! A table without abilities: a bulk statement stages its rows one by one, and who asks for files is told what to do.

use arrow_array::RecordBatch;

use super::*;
use crate::catalog::TableRef;

/// A table `p` that builds no files and takes no blind writes, with the row (3, 30).
fn plain(scratch: &Scratch) -> (Arc<Engine>, TableRef) {
    let engine = engine(scratch);
    let mut txn = engine.begin().unwrap();
    let mut new = new_table("p");
    new.options.insert("plain".into(), "1".into());
    txn.create_table(new).unwrap();
    txn.commit().unwrap();
    put(&engine, "p", 3, 30).unwrap();
    let t = engine.begin().unwrap().table("p").unwrap();
    (engine, t)
}

/// Rows whose values are ten times their keys.
fn batch(keys: &[i64]) -> RecordBatch {
    let column = |factor: i64| Arc::new(keys.iter().map(|k| k * factor).collect::<Int64Array>()) as ArrayRef;
    RecordBatch::try_from_iter([("k", column(1)), ("v", column(10))]).unwrap()
}

#[test]
fn rows_of_a_bulk_statement_are_staged_one_by_one() {
    let scratch = Scratch::new("plain");
    let (engine, t) = plain(&scratch);
    let mut txn = engine.begin().unwrap();
    assert!(!txn.can_build(&t) && !txn.can_build_in_parts(&t) && !txn.can_replace(&t, &[1]).unwrap());
    assert_eq!(txn.build(&t, &[batch(&[1, 2]), batch(&[4])]).unwrap(), 3);
    let failed = txn.build(&t, &[batch(&[5]), batch(&[6, 3])]).unwrap_err();
    assert_eq!(failed.code(), Code::UniqueViolation);
    let state = txn.view(&t).unwrap().own.unwrap();
    assert_eq!((state.rows.len(), state.attachments.len()), (3, 0), "nothing of the second, and no files");
    txn.commit().unwrap();
    let after = engine.begin().unwrap();
    let seen: Vec<Option<i64>> = (1..=6).map(|k| get(&after, &t, k)).collect();
    assert_eq!(seen, [Some(10), Some(20), Some(30), Some(40), None, None]);
}

#[test]
fn who_replaces_in_bulk_is_told_the_method_and_the_remedy() {
    let scratch = Scratch::new("plain-replace");
    let (engine, t) = plain(&scratch);
    let mut txn = engine.begin().unwrap();
    let refused = txn.replace(&t, &[1], &[batch(&[3])], &[None]).unwrap_err();
    assert_eq!(refused.code(), Code::FeatureNotSupported);
    assert!(refused.message().contains("method \"memory\""), "{refused}");
    assert!(refused.to_string().contains("update row by row"), "{refused}");
    // Without blind writes a put looks at what is there.
    txn.put(&t, &key(&t, 3), &row(&t, 3, 31)).unwrap();
    txn.put(&t, &key(&t, 7), &row(&t, 7, 70)).unwrap();
    txn.commit().unwrap();
    let after = engine.begin().unwrap();
    assert_eq!((get(&after, &t, 3), get(&after, &t, 7)), (Some(31), Some(70)));
}
