//! WHERE clauses that bound the primary key: rows that lie one behind the other.
//!
//! ```text
//!   key (a, b):   WHERE a = $1 AND b >= 10 AND c > 0     from ($1, 10) to behind ($1, ..), filter c > 0
//!   key (a):      WHERE a > $1 ORDER BY a LIMIT 20       20 rows from behind $1 on
//!   key (a):      WHERE a > $1                           nothing here: that is most of the table as often as not
//! ```
//!
//! 1. The bounds say all of the conditions that are not in the filter. Where a constant is none that the column can
//!    have, nobody says so for its neighbours, and the query engine runs the statement.
//! 2. A range of too many rows is left to the query engine, too, and one of too many bytes. A plan that comes to such
//!    ranges again and again looks at fewer and fewer of them first.
//! 3. An index that is bounded by what the range leaves to the filter goes before it.

use std::cmp::Ordering as Order;
use std::sync::atomic::{AtomicU32, Ordering};

use weft_format::{CompareOp, DataType, Predicate, Result, Value};
use weft_kernel::index::{Direction, IndexPart};
use weft_kernel::table::OrderedRows;
use weft_kernel::{RangeRows, RowRange, TableRef};

use super::TableShape;
use super::access::{End, IndexAccess, Rank, Wish};
use super::condition::{PartTest, Test, is_spread};
use super::planner::RowContext;
use super::shape::key_value;
use crate::expr::{EvalContext, Expr};

/// So many rows are read first where nobody says how many are wanted.
pub(super) const FIRST_ROWS: usize = 128;
/// So many at most are read at once, so that a request to cancel is seen between.
const ROWS_MAX: usize = 8192;
/// Ranges of more bytes are left to the query engine, which hands on what it has.
const BYTES_MAX: usize = 4 << 20;
/// At most so many executions in a row are left to the query engine without a look.
const RESTS_MAX: u32 = 64;

/// A range of the primary key.
pub(super) struct RangeAccess {
    /// Of the first columns of the key: ordinal, type and the constant that they equal.
    equal: Vec<(usize, DataType, Expr)>,
    /// Of the column behind them.
    ends: Option<(usize, DataType, Option<End>, Option<End>)>,
    /// The rows come in the order wished for.
    ordered: Option<Direction>,
    /// From which end rows are read.
    direction: Direction,
    rests: Rests,
}

/// What bounds the keys of one execution.
pub(super) enum Bounds {
    /// No row can be meant.
    Nothing,
    /// It cannot be said (range 1).
    Unknown,
    /// Conditions on columns of the key.
    Of(Vec<Predicate>),
}

/// How many executions are left to the query engine at once (range 2).
#[derive(Default)]
struct Rests {
    left: AtomicU32,
    next: AtomicU32,
}

impl Rests {
    /// Whether the query engine takes this execution at once.
    fn take(&self) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        if left > 0 {
            self.left.store(left - 1, Ordering::Relaxed);
        }
        left > 0
    }

    /// An execution came to all its rows, or to too many.
    fn note(&self, is_done: bool) {
        let next = self.next.load(Ordering::Relaxed);
        let next = if is_done { 0 } else { (next * 2).clamp(1, RESTS_MAX) };
        self.next.store(next, Ordering::Relaxed);
        self.left.store(next, Ordering::Relaxed);
    }
}

/// Reads the rows of one execution.
pub(super) struct RangeReader<'a> {
    range: &'a RangeAccess,
    table: TableRef,
    /// None: there is nothing more.
    predicates: Option<Vec<Predicate>>,
    after: Option<Vec<u8>>,
    /// So many rows may still be read,
    left: usize,
    /// and values of so many bytes, about.
    bytes_left: usize,
}

/// What a reader has next.
pub(super) enum Next {
    /// Some rows, perhaps none yet.
    Rows(OrderedRows),
    /// There are no more.
    End,
    /// The query engine is to run the statement.
    TooMany,
}

impl RangeReader<'_> {
    /// The next rows, at most `limit` and perhaps none, with some columns.
    pub(super) fn next(&mut self, limit: usize, columns: &[usize], context: &RowContext<'_>) -> Result<Next> {
        context.cancel.check()?;
        let Some(predicates) = &self.predicates else {
            self.note_done();
            return Ok(Next::End);
        };
        let limit = limit.min(self.left).min(ROWS_MAX);
        if limit == 0 || self.bytes_left == 0 {
            self.range.rests.note(false);
            return Ok(Next::TooMany);
        }
        let (after, direction) = (self.after.as_deref(), self.range.direction);
        let range = RowRange { predicates, direction, after, limit, columns };
        let Some(RangeRows { rows, behind }) = context.txn.range_rows(&self.table, range)? else {
            return Ok(Next::TooMany);
        };
        if self.left != usize::MAX {
            // Where there are fewer rows there was more to look at.
            self.left -= if behind.is_some() { limit } else { rows.len() };
            self.bytes_left = self.bytes_left.saturating_sub(rows.bytes_from(0));
        }
        if behind.is_none() {
            self.predicates = None;
        }
        self.after = behind;
        Ok(Next::Rows(rows))
    }

    /// From here on it comes to its end, however many rows there are.
    pub(super) fn stay(&mut self) {
        self.left = usize::MAX;
        self.bytes_left = usize::MAX;
    }

    /// There are as many rows as are wanted.
    pub(super) fn note_done(&self) {
        self.range.rests.note(true);
    }
}

