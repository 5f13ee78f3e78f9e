//! Statements of scripts: tables, rows by ranges of keys, and what a snapshot sees.
//!
//! ```text
//!   insert t 1-5 value=3     5 rows (1, 3, 'note of 1'), ...            5 rows
//!   update t 2 value=4
//!   read t                   as of 7: 5 rows: 1 = 3, 2 = 4, 3-5 = 3
//! ```

use std::sync::Arc;

use weft_format::{Column, DataType, Error, Schema, Value};
use weft_kernel::{Engine, NewTable, TableRef, Transaction};

use super::command::Command;
use super::printed::{Printed, show_error};
use crate::arrays::batch_of;
use crate::random::Random;
use crate::scan::scan;

/// The statement alone in a transaction.
pub(super) fn in_a_transaction(engine: &Arc<Engine>, command: &Command) -> Printed {
    let mut txn = engine.begin().map_err(show_error)?;
    let mut lines = execute(&mut txn, command)?;
    if command.name != "read" {
        let committed = commit(txn)?;
        lines = lines.iter().map(|line| format!("{line}, {committed}")).collect();
    }
    Ok(lines)
}

/// Commits and says so in the trace.
pub(super) fn commit(txn: Transaction) -> Result<String, String> {
    let ts = txn.commit().map_err(show_error)?;
    weft_env::sim::step("golden: acknowledged");
    Ok(format!("committed at {ts}"))
}

/// The statement; when it fails nothing of it is left in the transaction.
pub(super) fn execute(txn: &mut Transaction, command: &Command) -> Printed {
    let name = command.word(0, "the table")?;
    let mark = txn.mark();
    let done = match command.name.as_str() {
        "create" => create(txn, name, command),
        "drop" => txn.drop_table(name).map(|()| format!("dropped {name}")),
        "read" => read(txn, name),
        "insert" | "update" | "delete" | "build" => {
            let rows = command.keys(1)?.into_iter().map(|key| row(key, command)).collect::<Result<Vec<_>, _>>()?;
            write(txn, name, &command.name, &rows)
        }
        other => return Err(format!("bad command: {other}")),
    };
    match done {
        Ok(line) => Ok(vec![line]),
        Err(error) => {
            txn.rollback_to(mark);
            Err(show_error(error))
        }
    }
}

fn create(txn: &mut Transaction, name: &str, command: &Command) -> Result<String, Error> {
    let column = |name: &str, data_type, not_null| Column { name: name.to_owned(), data_type, not_null };
    let columns = vec![
        column("id", DataType::Integer, true),
        column("value", DataType::BigInt, true),
        column("note", DataType::Text, false),
    ];
    let mut new = NewTable::new(name, Schema::new(columns, vec![0]), "column");
    new.options.clone_from(&command.options);
    let table = txn.create_table(new)?;
    Ok(format!("created {name} as table {}", table.id()))
}

/// A row; a note of that many bytes looks a little different in each row.
fn row(key: i64, command: &Command) -> Result<Vec<Value>, String> {
    let note = match command.number("note", 0usize)? {
        0 => format!("note of {key}"),
        bytes => Random::new(key as u64, 0).text(bytes as u64),
    };
    Ok(vec![Value::Int(key), Value::Int(command.number("value", 0)?), Value::Text(note.into())])
}

fn write(txn: &mut Transaction, name: &str, how: &str, rows: &[Vec<Value>]) -> Result<String, Error> {
    let t = txn.table(name)?;
    let mut count = 0;
    if how == "build" {
        count = txn.build(&t, &[batch_of(&t.def.schema, rows)])?;
    } else {
        for values in rows {
            let row = t.codec.encode(values.iter().map(Value::as_ref).collect::<Vec<_>>());
            let key = t.keys.of_row(&t.codec, &row);
            count += 1;
            match how {
                "insert" => txn.insert(&t, &row)?,
                "update" => txn.update(&t, &key, &row)?,
                _ => count -= u64::from(!txn.delete(&t, &key)?),
            }
        }
    }
    let done = match how {
        "insert" => "inserted",
        "update" => "updated",
        "delete" => "deleted",
        _ => "built",
    };
    Ok(format!("{done} {count} rows"))
}

fn read(txn: &Transaction, name: &str) -> Result<String, Error> {
    let t = txn.table(name)?;
    let rows = scan(txn, &t, &mut Random::new(1, 0))?;
    // First and last key of a run, and the value that they have.
    let mut runs: Vec<(i64, i64, i64)> = Vec::new();
    for row in rows.values() {
        let (key, value) = (int(&t, row, 0), int(&t, row, 1));
        match runs.last_mut() {
            Some((_, last, same)) if *same == value && *last + 1 == key => *last = key,
            _ => runs.push((key, key, value)),
        }
    }
    let range = |first, last| if first == last { format!("{first}") } else { format!("{first}-{last}") };
    let runs: Vec<String> =
        runs.iter().map(|&(first, last, value)| format!("{} = {value}", range(first, last))).collect();
    let colon = if runs.is_empty() { "" } else { ": " };
    Ok(format!("as of {}: {} rows{colon}{}", txn.read_ts(), rows.len(), runs.join(", ")))
}

fn int(t: &TableRef, row: &[u8], column: usize) -> i64 {
    match t.codec.get(row, column).to_value() {
        Value::Int(value) => value,
        other => panic!("column {column} of a script's table is {other:?}"),
    }
}
