//! Evaluation of bound expressions.
//!
//! ```text
//!   Compare(Eq, Column { depth 0, place 1 }, Column { depth 1, place 3 })
//!     row [16390, 16387]   around: row [..., 16387]          true
//! ```
//!
//! NULL in, NULL out, as SQL has it; AND, OR, IN and ANY know three values.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use weft_format::{Code, Error, Result};

use crate::cast::{cast, text_of};
use crate::declared::Relation;
use crate::function::Arguments;
use crate::pattern::Pattern;
use crate::relations::rows_of;
use crate::snapshot::Snapshot;
use crate::tree::{Comparison, Ex, Slot};
use crate::value::{Datum, Row, Type};

/// How many rows one statement may make and look at.
const STEPS_MAX: u64 = 50_000_000;
/// Rows between two looks whether the query is to stop.
const STOP_STEPS: u64 = 1024;

/// One execution.
pub(crate) struct Execution<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) params: &'a [Datum],
    /// The relations that were made as a whole.
    pub(crate) relations: RefCell<HashMap<u32, Rc<Vec<Row>>>>,
    patterns: RefCell<HashMap<(String, bool, bool), Rc<Pattern>>>,
    /// Of recursive queries under way the rows that came last.
    last: RefCell<HashMap<usize, Vec<Row>>>,
    steps: std::cell::Cell<u64>,
}

/// The rows around an expression.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) row: &'a [Datum],
    pub(crate) outer: Option<&'a Around<'a>>,
    pub(crate) aggregates: &'a [Datum],
    pub(crate) windows: &'a [Datum],
    pub(crate) sets: &'a [Datum],
}

