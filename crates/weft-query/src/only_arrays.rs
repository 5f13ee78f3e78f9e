//! The error of elements that are asked of what is no array, raised where the function that asks for them stood.
//!
//! ```text
//!   scan    lists [3, 4]   NULL           NULL               what is there and no array:  NULL, NULL, {"a": 1}
//!   filter  lets some rows pass
//!   only_arrays(lists, others)            the lists, or the error when a row has another
//! ```

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use weft_format::{Code, Error};

use super::error::wrap;

#[derive(Debug, PartialEq, Eq, Hash)]
struct OnlyArrays {
    signature: Signature,
}

impl ScalarUDFImpl for OnlyArrays {
    fn name(&self) -> &str {
        "only_arrays"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let others = args.args[1].to_array(args.number_rows)?;
        let found = others.as_string::<i64>().iter().flatten().next();
        let Some(other) = found else { return Ok(args.args[0].clone()) };
        let what = if other.starts_with('{') { "an object" } else { "a scalar" };
        let message = format!("cannot extract elements from {what}");
        Err(wrap(Error::new(Code::InvalidParameterValue, message)))
    }
}

/// Lists, where nothing is in place of one.
pub(super) fn only_arrays(
    lists: (Arc<dyn PhysicalExpr>, &ArrowType),
    others: Arc<dyn PhysicalExpr>,
) -> Arc<dyn PhysicalExpr> {
    let function = OnlyArrays { signature: Signature::user_defined(Volatility::Immutable) };
    let function = Arc::new(ScalarUDF::from(function));
    let field = Arc::new(Field::new("lists", lists.1.clone(), true));
    let config = Arc::new(ConfigOptions::default());
    Arc::new(ScalarFunctionExpr::new("only_arrays", function, vec![lists.0, others], field, config))
}

/// The lists that an expression gives, with or without the test.
pub(super) fn lists_of(expr: &Arc<dyn PhysicalExpr>) -> &Arc<dyn PhysicalExpr> {
    let call = expr.downcast_ref::<ScalarFunctionExpr>();
    let call = call.filter(|call| call.fun().inner().is::<OnlyArrays>());
    call.and_then(|call| call.args().first()).unwrap_or(expr)
}
