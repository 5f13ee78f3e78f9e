//! A subquery that is applied, as a function of its outer values.
//!
//! Concurrency: partitions of an execution ask at once, each with an instance of the plan of its own.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::body::Question;
use super::run::{Runner, answers};

/// The function. To the engine it changes from call to call: so it stays where it stands, and is asked for the rows
/// that reach it only.
pub(crate) struct Subplan {
    pub(crate) question: Arc<Question>,
    /// There once it is planned.
    pub(crate) runner: Option<Arc<Runner>>,
    signature: Signature,
}

impl Subplan {
    /// The expression.
    pub(crate) fn expr(question: Arc<Question>, runner: Option<Arc<Runner>>, values: Vec<Expr>) -> Expr {
        let signature = match values.len() {
            0 => Signature::nullary(Volatility::Volatile),
            count => Signature::any(count, Volatility::Volatile),
        };
        let subplan = Subplan { question, runner, signature };
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::new_from_impl(subplan)), values))
    }
}

/// The subplan that an expression is.
pub(crate) fn subplan_of(expr: &Expr) -> Option<&Subplan> {
    match expr {
        Expr::ScalarFunction(function) => function.func.inner().downcast_ref::<Subplan>(),
        _ => None,
    }
}

impl fmt::Debug for Subplan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.question.body.name)
    }
}

impl PartialEq for Subplan {
    fn eq(&self, other: &Subplan) -> bool {
        Arc::ptr_eq(&self.question, &other.question)
    }
}

impl Eq for Subplan {}

impl Hash for Subplan {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.question).hash(state);
    }
}

impl ScalarUDFImpl for Subplan {
    fn name(&self) -> &str {
        &self.question.body.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(self.question.field.data_type().clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::clone(&self.question.field))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(runner) = &self.runner else { return exec_err!("a subquery was not planned") };
        let rows = args.number_rows;
        let values = args.args.iter().map(|value| value.to_array(rows)).collect::<Result<Vec<_>>>()?;
        Ok(ColumnarValue::Array(answers(&self.question, runner, &values, rows)?))
    }
}
