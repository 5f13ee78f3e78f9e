//! Which share of its rows a condition leaves of a relation, by what is known of its columns.
//!
//! ```text
//!   o_orderstatus = 'F'                 0.49: it is a common value               unknown: 1 / √rows
//!   o_orderdate >= '1994-01-01' AND     from 0.30 to 0.45 of the histogram: 0.15, and not 0.7 × 0.45
//!       o_orderdate < '1995-01-01'
//!   p_type LIKE '%BRASS'                20 of 100 points of the histogram match
//! ```
//!
//! 1. A share is never 0: one row is left at least.
//! 2. The order in which conditions stand does not matter.
//! 3. What lies beyond all values that are known has at least the rows that came since, and at most those where a value
//!    is asked for.

use datafusion::logical_expr::expr::{Between, InList, Like};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use super::spans::{Known, Spans};

/// What `<` and its like leave.
const RANGE_SHARE: f64 = 0.3;
/// What a pattern leaves.
const LIKE_SHARE: f64 = 0.1;
/// What any other condition leaves.
const OTHER_SHARE: f64 = 0.3;
/// A column that is no key has at least so many values.
const VALUES_MIN: f64 = 10.0;

/// Rows and keys of a relation.
pub(super) struct Size {
    /// About how many rows it has.
    pub(super) rows: f64,
    /// About how many it has without its own conditions: so many values its keys have.
    pub(super) keys: f64,
    /// The names of columns that are unique together.
    pub(super) unique: Vec<Vec<String>>,
    /// What is known of its columns.
    pub(super) spans: Spans,
}

/// The column that an expression is, perhaps as another type.
pub(super) fn column_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Column(column) => Some(&column.name),
        Expr::Cast(cast) => column_name(&cast.expr),
        Expr::Alias(alias) => column_name(&alias.expr),
        _ => None,
    }
}

impl Size {
    /// Of rows of which nothing else is known.
    pub(super) fn of_rows(rows: f64) -> Size {
        Size { rows: rows.max(1.0), keys: rows.max(1.0), unique: Vec::new(), spans: Spans::default() }
    }

    /// The size with this condition.
    pub(super) fn filtered(self, condition: &Expr) -> Size {
        let share = share_of(&split_conjunction(condition), &self);
        Size { rows: (self.rows * share).max(1.0), ..self }
    }

    /// Whether these columns have no values twice.
    fn is_unique(&self, columns: &[&str]) -> bool {
        self.unique.iter().any(|key| key.iter().all(|column| columns.contains(&column.as_str())))
    }

    /// About how many values a column, or an expression, has in all rows.
    pub(super) fn values(&self, column: &Expr) -> f64 {
        match column_name(column) {
            Some(column) if self.is_unique(&[column]) => self.keys,
            name => match name.and_then(|name| self.spans.get(name)).and_then(Known::count) {
                Some(count) => count.clamp(1.0, self.keys),
                None => self.keys.sqrt().max(VALUES_MIN).min(self.keys),
            },
        }
    }

    /// What is known of the values of a column.
    pub(super) fn known(&self, column: &Expr) -> Option<&Known> {
        match column {
            Expr::Column(column) => self.spans.get(&column.name),
            _ => None,
        }
    }

    /// How many groups these columns make, as far as their values are known.
    pub(super) fn groups(&self, columns: &[Expr]) -> Option<f64> {
        let values = columns.iter().map(|column| {
            let is_known = self.known(column).is_some_and(|known| known.summary().is_some());
            is_known.then(|| self.values(column))
        });
        values.product::<Option<f64>>().map(|groups| groups.min(self.rows))
    }
}

/// Which part of a column's rows bounds leave, 0 to 1.
struct Bounded<'a> {
    name: &'a str,
    from: f64,
    to: f64,
    /// Where the rows with values end.
    end: f64,
    /// The least shares that lie below and above all that is known.
    outside: (f64, f64),
}

impl Bounded<'_> {
    /// What reaches beyond the values that are known has what came since.
    fn share(&self, least: f64) -> f64 {
        let below = if self.from <= 0.0 { self.outside.0 } else { 0.0 };
        let above = if self.to >= self.end { self.outside.1 } else { 0.0 };
        (self.to - self.from).max(below).max(above).clamp(least.min(1.0), 1.0)
    }
}

