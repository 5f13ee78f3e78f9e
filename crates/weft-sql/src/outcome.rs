//! What a statement gives back: a tag, the columns, the rows.
//!
//! ```text
//!   INSERT INTO t VALUES (1, 'a'), (2, 'b') RETURNING id
//!   tag INSERT 0 2    columns [id integer]    rows [[1], [2]]
//! ```
//!
//! The point engine gives a flat vector of values, the query engine Arrow batches whose arrays have exactly
//! [`DataType::arrow`] of their column. [`Rows::value`] reads both.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use weft_format::{DataType, Value, ValueRef};

use crate::queries::collected::{Collected, HeldMemory};
use crate::values::{value_at, value_ref_at};

/// One column of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    /// The alias, the column's name, the function's name, or `?column?`.
    pub name: String,
    /// The type of the values.
    pub data_type: DataType,
}

impl OutputColumn {
    /// A column.
    pub fn new(name: impl Into<String>, data_type: DataType) -> OutputColumn {
        OutputColumn { name: name.into(), data_type }
    }
}

/// What was done, as PostgreSQL's command tags say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Rows returned.
    Select(u64),
    /// Rows inserted or updated by INSERT.
    Insert(u64),
    /// Rows updated.
    Update(u64),
    /// Rows deleted.
    Delete(u64),
    /// Rows inserted, updated or deleted by MERGE.
    Merge(u64),
    /// Rows copied.
    Copy(u64),
    /// Rows fetched from a cursor.
    Fetch(u64),
    /// Rows that a cursor passed.
    Move(u64),
    /// A statement without a row count: `BEGIN`, `CREATE TABLE`, ...
    Done(&'static str),
}

impl Tag {
    /// How many rows were touched or returned; 0 for statements without a count.
    pub fn row_count(self) -> u64 {
        match self {
            Tag::Select(n) | Tag::Insert(n) | Tag::Update(n) | Tag::Delete(n) | Tag::Copy(n) => n,
            Tag::Merge(n) | Tag::Fetch(n) | Tag::Move(n) => n,
            Tag::Done(_) => 0,
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tag::Select(n) => write!(f, "SELECT {n}"),
            Tag::Insert(n) => write!(f, "INSERT 0 {n}"),
            Tag::Update(n) => write!(f, "UPDATE {n}"),
            Tag::Delete(n) => write!(f, "DELETE {n}"),
            Tag::Merge(n) => write!(f, "MERGE {n}"),
            Tag::Copy(n) => write!(f, "COPY {n}"),
            Tag::Fetch(n) => write!(f, "FETCH {n}"),
            Tag::Move(n) => write!(f, "MOVE {n}"),
            Tag::Done(words) => f.write_str(words),
        }
    }
}

/// The result of one statement.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was done.
    pub tag: Tag,
    /// The columns of the rows; empty when the statement returns none.
    pub columns: Arc<[OutputColumn]>,
    /// The rows.
    pub rows: Rows,
}

impl Outcome {
    /// A result without columns.
    pub fn done(tag: Tag) -> Outcome {
        Outcome { tag, columns: Arc::new([]), rows: Rows::default() }
    }

    /// The first value of the first row, if there is one.
    pub fn single(&self) -> Option<Value> {
        (!self.rows.is_empty() && !self.columns.is_empty()).then(|| self.rows.value(0, 0))
    }
}

/// The rows of a result.
#[derive(Clone, Debug)]
pub enum Rows {
    /// `count` rows of `width` values each, one after the other.
    Values {
        /// Values per row.
        width: usize,
        /// How many rows.
        count: usize,
        /// `width * count` values.
        values: Vec<Value>,
    },
    /// Arrow batches, and the types of their columns.
    Batches {
        /// One type per column.
        types: Arc<[DataType]>,
        /// The batches; none is empty.
        batches: Vec<RecordBatch>,
        /// For each batch, how many rows lie before it.
        starts: Vec<usize>,
        /// All rows.
        count: usize,
        /// What they take of the memory of queries, until the last clone of them goes.
        memory: Option<HeldMemory>,
    },
}

impl Default for Rows {
    fn default() -> Rows {
        Rows::Values { width: 0, count: 0, values: Vec::new() }
    }
}

impl Rows {
    /// Rows from one flat vector.
    pub fn from_values(width: usize, values: Vec<Value>) -> Rows {
        let count = values.len().checked_div(width).unwrap_or(0);
        assert_eq!(count * width, values.len(), "rows have {width} values each");
        Rows::Values { width, count, values }
    }

    /// Rows from batches whose arrays have the Arrow types of `types`. Empty batches are dropped.
    pub fn from_batches(types: Arc<[DataType]>, mut batches: Vec<RecordBatch>) -> Rows {
        batches.retain(|batch| batch.num_rows() > 0);
        let mut starts = Vec::with_capacity(batches.len());
        let mut count = 0;
        for batch in &batches {
            assert_eq!(batch.num_columns(), types.len(), "a batch has the columns of its result");
            starts.push(count);
            count += batch.num_rows();
        }
        Rows::Batches { types, batches, starts, count, memory: None }
    }

    /// The rows that a query was run for.
    pub(crate) fn from_collected(types: Arc<[DataType]>, collected: Collected) -> Rows {
        let mut rows = Rows::from_batches(types, collected.batches);
        if let Rows::Batches { memory, .. } = &mut rows {
            *memory = Some(collected.memory);
        }
        rows
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Rows::Values { count, .. } | Rows::Batches { count, .. } => *count,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many columns a row has.
    pub fn width(&self) -> usize {
        match self {
            Rows::Values { width, .. } => *width,
            Rows::Batches { types, .. } => types.len(),
        }
    }

    /// One value. Panics when the row or the column does not exist, as indexing does.
    pub fn value(&self, row: usize, column: usize) -> Value {
        match self {
            Rows::Values { width, values, .. } => {
                assert!(column < *width, "column {column} of {width}");
                values[row * width + column].clone()
            }
            Rows::Batches { types, batches, starts, .. } => {
                let batch = starts.partition_point(|&start| start <= row) - 1;
                value_at(batches[batch].column(column), row - starts[batch], types[column])
            }
        }
    }

    /// One value, borrowed. Panics when the row or the column does not exist, as indexing does.
    pub fn value_ref(&self, row: usize, column: usize) -> ValueRef<'_> {
        match self {
            Rows::Values { width, values, .. } => {
                assert!(column < *width, "column {column} of {width}");
                values[row * width + column].as_ref()
            }
            Rows::Batches { types, batches, starts, .. } => {
                let batch = if batches.len() == 1 { 0 } else { starts.partition_point(|&start| start <= row) - 1 };
                value_ref_at(batches[batch].column(column), row - starts[batch], types[column])
            }
        }
    }

    /// All rows, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = Vec<Value>> + '_ {
        (0..self.len()).map(|row| (0..self.width()).map(|column| self.value(row, column)).collect())
    }
}