impl RangeAccess {
    /// The range that some conditions leave of the key, each with what it tests, and which of them it says: none when
    /// there is none of use.
    pub(super) fn choose(
        conditions: &[&[PartTest]],
        shape: &TableShape,
        wish: Option<&Wish>,
    ) -> Option<(Rank, RangeAccess, Vec<usize>)> {
        shape.table.table.ordered()?;
        let schema = &shape.table.def.schema;
        let mut named = Vec::new();
        let mut equal: Vec<(usize, DataType, Expr)> = Vec::new();
        for &ordinal in &schema.key {
            let data_type = schema.columns[ordinal].data_type;
            let Some((at, constant)) = equality(conditions, ordinal, data_type) else { break };
            named.push(at);
            equal.push((ordinal, data_type, constant.clone()));
        }
        let rest = &schema.key[equal.len()..];
        let ends = rest.first().and_then(|&next| {
            let data_type = schema.columns[next].data_type;
            let (low, high) = ends(conditions, next, &mut named);
            (is_ordered_as_key(data_type) && (low.is_some() || high.is_some())).then_some((next, data_type, low, high))
        });
        if ends.is_none() {
            named.truncate(equal.len());
        }
        let count =
            ends.as_ref().map_or(0, |(_, _, low, high)| usize::from(low.is_some()) + usize::from(high.is_some()));
        let wish = wish.filter(|wish| {
            let is_known = |part: &&IndexPart| equal.iter().any(|(known, ..)| **part == IndexPart::Column(*known));
            let wished = wish.parts.iter().filter(|part| !is_known(part));
            // Behind the whole key there is nothing to order.
            wished.zip(rest).all(|(part, &ordinal)| *part == IndexPart::Column(ordinal))
        });
        let is_first_rows = wish.is_some_and(|wish| wish.is_limited && (count > 0 || !wish.parts.is_empty()));
        if equal.is_empty() && count < 2 && !is_first_rows {
            return None;
        }
        let direction = match wish {
            Some(wish) if wish.descending => Direction::Backward,
            _ => Direction::Forward,
        };
        let rank = Rank::of_range(equal.len(), count);
        let ordered = wish.map(|_| direction);
        Some((rank, RangeAccess { equal, ends, ordered, direction, rests: Rests::default() }, named))
    }

    /// What bounds the keys of an execution.
    pub(super) fn bounds(&self, eval: &EvalContext<'_>) -> Result<Bounds> {
        let mut predicates = Vec::with_capacity(self.equal.len() + 2);
        for (column, data_type, constant) in &self.equal {
            let value = constant.eval(&[], eval)?;
            match key_value(value.as_ref(), constant.data_type, *data_type) {
                Some(value) => predicates.push(Predicate::Compare { column: *column, op: CompareOp::Eq, value }),
                None => return Ok(Bounds::Nothing),
            }
        }
        let Some((column, data_type, low, high)) = &self.ends else { return Ok(Bounds::Of(predicates)) };
        let ops = [[CompareOp::Gt, CompareOp::GtEq], [CompareOp::Lt, CompareOp::LtEq]];
        for (end, ops) in [low, high].into_iter().zip(ops) {
            let Some(End { constant, included }) = end else { continue };
            let value = constant.eval(&[], eval)?;
            if value.is_null() {
                return Ok(Bounds::Nothing);
            }
            match key_value(value.as_ref(), constant.data_type, *data_type) {
                Some(value) => {
                    predicates.push(Predicate::Compare { column: *column, op: ops[usize::from(*included)], value });
                }
                None => return Ok(Bounds::Unknown),
            }
        }
        Ok(Bounds::Of(predicates))
    }

