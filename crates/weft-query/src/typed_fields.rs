//! Casts of values within documents, read as numbers where they are numbers: `(doc->>'n')::bigint` without a text.
//!
//! ```text
//!   (doc->>'n')::bigint      either(number(doc->>'n'), rest(doc->>'n'))
//!      {"n": 7}                       7                 NULL               ─▶ 7
//!      {"n": "12"}                    NULL              12, cast           ─▶ 12
//!      {"n": "x"}                     NULL              x, cast            ─▶ the cast's error
//! ```
//!
//! 1. The two parts raise nothing: the optimizer may move them below filters, and into scans, which read numbers as
//!    they are stored and mostly have no rest. The cast stays where it stood, so that its error comes when it came
//!    before.
//! 2. Without a scan to read it the rest is the whole text, which goes before the number: any mixture of parts that a
//!    scan reads and such as are computed has the value of the cast.
//! 3. What is a number, and has a text that the cast takes for another value, is part of the rest: `1.0` as a bigint.
//!
//! Source: Alkowaileet and Carey (VLDB 2022), sections 3.2 and 5: the branches of a union are columns of their own.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, StringViewArray};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{cast, is_null};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Int64Type};
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExpressionPlacement, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use weft_format::DataType;

use super::named::with_names;
use super::routines::{cast_function, cast_target, step_into_document};

/// Which part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Number,
    Rest,
}

/// A part of the text that a step into a document gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FieldPart {
    /// The step: `->>` or `#>>`.
    pub(super) text: Arc<ScalarUDF>,
    /// What numbers are read as: bigint or double precision.
    pub(super) read_as: DataType,
    pub(super) part: Part,
    signature: Signature,
}

/// The cast of both parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Either {
    to: DataType,
    /// What casts the rest.
    cast: Arc<ScalarUDF>,
    signature: Signature,
}

/// The part of a field that a function gives.
pub(super) fn part_of(func: &ScalarUDF) -> Option<&FieldPart> {
    func.inner().downcast_ref::<FieldPart>()
}

/// Whether a function is the cast of two parts, and to what.
pub(super) fn either_of(func: &ScalarUDF) -> Option<DataType> {
    func.inner().downcast_ref::<Either>().map(|either| either.to)
}

