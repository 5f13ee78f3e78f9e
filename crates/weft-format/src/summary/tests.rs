//! Summaries against the values they are of, counted one by one.

use super::frequent::compare;
use super::*;
use crate::bloom::hash_value;
use crate::encoding::tests::Random;
use crate::schema::{Column, Schema};
use crate::stats::ColumnStats;
use crate::types::DataType;
use crate::value::{Value, ValueRef};

fn schema(data_type: DataType) -> Schema {
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: false };
    Schema::new(vec![column("k", DataType::BigInt), column("c", data_type)], vec![0])
}

/// The summary that a file of these values has.
fn file(values: &[Value], data_type: DataType) -> ColumnSummary {
    let mut collector = Collector::new(&schema(data_type));
    let mut stats = ColumnStats::empty();
    for block in values.chunks(crate::encoding::BLOCK_ROWS) {
        let mut builder = crate::encoding::BlockBuilder::new(data_type);
        for value in block {
            let nulls = u64::from(value.is_null());
            stats.merge(&ColumnStats::new(value.as_ref(), value.as_ref(), nulls, 1));
            builder.push(value.as_ref());
        }
        collector.rows(block.len());
        collector.block(1, &builder);
    }
    let key = ColumnStats::new(ValueRef::Int(0), ValueRef::Int(0), 0, values.len() as u64);
    let summary = collector.finish([&key, &stats].into_iter()).remove(1);
    let bytes = write_summaries(std::slice::from_ref(&summary));
    let read = read_summaries(&bytes, &[data_type], summary.rows()).unwrap().remove(0);
    assert_eq!(write_summaries(std::slice::from_ref(&read)), bytes, "it reads back");
    // Shares are in 32 bits.
    assert_eq!((&read.common, &read.distinct), (&summary.common, &summary.distinct));
    read
}

fn union(files: &[ColumnSummary]) -> ColumnSummary {
    let mut all = files[0].clone();
    files[1..].iter().for_each(|file| all.merge(file));
    all
}

/// The value of a row.
type Draw = Box<dyn FnMut(usize, &mut Random) -> i64>;

/// The distributions that everything here is measured on: integers, 5 % of them NULL.
fn distributions(rows: usize) -> Vec<(&'static str, Vec<Value>)> {
    let mut random = Random(5);
    let mut make = |mut value: Draw| -> Vec<Value> {
        (0..rows)
            .map(|row| if random.below(20) == 0 { Value::Null } else { Value::Int(value(row, &mut random)) })
            .collect()
    };
    let zipf = |exponent: f64| -> Draw {
        let mut sums: Vec<f64> = Vec::new();
        for rank in 1..=10_000 {
            sums.push(sums.last().copied().unwrap_or(0.0) + 1.0 / f64::from(rank).powf(exponent));
        }
        let all = sums[sums.len() - 1];
        Box::new(move |_, random| {
            let at = random.below(1 << 40) as f64 / (1u64 << 40) as f64 * all;
            sums.partition_point(|sum| *sum < at) as i64 * 7
        })
    };
    vec![
        ("uniform", make(Box::new(|_, random| random.below(5_000) as i64))),
        ("few", make(Box::new(|_, random| random.below(7) as i64))),
        ("zipf 1", make(zipf(1.0))),
        ("zipf 1.5", make(zipf(1.5))),
        ("sorted", make(Box::new(|row, _| row as i64 / 3))),
        ("unique", make(Box::new(|row, _| (row as i64 * 7_919) % 1_000_003))),
        ("constant", make(Box::new(|_, _| 42))),
        ("periodic", make(Box::new(|row, _| row as i64 % 64))),
    ]
}

fn count(values: &[Value], is_in: impl Fn(&Value) -> bool) -> f64 {
    values.iter().filter(|value| !value.is_null() && is_in(value)).count() as f64 / values.len() as f64
}

fn distinct(values: &[Value]) -> f64 {
    let mut sorted: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
    sorted.sort_by(|a, b| compare(a, b));
    sorted.dedup_by(|a, b| compare(a, b).is_eq());
    sorted.len() as f64
}

