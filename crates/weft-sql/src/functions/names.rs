//! The names of functions in stored queries, which survive their renaming.

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::tokenizer::{Token, Tokenizer};
use weft_format::{Code, Error, Result};

use crate::parse::{Parsed, WeftDialect, parse};

/// What they begin with.
const FIXED: &str = "weft.function.";

/// The name of a function in stored queries.
pub(crate) fn fixed_name(id: u32) -> ObjectName {
    ObjectName::from(vec![Ident::with_quote('"', format!("{FIXED}{id}"))])
}

/// The number in a fixed name.
pub(crate) fn of_fixed_name(name: &ObjectName) -> Option<u32> {
    match name.0.as_slice() {
        [part] => of_fixed_text(&part.as_ident()?.value),
        _ => None,
    }
}

/// As [`of_fixed_name`], of its text.
pub(crate) fn of_fixed_text(text: &str) -> Option<u32> {
    text.strip_prefix(FIXED)?.parse().ok()
}

/// The statements of a text that a user wrote.
pub(crate) fn parse_written(text: &str) -> Result<Vec<Parsed>> {
    check_written(text)?;
    parse(text)
}

/// Fails for a text of a user that has such a name.
pub(crate) fn check_written(text: &str) -> Result<()> {
    if !text.contains(FIXED) {
        return Ok(());
    }
    // What cannot be read is no statement, either.
    let Ok(tokens) = Tokenizer::new(&WeftDialect::PLAIN, text).tokenize() else { return Ok(()) };
    let is_fixed = |token: &&Token| matches!(token, Token::Word(word) if word.value.starts_with(FIXED));
    match tokens.iter().find(is_fixed) {
        Some(token) => {
            let message = format!("names that begin with \"{FIXED}\" are the system's: {token}");
            Err(Error::new(Code::InvalidName, message).hint("call the function by its own name"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_names_are_not_written_by_users() {
        assert_eq!(of_fixed_name(&fixed_name(7)), Some(7));
        assert!(parse_written("SELECT 'weft.function.7', \"weft\"").is_ok());
        for text in ["SELECT \"weft.function.7\"(1)", "SELECT 1; SELECT * FROM \"weft.function.12\"()"] {
            assert_eq!(parse_written(text).map(|_| ()).map_err(|error| error.code()), Err(Code::InvalidName), "{text}");
        }
    }
}
