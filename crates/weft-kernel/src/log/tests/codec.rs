//! Changes and records as bytes: there and back, and hostile bytes.

use weft_format::{ArrayValue, DataType, FileId, Interval, Value, ValueRef};

use super::*;
use crate::log::{Change, ChangeDecoder, LoggedChange};

/// A small generator with a fixed seed (splitmix64).
struct Prng(u64);

impl Prng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn bytes(&mut self) -> Vec<u8> {
        let length = self.below(20);
        (0..length).map(|_| self.next() as u8).collect()
    }

    fn value(&mut self) -> Value {
        match self.below(11) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 1),
            2 => Value::Int(self.next() as i64),
            3 => Value::Float(self.next() as i32 as f64 / 7.0),
            4 => Value::Decimal((i128::from(self.next() as i64) << 60) | 5),
            5 => Value::Text("".into()),
            6 => Value::Bytes(vec![self.next() as u8; self.below(9) as usize].into()),
            7 => Value::Uuid(u128::from(self.next()) << 64 | u128::from(self.next())),
            8 => Value::Interval(Interval::from_bits(u128::from(self.next()) << 50)),
            9 => Value::Array(ArrayValue::new(DataType::Text, [ValueRef::Text("ä"), ValueRef::Null])),
            _ => Value::Text("größer als λ".chars().take(self.below(12) as usize).collect::<String>().into()),
        }
    }

    fn change(&mut self) -> LoggedChange {
        let change = match self.below(8) {
            0 => Change::Insert { key: self.bytes(), row: self.bytes() },
            1 => {
                let mut column = self.below(3) as usize;
                let mut values = Vec::new();
                for _ in 0..self.below(5) {
                    values.push((column, self.value()));
                    column += 1 + self.below(9000) as usize;
                }
                Change::Update { key: self.bytes(), values }
            }
            2 => Change::Delete { key: self.bytes() },
            3 => Change::Attach((0..self.below(4)).map(|_| FileId(self.next())).collect(), self.bytes()),
            4 => Change::Put { key: self.bytes(), row: self.bytes() },
            5 => Change::Clear { key: self.bytes() },
            6 => return LoggedChange::CreateTable { definition: self.bytes() },
            _ => return LoggedChange::DropTable { table: TableId(self.next() as u32) },
        };
        LoggedChange::Table { table: TableId(self.next() as u32), schema_version: self.next() as u32, change }
    }
}

fn sequence(prng: &mut Prng) -> (Vec<LoggedChange>, Vec<u8>) {
    let changes: Vec<_> = (0..prng.below(8)).map(|_| prng.change()).collect();
    let mut encoder = ChangeEncoder::new();
    changes.iter().for_each(|change| encoder.push(change));
    (changes, encoder.bytes().to_vec())
}

#[test]
fn changes_come_back() {
    let mut prng = Prng(1);
    for _ in 0..3000 {
        let (changes, bytes) = sequence(&mut prng);
        assert_eq!(ChangeDecoder::new(&bytes).collect::<Result<Vec<_>>>().unwrap(), changes);
    }
}

#[test]
fn the_example_of_the_document_has_these_bytes() {
    let mut encoder = ChangeEncoder::new();
    encoder.update(TableId(5), 0, &[1], 1);
    encoder.value(2, weft_format::ValueRef::Int(7));
    let wanted = [5, 0, 0, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 1, 1, 0, 2, 0, 2, 7, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(encoder.bytes(), wanted);
}

#[test]
fn hostile_changes_are_errors_and_never_panics() {
    let mut prng = Prng(2);
    let mut errors = 0;
    for _ in 0..20_000 {
        let (_, mut bytes) = sequence(&mut prng);
        for _ in 0..=prng.below(3) {
            if !bytes.is_empty() {
                let at = prng.below(bytes.len() as u64) as usize;
                bytes[at] = prng.next() as u8;
            }
        }
        bytes.truncate(bytes.len() - prng.below(bytes.len() as u64 / 2 + 1) as usize);
        match ChangeDecoder::new(&bytes).collect::<Result<Vec<_>>>() {
            Err(error) => {
                assert_eq!(error.code(), Code::DataCorrupted);
                errors += 1;
            }
            Ok(changes) => {
                let mut encoder = ChangeEncoder::new();
                changes.iter().for_each(|change| encoder.push(change));
                assert_eq!(encoder.bytes(), bytes, "what is accepted means exactly its bytes");
            }
        }
    }
    assert!(errors > 5000, "{errors}");
}

#[test]
fn a_count_of_four_billion_takes_no_memory() {
    let bytes = [[0; 8].as_slice(), &[4], &[0xff; 4], &[0; 40]].concat();
    assert!(ChangeDecoder::new(&bytes).next().unwrap().is_err());
}

#[test]
fn hostile_records_are_none_and_never_panics() {
    let mut prng = Prng(3);
    for _ in 0..20_000 {
        let changes = prng.bytes();
        let number = RecordNo(prng.next());
        let record = match prng.below(6) {
            0 => Record::Chunk { txn: TxnId(prng.next()), changes: &changes },
            1 => Record::Commit { txn: TxnId(prng.next()), ts: Timestamp(prng.next()), wall: None, changes: &changes },
            5 => {
                let (txn, ts, wall) = (TxnId(prng.next()), Timestamp(prng.next()), Some(prng.next() as i64));
                Record::Commit { txn, ts, wall, changes: &changes }
            }
            2 => Record::Layout { edit: prng.next(), switch: &changes },
            3 => Record::Page { table: TableId(prng.next() as u32), change: &changes },
            _ => Record::Abort { txn: TxnId(prng.next()) },
        };
        let mut bytes = Vec::new();
        record.encode(number, &mut bytes);
        assert_eq!(Record::decode(&bytes), Some((number, record, bytes.len())));
        for end in 0..bytes.len() {
            assert_eq!(Record::decode(&bytes[..end]), None);
        }
        let at = prng.below(bytes.len() as u64) as usize;
        bytes[at] ^= prng.next() as u8;
        if let Some((number, record, count)) = Record::decode(&bytes) {
            let mut again = Vec::new();
            record.encode(number, &mut again);
            assert_eq!(again, bytes[..count]);
        }
    }
}
