//! The steps of a workload as statements on two `column` tables.

use weft_format::predicate::{CompareOp, Predicate};
use weft_format::{Code, Column, DataType, Error, Result, Schema, Value, ValueRef};
use weft_kernel::index::NewIndex;
use weft_kernel::table::ScanRequest;
use weft_kernel::{ColumnSet, IsolationLevel, LockMode, NewTable, TableRef, Transaction};

use crate::arrays::value_at;

const LISTS: &str = "lists";
pub(super) const REGISTERS: &str = "registers";
/// The unique index.
pub(super) const TAG_INDEX: &str = "registers_tag";

/// How often a statement at READ COMMITTED starts again.
const RESTARTS_MAX: u32 = 1000;

/// Makes the tables, unless they are there.
pub(super) fn set_up(txn: &mut Transaction, columns: u16) -> Result<()> {
    if txn.table(LISTS).is_ok() {
        return Ok(());
    }
    let column = |name: &str, data_type, not_null| Column { name: name.into(), data_type, not_null };
    let key = column("k", DataType::BigInt, true);
    let lists = vec![key.clone(), column("elements", DataType::Text, true)];
    txn.create_table(NewTable::new(LISTS, Schema::new(lists, vec![0]), "column"))?;
    let mut registers = vec![key];
    registers.extend((0..columns).map(|number| column(&format!("c{number}"), DataType::BigInt, false)));
    registers.push(column("tag", DataType::BigInt, false));
    let tag = registers.len() - 1;
    let t = txn.create_table(NewTable::new(REGISTERS, Schema::new(registers, vec![0]), "column"))?;
    txn.create_index(&t, NewIndex::new(TAG_INDEX, vec![tag], true))?;
    Ok(())
}

/// Runs a statement that reads.
pub(super) fn reading<T>(txn: &mut Transaction, work: impl Fn(&mut Transaction) -> Result<T>) -> Result<T> {
    statement(txn, false, work)
}

/// Runs a statement that changes one row, found by its key.
pub(super) fn writing<T>(txn: &mut Transaction, work: impl Fn(&mut Transaction) -> Result<T>) -> Result<T> {
    statement(txn, true, work)
}

/// Runs a statement as a session does: at READ COMMITTED on a snapshot of its own, and again on a new one after a
/// conflict, its locks kept.
fn statement<T>(txn: &mut Transaction, may_follow: bool, work: impl Fn(&mut Transaction) -> Result<T>) -> Result<T> {
    let restarts = txn.level() == IsolationLevel::ReadCommitted;
    txn.begin_statement(may_follow)?;
    if restarts {
        txn.refresh_snapshot()?;
    }
    let mark = txn.mark();
    let mut count = 0;
    loop {
        match work(txn) {
            Err(error) if restarts && error.code() == Code::SerializationFailure && count < RESTARTS_MAX => {
                txn.rollback_to(mark);
                txn.refresh_snapshot()?;
                count += 1;
            }
            result => return result,
        }
    }
}

pub(super) fn key_of(t: &TableRef, key: u64) -> Vec<u8> {
    t.keys.encode([ValueRef::Int(key as i64)])
}

fn parse(elements: &Value) -> Result<Vec<u64>> {
    let Value::Text(text) = elements else { return Err(Error::internal("a list is not text")) };
    text.split(',').map(|element| element.parse().map_err(|_| Error::internal(format!("list {text:?}")))).collect()
}

/// The elements of a list; none when it is not there.
pub(super) fn read_list(txn: &mut Transaction, key: u64) -> Result<Vec<u64>> {
    let t = txn.table(LISTS)?;
    let mut values = Vec::new();
    if !txn.get(&t, &key_of(&t, key), &[1], &mut values)? {
        return Ok(Vec::new());
    }
    parse(&values[0])
}

