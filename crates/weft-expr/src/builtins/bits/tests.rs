//! Answers of a PostgreSQL 15 server.

use weft_format::{DataType, Value};

use crate::builtins::testing::{Case, check, type_named};
use crate::style::Local;
use crate::text::{parse, print};

const CASES: &[Case] = &[
    ("bitand", "bit 10001 | bit 01101", "00001"),
    ("bitand", "bit 1 | bit 01", "ERROR: cannot AND bit strings of different sizes"),
    ("bitor", "bit 10001 | bit 01101", "11101"),
    ("bitor", "bit 1 | bit 01", "ERROR: cannot OR bit strings of different sizes"),
    ("bitxor", "bit 10001 | bit 01101", "11100"),
    ("bitxor", "bit 1 | bit 01", "ERROR: cannot XOR bit strings of different sizes"),
    ("bitnot", "bit 10001", "01110"),
    ("bitshiftleft", "bit 10001 | integer 3", "01000"),
    ("bitshiftleft", "bit 10001 | integer -2", "00100"),
    ("bitshiftleft", "bit 10001 | integer 9", "00000"),
    ("bitshiftright", "bit 10001 | integer 2", "00100"),
    ("bitshiftright", "bit 10001 | integer -2147483648", "00000"),
    ("bitcat", "varbit 10 | varbit ", "10"),
    ("bitcat", "bit 10 | varbit 011", "10011"),
    ("octet_length", "bit 101010101", "2"),
    ("bit_length", "varbit 101010101", "9"),
    ("bit_count", "bit 1011", "3"),
    ("weft_bits_length", "bit 1011", "4"),
    ("position", "bit 01010 | bit 101", "2"),
    ("position", "bit  | bit ", "0"),
    ("position", "bit 01 | bit ", "1"),
    ("position", "bit 01 | bit 011", "0"),
    ("position", "bit 0000000000000001 | bit 1", "16"),
    ("overlay", "bit 0101011100 | bit 001 | integer 2 | integer 3", "0001011100"),
    ("overlay", "bit 0101011100 | bit 101 | integer 6", "0101010100"),
    ("overlay", "bit 0101011100 | bit 001 | integer 20", "0101011100001"),
    ("overlay", "bit 0101 | bit 0 | integer 0", "ERROR: negative substring length not allowed"),
    ("overlay", "bit 0101 | bit 0 | integer 2 | integer 0", "00101"),
    ("overlay", "bit 0101 | bit 0 | integer 3 | integer -2", "0100101"),
    ("get_bit", "bit 0101011 | integer 3", "1"),
    ("get_bit", "bit 0101011 | integer 7", "ERROR: bit index 7 out of valid range (0..6)"),
    ("get_bit", "bit 0101011 | integer -1", "ERROR: bit index -1 out of valid range (0..6)"),
    ("set_bit", "bit 0101011 | integer 0 | integer 1", "1101011"),
    ("set_bit", "bit 0101011 | integer 6 | integer 0", "0101010"),
    ("set_bit", "bit 0101011 | integer 6 | integer 2", "ERROR: new bit must be 0 or 1"),
    ("set_bit", "bit 0101011 | integer 7 | integer 2", "ERROR: bit index 7 out of valid range (0..6)"),
    ("weft_bits_substring", "bit 010101 | integer 2 | integer 3", "101"),
    ("weft_bits_substring", "bit 010101 | integer -10 | integer 12", "0"),
    ("weft_bits_substring", "bit 010101 | integer 3", "0101"),
    ("weft_bits_substring", "bit 010101 | integer 7", ""),
    ("weft_bits_substring", "bit 010101 | integer 2 | integer -1", "ERROR: negative substring length not allowed"),
    ("weft_bits_substring", "bit 010101 | integer 2 | integer 2147483646", "10101"),
    (
        "weft_bits_substring",
        "bit 010101 | integer -10 | integer -2147483646",
        "ERROR: negative substring length not allowed",
    ),
];

#[test]
fn functions_give_what_postgresql_gives() {
    check(CASES);
}

#[test]
fn casts_give_what_postgresql_gives() {
    let cases = [
        (type_named("varbit"), "10", DataType::Bit(3), "100"),
        (type_named("varbit"), "1011", DataType::Bit(3), "101"),
        (type_named("varbit"), "1011", DataType::VarBit(3), "101"),
        (type_named("varbit"), "10", DataType::VarBit(3), "10"),
        (type_named("integer"), "44", DataType::Bit(10), "0000101100"),
        (type_named("integer"), "44", DataType::Bit(3), "100"),
        (type_named("integer"), "-44", DataType::Bit(12), "111111010100"),
        (type_named("integer"), "-44", DataType::Bit(40), "1111111111111111111111111111111111010100"),
        (
            type_named("bigint"),
            "-1",
            DataType::Bit(70),
            "1111111111111111111111111111111111111111111111111111111111111111111111",
        ),
        (type_named("bigint"), "4294967296", DataType::Bit(34), "0100000000000000000000000000000000"),
        (type_named("integer"), "5", DataType::Bit(0), "1"),
        (type_named("bit"), "1110", DataType::Integer, "14"),
        (type_named("bit"), "11111111111111111111111111111110", DataType::Integer, "-2"),
        (type_named("bit"), "111111111111111111111111111111111", DataType::Integer, "ERROR: integer out of range"),
        (type_named("bit"), "111111111111111111111111111111111", DataType::BigInt, "8589934591"),
        (type_named("bit"), "1111111111111111111111111111111111111111111111111111111111111111", DataType::BigInt, "-1"),
        (
            type_named("bit"),
            "11111111111111111111111111111111111111111111111111111111111111111",
            DataType::BigInt,
            "ERROR: bigint out of range",
        ),
        (type_named("text"), "x1F", DataType::Bit(6), "000111"),
        (type_named("text"), "B10", DataType::VarBit(0), "10"),
        (type_named("text"), "102", DataType::VarBit(0), "ERROR: \"2\" is not a valid binary digit"),
        (type_named("text"), "x1g", DataType::VarBit(0), "ERROR: \"g\" is not a valid hexadecimal digit"),
        (type_named("bit"), "101", DataType::Text, "101"),
    ];
    for (from, text, to, wanted) in cases {
        let value = parse(text, from, Local::fixed()).expect("the text reads");
        let given = match crate::cast(value, from, to, Local::fixed()) {
            Ok(value) => print(value.as_ref(), to),
            Err(error) => format!("ERROR: {}", error.message()),
        };
        assert_eq!(given, wanted, "{text} as {to}");
    }
}

#[test]
fn assignments_test_lengths() {
    let code = |digits: &str, to| {
        let value = Value::Text(digits.into());
        let assigned = crate::assign(value, DataType::VarBit(0), to, "c", Local::fixed());
        assigned.err().map(|error| error.code().sqlstate())
    };
    assert_eq!(code("10", DataType::Bit(2)), None);
    assert_eq!(code("1", DataType::Bit(2)), Some("22026"));
    assert_eq!(code("100", DataType::Bit(2)), Some("22026"));
    assert_eq!(code("1", DataType::VarBit(2)), None);
    assert_eq!(code("100", DataType::VarBit(2)), Some("22001"));
    assert_eq!(code("100", DataType::VarBit(0)), None);
}
