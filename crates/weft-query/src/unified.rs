//! One type for values that meet: the branches of CASE, the arguments of COALESCE, GREATEST and LEAST, the rows of
//! VALUES, the inputs of UNION.
//!
//! ```text
//!   bigint, numeric             numeric: both sides are cast before anything reads the type (sum, DISTINCT)
//!   numeric, double precision   double precision, as 'Infinity' is no numeric
//!   integer, '7'                integer: the constant is read as one, or 22P02
//!   integer, boolean            42804
//! ```
//!
//! 1. PostgreSQL's rule ("UNION, CASE, and Related Constructs"): constants in quotes take the type of the others;
//!    types of another category do not meet; else the first type to which those before it are cast implicitly.
//! 2. Only what differs is cast; numerics of other digits are left to the engine's coercion. It would turn dates beside
//!    timestamps to nanoseconds, which the years 1 and 9999 have not.

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, NullEquality, Result, ScalarValue};
use datafusion::logical_expr::expr::{Cast, ScalarFunction};
use datafusion::logical_expr::logical_plan::{Join, Projection, Union, Values};
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, JoinType, LogicalPlan, LogicalPlanBuilder, cast};
use weft_expr::Local;
use weft_format::{Code, DataType, Error, Value};
use weft_sql::expr::open;

use super::error::wrap;
use super::operands::operand_type;
use super::routines::cast_to;
use super::types::{field_of, field_type};

/// The digits after the point that the engine gives a column of VALUES where numerics meet floats: (real, double).
const FLOAT_SCALES: (i8, i8) = (7, 15);

/// How values meet.
#[derive(Clone, Copy)]
pub(super) struct Meeting<'a> {
    pub(super) local: &'a Local,
    /// Whether dates meet timestamps as these (2). In recursive queries the engine has given the rows that come back
    /// their types, nanoseconds, before anyone is asked.
    pub(super) in_moments: bool,
}

/// CASE, COALESCE, GREATEST and LEAST with their values in one type.
pub(super) fn unified(expr: Expr, schema: &DFSchema, meeting: Meeting<'_>) -> Result<Transformed<Expr>> {
    match expr {
        Expr::Case(mut case) => {
            let mut values: Vec<&mut Expr> = case.when_then_expr.iter_mut().map(|(_, then)| &mut **then).collect();
            values.extend(case.else_expr.as_deref_mut());
            let changed = unify("CASE", values, schema, meeting)?;
            Ok(told(Expr::Case(case), changed))
        }
        Expr::ScalarFunction(ScalarFunction { func, mut args }) => {
            let changed = match func.name() {
                name @ ("coalesce" | "greatest" | "least") => {
                    unify(&name.to_uppercase(), args.iter_mut().collect(), schema, meeting)?
                }
                _ => false,
            };
            Ok(told(Expr::ScalarFunction(ScalarFunction { func, args }), changed))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn told(expr: Expr, changed: bool) -> Transformed<Expr> {
    if changed { Transformed::yes(expr) } else { Transformed::no(expr) }
}

/// Whether something was cast.
fn unify(what: &str, values: Vec<&mut Expr>, schema: &DFSchema, meeting: Meeting<'_>) -> Result<bool> {
    let types: Vec<Option<DataType>> = values.iter().map(|value| type_given(value, schema)).collect();
    let Some(mut common) = common(what, &types)? else { return Ok(false) };
    let is_text = |value: &Expr| {
        matches!(value, Expr::Placeholder(_) | Expr::Literal(ScalarValue::Utf8(_) | ScalarValue::Utf8View(_), _))
    };
    let is_opened = matches!(common, DataType::Numeric { .. }) || common.is_bits();
    if is_opened && values.iter().zip(&types).any(|(value, given)| given.is_none() && is_text(value)) {
        // It may have more digits than the numerics or bits beside it.
        common = open(common);
    }
    let mut changed = false;
    for (value, given) in values.into_iter().zip(types) {
        if let Some(made) = brought(value, given, common, meeting)? {
            *value = made;
            changed = true;
        }
    }
    Ok(changed)
}

/// The type of a value; none of constants in quotes and of parameters that nobody gave another type than text.
fn type_given(value: &Expr, schema: &DFSchema) -> Option<DataType> {
    let may_be_a_parameter = matches!(value, Expr::Placeholder(_) | Expr::Literal(ScalarValue::Utf8View(_), _));
    operand_type(value, schema).filter(|given| !(given.is_text() && may_be_a_parameter))
}

/// A value cast to the type that it and others have together; none when it stays as it is.
fn brought(value: &Expr, given: Option<DataType>, common: DataType, meeting: Meeting<'_>) -> Result<Option<Expr>> {
    Ok(match (value, given) {
        (Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _), None)
            if !common.is_text() =>
        {
            // It is wrong even where it is not reached.
            weft_expr::cast(Value::Text(text.as_str().into()), DataType::Text, common, meeting.local).map_err(wrap)?;
            Some(cast_to(value.clone(), common))
        }
        (Expr::Placeholder(_) | Expr::Literal(ScalarValue::Utf8View(None), _), None) if !common.is_text() => {
            Some(cast_to(value.clone(), common))
        }
        (_, Some(given)) if given.arrow() != common.arrow() && (is_number(common) || meeting.is_moment(common)) => {
            Some(cast(value.clone(), common.arrow()))
        }
        _ => None,
    })
}

/// Invariant 1; none when all are constants in quotes.
fn common(what: &str, types: &[Option<DataType>]) -> Result<Option<DataType>> {
    let mut known = types.iter().flatten().copied();
    let Some(first) = known.next() else { return Ok(None) };
    let mut common = first;
    for next in known {
        common = meet(common, next).ok_or_else(|| {
            let [a, b] = [common, next].map(weft_expr::text::type_name);
            wrap(Error::new(Code::DatatypeMismatch, format!("{what} types {a} and {b} cannot be matched")))
        })?;
    }
    Ok(Some(common))
}

impl Meeting<'_> {
    /// Of values that the engine has given one type.
    pub(super) fn coerced() -> Meeting<'static> {
        Meeting { local: Local::fixed(), in_moments: false }
    }

    /// Dates and timestamps become moments; in the session's zone, of which the engine knows nothing.
    fn is_moment(self, common: DataType) -> bool {
        common == DataType::TimestampTz || self.in_moments && common == DataType::Timestamp
    }
}

