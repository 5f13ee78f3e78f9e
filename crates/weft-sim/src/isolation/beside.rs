//! What clients do beside the steps that the checker knows: tags, unique among registers, and bulk statements.
//!
//! ```text
//!   registers   k | c0 c1 c2 | tag, unique when it is not NULL
//!
//!   tag    UPDATE registers SET tag = 3 WHERE k = 7     that column alone; refused when another row has 3
//!   bulk   UPDATE registers SET c1 = .. WHERE k BETWEEN ..   files of new versions; recorded row by row
//! ```
//!
//! The checker knows nothing of tags: what is read of them is judged here ([`check_tags`]), and by the engine's own
//! check at the end. The rows of a bulk statement it knows as any others.

use std::collections::BTreeMap;

use weft_format::predicate::{CompareOp, Predicate};
use weft_format::{Code, Error, Result, Value, ValueRef};
use weft_kernel::table::{ReadView, ScanRequest};
use weft_kernel::{ColumnSet, LockMode, TableRef, Transaction};

use super::database::{REGISTERS, key_of, write_register};
use crate::arrays::{batch_of, value_at};
use crate::checker::Generator;
use crate::placed::placed_where;
use crate::random::Random;

/// So many tags there are: fewer than rows that want one.
const TAGS: u64 = 4;

/// What a transaction does beside its steps.
pub(super) enum Beside {
    /// Gives a register a tag, or takes it away.
    Tag { key: u64, tag: Option<u64> },
    /// Sets a column of all registers of a range that have it set.
    Bulk { low: u64, high: u64, column: u16 },
}

impl Beside {
    /// For some transactions one of these, with the step before which it comes.
    pub(super) fn draw(generator: &mut Generator, steps: usize, columns: u16) -> Option<(usize, Beside)> {
        let what = match generator.below(100) {
            0..20 => {
                let tag = generator.below(TAGS + 1);
                Beside::Tag { key: generator.key(), tag: (tag < TAGS).then_some(tag) }
            }
            20..32 if columns > 0 => {
                let low = generator.key();
                let high = low + generator.below(8);
                Beside::Bulk { low, high, column: generator.below(u64::from(columns)) as u16 }
            }
            _ => return None,
        };
        Some((generator.below(steps as u64 + 1) as usize, what))
    }
}

fn tag_column(t: &TableRef) -> usize {
    t.codec.column_count() - 1
}

/// Sets the tag of a register that is there, blindly: locks that column alone. False when another register has it.
pub(super) fn set_tag(txn: &mut Transaction, key: u64, tag: Option<u64>) -> Result<bool> {
    let t = txn.table(REGISTERS)?;
    let (bytes, column) = (key_of(&t, key), tag_column(&t));
    let mode = LockMode::columns(ColumnSet::NONE, ColumnSet::from_iter([column]));
    let Some(found) = txn.lock_only_row(&t, &bytes, mode, txn.lock_wait())? else { return Ok(true) };
    let tag = tag.map_or(ValueRef::Null, |tag| ValueRef::Int(tag as i64));
    let values = (0..=column).map(|at| if at == column { tag } else { t.codec.get(&found, at) });
    let mark = txn.mark();
    match txn.update_columns(&t, &bytes, &t.codec.encode(values), mode) {
        Err(error) if error.code() == Code::UniqueViolation => {
            txn.rollback_to(mark);
            Ok(false)
        }
        result => result.map(|()| true),
    }
}

/// Sets a column of some registers, each to a value, in bulk if that can be.
pub(super) fn write_in_bulk(txn: &mut Transaction, column: u16, values: &BTreeMap<u64, u64>) -> Result<bool> {
    let t = txn.table(REGISTERS)?;
    let ordinal = 1 + usize::from(column);
    let key_of_row = |row: &[u8]| match t.codec.get(row, 0) {
        ValueRef::Int(key) => key as u64,
        other => panic!("violation: a key is {other:?}"),
    };
    let (Some((&low, _)), Some((&high, _))) = (values.first_key_value(), values.last_key_value()) else {
        return Ok(false);
    };
    let bound = |op, key: u64| Predicate::Compare { column: 0, op, value: Value::Int(key as i64) };
    let range = vec![bound(CompareOp::GtEq, low), bound(CompareOp::LtEq, high)];
    let mut rows = placed_where(txn, &t, range, &mut Random::new(1, 5))?;
    rows.retain(|placed| values.contains_key(&key_of_row(&placed.row)));
    if rows.len() != values.len() {
        return Err(Error::internal("a register that was read is gone"));
    }
    if !txn.can_replace(&t, &[ordinal])? {
        for (&key, &value) in values {
            write_register(txn, key, column, value)?;
        }
        return Ok(false);
    }
    let changed = rows.iter().map(|placed| {
        let mut row = t.codec.decode(&placed.row);
        row[ordinal] = Value::Int(values[&key_of_row(&placed.row)] as i64);
        row
    });
    let batch = batch_of(&t.def.schema, &changed.collect::<Vec<_>>());
    let places: Vec<_> = rows.iter().map(|row| row.place).collect();
    txn.replace(&t, &[ordinal], &[batch], &places).map(|_| true)
}

/// No two registers of a snapshot have one tag.
pub(super) fn check_tags(txn: &Transaction) -> Result<()> {
    let t = txn.table(REGISTERS)?;
    let tag = tag_column(&t);
    // Nobody's decision depends on it: it is no read of the transaction.
    let view = ReadView { reads: None, ..txn.view(&t).expect("it is kept") };
    let predicates = vec![Predicate::Compare { column: tag, op: CompareOp::GtEq, value: Value::Int(0) }];
    let request = ScanRequest { view, projection: vec![0, tag], predicates, partition_count: 1, batch_rows: 1024 };
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for mut partition in t.scan(request)?.partitions {
        while let Some(batch) = partition.next()? {
            for row in 0..batch.num_rows() {
                let text = |column: usize, ordinal: usize| {
                    let data_type = t.def.schema.columns[ordinal].data_type;
                    format!("{:?}", value_at(batch.column(column).as_ref(), row, data_type))
                };
                let (key, tag) = (text(0, 0), text(1, tag));
                if let Some(other) = seen.insert(tag.clone(), key.clone()) {
                    panic!("violation: registers {other} and {key} have the tag {tag}");
                }
            }
        }
    }
    Ok(())
}
