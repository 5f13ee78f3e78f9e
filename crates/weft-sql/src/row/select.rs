//! SELECT by the primary key, whole or a range of it, or by an index, and SELECT without FROM.

use std::sync::Arc;

use sqlparser::ast::{
    Expr as SqlExpr, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, LimitClause, Query, Select,
    SelectFlavor, SelectItem, SetExpr,
};
use weft_expr::is_number;
use weft_format::{Code, DataType, Error, Result, Value};
use weft_kernel::TableRef;

use super::access::{IndexAccess, Wish};
use super::key::{Conditions, KeyClause, Keys};
use super::order::Order;
use super::past::{At, PastMoment, left_to_queries, without_moment};
use super::planner::{Planner, RowContext};
use super::range::{FIRST_ROWS, Next, RangeAccess, more_rows, place_of};
use super::{Projection, TableShape};
use crate::expr::{BindError, BindResult, EvalContext, Expr, Scope};
use crate::locking::RowLocking;
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};
use crate::parse::fold;

/// The SELECT of a query that has nothing but SELECT, FROM, WHERE, ORDER BY and LIMIT.
pub(super) fn plain_select(query: &Query) -> BindResult<&Select> {
    let unsupported = |what: &str| Err(BindError::Unsupported(what.into()));
    if query.with.is_some() {
        return unsupported("WITH");
    }
    if query.fetch.is_some()
        || query.for_clause.is_some()
        || query.settings.is_some()
        || query.format_clause.is_some()
        || !query.pipe_operators.is_empty()
    {
        return unsupported("this clause of the query");
    }
    let SetExpr::Select(select) = &*query.body else { return unsupported("a set operation or VALUES") };
    let is_grouped = match &select.group_by {
        GroupByExpr::Expressions(exprs, modifiers) => !exprs.is_empty() || !modifiers.is_empty(),
        GroupByExpr::All(_) => true,
    };
    if is_grouped || select.having.is_some() || select.distinct.is_some() || !select.named_window.is_empty() {
        return unsupported("grouping, DISTINCT or windows");
    }
    if select.top.is_some()
        || select.exclude.is_some()
        || select.into.is_some()
        || !select.lateral_views.is_empty()
        || select.prewhere.is_some()
        || !select.connect_by.is_empty()
        || !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty()
        || !select.sort_by.is_empty()
        || select.qualify.is_some()
        || select.value_table_mode.is_some()
        || select.select_modifiers.is_some()
        || select.flavor != SelectFlavor::Standard
    {
        return unsupported("this clause of SELECT");
    }
    Ok(select)
}

/// LIMIT and OFFSET, as constants of the execution.
struct Window {
    limit: Option<Expr>,
    offset: Option<Expr>,
}

impl Window {
    fn plan(query: &Query, planner: &mut Planner<'_>) -> BindResult<Window> {
        let Some(clause) = &query.limit_clause else { return Ok(Window { limit: None, offset: None }) };
        let LimitClause::LimitOffset { limit, offset, limit_by } = clause else {
            return Err(BindError::Unsupported("LIMIT with a comma".into()));
        };
        if !limit_by.is_empty() {
            return Err(BindError::Unsupported("LIMIT BY".into()));
        }
        let mut bind = |expr: &sqlparser::ast::Expr| {
            let bound = planner.binder.bind(expr, &Scope::empty(), Some(DataType::BigInt))?;
            match bound.data_type {
                DataType::SmallInt | DataType::Integer | DataType::BigInt => Ok(bound),
                other if is_number(other) => Ok(bound.cast_to(DataType::BigInt)),
                _ => Err(BindError::Unsupported("a LIMIT that is not an integer".into())),
            }
        };
        Ok(Window {
            limit: limit.as_ref().map(&mut bind).transpose()?,
            offset: offset.as_ref().map(|offset| bind(&offset.value)).transpose()?,
        })
    }

    /// How many rows to skip, how many to return.
    fn bounds(&self, eval: &EvalContext<'_>) -> Result<(usize, usize)> {
        let bound = |expr: &Option<Expr>, code: Code, name: &str| -> Result<Option<usize>> {
            match expr.as_ref().map(|expr| expr.eval(&[], eval)).transpose()? {
                Some(Value::Int(v)) => {
                    usize::try_from(v).map(Some).map_err(|_| Error::new(code, format!("{name} must not be negative")))
                }
                _ => Ok(None),
            }
        };
        let offset = bound(&self.offset, Code::InvalidRowOffset, "OFFSET")?.unwrap_or(0);
        Ok((offset, bound(&self.limit, Code::InvalidRowCount, "LIMIT")?.unwrap_or(usize::MAX)))
    }

