//! Execution of bound queries: rows in memory, one relation after the other.
//!
//! ```text
//!   rows of FROM ── WHERE ── groups ── HAVING ── windows ── result columns ── DISTINCT ── ORDER BY ── LIMIT
//! ```
//!
//! Relations are small, so rows are plain vectors; equalities find their rows by hashing.

use std::collections::{HashMap, HashSet};

use weft_format::{Code, Error, Result};

use crate::aggregate::accumulate;
use crate::asked::Asked;
use crate::eval::{Around, Execution};
use crate::order::sort_by_keys;
use crate::tree::{Body, Condition, Ex, From, Incoming, JoinKind, Order, Query, Select, SetKind, Window};
use crate::value::{Datum, Row};

/// A row of the result, and what DISTINCT ON tells rows apart by.
type Projected = (Row, Vec<Datum>);

fn key_of<'d>(values: impl IntoIterator<Item = &'d Datum>) -> String {
    let mut key = String::new();
    values.into_iter().for_each(|value| value.key(&mut key));
    key
}

impl Execution<'_> {
    /// The rows of a query.
    pub(crate) fn run(&self, query: &Query, outer: Option<&Around<'_>>) -> Result<Vec<Row>> {
        let width = query.columns.len();
        let mut rows = match &query.body {
            Body::Select(select) => self.select(select, &query.order, outer)?,
            Body::Values(values) => {
                let none = Around::row(&[], outer);
                let row = |row: &Vec<Ex>| row.iter().map(|ex| self.eval(ex, &none)).collect::<Result<Row>>();
                let mut rows = values.iter().map(row).collect::<Result<Vec<Row>>>()?;
                sort(&mut rows, &query.order);
                rows
            }
            Body::Recursive { number, all, first, step } => {
                let mut rows = self.recursive((*number, *all), first, step, outer)?;
                sort(&mut rows, &query.order);
                rows
            }
            Body::Set { kind, all, left, right } => {
                let (left, right) = (self.run(left, outer)?, self.run(right, outer)?);
                let mut rows = combined(*kind, *all, left, right);
                sort(&mut rows, &query.order);
                rows
            }
        };
        let count = |ex: &Option<Ex>, code: Code, what: &str| -> Result<Option<usize>> {
            let Some(ex) = ex else { return Ok(None) };
            let Some(number) = self.eval(ex, &Around::row(&[], outer))?.int() else { return Ok(None) };
            let number =
                usize::try_from(number).map_err(|_| Error::new(code, format!("{what} must not be negative")))?;
            Ok(Some(number))
        };
        if let Some(offset) = count(&query.offset, Code::InvalidRowOffset, "OFFSET")? {
            rows.drain(..offset.min(rows.len()));
        }
        if let Some(limit) = count(&query.limit, Code::InvalidRowCount, "LIMIT")? {
            rows.truncate(limit);
        }
        rows.iter_mut().for_each(|row| row.truncate(width));
        Ok(rows)
    }

    /// The first rows, then those of the step for the rows that came last, until none come.
    fn recursive(
        &self,
        (number, all): (usize, bool),
        first: &Query,
        step: &Query,
        outer: Option<&Around<'_>>,
    ) -> Result<Vec<Row>> {
        let mut seen = HashSet::new();
        let mut is_new = |row: &Row| all || seen.insert(key_of(row));
        let mut last = self.run(first, outer)?;
        last.retain(&mut is_new);
        let mut rows = Vec::new();
        while !last.is_empty() {
            rows.extend(last.iter().cloned());
            let before = self.set_last(number, Some(last));
            let next = self.run(step, outer);
            self.set_last(number, before);
            last = next?;
            last.retain(&mut is_new);
            for _ in &last {
                self.step()?;
            }
        }
        Ok(rows)
    }

    fn select(&self, select: &Select, order: &[Order], outer: Option<&Around<'_>>) -> Result<Vec<Row>> {
        let mut rows = self.from(select, outer)?;
        rows = self.kept(rows, &select.conditions, outer)?;
        let grouped = select.group.is_some() || !select.aggregates.is_empty();
        let mut groups: Vec<(Row, Vec<Datum>)> = Vec::with_capacity(rows.len());
        if grouped {
            for members in self.groups(select, rows, outer)? {
                let mut aggregates = Vec::with_capacity(select.aggregates.len());
                for aggregate in &select.aggregates {
                    aggregates.push(accumulate(self, aggregate, &members, outer)?);
                }
                let row = members.into_iter().next().unwrap_or_else(|| vec![Datum::Null; select.width]);
                groups.push((row, aggregates));
            }
        } else {
            groups.extend(rows.into_iter().map(|row| (row, Vec::new())));
        }
        if let Some(having) = &select.having {
            let mut kept = Vec::with_capacity(groups.len());
            for (row, aggregates) in groups {
                let around = Around { aggregates: &aggregates, ..Around::row(&row, outer) };
                if self.holds(having, &around)? {
                    kept.push((row, aggregates));
                }
            }
            groups = kept;
        }
        let windows = self.windows(&select.windows, &groups, outer)?;
        let mut result = Vec::with_capacity(groups.len());
        for (at, (row, aggregates)) in groups.iter().enumerate() {
            let windows: Vec<Datum> = windows.iter().map(|values| values[at].clone()).collect();
            let around = Around { aggregates, windows: &windows, ..Around::row(row, outer) };
            self.project(select, &around, &mut result)?;
        }
        if let Some(width) = select.distinct {
            let mut seen = HashSet::new();
            result.retain(|(row, _): &(Row, Vec<Datum>)| seen.insert(key_of(&row[..width.min(row.len())])));
        }
        let mut keyed: Vec<(Vec<Datum>, Projected)> = result
            .into_iter()
            .map(|(row, on)| (order.iter().map(|order| row[order.place].clone()).collect(), (row, on)))
            .collect();
        let directions: Vec<(bool, bool)> = order.iter().map(|order| (order.descending, order.nulls_first)).collect();
        sort_by_keys(&mut keyed, &directions);
        let mut rows: Vec<(Row, Vec<Datum>)> = keyed.into_iter().map(|(_, row)| row).collect();
        if !select.distinct_on.is_empty() {
            let mut seen = HashSet::new();
            rows.retain(|(_, on)| seen.insert(key_of(on)));
        }
        Ok(rows.into_iter().map(|(row, _)| row).collect())
    }

    /// Adds the result's rows of one row: several when a function gives several.
    fn project(&self, select: &Select, around: &Around<'_>, result: &mut Vec<(Row, Vec<Datum>)>) -> Result<()> {
        let mut sets = Vec::with_capacity(select.sets.len());
        for set in &select.sets {
            sets.push(self.eval(set, around)?);
        }
        let count = if sets.is_empty() { 1 } else { sets.iter().map(|set| set.items().len()).max().unwrap_or(0) };
        for at in 0..count {
            self.step()?;
            let values: Vec<Datum> =
                sets.iter().map(|set| set.items().get(at).cloned().unwrap_or(Datum::Null)).collect();
            let around = Around { sets: &values, ..*around };
            let row = select.project.iter().map(|ex| self.eval(ex, &around)).collect::<Result<Row>>()?;
            let on = select.distinct_on.iter().map(|ex| self.eval(ex, &around)).collect::<Result<Vec<Datum>>>()?;
            result.push((row, on));
        }
        Ok(())
    }

    fn groups(&self, select: &Select, rows: Vec<Row>, outer: Option<&Around<'_>>) -> Result<Vec<Vec<Row>>> {
        let Some(by) = select.group.as_ref().filter(|by| !by.is_empty()) else { return Ok(vec![rows]) };
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut groups: Vec<Vec<Row>> = Vec::new();
        for row in rows {
            let around = Around::row(&row, outer);
            let values = by.iter().map(|ex| self.eval(ex, &around)).collect::<Result<Vec<Datum>>>()?;
            let at = *places.entry(key_of(&values)).or_insert(groups.len());
            if at == groups.len() {
                groups.push(Vec::new());
            }
            groups[at].push(row);
        }
        Ok(groups)
    }

    /// Per window function the value of each row.
    fn windows(
        &self,
        windows: &[Window],
        groups: &[(Row, Vec<Datum>)],
        outer: Option<&Around<'_>>,
    ) -> Result<Vec<Vec<Datum>>> {
        let mut all = Vec::with_capacity(windows.len());
        for window in windows {
            let mut partitions: HashMap<String, Vec<(Vec<Datum>, usize)>> = HashMap::new();
            for (at, (row, aggregates)) in groups.iter().enumerate() {
                let around = Around { aggregates, ..Around::row(row, outer) };
                let by = window.partition.iter().map(|ex| self.eval(ex, &around)).collect::<Result<Vec<Datum>>>()?;
                let keys =
                    window.order.iter().map(|(ex, ..)| self.eval(ex, &around)).collect::<Result<Vec<Datum>>>()?;
                partitions.entry(key_of(&by)).or_default().push((keys, at));
            }
            let directions: Vec<(bool, bool)> = window.order.iter().map(|(_, a, b)| (*a, *b)).collect();
            let mut values = vec![Datum::Null; groups.len()];
            for members in partitions.values_mut() {
                sort_by_keys(members, &directions);
                let of_all = match &window.aggregate {
                    None => None,
                    Some(aggregate) => {
                        let rows: Vec<Row> = members.iter().map(|(_, at)| groups[*at].0.clone()).collect();
                        Some(accumulate(self, aggregate, &rows, outer)?)
                    }
                };
                for (number, (_, at)) in (1..).zip(members.iter()) {
                    values[*at] = of_all.clone().unwrap_or(Datum::Int(number));
                }
            }
            all.push(values);
        }
        Ok(all)
    }

    fn all_hold(&self, conditions: &[Ex], around: &Around<'_>) -> Result<bool> {
        for condition in conditions {
            if !self.holds(condition, around)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn from(&self, select: &Select, outer: Option<&Around<'_>>) -> Result<Vec<Row>> {
        let mut rows: Vec<Row> = vec![Vec::new()];
        let mut start = 0;
        for Incoming { item, kind, on, after } in &select.from {
            rows = self.join((rows, start), item, *kind, (on, &[]), outer)?;
            start += width(item);
            rows = self.kept(rows, after, outer)?;
        }
        Ok(rows)
    }

    /// The rows of which all conditions are true.
    fn kept(&self, rows: Vec<Row>, conditions: &[Ex], outer: Option<&Around<'_>>) -> Result<Vec<Row>> {
        if conditions.is_empty() {
            return Ok(rows);
        }
        let mut kept = Vec::with_capacity(rows.len());
        for row in rows {
            if self.all_hold(conditions, &Around::row(&row, outer))? {
                kept.push(row);
            }
        }
        Ok(kept)
    }

    /// The rows of one item at a place, when the row so far is known to the left of it; of relations at least those
    /// that are asked for.
    fn item(
        &self,
        (item, at): (&From, usize),
        left: &[Datum],
        asked: &[Asked],
        outer: Option<&Around<'_>>,
    ) -> Result<Vec<Row>> {
        match item {
            From::Relation(relation) => {
                let made = self.asked_rows(relation, at, asked);
                Ok(made.unwrap_or_else(|| self.relation(relation).as_ref().clone()))
            }
            From::Last(number, _) => Ok(self.last(*number)),
            From::Query { query, lateral: false } => self.run(query, outer),
            From::Query { query, lateral: true } => {
                let around = Around::row(left, outer);
                self.run(query, Some(&around))
            }
            From::Call { call, record, ordinality } => {
                let around = Around::row(left, outer);
                let value = self.eval(call, &around)?;
                let row = |(number, item): (i64, &Datum)| {
                    let mut row = match (record, item) {
                        (true, Datum::List(fields)) => fields.to_vec(),
                        _ => vec![item.clone()],
                    };
                    if *ordinality {
                        row.push(Datum::Int(number));
                    }
                    row
                };
                Ok((1..).zip(value.items()).map(row).collect())
            }
            From::Join { left: first, right, kind, on, start, middle, .. } => {
                // Rows that the other side keeps are not known by what is asked of the result.
                let keeps_left = matches!(kind, JoinKind::Inner | JoinKind::Left);
                let rows = self.item((first, *start), left, if keeps_left { asked } else { &[] }, outer)?;
                // Conditions count places from the first relation of the SELECT.
                let padded = rows.into_iter().map(|row| padded(left, *start, row)).collect();
                let of_right = if *kind == JoinKind::Inner { asked } else { &[] };
                let rows = self.join((padded, *middle), right, *kind, (on, of_right), outer)?;
                Ok(rows.into_iter().map(|mut row| row.split_off(*start)).collect())
            }
        }
    }

    /// The rows of an item that does not depend on the row so far, with places before them.
    fn candidates(
        &self,
        (item, start): (&From, usize),
        kind: JoinKind,
        (on, asked): (&[Condition], &[Asked]),
        outer: Option<&Around<'_>>,
    ) -> Result<Vec<Row>> {
        // What only the new rows decide is tested once; in an outer join they may still have to be kept.
        let all = self.item((item, start), &[], asked, outer)?;
        let mut kept = Vec::with_capacity(all.len());
        let tested = matches!(kind, JoinKind::Inner | JoinKind::Left);
        for row in all {
            let full = padded(&[], start, row);
            let around = Around::row(&full, outer);
            let mut passes = true;
            for condition in on.iter().filter(|condition| condition.only_right && tested) {
                passes = passes && self.holds(&condition.ex, &around)?;
            }
            if passes {
                kept.push(full);
            }
        }
        Ok(kept)
    }

    /// The places of rows by what they are equal by.
    fn by_key(
        &self,
        rows: &[Row],
        equalities: &[&(Ex, Ex)],
        outer: Option<&Around<'_>>,
    ) -> Result<HashMap<String, Vec<usize>>> {
        let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
        if equalities.is_empty() {
            return Ok(by_key);
        }
        for (at, row) in rows.iter().enumerate() {
            let around = Around::row(row, outer);
            let values = equalities.iter().map(|(_, right)| self.eval(right, &around));
            by_key.entry(key_of(&values.collect::<Result<Vec<Datum>>>()?)).or_default().push(at);
        }
        Ok(by_key)
    }

    /// Joins rows with an item; `on` are the conditions, `above` what is asked of the result. Outer joins keep rows
    /// without a partner.
    fn join(
        &self,
        (rows, start): (Vec<Row>, usize),
        item: &From,
        kind: JoinKind,
        (on, above): (&[Condition], &[Asked]),
        outer: Option<&Around<'_>>,
    ) -> Result<Vec<Row>> {
        let is_lateral = reads_left(item);
        let width = width(item);
        let mut asked = Vec::new();
        if !is_lateral && matches!(kind, JoinKind::Inner | JoinKind::Left) {
            asked = self.asked_by_constants(on, outer);
            asked.extend(self.asked_by_rows(&rows, on, outer));
        }
        asked.extend(above.iter().cloned());
        let fixed = if is_lateral { None } else { Some(self.candidates((item, start), kind, (on, &asked), outer)?) };
        let equalities: Vec<&(Ex, Ex)> = on.iter().filter_map(|condition| condition.equal.as_ref()).collect();
        let by_key = self.by_key(fixed.as_deref().unwrap_or(&[]), &equalities, outer)?;
        let mut result = Vec::new();
        let mut matched = vec![false; fixed.as_ref().map_or(0, Vec::len)];
        for left in rows {
            let own;
            let candidates: &[Row] = match &fixed {
                Some(fixed) => fixed,
                None => {
                    let rows = self.item((item, start), &left, &[], outer)?;
                    own = rows.into_iter().map(|row| padded(&[], start, row)).collect::<Vec<Row>>();
                    &own
                }
            };
            let places: Vec<usize> = if fixed.is_some() && !equalities.is_empty() {
                let around = Around::row(&left, outer);
                let values = equalities.iter().map(|(left, _)| self.eval(left, &around));
                by_key.get(&key_of(&values.collect::<Result<Vec<Datum>>>()?)).cloned().unwrap_or_default()
            } else {
                (0..candidates.len()).collect()
            };
            let mut found = false;
            for at in places {
                self.step()?;
                let mut row = Vec::with_capacity(start + width);
                row.extend_from_slice(&left);
                row.extend_from_slice(&candidates[at][start..]);
                let around = Around::row(&row, outer);
                let mut passes = true;
                for condition in on {
                    passes = passes && self.holds(&condition.ex, &around)?;
                }
                if passes {
                    found = true;
                    if let Some(matched) = matched.get_mut(at) {
                        *matched = true;
                    }
                    result.push(row);
                }
            }
            if !found && matches!(kind, JoinKind::Left | JoinKind::Full) {
                let mut row = left;
                row.resize(start + width, Datum::Null);
                result.push(row);
            }
        }
        if let (Some(fixed), JoinKind::Right | JoinKind::Full) = (fixed, kind) {
            result.extend(fixed.into_iter().zip(matched).filter(|(_, matched)| !matched).map(|(row, _)| row));
        }
        Ok(result)
    }
}

/// A row with places before it: those known, then NULLs.
fn padded(left: &[Datum], start: usize, row: Row) -> Row {
    let mut full = Vec::with_capacity(start + row.len());
    full.extend_from_slice(&left[..start.min(left.len())]);
    full.resize(start, Datum::Null);
    full.extend(row);
    full
}

fn width(item: &From) -> usize {
    match item {
        From::Relation(relation) => relation.columns.len(),
        From::Last(_, width) => *width,
        From::Query { query, .. } => query.columns.len(),
        From::Call { call, record, ordinality } => {
            let fields = match call {
                Ex::Call(function, _, types) if *record => match (function.returns)(types) {
                    crate::value::Type::Record(fields) => fields.len(),
                    _ => 1,
                },
                _ => 1,
            };
            fields + usize::from(*ordinality)
        }
        From::Join { start, end, .. } => end - start,
    }
}

/// Whether an item's rows depend on the row so far.
fn reads_left(item: &From) -> bool {
    match item {
        From::Relation(_) | From::Last(..) => false,
        From::Query { lateral, .. } => *lateral,
        From::Call { .. } => true,
        From::Join { left, right, .. } => reads_left(left) || reads_left(right),
    }
}

fn sort(rows: &mut Vec<Row>, order: &[Order]) {
    let directions: Vec<(bool, bool)> = order.iter().map(|order| (order.descending, order.nulls_first)).collect();
    let key = |row: Row| (order.iter().map(|order| row[order.place].clone()).collect(), row);
    let mut keyed: Vec<(Vec<Datum>, Row)> = std::mem::take(rows).into_iter().map(key).collect();
    sort_by_keys(&mut keyed, &directions);
    *rows = keyed.into_iter().map(|(_, row)| row).collect();
}

fn combined(kind: SetKind, all: bool, left: Vec<Row>, right: Vec<Row>) -> Vec<Row> {
    let mut rows = match kind {
        SetKind::Union => left.into_iter().chain(right).collect(),
        SetKind::Intersect | SetKind::Except => {
            let mut counts: HashMap<String, usize> = HashMap::new();
            right.iter().for_each(|row| *counts.entry(key_of(row)).or_default() += 1);
            let keeps = |row: &Row| match counts.get_mut(&key_of(row)) {
                Some(count) if *count > 0 => {
                    *count -= usize::from(all);
                    kind == SetKind::Intersect
                }
                _ => kind == SetKind::Except,
            };
            let mut left = left;
            left.retain(keeps);
            left
        }
    };
    if !all {
        let mut seen = HashSet::new();
        rows.retain(|row: &Row| seen.insert(key_of(row)));
    }
    rows
}
