//! PostgreSQL's numbers of types, which drivers know by heart.
//!
//! ```text
//!   integer         23     4 bytes   modifier -1
//!   varchar(10)   1043    -1         modifier 14: the length and 4
//!   numeric(10,2) 1700    -1         modifier 655366: precision << 16 | scale, and 4
//! ```
//!
//! Source: PostgreSQL's `pg_type.dat`.

use weft_expr::text::NUMERIC_DEFAULT;
use weft_format::DataType;

/// Text of any type: what a quoted literal is before it is assigned.
pub const UNKNOWN: u32 = 705;

/// numeric, whatever its digits.
pub const NUMERIC: u32 = 1700;

/// Types without arguments, with their numbers and those of their arrays.
const PLAIN: &[(DataType, u32, u32)] = &[
    (DataType::Boolean, 16, 1000),
    (DataType::Bytea, 17, 1001),
    (DataType::BigInt, 20, 1016),
    (DataType::SmallInt, 21, 1005),
    (DataType::Integer, 23, 1007),
    (DataType::Text, 25, 1009),
    (DataType::Oid, 26, 1028),
    (DataType::Json, 114, 199),
    (DataType::Real, 700, 1021),
    (DataType::DoublePrecision, 701, 1022),
    (DataType::Date, 1082, 1182),
    (DataType::Time, 1083, 1183),
    (DataType::Timestamp, 1114, 1115),
    (DataType::TimestampTz, 1184, 1185),
    (DataType::Interval, 1186, 1187),
    (DataType::Uuid, 2950, 2951),
    (DataType::Jsonb, 3802, 3807),
    (DataType::JsonPath, 4072, 4073),
];
const BPCHAR: (u32, u32) = (1042, 1014);
const VARCHAR: (u32, u32) = (1043, 1015);
const NUMERIC_ARRAY: u32 = 1231;
const BIT: (u32, u32) = (1560, 1561);
const VARBIT: (u32, u32) = (1562, 1563);

/// The numbers of a type and of its array.
fn oids_of(data_type: DataType) -> (u32, u32) {
    match data_type {
        DataType::Char(_) => BPCHAR,
        DataType::Enum(id) => {
            let oid = weft_format::enums::oid_of(id);
            (oid, weft_pgcatalog::array_oid(oid))
        }
        DataType::Varchar(_) => VARCHAR,
        DataType::Bit(_) => BIT,
        DataType::VarBit(_) => VARBIT,
        DataType::Numeric { .. } => (NUMERIC, NUMERIC_ARRAY),
        _ => {
            let found = PLAIN.iter().find(|(known, ..)| *known == data_type);
            found.map(|(_, oid, array)| (*oid, *array)).expect("every type without arguments is in the table")
        }
    }
}

/// The type's number.
pub fn oid_of(data_type: DataType) -> u32 {
    match data_type.element() {
        Some(element) => oids_of(element).1,
        None => oids_of(data_type).0,
    }
}

/// Bytes of a value in memory as `pg_type.typlen` tells them; -1: they differ.
pub fn length_of(data_type: DataType) -> i16 {
    match data_type {
        DataType::Boolean => 1,
        DataType::SmallInt => 2,
        DataType::Integer | DataType::Real | DataType::Date | DataType::Oid => 4,
        DataType::BigInt | DataType::DoublePrecision | DataType::Time | DataType::Timestamp | DataType::TimestampTz => {
            8
        }
        DataType::Uuid | DataType::Interval => 16,
        DataType::Enum(_) => 4,
        _ => -1,
    }
}

/// The modifier that tells a type's arguments; -1: none. An array has that of its elements.
pub fn modifier_of(data_type: DataType) -> i32 {
    match data_type.element().unwrap_or(data_type) {
        DataType::Varchar(length) | DataType::Char(length) => {
            i32::try_from(length).map_or(-1, |length| length.saturating_add(4))
        }
        DataType::Bit(length) | DataType::VarBit(length) if length > 0 => i32::try_from(length).unwrap_or(-1),
        NUMERIC_DEFAULT => -1,
        DataType::Numeric { precision, scale } => (i32::from(precision) << 16 | i32::from(scale)) + 4,
        _ => -1,
    }
}

/// The type with a number, for parameters: types without arguments.
pub fn type_of(oid: u32) -> Option<DataType> {
    match oid {
        // "char", name, char(n), varchar: text is what they are read as.
        18 | 19 | 1042 | 1043 => Some(DataType::Text),
        1014 | 1015 | 1002 | 1003 => DataType::Text.array(),
        1560 => Some(DataType::Bit(0)),
        1561 => DataType::Bit(0).array(),
        1562 => Some(DataType::VarBit(0)),
        1563 => DataType::VarBit(0).array(),
        NUMERIC => Some(NUMERIC_DEFAULT),
        NUMERIC_ARRAY => NUMERIC_DEFAULT.array(),
        _ => PLAIN.iter().find_map(|(data_type, plain, array)| match oid {
            _ if oid == *plain => Some(*data_type),
            _ if oid == *array => data_type.array(),
            _ => None,
        }),
    }
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
        for (data_type, oid, array) in PLAIN {
            assert_eq!((type_of(*oid), type_of(*array)), (Some(*data_type), data_type.array()));
            assert_eq!(data_type.array().map(oid_of), Some(*array));
        }
        assert_eq!(modifier_of(NUMERIC_DEFAULT), -1);
    }
}
