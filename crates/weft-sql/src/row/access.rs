//! Which index a WHERE clause can use, and the keys of the rows that may satisfy it.
//!
//! ```text
//!   indexes (a, b), (c);   WHERE a = 1 AND b > $1 AND c > 0
//!   chosen  (a, b)         two columns of it are of use: an equality, then a range
//!   keys    all of (1, $1) < (a, b) <= (1, *)       candidates: every one is read and tested by the whole WHERE
//! ```
//!
//! With LIMIT an index may give the first rows in its own order, so that no more than these are read:
//!
//! ```text
//!   WHERE a = 1 ORDER BY b DESC LIMIT 3         (a, b) backwards within a = 1, until 3 rows pass the WHERE clause
//! ```
//!
//! A part of an index, and of such a wish, is a column or an expression that is the same in both, not only equal in
//! value.
//!
//! 1. Every row that satisfies the WHERE clause is a candidate (condition 1, and the kernel's index_keys); a candidate
//!    need not satisfy it, because an entry may be of an older or newer version of its row.
//! 2. A partial index is used when the WHERE clause's constants, none of them a parameter, imply its predicate. Then
//!    all its entries may be read, too: they are the candidates of a WHERE clause that says no more than that.
//! 3. NULL equals nothing and is in no range: a constant that is NULL has no candidates.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use weft_format::predicate::all_implied;
use weft_format::{DataType, Predicate, Result, Value};

use weft_kernel::index::{Direction, Index, IndexPart};

use super::TableShape;
use super::condition::{PartTest, Test, is_spread, spread};
use super::planner::RowContext;
use super::predicate_text::predicate_text;
use super::shape::key_value;
use crate::binding::Tables;
use crate::expr::{EvalContext, Expr};

/// The most lookups that lists of constants may ask for.
const LOOKUPS_MAX: usize = 200;

/// How many elements an array is taken to have when it is not known.
const ARRAY_LOOKUPS: usize = 10;

/// Candidates by an index.
pub(super) struct IndexAccess {
    index: Arc<Index>,
    /// Constants of the leading parts, any one of each, and the parts' types.
    prefix: Vec<(Vec<Expr>, DataType)>,
    /// Bounds of the part behind them, and its type.
    range: Option<(DataType, Option<End>, Option<End>)>,
    /// The rows come in the order that was wished for.
    ordered: Option<Direction>,
}

/// Rows by these are wanted; by none when any rows will do.
pub(super) struct Wish {
    pub(super) parts: Vec<IndexPart>,
    pub(super) descending: bool,
    /// Only the first of them.
    pub(super) is_limited: bool,
}

/// The lower and the upper end of a range of one execution, and whether they belong to it.
type Ends = (Option<(Value, bool)>, Option<(Value, bool)>);

/// An end of a range: a constant, and whether it belongs to the range.
#[derive(Clone)]
pub(super) struct End {
    pub(super) constant: Expr,
    pub(super) included: bool,
}

/// How good an index is, or a range of the key: greater is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// At most one row.
    is_unique_row: bool,
    columns_equal: usize,
    ends: usize,
    /// It has fewer entries than one of all rows.
    is_partial: bool,
    /// Fewer lookups are better.
    lookups: std::cmp::Reverse<usize>,
}

impl Rank {
    /// A range of the key, of which so many columns are equal to constants and the next has so many ends.
    pub(super) fn of_range(columns_equal: usize, ends: usize) -> Rank {
        let (is_unique_row, is_partial, lookups) = (false, false, std::cmp::Reverse(1));
        Rank { is_unique_row, columns_equal, ends, is_partial, lookups }
    }

    pub(super) fn is_unique_row(&self) -> bool {
        self.is_unique_row
    }

    pub(super) fn columns_equal(&self) -> usize {
        self.columns_equal
    }

    /// Whether it has two ends, or the entries of some rows only.
    pub(super) fn is_bounded(&self) -> bool {
        self.ends == 2 || self.is_partial
    }
}

