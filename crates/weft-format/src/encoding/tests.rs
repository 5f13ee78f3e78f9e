//! Every way of reading a block agrees with a plain vector of values.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;

use super::*;
use crate::array::ArrayValue;
use crate::arrow_values::value_at;
use crate::bloom::hash_value;
use crate::enums::EnumId;
use crate::interval::Interval;
use crate::mask::Mask;
use crate::predicate::{CompareOp, Predicate};
use crate::types::{DataType, Element};
use crate::value::{Value, ValueRef};

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

pub(crate) const TYPES: [DataType; 29] = [
    DataType::Boolean,
    DataType::SmallInt,
    DataType::Integer,
    DataType::BigInt,
    DataType::Real,
    DataType::DoublePrecision,
    DataType::Numeric { precision: 38, scale: 4 },
    DataType::Text,
    DataType::Varchar(200),
    DataType::Date,
    DataType::Timestamp,
    DataType::TimestampTz,
    DataType::Oid,
    DataType::Char(200),
    DataType::Bytea,
    DataType::Uuid,
    DataType::Time,
    DataType::Interval,
    DataType::Enum(EnumId::new(258 << 32 | 16_400)),
    DataType::Json,
    DataType::Jsonb,
    DataType::JsonPath,
    DataType::Bit(200),
    DataType::VarBit(0),
    DataType::Array(Element::VarBit(0)),
    DataType::Array(Element::Integer),
    DataType::Array(Element::Text),
    DataType::Array(Element::Interval),
    DataType::Array(Element::DoublePrecision),
];

pub(crate) fn random_type(random: &mut Random) -> DataType {
    TYPES[random.below(TYPES.len() as u64) as usize]
}

/// The value of one row of an array in a type's Arrow type.
pub(crate) fn array_value(array: &ArrayRef, data_type: DataType, row: usize) -> Value {
    assert_eq!(*array.data_type(), data_type.arrow());
    value_at(array, row, data_type)
}

/// Equality of bits: NaN payloads and the sign of zero count.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        // Blocks do not know which of their bytes are arrays.
        (Value::Bytes(a), Value::Array(b)) => **a == *b.as_bytes(),
        (a, b) => a == b,
    }
}

/// A value of a type from one of several distributions.
pub(crate) fn random_value(data_type: DataType, shape: u64, random: &mut Random) -> Value {
    let int = |random: &mut Random, bits: u32| {
        let raw = match shape % 5 {
            0 => random.below(3) as i64,
            1 => random.below(1000) as i64 - 500,
            2 => random.next() as i64,
            3 => [i64::MIN, i64::MAX, 0, -1, 1][random.below(5) as usize] >> (64 - bits),
            _ => (random.next() as i64) >> random.below(63),
        };
        raw << (64 - bits) >> (64 - bits)
    };
    match data_type {
        DataType::Boolean => Value::Bool(random.below(2 + shape % 5) == 0),
        DataType::SmallInt => Value::Int(int(random, 16)),
        DataType::Integer | DataType::Date => Value::Int(int(random, 32)),
        DataType::BigInt | DataType::Timestamp | DataType::TimestampTz | DataType::Enum(_) => {
            Value::Int(int(random, 64))
        }
        DataType::Real => Value::Float(f64::from(random_float(shape, random) as f32)),
        DataType::DoublePrecision => Value::Float(random_float(shape, random)),
        DataType::Numeric { .. } => {
            let wide = i128::from(int(random, 64)) * if shape.is_multiple_of(2) { 1 } else { 7_919_000_000_001 };
            Value::Decimal(wide)
        }
        DataType::Oid => Value::Int(int(random, 32) & 0xffff_ffff),
        DataType::Time => Value::Int(int(random, 64).rem_euclid(86_400_000_001)),
        DataType::Uuid => {
            let low = int(random, 64) as u64;
            Value::Uuid(u128::from(if shape.is_multiple_of(2) { 0 } else { random.next() }) << 64 | u128::from(low))
        }
        DataType::Interval => {
            let micros = int(random, 53);
            Value::Interval(Interval::new(int(random, 32) as i32, int(random, 8) as i32 * 30, micros))
        }
        DataType::Bytea => {
            let bytes: Vec<u8> = match shape % 3 {
                0 => [0, 255, 7][..random.below(4) as usize].to_vec(),
                1 => (0..random.below(100)).map(|_| random.next() as u8).collect(),
                _ => vec![255; random.below(90) as usize],
            };
            Value::Bytes(bytes.into())
        }
        DataType::Array(element) => random_array(element.data_type(), shape, random),
        _ => Value::Text(random_text(shape, random).into()),
    }
}

