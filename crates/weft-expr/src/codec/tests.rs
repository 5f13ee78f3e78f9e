//! Random expressions: they read back, damaged bytes are errors or other well-typed expressions, nothing panics.

use weft_format::{CompareOp, DataType, Value};

use crate::{ArithmeticOp, EvalContext, Expr, Function, Node};

/// The row that random expressions read.
const ROW: [DataType; 6] = [
    DataType::Integer,
    DataType::BigInt,
    DataType::Numeric { precision: 10, scale: 2 },
    DataType::DoublePrecision,
    DataType::Text,
    DataType::Boolean,
];

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn value(rng: &mut Rng, data_type: DataType) -> Value {
    if rng.below(6) == 0 {
        return Value::Null;
    }
    let edge = [0, 1, -1, 7, i64::from(i32::MAX), i64::from(i32::MIN)][rng.below(6) as usize];
    match data_type {
        DataType::Boolean => Value::Bool(edge % 2 == 0),
        DataType::BigInt if rng.below(4) == 0 => Value::Int([i64::MIN, i64::MAX][rng.below(2) as usize]),
        DataType::Numeric { .. } => Value::Decimal(i128::from(edge) % 100_000),
        DataType::DoublePrecision => Value::Float([0.5, -0.0, 1e300, f64::INFINITY][rng.below(4) as usize]),
        DataType::Text => Value::Text(["", "a", "Äb%", "7", "x\\"][rng.below(5) as usize].into()),
        _ => Value::Int(edge),
    }
}

/// A random well-typed expression.
fn random(rng: &mut Rng, data_type: DataType, depth: u64) -> Expr {
    if depth == 0 || rng.below(5) == 0 {
        let column = ROW.iter().position(|&known| known == data_type);
        return match column {
            Some(position) if rng.below(3) > 0 => Expr::column(position, data_type),
            _ => Expr::literal(value(rng, data_type), data_type),
        };
    }
    let mut sub = |data_type| Box::new(random(rng, data_type, depth - 1));
    let any = |rng: &mut Rng| ROW[rng.below(6) as usize];
    let node = match data_type {
        DataType::Boolean => {
            let (a, b) = (sub(DataType::Boolean), sub(DataType::Boolean));
            let operand = any(rng);
            let mut sub = |data_type| Box::new(random(rng, data_type, depth - 1));
            let (left, right, text) = (sub(operand), sub(operand), sub(DataType::Text));
            let (flag, other) = (rng.below(2) == 0, rng.below(2) == 0);
            match rng.below(9) {
                0 => Node::And(a, b),
                1 => Node::Or(a, b),
                2 => Node::Not(a),
                3 => Node::IsNull { expr: left, negated: flag },
                4 => Node::IsBool { expr: a, expected: flag, negated: other },
                5 => Node::IsDistinct { left, right, negated: flag },
                6 => Node::InList { expr: left, list: vec![*right], negated: flag },
                7 => {
                    let escape = flag.then_some('\\');
                    let pattern = Box::new(random(rng, DataType::Text, depth - 1));
                    Node::Like { expr: text, pattern, escape, insensitive: other, negated: flag }
                }
                _ => Node::Compare([CompareOp::Eq, CompareOp::Lt, CompareOp::GtEq][rng.below(3) as usize], left, right),
            }
        }
        DataType::Text => {
            let (a, b, n) = (sub(DataType::Text), sub(DataType::Text), sub(DataType::Integer));
            match rng.below(5) {
                0 => Node::Concat(a, b),
                1 => Node::Call(Function::Lower, vec![*a]),
                2 => Node::Call(Function::Substring, vec![*a, *n]),
                3 => {
                    let from = any(rng);
                    Node::Cast(Box::new(random(rng, from, depth - 1)))
                }
                _ => Node::Call(Function::Coalesce, vec![*a, *b]),
            }
        }
        number => {
            let (a, b) = (sub(number), sub(number));
            let condition = sub(DataType::Boolean);
            let is_plain = !matches!(number, DataType::Numeric { .. });
            match rng.below(7) {
                0 | 1 if is_plain => {
                    let ops = [ArithmeticOp::Add, ArithmeticOp::Subtract, ArithmeticOp::Multiply, ArithmeticOp::Divide];
                    Node::Arithmetic(ops[rng.below(4) as usize], a, b)
                }
                0 | 1 => Node::Arithmetic(ArithmeticOp::Subtract, a, b),
                2 => Node::Negate(a),
                3 => Node::Call(Function::Abs, vec![*a]),
                4 => Node::Case { branches: vec![(*condition, *a)], otherwise: (rng.below(2) == 0).then_some(b) },
                5 => Node::Call(Function::Greatest, vec![*a, *b]),
                _ => {
                    let from = ROW[rng.below(5) as usize];
                    Node::Cast(Box::new(random(rng, from, depth - 1)))
                }
            }
        }
    };
    Expr::new(node, data_type)
}