    fn is_open(&self) -> bool {
        self.limit.is_none() && self.offset.is_none()
    }
}

/// Rows read by an index beyond those asked for, in the hope that enough pass the filter.
const SPARE_ROWS: usize = 32;

/// A row that is given out when all were read.
struct Held {
    /// What it is sorted by.
    order: Vec<Value>,
    key: Vec<u8>,
    row: Vec<Value>,
}

/// A SELECT by the primary key or by an index.
pub(super) struct PointSelect {
    shape: Arc<TableShape>,
    key: KeyClause,
    /// Ordinals of the columns to read; projection, filter and order count in them.
    fetch: Vec<usize>,
    /// So many of them, the first ones, are read of each row of a range; the others of those that are wanted.
    deciding: usize,
    filter: Option<Expr>,
    /// None when the columns read are the result.
    projection: Option<Projection>,
    /// The result is how many rows there are.
    counts: bool,
    order: Option<Order>,
    window: Window,
    locking: Option<RowLocking>,
    moment: Option<PastMoment>,
}

impl PointSelect {
    pub(super) fn table(&self) -> &TableRef {
        &self.shape.table
    }

    pub(super) fn plan(
        query: &Query,
        select: &Select,
        planner: &mut Planner<'_>,
    ) -> BindResult<(PointSelect, Arc<[OutputColumn]>)> {
        match without_moment(&select.from) {
            None => PointSelect::of_table(query, select, planner, None),
            Some((from, moment)) => {
                let moment = PastMoment::bind(&moment, planner)?;
                let select = Select { from, ..select.clone() };
                PointSelect::of_table(query, &select, planner, Some(moment)).map_err(left_to_queries)
            }
        }
    }

    fn of_table(
        query: &Query,
        select: &Select,
        planner: &mut Planner<'_>,
        moment: Option<PastMoment>,
    ) -> BindResult<(PointSelect, Arc<[OutputColumn]>)> {
        let (shape, name) = planner.single_table(&select.from)?;
        let conditions = Conditions::bind(select.selection.as_ref(), &shape, &name, planner)?;
        let scope = shape.scope(&name);
        let count = count_name(select);
        let mut projection = match &count {
            Some(name) => Projection::nothing([OutputColumn::new(name.clone(), DataType::BigInt)]),
            None => Projection::bind(&select.projection, &scope, &mut planner.binder)?,
        };
        if count.is_some() && (query.order_by.is_some() || !query.locks.is_empty()) {
            return Err(BindError::Unsupported("count(*) with ORDER BY or FOR UPDATE".into()));
        }
        let mut order = Order::bind(query, &projection, &scope, &mut planner.binder)?;
        let window = Window::plan(query, planner)?;
        let is_limited = window.limit.is_some() && count.is_none();
        let wish = match &order {
            Some(order) => order.wish(is_limited),
            None => Some(Wish { parts: Vec::new(), descending: false, is_limited }),
        };
        let mut key = KeyClause::choose(conditions, &shape, planner.tables, wish.as_ref())?;
        let is_whole = matches!(key.keys, Keys::One(_) | Keys::List(_));
        if moment.is_some() && (!is_whole || !query.locks.is_empty()) {
            return Err(BindError::Unsupported("a look at the past without the whole key".into()));
        }
        if key.is_ordered() {
            order = None;
        }
        let locking = RowLocking::of_query(query, &shape.table, &name)?;
        let mut fetch = Vec::new();
        let mut remap = |position: &mut usize| *position = place_of(*position, &mut fetch);
        let mut filter = key.filter.take();
        // Of a range what decides on the rows comes first, and is read alone.
        let decides_first = matches!(key.keys, Keys::Range(_)) && filter.is_some();
        if !decides_first {
            projection.exprs.iter_mut().for_each(|expr| expr.map_columns(&mut remap));
        }
        filter.iter_mut().for_each(|expr| expr.map_columns(&mut remap));
        order.iter_mut().flat_map(Order::exprs_mut).for_each(|expr| expr.map_columns(&mut remap));
        let deciding = fetch.len();
        if decides_first {
            let mut remap = |position: &mut usize| *position = place_of(*position, &mut fetch);
            projection.exprs.iter_mut().for_each(|expr| expr.map_columns(&mut remap));
        }
        let columns = Arc::clone(&projection.columns);
        let is_direct = projection.exprs.len() == fetch.len()
            && projection.exprs.iter().enumerate().all(|(index, expr)| expr.as_column() == Some(index));
        let counts = count.is_some();
        let projection = (!is_direct && !counts).then_some(projection);
        let select =
            PointSelect { shape, key, fetch, deciding, filter, projection, counts, order, window, locking, moment };
        Ok((select, columns))
    }

