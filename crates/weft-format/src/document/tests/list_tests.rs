//! Lists of elements are those of the texts, whatever the documents are.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use super::random::documents;
use super::*;
use crate::document::bulk::numbers_at_once;
use crate::types::DataType;

fn steps(path: &str) -> Vec<FieldStep> {
    let step = |part: &str| if part == "*" { FieldStep::Elements } else { FieldStep::Key(part.into()) };
    path.split('.').filter(|part| !part.is_empty()).map(step).collect()
}

#[test]
fn a_list_has_a_value_for_each_element() {
    let texts = [
        r#"{"items": [{"price": 3}, {}, {"price": "x"}, 7]}"#,
        r#"{"items": []}"#,
        r#"{"items": 7}"#,
        "{}",
        r#"{"items": null}"#,
        r#"{"items": {"price": 1}}"#,
        r#"{"items": [{"price": null}, {"price": 12}]}"#,
    ];
    let rows = texts.map(Some);
    let path = FieldPath::new(steps("items.*.price"), DataType::BigInt);
    let stored = round_trip(&rows, MANY_COLUMNS);
    for found in
        [stored.read(|documents| path.of_documents(documents, None).unwrap()), path.of_texts(rows.into_iter()).unwrap()]
    {
        let lists = found.array.as_list::<i32>();
        assert_eq!(lists.data_type(), &path.arrow());
        assert_eq!(lists.value_offsets(), [0, 4, 4, 4, 4, 4, 4, 6]);
        let is_there: Vec<bool> = (0..texts.len()).map(|row| lists.is_valid(row)).collect();
        assert_eq!(is_there, [true, true, false, false, false, false, true]);
        let prices: Vec<Option<i64>> = lists.values().as_primitive::<Int64Type>().iter().collect();
        assert_eq!(prices, [Some(3), None, None, None, None, Some(12)]);
        // The price "x", and items that are no array.
        assert_eq!(found.others, 1 + 3);
    }
    assert_eq!(path.to_string(), "->'items'[*]->>'price'");
}

#[test]
fn numbers_and_their_rest_are_all_that_is_there() {
    let mut parts = [0; 3];
    for seed in 0..60 {
        let texts = documents(seed, 60, 2 + seed as usize % 4);
        let refs: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        if refs.iter().all(Option::is_none) {
            continue;
        }
        let stored = Stored::new(&refs, [MANY_COLUMNS, 9, 30][seed as usize % 3]);
        let values = |steps: &str, data_type, unless| {
            let path = FieldPath { steps: self::steps(steps), data_type, unless };
            let array = stored.read(|documents| path.of_documents(documents, None).unwrap()).array;
            if path.is_list() { Arc::clone(array.as_list::<i32>().values()) } else { array }
        };
        for path in ["a", "a.b", "dd", "a.*", "a.*.b", "*.ee"] {
            let text = values(path, DataType::Text, None);
            for data_type in [DataType::BigInt, DataType::DoublePrecision] {
                let (number, rest) = (values(path, data_type, None), values(path, DataType::Text, Some(data_type)));
                for at in 0..text.len() {
                    let (is_number, is_rest) = (number.is_valid(at), rest.is_valid(at));
                    assert_eq!(is_number ^ is_rest, text.is_valid(at), "seed {seed}: {path} as {data_type}, {at}");
                    if is_rest {
                        assert_eq!(rest.as_string_view().value(at), text.as_string_view().value(at));
                    }
                    parts[usize::from(is_number) + 2 * usize::from(is_rest)] += 1;
                }
            }
        }
    }
    assert!(parts.iter().all(|&count| count > 100), "{parts:?}");
}

fn same<'a>(found: &FieldValues, expected: &FieldValues, what: &str, text: impl Fn(usize) -> Option<&'a str>) {
    assert_eq!((found.array.len(), found.others), (expected.array.len(), expected.others), "{what}");
    for row in 0..found.array.len() {
        let [found, expected] = [found, expected].map(|values| values.array.slice(row, 1));
        assert_eq!(&found, &expected, "{what}, row {row}: {:?}", text(row));
    }
}