fn random_array(element: DataType, shape: u64, random: &mut Random) -> Value {
    let item = |random: &mut Random| match random.below(4) {
        0 => Value::Null,
        _ => random_value(element, shape, random),
    };
    let items: Vec<Value> = (0..random.below(4)).map(|_| item(random)).collect();
    Value::Array(ArrayValue::new(element, items.iter().map(Value::as_ref)))
}

fn random_float(shape: u64, random: &mut Random) -> f64 {
    let odd =
        [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::from_bits(0xfff8_0000_4000_0000), 1.5, -2.25];
    match shape % 3 {
        0 => odd[random.below(8) as usize],
        1 => random.below(100) as f64 / 4.0,
        _ => {
            let value = f64::from_bits(random.next());
            if value.is_nan() { f64::NAN } else { value }
        }
    }
}

fn random_text(shape: u64, random: &mut Random) -> String {
    const WORDS: [&str; 8] = ["warp", "weft", "Größe", "漢字", "http://www.", "", "\0\0", "🧵"];
    let letters = |random: &mut Random, len: u64| -> String {
        (0..len).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
    };
    match shape % 5 {
        0 => WORDS[random.below(3) as usize].to_string(),
        1 => {
            let len = 5 + random.below(8);
            letters(random, len)
        }
        2 => {
            let len = random.below(128);
            letters(random, len)
        }
        3 => format!("{}{}{}", WORDS[random.below(8) as usize], random.below(500), WORDS[random.below(8) as usize]),
        _ => letters(random, 8),
    }
}

/// Encodes, then compares every way of reading with the model.
fn round_trip(data_type: DataType, values: &[Value], random: &mut Random) -> Encoding {
    let mut builder = BlockBuilder::new(data_type);
    values.iter().for_each(|value| builder.push(value.as_ref()));
    let encoded = builder.finish(HashesWanted::All);
    let symbols = builder.symbol_table();
    let table = (!symbols.is_empty()).then(|| Arc::new(SymbolTable::parse(&symbols).unwrap()));
    let block = Block::parse(Buffer::from_vec(encoded.bytes.clone()), table.as_ref()).unwrap();
    let name = format!("{data_type} as {:?}, {} rows", block.encoding(), values.len());
    block.check().unwrap();
    assert_eq!(block.encoding(), encoded.encoding, "{name}");
    assert_eq!((block.len(), block.null_count()), (values.len(), values.iter().filter(|v| v.is_null()).count()));
    for (row, value) in values.iter().enumerate() {
        assert!(same(&block.value(row), value), "{name}: value {row}: {:?}, not {value:?}", block.value(row));
        let int = if let Value::Int(int) = value { Some(*int) } else { None };
        assert_eq!(block.int_at(row), int, "{name}: int {row}");
        assert!(encoded.stats.covers(value.as_ref()), "{name}: {:?} does not cover {value:?}", encoded.stats);
        if !value.is_null() {
            let hash = hash_value(value.as_ref());
            assert!(
                encoded.hashes.as_ref().unwrap().contains(&hash) || values.len() > 500,
                "{name}: hash of {value:?}"
            );
        }
    }
    let whole = block.decode(data_type);
    assert_eq!(whole.len(), values.len());
    for (row, value) in values.iter().enumerate() {
        assert!(same(&array_value(&whole, data_type, row), value), "{name}: decoded {row}");
    }
    for share in [1, 2, 20] {
        let selection: Vec<u32> = (0..values.len() as u32).filter(|_| random.below(share) == 0).collect();
        let part = block.decode_selected(data_type, &selection);
        assert_eq!(part.len(), selection.len());
        for (index, &row) in selection.iter().enumerate() {
            assert!(same(&array_value(&part, data_type, index), &values[row as usize]), "{name}: selected {row}");
        }
        let mut mask = Mask::none(values.len());
        selection.iter().for_each(|&row| mask.set(row as usize));
        match block.decode_kept(data_type, &mask) {
            Some(kept) => assert_eq!(&kept, &part, "{name}: kept"),
            None => assert!(block.encoding() != Encoding::Frame || block.null_count() > 0 || !is_integer(data_type)),
        }
    }
    // The same rows from an array give the same bytes.
    let mut again = BlockBuilder::new(data_type);
    let half = values.len() / 2;
    again.push_array(&whole, 0, half).unwrap();
    again.push_array(&whole, half, values.len() - half).unwrap();
    assert_eq!(again.finish(HashesWanted::None).bytes, encoded.bytes, "{name}: pushed as an array");
    filters(&block, values, random, &name);
    encoded.encoding
}

