//! What the texts of a column are, which says where they stand and how JSON has them.

use weft::DataType;

/// What the texts of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Numbers: to the right, and without quotes in JSON.
    Number,
    /// `t` and `f`.
    Boolean,
    /// Anything else.
    Text,
}

impl Kind {
    pub(super) fn of(data_type: DataType) -> Kind {
        match data_type {
            DataType::SmallInt | DataType::Integer | DataType::BigInt => Kind::Number,
            DataType::Real | DataType::DoublePrecision | DataType::Numeric { .. } => Kind::Number,
            DataType::Boolean => Kind::Boolean,
            _ => Kind::Text,
        }
    }

    /// The kind of a server's type, by its OID.
    pub(crate) fn of_oid(oid: u32) -> Kind {
        match oid {
            16 => Kind::Boolean,
            20 | 21 | 23 | 26 | 700 | 701 | 1700 => Kind::Number,
            _ => Kind::Text,
        }
    }
}