    /// None when the index, or the range of the key, finds too much.
    pub(super) fn execute(
        &self,
        columns: &Arc<[OutputColumn]>,
        context: &mut RowContext<'_>,
    ) -> Result<Option<Outcome>> {
        let is_plain = self.filter.is_none() && self.projection.is_none() && !self.counts;
        let is_open = self.window.is_open() && self.locking.is_none();
        if let (Keys::One(parts), true, true) = (&self.key.keys, is_plain, is_open) {
            return self.read_one(parts, columns, context).map(Some);
        }
        let (skip, limit) = self.window.bounds(&context.eval)?;
        let mut output = Output { select: self, skip, limit, values: Vec::new(), count: 0, matched: 0 };
        let wanted = if self.counts { usize::MAX } else { skip.saturating_add(limit) };
        let found = match (self.key.ordered(), &self.key.keys) {
            (Some(access), _) => self.read_in_order(access, wanted, &mut output, context)?,
            (None, Keys::Range(range)) => self.read_range(range, wanted, &mut output, context)?,
            (None, _) => match self.key.find(&self.shape, context)? {
                Some(keys) => self.read_keys(keys, &mut output, context).map(|()| true)?,
                None => false,
            },
        };
        Ok(found.then(|| output.finish(columns)))
    }

    /// Reads the rows of an index in its order until there are enough; false when too many do not pass the filter.
    fn read_in_order(
        &self,
        access: &IndexAccess,
        wanted: usize,
        output: &mut Output<'_>,
        context: &mut RowContext<'_>,
    ) -> Result<bool> {
        let spare = if self.filter.is_some() || self.locking.is_some() { SPARE_ROWS } else { 0 };
        let mut limit = wanted.saturating_add(spare).min(context.candidates_max);
        let mut done = 0;
        while !output.is_full() {
            let Some(mut keys) = access.first(&self.shape, limit, context)? else { return Ok(false) };
            let is_all = keys.len() < limit;
            if !is_all && limit == context.candidates_max && wanted > limit {
                return Ok(false);
            }
            let fresh = keys.split_off(done.min(keys.len()));
            done += fresh.len();
            self.read_keys(fresh, output, context)?;
            if is_all {
                break;
            }
            if limit == context.candidates_max && !output.is_full() {
                return Ok(false);
            }
            limit = limit.saturating_mul(8).min(context.candidates_max);
        }
        Ok(true)
    }

    /// Reads the rows of a range of the key, in its order or sorted, until there are enough; false when there are too
    /// many.
    fn read_range(
        &self,
        range: &RangeAccess,
        wanted: usize,
        output: &mut Output<'_>,
        context: &mut RowContext<'_>,
    ) -> Result<bool> {
        let Some(mut reader) = range.read(&self.shape, context)? else { return Ok(false) };
        if wanted != usize::MAX && wanted > context.candidates_max {
            return Ok(false);
        }
        let spare = if self.filter.is_some() || self.locking.is_some() { SPARE_ROWS } else { 0 };
        // What is sorted, or locked as a whole, is read to its end before anything is done with it.
        let is_whole = self.order.is_some() || (self.locking.is_some() && wanted == usize::MAX);
        let mut next = if is_whole { usize::MAX } else { wanted.saturating_add(spare) };
        let mut limit = FIRST_ROWS;
        let (mut row, mut held, mut number) = (Vec::with_capacity(self.fetch.len()), Vec::new(), 0);
        while !output.is_full() {
            let rows = match reader.next(limit.min(next), &self.fetch[..self.deciding], context)? {
                Next::Rows(rows) => rows,
                Next::End => break,
                Next::TooMany => return Ok(false),
            };
            (next, limit) = (usize::MAX, more_rows(limit));
            let mut values = rows.values.into_iter();
            for key in rows.keys {
                if output.is_full() {
                    break;
                }
                context.check_cancel(number)?;
                number += 1;
                row.clear();
                row.extend(values.by_ref().take(self.deciding));
                if !self.is_wanted(&row, context)? {
                    continue;
                }
                match is_whole {
                    true => held.push(self.held(key, std::mem::take(&mut row), context)?),
                    false => {
                        if self.locking.is_some() {
                            // What was locked is what the statement gives.
                            reader.stay();
                        }
                        self.give(&key, &mut row, output, context)?;
                    }
                }
            }
        }
        reader.note_done();
        self.give_held(held, output, context).map(|()| true)
    }

