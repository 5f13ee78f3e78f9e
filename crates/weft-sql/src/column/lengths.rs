//! Functions that make text of any length from a number, within bounds.
//!
//! ```text
//!   lpad('x', 2147483647, 'y')     would fill 2 GB, letter by letter, deaf to cancellation: 54000
//!   repeat(name, 1000000000)       of 1,000 rows: a terabyte; the sum over a batch counts: 54000
//! ```

use std::sync::Arc;

use arrow::array::{Array, Int64Array, cast::AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use weft_format::{Code, Error};

use super::error::wrap;

/// The most bytes that one call makes, for all rows of a batch.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// The function, with its bound when it is one of those.
pub(super) fn bounded(function: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    match function.name() {
        "repeat" | "lpad" | "rpad" => Arc::new(ScalarUDF::from(Bounded { inner: function })),
        _ => function,
    }
}

/// A function whose second argument says how long the result is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Bounded {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        self.inner.coerce_types(types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let bytes = result_bytes(self.name(), &args)?;
        if bytes > TEXT_BYTES_MAX {
            let message = format!("{}() would make {bytes} bytes of text, more than {TEXT_BYTES_MAX}", self.name());
            return Err(wrap(Error::new(Code::ProgramLimit, message).hint("ask for shorter text, or for fewer rows")));
        }
        self.inner.invoke_with_args(args)
    }
}

/// An upper bound of what the call makes, but for the length of single letters.
fn result_bytes(name: &str, args: &ScalarFunctionArgs) -> Result<u64> {
    let [text, count, ..] = args.args.as_slice() else { return Ok(0) };
    // Two constants make one value, whatever the number of rows.
    let rows = match (text, count) {
        (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)) => 1,
        _ => args.number_rows,
    };
    let counts = cast(&count.to_array(rows)?, &ArrowType::Int64)?;
    let counts: &Int64Array = counts.as_primitive();
    let count_at = |row: usize| if counts.is_null(row) { 0 } else { counts.value(row).max(0) as u64 };
    if name != "repeat" {
        return Ok((0..rows).fold(0, |sum: u64, row| sum.saturating_add(count_at(row))));
    }
    let text = cast(&text.to_array(rows)?, &ArrowType::Utf8View)?;
    let text = text.as_string_view();
    let length = |row: usize| if text.is_null(row) { 0 } else { text.value(row).len() as u64 };
    Ok((0..rows).fold(0, |sum: u64, row| sum.saturating_add(length(row).saturating_mul(count_at(row)))))
}
