//! Conditions on expressions that are indexed: what a scan is told so that an index may find its rows.
//!
//! ```text
//!   index on (lower(b)), (a + c)
//!   WHERE lower(b) = 'x'              told: lower(b) = 'x'          the filter above the scan stays as it is
//!   WHERE c + a IN (1, 2)             not told: another expression, although it is always the same
//!   WHERE sqrt(a) = 2                 not told: the index side does not know it
//! ```
//!
//! 1. An expression of the planner is read back as one of ours only where both give the same value for every row: a
//!    closed set. What is not in it is not told, and the table is scanned.
//! 2. Expressions are compared in a normal form, in which `coalesce(a, 0)` and the CASE that the planner makes of it
//!    are the same, as are `-a` and `0 - a`, `a > b` and `b < a`.
//! 3. A condition is told, never taken: the operator above the scan tests it again.

use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::{Case, Cast, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr as PlanExpr, Operator};
use weft_expr::{ArithmeticOp, EXPR_DEPTH_MAX, Expr, Function, Node, is_integer};
use weft_format::predicate::{CompareOp, Predicate};
use weft_format::{DataType, Schema, Value};
use weft_kernel::TableRef;
use weft_kernel::index::IndexPart;
use weft_kernel::table::ExprTest;

use super::pushdown::{Given, compare_op, constant_of, mirrored};
use super::routines::builtin_of;
use super::types::{output_type, value_of};

/// An expression that an index of a table has.
pub(crate) struct Indexed {
    expr: Expr,
    normal: Expr,
}

/// The expressions that indexes of a table have.
pub(crate) fn indexed(table: &TableRef) -> Vec<Indexed> {
    let indexes = table.indexes();
    let parts = indexes.iter().flat_map(|index| index.index.parts());
    let exprs = parts.filter_map(|part| match part {
        IndexPart::Expression(expr) => Some(Indexed { expr: Expr::clone(expr), normal: normal(Expr::clone(expr)) }),
        IndexPart::Column(_) => None,
    });
    exprs.collect()
}

/// What a condition says about indexed expressions; none when it says nothing of the kind.
pub(crate) fn test_of(
    condition: &PlanExpr,
    schema: &Schema,
    indexed: &[Indexed],
    given: Given<'_>,
) -> Option<ExprTest> {
    if indexed.is_empty() {
        return None;
    }
    let find = |expr: &PlanExpr| {
        let read = normal(read(expr, schema, 2 * EXPR_DEPTH_MAX)?);
        indexed.iter().find(|known| known.normal == read).map(|known| &known.expr)
    };
    one(condition, &find, given).map(|(expr, predicate)| ExprTest { expr: expr.clone(), predicate })
}

/// Finds the indexed expression that one of the planner's is.
type Find<'f, 'a> = dyn Fn(&PlanExpr) -> Option<&'a Expr> + 'f;

/// The expression that a condition is about, and what it says.
fn one<'a>(condition: &PlanExpr, find: &Find<'_, 'a>, given: Given<'_>) -> Option<(&'a Expr, Predicate)> {
    let column = 0;
    match condition {
        PlanExpr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => any_of(condition, find, given),
        PlanExpr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let op = compare_op(*op)?;
            let (expr, op, constant) = match find(left) {
                Some(expr) => (expr, op, right),
                None => (find(right)?, mirrored(op), left),
            };
            Some((expr, Predicate::Compare { column, op, value: constant_of(constant, expr.data_type, given)? }))
        }
        PlanExpr::InList(list) if !list.negated => {
            let expr = find(&list.expr)?;
            let values = list.list.iter().map(|item| constant_of(item, expr.data_type, given));
            let values = values.collect::<Option<Vec<_>>>()?;
            Some((expr, Predicate::In { column, values }))
        }
        PlanExpr::IsNull(inner) => Some((find(inner)?, Predicate::IsNull { column })),
        PlanExpr::IsTrue(inner) => one(inner, find, given).filter(|(_, predicate)| is_true(predicate)),
        other => {
            let expr = find(other).filter(|expr| expr.data_type == DataType::Boolean)?;
            Some((expr, Predicate::Compare { column, op: CompareOp::Eq, value: Value::Bool(true) }))
        }
    }
}