#[test]
fn lists_of_random_documents_are_those_of_their_texts() {
    let paths =
        ["*", "a.*", "a.*.b", "b.*.a.c", "a.b.*", "c.*.*", "a.*.b.*", "*.a.*.dd", "nothing.*", "a.*.nothing", "*.ee"];
    let types = [DataType::Jsonb, DataType::Text, DataType::BigInt, DataType::DoublePrecision, DataType::Boolean];
    let rests = [DataType::BigInt, DataType::DoublePrecision].map(|unless| (DataType::Text, Some(unless)));
    let types: Vec<_> = types.into_iter().map(|data_type| (data_type, None)).chain(rests).collect();
    let mut given = 0;
    for seed in 0..150 {
        let rows = [3, 40, 200, 300][seed as usize % 4];
        let mut texts = documents(seed, rows, 2 + seed as usize % 4);
        if seed % 3 == 0 {
            // Some of which are no canonical texts.
            texts[rows / 2] = Some(r#"{"a":[{"b":1},{"b":[1,2]}]}"#.into());
        }
        let refs: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        if refs.iter().all(Option::is_none) {
            continue;
        }
        let stored = Stored::new(&refs, [MANY_COLUMNS, 9, 30][seed as usize % 3]);
        let mut mask = Mask::none(rows);
        (0..rows).filter(|row| row % 3 != 1).for_each(|row| mask.set(row));
        for path in paths {
            for &(data_type, unless) in &types {
                let path = FieldPath { steps: steps(path), data_type, unless };
                let expected = path.of_texts(refs.iter().copied()).unwrap();
                let found = stored.read(|documents| path.of_documents(documents, None).unwrap());
                same(&found, &expected, &format!("seed {seed}: {path}"), |row| refs[row]);
                let some = (0..rows).filter(|&row| mask.get(row)).map(|row| refs[row]);
                let expected = path.of_texts(some).unwrap();
                let found = stored.read(|documents| path.of_documents(documents, Some(&mask)).unwrap());
                same(&found, &expected, &format!("some of seed {seed}: {path}"), |_| None);
                given += found.array.as_list::<i32>().values().len();
            }
        }
    }
    assert!(given > 1_000, "{given} elements");
}

#[test]
fn lists_of_some_rows_are_read_from_the_middle_on() {
    let mut at_once = 0;
    for seed in 0..40 {
        let mut shapes = Shapes::new(Shape::Sensors, seed);
        let mut texts: Vec<String> = (0..400).map(|_| shapes.next_text()).collect();
        let mut random = Random(seed);
        for _ in 0..random.below(60) {
            let row = random.below(400) as usize;
            texts[row] = ["{}", r#"{"readings": []}"#, r#"{"readings": [{"ts": 7}, {"temp": null}]}"#][row % 3].into();
        }
        let rows: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
        let stored = Stored::new(&rows, MANY_COLUMNS);
        for range in [0..1, 100..140, 127..129, 128..256, 130..200, 255..400, 399..400, 0..399] {
            let mut mask = Mask::none(400);
            let step = 1 + random.below(3) as usize;
            range.clone().step_by(step).for_each(|row| mask.set(row));
            for path in ["readings.*.temp", "readings.*.ts"] {
                let path = FieldPath::new(steps(path), DataType::DoublePrecision);
                let expected = path.of_texts(range.clone().step_by(step).map(|row| rows[row])).unwrap();
                let found = stored.read(|documents| path.of_documents(documents, Some(&mask)).unwrap());
                same(&found, &expected, &format!("seed {seed}: {path} of {range:?}"), |_| None);
                at_once += usize::from(stored.read(|of| numbers_at_once(of, &path, Some(&mask)).unwrap()).is_some());
            }
        }
    }
    assert!(at_once > 300, "{at_once} were read at once");
}

#[test]
fn lists_of_sensors_are_read_from_two_streams() {
    let mut shapes = Shapes::new(Shape::Sensors, 4);
    let texts: Vec<String> = (0..300).map(|_| shapes.next_text()).collect();
    let rows: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
    let stored = Stored::new(&rows, MANY_COLUMNS);
    let path = FieldPath::new(steps("readings.*.temp"), DataType::DoublePrecision);
    let loaded = std::cell::RefCell::new(std::collections::BTreeSet::new());
    let load = |piece: usize| -> Result<Arc<Block>> {
        loaded.borrow_mut().insert(piece);
        Ok(stored.pieces[piece].clone())
    };
    let documents = Documents::open(stored.rows, stored.pieces.len(), stored.text_bytes, &load).unwrap();
    let found = path.of_documents(&documents, None).unwrap();
    assert_eq!(&found.array, &path.of_texts(rows.iter().copied()).unwrap().array);
    let readings = found.array.as_list::<i32>().values().len();
    let pieces =
        1 + readings.div_ceil(crate::encoding::BLOCK_ROWS) + (readings + 300).div_ceil(crate::encoding::BLOCK_ROWS);
    assert_eq!(loaded.borrow().len(), pieces, "the front, levels and numbers");
}

/// What the same path says of what has to be arrays; the first row that has something else.
fn refusal<'a>(path: &FieldPath, texts: impl Iterator<Item = Option<&'a str>>) -> Option<&'static str> {
    let of_array = FieldPath::new(path.steps[..1].to_vec(), DataType::Jsonb);
    let arrays = of_array.of_texts(texts).unwrap();
    let refused = arrays.array.as_string::<i64>().iter().flatten().find(|text| !text.starts_with('['))?;
    Some(if refused.starts_with('{') { "an object" } else { "a scalar" })
}

