//! SQL text to syntax trees: PostgreSQL's dialect, plus `USING method` of CREATE TABLE and WHERE of ON CONFLICT.
//!
//! ```text
//!   "CREATE TABLE t (a int) USING column; CHECKPOINT"
//!     tokens ── split at ; ──┬─ CREATE TABLE t (a int) [USING column]   CreateTable, method "column"
//!                            └─ CHECKPOINT                              Checkpoint
//! ```
//!
//! 1. Whatever the text, the answer is a tree or an error with SQLSTATE; the stack is bounded: nesting by the parser's
//!    own limit, chains of operators (`1 + 1 + 1 ...`, which become deep trees without nesting) by a count of tokens.
//! 2. Positions in errors count characters of the whole text, from 1.

mod conflict;
mod constraints;
mod dialect;
mod names;
mod own;
mod position;
mod rights;
mod subqueries;
mod tokens;
mod values;

pub use conflict::{conflict_parts, conflict_rows, has_overriding, overriding};
pub use dialect::WeftDialect;
pub use names::{fold, table_name};
pub use own::{AlterSequence, CreateSequence, Own};
pub use position::{position_of, span_position};
pub(crate) use rights::{Grant, GrantRoles, On, Owned, RightsStatement, RoleName, RoleOption};
pub use values::{LiteralKind, Literals, scan_literals};

use sqlparser::ast::{Expr, Statement};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};
use weft_format::{Code, Error, Result};

/// How deep expressions, queries and statements may nest.
const NESTING_MAX: usize = 96;

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// A statement of the SQL parser, and the method taken out of CREATE TABLE.
    Sql {
        /// The tree.
        statement: Box<Statement>,
        /// The word behind USING, folded.
        method: Option<String>,
    },
    /// CHECKPOINT
    Checkpoint,
    /// A statement that the SQL parser does not know.
    Own(Own),
    /// SET CONSTRAINTS
    SetConstraints {
        /// The constraints, folded; none: ALL.
        names: Option<Vec<String>>,
        /// DEFERRED or IMMEDIATE.
        deferred: bool,
    },
}

/// Parses a text of any number of statements; empty ones are left out.
pub fn parse(source: &str) -> Result<Vec<Parsed>> {
    if let Some(at) = source.find('\0') {
        let error = Error::new(Code::CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x00");
        return Err(error.hint("take the NUL out of the text").at(source[..at].chars().count() + 1));
    }
    let tokens = tokens::tokenize(source)?;
    let mut parsed = Vec::new();
    for statement in tokens.split(|token| token.token == Token::SemiColon) {
        if statement.iter().any(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF)) {
            parsed.push(parse_one(source, statement)?);
        }
    }
    Ok(parsed)
}

/// Parses an expression that stands alone (a stored DEFAULT or CHECK).
pub fn parse_expression(source: &str) -> Result<Expr> {
    let tokens = tokens::tokenize(source)?;
    tokens::check_chains(source, &tokens)?;
    whole_expression(source, &tokens)
}

fn whole_expression(source: &str, tokens: &[TokenWithSpan]) -> Result<Expr> {
    let mut parser = parser(tokens);
    let expr = parser.parse_expr().map_err(|error| syntax_error(source, &parser, error))?;
    expect_end(source, &parser)?;
    Ok(expr)
}

fn parse_one(source: &str, statement: &[TokenWithSpan]) -> Result<Parsed> {
    tokens::check_chains(source, statement)?;
    if let Some(parsed) = tokens::own_statement(statement) {
        return Ok(parsed);
    }
    if let Some(own) = own::own_statement(source, statement)? {
        return Ok(Parsed::Own(own));
    }
    if constraints::is_set_constraints(statement) {
        return constraints::set_constraints(source, parser(statement));
    }
    let (tokens, method) = tokens::take_method(source, statement)?;
    let tokens = tokens::with_plain_copy_options(tokens::without_concurrently(tokens));
    let (tokens, overriding) = own::take_overriding(tokens);
    let tokens = own::order_identity_options(own::without_freeze(tokens));
    let (tokens, taken) = conflict::take_conflict(tokens);
    let tokens = subqueries::written_plainly(tokens);
    let mut parser = parser(&tokens);
    let mut tree = parser
        .parse_statement()
        .map_err(|error| syntax_error(source, &parser, error))
        .and_then(|tree| expect_end(source, &parser).map(|()| tree))
        .map_err(|error| tokens::unknown_clause(source, &tokens).unwrap_or(error))?;
    let expression = |tokens: Vec<TokenWithSpan>| whole_expression(source, &tokens);
    conflict::put_conflict(
        &mut tree,
        taken.rows.map(expression).transpose()?,
        taken.parts.map(expression).transpose()?,
    )?;
    conflict::put_overriding(&mut tree, overriding);
    Ok(Parsed::Sql { statement: Box::new(tree), method })
}

fn parser(tokens: &[TokenWithSpan]) -> Parser<'static> {
    Parser::new(&WeftDialect).with_recursion_limit(NESTING_MAX).with_tokens_with_locations(tokens.to_vec())
}

fn expect_end(source: &str, parser: &Parser<'_>) -> Result<()> {
    let next = parser.peek_token_ref();
    if next.token == Token::EOF {
        return Ok(());
    }
    let error = Error::new(Code::SyntaxError, format!("syntax error at or near \"{}\"", next.token));
    Err(position::place(error, source, next.span))
}

fn syntax_error(source: &str, parser: &Parser<'_>, error: ParserError) -> Error {
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
                Some((line, column)) => match position_of(source, line, column) {
                    Some(position) => error.at(position),
                    None => error,
                },
                None if parser.peek_token_ref().token == Token::EOF => error.at(source.chars().count() + 1),
                None => position::place(error, source, span),
            }
        }
    }
}

#[cfg(test)]
mod tests;