/// Holds a summary against the values; `within` is the error of shares that is let pass.
fn hold(name: &str, summary: &ColumnSummary, values: &[Value], within: f64) {
    assert_eq!(summary.rows() as usize, values.len(), "{name}");
    let nulls = values.iter().filter(|value| value.is_null()).count();
    assert_eq!(summary.null_share(), nulls as f64 / values.len() as f64, "{name}");
    let (found, expected) = (summary.distinct().unwrap(), distinct(values));
    assert!((found / expected - 1.0).abs() < 0.12, "{name}: {found} values, there are {expected}");
    let mut probes: Vec<&Value> = values.iter().filter(|value| !value.is_null()).step_by(397).collect();
    probes.dedup();
    for probe in probes {
        let expected = count(values, |value| compare(value, probe).is_eq());
        let found = summary.equal_share(probe.as_ref()).unwrap();
        let bound = within.max(expected * 0.5);
        assert!((found - expected).abs() < bound, "{name}: {probe:?} has {expected}, estimated {found}");
        for inclusive in [false, true] {
            let is_in = |value: &Value| {
                let order = compare(value, probe);
                order.is_lt() || inclusive && order.is_eq()
            };
            let (found, expected) = (summary.below_share(probe.as_ref(), inclusive).unwrap(), count(values, is_in));
            assert!((found - expected).abs() < within, "{name}: below {probe:?} {expected}, estimated {found}");
        }
    }
}

#[test]
fn a_summary_tells_what_the_values_are_like() {
    for (name, values) in distributions(40_000) {
        hold(name, &file(&values, DataType::BigInt), &values, 0.05);
    }
}

#[test]
fn summaries_of_files_make_one_of_their_union() {
    for (name, values) in distributions(60_000) {
        let files: Vec<ColumnSummary> = values.chunks(3_000).map(|rows| file(rows, DataType::BigInt)).collect();
        let all = union(&files);
        hold(name, &all, &values, 0.05);
        let bytes: u64 = files.iter().map(|file| file.bytes).sum();
        assert_eq!(all.bytes, bytes);
        assert!(all.common.len() <= UNION_MAX && all.histogram.points.len() <= UNION_MAX, "{name}");
        let backwards = union(&files.iter().rev().cloned().collect::<Vec<_>>());
        assert_eq!(backwards.distinct, all.distinct, "{name}: in any order (sketch 1)");
        hold(name, &backwards, &values, 0.05);
    }
}

#[test]
fn common_values_are_found_and_only_they() {
    let named: Vec<(&str, Vec<Value>)> = distributions(40_000);
    let of = |name: &str| {
        let values = &named.iter().find(|known| known.0 == name).unwrap().1;
        (file(values, DataType::BigInt), values)
    };
    assert_eq!(of("constant").0.common().len(), 1);
    assert_eq!(of("few").0.common().len(), 7, "all are kept when they are few");
    assert_eq!(of("unique").0.common().len(), 0, "none is");
    assert!(of("uniform").0.common().len() <= 6, "chance alone makes few");
    let (zipf, values) = of("zipf 1.5");
    let (first, share) = zipf.common().next().unwrap();
    assert_eq!(*first, Value::Int(0));
    assert!((share - count(values, |value| *value == Value::Int(0))).abs() < 0.04);
}

#[test]
fn texts_dates_and_long_values() {
    let mut random = Random(8);
    let words = ["CARD", "CASH", "CHEQUE", "TRANSFER"];
    let values: Vec<Value> = (0..20_000)
        .map(|row| Value::Text(format!("{} {:06}", words[random.below(4) as usize], row % 4_000).into()))
        .collect();
    let texts = file(&values, DataType::Text);
    hold("texts", &texts, &values, 0.06);
    assert!((texts.average_bytes() - 13.5).abs() < 0.2, "{}", texts.average_bytes());
    let (from, to) = (ValueRef::Text("CASH"), ValueRef::Text("CASI"));
    let like = texts.below_share(to, false).unwrap() - texts.below_share(from, false).unwrap();
    assert!((like - 0.25).abs() < 0.06, "LIKE 'CASH%': {like}");
    // What differs behind the bytes that are kept is neither common nor told apart, and does no harm.
    let long: Vec<Value> = (0..3_000).map(|row| Value::Text(format!("{}{row}", "é".repeat(60)).into())).collect();
    let summary = file(&long, DataType::Text);
    assert!(summary.common().len() == 0 && summary.distinct().unwrap() > 2_700.0);
    assert!(summary.histogram().points().iter().all(|point| point.value.memory_bytes() <= 48));
    let codes: Vec<Value> = (0..500).map(|row| Value::Decimal(row % 50 * 100)).collect();
    hold("numerics", &file(&codes, DataType::Numeric { precision: 12, scale: 2 }), &codes, 0.06);
}