fn is_true(predicate: &Predicate) -> bool {
    matches!(predicate, Predicate::Compare { op: CompareOp::Eq, value: Value::Bool(true), .. })
}

/// `lower(b) = 'x' OR lower(b) = 'y'` as a list.
fn any_of<'a>(condition: &PlanExpr, find: &Find<'_, 'a>, given: Given<'_>) -> Option<(&'a Expr, Predicate)> {
    let (mut rest, mut all, mut about) = (vec![condition], Vec::new(), None);
    while let Some(next) = rest.pop() {
        if let PlanExpr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) = next {
            rest.extend([&**right, &**left]);
            continue;
        }
        let (expr, predicate) = one(next, find, given)?;
        if *about.get_or_insert(expr) != expr {
            return None;
        }
        match predicate {
            Predicate::Compare { op: CompareOp::Eq, value, .. } => all.push(value),
            Predicate::In { values, .. } => all.extend(values),
            _ => return None,
        }
    }
    Some((about?, Predicate::In { column: 0, values: all }))
}

/// The planner's expression as one of ours (invariant 1); none when it is deeper than an index's with its casts.
fn read(expr: &PlanExpr, schema: &Schema, depth: usize) -> Option<Expr> {
    let depth = depth.checked_sub(1)?;
    let boxed = |expr: &PlanExpr| read(expr, schema, depth).map(Box::new);
    let boolean = |node: Node| Some(Expr::new(node, DataType::Boolean));
    match expr {
        PlanExpr::Alias(alias) => read(&alias.expr, schema, depth),
        PlanExpr::Column(Column { name, .. }) => {
            let ordinal = schema.ordinal(name)?;
            Some(Expr::column(ordinal, schema.columns[ordinal].data_type))
        }
        PlanExpr::Literal(scalar, _) => literal(scalar),
        PlanExpr::Cast(Cast { expr, field }) => {
            let inner = read(expr, schema, depth)?;
            let to = output_type(field.data_type());
            reads_cast(inner.data_type, to).then(|| Expr::new(Node::Cast(Box::new(inner)), to))
        }
        PlanExpr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (left, right) = (boxed(left)?, boxed(right)?);
            match op {
                Operator::And => boolean(Node::And(left, right)),
                Operator::Or => boolean(Node::Or(left, right)),
                Operator::StringConcat if left.data_type.is_text() && right.data_type.is_text() => {
                    Some(Expr::new(Node::Concat(left, right), DataType::Text))
                }
                op => match compare_op(*op) {
                    Some(op) => is_comparable(&left, &right).then(|| boolean(Node::Compare(op, left, right)))?,
                    None => arithmetic(arithmetic_op(*op)?, left, right),
                },
            }
        }
        PlanExpr::Not(inner) => boolean(Node::Not(boxed(inner)?)),
        PlanExpr::IsNull(inner) => boolean(Node::IsNull { expr: boxed(inner)?, negated: false }),
        PlanExpr::IsNotNull(inner) => boolean(Node::IsNull { expr: boxed(inner)?, negated: true }),
        PlanExpr::Negative(inner) => {
            let inner = boxed(inner)?;
            let data_type = inner.data_type;
            (data_type == DataType::DoublePrecision).then(|| Expr::new(Node::Negate(inner), data_type))
        }
        PlanExpr::Case(case) => read_case(case, schema, depth),
        PlanExpr::ScalarFunction(function) => read_call(function, schema, depth),
        _ => None,
    }
}

fn literal(scalar: &ScalarValue) -> Option<Expr> {
    let data_type = output_type(&scalar.data_type());
    Some(Expr::literal(value_of(scalar, data_type)?, data_type))
}

