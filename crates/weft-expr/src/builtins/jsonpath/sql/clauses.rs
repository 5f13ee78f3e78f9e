//! ON EMPTY and ON ERROR.

use weft_format::{Code, Error, Result, Value};

/// What is given instead of what is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instead {
    /// `n`: NULL, or UNKNOWN.
    Null,
    /// `e`
    Error,
    /// `d`: the value behind DEFAULT.
    Default,
    /// `a`: EMPTY ARRAY
    EmptyArray,
    /// `o`: EMPTY OBJECT
    EmptyObject,
    /// `t`
    True,
    /// `f`
    False,
}

impl Instead {
    /// That of a letter.
    pub(super) fn of(letter: char) -> Result<Instead> {
        Ok(match letter {
            'n' => Instead::Null,
            'e' => Instead::Error,
            'd' => Instead::Default,
            'a' => Instead::EmptyArray,
            'o' => Instead::EmptyObject,
            't' => Instead::True,
            'f' => Instead::False,
            _ => {
                return Err(Error::new(
                    Code::InvalidParameterValue,
                    format!("a clause of JSON functions is not \"{letter}\""),
                ));
            }
        })
    }

    /// Of functions that say whether something is there.
    pub(super) fn truth(self, error: Error) -> Result<Value> {
        match self {
            Instead::True => Ok(Value::Bool(true)),
            Instead::False => Ok(Value::Bool(false)),
            Instead::Null => Ok(Value::Null),
            _ => Err(error),
        }
    }
}

/// Whether ON ERROR answers an error: one of data. Memory that is out or a statement that was stopped is none.
pub(super) fn is_answered(error: &Error) -> bool {
    error.sqlstate().starts_with("22") || error.sqlstate().starts_with("23")
}