impl IndexAccess {
    /// The best index for these comparisons, all of which hold for the rows wanted, as do the `known` predicates; none
    /// when none is of use.
    pub(super) fn choose(
        tests: &[&PartTest],
        known: &[Predicate],
        shape: &TableShape,
        tables: &dyn Tables,
        wish: Option<&Wish>,
    ) -> Option<(Rank, IndexAccess)> {
        let indexes = shape.table.indexes();
        let has_all = |index: &&Arc<Index>| all_implied(known, index.predicate());
        let indexes = || indexes.iter().map(|index| &index.index);
        let usable = || indexes().filter(has_all).filter(|index| tables.can_use_index(&shape.table, index));
        let better = |best: (Rank, IndexAccess), next: (Rank, IndexAccess)| if next.0 > best.0 { next } else { best };
        let found = usable().filter_map(|index| IndexAccess::on(index, tests, shape)).reduce(better);
        let ordered = wish.filter(|wish| wish.is_limited).and_then(|wish| {
            usable().filter_map(|index| IndexAccess::in_order(index, tests, shape, wish)).reduce(better)
        });
        match (found, ordered) {
            (Some(found), Some(ordered)) => {
                let sorts = found.0.is_unique_row || found.0.columns_equal > ordered.0.columns_equal;
                Some(if sorts { found } else { ordered })
            }
            (found, ordered) => found.or(ordered),
        }
    }

    /// The index when its order, within equal leading columns, is the one wished for.
    fn in_order(
        index: &Arc<Index>,
        tests: &[&PartTest],
        shape: &TableShape,
        wish: &Wish,
    ) -> Option<(Rank, IndexAccess)> {
        let mut prefix: Vec<(Vec<Expr>, DataType)> = Vec::new();
        let schema = &shape.table.def.schema;
        let is_single = |part: &IndexPart, constants: &[Expr]| {
            constants.len() == 1 && !is_spread(&constants[0], part.data_type(schema))
        };
        let single = |part: &IndexPart| equality(tests, part).filter(|constants| is_single(part, constants));
        for part in index.parts() {
            let Some(constants) = single(part) else { break };
            prefix.push((constants.to_vec(), part.data_type(schema)));
        }
        let behind = &index.parts()[prefix.len()..];
        // What equals a constant orders nothing.
        let wished: Vec<IndexPart> = wish.parts.iter().filter(|part| single(part).is_none()).cloned().collect();
        if !behind.starts_with(&wished) {
            return None;
        }
        let mut range = None;
        if let Some(part) = behind.first() {
            let (low, high) = (end(tests, part, true), end(tests, part, false));
            if low.is_some() || high.is_some() {
                range = Some((part.data_type(schema), low, high));
            }
        }
        let ends = range.as_ref().map_or(0, |(_, low, high)| usize::from(low.is_some()) + usize::from(high.is_some()));
        if prefix.is_empty() && ends == 0 && wished.is_empty() && !index.is_partial() {
            return None;
        }
        let direction = if wish.descending { Direction::Backward } else { Direction::Forward };
        let rank = Rank {
            is_unique_row: false,
            columns_equal: prefix.len(),
            ends,
            is_partial: index.is_partial(),
            lookups: std::cmp::Reverse(1),
        };
        Some((rank, IndexAccess { index: Arc::clone(index), prefix, range, ordered: Some(direction) }))
    }