/// Whether both engines cast the same way, between texts without doing anything.
fn reads_cast(from: DataType, to: DataType) -> bool {
    (from.is_text() && to == DataType::Text)
        || (is_integer(from) && is_integer(to) && from.slot_bytes() <= to.slot_bytes())
        || (is_integer(from) && matches!(to, DataType::Text | DataType::DoublePrecision))
}

fn is_comparable(left: &Expr, right: &Expr) -> bool {
    let (a, b) = (left.data_type, right.data_type);
    a == b || (a.is_text() && b.is_text())
}

fn arithmetic_op(op: Operator) -> Option<ArithmeticOp> {
    Some(match op {
        Operator::Plus => ArithmeticOp::Add,
        Operator::Minus => ArithmeticOp::Subtract,
        Operator::Multiply => ArithmeticOp::Multiply,
        Operator::Divide => ArithmeticOp::Divide,
        Operator::Modulo => ArithmeticOp::Modulo,
        _ => return None,
    })
}

/// Arithmetic on integers of one type and on floats; numerics have types of their own in the plan.
fn arithmetic(op: ArithmeticOp, left: Box<Expr>, right: Box<Expr>) -> Option<Expr> {
    let data_type = left.data_type;
    let is_float = data_type == DataType::DoublePrecision && op != ArithmeticOp::Modulo;
    (data_type == right.data_type && (is_integer(data_type) || is_float))
        .then(|| Expr::new(Node::Arithmetic(op, left, right), data_type))
}

fn read_case(case: &Case, schema: &Schema, depth: usize) -> Option<Expr> {
    if case.expr.is_some() {
        return None;
    }
    let mut branches = Vec::with_capacity(case.when_then_expr.len());
    for (condition, result) in &case.when_then_expr {
        branches.push((read(condition, schema, depth)?, read(result, schema, depth)?));
    }
    let otherwise = match &case.else_expr {
        Some(otherwise) => Some(Box::new(read(otherwise, schema, depth)?)),
        None => None,
    };
    let data_type = branches.first()?.1.data_type;
    Some(Expr::new(Node::Case { branches, otherwise }, data_type))
}

fn read_call(function: &ScalarFunction, schema: &Schema, depth: usize) -> Option<Expr> {
    let args = function.args.iter().map(|arg| read(arg, schema, depth)).collect::<Option<Vec<Expr>>>()?;
    let first = args.first()?.data_type;
    let call = |function, data_type| Some(Expr::new(Node::Call(function, args.clone()), data_type));
    let is_plain = is_integer(first) || first.is_text() || first == DataType::Date;
    let is_like_first = args.iter().all(|arg| arg.data_type == first);
    match function.func.name() {
        "add" => arithmetic_call(ArithmeticOp::Add, &args),
        "subtract" => arithmetic_call(ArithmeticOp::Subtract, &args),
        "multiply" => arithmetic_call(ArithmeticOp::Multiply, &args),
        "divide" => arithmetic_call(ArithmeticOp::Divide, &args),
        "lower" if first.is_text() => call(Function::Lower, DataType::Text),
        "upper" if first.is_text() => call(Function::Upper, DataType::Text),
        "character_length" if first.is_text() => call(Function::Length, DataType::Integer),
        "substr" if first.is_text() && (2..=3).contains(&args.len()) => call(Function::Substring, DataType::Text),
        "abs" if is_integer(first) || first == DataType::DoublePrecision => call(Function::Abs, first),
        "coalesce" if is_like_first => call(Function::Coalesce, first),
        "nullif" if is_plain && is_like_first => call(Function::NullIf, first),
        "greatest" if is_plain && is_like_first => call(Function::Greatest, first),
        "least" if is_plain && is_like_first => call(Function::Least, first),
        _ => builtin_call(function, args),
    }
}

/// A call of the table's function, whose arguments are cast as the point engine casts them.
fn builtin_call(function: &ScalarFunction, args: Vec<Expr>) -> Option<Expr> {
    let types: Vec<DataType> = args.iter().map(|arg| arg.data_type).collect();
    let signature = builtin_of(&function.func, &types)?;
    let args = args.into_iter().zip(&signature.args).map(|(arg, to)| arg.cast_to(*to)).collect();
    Some(Expr::new(Node::Routine(signature.routine, args), signature.result))
}

