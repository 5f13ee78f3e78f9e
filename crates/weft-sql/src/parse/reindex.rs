//! `REINDEX [(VERBOSE, ...)] { INDEX | TABLE | SCHEMA | DATABASE } [CONCURRENTLY] name`.

use sqlparser::ast::ObjectName;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::lexemes::word;

/// REINDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct Reindex {
    /// Of what.
    pub of: Reindexed,
    /// Its name.
    pub name: ObjectName,
    /// CONCURRENTLY
    pub concurrently: bool,
}

impl Reindex {
    /// Whether it must not be part of a transaction.
    pub fn is_alone(&self) -> bool {
        self.concurrently || matches!(self.of, Reindexed::Schema | Reindexed::Database)
    }
}

/// Whose indexes are made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reindexed {
    /// An index.
    Index,
    /// All of a table.
    Table,
    /// All of a schema's tables.
    Schema,
    /// All of the database.
    Database,
}

/// Reads it behind its first word.
pub(super) fn reindex(parser: &mut Parser<'_>) -> Result<Reindex, ParserError> {
    let mut concurrently = false;
    if parser.consume_token(&Token::LParen) {
        loop {
            let option = parser.next_token();
            let name = option.to_string().to_lowercase();
            let is_off = ["false", "off", "0"].iter().any(|off| word(parser, off));
            let _ = ["true", "on", "1"].iter().any(|on| word(parser, on));
            match name.as_str() {
                "verbose" => {}
                "concurrently" => concurrently = !is_off,
                _ => {
                    return Err(ParserError::ParserError(format!("unrecognized REINDEX option \"{name}\"")));
                }
            }
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        parser.expect_token(&Token::RParen)?;
    }
    let of = match parser.parse_one_of_keywords(&[Keyword::INDEX, Keyword::TABLE, Keyword::SCHEMA, Keyword::DATABASE]) {
        Some(Keyword::INDEX) => Reindexed::Index,
        Some(Keyword::TABLE) => Reindexed::Table,
        Some(Keyword::SCHEMA) => Reindexed::Schema,
        Some(_) => Reindexed::Database,
        None => return parser.expected("INDEX, TABLE, SCHEMA or DATABASE", parser.peek_token()),
    };
    concurrently |= parser.parse_keyword(Keyword::CONCURRENTLY);
    Ok(Reindex { of, name: parser.parse_object_name(false)?, concurrently })
}
