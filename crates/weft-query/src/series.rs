//! `generate_series` in FROM, of constants.
//!
//! ```text
//!   (1, 3)  integers    (1::bigint, 3)  bigints    (timestamp '2024-01-01', '2024-01-03', '1 day')  timestamps
//! ```
//!
//! The engine's own gives bigints, and timestamps to the nanosecond, of literals: arguments are computed first, and
//! what it gives is cast.

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, TimeUnit};
use datafusion::catalog::view::ViewTable;
use datafusion::catalog::{TableFunction, TableFunctionArgs};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::datasource::{TableProvider, provider_as_source};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, cast};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use weft_format::{Code, DataType, Error};

use super::error::wrap;
use super::routines::cast_to;
use super::types::field_type;

const NANOSECONDS: ArrowType = ArrowType::Timestamp(TimeUnit::Nanosecond, None);
const MICROSECONDS: ArrowType = ArrowType::Timestamp(TimeUnit::Microsecond, None);

/// The rows of a series.
pub(super) fn table(function: &TableFunction, args: Vec<Expr>, state: &SessionState) -> Result<Arc<dyn TableProvider>> {
    let context = SimplifyContext::builder().with_config_options(Arc::clone(state.config_options())).build();
    let simplifier = ExprSimplifier::new(context);
    let mut are_narrow = true;
    let mut constants = Vec::with_capacity(args.len());
    for (place, arg) in args.into_iter().enumerate() {
        let arg = read(arg, if place == 2 { DataType::Interval } else { DataType::Timestamp })?;
        let is_short =
            matches!(&arg, Expr::Literal(ScalarValue::Int64(Some(value)), _) if i32::try_from(*value).is_ok());
        let Expr::Literal(value, _) = simplifier.simplify(arg)? else { return Err(refused()) };
        are_narrow &= match &value {
            ScalarValue::Int64(_) => is_short,
            other => other.data_type().is_integer() || other.is_null(),
        };
        constants.push(value);
    }
    let to = match constants.first().map(ScalarValue::data_type) {
        Some(MICROSECONDS) => {
            for end in constants.iter_mut().take(2) {
                *end = end.cast_to(&NANOSECONDS)?;
            }
            MICROSECONDS
        }
        _ if constants.iter().all(|value| value.data_type().is_integer() || value.is_null()) => {
            for value in &mut constants {
                *value = value.cast_to(&ArrowType::Int64)?;
                if value.is_null() {
                    *value = ScalarValue::Null;
                }
            }
            if are_narrow { ArrowType::Int32 } else { ArrowType::Int64 }
        }
        _ => return Err(refused()),
    };
    let args: Vec<Expr> = constants.into_iter().map(|value| Expr::Literal(value, None)).collect();
    let rows = function.create_table_provider_with_args(TableFunctionArgs::new(&args, state))?;
    let fields = rows.schema();
    let only = fields.field(0);
    if *only.data_type() == to {
        return Ok(rows);
    }
    let value = cast(Expr::Column(Column::from_name(only.name())), to).alias(only.name());
    let plan = LogicalPlanBuilder::scan(function.name(), provider_as_source(rows), None)?.project([value])?.build()?;
    Ok(Arc::new(ViewTable::new(plan, None)))
}

/// An argument whose constants in quotes are read as PostgreSQL does; one without a type has this one.
fn read(arg: Expr, open: DataType) -> Result<Expr> {
    let is_text = |expr: &Expr| matches!(expr, Expr::Literal(ScalarValue::Utf8(Some(_)), _));
    if is_text(&arg) {
        return Ok(cast_to(arg, open));
    }
    let typed = arg.transform_up(|expr| {
        Ok(match expr {
            Expr::Cast(Cast { expr, field }) if is_text(&expr) => Transformed::yes(cast_to(*expr, field_type(&field))),
            other => Transformed::no(other),
        })
    })?;
    Ok(typed.data)
}

fn refused() -> datafusion::common::DataFusionError {
    let message = "generate_series in FROM is supported for integers and timestamps";
    wrap(Error::new(Code::FeatureNotSupported, message).hint("cast the arguments"))
}