fn evaluate(expr: &Expr, rng: &mut Rng) -> bool {
    let row: Vec<Value> = ROW.iter().map(|&data_type| value(rng, data_type)).collect();
    expr.eval(&row, &EvalContext::none()).is_err()
}

#[test]
fn random_expressions_read_back_and_never_panic() {
    let mut rng = Rng(1);
    let (mut failed, mut seen) = (0, 0);
    for round in 0..4000 {
        let expr = random(&mut rng, ROW[round % 6], 4);
        expr.check_types(&ROW).unwrap_or_else(|wrong| panic!("{expr:?}: {wrong}"));
        assert!(expr.is_immutable(), "{expr:?}");
        let bytes = expr.encode().unwrap();
        assert_eq!(Expr::decode(&bytes).unwrap(), expr);
        for _ in 0..4 {
            let fails = evaluate(&expr, &mut rng);
            assert!(!fails || expr.can_fail(), "{expr:?}");
            failed += usize::from(fails);
            seen += 1;
        }
        expr.key_sql(&["a", "b", "c", "d", "e", "f"]);
    }
    assert!(failed > 100 && failed < seen / 2, "{failed} of {seen}");
}

#[test]
fn damaged_bytes_are_errors_or_well_typed() {
    let mut rng = Rng(2);
    let (mut refused, mut other) = (0, 0);
    for round in 0..600 {
        let expr = random(&mut rng, ROW[round % 6], 3);
        let bytes = expr.encode().unwrap();
        for cut in 0..bytes.len() {
            assert!(Expr::decode(&bytes[..cut]).is_err(), "{expr:?} cut at {cut}");
        }
        assert!(Expr::decode(&[&bytes[..], &[0]].concat()).is_err());
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << rng.below(8);
            match Expr::decode(&damaged) {
                Ok(read) if read.check_types(&ROW).is_ok() && read.is_immutable() => {
                    evaluate(&read, &mut rng);
                    other += 1;
                }
                _ => refused += 1,
            }
        }
    }
    assert!(refused > other && other > 0, "{refused} refused, {other} read as something else");
}

/// As docs/format/catalog.md has them.
#[test]
fn the_documented_bytes() {
    let column = Expr::column(1, DataType::Text);
    let lower = Expr::new(Node::Call(Function::Lower, vec![column]), DataType::Text);
    assert_eq!(lower.encode().unwrap(), [1, 13, 7, 8, 1, 0, 0, 0, 2, 8, 1, 0, 0, 0]);
    assert_eq!(lower.key_sql(&["a", "b"]), "lower(b)");
}

#[test]
fn what_is_too_deep_or_too_long_is_refused() {
    let deep = |depth| {
        let column = Expr::column(0, DataType::Integer);
        (1..depth).fold(column, |expr, _| Expr::new(Node::Negate(Box::new(expr)), DataType::Integer))
    };
    let bytes = deep(super::EXPR_DEPTH_MAX).encode().unwrap();
    assert_eq!(Expr::decode(&bytes).unwrap(), deep(super::EXPR_DEPTH_MAX));
    assert!(deep(super::EXPR_DEPTH_MAX + 1).encode().is_err());
    let deeper = [&bytes[..1], &[4, 3], &bytes[1..]].concat();
    assert!(Expr::decode(&deeper).unwrap_err().message().contains("too deep"));
    let long = Expr::literal(Value::Text("x".repeat(super::EXPR_BYTES_MAX).into()), DataType::Text);
    assert!(long.encode().is_err());
}
