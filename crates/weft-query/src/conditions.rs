//! What a leaf tests and what it is told: known when the plan is made, or when it runs.
//!
//! ```text
//!   WHERE a >= 7 AND k BETWEEN $1 AND $2        fixed [a >= 7]    open [k >= $1, k <= $2]
//!   execution with 10, 20                       a >= 7 AND k >= 10 AND k <= 20: pruned and looked up by these
//! ```
//!
//! 1. Whether a condition is taken does not depend on the values of its parameters (pushdown 3).

use std::sync::Arc;

use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Expr;
use weft_format::predicate::Predicate;
use weft_format::{Error, Schema};
use weft_kernel::table::ExprTest;

use super::error::wrap;
use super::indexed::{Indexed, describe_test, test_of};
use super::pushdown::{Given, describe, predicates_of};
use super::slots::has_parameters;

/// The conditions of a leaf.
pub(crate) struct Conditions {
    stored: Arc<Schema>,
    indexed: Arc<[Indexed]>,
    fixed: Tests,
    open: Vec<Expr>,
    /// How many predicates `open` becomes.
    open_count: usize,
}

/// Conditions without parameters.
#[derive(Clone, Default)]
pub(crate) struct Tests {
    /// Applied by the scan.
    pub(crate) predicates: Vec<Predicate>,
    /// What the operator above tests, told for the sake of indexes.
    pub(crate) told: Vec<ExprTest>,
}

impl Conditions {
    /// The conditions that a scan was offered and has taken.
    pub(crate) fn new(filters: &[Expr], stored: Arc<Schema>, indexed: Arc<[Indexed]>) -> Result<Conditions> {
        let (mut fixed, mut untested) = (Tests::default(), Tests::default());
        let mut open = Vec::new();
        for filter in filters {
            let is_open = has_parameters(filter);
            fixed_or(is_open, &mut fixed, &mut untested).add(filter, &stored, &indexed, None)?;
            if is_open {
                open.push(filter.clone());
            }
        }
        Ok(Conditions { stored, indexed, fixed, open, open_count: untested.predicates.len() })
    }

    /// The conditions of one execution, whose parameters are given.
    pub(crate) fn bound(&self, given: &[ScalarValue]) -> Result<Tests> {
        let mut tests = self.fixed.clone();
        for filter in &self.open {
            tests.add(filter, &self.stored, &self.indexed, Some(given))?;
        }
        Ok(tests)
    }

    /// How many predicates a row is tested by.
    pub(crate) fn count(&self) -> usize {
        self.fixed.predicates.len() + self.open_count
    }

    /// The predicates and what is told, as people write them.
    pub(crate) fn describe(&self) -> (Vec<String>, Vec<String>) {
        let mut predicates: Vec<String> = self.fixed.predicates.iter().map(|p| describe(p, &self.stored)).collect();
        predicates.extend(self.open.iter().map(ToString::to_string));
        (predicates, self.fixed.told.iter().map(|test| describe_test(test, &self.stored)).collect())
    }
}

fn fixed_or<'a>(is_open: bool, fixed: &'a mut Tests, open: &'a mut Tests) -> &'a mut Tests {
    if is_open { open } else { fixed }
}

impl Tests {
    fn add(&mut self, filter: &Expr, stored: &Schema, indexed: &[Indexed], given: Given<'_>) -> Result<()> {
        if let Some(taken) = predicates_of(filter, stored, given) {
            self.predicates.extend(taken);
            return Ok(());
        }
        self.told.push(test_of(filter, stored, indexed, given).ok_or_else(|| {
            wrap(Error::internal(format!("condition {filter} was offered to a scan that cannot apply it")))
        })?);
        Ok(())
    }

    /// Column or expression, and comparison, of each: what a plan of the same shape has, whatever the constants are.
    pub(crate) fn kinds(&self, stored: &Schema) -> impl Iterator<Item = String> {
        let kind = |predicate: &Predicate| match predicate {
            Predicate::Compare { op, .. } => format!("{op:?}"),
            Predicate::In { .. } => "In".to_owned(),
            Predicate::IsNull { .. } => "IsNull".to_owned(),
            Predicate::IsNotNull { .. } => "IsNotNull".to_owned(),
        };
        let column = |predicate: &Predicate| stored.columns[predicate.column()].name.clone();
        let tested = self.predicates.iter().map(|predicate| format!("{} {}", column(predicate), kind(predicate)));
        let told = self.told.iter().map(|test| format!("{:?} {}", test.expr, kind(&test.predicate)));
        tested.chain(told).collect::<Vec<_>>().into_iter()
    }
}