    /// Reads the rows of these keys, in this order or sorted, until there are enough.
    fn read_keys(&self, keys: Vec<Vec<u8>>, output: &mut Output<'_>, context: &mut RowContext<'_>) -> Result<()> {
        let past = self.past(context)?;
        let (mut row, mut held) = (Vec::with_capacity(self.fetch.len()), Vec::new());
        for (number, key) in keys.into_iter().enumerate() {
            if output.is_full() {
                break;
            }
            context.check_cancel(number)?;
            if !self.get(&key, &mut row, &past, context)? || !self.is_wanted(&row, context)? {
                continue;
            }
            match self.order.is_some() {
                true => held.push(self.held(key, std::mem::take(&mut row), context)?),
                false => output.add(&key, &mut row, context)?,
            }
        }
        self.give_held(held, output, context)
    }

    /// Whether a row that was read passes the filter.
    fn is_wanted(&self, row: &[Value], context: &RowContext<'_>) -> Result<bool> {
        match &self.filter {
            Some(filter) => Ok(filter.truth(row, &context.eval)? == Some(true)),
            None => Ok(true),
        }
    }

    /// A row that waits for those behind it.
    fn held(&self, key: Vec<u8>, row: Vec<Value>, context: &RowContext<'_>) -> Result<Held> {
        let order = self.order.as_ref().map(|order| order.values(&row, &context.eval)).transpose()?;
        Ok(Held { order: order.unwrap_or_default(), key, row })
    }

    /// Gives out rows that waited, sorted if they are to be, until there are enough.
    fn give_held(&self, mut held: Vec<Held>, output: &mut Output<'_>, context: &mut RowContext<'_>) -> Result<()> {
        if let Some(order) = &self.order {
            held.sort_by(|a, b| order.compare(&a.order, &b.order));
        }
        for Held { key, mut row, .. } in held {
            if output.is_full() {
                break;
            }
            self.give(&key, &mut row, output, context)?;
        }
        Ok(())
    }

    /// Gives out a row, of which what decided on it may be all that was read.
    fn give(
        &self,
        key: &[u8],
        row: &mut Vec<Value>,
        output: &mut Output<'_>,
        context: &mut RowContext<'_>,
    ) -> Result<()> {
        if row.len() < self.fetch.len() && !self.counts {
            let mut rest = Vec::with_capacity(self.fetch.len() - row.len());
            if !context.txn.get(&self.shape.table, key, &self.fetch[row.len()..], &mut rest)? {
                return Err(Error::internal("a row that a range has given is not found by its key"));
            }
            row.append(&mut rest);
        }
        output.add(key, row, context)
    }

    /// The moment of this execution, if it reads the past.
    fn past(&self, context: &RowContext<'_>) -> Result<Option<At>> {
        self.moment.as_ref().map(|moment| moment.at(&self.shape.table, context)).transpose()
    }

    /// The columns of the row of a key; false when there is none.
    fn get(&self, key: &[u8], row: &mut Vec<Value>, past: &Option<At>, context: &RowContext<'_>) -> Result<bool> {
        match past {
            Some(past) => past.get(&self.shape.table, key, &self.fetch, row),
            None => context.txn.get(&self.shape.table, key, &self.fetch, row),
        }
    }

    /// The row of one key, as it was read.
    fn read_one(&self, parts: &[Expr], columns: &Arc<[OutputColumn]>, context: &mut RowContext<'_>) -> Result<Outcome> {
        let mut values = Vec::with_capacity(self.fetch.len());
        let past = self.past(context)?;
        let found = match self.key.encode_one(parts, &self.shape, &context.eval)? {
            Some(key) => self.get(&key, &mut values, &past, context)?,
            None => false,
        };
        let (width, count) = (self.fetch.len(), usize::from(found));
        if !found {
            values.clear();
        }
        let rows = Rows::Values { width, count, values };
        Ok(Outcome { tag: Tag::Select(count as u64), columns: Arc::clone(columns), rows })
    }

    /// Whether it locks what it reads.
    pub(super) fn locks(&self) -> bool {
        self.locking.is_some()
    }