fn arithmetic_call(op: ArithmeticOp, args: &[Expr]) -> Option<Expr> {
    let [left, right] = args else { return None };
    arithmetic(op, Box::new(left.clone()), Box::new(right.clone()))
}

/// The normal form (invariant 2).
fn normal(mut expr: Expr) -> Expr {
    let data_type = expr.data_type;
    let below = |expr: Box<Expr>| Box::new(normal(*expr));
    expr.node = match expr.node {
        // Texts of every type hold the same values.
        Node::Cast(inner) if inner.data_type.is_text() && data_type == DataType::Text => return normal(*inner),
        Node::Negate(inner) if is_integer(data_type) => {
            let zero = Box::new(Expr::literal(Value::Int(0), data_type));
            Node::Arithmetic(ArithmeticOp::Subtract, zero, below(inner))
        }
        Node::Call(Function::Coalesce, mut args) if args.len() > 1 => {
            let otherwise = args.pop().map(|last| Box::new(normal(last)));
            let branch = |arg: Expr| {
                let arg = normal(arg);
                let is_there = Node::IsNull { expr: Box::new(arg.clone()), negated: true };
                (Expr::new(is_there, DataType::Boolean), arg)
            };
            Node::Case { branches: args.into_iter().map(branch).collect(), otherwise }
        }
        Node::Call(Function::Substring, args) => Node::Call(Function::Substring, args.into_iter().map(wide).collect()),
        Node::Call(function, args) => Node::Call(function, args.into_iter().map(normal).collect()),
        Node::Routine(routine, args) => Node::Routine(routine, args.into_iter().map(normal).collect()),
        Node::Arithmetic(op, left, right) => Node::Arithmetic(op, below(left), below(right)),
        // The planner has the smaller one on the left, and the sides of an equality in an order of its own.
        Node::Compare(op, left, right) => {
            let (left, right) = (below(left), below(right));
            let is_turned = match op {
                CompareOp::Gt | CompareOp::GtEq => true,
                CompareOp::Eq | CompareOp::NotEq => format!("{left:?}") > format!("{right:?}"),
                CompareOp::Lt | CompareOp::LtEq => false,
            };
            if is_turned { Node::Compare(mirrored(op), right, left) } else { Node::Compare(op, left, right) }
        }
        Node::And(left, right) => Node::And(below(left), below(right)),
        Node::Or(left, right) => Node::Or(below(left), below(right)),
        Node::Concat(left, right) => Node::Concat(below(left), below(right)),
        Node::Negate(inner) => Node::Negate(below(inner)),
        Node::Not(inner) => Node::Not(below(inner)),
        Node::Cast(inner) => Node::Cast(below(inner)),
        Node::IsNull { expr, negated } => Node::IsNull { expr: below(expr), negated },
        Node::Case { branches, otherwise } => {
            let branch = |(condition, result): (Expr, Expr)| (normal(condition), normal(result));
            Node::Case { branches: branches.into_iter().map(branch).collect(), otherwise: otherwise.map(below) }
        }
        other => other,
    };
    expr
}

/// An argument in normal form; integer constants are bigint.
fn wide(arg: Expr) -> Expr {
    match normal(arg) {
        Expr { node: Node::Literal(value), data_type } if is_integer(data_type) => {
            Expr::literal(value, DataType::BigInt)
        }
        Expr { node: Node::Cast(inner), data_type: DataType::BigInt } if is_integer(inner.data_type) => *inner,
        other => other,
    }
}

/// What is told, as people write it.
pub(crate) fn describe_test(test: &ExprTest, schema: &Schema) -> String {
    let part = IndexPart::Expression(test.expr.clone().into());
    let name = part.text(schema);
    super::pushdown::describe_about(&test.predicate, &name, test.expr.data_type)
}
