//! Which rows of a relation a query asks for, as far as it says so by `=` with constants.
//!
//! ```text
//!   pg_class WHERE oid = 16387             the relation 16387 and no other is looked at
//!   pg_attribute WHERE attrelid = 16387    the columns of that relation
//!   pg_class WHERE relkind = 'r'           all are looked at; rows are kept by what they have
//! ```
//!
//! 1. Rows that are given have the values that were asked for; nothing else is promised, so whoever asks may ask for
//!    less than it needs, never for more.
//! 2. Where a column names a relation, what is looked at follows the answer's size, not the catalog's.

use weft_format::Value;

use crate::declared::{self, Relation};
use crate::objects::{Index, Sequence, Table, View};
use crate::snapshot::Snapshot;
use crate::value::{Datum, Row};

/// The values that columns must have; none: any rows.
#[derive(Clone, Debug, Default)]
pub struct Wanted(Vec<(String, Vec<Datum>)>);

impl Wanted {
    /// Asks for rows whose column has one of these values.
    pub fn equal(&mut self, column: &str, values: &[Value]) {
        self.0.push((column.to_owned(), values.iter().map(Datum::from).collect()));
    }

    /// The same, by the catalog's own values.
    pub(crate) fn any_of(&mut self, column: &str, values: Vec<Datum>) {
        self.0.push((column.to_owned(), values));
    }

    /// Whether a row has the values.
    pub(crate) fn holds(&self, relation: &Relation, row: &Row) -> bool {
        self.0.iter().all(|(column, values)| {
            let place = relation.columns.iter().position(|(known, _)| known == column);
            place.is_none_or(|place| values.contains(&row[place]))
        })
    }

    /// The numbers that a column must have, if it is asked for.
    pub(crate) fn numbers(&self, column: &str) -> Option<Vec<u32>> {
        let (_, values) = self.0.iter().find(|(known, _)| known == column)?;
        Some(values.iter().filter_map(Datum::int).filter_map(|number| u32::try_from(number).ok()).collect())
    }

    /// The texts that a column must have, if it is asked for.
    pub(crate) fn texts(&self, column: &str) -> Option<Vec<String>> {
        let (_, values) = self.0.iter().find(|(known, _)| known == column)?;
        Some(values.iter().filter(|value| !value.is_null()).map(Datum::plain).collect())
    }
}

/// The relations that rows are made of.
#[derive(Debug)]
pub(crate) enum Scope {
    All,
    /// Those of these numbers, ascending and each once, and the indexes of tables among them.
    Of(Vec<u32>),
}

/// The columns of a relation that have a relation's number or name, or, of `pg_constraint`, the number of one's part.
fn keys(relation: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match relation {
        "pg_class" => (&["oid"], &["relname"]),
        "pg_attribute" => (&["attrelid"], &[]),
        "pg_attrdef" => (&["adrelid"], &[]),
        "pg_index" => (&["indexrelid", "indrelid"], &[]),
        "pg_constraint" => (&["conrelid"], &[]),
        "pg_sequence" => (&["seqrelid"], &[]),
        "pg_description" => (&["objoid"], &[]),
        "pg_rewrite" => (&["ev_class"], &[]),
        "pg_tables" | "pg_stats" => (&[], &["tablename"]),
        "pg_views" => (&[], &["viewname"]),
        "pg_matviews" => (&[], &["matviewname"]),
        "pg_indexes" => (&[], &["indexname", "tablename"]),
        "pg_sequences" => (&[], &["sequencename"]),
        "pg_stat_user_indexes" | "pg_stat_all_indexes" | "pg_statio_user_indexes" | "pg_statio_all_indexes" => {
            (&["indexrelid", "relid"], &["indexrelname", "relname"])
        }
        "pg_stat_user_tables"
        | "pg_stat_all_tables"
        | "pg_stat_xact_user_tables"
        | "pg_statio_all_tables"
        | "pg_statio_user_tables"
        | "pg_statio_all_sequences"
        | "pg_statio_user_sequences" => (&["relid"], &["relname"]),
        "tables" | "views" | "columns" | "table_constraints" | "key_column_usage" => (&[], &["table_name"]),
        "sequences" => (&[], &["sequence_name"]),
        _ => (&[], &[]),
    }
}

/// Whether a relation has more rows when there are more objects.
pub(crate) fn grows(relation: &str) -> bool {
    let (numbers, names) = keys(relation);
    matches!(relation, "pg_type" | "pg_depend" | "pg_enum" | "pg_proc") || !numbers.is_empty() || !names.is_empty()
}

/// Whether the values of a column say which objects a relation's rows are made of.
pub(crate) fn is_key(relation: &str, column: &str) -> bool {
    let (numbers, names) = keys(relation);
    let own: &[&str] = match relation {
        "pg_type" => &["oid", "typrelid", "typname"],
        "pg_constraint" => &["oid"],
        _ => &[],
    };
    [numbers, names, own].iter().any(|columns| columns.contains(&column))
}

