//! What conditions ask of relations before their rows are made.
//!
//! ```text
//!   pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relname = 't'
//!     c: relname t                     one relation is looked at
//!     a: attrelid 16387, of c's row    its columns
//! ```
//!
//! A condition is tested on the rows in any case: what is asked for only says which rows need not be made.

use crate::declared::Relation;
use crate::eval::{Around, Execution};
use crate::relations::wanted_rows;
use crate::tree::{Comparison, Condition, Ex};
use crate::value::{Datum, Row, Type};
use crate::wanted::{Scope, Wanted};

/// The most rows whose values are asked for.
const ROWS_MAX: usize = 64;

/// The values that a place of a row must have.
#[derive(Clone)]
pub(crate) struct Asked {
    place: usize,
    values: Vec<Datum>,
}

impl Execution<'_> {
    /// What conditions ask for by constants, and by columns of the queries around.
    pub(crate) fn asked_by_constants(&self, conditions: &[Condition], outer: Option<&Around<'_>>) -> Vec<Asked> {
        let around = Around::row(&[], outer);
        let one = |ex: &Ex| if is_free(ex) { self.eval(ex, &around).ok() } else { None };
        let asked = |condition: &Condition| match &condition.ex {
            Ex::Compare(Comparison::Eq, left, right) => match (&**left, &**right) {
                (Ex::Column { depth: 0, place }, other) | (other, Ex::Column { depth: 0, place }) => {
                    Some(Asked { place: *place, values: vec![one(other)?] })
                }
                _ => None,
            },
            Ex::InList(of, items, false) => match &**of {
                Ex::Column { depth: 0, place } => {
                    Some(Asked { place: *place, values: items.iter().map(one).collect::<Option<Vec<Datum>>>()? })
                }
                _ => None,
            },
            Ex::Match { text, pattern, like: false, insensitive: false, negated: false } => match (&**text, &**pattern)
            {
                (Ex::Column { depth: 0, place }, Ex::Const(Datum::Text(pattern))) => {
                    Some(Asked { place: *place, values: vec![Datum::text(whole_name(pattern)?)] })
                }
                _ => None,
            },
            _ => None,
        };
        conditions.iter().filter_map(asked).collect()
    }

    /// What equalities ask for by the rows so far, where these are few.
    pub(crate) fn asked_by_rows(&self, rows: &[Row], on: &[Condition], outer: Option<&Around<'_>>) -> Vec<Asked> {
        if rows.len() > ROWS_MAX {
            return Vec::new();
        }
        let asked = |condition: &Condition| {
            let Some((left, Ex::Column { depth: 0, place })) = &condition.equal else { return None };
            let values = rows.iter().map(|row| self.eval(left, &Around::row(row, outer)).ok());
            Some(Asked { place: *place, values: values.collect::<Option<Vec<Datum>>>()? })
        };
        on.iter().filter_map(asked).collect()
    }

    /// The rows of a relation that are asked for, where that says which relations are looked at; its first column is at
    /// a place.
    pub(crate) fn asked_rows(&self, relation: &'static Relation, start: usize, asked: &[Asked]) -> Option<Vec<Row>> {
        let mut wanted = Wanted::default();
        for asked in asked {
            let Some((name, data_type)) = asked.place.checked_sub(start).and_then(|at| relation.columns.get(at)) else {
                continue;
            };
            let known = asked.values.iter().filter(|value| !value.is_null());
            if let Some(values) = known.map(|value| own_value(value, data_type)).collect::<Option<Vec<Datum>>>() {
                wanted.any_of(name, values);
            }
        }
        match Scope::of(relation.name, &wanted, self.snapshot) {
            Scope::All => None,
            Scope::Of(_) => Some(wanted_rows(relation, self.snapshot, &wanted).0),
        }
    }
}

/// Whether an expression has its value before there are rows.
fn is_free(ex: &Ex) -> bool {
    match ex {
        Ex::Const(_) | Ex::Param(_) => true,
        Ex::Column { depth, .. } => *depth > 0,
        Ex::Cast(inner, ..) => is_free(inner),
        _ => false,
    }
}

/// A value as one of a column's own: a text is compared with numbers as what it says.
fn own_value(value: &Datum, data_type: &Type) -> Option<Datum> {
    match value {
        Datum::Int(_) if data_type.is_integer() => Some(value.clone()),
        Datum::Text(text) if data_type.is_integer() => text.trim().parse().ok().map(Datum::Int),
        Datum::Text(_) if data_type.is_text() => Some(value.clone()),
        _ => None,
    }
}

/// The name that a pattern such as psql's `^(orders)$` is one of.
fn whole_name(pattern: &str) -> Option<&str> {
    let name = pattern.strip_prefix("^(")?.strip_suffix(")$")?;
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_plain.then_some(name)
}
