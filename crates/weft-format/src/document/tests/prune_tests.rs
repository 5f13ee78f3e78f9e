//! A condition that the front rules out is satisfied by no document; and it rules out what it can.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};

use super::random::documents;
use super::*;
use crate::predicate::{CompareOp, Predicate};
use crate::types::DataType;
use crate::value::Value;

const OPS: [CompareOp; 6] =
    [CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq];

/// The value of a row as the predicate sees it.
fn value(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        arrow_schema::DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        arrow_schema::DataType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        arrow_schema::DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        arrow_schema::DataType::Utf8View => Value::Text(array.as_string_view().value(row).into()),
        _ => Value::Text(array.as_string::<i64>().value(row).into()),
    }
}

fn constant(random: &mut Random, data_type: DataType, values: &[Value]) -> Value {
    let found = &values[random.below(values.len() as u64) as usize];
    match (found, data_type) {
        (Value::Int(found), _) => Value::Int(found.saturating_add(random.below(3) as i64 - 1)),
        (Value::Float(found), _) => Value::Float(found + random.below(3) as f64 / 2.0 - 0.5),
        (Value::Null, DataType::BigInt) => Value::Int(random.below(200) as i64 - 50),
        (Value::Null, DataType::DoublePrecision) => Value::Float(random.below(200) as f64 - 50.0),
        (Value::Null, DataType::Boolean) => Value::Bool(random.below(2) == 0),
        (Value::Null, _) => Value::Text("b".into()),
        (found, _) => found.clone(),
    }
}

fn predicates(random: &mut Random, data_type: DataType, values: &[Value]) -> Vec<Predicate> {
    let mut predicates = vec![Predicate::IsNull { column: 0 }, Predicate::IsNotNull { column: 0 }];
    if data_type != DataType::Jsonb {
        let compare = |op| Predicate::Compare { column: 0, op, value: constant(random, data_type, values) };
        predicates.extend(OPS.map(compare));
        let some = (0..3).map(|_| constant(random, data_type, values)).collect();
        predicates.push(Predicate::In { column: 0, values: some });
    }
    predicates
}

#[test]
fn what_is_ruled_out_is_nowhere() {
    let mut random = Random(21);
    let (mut skipped, mut possible) = (0, 0);
    for seed in 0..300 {
        // Few rows, so that paths have values of one kind.
        let texts = documents(seed, 1 + seed as usize % 7, 1 + seed as usize % 3);
        let refs: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        if refs.iter().all(Option::is_none) {
            continue;
        }
        let stored = Stored::new(&refs, [MANY_COLUMNS, 4][seed as usize % 2]);
        for keys in [&[][..], &["a"], &["b"], &["c", "a"], &["dd"], &["ee", "b"], &["nothing"]] {
            for data_type in
                [DataType::Jsonb, DataType::Text, DataType::BigInt, DataType::DoublePrecision, DataType::Boolean]
            {
                let path = FieldPath::of_keys(keys, data_type);
                let array = path.of_texts(refs.iter().copied()).unwrap().array;
                let values: Vec<Value> = (0..refs.len()).map(|row| value(&array, row)).collect();
                for predicate in predicates(&mut random, data_type, &values) {
                    let is_there = values.iter().any(|value| predicate.matches(value.as_ref()));
                    let may = stored.read(|documents| may_match(documents, &path, &predicate));
                    assert!(may || !is_there, "seed {seed}: {path} {predicate:?} of {values:?}");
                    skipped += usize::from(!may);
                    possible += usize::from(!is_there);
                }
            }
        }
    }
    assert!(skipped * 2 > possible, "{skipped} of {possible} that could be ruled out were");
}

/// Of numbers and strings of one kind everything is known.
#[test]
fn bounds_rule_out_what_lies_beyond() {
    let texts: Vec<String> =
        (100..400).map(|n| format!("{{\"b\": true, \"n\": {n}, \"s\": \"k{n}\", \"x\": {n}.5}}")).collect();
    let refs: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
    let stored = Stored::new(&refs, MANY_COLUMNS);
    let may = |key: &str, data_type, op, value: Value| {
        let path = FieldPath::of_keys(&[key], data_type);
        stored.read(|documents| may_match(documents, &path, &Predicate::Compare { column: 0, op, value }))
    };
    let (int, double) = (DataType::BigInt, DataType::DoublePrecision);
    assert!(may("n", int, CompareOp::Eq, Value::Int(100)) && !may("n", int, CompareOp::Lt, Value::Int(100)));
    assert!(may("n", double, CompareOp::GtEq, Value::Float(399.0)));
    assert!(!may("n", double, CompareOp::Gt, Value::Float(399.0)));
    assert!(
        !may("x", double, CompareOp::Lt, Value::Float(100.5)) && may("x", double, CompareOp::Lt, Value::Float(100.6))
    );
    assert!(may("s", DataType::Text, CompareOp::Eq, Value::Text("k250".into())));
    assert!(!may("s", DataType::Text, CompareOp::Gt, Value::Text("k399".into())));
    assert!(!may("b", DataType::Boolean, CompareOp::Eq, Value::Bool(false)));
    assert!(!may("s", int, CompareOp::NotEq, Value::Int(0)), "strings are no numbers");
    assert!(may("n", DataType::Text, CompareOp::Eq, Value::Text("zz".into())), "of numbers' texts nothing is known");
}

#[test]
fn what_can_be_cast_raises_no_error() {
    let (mut certain, mut fails) = (0, 0);
    for seed in 0..300 {
        let mut texts = documents(seed, 1 + seed as usize % 7, 1 + seed as usize % 3);
        texts.push(Some(format!(r#"{{"a": {}}}"#, [7, 70_000, 5_000_000_000_i64][seed as usize % 3])));
        let rows: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        let stored = Stored::new(&rows, MANY_COLUMNS);
        for keys in [&["a"][..], &["b"], &["a", "b"], &["c"], &["nothing"]] {
            let path = FieldPath::of_keys(keys, DataType::Text);
            let values = path.of_texts(rows.iter().copied()).unwrap().array;
            let numbers = values.as_string_view().iter().flatten().map(str::parse::<i64>);
            let numbers: Option<Vec<i64>> = numbers.map(std::result::Result::ok).collect();
            for (to, greatest) in [
                (DataType::SmallInt, i64::from(i16::MAX)),
                (DataType::Integer, i64::from(i32::MAX)),
                (DataType::BigInt, i64::MAX),
            ] {
                let fits = |number: &i64| (-greatest - 1..=greatest).contains(number);
                let can = numbers.as_ref().is_some_and(|numbers| numbers.iter().all(fits));
                let said = stored.read(|documents| casts_all(documents, &path, to));
                assert!(can || !said, "seed {seed}: {path} as {to}: {rows:?}");
                certain += usize::from(said);
                fails += usize::from(!can);
            }
        }
    }
    assert!(certain > 1_000 && fails > 300, "{certain} casts are certain, {fails} fail");
}