#[test]
fn what_is_no_array_is_refused_where_one_has_to_be() {
    let mut outcomes = [0, 0, 0];
    for seed in 0..150 {
        let rows = [1, 2, 4, 40][seed as usize % 4];
        let texts = documents(seed, rows, 2 + seed as usize % 4);
        let refs: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        if refs.iter().all(Option::is_none) {
            continue;
        }
        let stored = Stored::new(&refs, [MANY_COLUMNS, 9, 30][seed as usize % 3]);
        let mut mask = Mask::none(rows);
        (0..rows).filter(|row| row % 3 != 1).for_each(|row| mask.set(row));
        let some = || (0..rows).filter(|&row| mask.get(row)).map(|row| refs[row]);
        for path in ["a.*", "a.*.b", "b.*.a.c", "c.*.nothing", "nothing.*"] {
            let lenient = FieldPath::new(steps(path), DataType::Text);
            let mut strict = lenient.clone();
            strict.steps[1] = FieldStep::ArrayElements;
            let cases = [
                (strict.of_texts(refs.iter().copied()), refusal(&lenient, refs.iter().copied()), None),
                (stored.read(|of| strict.of_documents(of, None)), refusal(&lenient, refs.iter().copied()), None),
                (strict.of_texts(some()), refusal(&lenient, some()), Some(&mask)),
                (stored.read(|of| strict.of_documents(of, Some(&mask))), refusal(&lenient, some()), Some(&mask)),
            ];
            for (found, refused, mask) in cases {
                match (found, refused) {
                    (Ok(found), None) => {
                        let expected = stored.read(|of| lenient.of_documents(of, mask)).unwrap();
                        same(&found, &expected, &format!("seed {seed}: {path}"), |_| None);
                        outcomes[0] += 1;
                    }
                    (Err(error), Some(what)) => {
                        assert_eq!(error.message(), format!("cannot extract elements from {what}"));
                        outcomes[if what == "an object" { 1 } else { 2 }] += 1;
                    }
                    (found, refused) => panic!("seed {seed}: {path}: {found:?} instead of {refused:?}"),
                }
            }
        }
    }
    assert!(outcomes.iter().all(|&count| count > 50), "{outcomes:?}");
}
