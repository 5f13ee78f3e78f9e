//! Operations of ALTER TABLE that the SQL parser does not know.
//!
//! ```text
//!   ALTER TABLE t ADD a int, ALTER CONSTRAINT c DEFERRABLE
//!   ALTER TABLE t ADD a int, SET ("␀" = 'ALTER CONSTRAINT c DEFERRABLE')
//! ```
//!
//! `␀` is a NUL, which no text of SQL has. The text is read again when the operation runs.

use sqlparser::ast::{Expr, SqlOption, Value};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};
use weft_format::{Code, Error, Result};

use super::lexemes::word;
use super::names::fold;
use super::parser::{expect_end, parser, syntax_error};
use super::tokens::tokenize;

/// The name of the option that stands for an operation.
const OPERATION: &str = "\0";

/// An operation of ALTER TABLE that the SQL parser does not know.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TableOperation {
    /// ALTER CONSTRAINT: its name; whether it is deferrable, and initially deferred, where that is said.
    AlterConstraint(String, Option<bool>, Option<bool>),
}

/// Writes the operations that the SQL parser does not know as ones that it knows.
pub(super) fn with_known_operations(source: &str, tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    let Some(first) = operations(&tokens) else { return Ok(tokens) };
    let mut made = tokens[..first].to_vec();
    let mut rest = &tokens[first..];
    loop {
        let end = end_of_operation(rest);
        let operation = &rest[..end];
        let mut parser = parser(operation);
        match table_operation(&mut parser).map_err(|error| syntax_error(source, &parser, error))? {
            Some(_) => {
                expect_end(source, &parser)?;
                made.extend(known(operation));
            }
            None => made.extend_from_slice(operation),
        }
        let Some(comma) = rest.get(end) else { return Ok(made) };
        made.push(comma.clone());
        rest = &rest[end + 1..];
    }
}

/// The operation that an option of SET stands for.
pub(crate) fn operation_of(options: &[SqlOption]) -> Result<Option<TableOperation>> {
    let [SqlOption::KeyValue { key, value: Expr::Value(value) }] = options else { return Ok(None) };
    let (true, Value::SingleQuotedString(text)) = (key.value == OPERATION, &value.value) else { return Ok(None) };
    let tokens = tokenize(text)?;
    let mut parser = parser(&tokens);
    let read = table_operation(&mut parser).map_err(|error| syntax_error(text, &parser, error))?;
    read.map(Some).ok_or_else(|| Error::new(Code::Internal, format!("an operation of ALTER TABLE is lost: {text}")))
}

/// Where the operations of ALTER TABLE begin.
fn operations(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut words = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let mut next_is = |keyword: Keyword| match words.next().map(|token| &token.token) {
        Some(Token::Word(word)) => word.keyword == keyword,
        _ => false,
    };
    if !next_is(Keyword::ALTER) || !next_is(Keyword::TABLE) {
        return None;
    }
    let mut parser = parser(tokens);
    if !parser.parse_keywords(&[Keyword::ALTER, Keyword::TABLE]) {
        return None;
    }
    let _ = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let _ = word(&mut parser, "only");
    parser.parse_object_name(false).ok()?;
    let _ = parser.consume_token(&Token::Mul);
    let next = parser.peek_token_ref();
    tokens.iter().position(|token| token.span == next.span && token.token == next.token)
}

/// Where an operation ends: at a comma outside of parentheses.
fn end_of_operation(tokens: &[TokenWithSpan]) -> usize {
    let mut depth = 0;
    let ends = |token: &TokenWithSpan| {
        depth += i32::from(token.token == Token::LParen) - i32::from(token.token == Token::RParen);
        depth == 0 && token.token == Token::Comma
    };
    tokens.iter().position(ends).unwrap_or(tokens.len())
}

/// `SET ("␀" = 'the operation')`
fn known(operation: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let text: String = operation.iter().map(|token| token.token.to_string()).collect();
    let name = Word { value: OPERATION.into(), quote_style: Some('"'), keyword: Keyword::NoKeyword };
    let span = operation.first().map(|token| token.span).unwrap_or_else(sqlparser::tokenizer::Span::empty);
    let written = [
        Token::Whitespace(Whitespace::Space),
        Token::make_keyword("SET"),
        Token::LParen,
        Token::Word(name),
        Token::Eq,
        Token::SingleQuotedString(text.trim().to_owned()),
        Token::RParen,
    ];
    written.into_iter().map(|token| TokenWithSpan { token, span }).collect()
}

/// Reads an operation; none when the SQL parser is to read it.
fn table_operation(parser: &mut Parser<'_>) -> std::result::Result<Option<TableOperation>, ParserError> {
    if parser.parse_keywords(&[Keyword::ALTER, Keyword::CONSTRAINT]) {
        let name = fold(&parser.parse_identifier()?);
        let said = parser.parse_constraint_characteristics()?.unwrap_or_default();
        if said.enforced.is_some() {
            return parser.expected("DEFERRABLE or INITIALLY", parser.peek_token());
        }
        let deferred = said.initially.map(|when| when == sqlparser::ast::DeferrableInitial::Deferred);
        return Ok(Some(TableOperation::AlterConstraint(name, said.deferrable, deferred)));
    }
    Ok(None)
}
