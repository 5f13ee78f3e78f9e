//! FORCE_ARRAY of COPY, which the SQL parser does not know.
//!
//! ```text
//!   COPY t TO STDOUT (FORMAT json, FORCE_ARRAY)        (FORMAT json, ENCODING '␀force_array')
//!   COPY t TO STDOUT (FORCE_ARRAY off, FORMAT json)    (ENCODING '␀', FORMAT json)
//! ```
//!
//! `␀` is a NUL, which no text of SQL has.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What stands for FORCE_ARRAY as an encoding.
pub(crate) const FORCE_ARRAY: &str = "\0force_array";
/// The same where it is switched off.
pub(crate) const NO_FORCE_ARRAY: &str = "\0";

/// Writes the option as one that the parser knows.
pub(super) fn with_force_array(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let is_word = |token: &TokenWithSpan, text: &str| match &token.token {
        Token::Word(word) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text),
        _ => false,
    };
    let mut words = tokens.iter().enumerate().filter(|(_, token)| !is_blank(token));
    if !words.next().is_some_and(|(_, first)| is_word(first, "copy")) {
        return tokens;
    }
    let (mut depth, mut is_behind) = (0_usize, false);
    let found = words.find(|(_, token)| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            // What stands before it is a query, or names of columns.
            _ => is_behind |= depth == 0 && (is_word(token, "to") || is_word(token, "from")),
        }
        is_behind && depth == 1 && is_word(token, "force_array")
    });
    let Some((at, _)) = found else { return tokens };
    let said = words.next().map(|(at, token)| (at, token.token.to_string().to_ascii_lowercase()));
    let switch = said.and_then(|(at, said)| match said.trim_matches('\'') {
        "on" | "1" | "true" => Some((at, FORCE_ARRAY)),
        "off" | "0" | "false" => Some((at, NO_FORCE_ARRAY)),
        _ => None,
    });
    let span = tokens[at].span;
    tokens[at].token = Token::make_keyword("ENCODING");
    match switch {
        Some((at, value)) => tokens[at].token = Token::SingleQuotedString(value.to_owned()),
        None => tokens.insert(at + 1, TokenWithSpan { token: Token::SingleQuotedString(FORCE_ARRAY.to_owned()), span }),
    }
    tokens
}
