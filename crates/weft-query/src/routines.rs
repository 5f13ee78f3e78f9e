//! Routines and casts of weft-expr as functions of the query engine.
//!
//! ```text
//!   j ->> 'a'                 Function { how: Bound(JsonGetText (jsonb, text) → text) }     chosen when it is planned
//!   array_length(a, 1)        Function { how: Named }          chosen by the arguments' types, or the engine's own
//!   '{1,2}'::int[]            Function { how: Cast(integer[]) }
//!   a = ANY ($1)              any_eq(a, $1)                    becomes a IN (...) once the array is known
//! ```
//!
//! Values are taken from the arrays, computed one by one and put into an array again: slower than a kernel of the
//! engine, and the same as the point engine's to the last bit.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ExpressionPlacement, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use weft_env::Rng;
use weft_expr::routines::{self, Routine, by_name, by_operator, quantified};
use weft_expr::{Local, builtins};
use weft_format::predicate::CompareOp;
use weft_format::{DataType, Value};
use weft_sql::{array_of, value_at};

use super::error::wrap;
use super::local::local_of;
use super::operands::{narrowed, operand_type, with_type};
use super::types::{field_of, field_type, scalar_of, value_of};

pub(crate) use weft_expr::routines::ARRAY_OF;

/// Before the name of a function with many rows: the same rows as one array.
pub(crate) const LIST_PREFIX: &str = "list_";

/// The function behind `= ANY (array)` and the like.
pub(crate) fn quantified_name(op: CompareOp, any: bool) -> String {
    format!("{}_{op:?}", if any { "any" } else { "all" }).to_lowercase()
}

const QUANTIFIED: [CompareOp; 6] =
    [CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq];

/// All functions by name; those of the engine under the same names are kept for other types.
pub(super) fn functions(engine: &[Arc<ScalarUDF>], rng: &Arc<dyn Rng>) -> Vec<Arc<ScalarUDF>> {
    let mut all = Vec::new();
    let mut add = |name: &str| {
        let is_known = |function: &&Arc<ScalarUDF>| {
            let name = if name == "extract" { "date_part" } else { name };
            function.name() == name || function.aliases().iter().any(|alias| alias == name)
        };
        let other = engine.iter().find(is_known).cloned();
        all.push(Arc::new(ScalarUDF::from(Function::new(name, How::Named { other }, rng))));
    };
    let names = routines::names();
    names.iter().for_each(|name| add(name));
    for name in names.iter().filter(|name| routines::gives_rows(name)) {
        add(&format!("{LIST_PREFIX}{name}"));
    }
    for op in QUANTIFIED {
        add(&quantified_name(op, true));
        add(&quantified_name(op, false));
    }
    all
}

/// A routine of arguments whose types were looked at.
pub(super) fn bound(signature: routines::Signature, args: Vec<Expr>) -> Expr {
    let name = signature.routine.name();
    let function = Function::new(&name, How::Bound(signature), &(Arc::new(NoRng) as Arc<dyn Rng>));
    Arc::new(ScalarUDF::from(function)).call(args)
}

/// The routine that a function is, when it is a step into a jsonb.
pub(super) fn step_into_document(func: &ScalarUDF) -> Option<&routines::Signature> {
    func.inner().downcast_ref::<Function>()?.step_into_document()
}

/// The routine that a function is, when its arguments were looked at.
pub(super) fn routine_of(func: &ScalarUDF) -> Option<&Routine> {
    match &func.inner().downcast_ref::<Function>()?.how {
        How::Bound(signature) => Some(&signature.routine),
        _ => None,
    }
}

/// What a function casts to, when it is a cast of ours.
pub(super) fn cast_target(func: &ScalarUDF) -> Option<DataType> {
    match &func.inner().downcast_ref::<Function>()?.how {
        How::Cast(to) => Some(*to),
        _ => None,
    }
}

