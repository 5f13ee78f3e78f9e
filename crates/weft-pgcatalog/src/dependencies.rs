//! `pg_depend`: what would go, or would be in the way, if something else went.
//!
//! ```text
//!   orders_pkey (index)        i  orders_pkey (constraint)      goes with it
//!   orders_pkey (constraint)   a  orders.id                     goes when the column goes
//!   orders_customer_fk         n  customers.id, customers_pkey  in the way of them
//!   customers_id_seq           a  customers.id                  i of an identity column
//! ```
//!
//! As in PostgreSQL a column of CHECK is there twice. What a view reads is not told, and there are no
//! triggers that keep foreign keys.

use crate::making::Rows;
use crate::objects::{Column, Constraint, Table};
use crate::snapshot::{PUBLIC, Snapshot};
use crate::user_functions::FunctionType;
use crate::value::Datum;

pub(crate) const PG_CLASS: i64 = 1259;
pub(crate) const PG_NAMESPACE: i64 = 2615;
const PG_TYPE: i64 = 1247;
pub(crate) const PG_CONSTRAINT: i64 = 2606;
pub(crate) const PG_PROC: i64 = 1255;
const PG_REWRITE: i64 = 2618;
const PG_ATTRDEF: i64 = 2604;

/// An object: its catalog, its number, the column or 0.
type Address = (i64, u32, i64);

/// Fills `pg_depend`.
pub(crate) fn fill(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    let mut add = |kind: &str, (class, object, part): Address, (of_class, of, of_part): Address| {
        rows.add([
            ("classid", Datum::Int(class)),
            ("objid", Datum::Int(object.into())),
            ("objsubid", Datum::Int(part)),
            ("refclassid", Datum::Int(of_class)),
            ("refobjid", Datum::Int(of.into())),
            ("refobjsubid", Datum::Int(of_part)),
            ("deptype", Datum::text(kind)),
        ]);
    };
    let tables = snapshot.tables.iter().map(|table| (table.oid, table.schema, true));
    let views = snapshot.views.iter().map(|view| (view.oid, view.schema, true));
    let sequences = snapshot.sequences.iter().map(|sequence| (sequence.oid, sequence.schema, false));
    for (oid, schema, has_type) in tables.chain(views).chain(sequences) {
        add("n", (PG_CLASS, oid, 0), (PG_NAMESPACE, if schema == 0 { PUBLIC } else { schema }, 0));
        if has_type {
            let row = Snapshot::row_type(oid);
            add("i", (PG_TYPE, row, 0), (PG_CLASS, oid, 0));
            add("i", (PG_TYPE, Snapshot::rows_type(oid), 0), (PG_TYPE, row, 0));
        }
    }
    for view in &snapshot.views {
        for kind in ["i", "n"] {
            add(kind, (PG_REWRITE, Snapshot::rule_oid(view.oid), 0), (PG_CLASS, view.oid, 0));
        }
    }
    for function in &snapshot.functions {
        add("n", (PG_PROC, function.oid, 0), (PG_NAMESPACE, function.schema, 0));
        if let FunctionType::Row(relation) = function.result {
            add("n", (PG_PROC, function.oid, 0), (PG_TYPE, Snapshot::row_type(relation), 0));
        }
        for view in snapshot.views.iter().filter(|view| view.reads.contains(&function.oid)) {
            add("n", (PG_REWRITE, Snapshot::rule_oid(view.oid), 0), (PG_PROC, function.oid, 0));
        }
    }
    for sequence in &snapshot.sequences {
        if let Some((table, column, is_identity)) = sequence.owner {
            let kind = if is_identity { "i" } else { "a" };
            add(kind, (PG_CLASS, sequence.oid, 0), (PG_CLASS, table, column));
        }
    }
    defaults(&mut add, snapshot);
    constraints(&mut add, snapshot);
    for index in snapshot.indexes.iter().filter(|index| !index.constraint) {
        let keys = index.parts.iter().map(|(number, _)| *number).chain(index.included.iter().copied());
        let mut columns: Vec<i64> = keys.filter(|number| *number > 0).collect();
        let table = snapshot.table(index.table);
        let texts = index.parts.iter().map(|(_, text)| text.as_str()).chain(index.predicate.as_deref());
        columns.extend(texts.flat_map(|text| table.map(|table| named_in(table, text)).unwrap_or_default()));
        columns.sort_unstable();
        columns.dedup();
        if index.parts.iter().all(|(number, _)| *number == 0) {
            add("a", (PG_CLASS, index.oid, 0), (PG_CLASS, index.table, 0));
        }
        for column in columns {
            add("a", (PG_CLASS, index.oid, 0), (PG_CLASS, index.table, column));
        }
    }
}

fn defaults(add: &mut impl FnMut(&str, Address, Address), snapshot: &Snapshot) {
    for view in &snapshot.views {
        for (place, _) in &view.defaults {
            let number = *place as i64 + 1;
            add("a", (PG_ATTRDEF, Snapshot::default_oid(view.oid, number), 0), (PG_CLASS, view.oid, number));
        }
    }
    for table in &snapshot.tables {
        for (number, column) in (1..).zip(&table.columns) {
            let Some(default) = column.default.as_ref().filter(|_| column.identity.is_none()) else { continue };
            let own = (PG_ATTRDEF, Snapshot::default_oid(table.oid, number), 0);
            add("a", own, (PG_CLASS, table.oid, number));
            let owned = snapshot
                .sequences
                .iter()
                .find(|sequence| sequence.owner.is_some_and(|(of, column, _)| (of, column) == (table.oid, number)));
            if let Some(sequence) = owned.filter(|_| default.contains("nextval")) {
                add("n", own, (PG_CLASS, sequence.oid, 0));
            }
        }
    }
}

fn constraints(add: &mut impl FnMut(&str, Address, Address), snapshot: &Snapshot) {
    for (oid, constraint) in snapshot.constraints() {
        let own = (PG_CONSTRAINT, oid, 0);
        match constraint {
            Constraint::Primary(index) | Constraint::Unique(index) => {
                add("i", (PG_CLASS, index.oid, 0), own);
                for number in index.parts.iter().map(|(number, _)| *number).chain(index.included.iter().copied()) {
                    add("a", own, (PG_CLASS, index.table, number));
                }
            }
            Constraint::Check(table, at) => {
                for kind in ["a", "n"] {
                    for number in named_in(table, &table.checks[at].1) {
                        add(kind, own, (PG_CLASS, table.oid, number));
                    }
                }
            }
            Constraint::Foreign(table, at) => {
                let key = &table.foreign_keys[at];
                for number in &key.columns {
                    add("a", own, (PG_CLASS, table.oid, *number));
                }
                for number in &key.parent_columns {
                    add("n", own, (PG_CLASS, key.parent, *number));
                }
                if let Some(index) = snapshot.unique_index(key.parent, &key.parent_columns) {
                    add("n", own, (PG_CLASS, index.oid, 0));
                }
            }
        }
    }
}

/// The columns that an expression names, as words outside of quotes.
pub(crate) fn named_in(table: &Table, text: &str) -> Vec<i64> {
    let mut words = Vec::new();
    for (at, part) in text.split('\'').enumerate() {
        if at % 2 == 0 {
            words.extend(part.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$'));
        }
    }
    let is_named = |(_, column): &(i64, &Column)| {
        !column.dropped && (words.contains(&column.name.as_str()) || text.contains(&format!("\"{}\"", column.name)))
    };
    (1..).zip(&table.columns).filter(is_named).map(|(number, _)| number).collect()
}