fn is_number(data_type: DataType) -> bool {
    rank(data_type).is_some()
}

/// Numbers in the order in which one is cast to the next implicitly.
fn rank(data_type: DataType) -> Option<u8> {
    Some(match data_type {
        DataType::SmallInt => 1,
        DataType::Integer => 2,
        DataType::BigInt => 3,
        DataType::Numeric { .. } => 4,
        DataType::Real => 5,
        DataType::DoublePrecision => 6,
        _ => return None,
    })
}

fn meet(a: DataType, b: DataType) -> Option<DataType> {
    match (rank(a), rank(b)) {
        (Some(4), Some(1..=4)) | (Some(1..=3), Some(4)) => weft_expr::common_type(a, b),
        (Some(x), Some(y)) => Some(if x >= y { a } else { b }),
        _ if a.arrow() == b.arrow() => Some(a),
        _ => weft_expr::common_type(a, b),
    }
}

/// A column of VALUES in which floats meet numerics: the engine takes a numeric, to which it has cast the floats; or
/// dates meet timestamps, which it has cast to nanoseconds.
pub(super) fn unified_values(values: Values, meeting: Meeting<'_>) -> Result<Transformed<LogicalPlan>> {
    let none = DFSchema::empty();
    let mut fields = Vec::with_capacity(values.schema.fields().len());
    let mut rows = values.values.clone();
    let mut changed = false;
    for (place, (_, field)) in values.schema.iter().enumerate() {
        if meeting.in_moments && matches!(field.data_type(), ArrowType::Timestamp(TimeUnit::Nanosecond, _)) {
            changed = true;
            let given = |value: &Expr| match value {
                Expr::Cast(Cast { expr, field: to }) if to.data_type() == field.data_type() => (**expr).clone(),
                other => other.clone(),
            };
            let types = rows.iter().filter_map(|row| given(&row[place]).get_type(&none).ok());
            let zone = types.filter_map(|of| if let ArrowType::Timestamp(_, zone) = of { zone } else { None }).next();
            let moment = ArrowType::Timestamp(TimeUnit::Microsecond, zone);
            for row in &mut rows {
                row[place] = cast(given(&row[place]), moment.clone());
            }
            fields.push(field.as_ref().clone().with_data_type(moment));
            continue;
        }
        let given = rows.iter().filter_map(|row| uncast(&row[place], field.data_type())?.get_type(&none).ok());
        let float = match given.max_by_key(|given| given == &ArrowType::Float64) {
            Some(ArrowType::Float64) => DataType::DoublePrecision,
            Some(_) => DataType::Real,
            None => {
                fields.push(field.as_ref().clone());
                continue;
            }
        };
        changed = true;
        for row in &mut rows {
            let value = uncast(&row[place], field.data_type()).unwrap_or(&row[place]).clone();
            row[place] = cast(value, float.arrow());
        }
        fields.push(field_of(field.name(), float));
    }
    if !changed {
        return Ok(Transformed::no(LogicalPlan::Values(values)));
    }
    let schema = DFSchema::from_unqualified_fields(fields.into(), Default::default())?;
    Ok(Transformed::yes(LogicalPlan::Values(Values { schema: Arc::new(schema), values: rows })))
}

