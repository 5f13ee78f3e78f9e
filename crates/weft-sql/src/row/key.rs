//! WHERE clauses that name rows: by their primary key, whole or a range of it, or by values of indexed columns.
//!
//! ```text
//!   key (a, b):   WHERE b = $1 AND a = 7 AND c > 0      keys [(7, $1)], filter c > 0
//!   key (a):      WHERE a IN (3, 1, 3)                  keys [1, 3] (each once, in key order)
//!   key (a, b):   WHERE a = 7 AND c > 0                 a range of keys, filter c > 0
//!   index (c):    WHERE c = 5 AND d < 2                 candidates by the index, filter c = 5 AND d < 2
//! ```
//!
//! The primary key goes before any index: its rows are read at once, and its conditions need no second test. So does a
//! range of it, where no index is bounded by more.

use sqlparser::ast::Expr as SqlExpr;
use weft_format::{Predicate, Result, Value};
use weft_kernel::index::IndexPart;

use super::TableShape;
use super::access::{IndexAccess, Wish};
use super::condition::{PartTest, Test, is_spread, part_tests, split, spread};
use super::planner::{Planner, RowContext};
use super::predicate::known_predicates;
use super::range::RangeAccess;
use super::shape::key_value;
use super::through::of_view;
use crate::binding::Tables;
use crate::expr::{BindError, BindResult, EvalContext, Expr};

/// The keys that a WHERE clause names.
pub(super) enum Keys {
    /// One value per key column.
    One(Vec<Expr>),
    /// Values of the only key column.
    List(Vec<Expr>),
    /// All between two keys.
    Range(RangeAccess),
    /// Whatever the index finds.
    Index(IndexAccess),
}

/// A WHERE clause by the primary key or by an index.
pub(super) struct KeyClause {
    pub(super) keys: Keys,
    /// What else must hold, over the visible columns; by an index all of it.
    pub(super) filter: Option<Expr>,
    /// For EXPLAIN.
    pub(super) explain: Vec<String>,
}

/// A WHERE clause, bound; what finds its rows is still to be chosen.
pub(super) struct Conditions {
    conjuncts: Vec<Conjunct>,
    /// What they say that a partial index of the table may ask for.
    known: Vec<Predicate>,
}

/// A condition that must hold, among others.
struct Conjunct {
    text: String,
    tests: Vec<PartTest>,
    bound: Expr,
}

impl Conditions {
    pub(super) fn bind(
        selection: Option<&SqlExpr>,
        shape: &TableShape,
        table: &str,
        planner: &mut Planner<'_>,
    ) -> BindResult<Conditions> {
        let mut conditions = Conditions { conjuncts: Vec::new(), known: Vec::new() };
        // The conditions of the views that it is seen through come first.
        if let Some((below, alias, own)) = shape.below() {
            conditions = of_view(Conditions::bind(own, &below, alias, planner))?;
        }
        conditions.add(selection, shape, table, planner)?;
        Ok(conditions)
    }

    fn add(
        &mut self,
        selection: Option<&SqlExpr>,
        shape: &TableShape,
        table: &str,
        planner: &mut Planner<'_>,
    ) -> BindResult<()> {
        let Some(selection) = selection else { return Ok(()) };
        let mut parts = Vec::new();
        split(selection, &mut parts);
        if shape.table.indexes().iter().any(|index| index.index.is_partial()) {
            self.known.extend(known_predicates(selection, shape, table, planner)?);
        }
        let scope = shape.scope(table);
        for part in parts {
            let tests = part_tests(part, shape, table, &mut planner.binder)?;
            let bound = planner.binder.bind_condition(part, &scope)?;
            self.conjuncts.push(Conjunct { text: part.to_string(), tests, bound });
        }
        Ok(())
    }
}

impl KeyClause {
    /// Finds the key in a WHERE clause, or an index that helps; unsupported when there is neither.
    pub(super) fn bind(
        selection: Option<&SqlExpr>,
        shape: &TableShape,
        table: &str,
        planner: &mut Planner<'_>,
    ) -> BindResult<KeyClause> {
        let conditions = Conditions::bind(selection, shape, table, planner)?;
        KeyClause::choose(conditions, shape, planner.tables, None)
    }

    /// Chooses what finds the rows. `wish` is what they are wanted by (empty when any order will do); none when that is
    /// nothing that keys or indexes are ordered by.
    pub(super) fn choose(
        conditions: Conditions,
        shape: &TableShape,
        tables: &dyn Tables,
        wish: Option<&Wish>,
    ) -> BindResult<KeyClause> {
        let Conditions { conjuncts, known } = conditions;
        let (keys, named) = match primary_key(&conjuncts, shape) {
            Some(found) => found,
            None => {
                let tests: Vec<&PartTest> = conjuncts.iter().flat_map(|conjunct| &conjunct.tests).collect();
                let conditions: Vec<&[PartTest]> = conjuncts.iter().map(|conjunct| &*conjunct.tests).collect();
                let index = IndexAccess::choose(&tests, &known, shape, tables, wish);
                match (RangeAccess::choose(&conditions, shape, wish), index) {
                    (Some((rank, range, named)), index)
                        if index.as_ref().is_none_or(|index| range.beats(&rank, index)) =>
                    {
                        (Keys::Range(range), named)
                    }
                    (_, Some((_, access))) => (Keys::Index(access), Vec::new()),
                    (_, None) => return Err(no_key(shape)),
                }
            }
        };
        let mut filter: Option<Expr> = None;
        let mut explain = Vec::new();
        match &keys {
            Keys::Index(access) => explain.push(access.explain(shape)),
            Keys::Range(range) => explain.extend(range.explain()),
            Keys::One(_) | Keys::List(_) => {}
        }
        for (at, conjunct) in conjuncts.into_iter().enumerate() {
            if named.contains(&at) {
                let label = if matches!(keys, Keys::One(_)) { "Key" } else { "Keys" };
                explain.push(format!("{label}: {}", conjunct.text));
                continue;
            }
            explain.push(format!("Filter: {}", conjunct.text));
            filter = Some(match filter {
                Some(before) => Expr::and(before, conjunct.bound),
                None => conjunct.bound,
            });
        }
        Ok(KeyClause { keys, filter, explain })
    }