    /// The rows of an execution, so many at a time: what reads them. None when the query engine is to run it: at once,
    /// or because the bounds cannot be said.
    pub(super) fn read(&self, shape: &TableShape, context: &RowContext<'_>) -> Result<Option<RangeReader<'_>>> {
        let is_forced = context.candidates_max == usize::MAX;
        if !is_forced && self.rests.take() {
            return Ok(None);
        }
        let predicates = match self.bounds(&context.eval)? {
            Bounds::Unknown => return Ok(None),
            Bounds::Nothing => None,
            Bounds::Of(predicates) => Some(predicates),
        };
        let (table, left) = (shape.table.clone(), context.candidates_max);
        let bytes_left = if is_forced { usize::MAX } else { BYTES_MAX };
        Ok(Some(RangeReader { range: self, table, predicates, after: None, left, bytes_left }))
    }

    /// The keys of an execution whose rows pass a filter over the visible columns; none when there are more rows than
    /// the context takes.
    pub(super) fn keys(
        &self,
        filter: Option<&Expr>,
        shape: &TableShape,
        context: &RowContext<'_>,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let Some(mut reader) = self.read(shape, context)? else { return Ok(None) };
        let mut columns = Vec::new();
        let mut filter = filter.cloned();
        filter
            .iter_mut()
            .for_each(|filter| filter.map_columns(&mut |position| *position = place_of(*position, &mut columns)));
        let (mut keys, mut number, mut limit) = (Vec::new(), 0, FIRST_ROWS);
        loop {
            let rows = match reader.next(limit, &columns, context)? {
                Next::Rows(rows) => rows,
                Next::End => return Ok(Some(keys)),
                Next::TooMany => return Ok(None),
            };
            limit = more_rows(limit);
            let mut values = rows.values.into_iter();
            for key in rows.keys {
                context.check_cancel(number)?;
                number += 1;
                let row: Vec<Value> = values.by_ref().take(columns.len()).collect();
                let is_wanted = match &filter {
                    Some(filter) => filter.truth(&row, &context.eval)? == Some(true),
                    None => true,
                };
                if is_wanted {
                    keys.push(key);
                }
            }
        }
    }

    /// Whether it goes before an index that is of use as well (range 3).
    pub(super) fn beats(&self, rank: &Rank, (index_rank, index): &(Rank, IndexAccess)) -> bool {
        let is_bounded = self.ends.as_ref().is_some_and(|(_, _, low, high)| low.is_some() && high.is_some());
        let is_known = |part: &IndexPart| self.equal.iter().any(|(known, ..)| *part == IndexPart::Column(*known));
        match rank.columns_equal().cmp(&index_rank.columns_equal()) {
            _ if index_rank.is_unique_row() => false,
            Order::Less => false,
            Order::Greater => true,
            // It is asked for no more rows than are wanted.
            Order::Equal if index.is_ordered() && !self.is_ordered() => false,
            Order::Equal if !self.equal.is_empty() => index.equal_parts().iter().all(is_known),
            Order::Equal => is_bounded || !(index_rank.is_bounded() || index.is_ordered() && self.ends.is_none()),
        }
    }

    /// Whether the rows come in the order wished for.
    pub(super) fn is_ordered(&self) -> bool {
        self.ordered.is_some()
    }

    /// For EXPLAIN: how rows are read where no condition says so.
    pub(super) fn explain(&self) -> Option<String> {
        match self.ordered {
            Some(Direction::Backward) => Some("Order: of the key, backward".into()),
            Some(Direction::Forward) if self.equal.is_empty() && self.ends.is_none() => {
                Some("Order: of the key".into())
            }
            _ => None,
        }
    }
}

/// The condition that a column of the key equals one constant, and the constant.
fn equality<'a>(conditions: &[&'a [PartTest]], ordinal: usize, data_type: DataType) -> Option<(usize, &'a Expr)> {
    conditions.iter().enumerate().find_map(|(at, tests)| match tests {
        [PartTest { part: IndexPart::Column(known), test: Test::Equal(constants) }] if *known == ordinal => {
            match constants.as_slice() {
                [constant] if !is_spread(constant, data_type) => Some((at, constant)),
                _ => None,
            }
        }
        _ => None,
    })
}

/// The first ends of a column that conditions give which say nothing else; `named` gets these conditions.
fn ends(conditions: &[&[PartTest]], ordinal: usize, named: &mut Vec<usize>) -> (Option<End>, Option<End>) {
    let (mut low, mut high) = (None, None);
    for (at, tests) in conditions.iter().enumerate() {
        let is_end = |test: &PartTest| match test.test {
            Test::Low(..) => low.is_none(),
            Test::High(..) => high.is_none(),
            Test::Equal(_) => false,
        };
        let is_of_column = |test: &PartTest| test.part == IndexPart::Column(ordinal);
        if tests.is_empty() || !tests.iter().all(|test| is_of_column(test) && is_end(test)) {
            continue;
        }
        for test in *tests {
            match &test.test {
                Test::Low(constant, included) => low = Some(End { constant: constant.clone(), included: *included }),
                Test::High(constant, included) => high = Some(End { constant: constant.clone(), included: *included }),
                Test::Equal(_) => unreachable!("it is an end"),
            }
        }
        named.push(at);
    }
    (low, high)
}

/// Whether values compare as they do in keys.
fn is_ordered_as_key(data_type: DataType) -> bool {
    use DataType::{
        BigInt, Bytea, Date, Integer, Numeric, SmallInt, Text, Time, Timestamp, TimestampTz, Uuid, Varchar,
    };
    matches!(
        data_type,
        SmallInt
            | Integer
            | BigInt
            | Date
            | Time
            | Timestamp
            | TimestampTz
            | Uuid
            | Bytea
            | Text
            | Varchar(_)
            | Numeric { .. }
    )
}

/// How many rows are read behind so many.
pub(super) fn more_rows(limit: usize) -> usize {
    (limit * 4).min(ROWS_MAX)
}

/// The place of an ordinal in a list, which gets it when it lacks it.
pub(super) fn place_of(ordinal: usize, list: &mut Vec<usize>) -> usize {
    list.iter().position(|&known| known == ordinal).unwrap_or_else(|| {
        list.push(ordinal);
        list.len() - 1
    })
}