#[test]
fn no_values_and_no_order() {
    let nulls = vec![Value::Null; 300];
    let summary = file(&nulls, DataType::Integer);
    assert_eq!((summary.null_share(), summary.distinct()), (1.0, Some(0.0)));
    assert_eq!(summary.equal_share(ValueRef::Int(1)), Some(0.0));
    assert_eq!(summary.below_share(ValueRef::Int(1), true), None);
    let mut both = summary.clone();
    both.merge(&file(&vec![Value::Int(3); 100], DataType::Integer));
    assert_eq!((both.null_share(), both.equal_share(ValueRef::Int(3))), (0.75, Some(0.25)));
    let json: Vec<Value> = (0..100).map(|row| Value::Text(format!("{{\"a\": {row}}}").into())).collect();
    let summary = file(&json, DataType::Jsonb);
    assert_eq!((summary.distinct(), summary.common().len(), summary.histogram().points().len()), (None, 0, 0));
    assert_eq!(summary.equal_share(ValueRef::Text("x")), None);
    assert!(summary.average_bytes() > 8.0);
}

#[test]
fn sketches_count_within_their_error_and_equal_values_once() {
    for count in [1u64, 60, 64, 65, 200, 1_000, 10_000, 300_000] {
        let (mut sketch, mut again) = (Sketch::default(), Sketch::default());
        for value in 0..count {
            sketch.insert(hash_value(ValueRef::Int(value as i64)));
            again.insert(hash_value(ValueRef::Int((count - 1 - value) as i64)));
        }
        assert_eq!(sketch, again, "a sketch is of a set (sketch 2)");
        let error = sketch.count() / count as f64 - 1.0;
        assert!(error.abs() < 0.08 && (count > 64 || error == 0.0), "{count}: {error}");
        let before = sketch.clone();
        sketch.merge(&again);
        assert_eq!(sketch, before, "merged twice it counts once (sketch 1)");
    }
    let mut sketch = Sketch::default();
    let other_nan = f64::from_bits(0xfff8_0000_0000_0123);
    for value in [0.0, -0.0, f64::NAN, other_nan] {
        sketch.insert(hash_value(ValueRef::Float(value)));
    }
    assert_eq!(sketch.count(), 2.0);
}

#[test]
fn a_join_of_common_values_is_their_pairs() {
    let side = |shares: &[(i64, u64)]| -> ColumnSummary {
        let values: Vec<Value> =
            shares.iter().flat_map(|&(value, rows)| vec![Value::Int(value); rows as usize]).collect();
        file(&values, DataType::Integer)
    };
    let (a, b) = (side(&[(1, 900), (2, 50), (3, 50)]), side(&[(1, 500), (2, 250), (4, 250)]));
    let expected = 0.9 * 0.5 + 0.05 * 0.25;
    assert!((join_share(&a, &b).unwrap() - expected).abs() < 1e-9, "by the number of values it would be a third");
    assert_eq!(join_share(&a, &b), join_share(&b, &a));
    let unique: Vec<Value> = (0..5_000).map(Value::Int).collect();
    assert_eq!(join_share(&a, &file(&unique, DataType::Integer)), None);
}

#[test]
fn a_sample_tells_of_all_rows() {
    let mut random = Random(11);
    let rows: Vec<Value> = (0..100_000).map(|_| Value::Int(random.below(300) as i64)).collect();
    let sample: Vec<Value> = rows.iter().step_by(20).cloned().collect();
    let summary = summarize(sample, DataType::Integer, 100_000);
    hold("sample", &summary, &rows, 0.05);
    let whole = summarize(rows.clone(), DataType::Integer, 100_000);
    assert_eq!(whole.distinct(), Some(300.0), "of all rows it is exact");
    let mut counter = Counter::new(&[DataType::Integer]);
    rows.iter().for_each(|row| counter.push(|_| row.as_ref()));
    hold("counted", &counter.finish().remove(0), &rows, 0.02);
    let unique: Vec<Value> = (0..1_000).map(Value::Int).collect();
    assert!(summarize(unique, DataType::Integer, 50_000).distinct().unwrap() > 45_000.0, "all differ, as far as known");
    assert_eq!(summarize(Vec::new(), DataType::Integer, 0).null_share(), 0.0);
}

