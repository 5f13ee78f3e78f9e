//! LOCK TABLE, which the SQL parser does not know.
//!
//! ```text
//!   LOCK TABLE ONLY a, s.b IN SHARE MODE NOWAIT      tables a and s.b, mode "share", no wait
//!   LOCK a                                           tables a, mode "access exclusive"
//! ```

use sqlparser::ast::ObjectName;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::lexemes::word;

/// The modes, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableLock {
    /// ACCESS SHARE
    AccessShare,
    /// ROW SHARE
    RowShare,
    /// ROW EXCLUSIVE
    RowExclusive,
    /// SHARE UPDATE EXCLUSIVE
    ShareUpdateExclusive,
    /// SHARE
    Share,
    /// SHARE ROW EXCLUSIVE
    ShareRowExclusive,
    /// EXCLUSIVE
    Exclusive,
    /// ACCESS EXCLUSIVE
    AccessExclusive,
}

/// LOCK TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct LockTables {
    /// Tables and views, in order.
    pub names: Vec<ObjectName>,
    /// The mode.
    pub mode: TableLock,
    /// NOWAIT
    pub nowait: bool,
}

/// The words of the modes; those that begin another come behind it.
const MODES: &[(&[&str], TableLock)] = &[
    (&["access", "share"], TableLock::AccessShare),
    (&["access", "exclusive"], TableLock::AccessExclusive),
    (&["row", "share"], TableLock::RowShare),
    (&["row", "exclusive"], TableLock::RowExclusive),
    (&["share", "update", "exclusive"], TableLock::ShareUpdateExclusive),
    (&["share", "row", "exclusive"], TableLock::ShareRowExclusive),
    (&["share"], TableLock::Share),
    (&["exclusive"], TableLock::Exclusive),
];

/// Reads what follows LOCK.
pub(super) fn lock_tables(parser: &mut Parser<'_>) -> Result<LockTables, ParserError> {
    let _ = parser.parse_keyword(Keyword::TABLE);
    let names = parser.parse_comma_separated(|parser| {
        let parenthesis = word(parser, "only") && parser.consume_token(&Token::LParen);
        let name = parser.parse_object_name(false)?;
        if parenthesis {
            parser.expect_token(&Token::RParen)?;
        } else {
            let _ = parser.consume_token(&Token::Mul);
        }
        Ok(name)
    })?;
    let mut mode = TableLock::AccessExclusive;
    if parser.parse_keyword(Keyword::IN) {
        mode = match MODES.iter().find(|(words, _)| takes(parser, words)) {
            Some((_, mode)) => *mode,
            None => return parser.expected("a lock mode", parser.peek_token()),
        };
        if !word(parser, "mode") {
            return parser.expected("MODE", parser.peek_token());
        }
    }
    Ok(LockTables { names, mode, nowait: word(parser, "nowait") })
}

/// Takes words when all of them are there.
fn takes(parser: &mut Parser<'_>, words: &[&str]) -> bool {
    let is_there = words.iter().enumerate().all(|(at, text)| {
        matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
    });
    if is_there {
        words.iter().for_each(|_| drop(parser.next_token()));
    }
    is_there
}