impl ScalarUDFImpl for FieldPart {
    fn name(&self) -> &str {
        match self.part {
            Part::Number => "number",
            Part::Rest => "rest",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let args: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(format!("{}({} AS {})", self.name(), args.join(","), self.read_as))
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(match self.part {
            Part::Number => self.read_as.arrow(),
            Part::Rest => DataType::Text.arrow(),
        })
    }

    fn placement(&self, args: &[ExpressionPlacement]) -> ExpressionPlacement {
        self.text.placement(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match self.part {
            Part::Number => {
                let rows = args.number_rows;
                let texts = self.text(args)?.into_array(rows)?;
                Ok(ColumnarValue::Array(self.numbers(&texts)))
            }
            Part::Rest => self.text(args),
        }
    }
}

impl FieldPart {
    /// The text of the value.
    fn text(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let return_field = Arc::new(Field::new("text", DataType::Text.arrow(), true));
        self.text.invoke_with_args(ScalarFunctionArgs { return_field, ..args })
    }

    /// What of texts is a number, of strings too: what they are cast to is in the rest, which goes before it.
    fn numbers(&self, texts: &ArrayRef) -> ArrayRef {
        let texts = texts.as_string_view().iter();
        match self.read_as {
            DataType::BigInt => Arc::new(texts.map(|text| text?.parse().ok()).collect::<Int64Array>()),
            _ => Arc::new(texts.map(|text| text?.parse().ok()).collect::<Float64Array>()),
        }
    }
}

impl ScalarUDFImpl for Either {
    fn name(&self) -> &str {
        "either"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let args: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(format!("either({} AS {})", args.join(","), self.to))
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(self.to.arrow())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name(), self.to.arrow(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let (number, rest) = (&arrays[0], &arrays[1]);
        let config = &args.config_options;
        if !self.fits(number) {
            // Of several values that are wrong the first one raises its error.
            let texts = rest.as_string_view().iter().zip(number.as_primitive::<Int64Type>());
            let texts = texts.map(|(text, number)| text.map(str::to_owned).or(number.map(|number| number.to_string())));
            let texts: ArrayRef = Arc::new(texts.collect::<StringViewArray>());
            return self.cast(&texts, config).map(ColumnarValue::Array);
        }
        let number = match self.to.arrow() {
            to if to == *number.data_type() => Arc::clone(number),
            to => cast(number, &to)?,
        };
        if rest.null_count() == rest.len() {
            return Ok(ColumnarValue::Array(number));
        }
        let rest_cast = self.cast(rest, config)?;
        Ok(ColumnarValue::Array(zip(&is_null(rest)?, &number, &rest_cast)?))
    }
}

impl Either {
    /// Whether all numbers are of the result's type.
    fn fits(&self, number: &ArrayRef) -> bool {
        let Some((least, greatest)) = bounds(self.to) else { return true };
        let numbers = number.as_primitive::<Int64Type>();
        numbers.iter().flatten().all(|number| (least..=greatest).contains(&number))
    }

    /// Texts cast as they would have been.
    fn cast(&self, texts: &ArrayRef, config: &Arc<ConfigOptions>) -> Result<ArrayRef> {
        let arg = Arc::new(Field::new("text", texts.data_type().clone(), true));
        let args = ScalarFunctionArgs {
            args: vec![ColumnarValue::Array(Arc::clone(texts))],
            arg_fields: vec![arg],
            number_rows: texts.len(),
            return_field: Arc::new(Field::new("cast", self.to.arrow(), true)),
            config_options: Arc::clone(config),
        };
        self.cast.invoke_with_args(args)?.into_array(texts.len())
    }
}

/// The least and the greatest number of a smaller type of integers.
fn bounds(to: DataType) -> Option<(i64, i64)> {
    match to {
        DataType::SmallInt => Some((i16::MIN.into(), i16::MAX.into())),
        DataType::Integer => Some((i32::MIN.into(), i32::MAX.into())),
        _ => None,
    }
}

/// Takes casts of values within documents apart; runs before what belongs near the leaves is looked for.
#[derive(Debug)]
pub(super) struct TypedFields;

impl OptimizerRule for TypedFields {
    fn name(&self) -> &str {
        "typed_fields"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        // Conditions that a scan has are its own. Keys of a join that are no casts the engine finds by names, which
        // those of what is moved below an alias are not.
        if matches!(plan, LogicalPlan::TableScan(_) | LogicalPlan::Join(_)) {
            return Ok(Transformed::no(plan));
        }
        with_names(plan, &mut |expr| Ok(taken_apart(&expr).map_or_else(|| Transformed::no(expr), Transformed::yes)))
    }
}

/// A cast in parts; none when it is another expression.
fn taken_apart(expr: &Expr) -> Option<Expr> {
    let (text, to) = match expr {
        Expr::Cast(cast) => {
            let known = [DataType::SmallInt, DataType::Integer, DataType::BigInt];
            let to = known.into_iter().find(|known| known.arrow() == *cast.field.data_type())?;
            (&*cast.expr, to)
        }
        Expr::ScalarFunction(call) => {
            let to = cast_target(&call.func).filter(|to| *to == DataType::DoublePrecision)?;
            (call.args.first()?, to)
        }
        _ => return None,
    };
    let Expr::ScalarFunction(step) = text else { return None };
    let is_text = step_into_document(&step.func).is_some_and(|signature| signature.result == DataType::Text);
    let is_of_column = matches!(text.placement(), ExpressionPlacement::MoveTowardsLeafNodes);
    if !is_text || !is_of_column {
        return None;
    }
    let read_as = if to == DataType::DoublePrecision { to } else { DataType::BigInt };
    let signature = Signature::user_defined(Volatility::Immutable);
    let part = |part| {
        let part = FieldPart { text: Arc::clone(&step.func), read_as, part, signature: signature.clone() };
        ScalarUDF::from(part).call(step.args.clone())
    };
    let parts = vec![part(Part::Number), part(Part::Rest)];
    Some(ScalarUDF::from(Either { to, cast: cast_function(to), signature: signature.clone() }).call(parts))
}
