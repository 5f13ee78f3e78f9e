//! The SQL parser as it is used here, and its errors with their places.

use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};
use weft_format::{Code, Error, Result};

use super::dialect::WeftDialect;
use super::position;

/// How deep expressions, queries and statements may nest.
const NESTING_MAX: usize = 96;

pub(super) fn parser(tokens: &[TokenWithSpan]) -> Parser<'static> {
    let is_history =
        |token: &TokenWithSpan| matches!(&token.token, Token::Word(word) if word.keyword == Keyword::SYSTEM_TIME);
    let has_history = tokens.iter().any(is_history);
    let dialect = if has_history { &WeftDialect::WITH_HISTORY } else { &WeftDialect::PLAIN };
    Parser::new(dialect).with_recursion_limit(NESTING_MAX).with_tokens_with_locations(tokens.to_vec())
}

pub(super) fn expect_end(source: &str, parser: &Parser<'_>) -> Result<()> {
    let next = parser.peek_token_ref();
    if next.token == Token::EOF {
        return Ok(());
    }
    let error = Error::new(Code::SyntaxError, format!("syntax error at or near \"{}\"", next.token));
    Err(position::place(error, source, next.span))
}

pub(super) fn syntax_error(source: &str, parser: &Parser<'_>, error: ParserError) -> Error {
    match error {
        ParserError::RecursionLimitExceeded => {
            Error::new(Code::StatementTooComplex, format!("the statement nests deeper than {NESTING_MAX} levels"))
                .hint("split it into several statements")
        }
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
            let (text, location) = position::split_location(&message);
            let span = parser.peek_token_ref().span;
            let error = Error::new(Code::SyntaxError, format!("syntax error: {text}"));
            match location {
                Some((line, column)) => match position::position_of(source, line, column) {
                    Some(position) => error.at(position),
                    None => error,
                },
                None if parser.peek_token_ref().token == Token::EOF => error.at(source.chars().count() + 1),
                None => position::place(error, source, span),
            }
        }
    }
}
