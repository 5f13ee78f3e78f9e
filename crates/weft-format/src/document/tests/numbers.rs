//! Numbers of any size and scale: their texts come back, and their values are those of the texts.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};

use super::*;
use crate::document::bulk::numbers_at_once;
use crate::types::DataType;

/// A canonical number of so many digits in all, so many of them behind the point.
fn number(random: &mut Random, digits: usize, scale: usize) -> String {
    let mut text = if random.below(2) == 0 { "-" } else { "" }.to_owned();
    let whole = digits.saturating_sub(scale);
    text.push((b'1' + random.below(9) as u8) as char);
    (1..whole).for_each(|_| text.push((b'0' + random.below(10) as u8) as char));
    if scale > 0 {
        text.push('.');
        (0..scale).for_each(|_| text.push((b'0' + random.below(10) as u8) as char));
    }
    text
}

/// Columns of one scale, of several, beyond 2^53, beyond 18 digits and beyond all doubles.
#[test]
fn fields_of_numbers_are_those_of_their_texts() {
    let kinds: [(&[usize], &[usize]); 9] = [
        (&[1, 2, 9], &[0]),
        (&[3, 4], &[2]),
        (&[17, 18], &[17]),
        (&[16, 17, 18], &[0, 1, 9]),
        (&[18, 19], &[0]),
        (&[19, 20, 25], &[0, 3]),
        (&[300, 308, 309, 310, 400], &[0]),
        (&[330, 420], &[328, 419]),
        (&[1, 18, 19, 40, 1000], &[0, 1, 17, 18, 19, 500]),
    ];
    let mut random = Random(6);
    let mut at_once = 0;
    for (kind, (digits, scales)) in kinds.into_iter().enumerate() {
        let pick = |random: &mut Random, of: &[usize]| of[random.below(of.len() as u64) as usize];
        let mut one = |_| {
            let (digits, scale) = (pick(&mut random, digits), pick(&mut random, scales));
            number(&mut random, digits.max(scale + 1), scale)
        };
        let mut numbers: Vec<String> = (0..200).map(&mut one).collect();
        if kind == 8 {
            let limits = ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "0", "1.0", "0.00"];
            numbers.extend(limits.map(str::to_owned));
            numbers.push(format!("0.{}1", "0".repeat(330)));
        }
        let texts: Vec<String> =
            numbers.iter().map(|number| format!("{{\"n\": {number}, \"of\": [{{\"n\": {number}}}]}}")).collect();
        let rows: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
        let stored = round_trip(&rows, MANY_COLUMNS);
        for data_type in [DataType::Jsonb, DataType::Text, DataType::BigInt, DataType::DoublePrecision] {
            let path = FieldPath::of_keys(&["n"], data_type);
            let found = stored.read(|documents| path.of_documents(documents, None).unwrap());
            let expected = path.of_texts(rows.iter().copied()).unwrap();
            assert_eq!((&found.array, found.others), (&expected.array, expected.others), "kind {kind} as {data_type}");
            for (at, number) in numbers.iter().enumerate() {
                match data_type {
                    DataType::BigInt => {
                        let value = found.array.is_valid(at).then(|| found.array.as_primitive::<Int64Type>().value(at));
                        assert_eq!(value, number.parse().ok(), "{number}");
                    }
                    DataType::DoublePrecision => {
                        let value =
                            found.array.is_valid(at).then(|| found.array.as_primitive::<Float64Type>().value(at));
                        let is_double = |value: &f64| value.is_finite() && (*value != 0.0 || !number.contains('1'));
                        assert_eq!(value, number.parse().ok().filter(is_double), "{number}");
                    }
                    _ => {}
                }
            }
        }
        let of_elements = [FieldStep::Key("of".into()), FieldStep::Elements, FieldStep::Key("n".into())].to_vec();
        let whole = [(DataType::BigInt, None), (DataType::Text, Some(DataType::BigInt))];
        let double = [(DataType::DoublePrecision, None), (DataType::Text, Some(DataType::DoublePrecision))];
        for (data_type, unless) in whole.into_iter().chain(double) {
            let path = FieldPath { steps: of_elements.clone(), data_type, unless };
            let found = stored.read(|documents| path.of_documents(documents, None).unwrap());
            let expected = path.of_texts(rows.iter().copied()).unwrap();
            assert_eq!((&found.array, found.others), (&expected.array, expected.others), "kind {kind}: {path}");
            let is_at_once = stored.read(|of| numbers_at_once(of, &path, None).unwrap()).is_some();
            at_once += usize::from(is_at_once);
            // Of one scale, and none is left out.
            let is_of_one_form = kind < 3 && (kind == 0 || path.data_type == DataType::DoublePrecision);
            assert!(is_at_once || !is_of_one_form, "kind {kind}: {path}");
        }
    }
    assert!(at_once >= 8, "{at_once} lists were read at once");
}
