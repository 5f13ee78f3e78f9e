//! PostgreSQL's numbers of types, which drivers know by heart.
//!
//! ```text
//!   integer         23     4 bytes   modifier -1
//!   varchar(10)   1043    -1         modifier 14: the length and 4
//!   numeric(10,2) 1700    -1         modifier 655366: precision << 16 | scale, and 4
//! ```
//!
//! Source: PostgreSQL's `pg_type.dat`.

use weft_format::DataType;

/// Text of any type: what a quoted literal is before it is assigned.
pub const UNKNOWN: u32 = 705;

/// numeric, whatever its digits.
pub const NUMERIC: u32 = 1700;

/// The type's number.
pub fn oid_of(data_type: DataType) -> u32 {
    match data_type {
        DataType::Boolean => 16,
        DataType::BigInt => 20,
        DataType::SmallInt => 21,
        DataType::Integer => 23,
        DataType::Text => 25,
        DataType::Real => 700,
        DataType::DoublePrecision => 701,
        DataType::Varchar(_) => 1043,
        DataType::Date => 1082,
        DataType::Timestamp => 1114,
        DataType::TimestampTz => 1184,
        DataType::Numeric { .. } => NUMERIC,
    }
}

/// Bytes of a value in memory as `pg_type.typlen` tells them; -1: they differ.
pub fn length_of(data_type: DataType) -> i16 {
    match data_type {
        DataType::Boolean => 1,
        DataType::SmallInt => 2,
        DataType::Integer | DataType::Real | DataType::Date => 4,
        DataType::BigInt | DataType::DoublePrecision | DataType::Timestamp | DataType::TimestampTz => 8,
        DataType::Text | DataType::Varchar(_) | DataType::Numeric { .. } => -1,
    }
}

/// The modifier that tells a type's arguments; -1: none.
pub fn modifier_of(data_type: DataType) -> i32 {
    match data_type {
        DataType::Varchar(length) => i32::try_from(length).map_or(-1, |length| length.saturating_add(4)),
        DataType::Numeric { precision, scale } => (i32::from(precision) << 16 | i32::from(scale)) + 4,
        _ => -1,
    }
}

/// The type with a number, for parameters: types without arguments. numeric has none: its digits are the statement's to
/// say.
pub fn type_of(oid: u32) -> Option<DataType> {
    Some(match oid {
        16 => DataType::Boolean,
        20 => DataType::BigInt,
        21 => DataType::SmallInt,
        23 => DataType::Integer,
        19 | 25 | 1042 | 1043 => DataType::Text,
        700 => DataType::Real,
        701 => DataType::DoublePrecision,
        1082 => DataType::Date,
        1114 => DataType::Timestamp,
        1184 => DataType::TimestampTz,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_modifiers_are_postgresqls() {
        assert_eq!((oid_of(DataType::Varchar(10)), modifier_of(DataType::Varchar(10))), (1043, 14));
        let numeric = DataType::Numeric { precision: 10, scale: 2 };
        assert_eq!((oid_of(numeric), modifier_of(numeric), length_of(numeric)), (1700, 655_366, -1));
        for oid in [16, 20, 21, 23, 25, 700, 701, 1082, 1114, 1184] {
            assert_eq!(type_of(oid).map(oid_of), Some(oid));
        }
        assert_eq!(type_of(UNKNOWN), None);
    }
}