impl<'a> Around<'a> {
    pub(crate) fn row(row: &'a [Datum], outer: Option<&'a Around<'a>>) -> Around<'a> {
        Around { row, outer, aggregates: &[], windows: &[], sets: &[] }
    }
}

impl<'a> Execution<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, params: &'a [Datum]) -> Execution<'a> {
        Execution {
            snapshot,
            params,
            relations: RefCell::default(),
            patterns: RefCell::default(),
            last: RefCell::default(),
            steps: std::cell::Cell::new(0),
        }
    }

    /// Counts a row.
    pub(crate) fn step(&self) -> Result<()> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > STEPS_MAX {
            let message = "a query of the catalog looks at too many rows";
            return Err(Error::new(Code::StatementTooComplex, message).hint("join its relations by their numbers"));
        }
        if self.steps.get().is_multiple_of(STOP_STEPS) { self.snapshot.stop.check() } else { Ok(()) }
    }

    /// The rows of a relation, made once.
    pub(crate) fn relation(&self, relation: &'static Relation) -> Rc<Vec<Row>> {
        if let Some(rows) = self.relations.borrow().get(&relation.oid) {
            return Rc::clone(rows);
        }
        let rows = Rc::new(rows_of(relation, self.snapshot));
        self.relations.borrow_mut().insert(relation.oid, Rc::clone(&rows));
        rows
    }

    /// The rows that came last in a recursive query.
    pub(crate) fn last(&self, number: usize) -> Vec<Row> {
        self.last.borrow().get(&number).cloned().unwrap_or_default()
    }

    /// Replaces them; those before.
    pub(crate) fn set_last(&self, number: usize, rows: Option<Vec<Row>>) -> Option<Vec<Row>> {
        let mut last = self.last.borrow_mut();
        match rows {
            Some(rows) => last.insert(number, rows),
            None => last.remove(&number),
        }
    }

    fn pattern(&self, text: &str, like: bool, insensitive: bool) -> Result<Rc<Pattern>> {
        let key = (text.to_owned(), like, insensitive);
        if let Some(known) = self.patterns.borrow().get(&key) {
            return Ok(Rc::clone(known));
        }
        let made = match like {
            true => Pattern::like(text, Some('\\'), insensitive),
            false => Pattern::regex(text, insensitive)?,
        };
        let made = Rc::new(made);
        self.patterns.borrow_mut().insert(key, Rc::clone(&made));
        Ok(made)
    }

    /// Whether a condition is true.
    pub(crate) fn holds(&self, ex: &Ex, around: &Around<'_>) -> Result<bool> {
        Ok(self.eval(ex, around)?.is_true())
    }

    pub(crate) fn eval(&self, ex: &Ex, around: &Around<'_>) -> Result<Datum> {
        let truth = |known: Option<bool>| known.map_or(Datum::Null, Datum::Bool);
        Ok(match ex {
            Ex::Const(value) => value.clone(),
            Ex::Param(at) => self.params.get(*at).cloned().unwrap_or(Datum::Null),
            Ex::Column { depth, place } => {
                let mut at = around;
                for _ in 0..*depth {
                    at = at.outer.ok_or_else(|| Error::internal("a column of no query around"))?;
                }
                at.row.get(*place).cloned().unwrap_or(Datum::Null)
            }
            Ex::And(parts) => self.junction(parts, around, false)?,
            Ex::Or(parts) => self.junction(parts, around, true)?,
            Ex::Not(inner) => match self.eval(inner, around)? {
                Datum::Null => Datum::Null,
                value => Datum::Bool(!value.is_true()),
            },
            Ex::IsNull(inner, negated) => Datum::Bool(self.eval(inner, around)?.is_null() != *negated),
            Ex::Is(inner, wanted, negated) => {
                let value = self.eval(inner, around)?;
                Datum::Bool((!value.is_null() && value.is_true() == *wanted) != *negated)
            }
            Ex::Distinct(left, right, negated) => {
                let (left, right) = (self.eval(left, around)?, self.eval(right, around)?);
                Datum::Bool(left.order(&right).is_ne() != *negated)
            }
            Ex::Compare(op, left, right) => {
                let (left, right) = (self.eval(left, around)?, self.eval(right, around)?);
                truth(self.compare(*op, &left, &right)?)
            }
            Ex::Arithmetic(op, left, right, float) => {
                arithmetic(*op, &self.eval(left, around)?, &self.eval(right, around)?, *float)?
            }
            Ex::Concat(left, right) => match (self.eval(left, around)?, self.eval(right, around)?) {
                (Datum::List(left), Datum::List(right)) => Datum::list(left.iter().chain(&*right).cloned().collect()),
                (Datum::List(list), Datum::Null) | (Datum::Null, Datum::List(list)) => Datum::List(list),
                (Datum::Null, _) | (_, Datum::Null) => Datum::Null,
                (Datum::List(list), item) => Datum::list(list.iter().cloned().chain([item]).collect()),
                (item, Datum::List(list)) => Datum::list([item].into_iter().chain(list.iter().cloned()).collect()),
                (left, right) => Datum::text(left.plain() + &right.plain()),
            },
            Ex::Slot(slot, at) => {
                let values = match slot {
                    Slot::Aggregate => around.aggregates,
                    Slot::Window => around.windows,
                    Slot::Set => around.sets,
                };
                values.get(*at).cloned().unwrap_or(Datum::Null)
            }
            Ex::Array(items) => {
                let items: Result<Vec<Datum>> = items.iter().map(|item| self.eval(item, around)).collect();
                Datum::list(items?)
            }
            Ex::Subscript(of, index, from_zero) => {
                let (of, index) = (self.eval(of, around)?, self.eval(index, around)?);
                let at = index.int().and_then(|at| usize::try_from(at - i64::from(!from_zero)).ok());
                let item = at.and_then(|at| match &of {
                    // A name is an array of its characters.
                    Datum::Text(name) if *from_zero => name.chars().nth(at).map(|one| Datum::text(one.to_string())),
                    of => of.items().get(at).cloned(),
                });
                item.unwrap_or(Datum::Null)
            }
            Ex::Field(of, at) => self.eval(of, around)?.items().get(*at).cloned().unwrap_or(Datum::Null),
            other => self.eval_test(other, around)?,
        })
    }

    /// Patterns, CASE, casts and calls.
    fn eval_test(&self, ex: &Ex, around: &Around<'_>) -> Result<Datum> {
        Ok(match ex {
            Ex::Match { text, pattern, like, insensitive, negated } => {
                let (text, pattern) = (self.eval(text, around)?, self.eval(pattern, around)?);
                if text.is_null() || pattern.is_null() {
                    return Ok(Datum::Null);
                }
                let pattern = self.pattern(&pattern.plain(), *like, *insensitive)?;
                Datum::Bool(pattern.is_in(&text.plain())? != *negated)
            }
            Ex::Case { operand, whens, otherwise } => {
                let operand = operand.as_ref().map(|operand| self.eval(operand, around)).transpose()?;
                for (when, then) in whens {
                    let value = self.eval(when, around)?;
                    let is_it = match &operand {
                        Some(operand) => operand.compare(&value).is_some_and(std::cmp::Ordering::is_eq),
                        None => value.is_true(),
                    };
                    if is_it {
                        return self.eval(then, around);
                    }
                }
                match otherwise {
                    Some(otherwise) => self.eval(otherwise, around)?,
                    None => Datum::Null,
                }
            }
            Ex::Cast(inner, from, to) => cast(self.snapshot, self.eval(inner, around)?, from, to)?,
            Ex::Call(function, args, types) => {
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    values.push(self.eval(arg, around)?);
                }
                if function.is_strict && values.iter().any(Datum::is_null) {
                    return Ok(Datum::Null);
                }
                (function.call)(&Arguments { snapshot: self.snapshot, values: &values, types })?
            }
            other => self.eval_query(other, around)?,
        })
    }

    /// Tests of many values, and subqueries.
    fn eval_query(&self, ex: &Ex, around: &Around<'_>) -> Result<Datum> {
        let truth = |known: Option<bool>| known.map_or(Datum::Null, Datum::Bool);
        Ok(match ex {
            Ex::Quantified(op, left, right, any) => {
                let (left, right) = (self.eval(left, around)?, self.eval(right, around)?);
                if right.is_null() {
                    return Ok(Datum::Null);
                }
                truth(self.quantified(*op, &left, right.items().iter().cloned(), *any)?)
            }
            Ex::QuantifiedQuery(op, left, query, any) => {
                let left = self.eval(left, around)?;
                let rows = self.run(query, Some(around))?;
                let is_row = matches!(&left, Datum::List(_)) && query.columns.len() > 1;
                let item = |row: Row| {
                    if is_row { Datum::list(row) } else { row.into_iter().next().unwrap_or(Datum::Null) }
                };
                truth(self.quantified(*op, &left, rows.into_iter().map(item), *any)?)
            }
            Ex::InList(of, items, negated) => {
                let of = self.eval(of, around)?;
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(self.eval(item, around)?);
                }
                let found = self.quantified(Comparison::Eq, &of, values.into_iter(), true)?;
                truth(found.map(|found| found != *negated))
            }
            Ex::Exists(query, negated) => Datum::Bool(self.run(query, Some(around))?.is_empty() == *negated),
            Ex::Scalar(query) => {
                let mut rows = self.run(query, Some(around))?;
                if rows.len() > 1 {
                    let message = "more than one row returned by a subquery used as an expression";
                    return Err(Error::new(Code::CardinalityViolation, message));
                }
                rows.pop().and_then(|row| row.into_iter().next()).unwrap_or(Datum::Null)
            }
            Ex::ArrayOf(query) => {
                let rows = self.run(query, Some(around))?;
                Datum::list(rows.into_iter().filter_map(|row| row.into_iter().next()).collect())
            }
            _ => return Err(Error::internal("an expression of no kind")),
        })
    }

    fn junction(&self, parts: &[Ex], around: &Around<'_>, any: bool) -> Result<Datum> {
        let mut unknown = false;
        for part in parts {
            let value = self.eval(part, around)?;
            if value.is_null() {
                unknown = true;
            } else if value.is_true() == any {
                return Ok(Datum::Bool(any));
            }
        }
        Ok(if unknown { Datum::Null } else { Datum::Bool(!any) })
    }

    fn compare(&self, op: Comparison, left: &Datum, right: &Datum) -> Result<Option<bool>> {
        if matches!(op, Comparison::Regex | Comparison::NotRegex) {
            if left.is_null() || right.is_null() {
                return Ok(None);
            }
            let found = self.pattern(&right.plain(), false, false)?.is_in(&left.plain())?;
            return Ok(Some(found == (op == Comparison::Regex)));
        }
        Ok(left.compare(right).map(|order| op.holds(order)))
    }

    fn quantified(
        &self,
        op: Comparison,
        left: &Datum,
        items: impl Iterator<Item = Datum>,
        any: bool,
    ) -> Result<Option<bool>> {
        let mut unknown = false;
        for item in items {
            match self.compare(op, left, &item)? {
                Some(holds) if holds == any => return Ok(Some(any)),
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { None } else { Some(!any) })
    }

    /// A value as text.
    pub(crate) fn text(&self, value: &Datum, data_type: &Type) -> String {
        text_of(self.snapshot, value, data_type)
    }
}

