//! The numbers of LIMIT and OFFSET that are known when a query runs: none is negative.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{DataType as ArrowType, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use weft_format::{Code, Error};
use weft_sql::queries::names::TIES;

use super::error::wrap;

/// Which of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RowCount {
    Limit,
    Offset,
    /// A LIMIT of `FETCH FIRST ... WITH TIES`, which never runs as a function.
    Ties,
}

impl RowCount {
    /// The number, or an error when it is negative.
    pub(super) fn of(self, number: Expr) -> Expr {
        let checked =
            Checked { counts: self, signature: Signature::exact(vec![ArrowType::Int64], Volatility::Immutable) };
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::new_from_impl(checked)), vec![number]))
    }

    fn negative(self) -> Error {
        let (code, word) = match self {
            RowCount::Limit | RowCount::Ties => (Code::InvalidRowCount, "LIMIT"),
            RowCount::Offset => (Code::InvalidRowOffset, "OFFSET"),
        };
        Error::new(code, format!("{word} must not be negative")).hint("give 0 or more, or NULL")
    }
}

/// What stands for `FETCH FIRST ... WITH TIES` in a query.
pub(super) fn ties() -> Arc<ScalarUDF> {
    let signature = Signature::exact(vec![ArrowType::Int64], Volatility::Volatile);
    Arc::new(ScalarUDF::new_from_impl(Checked { counts: RowCount::Ties, signature }))
}

/// The number of rows of a LIMIT, if rows that are like the last one belong to them.
pub(super) fn with_ties(limit: &Expr) -> Option<&Expr> {
    match limit {
        Expr::ScalarFunction(function) if function.func.name() == TIES => function.args.first(),
        Expr::Cast(cast) => with_ties(&cast.expr),
        Expr::Alias(alias) => with_ties(&alias.expr),
        _ => None,
    }
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    counts: RowCount,
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.counts {
            RowCount::Limit => "limit_rows",
            RowCount::Offset => "offset_rows",
            RowCount::Ties => TIES,
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(ArrowType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let numbers = args.args[0].to_array(args.number_rows)?;
        if numbers.as_primitive::<Int64Type>().iter().flatten().any(|number| number < 0) {
            return Err(wrap(self.counts.negative()));
        }
        Ok(args.args[0].clone())
    }
}
