//! Errors of paths, and of items that a path does not fit.

use weft_format::{Code, Error};

use crate::text::shorten;

/// Which of PostgreSQL's SQLSTATEs an error has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// 2203A
    MemberNotFound,
    /// 22039
    ArrayNotFound,
    /// 2203C
    ObjectNotFound,
    /// 2203B
    NumberNotFound,
    /// 22033
    Subscript,
    /// 22036
    NonNumeric,
    /// 22038
    SingletonRequired,
    /// 22031
    Datetime,
}

impl Kind {
    fn code(self) -> Code {
        match self {
            Kind::MemberNotFound => Code::JsonMemberNotFound,
            Kind::ArrayNotFound => Code::JsonArrayNotFound,
            Kind::ObjectNotFound => Code::JsonObjectNotFound,
            Kind::NumberNotFound => Code::JsonNumberNotFound,
            Kind::Subscript => Code::JsonSubscript,
            Kind::NonNumeric => Code::JsonNonNumeric,
            Kind::SingletonRequired => Code::JsonSingletonRequired,
            Kind::Datetime => Code::JsonDatetime,
        }
    }

    /// An error of this kind.
    pub(super) fn error(self, message: impl Into<String>) -> Error {
        Error::new(self.code(), message)
    }
}

/// An error of a path's text; `near` is what was read last of it.
pub(super) fn near(what: &str, near: &str) -> Error {
    let message = match near {
        "" => format!("{what} at end of jsonpath input"),
        near => format!("{what} at or near \"{}\" of jsonpath input", shorten(near)),
    };
    Error::new(Code::SyntaxError, message)
}

/// An error of a path that is well-formed and yet none.
pub(super) fn syntax(message: impl Into<String>) -> Error {
    Error::new(Code::SyntaxError, message)
}

/// An error of halves of a character that do not fit.
pub(super) fn bad_surrogate(why: &str) -> Error {
    Error::new(Code::InvalidText, "invalid input syntax for type jsonpath").detail(format!("Unicode {why} surrogate."))
}

/// An error of a method that is called on an item of another kind.
pub(super) fn only_to(kind: Kind, method: &str, what: &str) -> Error {
    kind.error(format!("jsonpath item method .{method}() can only be applied to {what}"))
}

/// An error of a path that takes too long or nests too deeply.
pub(super) fn too_complex(message: &str) -> Error {
    Error::new(Code::StatementTooComplex, message).hint("use a simpler path")
}
