//! What an index orders rows by: columns and expressions, and the value that a row has by them.
//!
//! ```text
//!   UNIQUE INDEX ON t (a, lower(b))    parts: column 1, expression lower(b)
//!   row (k 7, a 3, b 'Xy')             value: 01 80 00 00 03  01 'x' 'y' 00 00
//!   row (k 8, a 3, b NULL)             value: 01 80 00 00 03  02                  has a NULL: equal to no other
//! ```
//!
//! 1. A value is one byte (1, or 2 for NULL) and the part's bytes in key order, per part; none is a prefix of another.
//! 2. A row whose expression fails has no value and no entry. No row that is alive is such a row once the index is
//!    committed: who stages a row evaluates its expressions and keeps the columns that they read from changing
//!    ([`columns_tested`](crate::TableRef::columns_tested)), and who makes the index looks at all rows. Versions from
//!    before it may be, and rows that were written while it was made: then making it fails.

use std::sync::{Arc, Weak};

use weft_contract::{Table, TableDef};
use weft_expr::{EvalContext, Expr};
use weft_format::{
    Code, DataType, Error, KeyCodec, Predicate, Result, RowCodec, Schema, Timestamp, Value, ValueRef, key,
};

use super::indexed::Indexed;
use super::options::Keep;
use crate::fault::{Fault, active};
use crate::step::{Moment, passed};
use crate::timeline::Horizon;

/// One of the things that an index orders rows by.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexPart {
    /// The ordinal of a stored column.
    Column(usize),
    /// An immutable expression over the stored columns.
    Expression(Arc<Expr>),
}

impl IndexPart {
    /// The type of its values.
    pub fn data_type(&self, schema: &Schema) -> DataType {
        match self {
            IndexPart::Column(ordinal) => schema.columns[*ordinal].data_type,
            IndexPart::Expression(expr) => expr.data_type,
        }
    }

    /// The ordinals of the columns that decide on it.
    pub(crate) fn reads(&self) -> Vec<usize> {
        match self {
            IndexPart::Column(ordinal) => vec![*ordinal],
            IndexPart::Expression(expr) => expr.columns(),
        }
    }

    /// The column's name, or the expression as SQL, as PostgreSQL shows it.
    pub fn text(&self, schema: &Schema) -> String {
        match self {
            IndexPart::Column(ordinal) => schema.columns[*ordinal].name.clone(),
            IndexPart::Expression(expr) => {
                let names: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
                expr.key_sql(&names)
            }
        }
    }

    /// Tests that an index of a table with this schema can have the part.
    pub(crate) fn check(&self, schema: &Schema) -> Result<()> {
        match self {
            IndexPart::Column(ordinal) if *ordinal < schema.columns.len() => Ok(()),
            IndexPart::Column(ordinal) => Err(Error::internal(format!("an index has column {ordinal} of no table"))),
            IndexPart::Expression(expr) => {
                if !expr.is_immutable() {
                    let message = "functions in index expression must be marked IMMUTABLE";
                    let error = Error::new(Code::InvalidObjectDefinition, message);
                    return Err(error.hint("its value must not depend on the clock, on settings or on parameters"));
                }
                let types: Vec<DataType> = schema.columns.iter().map(|column| column.data_type).collect();
                expr.check_types(&types)
                    .map_err(|wrong| Error::internal(format!("an expression is ill-typed: {wrong}")))?;
                expr.encode().map(|_| ())
            }
        }
    }
}

/// The parts as an option of the index's definition: `0,(0),2` is column 0, the first expression, column 2.
pub(crate) fn write_parts(parts: &[IndexPart]) -> (String, Vec<Expr>) {
    let mut expressions = Vec::new();
    let mut words = Vec::with_capacity(parts.len());
    for part in parts {
        words.push(match part {
            IndexPart::Column(ordinal) => ordinal.to_string(),
            IndexPart::Expression(expr) => {
                expressions.push(Expr::clone(expr));
                format!("({})", expressions.len() - 1)
            }
        });
    }
    (words.join(","), expressions)
}

/// The parts of a definition; none when it is damaged.
pub(crate) fn read_parts(def: &TableDef, schema: &Schema) -> Option<Vec<IndexPart>> {
    let part = |word: &str| {
        let part = match word.strip_prefix('(').and_then(|word| word.strip_suffix(')')) {
            Some(number) => {
                IndexPart::Expression(Arc::new(def.expressions.get(number.parse::<usize>().ok()?)?.clone()))
            }
            None => IndexPart::Column(word.parse().ok()?),
        };
        part.check(schema).is_ok().then_some(part)
    };
    def.options.get("columns")?.split(',').map(part).collect()
}