/// Whether values are stored as integers of at most 8 bytes.
fn is_integer(data_type: DataType) -> bool {
    matches!(Kind::of(data_type), Kind::Int16 | Kind::Int32 | Kind::Int64)
}

fn filters(block: &Block, values: &[Value], random: &mut Random, name: &str) {
    let some = |random: &mut Random| values[random.below(values.len() as u64) as usize].clone();
    let ops = [CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq];
    let mut predicates = vec![Predicate::IsNull { column: 0 }, Predicate::IsNotNull { column: 0 }];
    for op in ops {
        predicates.push(Predicate::Compare { column: 0, op, value: some(random) });
        if let Value::Int(int) = some(random) {
            let value = Value::Int(int.wrapping_add(random.below(3) as i64 - 1));
            predicates.push(Predicate::Compare { column: 0, op, value });
            let value = Value::Int([i64::MIN, i64::MAX][random.below(2) as usize]);
            predicates.push(Predicate::Compare { column: 0, op, value });
        }
    }
    for count in [0, 1, 3] {
        predicates.push(Predicate::In { column: 0, values: (0..count).map(|_| some(random)).collect() });
    }
    for predicate in predicates {
        let mut mask = Mask::all(values.len());
        (0..values.len()).filter(|row| row % 7 == 3).for_each(|row| mask.clear(row));
        block.filter(&predicate, &mut mask);
        let expected: Vec<usize> =
            (0..values.len()).filter(|row| row % 7 != 3 && predicate.matches(values[*row].as_ref())).collect();
        assert_eq!(mask.iter_ones().collect::<Vec<_>>(), expected, "{name}: {predicate:?}");
    }
}

#[test]
fn every_type_and_shape_round_trips() {
    let mut random = Random(1);
    let mut seen = std::collections::BTreeSet::new();
    for data_type in TYPES {
        for shape in 0..15 {
            for rows in [1, 2, 17, 300, 1024, 1025, 3000, BLOCK_ROWS] {
                if rows > 3000 && shape > 4 {
                    continue;
                }
                let nulls = [0, 0, 3, 50][random.below(4) as usize];
                let run = [1, 1, 40][random.below(3) as usize];
                let mut values: Vec<Value> = Vec::new();
                while values.len() < rows {
                    let null = nulls > 0 && random.below(nulls) == 0;
                    let value = if null { Value::Null } else { random_value(data_type, shape, &mut random) };
                    let len = 1 + random.below(run) as usize;
                    values.extend(std::iter::repeat_n(value, len.min(rows - values.len())));
                }
                seen.insert(format!("{:?}", round_trip(data_type, &values, &mut random)));
            }
        }
    }
    assert_eq!(seen.len(), Encoding::ALL.len(), "every encoding was chosen at least once: {seen:?}");
}

#[test]
fn extremes_round_trip() {
    let mut random = Random(2);
    for data_type in TYPES {
        assert_eq!(round_trip(data_type, &vec![Value::Null; 70], &mut random), Encoding::AllNull);
        let one = random_value(data_type, 1, &mut random);
        assert_eq!(round_trip(data_type, &vec![one.clone(); 70], &mut random), Encoding::Constant);
        let mut sparse = vec![Value::Null; 3000];
        sparse[2999] = one;
        assert_eq!(round_trip(data_type, &sparse, &mut random), Encoding::Constant);
    }
    let extremes: Vec<Value> = (0..2000).map(|i| Value::Int([i64::MIN, i64::MAX, i as i64][i % 3])).collect();
    round_trip(DataType::BigInt, &extremes, &mut random);
    let ascending: Vec<Value> = (0..8192).map(|i| Value::Int(1_000_000 + i)).collect();
    assert_eq!(round_trip(DataType::BigInt, &ascending, &mut random), Encoding::Frame);
    let wide: Vec<Value> = (0..500).map(|i| Value::Decimal([i128::MAX, i128::MIN, i][i as usize % 3])).collect();
    assert_eq!(round_trip(DataType::Numeric { precision: 38, scale: 0 }, &wide, &mut random), Encoding::Plain);
    let lengths: Vec<Value> = (0..2000).map(|i| Value::Text("x".repeat(i % 128).into())).collect();
    round_trip(DataType::Text, &lengths, &mut random);
}