#[test]
fn damaged_summaries_are_refused_or_harmless() {
    let values: Vec<Value> = (0..200).map(|row| Value::Int(row * row % 90)).collect();
    let summaries = [file(&values, DataType::Integer), file(&values, DataType::Integer)];
    let good = write_summaries(&summaries);
    let types = [DataType::Integer, DataType::Integer];
    for len in 0..good.len() {
        assert!(read_summaries(&good[..len], &types, 200).is_err(), "cut to {len} bytes");
    }
    assert!(read_summaries(&good, &types[..1], 200).is_err() && read_summaries(&good, &types, 100).is_err());
    let texts = [DataType::Text, DataType::Text];
    let error = read_summaries(&good, &texts, 200).unwrap_err();
    assert!(error.message().contains("not of the kind"), "{error}");
    let mut random = Random(3);
    for _ in 0..20_000 {
        let mut bad = good.clone();
        let at = random.below(bad.len() as u64) as usize;
        bad[at] ^= 1 << random.below(8);
        if let Ok(read) = read_summaries(&bad, &types, 200) {
            let mut all = read[0].clone();
            all.merge(&read[1]);
            assert!(all.equal_share(ValueRef::Int(5)).unwrap() <= 1.0);
            assert!(all.below_share(ValueRef::Int(5), true).unwrap_or(0.0) <= 1.0);
        }
    }
}

#[test]
fn stretches_are_spread_over_all_rows() {
    assert_eq!(spread([10, 10, 10], 5), [0, 2, 1], "all of them, when they are few");
    assert_eq!(spread([], 5), [0usize; 0]);
    assert_eq!(spread([0, 0], 1), [1]);
    let places = spread((0..10_000).map(|_| 8_192), 64);
    assert_eq!(places.len(), 64);
    for beginning in [4, 8, 16, 32, 64] {
        let mut first = places[..beginning].to_vec();
        first.sort_unstable();
        let gaps = first.windows(2).map(|two| two[1] - two[0]);
        let widest = gaps.chain([first[0], 9_999 - first[beginning - 1]]).max().unwrap();
        assert!(widest <= 2 * 10_000 / beginning, "{beginning} of them leave {widest} stretches out");
    }
    // A thousand small ones do not stand for the large ones.
    let places = spread((0..1_000).map(|_| 10).chain((0..1_000).map(|_| 8_000)), 64);
    let large = places.iter().filter(|&&place| place >= 1_000).count();
    assert!(large >= 62 && places.len() <= 64, "{large} of {}", places.len());
}

#[test]
fn values_that_came_since_are_not_one_row() {
    let values: Vec<Value> = (0..10_000).map(|row| Value::Int(row / 10)).collect();
    let summary = file(&values, DataType::Integer);
    let later = ValueRef::Int(1_500);
    assert!(summary.lacks(later) && !summary.lacks(ValueRef::Int(500)) && !summary.lacks(ValueRef::Null));
    let usual = summary.equal_share(ValueRef::Int(500)).unwrap();
    assert!((usual - 0.001).abs() < 0.0003, "{usual}");
    assert_eq!(summary.lacked_share(0.0), Some(0.0001), "hardly any");
    assert_eq!(summary.lacked_share(0.2), Some(usual), "as many as other values");
    assert_eq!(summary.outside_shares(0.2), (0.0001, 0.2));
    assert_eq!(summary.outside_shares(0.0), (0.0001, 0.0001));
    // All values are common ones: a new one has as many as they have, of the rows that came.
    let few = file(&(0..1_000).map(|row| Value::Int(row % 4 * 10)).collect::<Vec<_>>(), DataType::Integer);
    assert!(few.lacks(ValueRef::Int(5)) && !few.lacks(ValueRef::Int(10)));
    assert_eq!((few.lacked_share(0.1), few.lacked_share(0.9)), (Some(0.1), Some(0.25)));
}

#[test]
fn a_common_value_counts_once() {
    // Half of the rows have one value, which lies between two points that are far from each other.
    let values: Vec<Value> = (0..20_000).map(|row| Value::Int(if row % 2 == 0 { 777 } else { row / 2 })).collect();
    let mut summary = file(&values, DataType::Integer);
    assert!((summary.equal_share(ValueRef::Int(777)).unwrap() - 0.5).abs() < 0.04);
    summary.histogram.points.retain(|point| point.value != Value::Int(777));
    for (probe, inclusive) in [(700, false), (777, false), (777, true), (778, false), (800, true), (5_000, false)] {
        let is_in = |value: &Value| match value {
            Value::Int(value) => *value < probe || inclusive && *value == probe,
            _ => false,
        };
        let expected = count(&values, is_in);
        let found = summary.below_share(ValueRef::Int(probe), inclusive).unwrap();
        assert!((found - expected).abs() < 0.04, "{probe}, {inclusive}: {found}, it is {expected}");
    }
}