/// The float that the engine has cast to the numeric of its column.
fn uncast<'a>(value: &'a Expr, column: &ArrowType) -> Option<&'a Expr> {
    let (Expr::Cast(Cast { expr, .. }), ArrowType::Decimal128(_, scale)) = (value, column) else { return None };
    let is_float = match expr.get_type(&DFSchema::empty()).ok()? {
        ArrowType::Float64 => *scale >= FLOAT_SCALES.1,
        ArrowType::Float32 => *scale >= FLOAT_SCALES.0,
        _ => false,
    };
    is_float.then_some(&**expr)
}

/// Casts the columns of inputs to their common types: those that `is_ours` says, and constants.
fn bring_together(what: &str, inputs: &mut [Arc<LogicalPlan>], is_ours: impl Fn(DataType) -> bool) -> Result<()> {
    let width = inputs.iter().map(|input| input.schema().fields().len()).min().unwrap_or(0);
    for place in 0..width {
        let types: Vec<Option<DataType>> = inputs.iter().map(|input| column_type(input, place)).collect();
        let Some(common) = common(what, &types)? else { continue };
        for (input, given) in inputs.iter_mut().zip(types) {
            let is_constant = given.is_none() && !common.is_text() && constant(input, place).is_some();
            if is_constant || (is_ours(common) && given.is_some_and(|given| given.arrow() != common.arrow())) {
                // A constant of bits has the length that it is written with.
                let to = if common.is_bits() { open(common) } else { common };
                *input = Arc::new(column_cast(input, place, given, to)?);
            }
        }
    }
    Ok(())
}