/// A cast as weft-expr does it.
pub(super) fn cast_to(expr: Expr, to: DataType) -> Expr {
    if let Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) = &expr
        && is_time(to)
        && weft_expr::text::reads_present(text)
    {
        return cast_present(expr, to);
    }
    cast_function(to).call(vec![expr])
}

/// The function that casts to a type.
pub(super) fn cast_function(to: DataType) -> Arc<ScalarUDF> {
    let function = Function::new("cast", How::Cast(to), &(Arc::new(NoRng) as Arc<dyn Rng>));
    Arc::new(ScalarUDF::from(function))
}

/// Whether a text may say the present.
pub(super) fn is_time(data_type: DataType) -> bool {
    matches!(data_type, DataType::Date | DataType::Time | DataType::Timestamp | DataType::TimestampTz)
}

/// The same of a text that may say `now` or `today`: it is read anew for each execution.
pub(super) fn cast_present(expr: Expr, to: DataType) -> Expr {
    let mut function = Function::new("cast", How::Cast(to), &(Arc::new(NoRng) as Arc<dyn Rng>));
    function.signature = Signature::user_defined(Volatility::Stable);
    Arc::new(ScalarUDF::from(function)).call(vec![expr])
}

/// The exclusive or of integers in the type that they have by now: a set operation below may have made that wider than
/// it was when the operator was planned.
pub(super) fn widened(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::ScalarFunction(call) = &expr else { return Transformed::no(expr) };
    let planned = match call.func.inner().downcast_ref::<Function>().map(|function| &function.how) {
        Some(How::Bound(signature)) if signature.routine == Routine::IntegerXor => signature.result,
        _ => return Transformed::no(expr),
    };
    let given = call.args.iter().filter_map(|arg| operand_type(arg, schema));
    let common = given.fold(planned, |common, given| weft_expr::common_type(common, given).unwrap_or(common));
    match by_operator("#", Some(common), Some(common)) {
        Some(signature) if common != planned => {
            let args = call.args.iter().map(|arg| cast_to(arg.clone(), common));
            Transformed::yes(bound(signature, args.collect()))
        }
        _ => Transformed::no(expr),
    }
}

/// Whether a call gives something else for other zones or styles.
pub(super) fn depends_on_session(call: &ScalarFunction, node: &LogicalPlan) -> Result<bool> {
    let Some(function) = call.func.inner().downcast_ref::<Function>() else { return Ok(false) };
    let schema = merge_schema(&node.inputs());
    let types = call.args.iter().map(|arg| arg.get_type(&schema)).collect::<Result<Vec<_>>>()?;
    let reads = |from: &ArrowType, to: DataType| {
        let from = super::types::output_type(from);
        from.arrow() != to.arrow() && weft_expr::crosses_session(from, to)
    };
    Ok(match function.call(&types)? {
        Call::Cast(to) => reads(&types[0], to),
        Call::Routine(signature) => {
            signature.routine.depends_on_session(&signature.args)
                || types.iter().zip(&signature.args).any(|(from, to)| reads(from, *to))
        }
        Call::Span | Call::ArrayBytes | Call::Other(_) => false,
    })
}

/// The table's function that a call of arguments of these types is computed by; none when it is another one.
pub(super) fn builtin_of(func: &ScalarUDF, args: &[DataType]) -> Option<routines::Signature> {
    let function = func.inner().downcast_ref::<Function>()?;
    let types: Vec<ArrowType> = args.iter().map(|data_type| data_type.arrow()).collect();
    match function.call(&types) {
        Ok(Call::Routine(signature)) if matches!(signature.routine, Routine::Builtin(_)) => Some(signature),
        _ => None,
    }
}

/// What values of a type are compared and ordered by: the span of an interval, the bytes of an array (the engine has no
/// order of arrays with NULL), else the value.
pub(super) fn comparable(expr: Expr, data_type: DataType) -> Expr {
    let (name, how) = match data_type {
        DataType::Interval => ("span", How::Span),
        DataType::Array(_) => ("array_bytes", How::ArrayBytes),
        _ => return expr,
    };
    let function = Function::new(name, how, &(Arc::new(NoRng) as Arc<dyn Rng>));
    Arc::new(ScalarUDF::from(function)).call(vec![expr])
}

