//! LATERAL as a node of the logical plan: the rows of its left side, each with those that the right side has for it.
//!
//! ```text
//!   FROM o LEFT JOIN LATERAL (q) AS l ON c     Lateral Left, values [o.k]
//!                                                o
//!                                                q WHERE c, in which o.k is an outer value     hidden after analysis
//! ```

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::common::{DFSchema, DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::logical_plan::Extension;
use datafusion::logical_expr::logical_plan::builder::build_join_schema;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, UserDefinedLogicalNodeCore};

use super::body::Body;
use super::run::Runner;

/// The node.
#[derive(Clone)]
pub(crate) struct Lateral {
    pub(crate) left: Arc<LogicalPlan>,
    pub(crate) right: Right,
    /// What the right side is given of the left one's row, and of rows around.
    pub(crate) values: Vec<Expr>,
    /// Whose outer references are its own.
    pub(crate) number: u32,
    /// Whether a row of the left side without any of the right one stays.
    pub(crate) keeps_all: bool,
    schema: DFSchemaRef,
}

/// The side that is applied.
#[derive(Clone)]
pub(crate) enum Right {
    /// Still an input of the node.
    Shown(Arc<LogicalPlan>),
    Hidden {
        body: Arc<Body>,
        /// There once it is planned.
        runner: Option<Arc<Runner>>,
    },
}

/// The node that a plan is.
pub(crate) fn lateral_of(plan: &LogicalPlan) -> Option<&Lateral> {
    match plan {
        LogicalPlan::Extension(extension) => extension.node.as_any().downcast_ref::<Lateral>(),
        _ => None,
    }
}

impl Lateral {
    pub(crate) fn new(
        left: Arc<LogicalPlan>,
        right: Right,
        values: Vec<Expr>,
        number: u32,
        keeps_all: bool,
    ) -> Result<Lateral> {
        let schema = Arc::new(schema_of(left.schema(), right.schema(), keeps_all)?);
        Ok(Lateral { left, right, values, number, keeps_all, schema })
    }

    /// The plan that the node is.
    pub(crate) fn plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }

    /// The node with another plan for its right side.
    pub(crate) fn with_right(&self, right: Arc<LogicalPlan>) -> Result<Lateral> {
        let (left, values) = (Arc::clone(&self.left), self.values.clone());
        Lateral::new(left, Right::Shown(right), values, self.number, self.keeps_all)
    }

    /// The node with its right side hidden.
    pub(crate) fn hidden(&self, body: Arc<Body>) -> Result<Lateral> {
        let right = Right::Hidden { body, runner: None };
        Lateral::new(Arc::clone(&self.left), right, self.values.clone(), self.number, self.keeps_all)
    }

    /// The node, ready to be planned.
    pub(crate) fn with_runner(&self, runner: Runner) -> Result<Lateral> {
        let Right::Hidden { body, .. } = &self.right else { return internal_err!("LATERAL was not analysed") };
        let right = Right::Hidden { body: Arc::clone(body), runner: Some(Arc::new(runner)) };
        Lateral::new(Arc::clone(&self.left), right, self.values.clone(), self.number, self.keeps_all)
    }
}

impl Right {
    fn schema(&self) -> &DFSchemaRef {
        match self {
            Right::Shown(plan) => plan.schema(),
            Right::Hidden { body, .. } => body.plan.schema(),
        }
    }

    fn address(&self) -> usize {
        match self {
            Right::Shown(plan) => Arc::as_ptr(plan) as usize,
            Right::Hidden { body, .. } => Arc::as_ptr(body) as usize,
        }
    }
}

fn schema_of(left: &DFSchema, right: &DFSchema, keeps_all: bool) -> Result<DFSchema> {
    build_join_schema(left, right, if keeps_all { &JoinType::Left } else { &JoinType::Inner })
}

impl fmt::Debug for Lateral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_for_explain(f)
    }
}

impl PartialEq for Lateral {
    fn eq(&self, other: &Lateral) -> bool {
        self.right.address() == other.right.address() && self.left == other.left && self.values == other.values
    }
}

impl Eq for Lateral {}

impl Hash for Lateral {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.right.address().hash(state);
        self.values.hash(state);
    }
}

impl PartialOrd for Lateral {
    fn partial_cmp(&self, other: &Lateral) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for Lateral {
    fn name(&self) -> &str {
        "Lateral"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        match &self.right {
            Right::Shown(right) => vec![&self.left, right],
            Right::Hidden { .. } => vec![&self.left],
        }
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.values.clone()
    }

    /// A condition on the left side's columns may be asked there.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        self.right.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lateral: {}", if self.keeps_all { "Left" } else { "Inner" })
    }

    fn with_exprs_and_inputs(&self, values: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Lateral> {
        let mut inputs = inputs.into_iter().map(Arc::new);
        let Some(left) = inputs.next() else { return internal_err!("LATERAL has a left side") };
        let right = match (&self.right, inputs.next()) {
            (Right::Shown(_), Some(right)) => Right::Shown(right),
            (hidden @ Right::Hidden { .. }, None) => hidden.clone(),
            _ => return internal_err!("LATERAL has the inputs that it had"),
        };
        Lateral::new(left, right, values, self.number, self.keeps_all)
    }

    fn necessary_children_exprs(&self, columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let Right::Hidden { .. } = self.right else { return None };
        let left = self.left.schema();
        let mut needed: Vec<usize> = columns.iter().copied().filter(|place| *place < left.fields().len()).collect();
        for value in &self.values {
            needed.extend(value.column_refs().into_iter().filter_map(|column| left.maybe_index_of_column(column)));
        }
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}
