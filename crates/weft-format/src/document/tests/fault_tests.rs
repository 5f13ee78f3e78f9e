//! Planted faults are noticed, each by the test that it is for.

use super::*;
use crate::document::faults::{Fault, plant};
use crate::predicate::{CompareOp, Predicate};
use crate::types::DataType;
use crate::value::Value;

fn texts() -> Vec<String> {
    let text = |n: usize| match n % 4 {
        0 => format!("{{\"a\": {n}, \"c\": [{{\"d\": 1}}, {{}}], \"n\": {n}}}"),
        1 => format!("{{\"a\": null, \"n\": {n}}}"),
        2 => format!("{{\"a\": \"x\", \"c\": [], \"n\": {n}}}"),
        _ => format!("{{\"n\": {n}}}"),
    };
    (0..2_500).map(text).collect()
}

/// Rows read one by one are not the texts, or cannot be read.
fn differs(stored: &Stored, texts: &[String]) -> bool {
    let rows = [0, 1, 2, 3, 900, 1_028, 1_200, 2_049, 2_400];
    stored.read(|documents| {
        rows.iter().any(|&row| {
            let Ok(block) = assemble_row(documents, row) else { return true };
            !block.with_value(0, |value| value.as_bytes() == Some(texts[row].as_bytes()))
        })
    })
}

/// A document that is there is ruled out.
fn rules_out(stored: &Stored) -> bool {
    let path = FieldPath::of_keys(&["n"], DataType::BigInt);
    let predicate = Predicate::Compare { column: 0, op: CompareOp::Eq, value: Value::Int(2_400) };
    stored.read(|documents| !may_match(documents, &path, &predicate))
}

#[test]
fn planted_faults_are_noticed() {
    let texts = texts();
    let rows: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
    let faults = [Fault::WrongSkips, Fault::NullAsMissing, Fault::ForgetEnd, Fault::StaleBounds];
    for fault in [None].into_iter().chain(faults.map(Some)) {
        plant(fault);
        let stored = Stored::new(&rows, MANY_COLUMNS);
        plant(None);
        let is_checked = stored.read(|documents| check(documents).is_err());
        let (differs, rules_out) = (differs(&stored, &texts), rules_out(&stored));
        let expected = match fault {
            None => (false, false, false),
            Some(Fault::StaleBounds) => (false, true, true),
            Some(Fault::NullAsMissing) => (true, false, false),
            Some(Fault::WrongSkips | Fault::ForgetEnd) => (true, false, true),
        };
        assert_eq!((differs, rules_out, is_checked), expected, "{fault:?}: differs, rules out, is seen by the check");
    }
}