    pub(super) fn explain(&self) -> Vec<String> {
        let name = self.shape.name();
        let how = if matches!(self.key.keys, Keys::Range(_)) { "rows of" } else { "point lookup on" };
        let mut lines = vec![format!("Point engine: {how} {name} by {}", self.key.by())];
        lines.extend(self.moment.iter().map(|moment| format!("  As of: {}", moment.text)));
        lines.extend(self.key.explain.iter().map(|line| format!("  {line}")));
        let names: Vec<&str> = self.fetch.iter().map(|&ordinal| self.shape.columns()[ordinal].name.as_str()).collect();
        lines.extend(self.locking.iter().map(|locking| format!("  {}", locking.explain())));
        if self.counts {
            lines.push("  Count: the rows".into());
        }
        if self.order.is_some() {
            lines.push("  Sort: in memory".into());
        }
        lines.push(format!("  Columns read: {}", if names.is_empty() { "none".into() } else { names.join(", ") }));
        lines
    }
}

/// The result of one execution.
struct Output<'a> {
    select: &'a PointSelect,
    /// Rows still to be left out, and the most that are returned.
    skip: usize,
    limit: usize,
    values: Vec<Value>,
    count: usize,
    /// For a count.
    matched: i64,
}

impl Output<'_> {
    fn is_full(&self) -> bool {
        self.count == self.limit
    }

    /// Takes a row that the filter lets through.
    fn add(&mut self, key: &[u8], row: &mut Vec<Value>, context: &mut RowContext<'_>) -> Result<()> {
        if let Some(locking) = &self.select.locking
            && !locking.lock(context.txn, &self.select.shape.table, key)?
        {
            return Ok(());
        }
        if self.select.counts {
            self.matched += 1;
            return Ok(());
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(());
        }
        self.count += 1;
        match &self.select.projection {
            Some(projection) => projection.append(row, &context.eval, &mut self.values)?,
            None => self.values.append(row),
        }
        Ok(())
    }

    fn finish(mut self, columns: &Arc<[OutputColumn]>) -> Outcome {
        if self.select.counts && self.skip == 0 && self.limit > 0 {
            self.values.push(Value::Int(self.matched));
            self.count = 1;
        }
        let rows = Rows::Values { width: columns.len(), count: self.count, values: self.values };
        Outcome { tag: Tag::Select(self.count as u64), columns: Arc::clone(columns), rows }
    }
}

/// The name of the only result, when that is `count(*)`.
fn count_name(select: &Select) -> Option<String> {
    let (expr, alias) = match select.projection.as_slice() {
        [SelectItem::UnnamedExpr(expr)] => (expr, None),
        [SelectItem::ExprWithAlias { expr, alias }] => (expr, Some(fold(alias))),
        _ => return None,
    };
    let SqlExpr::Function(function) = expr else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let is_plain = list.args == [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]
        && list.duplicate_treatment.is_none()
        && list.clauses.is_empty()
        && matches!(function.parameters, FunctionArguments::None)
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.over.is_none()
        && function.within_group.is_empty();
    let is_count = function.name.to_string().eq_ignore_ascii_case("count");
    (is_plain && is_count).then(|| alias.unwrap_or_else(|| "count".into()))
}

/// A SELECT without FROM.
pub(super) struct ConstantSelect {
    filter: Option<Expr>,
    projection: Projection,
    window: Window,
}

impl ConstantSelect {
    pub(super) fn plan(
        query: &Query,
        select: &Select,
        planner: &mut Planner<'_>,
    ) -> BindResult<(ConstantSelect, Arc<[OutputColumn]>)> {
        let projection = Projection::bind(&select.projection, &Scope::empty(), &mut planner.binder)?;
        let condition = select.selection.as_ref();
        let filter = condition.map(|expr| planner.binder.bind_condition(expr, &Scope::empty())).transpose()?;
        let window = Window::plan(query, planner)?;
        let columns = Arc::clone(&projection.columns);
        Ok((ConstantSelect { filter, projection, window }, columns))
    }

    pub(super) fn execute(&self, columns: &Arc<[OutputColumn]>, context: &mut RowContext<'_>) -> Result<Outcome> {
        let (skip, limit) = self.window.bounds(&context.eval)?;
        let holds = match &self.filter {
            Some(filter) => filter.truth(&[], &context.eval)? == Some(true),
            None => true,
        };
        let mut values = Vec::new();
        let count = usize::from(holds && skip == 0 && limit > 0);
        if count == 1 {
            self.projection.append(&[], &context.eval, &mut values)?;
        }
        let rows = Rows::Values { width: columns.len(), count, values };
        Ok(Outcome { tag: Tag::Select(count as u64), columns: Arc::clone(columns), rows })
    }
}
