//! A subquery to be applied, until types are coerced: a function of the subquery and of its outer values.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::{DFSchema, Result, exec_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use weft_format::{Code, DataType, Error};

use super::super::error::wrap;
use super::super::types::{field_of, field_type};
use super::outer::told_apart;

/// What is asked of a subquery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// The value of its one row; NULL when there is none, 21000 when there are several.
    Value,
    /// Whether it has a row.
    Exists,
    /// Whether its column is true in some row; NULL when it is not, but NULL in some.
    Any,
    /// The array of its column's values, in their order.
    Array,
}

impl Kind {
    /// The answer of a subquery with this column.
    pub(crate) fn answer(self, column: &Field) -> Result<Field> {
        Ok(match self {
            Kind::Value => column.clone().with_nullable(true),
            Kind::Exists | Kind::Any => Field::new(column.name(), ArrowType::Boolean, self == Kind::Any),
            Kind::Array => {
                let Some(array) = field_type(column).array() else { return Err(no_array(field_type(column))) };
                field_of(column.name(), array).with_nullable(false)
            }
        })
    }
}

fn no_array(of: DataType) -> datafusion::common::DataFusionError {
    let message = format!("could not find array type for data type {}", weft_expr::text::type_name(of));
    wrap(Error::new(Code::UndefinedObject, message).hint("cast the column to a type that has arrays"))
}

/// `ARRAY(SELECT ...)`, as a function of the subquery.
pub(crate) const ROWS: &str = "array_of_rows";

/// The function; it is marked before it is planned.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct ArrayOfRows {
    signature: Signature,
}

impl ArrayOfRows {
    pub(crate) fn function() -> ScalarUDF {
        ScalarUDF::new_from_impl(ArrayOfRows { signature: Signature::any(1, Volatility::Volatile) })
    }

    /// The subquery of an expression that is such a call.
    pub(crate) fn subquery(expr: &Expr) -> Option<&Subquery> {
        match expr {
            Expr::ScalarFunction(function) if function.func.inner().is::<ArrayOfRows>() => match &function.args[..] {
                [Expr::ScalarSubquery(subquery)] => Some(subquery),
                _ => None,
            },
            _ => None,
        }
    }
}

impl ScalarUDFImpl for ArrayOfRows {
    fn name(&self) -> &str {
        ROWS
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        Ok(Kind::Array.answer(&Field::new("", types[0].clone(), true))?.data_type().clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        Kind::Array.answer(&args.arg_fields[0]).map(Arc::new)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        exec_err!("an array of a subquery was not planned")
    }
}

/// The function.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) kind: Kind,
    /// Whose outer references are its own.
    pub(crate) number: u32,
    signature: Signature,
}

impl PartialEq for Mark {
    fn eq(&self, other: &Mark) -> bool {
        self.number == other.number
    }
}

impl Eq for Mark {}

impl Hash for Mark {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

/// The expression of a subquery that is applied; `values` are outer values of the places that come first in it.
pub(crate) fn marked(kind: Kind, plan: LogicalPlan, values: Vec<Expr>, around: &DFSchema, number: u32) -> Result<Expr> {
    let (plan, values) = told_apart(plan, values, around, number)?;
    let subquery = Subquery { subquery: Arc::new(plan), outer_ref_columns: Vec::new(), spans: Default::default() };
    let args = std::iter::once(Expr::ScalarSubquery(subquery)).chain(values).collect();
    let mark = Mark { kind, number, signature: Signature::variadic_any(Volatility::Volatile) };
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::new_from_impl(mark)), args)))
}

/// The parts of an expression that is marked: the mark, the subquery, the outer values.
pub(crate) fn parts(expr: &Expr) -> Option<(&Mark, &Subquery, &[Expr])> {
    let Expr::ScalarFunction(function) = expr else { return None };
    let mark = function.func.inner().downcast_ref::<Mark>()?;
    match &function.args[..] {
        [Expr::ScalarSubquery(subquery), values @ ..] => Some((mark, subquery, values)),
        _ => None,
    }
}

/// An expression that is marked, with another plan.
pub(crate) fn with_plan(expr: Expr, plan: LogicalPlan) -> Expr {
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, mut args }) => {
            if let Some(Expr::ScalarSubquery(subquery)) = args.first_mut() {
                subquery.subquery = Arc::new(plan);
            }
            Expr::ScalarFunction(ScalarFunction { func, args })
        }
        other => other,
    }
}

impl ScalarUDFImpl for Mark {
    fn name(&self) -> &str {
        "subquery"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        Ok(self.kind.answer(&Field::new("", types[0].clone(), true))?.data_type().clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.kind.answer(&args.arg_fields[0]).map(Arc::new)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        exec_err!("a subquery was marked, and not planned")
    }
}