#[test]
fn cut_texts_are_not_compared_as_if_whole() {
    let text = |row: i64| Value::Text(format!("{}{row:05}", "x".repeat(60)).into());
    let values: Vec<Value> = (0..2_000).map(text).collect();
    let summary = file(&values, DataType::Text);
    let probe = text(1_000);
    assert!(!summary.lacks(probe.as_ref()), "it begins like those that are there");
    let share = summary.equal_share(probe.as_ref()).unwrap();
    assert!(share > 0.0 && share < 0.001, "one of many: {share}");
    let below = summary.below_share(probe.as_ref(), false).unwrap();
    assert!((below - 0.5).abs() < 0.01, "nobody knows on which side the others lie: {below}");
    let other = Value::Text(format!("y{}", "x".repeat(60)).into());
    assert!(summary.lacks(other.as_ref()) && summary.below_share(other.as_ref(), false) == Some(1.0));
}

#[test]
fn a_column_that_files_lack_has_its_default_there() {
    let mut nulls = constant(ValueRef::Null, DataType::Integer, 300);
    assert_eq!((nulls.null_share(), nulls.distinct(), nulls.rows()), (1.0, Some(0.0), 300));
    let new = file(&(0..100).map(|row| Value::Int(row % 10)).collect::<Vec<_>>(), DataType::Integer);
    nulls.merge(&new);
    assert_eq!((nulls.null_share(), nulls.rows(), nulls.distinct()), (0.75, 400, Some(10.0)));
    let mut default = constant(ValueRef::Int(7), DataType::Integer, 300);
    assert_eq!(default.equal_share(ValueRef::Int(7)), Some(1.0));
    default.merge(&new);
    assert!((default.equal_share(ValueRef::Int(7)).unwrap() - 0.775).abs() < 0.01);
    let document = constant(ValueRef::Text("{}"), DataType::Jsonb, 5);
    assert_eq!((document.distinct(), document.common().len()), (None, 0));
}

#[test]
fn the_same_rows_are_taken_however_they_come() {
    let taken = |lengths: &[usize]| {
        let mut sampling = sampling::Sampling::new(100);
        let (mut rows, mut first) = (Vec::new(), 0);
        for &len in lengths {
            let taken = sampling.next(len);
            if let Some(stays) = taken.stays {
                let mut stays = stays.iter();
                rows.retain(|_| *stays.next().unwrap());
                assert!(stays.next().is_none(), "each row that was taken is told of");
            }
            rows.extend(taken.rows.iter().map(|&row| first + row as usize));
            first += len;
        }
        rows
    };
    let one_by_one = taken(&[1; 10_000]);
    assert!((50..100).contains(&one_by_one.len()), "{}", one_by_one.len());
    assert_eq!(taken(&[10_000]), one_by_one);
    assert_eq!(taken(&[1, 0, 99, 4_900, 5_000]), one_by_one);
    assert_eq!(taken(&[99]), (0..99).collect::<Vec<_>>());
}

#[test]
fn samples_are_sorted_as_values_compare() {
    let mut random = Random(7);
    let texts =
        ["", "a", "a\0", "aaaaaaaa", "aaaaaaaab", "aaaaaaaaa", "\u{fffd}", "b"].map(|text| Value::Text(text.into()));
    let floats = [0.0, -0.0, f64::NAN, f64::INFINITY, -1.5, f64::NEG_INFINITY].map(Value::Float);
    let ints = [0, -1, i64::MIN, i64::MAX, 7].map(Value::Int);
    for (data_type, values) in
        [(DataType::Text, &texts[..]), (DataType::DoublePrecision, &floats), (DataType::BigInt, &ints)]
    {
        let mut sample = sample::Sample::of(data_type);
        let mut expected: Vec<Value> = Vec::new();
        for _ in 0..100 {
            let at = random.below(values.len() as u64 + 1) as usize;
            let value = values.get(at).cloned().unwrap_or(Value::Null);
            sample.push(value.as_ref());
            expected.extend((!value.is_null()).then_some(value));
        }
        expected.sort_by(compare);
        let sorted = sample.sorted();
        assert_eq!(sorted.len(), expected.len());
        assert!(sorted.iter().zip(&expected).all(|(a, b)| compare(a, b).is_eq()), "{sorted:?}");
    }
    assert!(!sample::Sample::of(DataType::Jsonb).is_ordered());
}