/// How a part is computed from a row.
#[derive(Clone)]
enum Source {
    Column(usize),
    /// The expression over the values of these columns alone.
    Expression(Expr, Vec<usize>),
}

impl Source {
    fn new(part: &IndexPart) -> Source {
        match part {
            IndexPart::Column(ordinal) => Source::Column(*ordinal),
            IndexPart::Expression(expr) => {
                let columns = expr.columns();
                let mut expr = Expr::clone(expr);
                expr.map_columns(&mut |position| {
                    *position = columns.binary_search(position).expect("these are the columns it reads");
                });
                Source::Expression(expr, columns)
            }
        }
    }
}

/// The rows of a table, as an index sees them.
#[derive(Clone)]
pub(crate) struct IndexedRows {
    pub(crate) table: Weak<dyn Table>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) codec: Arc<RowCodec>,
    pub(crate) keys: Arc<KeyCodec>,
    sources: Vec<Source>,
    pub(crate) types: Vec<DataType>,
    predicate: Vec<Predicate>,
    pub(crate) horizon: Arc<Horizon>,
}

impl IndexedRows {
    pub(crate) fn new(
        t: &Indexed,
        parts: &[IndexPart],
        predicate: &[Predicate],
        horizon: &Arc<Horizon>,
    ) -> IndexedRows {
        IndexedRows {
            table: Arc::downgrade(&t.table),
            schema: t.def.schema.clone(),
            codec: t.codec.clone(),
            keys: t.keys.clone(),
            sources: parts.iter().map(Source::new).collect(),
            types: parts.iter().map(|part| part.data_type(&t.def.schema)).collect(),
            predicate: predicate.to_vec(),
            horizon: Arc::clone(horizon),
        }
    }

    /// Puts the value of a row; true when a part of it is NULL. An error when an expression fails (parts 2).
    pub(crate) fn put(&self, row: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        debug_assert_eq!(self.sources.len(), self.types.len(), "each part has a type");
        value.clear();
        let mut has_null = false;
        for (source, &data_type) in self.sources.iter().zip(&self.types) {
            match source {
                Source::Column(column) => {
                    let column = self.codec.get(row, *column);
                    has_null |= column.is_null();
                    put_part(value, data_type, column);
                }
                Source::Expression(expr, columns) => {
                    let computed = self.evaluate(expr, columns, row)?;
                    has_null |= computed.is_null();
                    put_part(value, data_type, computed.as_ref());
                }
            }
        }
        Ok(has_null)
    }

    fn evaluate(&self, expr: &Expr, columns: &[usize], row: &[u8]) -> Result<Value> {
        let values: Vec<Value> = columns.iter().map(|&column| self.codec.get(row, column).to_value()).collect();
        expr.eval(&values, &EvalContext::none())
    }

    /// The values of the parts.
    pub(crate) fn values(&self, row: &[u8]) -> Result<Vec<Value>> {
        let value = |source: &Source| match source {
            Source::Column(column) => Ok(self.codec.get(row, *column).to_value()),
            Source::Expression(expr, columns) => self.evaluate(expr, columns, row),
        };
        self.sources.iter().map(value).collect()
    }

    /// Whether the index has a row.
    pub(crate) fn has(&self, row: &[u8]) -> bool {
        self.predicate.iter().all(|predicate| predicate.matches(self.codec.get(row, predicate.column())))
    }

    /// Whether the index has a row, by this value. `buffer` is used again and again.
    pub(crate) fn has_by(&self, row: &[u8], value: &[u8], buffer: &mut Vec<u8>) -> bool {
        self.has(row) && self.put(row, buffer).is_ok() && buffer == value
    }
}

impl Keep for IndexedRows {
    fn keep(&self, value: &[u8], key: &[u8], _: Timestamp) -> Result<bool> {
        let Some(table) = self.table.upgrade() else { return Ok(true) };
        // A later version with this value, or one that the predicate lets in again, has added the entry again, above
        // the horizon.
        let row = loop {
            let horizon = self.horizon.floor();
            passed(Moment::KeepAsked);
            let row = table.read_row(key, horizon)?;
            // Not there, or gone since: the horizon has moved on, and a job has dropped the version.
            let is_final = row.is_some() || self.horizon.floor() == horizon;
            if is_final || active(Fault::INDEX_ASKS_OLD_HORIZON) {
                break row;
            }
        };
        let mut present = Vec::with_capacity(value.len());
        Ok(row.is_some_and(|row| self.has_by(&row, value, &mut present)))
    }
}

/// Appends the value of one part in the order of an index.
pub(crate) fn put_part(value: &mut Vec<u8>, data_type: DataType, part: ValueRef<'_>) {
    match part {
        ValueRef::Null => value.push(2),
        part => {
            value.push(1);
            key::put(value, data_type, part);
        }
    }
}
