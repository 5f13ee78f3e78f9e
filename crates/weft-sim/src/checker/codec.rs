//! Operations as bytes, so that a history of millions of transactions fits in memory.
//!
//! ```text
//!   append 31 to list 5        00 05 1f
//!   list 5 was [31, 32, 40]    01 05 03 1f 02 10       count, first, differences in zigzag
//!   ... rolled back            81 05 03 1f 02 10       the tag's highest bit
//! ```
//!
//! Numbers are LEB128. The bytes never leave the process that wrote them, so they are trusted.

use super::op::{LIST, Op};

const APPEND: u8 = 0;
const READ_LIST: u8 = 1;
const WRITE_REGISTER: u8 = 2;
const READ_REGISTER: u8 = 3;
const READ_RANGE: u8 = 4;
/// Set in the tag of an operation that a savepoint undid.
const UNDONE: u8 = 0x80;

/// Adds an operation to `bytes`.
pub(super) fn encode(bytes: &mut Vec<u8>, op: Op<'_>) {
    match op {
        Op::Append { key, element } => put_all(bytes, APPEND, &[key, element]),
        Op::ReadList { key, elements } => {
            put_all(bytes, READ_LIST, &[key]);
            put_list(bytes, elements);
        }
        Op::WriteRegister { key, column, value } => put_all(bytes, WRITE_REGISTER, &[key, u64::from(column), value]),
        Op::ReadRegister { key, column, value } => {
            let value = value.map_or(0, |value| value.checked_add(1).expect("u64::MAX is no value of a register"));
            put_all(bytes, READ_REGISTER, &[key, u64::from(column), value]);
        }
        Op::ReadRange { low, high, column, keys } => {
            put_all(bytes, READ_RANGE, &[low, high, u64::from(column.unwrap_or(LIST))]);
            put_list(bytes, keys);
        }
    }
}

/// Marks the operations of `bytes` as undone.
pub(super) fn undo(bytes: &mut [u8]) {
    let mut list = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let tag = at;
        decode(bytes, &mut at, &mut list);
        bytes[tag] |= UNDONE;
    }
}

/// The operation at `at`, which moves behind it, and whether it was undone. `list` holds its elements.
pub(super) fn decode<'a>(bytes: &[u8], at: &mut usize, list: &'a mut Vec<u64>) -> (Op<'a>, bool) {
    let tag = bytes[*at];
    *at += 1;
    let first = number(bytes, at);
    let op = match tag & !UNDONE {
        APPEND => Op::Append { key: first, element: number(bytes, at) },
        READ_LIST => {
            read_list(bytes, at, list);
            Op::ReadList { key: first, elements: list }
        }
        WRITE_REGISTER => Op::WriteRegister { key: first, column: column(bytes, at), value: number(bytes, at) },
        READ_REGISTER => {
            Op::ReadRegister { key: first, column: column(bytes, at), value: number(bytes, at).checked_sub(1) }
        }
        READ_RANGE => {
            let high = number(bytes, at);
            let column = Some(column(bytes, at)).filter(|column| *column != LIST);
            read_list(bytes, at, list);
            Op::ReadRange { low: first, high, column, keys: list }
        }
        tag => unreachable!("only encode writes tags, and never {tag}"),
    };
    (op, tag & UNDONE != 0)
}

fn put_all(bytes: &mut Vec<u8>, tag: u8, numbers: &[u64]) {
    bytes.push(tag);
    numbers.iter().for_each(|number| put(bytes, *number));
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn number(bytes: &[u8], at: &mut usize) -> u64 {
    let mut number = 0;
    let mut shift = 0;
    loop {
        let byte = bytes[*at];
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return number;
        }
        shift += 7;
    }
}

fn column(bytes: &[u8], at: &mut usize) -> u16 {
    number(bytes, at) as u16
}

fn put_list(bytes: &mut Vec<u8>, list: &[u64]) {
    put(bytes, list.len() as u64);
    let mut previous = 0_u64;
    for &element in list {
        let difference = element.wrapping_sub(previous) as i64;
        put(bytes, ((difference << 1) ^ (difference >> 63)) as u64);
        previous = element;
    }
}

fn read_list(bytes: &[u8], at: &mut usize, list: &mut Vec<u64>) {
    list.clear();
    let mut previous = 0_u64;
    for _ in 0..number(bytes, at) {
        let zigzag = number(bytes, at);
        let difference = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
        previous = previous.wrapping_add(difference);
        list.push(previous);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_back() {
        let ops = [
            Op::Append { key: 5, element: u64::MAX },
            Op::ReadList { key: 300, elements: &[31, 32, 40, 1, u64::MAX, 0] },
            Op::ReadList { key: 300, elements: &[] },
            Op::WriteRegister { key: 1, column: 700, value: 1 << 40 },
            Op::ReadRegister { key: 1, column: 0, value: None },
            Op::ReadRegister { key: 1, column: 0, value: Some(0) },
            Op::ReadRange { low: 1, high: 90, column: None, keys: &[4, 7] },
            Op::ReadRange { low: 1, high: 90, column: Some(3), keys: &[] },
        ];
        let mut bytes = Vec::new();
        ops.iter().for_each(|op| encode(&mut bytes, *op));
        for undone in [false, true] {
            let (mut at, mut list) = (0, Vec::new());
            for op in ops {
                assert_eq!(decode(&bytes, &mut at, &mut list), (op, undone));
            }
            assert_eq!(at, bytes.len());
            undo(&mut bytes);
        }
    }
}
