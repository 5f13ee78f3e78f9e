//! `pg_stats`: what the values of columns are like, for who may read them.
//!
//! ```text
//!   public | t | c | null_frac 0.05 | n_distinct 62 | most_common_vals {a,b} | most_common_freqs {0.45,0.09} | ...
//!   public | t | k | null_frac 0    | n_distinct -1 | NULL                   | NULL                          | ...
//! ```
//!
//! A column that the role may not read is not in it (PostgreSQL asks `has_column_privilege`), for common values are
//! values.

use crate::making::Rows;
use crate::rights::{Kind, Rights, Target};
use crate::snapshot::Snapshot;
use crate::value::Datum;

/// Fills the view.
pub(crate) fn fill(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    let (role, access) = (snapshot.own_oid(), &snapshot.access);
    for table in rows.scope.tables(snapshot) {
        let target = Target::Relation(table.oid);
        let may_read_all = access.rights(role, target, Kind::Table).has(Rights::SELECT);
        let is_readable = |number| may_read_all || access.column_rights(role, target, number).has(Rights::SELECT);
        // Columns are looked at when there is one that may be shown.
        let shown = |column: &crate::objects::Column, number: i64| !column.dropped && is_readable(number);
        let columns: Vec<(i64, &str)> = (1i64..)
            .zip(&table.columns)
            .filter(|(number, column)| shown(column, *number))
            .map(|(number, column)| (number, column.name.as_str()))
            .collect();
        if columns.is_empty() {
            continue;
        }
        for known in snapshot.figures.columns(table.oid) {
            let Some((_, name)) = columns.iter().find(|(number, _)| *number == known.number) else { continue };
            let shares = |shares: Vec<f64>| Datum::list(shares.into_iter().map(Datum::Float).collect());
            let (values, shares) = match known.common {
                Some((values, each)) => (Datum::text(values), shares(each)),
                None => (Datum::Null, Datum::Null),
            };
            rows.add([
                ("schemaname", Datum::text(snapshot.schema_name(table.schema))),
                ("tablename", Datum::text(&table.name)),
                ("attname", Datum::text(name)),
                ("inherited", Datum::Bool(false)),
                ("null_frac", Datum::Float(known.null_share)),
                ("avg_width", Datum::Int(known.average_bytes.round() as i64)),
                ("n_distinct", Datum::Float(known.distinct)),
                ("most_common_vals", values),
                ("most_common_freqs", shares),
                ("histogram_bounds", known.bounds.map_or(Datum::Null, Datum::text)),
                ("correlation", Datum::Null),
            ]);
        }
    }
}