    fn on(index: &Arc<Index>, tests: &[&PartTest], shape: &TableShape) -> Option<(Rank, IndexAccess)> {
        let mut prefix: Vec<(Vec<Expr>, DataType)> = Vec::new();
        let mut range = None;
        let mut lookups = 1;
        for part in index.parts() {
            let data_type = part.data_type(&shape.table.def.schema);
            if let Some(constants) = equality(tests, part)
                && lookups * lookups_of(constants, data_type) <= LOOKUPS_MAX
            {
                lookups *= lookups_of(constants, data_type);
                prefix.push((constants.to_vec(), data_type));
                continue;
            }
            let (low, high) = (end(tests, part, true), end(tests, part, false));
            if low.is_some() || high.is_some() {
                range = Some((data_type, low, high));
            }
            break;
        }
        let ends = range.as_ref().map_or(0, |(_, low, high)| usize::from(low.is_some()) + usize::from(high.is_some()));
        // Half a range of the first column is most of the table as often as not.
        if prefix.is_empty() && ends < 2 && !index.is_partial() {
            return None;
        }
        let is_unique_row = index.is_unique() && prefix.len() == index.parts().len() && lookups == 1;
        let rank = Rank {
            is_unique_row,
            columns_equal: prefix.len(),
            ends,
            is_partial: index.is_partial(),
            lookups: std::cmp::Reverse(lookups),
        };
        Some((rank, IndexAccess { index: Arc::clone(index), prefix, range, ordered: None }))
    }

    /// The candidates' keys, each once, in key order; none when there are more than the context takes, or when the
    /// snapshot cannot use the index.
    pub(super) fn candidates(&self, shape: &TableShape, context: &mut RowContext<'_>) -> Result<Option<Vec<Vec<u8>>>> {
        let Some(ends) = self.ends(&context.eval)? else { return Ok(Some(Vec::new())) };
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for prefix in self.prefixes(&context.eval)? {
            let left = context.candidates_max.saturating_sub(keys.len());
            let (low, high) = bounds(&prefix, &ends);
            let (low, high) = (low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice));
            let found = context.txn.index_keys(&shape.table, &self.index, low, high, Direction::Forward, left)?;
            let Some(found) = found else { return Ok(None) };
            keys.extend(found);
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(Some(keys))
    }

    /// The keys of the first rows in the index's order, at most `limit`; none when the snapshot cannot use the index.
    pub(super) fn first(
        &self,
        shape: &TableShape,
        limit: usize,
        context: &mut RowContext<'_>,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let direction = self.ordered.expect("the first rows are asked of an index in order");
        let (Some(ends), Some(prefix)) = (self.ends(&context.eval)?, self.prefixes(&context.eval)?.pop()) else {
            return Ok(Some(Vec::new()));
        };
        let (low, high) = bounds(&prefix, &ends);
        let (low, high) = (low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice));
        context.txn.index_order(&shape.table, &self.index, low, high, direction, limit)
    }

    /// The parts that equal constants.
    pub(super) fn equal_parts(&self) -> &[IndexPart] {
        &self.index.parts()[..self.prefix.len()]
    }

    /// Whether the rows come in the order wished for.
    pub(super) fn is_ordered(&self) -> bool {
        self.ordered.is_some()
    }

    /// The name of the index.
    pub(super) fn name(&self) -> Arc<str> {
        self.index.name()
    }

    /// What the index is used for.
    pub(super) fn explain(&self, shape: &TableShape) -> String {
        let names: Vec<String> = self.index.parts().iter().map(|part| part.text(&shape.table.def.schema)).collect();
        let mut parts = Vec::new();
        for ((constants, _), name) in self.prefix.iter().zip(&names) {
            match constants.len() {
                1 => parts.push(format!("{name} =")),
                count => parts.push(format!("{name} in {count} values")),
            }
        }
        if let Some((_, low, high)) = &self.range {
            let name = &names[self.prefix.len()];
            let sign = |end: &Option<End>, with: &'static str, without: &'static str| {
                end.as_ref().map(|end| if end.included { with } else { without })
            };
            for sign in [sign(low, ">=", ">"), sign(high, "<=", "<")].into_iter().flatten() {
                parts.push(format!("{name} {sign}"));
            }
        }
        match self.ordered {
            Some(Direction::Forward) => parts.push("first rows in order".into()),
            Some(Direction::Backward) => parts.push("last rows in order".into()),
            None => {}
        }
        if self.index.is_partial() {
            parts.push(format!("where {}", predicate_text(&shape.table, self.index.predicate())));
        }
        format!("Index {}: {}", self.name(), parts.join(", "))
    }

    /// All combinations of the leading columns' values.
    fn prefixes(&self, eval: &EvalContext<'_>) -> Result<Vec<Vec<Value>>> {
        let mut prefixes = vec![Vec::new()];
        for (constants, data_type) in &self.prefix {
            let mut values: Vec<Value> = Vec::with_capacity(constants.len());
            for constant in constants {
                values.extend(spread(constant, *data_type, eval)?);
            }
            values.sort_by(|a, b| a.as_ref().compare(b.as_ref()));
            values.dedup_by(|a, b| a.as_ref().compare(b.as_ref()) == Ordering::Equal);
            let extended =
                |prefix: &Vec<Value>, value: &Value| [prefix.as_slice(), std::slice::from_ref(value)].concat();
            prefixes = prefixes.iter().flat_map(|prefix| values.iter().map(|value| extended(prefix, value))).collect();
        }
        Ok(prefixes)
    }

    /// The ends of the range; none when no value is within. An end that the column's type cannot have is left out.
    fn ends(&self, eval: &EvalContext<'_>) -> Result<Option<Ends>> {
        let Some((data_type, low, high)) = &self.range else { return Ok(Some((None, None))) };
        let mut ends = [None, None];
        for (at, end) in [low, high].into_iter().enumerate() {
            let Some(end) = end else { continue };
            let value = end.constant.eval(&[], eval)?;
            if value.is_null() {
                return Ok(None);
            }
            ends[at] = key_value(value.as_ref(), end.constant.data_type, *data_type).map(|value| (value, end.included));
        }
        let [low, high] = ends;
        if let (Some((low, _)), Some((high, _))) = (&low, &high)
            && low.as_ref().compare(high.as_ref()) == Ordering::Greater
        {
            return Ok(None);
        }
        Ok(Some((low, high)))
    }
}