impl Scope {
    /// What is looked at for a relation's rows.
    pub(crate) fn of(relation: &str, wanted: &Wanted, snapshot: &Snapshot) -> Scope {
        let (numbers, names) = keys(relation);
        if let Some(numbers) = numbers.iter().find_map(|column| wanted.numbers(column)) {
            return Scope::numbered(numbers);
        }
        if let Some(names) = names.iter().find_map(|column| wanted.texts(column)) {
            let own = |name: &String| {
                let system = declared::all().iter().filter(|known| known.name == *name).map(|known| known.oid);
                snapshot.named(name).iter().map(|(_, oid)| *oid).chain(system).collect::<Vec<u32>>()
            };
            return Scope::numbered(names.iter().flat_map(own).collect());
        }
        match relation {
            "pg_type" => types(wanted, snapshot),
            "pg_constraint" => constraints(wanted, snapshot),
            _ => Scope::All,
        }
    }

    /// Those of some numbers: several rows may have asked for one.
    fn numbered(mut numbers: Vec<u32>) -> Scope {
        numbers.sort_unstable();
        numbers.dedup();
        Scope::Of(numbers)
    }

    /// The tables.
    pub(crate) fn tables<'s>(&self, snapshot: &'s Snapshot) -> Vec<&'s Table> {
        match self {
            Scope::All => snapshot.tables.iter().collect(),
            Scope::Of(numbers) => numbers.iter().filter_map(|oid| snapshot.table(*oid)).collect(),
        }
    }

    /// The views.
    pub(crate) fn views<'s>(&self, snapshot: &'s Snapshot) -> Vec<&'s View> {
        match self {
            Scope::All => snapshot.views.iter().collect(),
            Scope::Of(numbers) => numbers.iter().filter_map(|oid| snapshot.view(*oid)).collect(),
        }
    }

    /// The sequences.
    pub(crate) fn sequences<'s>(&self, snapshot: &'s Snapshot) -> Vec<&'s Sequence> {
        match self {
            Scope::All => snapshot.sequences.iter().collect(),
            Scope::Of(numbers) => numbers.iter().filter_map(|oid| snapshot.sequence(*oid)).collect(),
        }
    }

    /// The indexes, those of the tables among them.
    pub(crate) fn indexes<'s>(&self, snapshot: &'s Snapshot) -> Vec<&'s Index> {
        match self {
            Scope::All => snapshot.indexes.iter().collect(),
            Scope::Of(numbers) => {
                let mut found: Vec<&Index> = Vec::new();
                for oid in numbers {
                    found.extend(snapshot.index(*oid));
                    found.extend(snapshot.indexes_of(*oid));
                }
                found.sort_by_key(|index| index.oid);
                found.dedup_by_key(|index| index.oid);
                found
            }
        }
    }

    /// The relations of the catalog itself.
    pub(crate) fn declared(&self) -> Vec<&'static Relation> {
        match self {
            Scope::All => declared::all().iter().collect(),
            Scope::Of(numbers) => numbers.iter().filter_map(|oid| declared::by_oid(*oid)).collect(),
        }
    }

    /// Whether the relation of a number is looked at.
    pub(crate) fn has(&self, oid: u32) -> bool {
        match self {
            Scope::All => true,
            Scope::Of(numbers) => numbers.contains(&oid),
        }
    }
}

/// The relations whose rows' types are asked for.
fn types(wanted: &Wanted, snapshot: &Snapshot) -> Scope {
    // Types of arrays of rows are of no relation.
    if let Some(numbers) = wanted.numbers("typrelid").filter(|numbers| !numbers.contains(&0)) {
        return Scope::numbered(numbers);
    }
    if let Some(numbers) = wanted.numbers("oid") {
        return Scope::numbered(numbers.into_iter().map(|oid| oid & 0x0fff_ffff).collect());
    }
    let Some(names) = wanted.texts("typname") else { return Scope::All };
    let of = |name: &String| {
        let element = name.strip_prefix('_').unwrap_or(name);
        snapshot.named(name).iter().chain(snapshot.named(element)).map(|(_, oid)| *oid).collect::<Vec<u32>>()
    };
    Scope::numbered(names.iter().flat_map(of).collect())
}

/// The tables whose constraints are asked for.
fn constraints(wanted: &Wanted, snapshot: &Snapshot) -> Scope {
    let Some(numbers) = wanted.numbers("oid") else { return Scope::All };
    let table = |oid: &u32| snapshot.constraint(i64::from(*oid)).map(|constraint| constraint.table());
    Scope::numbered(numbers.iter().filter_map(table).collect())
}

#[cfg(test)]
pub(crate) mod tests;
