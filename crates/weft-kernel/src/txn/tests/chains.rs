//! Several operations of a transaction on one row are one change in the log, or none.

use std::path::Path;

use super::*;
use crate::TableRef;
use crate::log::{Change, ChangeDecoder, LoggedChange, Record, read_log};

/// The row changes of the last commit in the log, in short: `insert 1 Int(10)`, `update 1 1=Int(11)`
/// (column 1), `delete 1`.
pub(super) fn last_commit(dir: &Path, t: &TableRef) -> Vec<String> {
    let env = Env::real();
    let mut reader = read_log(&env, dir).unwrap();
    let mut last = Vec::new();
    while let Some(entry) = reader.next().unwrap() {
        let Record::Commit { changes, .. } = entry.record else { panic!("no chunks here") };
        last = ChangeDecoder::new(changes).map(|change| show(t, change.unwrap())).collect();
    }
    last
}

fn show(t: &TableRef, change: LoggedChange) -> String {
    let number = |key: &[u8]| (0..10).find(|&k| crate::testing::key(t, k) == key).expect("keys are small");
    let LoggedChange::Table { change, .. } = change else { return "ddl".to_owned() };
    match change {
        Change::Insert { key, row } => format!("insert {} {:?}", number(&key), t.codec.get(&row, 1)),
        Change::Update { key, values } => {
            let values = values.iter().map(|(column, value)| format!(" {column}={value:?}"));
            format!("update {}{}", number(&key), values.collect::<String>())
        }
        Change::Delete { key } => format!("delete {}", number(&key)),
        Change::Put { key, row } => format!("put {} {:?}", number(&key), t.codec.get(&row, 1)),
        Change::Clear { key } => format!("clear {}", number(&key)),
        Change::Attach(..) => "attach".to_owned(),
    }
}

#[test]
fn operations_of_a_transaction_on_one_row_are_one_change_in_the_log() {
    let scratch = Scratch::new("chains");
    let engine = engine(&scratch);
    (5..=8).for_each(|k| _ = put(&engine, "t", k, 50).unwrap());
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    // Rows that were not there: insert, update, update, delete is nothing; insert, update inserts the last state.
    for k in [1, 2, 3] {
        txn.insert(&t, &row(&t, k, 10)).unwrap();
    }
    for v in [11, 12] {
        txn.update(&t, &key(&t, 1), &row(&t, 1, v)).unwrap();
        txn.update(&t, &key(&t, 2), &row(&t, 2, v)).unwrap();
    }
    assert!(txn.delete(&t, &key(&t, 1)).unwrap());
    assert!(txn.delete(&t, &key(&t, 3)).unwrap());
    txn.insert(&t, &row(&t, 3, 13)).unwrap();
    // Rows that were: update, update is one; update, delete is a delete; delete, insert, update sets all
    // columns to the last state.
    for v in [51, 52] {
        txn.update(&t, &key(&t, 5), &row(&t, 5, v)).unwrap();
    }
    txn.update(&t, &key(&t, 6), &row(&t, 6, 51)).unwrap();
    assert!(txn.delete(&t, &key(&t, 6)).unwrap());
    assert!(txn.delete(&t, &key(&t, 7)).unwrap());
    txn.insert(&t, &row(&t, 7, 53)).unwrap();
    txn.update(&t, &key(&t, 7), &row(&t, 7, 54)).unwrap();
    // What a statement took back is not there.
    let mark = txn.mark();
    txn.update(&t, &key(&t, 8), &row(&t, 8, 59)).unwrap();
    txn.rollback_to(mark);
    txn.commit().unwrap();
    let expected =
        ["insert 2 Int(12)", "insert 3 Int(13)", "update 5 1=Int(52)", "delete 6", "update 7 0=Int(7) 1=Int(54)"];
    assert_eq!(last_commit(scratch.path(), &t), expected);
    drop(engine);
    let engine = open_with(Env::real(), scratch.path(), by_hand()).unwrap();
    let txn = engine.begin().unwrap();
    let found: Vec<Option<i64>> = (1..=8).map(|k| get(&txn, &txn.table("t").unwrap(), k)).collect();
    assert_eq!(found, [None, Some(12), Some(13), None, Some(52), None, Some(54), Some(50)]);
}