/// `UPDATE lists SET elements = elements || ',7' WHERE k = key`, or an insert.
pub(super) fn append(txn: &mut Transaction, key: u64, element: u64) -> Result<()> {
    let t = txn.table(LISTS)?;
    let bytes = key_of(&t, key);
    let row = |elements: &str| t.codec.encode([ValueRef::Int(key as i64), ValueRef::Text(elements)]);
    let found = match txn.lock_only_row(&t, &bytes, LockMode::EXCLUSIVE, txn.lock_wait())? {
        None => txn.get_for_upsert(&t, &bytes)?,
        found => found,
    };
    match found {
        None => txn.insert(&t, &row(&element.to_string())),
        Some(found) => {
            let ValueRef::Text(before) = t.codec.get(&found, 1) else {
                return Err(Error::internal("a list is not text"));
            };
            txn.update(&t, &bytes, &row(&format!("{before},{element}")))
        }
    }
}

/// One column of a register; none when it was never set.
pub(super) fn read_register(txn: &mut Transaction, key: u64, column: u16) -> Result<Option<u64>> {
    let t = txn.table(REGISTERS)?;
    let mut values = Vec::new();
    let found = txn.get(&t, &key_of(&t, key), &[1 + usize::from(column)], &mut values)?;
    match values.first() {
        Some(Value::Int(value)) if found => Ok(Some(*value as u64)),
        _ => Ok(None),
    }
}

/// `UPDATE registers SET c1 = value WHERE k = key`, blindly: locks that column alone; or an insert.
pub(super) fn write_register(txn: &mut Transaction, key: u64, column: u16, value: u64) -> Result<()> {
    let t = txn.table(REGISTERS)?;
    let (bytes, column) = (key_of(&t, key), 1 + usize::from(column));
    let mode = LockMode::columns(ColumnSet::NONE, [column].into_iter().collect());
    let value = ValueRef::Int(value as i64);
    if let Some(found) = txn.lock_only_row(&t, &bytes, mode, txn.lock_wait())? {
        let values = (0..t.codec.column_count()).map(|at| if at == column { value } else { t.codec.get(&found, at) });
        return txn.update_columns(&t, &bytes, &t.codec.encode(values), mode);
    }
    if txn.get_for_upsert(&t, &bytes)?.is_some() {
        return Err(Error::new(Code::SerializationFailure, "the register came into being meanwhile"));
    }
    let values = (0..t.codec.column_count()).map(|at| match at {
        0 => ValueRef::Int(key as i64),
        at if at == column => value,
        _ => ValueRef::Null,
    });
    txn.insert(&t, &t.codec.encode(values))
}

/// All lists with keys from `low` to `high`.
pub(super) fn read_lists(txn: &mut Transaction, low: u64, high: u64) -> Result<Vec<(u64, Vec<u64>)>> {
    let t = txn.table(LISTS)?;
    let rows = read_range(txn, &t, low, high, 1)?;
    rows.into_iter().map(|(key, value)| Ok((key, parse(&value)?))).collect()
}

/// One column of all registers with keys from `low` to `high`, where it is set.
pub(super) fn read_registers(txn: &mut Transaction, low: u64, high: u64, column: u16) -> Result<Vec<(u64, u64)>> {
    let t = txn.table(REGISTERS)?;
    let rows = read_range(txn, &t, low, high, 1 + usize::from(column))?;
    let set = rows.into_iter().filter_map(|(key, value)| match value {
        Value::Int(value) => Some((key, value as u64)),
        _ => None,
    });
    Ok(set.collect())
}

fn read_range(txn: &Transaction, t: &TableRef, low: u64, high: u64, column: usize) -> Result<Vec<(u64, Value)>> {
    let bound = |op, key: u64| Predicate::Compare { column: 0, op, value: Value::Int(key as i64) };
    let request = ScanRequest {
        view: txn.view(t).expect("it is kept"),
        projection: vec![0, column],
        predicates: vec![bound(CompareOp::GtEq, low), bound(CompareOp::LtEq, high)],
        partition_count: 1,
        batch_rows: 1024,
    };
    let types = [DataType::BigInt, t.def.schema.columns[column].data_type];
    let mut output = t.scan(request)?;
    let mut rows = Vec::new();
    while let Some(batch) = output.partitions[0].next()? {
        for row in 0..batch.num_rows() {
            let ValueRef::Int(key) = value_at(batch.column(0).as_ref(), row, types[0]) else {
                return Err(Error::internal("a key is not a number"));
            };
            rows.push((key as u64, value_at(batch.column(1).as_ref(), row, types[1]).to_value()));
        }
    }
    rows.sort_unstable_by_key(|(key, _)| *key);
    Ok(rows)
}