/// Whether [`comparable`] changes expressions of a type.
pub(super) fn is_compared_by_key(data_type: DataType) -> bool {
    matches!(data_type, DataType::Interval | DataType::Array(_))
}

/// For functions that ask for no random bits.
#[derive(Debug)]
struct NoRng;

impl Rng for NoRng {
    fn next_u64(&self) -> u64 {
        0
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum How {
    Named { other: Option<Arc<ScalarUDF>> },
    Bound(routines::Signature),
    Cast(DataType),
    Span,
    ArrayBytes,
}

struct Function {
    name: String,
    how: How,
    signature: Signature,
    rng: Arc<dyn Rng>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Function").field("name", &self.name).field("how", &self.how).finish()
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name && self.how == other.how && self.signature == other.signature
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.how.hash(state);
    }
}

/// What a call of given argument types is.
enum Call {
    Routine(routines::Signature),
    Cast(DataType),
    Span,
    ArrayBytes,
    Other(Arc<ScalarUDF>),
}

impl Function {
    fn new(name: &str, how: How, rng: &Arc<dyn Rng>) -> Function {
        let volatility = match builtins::volatility(name.strip_prefix(LIST_PREFIX).unwrap_or(name)) {
            _ if name == "gen_random_uuid" => Volatility::Volatile,
            builtins::Volatility::Volatile => Volatility::Volatile,
            // What depends on the session's settings only is told by `depends_on_session`.
            builtins::Volatility::Present => Volatility::Stable,
            builtins::Volatility::Immutable | builtins::Volatility::Stable => Volatility::Immutable,
        };
        Function { name: name.into(), how, signature: Signature::user_defined(volatility), rng: Arc::clone(rng) }
    }

    /// The routine, when it is a step into a jsonb: scans may read what it gives without the document.
    fn step_into_document(&self) -> Option<&routines::Signature> {
        use Routine::{JsonGet, JsonGetText, JsonPath, JsonPathText};
        let How::Bound(signature) = &self.how else { return None };
        let is_step = matches!(signature.routine, JsonGet | JsonGetText | JsonPath | JsonPathText);
        (is_step && signature.args.first() == Some(&DataType::Jsonb)).then_some(signature)
    }