#[test]
fn a_sequence_of_keys_costs_ten_bits_a_row_and_codes_are_packed() {
    let bytes = |data_type, values: &mut dyn Iterator<Item = Value>| {
        let mut builder = BlockBuilder::new(data_type);
        values.for_each(|value| builder.push(value.as_ref()));
        builder.finish(HashesWanted::None).bytes.len()
    };
    assert!(bytes(DataType::BigInt, &mut (0..8192).map(Value::Int)) < 8192 * 10 / 8 + 128);
    let mut random = Random(3);
    let texts: Vec<String> = (0..100).map(|_| random_text(1, &mut random)).collect();
    let mut rows = (0..8192).map(|_| Value::Text(texts[random.below(100) as usize].as_str().into()));
    assert!(bytes(DataType::Text, &mut rows) < 8192 * 7 / 8 + 1500);
}

#[test]
fn damaged_blocks_never_leave_their_bytes() {
    let mut random = Random(4);
    for data_type in TYPES {
        for shape in 0..5 {
            let values: Vec<Value> = (0..600)
                .map(|i| if i % 9 == 0 { Value::Null } else { random_value(data_type, shape, &mut random) })
                .collect();
            let mut builder = BlockBuilder::new(data_type);
            values.iter().for_each(|value| builder.push(value.as_ref()));
            let good = builder.finish(HashesWanted::None).bytes;
            let symbols = builder.symbol_table();
            let table = (!symbols.is_empty()).then(|| Arc::new(SymbolTable::parse(&symbols).unwrap()));
            for len in (0..good.len()).step_by(16) {
                assert!(Block::parse(Buffer::from_vec(good[..len].to_vec()), table.as_ref()).is_err());
            }
            for _ in 0..300 {
                let mut bad = good.clone();
                for _ in 0..1 + random.below(3) {
                    let end = if random.below(2) == 0 { 80.min(bad.len()) } else { bad.len() };
                    let at = random.below(end as u64);
                    bad[at as usize] = random.next() as u8;
                }
                let Ok(block) = Block::parse(Buffer::from_vec(bad), table.as_ref()) else { continue };
                if block.check().is_ok() && block.kind() == Kind::of(data_type) {
                    // Nothing tells these bytes from good ones; reading them must stay within bounds.
                    (0..block.len()).for_each(|row| drop(block.value(row)));
                    if data_type.element().is_none() {
                        assert_eq!(block.decode(data_type).len(), block.len());
                    }
                }
            }
        }
    }
}

#[test]
fn arrays_of_the_wrong_type_are_refused() {
    let ints: ArrayRef = Arc::new(arrow_array::Int32Array::from(vec![1, 2]));
    for data_type in [DataType::BigInt, DataType::Real, DataType::Date, DataType::Text, DataType::Boolean] {
        let pushed = BlockBuilder::new(data_type).push_array(&ints, 0, 2);
        assert_eq!(pushed.is_ok(), data_type == DataType::Date, "{data_type}");
    }
    let mut texts = BlockBuilder::new(DataType::Text);
    let utf8: ArrayRef = Arc::new(arrow_array::StringArray::from(vec![Some("a"), None]));
    let large: ArrayRef = Arc::new(arrow_array::LargeStringArray::from(vec![Some("b"), None]));
    texts.push_array(&utf8, 0, 2).unwrap();
    texts.push_array(&large, 0, 1).unwrap();
    let block = Block::parse(Buffer::from_vec(texts.finish(HashesWanted::None).bytes), None).unwrap();
    let rows: Vec<Value> = (0..3).map(|row| block.value(row)).collect();
    assert_eq!(rows, [Value::Text("a".into()), Value::Null, Value::Text("b".into())]);
    block.with_value(2, |value| assert_eq!(value, ValueRef::Text("b")));
}
