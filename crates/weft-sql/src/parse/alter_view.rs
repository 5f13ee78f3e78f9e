//! ALTER VIEW: what changes of a view but its name, its schema and its owner.
//!
//! ```text
//!   ALTER VIEW v SET (check_option = local, security_invoker)     ALTER VIEW v RESET (check_option)
//!   ALTER VIEW v ALTER COLUMN a SET DEFAULT 7                      ALTER VIEW v RENAME COLUMN a TO b
//! ```

use sqlparser::ast::{Expr, Ident, SqlOption, Value};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::lexemes::word;
use super::names::fold;

/// What changes of a view.
#[derive(Clone, Debug, PartialEq)]
pub enum ViewChange {
    /// SET (options)
    Set(Vec<SqlOption>),
    /// RESET (options)
    Reset(Vec<String>),
    /// ALTER COLUMN ... SET DEFAULT
    SetDefault(String, Box<Expr>),
    /// ALTER COLUMN ... DROP DEFAULT
    DropDefault(String),
    /// RENAME COLUMN ... TO
    RenameColumn(String, String),
}

/// Reads such a change behind the name of a view; none when it is another.
pub(super) fn view_change(parser: &mut Parser<'_>) -> Result<Option<ViewChange>, ParserError> {
    if parser.parse_keyword(Keyword::SET) {
        parser.expect_token(&Token::LParen)?;
        let options = parser.parse_comma_separated(option)?;
        parser.expect_token(&Token::RParen)?;
        return Ok(Some(ViewChange::Set(options)));
    }
    if word(parser, "reset") {
        parser.expect_token(&Token::LParen)?;
        let names = parser.parse_comma_separated(Parser::parse_identifier)?;
        parser.expect_token(&Token::RParen)?;
        return Ok(Some(ViewChange::Reset(names.iter().map(fold).collect())));
    }
    if parser.parse_keyword(Keyword::RENAME) {
        let _ = parser.parse_keyword(Keyword::COLUMN);
        let old = parser.parse_identifier()?;
        parser.expect_keyword(Keyword::TO)?;
        return Ok(Some(ViewChange::RenameColumn(fold(&old), fold(&parser.parse_identifier()?))));
    }
    if parser.parse_keyword(Keyword::ALTER) {
        let _ = parser.parse_keyword(Keyword::COLUMN);
        let column = fold(&parser.parse_identifier()?);
        if parser.parse_keywords(&[Keyword::DROP, Keyword::DEFAULT]) {
            return Ok(Some(ViewChange::DropDefault(column)));
        }
        parser.expect_keywords(&[Keyword::SET, Keyword::DEFAULT])?;
        return Ok(Some(ViewChange::SetDefault(column, Box::new(parser.parse_expr()?))));
    }
    Ok(None)
}

/// `name = value`, or a name that is on.
fn option(parser: &mut Parser<'_>) -> Result<SqlOption, ParserError> {
    let key: Ident = parser.parse_identifier()?;
    let value = match parser.consume_token(&Token::Eq) {
        true => parser.parse_expr()?,
        false => Expr::Value(Value::Boolean(true).into()),
    };
    Ok(SqlOption::KeyValue { key, value })
}