    fn call(&self, types: &[ArrowType]) -> Result<Call> {
        let other = match &self.how {
            How::Bound(signature) => return Ok(Call::Routine(signature.clone())),
            How::Cast(to) => return Ok(Call::Cast(*to)),
            How::Span => return Ok(Call::Span),
            How::ArrayBytes => return Ok(Call::ArrayBytes),
            How::Named { other } => other,
        };
        let given: Vec<Option<DataType>> = types.iter().map(open_type).collect();
        let compared = QUANTIFIED.into_iter().find_map(|op| {
            let any = [true, false].into_iter().find(|&any| self.name == quantified_name(op, any))?;
            let [value, array] = given[..] else { return None };
            quantified(op, any, value, array)
        });
        let name = self.name.strip_prefix(LIST_PREFIX).unwrap_or(&self.name);
        let found = compared.or_else(|| by_name(name, &given)).or_else(|| by_name(name, &with_integers(&given)));
        match (found, other) {
            // The engine computes whole batches of what it gives as the table does.
            (Some(routines::Signature { routine: Routine::Builtin(_), args, .. }), Some(other))
                if !is_ours(name, &args) =>
            {
                Ok(Call::Other(Arc::clone(other)))
            }
            (Some(signature), _) => Ok(Call::Routine(signature)),
            (None, Some(other)) => Ok(Call::Other(Arc::clone(other))),
            (None, None) => {
                let name = |given: &Option<DataType>| given.map_or("unknown".into(), weft_expr::text::type_name);
                let types: Vec<_> = given.iter().map(name).collect();
                plan_err!("No function matches {}({})", self.name, types.join(", "))
            }
        }
    }
}

/// The types with integers in place of bigints: the planner has constants as bigints until they are looked at.
fn with_integers(given: &[Option<DataType>]) -> Vec<Option<DataType>> {
    let narrow = |given: &Option<DataType>| given.map(|t| if t == DataType::BigInt { DataType::Integer } else { t });
    given.iter().map(narrow).collect()
}

/// Whether the table's function is called though the engine has one of that name, which gives something else.
fn is_ours(name: &str, args: &[DataType]) -> bool {
    const OURS: &[&str] = &[
        "age",
        "array_position",
        "array_positions",
        "cos",
        "cot",
        "date_bin",
        "date_part",
        "date_trunc",
        "degrees",
        "factorial",
        "log",
        "log10",
        "lpad",
        "make_time",
        "overlay",
        "regexp_count",
        "regexp_instr",
        "regexp_like",
        "regexp_match",
        "regexp_replace",
        "rpad",
        "sin",
        "substring",
        "tan",
        "to_timestamp",
    ];
    OURS.contains(&name) || args.contains(&DataType::Bytea)
}

/// The type of an argument; none for a text that may be an untyped literal, and for NULL.
fn open_type(arrow: &ArrowType) -> Option<DataType> {
    match arrow {
        ArrowType::Utf8 | ArrowType::Null => None,
        other => Some(super::types::output_type(other)),
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let args: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        match &self.how {
            How::Cast(to) => Ok(format!("cast({} AS {to})", args.join(","))),
            _ => Ok(format!("{}({})", self.name, args.join(","))),
        }
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        match self.call(types)? {
            Call::Other(other) => {
                let fields: Vec<FieldRef> =
                    types.iter().map(|arrow| Arc::new(Field::new("f", arrow.clone(), true))).collect();
                let coerced = fields_with_udf(&fields, &*other)?;
                Ok(coerced.iter().map(|field| field.data_type().clone()).collect())
            }
            _ => Ok(types.to_vec()),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        match self.call(types)? {
            Call::Routine(signature) => Ok(signature.result.arrow()),
            Call::Cast(to) => Ok(to.arrow()),
            Call::Span => Ok(ArrowType::Decimal128(38, 0)),
            Call::ArrayBytes => Ok(DataType::Bytea.arrow()),
            Call::Other(other) => other.return_type(types),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<ArrowType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        match self.call(&types)? {
            Call::Other(other) => other.return_field_from_args(args),
            Call::Cast(to) => Ok(Arc::new(field_of(&self.name, to))),
            _ => Ok(Arc::new(Field::new(&self.name, self.return_type(&types)?, true))),
        }
    }

    fn placement(&self, args: &[ExpressionPlacement]) -> ExpressionPlacement {
        use ExpressionPlacement::{Column, KeepInPlace, Literal, MoveTowardsLeafNodes};
        match args {
            [Column | MoveTowardsLeafNodes, Literal] if self.step_into_document().is_some() => MoveTowardsLeafNodes,
            _ => KeepInPlace,
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<ArrowType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let given: Vec<DataType> = args.arg_fields.iter().map(|field| field_type(field)).collect();
        let config = Arc::clone(&args.config_options);
        let local = local_of(&config);
        match self.call(&types)? {
            Call::Other(other) => other.invoke_with_args(args),
            Call::Cast(to) => {
                let from = given[0];
                computed(&args, &given, &given, to, |values| weft_expr::cast(values[0].clone(), from, to, local))
            }
            Call::Span => {
                let to = DataType::Numeric { precision: 38, scale: 0 };
                computed(&args, &given, &given, to, |values| match &values[0] {
                    Value::Interval(interval) => Ok(Value::Decimal(interval.span())),
                    _ => Ok(Value::Null),
                })
            }
            Call::ArrayBytes => computed(&args, &given, &given, DataType::Bytea, |values| match &values[0] {
                Value::Array(array) => Ok(Value::Bytes(array.as_bytes().into())),
                _ => Ok(Value::Null),
            }),
            Call::Routine(signature) => {
                let random = || self.rng.next_u64();
                let args = if signature.routine.is_volatile() { for_each_row(args)? } else { args };
                let wanted = signature.args.clone();
                computed(&args, &given, &wanted, signature.result, |values| {
                    routines::call(&signature, values, local, &random)
                })
            }
        }
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let negated = match self.name.as_str() {
            "any_eq" => Some(false),
            "all_noteq" => Some(true),
            _ => None,
        };
        if let (Some(negated), [value, Expr::Literal(ScalarValue::List(list), _)]) = (negated, args.as_slice())
            && list.len() == 1
            && !list.is_null(0)
            && let Ok(data_type) = context.get_data_type(value)
            && let Some(items) = items_as(&list.value(0), &data_type)
            && !items.is_empty()
        {
            let items = items.into_iter().map(|item| Expr::Literal(item, None)).collect();
            return Ok(ExprSimplifyResult::Simplified(in_list(value.clone(), items, negated)));
        }
        // Of a constant NULL nothing is computed of a row: not the other arguments either, which may fail.
        if let How::Bound(signature) = &self.how
            && !signature.routine.takes_null()
            && args.iter().any(is_null)
            && args.iter().any(Expr::any_column_refs)
        {
            let null = ScalarValue::try_from(&signature.result.arrow())?;
            return Ok(ExprSimplifyResult::Simplified(Expr::Literal(null, None)));
        }
        Ok(ExprSimplifyResult::Original(args))
    }
}

fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => value.is_null(),
        Expr::Cast(cast) => is_null(&cast.expr),
        _ => false,
    }
}

/// IN or NOT IN a list of constants. NULL among them is written apart: the engine's rule for two lists joined by AND
/// takes it for a value like others (`x IN (2, 3) AND x NOT IN (NULL, 2)` for `x IN (3)`).
pub(super) fn in_list(expr: Expr, list: Vec<Expr>, negated: bool) -> Expr {
    let (nulls, list): (Vec<Expr>, Vec<Expr>) = list.into_iter().partition(is_null);
    let among = if list.is_empty() && !nulls.is_empty() {
        None
    } else {
        Some(Expr::InList(InList::new(Box::new(expr), list, negated)))
    };
    let unknown = || Expr::Literal(ScalarValue::Boolean(None), None);
    match among {
        None => unknown(),
        Some(among) if nulls.is_empty() => among,
        Some(among) if negated => among.and(unknown()),
        Some(among) => among.or(unknown()),
    }
}

/// A call by name with its types looked at: the engine's own function, or a quantified comparison with its array typed;
/// none when there is nothing to change.
pub(super) fn settled(func: &Arc<ScalarUDF>, args: &[Expr], schema: &DFSchema) -> Result<Option<Expr>> {
    let Some(function) = func.inner().downcast_ref::<Function>() else { return Ok(None) };
    if !matches!(function.how, How::Named { .. }) {
        return Ok(None);
    }
    let types = args.iter().map(|arg| arg.get_type(schema)).collect::<Result<Vec<_>>>()?;
    // Seconds since 1970 have more digits than a double.
    let is_epoch = |field: &Expr| matches!(field, Expr::Literal(ScalarValue::Utf8(Some(name)), _) if name == "epoch");
    if let ("extract", [field, _], [_, of]) = (&*function.name, args, &*types)
        && let Some(of) = open_type(of)
        && (matches!(of, DataType::TimestampTz | DataType::Interval) || of == DataType::Timestamp && is_epoch(field))
    {
        return part(field, of, args).map(Some);
    }
    if let ("extract" | "date_part", [field, _], [_, of]) = (&*function.name, args, &*types)
        && let Some(of) = open_type(of).filter(|of| matches!(of, DataType::Timestamp | DataType::Time))
        && is_fraction(field)
    {
        let result = if &*function.name == "extract" { None } else { Some(DataType::DoublePrecision) };
        return part_as(field, of, args, result).map(Some);
    }
    Ok(match function.call(&types)? {
        Call::Other(other) => Some(other.call(args.to_vec())),
        Call::Routine(signature) if matches!(signature.routine, Routine::AnyOf(_) | Routine::AllOf(_)) => {
            let [value, array] = args else { return Ok(None) };
            let is_literal = matches!(array, Expr::Literal(ScalarValue::Utf8(_) | ScalarValue::Utf8View(_), _));
            is_literal.then(|| func.call(vec![value.clone(), cast_to(array.clone(), signature.args[1])]))
        }
        // Constants are integers, as in PostgreSQL.
        Call::Routine(_) if args.iter().any(|arg| narrowed(arg.clone()) != *arg) => {
            Some(func.call(args.iter().cloned().map(narrowed).collect()))
        }
        _ => None,
    })
}

/// Whether a field has digits after the point: the engine's own function cuts them.
fn is_fraction(field: &Expr) -> bool {
    match field {
        Expr::Literal(ScalarValue::Utf8(Some(name)) | ScalarValue::Utf8View(Some(name)), _) => {
            let scale = routines::part_type(name).and_then(weft_expr::as_numeric).map_or(0, |(_, scale)| scale);
            (1..=6).contains(&scale) && name != "epoch"
        }
        _ => false,
    }
}

/// `extract(field FROM timestamptz)`, or from an interval: the field decides the type.
fn part(field: &Expr, of: DataType, args: &[Expr]) -> Result<Expr> {
    part_as(field, of, args, None)
}

fn part_as(field: &Expr, of: DataType, args: &[Expr], result: Option<DataType>) -> Result<Expr> {
    let Expr::Literal(ScalarValue::Utf8(Some(name)) | ScalarValue::Utf8View(Some(name)), _) = field else {
        return plan_err!("the field of EXTRACT is a word");
    };
    let result = result.or_else(|| routines::part_type(name)).unwrap_or(DataType::DoublePrecision);
    let signature = routines::Signature { routine: Routine::Part, args: vec![DataType::Text, of], result };
    Ok(bound(signature, args.to_vec()))
}

/// A call whose parameters have the types that the routine takes.
pub(super) fn typed_call(call: ScalarFunction, schema: &DFSchema) -> Result<ScalarFunction> {
    let ScalarFunction { func, args } = call;
    let Some(function) = func.inner().downcast_ref::<Function>() else { return Ok(ScalarFunction { func, args }) };
    let types: Vec<ArrowType> =
        args.iter().map(|arg| operand_type(arg, schema).map_or(ArrowType::Null, DataType::arrow)).collect();
    let args = match function.call(&types)? {
        Call::Routine(signature) => {
            args.into_iter().zip(signature.args).map(|(arg, data_type)| with_type(arg, data_type)).collect()
        }
        _ => args,
    };
    Ok(ScalarFunction { func, args })
}

/// The items of an array as constants of the type of what they are compared with; none when one does not fit it.
fn items_as(items: &ArrayRef, wanted: &ArrowType) -> Option<Vec<ScalarValue>> {
    let from = super::types::output_type(items.data_type());
    let to = super::types::output_type(wanted);
    let is_same = from.arrow() == to.arrow();
    let are_integers = weft_expr::is_integer(from) && weft_expr::is_integer(to);
    if !is_same && !are_integers {
        return None;
    }
    let item = |row| {
        let value = weft_expr::cast(value_at(items, row, from), from, to, Local::fixed()).ok()?;
        scalar_of(&value, to).ok()
    };
    let items = (0..items.len()).map(item).collect::<Option<Vec<ScalarValue>>>()?;
    if !items.iter().all(|item| value_of(item, to).is_some()) {
        return None;
    }
    // Texts of the engine's own functions are laid out in another way than ours, and nothing brings them together now.
    items.iter().map(|item| item.cast_to(wanted).ok()).collect()
}

/// An argument: one value for all rows, or an array.
enum Argument {
    One(Value),
    Each(ArrayRef, DataType, DataType),
}

/// The arguments as arrays: a volatile function has another value in every row, also of constants.
fn for_each_row(args: ScalarFunctionArgs) -> Result<ScalarFunctionArgs> {
    let rows = args.number_rows;
    let arrays = args.args.iter().map(|arg| arg.to_array(rows).map(ColumnarValue::Array));
    Ok(ScalarFunctionArgs { args: arrays.collect::<Result<_>>()?, ..args })
}

/// Computes each row; arguments of other types than wanted are cast first.
pub(super) fn computed(
    args: &ScalarFunctionArgs,
    given: &[DataType],
    wanted: &[DataType],
    result: DataType,
    compute: impl Fn(&[Value]) -> weft_format::Result<Value>,
) -> Result<ColumnarValue> {
    let local = local_of(&args.config_options);
    let mut arguments = Vec::with_capacity(args.args.len());
    for ((arg, &from), &to) in args.args.iter().zip(given).zip(wanted) {
        arguments.push(match arg {
            ColumnarValue::Scalar(scalar) => {
                let array = super::output::convert_array(&scalar.to_array()?, &from.arrow())?;
                Argument::One(weft_expr::cast(value_at(&array, 0, from), from, to, local).map_err(wrap)?)
            }
            ColumnarValue::Array(array) => {
                let array = super::output::convert_array(array, &from.arrow())?;
                Argument::Each(array, from, to)
            }
        });
    }
    let is_constant = arguments.iter().all(|argument| matches!(argument, Argument::One(_)));
    // A volatile function without arguments has another value in every row.
    let rows = if is_constant && !arguments.is_empty() { 1 } else { args.number_rows };
    let mut values = Vec::with_capacity(rows);
    // Constants are there once; the others change from row to row.
    let constant = |argument: &Argument| match argument {
        Argument::One(value) => value.clone(),
        Argument::Each(..) => Value::Null,
    };
    let mut row_values: Vec<Value> = arguments.iter().map(constant).collect();
    for row in 0..rows {
        for (place, argument) in arguments.iter().enumerate() {
            let Argument::Each(array, from, to) = argument else { continue };
            let value = value_at(array, row, *from);
            row_values[place] =
                if from == to { value } else { weft_expr::cast(value, *from, *to, local).map_err(wrap)? };
        }
        values.push(compute(&row_values).map_err(wrap)?);
    }
    if is_constant && !arguments.is_empty() {
        return Ok(ColumnarValue::Scalar(scalar_of(&values[0], result)?));
    }
    Ok(ColumnarValue::Array(array_of(values.iter(), result)))
}

/// Whether a routine reads what the engine itself computes faster: timestamps (without zone) and intervals.
pub(super) fn is_native(signature: &routines::Signature) -> bool {
    matches!(signature.routine, Routine::TimestampPlusInterval | Routine::TimestampMinusInterval)
        && signature.args[0] == DataType::Timestamp
}

/// An untyped literal read as a type of ours.
pub(super) fn as_type(item: Expr, to: DataType, schema: &DFSchema) -> Expr {
    // Bits are compared as they are written, and not cut to a length.
    let to = match to {
        DataType::Bit(_) => DataType::Bit(0),
        DataType::VarBit(_) => DataType::VarBit(0),
        to => to,
    };
    match operand_type(&item, schema) {
        Some(given) if given.arrow() == to.arrow() => item,
        None if matches!(item, Expr::Placeholder(_)) => item,
        _ => cast_to(item, to),
    }
}