fn arithmetic(op: char, left: &Datum, right: &Datum, float: bool) -> Result<Datum> {
    if left.is_null() || right.is_null() {
        return Ok(Datum::Null);
    }
    let overflow = || Error::new(Code::NumericOutOfRange, "bigint out of range");
    let zero = || Error::new(Code::DivisionByZero, "division by zero");
    if float {
        let (left, right) = (left.float().unwrap_or(f64::NAN), right.float().unwrap_or(f64::NAN));
        return Ok(Datum::Float(match op {
            '+' => left + right,
            '-' => left - right,
            '*' => left * right,
            '/' if right == 0.0 => return Err(zero()),
            '/' => left / right,
            _ => left % right,
        }));
    }
    let number = |value: &Datum| {
        value.int().ok_or_else(|| {
            let message = format!("invalid input syntax for type bigint: \"{}\"", value.plain());
            Error::new(Code::InvalidText, message)
        })
    };
    let (left, right) = (number(left)?, number(right)?);
    let result = match op {
        '+' => left.checked_add(right),
        '-' => left.checked_sub(right),
        '*' => left.checked_mul(right),
        '/' | '%' if right == 0 => return Err(zero()),
        '/' => left.checked_div(right),
        '%' => left.checked_rem(right),
        '&' => Some(left & right),
        _ => Some(left | right),
    };
    result.map(Datum::Int).ok_or_else(overflow)
}