/// The share of its rows that conditions on a relation leave together: bounds of one column cut off its ends.
pub(super) fn share_of(conditions: &[&Expr], size: &Size) -> f64 {
    let (mut share, mut bounds): (f64, Vec<Bounded<'_>>) = (1.0, Vec::new());
    for condition in conditions.iter().flat_map(|condition| split_conjunction(condition)) {
        let Some(bound) = bound_of(condition, size) else {
            share *= kept_share(condition, size);
            continue;
        };
        match bounds.iter_mut().find(|known| known.name == bound.name) {
            Some(known) => (known.from, known.to) = (known.from.max(bound.from), known.to.min(bound.to)),
            None => bounds.push(bound),
        }
    }
    let least = 1.0 / size.keys;
    bounds.iter().fold(share, |share, bound| share * bound.share(least))
}

/// Which part of a column's rows a bound leaves.
fn bound_of<'a>(condition: &'a Expr, size: &Size) -> Option<Bounded<'a>> {
    let bounded = |column: &'a Expr, known: &Known, from: f64, to: f64, end: f64| {
        Some(Bounded { name: column_name(column)?, from, to, end, outside: known.outside() })
    };
    if let Expr::Between(Between { expr, negated: false, low, high }) = condition {
        let known = size.known(expr)?;
        let (Expr::Literal(low, _), Expr::Literal(high, _)) = (&**low, &**high) else { return None };
        let ((from, end), (to, _)) = (known.below(low, false)?, known.below(high, true)?);
        return bounded(expr, known, from, to, end);
    }
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else { return None };
    let (column, op, constant) = match (&**left, &**right) {
        (column, Expr::Literal(constant, _)) => (column, *op, constant),
        (Expr::Literal(constant, _), column) => (column, op.swap()?, constant),
        _ => return None,
    };
    let known = size.known(column)?;
    let inclusive = matches!(op, Operator::LtEq | Operator::Gt);
    match op {
        Operator::Lt | Operator::LtEq => {
            known.below(constant, inclusive).and_then(|(to, end)| bounded(column, known, 0.0, to, end))
        }
        Operator::Gt | Operator::GtEq => {
            known.below(constant, inclusive).and_then(|(from, end)| bounded(column, known, from, end, end))
        }
        _ => None,
    }
}

/// The share of its rows that a condition on a relation leaves.
pub(super) fn kept_share(condition: &Expr, size: &Size) -> f64 {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => share_of(&[left, right], size),
            Operator::Or => {
                let (left, right) = (share_of(&[left], size), share_of(&[right], size));
                left + right - left * right
            }
            Operator::Eq => equal_share(left, right, size),
            Operator::NotEq => {
                let share = present_share(left, size) - known_share(left, right, size).unwrap_or(0.0);
                share.max(1.0 / size.keys)
            }
            Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => RANGE_SHARE,
            _ => OTHER_SHARE,
        },
        Expr::InList(InList { expr, list, negated }) => {
            let share = list.iter().map(|item| equal_share(expr, item, size)).sum::<f64>().min(1.0);
            if *negated { rest_of(expr, share, size) } else { share }
        }
        Expr::Between(Between { negated: false, .. }) => RANGE_SHARE * RANGE_SHARE,
        Expr::Like(like) => like_share(like, size),
        Expr::IsNull(expr) => match size.known(expr).and_then(Known::null_share) {
            Some(share) => share.max(1.0 / size.keys),
            None => OTHER_SHARE,
        },
        Expr::IsNotNull(expr) => present_share(expr, size),
        Expr::Not(inner) if matches!(**inner, Expr::Like(_) | Expr::InList(_)) => {
            (1.0 - kept_share(inner, size)).max(1.0 / size.keys)
        }
        Expr::Between(_) | Expr::Not(_) => 1.0,
        _ => OTHER_SHARE,
    }
}

/// The share of rows that a column is not NULL in.
fn present_share(column: &Expr, size: &Size) -> f64 {
    let nulls = size.known(column).and_then(Known::null_share).unwrap_or(0.0);
    (1.0 - nulls).max(1.0 / size.keys)
}

/// What is left of a column's rows without those of a condition on it, as far as its values are known.
fn rest_of(column: &Expr, share: f64, size: &Size) -> f64 {
    match size.known(column).and_then(Known::null_share) {
        Some(_) => (present_share(column, size) - share).max(1.0 / size.keys),
        None => 1.0,
    }
}

/// What is known of the rows in which a column equals a constant.
fn known_share(left: &Expr, right: &Expr, size: &Size) -> Option<f64> {
    let (column, other) = if column_name(left).is_some() { (left, right) } else { (right, left) };
    match other {
        Expr::Literal(constant, _) => size.known(column)?.equal(constant),
        Expr::Column(_) => None,
        _ => size.known(column)?.equal_to_any(),
    }
}

fn equal_share(left: &Expr, right: &Expr, size: &Size) -> f64 {
    let column = if column_name(left).is_some() { left } else { right };
    match known_share(left, right, size) {
        Some(share) => share.clamp(1.0 / size.keys, 1.0),
        None => 1.0 / size.values(column),
    }
}

fn like_share(like: &Like, size: &Size) -> f64 {
    let Like { negated, expr, pattern, escape_char, case_insensitive } = like;
    let known = match &**pattern {
        Expr::Literal(pattern, _) if !case_insensitive && escape_char.is_none_or(|escape| escape == '\\') => {
            let pattern = pattern.try_as_str().flatten();
            pattern.and_then(|pattern| size.known(expr)?.matching(pattern))
        }
        _ => None,
    };
    match (known, negated) {
        (Some(share), false) => share.clamp(1.0 / size.keys, 1.0),
        (Some(share), true) => rest_of(expr, share, size),
        (None, false) => LIKE_SHARE,
        (None, true) => 1.0,
    }
}