/// How many lookups constants for a part ask for; of arrays that are known only when they run, a guess.
fn lookups_of(constants: &[Expr], data_type: DataType) -> usize {
    let of = |constant: &Expr| if is_spread(constant, data_type) { ARRAY_LOOKUPS } else { 1 };
    constants.iter().map(of).sum::<usize>().max(1)
}

/// The constants that a part equals: those of the shortest list.
fn equality<'a>(tests: &[&'a PartTest], part: &IndexPart) -> Option<&'a [Expr]> {
    let lists = tests.iter().filter(|test| test.part == *part).filter_map(|test| match &test.test {
        Test::Equal(constants) => Some(constants.as_slice()),
        _ => None,
    });
    lists.min_by_key(|constants| constants.len())
}

/// The first lower (or upper) end that the tests give a part.
fn end(tests: &[&PartTest], part: &IndexPart, is_low: bool) -> Option<End> {
    tests.iter().filter(|test| test.part == *part).find_map(|test| match &test.test {
        Test::Low(constant, included) if is_low => Some(End { constant: constant.clone(), included: *included }),
        Test::High(constant, included) if !is_low => Some(End { constant: constant.clone(), included: *included }),
        _ => None,
    })
}

/// The bounds of the index: the leading values, then the ends of the range.
fn bounds(prefix: &[Value], ends: &Ends) -> (Bound<Vec<Value>>, Bound<Vec<Value>>) {
    let low = bound(prefix, ends.0.as_ref());
    let high = match &ends.1 {
        // Not the NULLs, which lie behind all values.
        None if ends.0.is_some() => bound(prefix, Some(&(Value::Null, false))),
        high => bound(prefix, high.as_ref()),
    };
    (low, high)
}

/// A bound of the index: the leading values, then the end of the range.
fn bound(prefix: &[Value], end: Option<&(Value, bool)>) -> Bound<Vec<Value>> {
    match end {
        None if prefix.is_empty() => Bound::Unbounded,
        None => Bound::Included(prefix.to_vec()),
        Some((value, included)) => {
            let values = [prefix, std::slice::from_ref(value)].concat();
            if *included { Bound::Included(values) } else { Bound::Excluded(values) }
        }
    }
}