    /// The keys of one execution, each once; those of an index are candidates. None when an index or a range finds more
    /// than the context takes, or cannot be used by the snapshot.
    pub(super) fn find(&self, shape: &TableShape, context: &mut RowContext<'_>) -> Result<Option<Vec<Vec<u8>>>> {
        let schema = &shape.table.def.schema;
        match &self.keys {
            Keys::One(parts) => Ok(Some(self.encode_one(parts, shape, &context.eval)?.into_iter().collect())),
            Keys::List(items) => {
                let data_type = schema.columns[schema.key[0]].data_type;
                let mut keys = Vec::with_capacity(items.len());
                for item in items {
                    for value in spread(item, data_type, &context.eval)? {
                        keys.push(shape.table.keys.encode([value.as_ref()]));
                    }
                }
                keys.sort_unstable();
                keys.dedup();
                Ok(Some(keys))
            }
            Keys::Range(range) => range.keys(self.filter.as_ref(), shape, context),
            Keys::Index(access) => access.candidates(shape, context),
        }
    }

    /// How the rows are found, for EXPLAIN.
    pub(super) fn by(&self) -> String {
        match &self.keys {
            Keys::One(_) | Keys::List(_) => "primary key".into(),
            Keys::Range(_) => "a range of the primary key".into(),
            Keys::Index(access) => format!("index {}", access.name()),
        }
    }

    /// Whether the rows come in the order wanted.
    pub(super) fn is_ordered(&self) -> bool {
        match &self.keys {
            Keys::Index(access) => access.is_ordered(),
            Keys::Range(range) => range.is_ordered(),
            Keys::One(_) | Keys::List(_) => false,
        }
    }

    /// The index, when it gives the rows in the order wanted.
    pub(super) fn ordered(&self) -> Option<&IndexAccess> {
        match &self.keys {
            Keys::Index(access) if access.is_ordered() => Some(access),
            _ => None,
        }
    }

    /// Whether the rows are candidates of an index, which are tested before they are locked.
    pub(super) fn is_indexed(&self) -> bool {
        matches!(self.keys, Keys::Index(_))
    }

    /// Whether it names one row.
    pub(super) fn is_one(&self) -> bool {
        matches!(self.keys, Keys::One(_))
    }

    /// Whether the row of a key, as the transaction sees it, satisfies the filter: what is asked of a candidate before
    /// its row is locked.
    pub(super) fn is_wanted(
        &self,
        key: &[u8],
        shape: &TableShape,
        values: &mut Vec<Value>,
        context: &RowContext<'_>,
    ) -> Result<bool> {
        let Some(row) = context.txn.get_row(&shape.table, key)? else { return Ok(false) };
        values.clear();
        shape.decode(&row, values);
        match &self.filter {
            Some(filter) => Ok(filter.truth(values, &context.eval)? == Some(true)),
            None => Ok(true),
        }
    }

    /// The only key, when the clause names one key; none when no row can match.
    pub(super) fn encode_one(
        &self,
        parts: &[Expr],
        shape: &TableShape,
        eval: &EvalContext<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let schema = &shape.table.def.schema;
        let data_type = |part: usize| schema.columns[schema.key[part]].data_type;
        if let [part] = parts {
            let value = part.eval(&[], eval)?;
            let value = key_value(value.as_ref(), part.data_type, data_type(0));
            return Ok(value.map(|value| shape.table.keys.encode([value.as_ref()])));
        }
        let mut values = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let value = part.eval(&[], eval)?;
            match key_value(value.as_ref(), part.data_type, data_type(index)) {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some(shape.table.keys.encode(values.iter().map(|value| value.as_ref()))))
    }
}

fn no_key(shape: &TableShape) -> BindError {
    let name = shape.name();
    BindError::Unsupported(match shape.table.def.schema.hidden_row_id {
        true => format!("a WHERE clause without an indexed column of table \"{name}\", which has no primary key"),
        false => format!("a WHERE clause without all primary key columns, or an indexed column, of \"{name}\""),
    })
}

/// The full primary key, and which conditions say it.
fn primary_key(conjuncts: &[Conjunct], shape: &TableShape) -> Option<(Keys, Vec<usize>)> {
    let schema = &shape.table.def.schema;
    if schema.hidden_row_id {
        return None;
    }
    let equal = |ordinal: usize| {
        let constants =
            conjuncts.iter().enumerate().filter_map(move |(at, conjunct)| match conjunct.tests.as_slice() {
                [PartTest { part: IndexPart::Column(known), test: Test::Equal(constants) }] if *known == ordinal => {
                    Some((at, constants))
                }
                _ => None,
            });
        constants.min_by_key(|(_, constants)| constants.len())
    };
    let mut parts = Vec::with_capacity(schema.key.len());
    let mut named = Vec::with_capacity(schema.key.len());
    for &ordinal in &schema.key {
        let (at, constants) = equal(ordinal)?;
        match constants.as_slice() {
            [constant] if !is_spread(constant, schema.columns[ordinal].data_type) => parts.push(constant.clone()),
            list if schema.key.len() == 1 => return Some((Keys::List(list.to_vec()), vec![at])),
            _ => return None,
        }
        named.push(at);
    }
    Some((Keys::One(parts), named))
}