/// INTERSECT and EXCEPT, which the engine writes as joins of all columns, with both sides in one type.
pub(super) fn unified_sets(mut join: Join) -> Result<Transformed<LogicalPlan>> {
    let what = match join.join_type {
        JoinType::LeftSemi => "INTERSECT",
        JoinType::LeftAnti => "EXCEPT",
        _ => return Ok(Transformed::no(LogicalPlan::Join(join))),
    };
    let is_set = join.null_equality == NullEquality::NullEqualsNull && join.filter.is_none();
    if !is_set || join.on.len() != join.left.schema().fields().len() {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let distinct = match &*join.left {
        LogicalPlan::Distinct(Distinct::All(input)) => Some(input),
        _ => None,
    };
    let before = [Arc::clone(distinct.unwrap_or(&join.left)), Arc::clone(&join.right)];
    let mut inputs = before.clone();
    bring_together(what, &mut inputs, |common| !matches!(common, DataType::Numeric { .. }))?;
    for place in 0..join.on.len() {
        // The rows are those of the left side, with its digits.
        if let [Some(left), Some(DataType::Numeric { .. })] =
            [0, 1].map(|side: usize| column_type(&inputs[side], place))
            && matches!(left, DataType::SmallInt | DataType::Integer | DataType::BigInt)
        {
            let whole = DataType::Numeric { precision: 19, scale: 0 };
            inputs[0] = Arc::new(column_cast(&inputs[0], place, Some(left), whole)?);
        }
    }
    if inputs.iter().zip(&before).all(|(new, old)| Arc::ptr_eq(new, old)) {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let is_distinct = distinct.is_some();
    let [left, right] = inputs;
    join.left = if is_distinct { Arc::new(LogicalPlan::Distinct(Distinct::All(left))) } else { left };
    join.right = right;
    LogicalPlan::Join(join).recompute_schema().map(Transformed::yes)
}

/// The inputs of a union in one type, column by column.
pub(super) fn unified_union(union: Union, meeting: Meeting<'_>) -> Result<Transformed<LogicalPlan>> {
    let width = union.inputs.iter().map(|input| input.schema().fields().len()).min().unwrap_or(0);
    let mut inputs = union.inputs.clone();
    for input in &mut inputs {
        named_as(input, &union.schema)?;
    }
    let is_ours =
        |common| meeting.is_moment(common) || is_number(common) && !matches!(common, DataType::Numeric { .. });
    bring_together("UNION", &mut inputs, is_ours)?;
    let same = inputs.iter().zip(&union.inputs).all(|(new, old)| Arc::ptr_eq(new, old));
    // Where inputs have got other types since, the columns still have those of before.
    let is_stale = |place: usize| {
        let mut types = inputs.iter().map(|input| input.schema().field(place).data_type());
        let first = types.next();
        let field = union.schema.field(place);
        let is_nullable = inputs.iter().any(|input| input.schema().field(place).is_nullable());
        first.is_some_and(|first| {
            types.all(|other| other == first) && (first != field.data_type() || is_nullable && !field.is_nullable())
        })
    };
    if same && !(0..width.min(union.schema.fields().len())).any(is_stale) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    if same {
        let typed = union.schema.iter().enumerate().map(|(place, (relation, field))| {
            let is_nullable = inputs.iter().any(|input| input.schema().field(place).is_nullable());
            let data_type = inputs[0].schema().field(place).data_type().clone();
            let field = field.as_ref().clone().with_data_type(data_type).with_nullable(is_nullable);
            (relation.cloned(), Arc::new(field))
        });
        let schema = DFSchema::new_with_metadata(typed.collect(), union.schema.metadata().clone())?;
        return Ok(Transformed::yes(LogicalPlan::Union(Union { inputs, schema: Arc::new(schema) })));
    }
    Ok(Transformed::yes(LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?)))
}

/// The columns of an input by the names of the union: the engine looks for these where one input is all that is left.
fn named_as(input: &mut Arc<LogicalPlan>, union: &DFSchema) -> Result<()> {
    let names = union.fields().iter().map(|field| field.name());
    let has_width = union.fields().len() == input.schema().fields().len();
    if !has_width || input.schema().fields().iter().map(|field| field.name()).eq(names.clone()) {
        return Ok(());
    }
    let (exprs, of) = match &**input {
        LogicalPlan::Projection(projection) => (projection.expr.clone(), Arc::clone(&projection.input)),
        _ => (input.schema().columns().into_iter().map(Expr::Column).collect(), Arc::clone(input)),
    };
    let exprs = exprs.into_iter().zip(names).map(|(expr, name)| expr.unalias().alias(name)).collect();
    *input = Arc::new(LogicalPlan::Projection(Projection::try_new(exprs, of)?));
    Ok(())
}

/// The type of a column; none for a constant in quotes, and for NULL.
fn column_type(input: &LogicalPlan, place: usize) -> Option<DataType> {
    let field = input.schema().field(place);
    if field.data_type().is_null() || constant(input, place).is_some() { None } else { Some(field_type(field)) }
}

/// The text that is the column's only value.
fn constant(input: &LogicalPlan, place: usize) -> Option<&Expr> {
    let LogicalPlan::Projection(projection) = input else { return None };
    let expr = match &projection.expr[place] {
        Expr::Alias(alias) => &alias.expr,
        other => other,
    };
    matches!(expr, Expr::Literal(ScalarValue::Utf8(_), _)).then_some(expr)
}

fn column_cast(input: &LogicalPlan, place: usize, given: Option<DataType>, to: DataType) -> Result<LogicalPlan> {
    if let (LogicalPlan::Projection(projection), Some(text)) = (input, constant(input, place)) {
        let mut exprs = projection.expr.clone();
        exprs[place] = cast_to(text.clone(), to).alias(projection.schema.field(place).name());
        return Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::clone(&projection.input))?));
    }
    debug_assert!(given.is_some(), "only constants have no type");
    let columns = input.schema().columns().into_iter().enumerate();
    let exprs = columns.map(|(at, column)| match at == place {
        true => cast(Expr::Column(column.clone()), to.arrow()).alias_qualified(column.relation, column.name),
        false => Expr::Column(column),
    });
    LogicalPlanBuilder::from(input.clone()).project(exprs.collect::<Vec<_>>())?.build()
}
