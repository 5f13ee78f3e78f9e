//! Statements and clauses of PostgreSQL that the SQL parser does not know.
//!
//! ```text
//!   VACUUM (ANALYZE, VERBOSE) a, b      ANALYZE a (x)      ALTER SEQUENCE s RESTART WITH 7 OWNED BY t.id
//!   BACKUP TO '/backups/shop'           BEGIN READ ONLY AS OF '2026-11-27 10:00'
//!   COMMENT ON CONSTRAINT t_pkey ON t IS 'x'
//!   ALTER TABLE t SET SCHEMA s          INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (1)
//! ```

use sqlparser::ast::{DataType, Expr, FetchDirection, Ident, ObjectName, SequenceOptions, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};
use weft_format::Result;

use super::alter_view::{ViewChange, view_change};
use super::domains::{DomainStatement, alter_domain, create_domain, drop_domain};
use super::functions::{FunctionStatement, function_statement};
use super::history::{AsOf, as_of};
use super::lexemes::{is_word, word};
use super::lock::{LockTables, lock_tables};
use super::names::fold;
use super::parser::{expect_end, parser, syntax_error};
use super::reindex::{Reindex, reindex};
use super::rights::{RightsStatement, may_be_rights, rights_statement};

/// A statement that the SQL parser does not know.
#[derive(Clone, Debug, PartialEq)]
pub enum Own {
    /// VACUUM, of all tables or some; with ANALYZE, too.
    Vacuum(Vec<ObjectName>, bool),
    /// ANALYZE, of all tables or some.
    Analyze(Vec<ObjectName>),
    /// CREATE SEQUENCE, whose options come in any order.
    CreateSequence(Box<CreateSequence>),
    /// ALTER SEQUENCE
    AlterSequence(Box<AlterSequence>),
    /// ALTER TABLE, VIEW or SEQUENCE ... SET SCHEMA: which, IF EXISTS, the schema.
    SetSchema(ObjectName, bool, String),
    /// ALTER VIEW or SEQUENCE ... RENAME TO: which, IF EXISTS, the new name.
    Rename(ObjectName, bool, ObjectName),
    /// ALTER VIEW: which, IF EXISTS, what changes.
    AlterView(Box<(ObjectName, bool, ViewChange)>),
    /// MOVE: as FETCH, without the rows.
    Move(Ident, FetchDirection),
    /// ALTER SCHEMA ... RENAME TO
    RenameSchema(String, String),
    /// A statement about roles and rights.
    Rights(Box<RightsStatement>),
    /// SELECT set_config(name, value, only for the transaction)
    SetConfig(String, String, bool),
    /// REFRESH MATERIALIZED VIEW
    Refresh(Refresh),
    /// LOCK TABLE
    Lock(LockTables),
    /// ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY: the table, IF EXISTS of it, the column, IF EXISTS of the
    /// identity.
    DropIdentity(ObjectName, bool, String, bool),
    /// COMMENT ON CONSTRAINT: its name, the table, the text.
    CommentOnConstraint(String, ObjectName, Option<String>),
    /// BACKUP TO a directory of the machine that the database is on.
    Backup(String),
    /// BEGIN or SET TRANSACTION ... AS OF a moment.
    AsOf(Box<AsOf>),
    /// CREATE, ALTER and DROP DOMAIN
    Domain(Box<DomainStatement>),
    /// REINDEX
    Reindex(Reindex),
    /// CREATE, ALTER and DROP FUNCTION
    Function(Box<FunctionStatement>),
}

/// REFRESH MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct Refresh {
    /// Which.
    pub name: ObjectName,
    /// CONCURRENTLY
    pub concurrently: bool,
    /// Not WITH NO DATA.
    pub with_data: bool,
}

/// CREATE SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    /// Which.
    pub name: ObjectName,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// AS a type.
    pub data_type: Option<DataType>,
    /// Options.
    pub options: Vec<SequenceOptions>,
    /// OWNED BY a column.
    pub owned_by: Option<ObjectName>,
}

/// ALTER SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSequence {
    /// Which.
    pub name: ObjectName,
    /// IF EXISTS
    pub if_exists: bool,
    /// Options that change.
    pub options: Vec<SequenceOptions>,
    /// RESTART, perhaps WITH a number.
    pub restart: Option<Option<Expr>>,
    /// OWNED BY a column, or NONE.
    pub owned_by: Option<Option<ObjectName>>,
}

/// Parses such a statement; none when it is another.
pub(super) fn own_statement(source: &str, tokens: &[TokenWithSpan]) -> Result<Option<Own>> {
    if may_be_rights(tokens) {
        let mut parser = parser(tokens);
        let parsed = rights_statement(&mut parser).map_err(|error| syntax_error(source, &parser, error))?;
        if let Some(parsed) = parsed {
            expect_end(source, &parser)?;
            return Ok(Some(Own::Rights(Box::new(parsed))));
        }
    }
    if let Some(set) = set_config(tokens) {
        return Ok(Some(set));
    }
    if let Some(as_of) = as_of(source, tokens)? {
        return Ok(Some(Own::AsOf(Box::new(as_of))));
    }
    let mut of_domains = parser(tokens);
    let domain = domain_statement(&mut of_domains).map_err(|error| syntax_error(source, &of_domains, error))?;
    if let Some(domain) = domain {
        expect_end(source, &of_domains)?;
        return Ok(Some(Own::Domain(Box::new(domain))));
    }
    if begins_with(tokens, &["create", "alter", "drop", "comment"]) {
        let mut parser = parser(tokens);
        let function = function_statement(&mut parser).map_err(|error| syntax_error(source, &parser, error))?;
        if let Some(function) = function {
            expect_end(source, &parser)?;
            return Ok(Some(Own::Function(Box::new(function))));
        }
    }
    let mut parser = parser(tokens);
    let parsed = statement(&mut parser).map_err(|error| syntax_error(source, &parser, error))?;
    if parsed.is_some() {
        expect_end(source, &parser)?;
    }
    Ok(parsed)
}

/// `SELECT pg_catalog.set_config('search_path', '', false)`, as scripts of pg_dump begin.
fn set_config(tokens: &[TokenWithSpan]) -> Option<Own> {
    let mut words = words(tokens);
    if words.get(2).is_some_and(|&at| tokens[at].token == Token::Period) && is_word(&tokens[words[1]], "pg_catalog") {
        words.drain(1..3);
    }
    let [select, function, open, name, _, value, _, local, close] = words[..] else { return None };
    let is_it = is_word(&tokens[select], "select") && is_word(&tokens[function], "set_config");
    if !is_it || tokens[open].token != Token::LParen || tokens[close].token != Token::RParen {
        return None;
    }
    let (Token::SingleQuotedString(name), Token::SingleQuotedString(value)) =
        (&tokens[name].token, &tokens[value].token)
    else {
        return None;
    };
    let local = match &tokens[local] {
        word if is_word(word, "true") => true,
        word if is_word(word, "false") => false,
        _ => return None,
    };
    Some(Own::SetConfig(name.to_lowercase(), value.clone(), local))
}

fn statement(parser: &mut Parser<'_>) -> std::result::Result<Option<Own>, ParserError> {
    if parser.parse_keyword(Keyword::VACUUM) {
        let with_analyze = skip_options(parser, &["full", "freeze", "verbose", "analyze"])?;
        return Ok(Some(Own::Vacuum(tables(parser)?, with_analyze)));
    }
    if parser.parse_keyword(Keyword::ANALYZE) || word(parser, "analyse") {
        skip_options(parser, &["verbose"])?;
        return Ok(Some(Own::Analyze(tables(parser)?)));
    }
    if word(parser, "reindex") {
        return reindex(parser).map(|reindex| Some(Own::Reindex(reindex)));
    }
    if word(parser, "backup") {
        parser.expect_keyword(Keyword::TO)?;
        return Ok(Some(Own::Backup(parser.parse_literal_string()?)));
    }
    if parser.parse_keywords(&[Keyword::CREATE, Keyword::SEQUENCE]) {
        return create_sequence(parser).map(Some);
    }
    if word(parser, "refresh") {
        return refresh(parser).map(Some);
    }
    if word(parser, "lock") {
        return lock_tables(parser).map(|lock| Some(Own::Lock(lock)));
    }
    if parser.parse_keywords(&[Keyword::COMMENT, Keyword::ON, Keyword::CONSTRAINT]) {
        return comment_on_constraint(parser).map(Some);
    }
    if word(parser, "move") {
        return Ok(match parser.parse_fetch_statement()? {
            Statement::Fetch { name, direction, .. } => Some(Own::Move(name, direction)),
            _ => None,
        });
    }
    if !parser.parse_keyword(Keyword::ALTER) {
        return Ok(None);
    }
    if parser.parse_keyword(Keyword::SCHEMA) {
        let name = parser.parse_identifier()?;
        if !parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
            return Ok(None);
        }
        let new = parser.parse_identifier()?;
        return Ok(Some(Own::RenameSchema(fold(&name), fold(&new))));
    }
    let is_sequence = parser.parse_keyword(Keyword::SEQUENCE);
    let is_view = !is_sequence && parser.parse_keyword(Keyword::VIEW);
    if !is_sequence && !is_view && !parser.parse_keyword(Keyword::TABLE) {
        return Ok(None);
    }
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let Ok(name) = parser.parse_object_name(false) else { return Ok(None) };
    if parser.parse_keywords(&[Keyword::SET, Keyword::SCHEMA]) {
        let schema = fold(&parser.parse_identifier()?);
        return Ok(Some(Own::SetSchema(name, if_exists, schema)));
    }
    if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        let new = parser.parse_object_name(false)?;
        return Ok(Some(Own::Rename(name, if_exists, new)));
    }
    if is_view {
        let change = view_change(parser)?;
        return Ok(change.map(|change| Own::AlterView(Box::new((name, if_exists, change)))));
    }
    if parser.parse_keyword(Keyword::ALTER) {
        return drop_identity(parser, name, if_exists);
    }
    if is_sequence { alter_sequence(parser, name, if_exists).map(Some) } else { Ok(None) }
}

/// A statement about domains; none when it is about something else.
fn domain_statement(parser: &mut Parser<'_>) -> std::result::Result<Option<DomainStatement>, ParserError> {
    match parser.parse_one_of_keywords(&[Keyword::CREATE, Keyword::ALTER, Keyword::DROP]) {
        Some(Keyword::CREATE) => create_domain(parser),
        Some(Keyword::ALTER) => alter_domain(parser),
        Some(_) => drop_domain(parser),
        None => Ok(None),
    }
}

/// ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY
fn drop_identity(
    parser: &mut Parser<'_>,
    name: ObjectName,
    if_exists: bool,
) -> std::result::Result<Option<Own>, ParserError> {
    let _ = parser.parse_keyword(Keyword::COLUMN);
    let Ok(column) = parser.parse_identifier() else { return Ok(None) };
    if !parser.parse_keywords(&[Keyword::DROP, Keyword::IDENTITY]) {
        return Ok(None);
    }
    let is_known = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    Ok(Some(Own::DropIdentity(name, if_exists, fold(&column), is_known)))
}

fn comment_on_constraint(parser: &mut Parser<'_>) -> std::result::Result<Own, ParserError> {
    let name = fold(&parser.parse_identifier()?);
    parser.expect_keyword(Keyword::ON)?;
    let table = parser.parse_object_name(false)?;
    parser.expect_keyword(Keyword::IS)?;
    let text = if parser.parse_keyword(Keyword::NULL) { None } else { Some(parser.parse_literal_string()?) };
    Ok(Own::CommentOnConstraint(name, table, text))
}

fn refresh(parser: &mut Parser<'_>) -> std::result::Result<Own, ParserError> {
    parser.expect_keywords(&[Keyword::MATERIALIZED, Keyword::VIEW])?;
    let concurrently = parser.parse_keyword(Keyword::CONCURRENTLY);
    let name = parser.parse_object_name(false)?;
    let mut with_data = true;
    if parser.parse_keyword(Keyword::WITH) {
        with_data = !parser.parse_keyword(Keyword::NO);
        if !word(parser, "data") {
            return parser.expected("DATA", parser.peek_token());
        }
    }
    Ok(Own::Refresh(Refresh { name, concurrently, with_data }))
}

fn create_sequence(parser: &mut Parser<'_>) -> std::result::Result<Own, ParserError> {
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let data_type = if parser.parse_keyword(Keyword::AS) { Some(parser.parse_data_type()?) } else { None };
    let (mut options, mut owned_by) = (Vec::new(), None);
    loop {
        if parser.parse_keywords(&[Keyword::OWNED, Keyword::BY]) {
            let none = parser.parse_keyword(Keyword::NONE);
            owned_by = if none { None } else { Some(parser.parse_object_name(false)?) };
        } else if let Some(option) = sequence_option(parser)? {
            options.push(option);
        } else {
            let create = CreateSequence { name, if_not_exists, data_type, options, owned_by };
            return Ok(Own::CreateSequence(Box::new(create)));
        }
    }
}

fn alter_sequence(parser: &mut Parser<'_>, name: ObjectName, if_exists: bool) -> std::result::Result<Own, ParserError> {
    let mut alter = AlterSequence { name, if_exists, options: Vec::new(), restart: None, owned_by: None };
    loop {
        if parser.parse_keyword(Keyword::RESTART) {
            let with = parser.parse_keyword(Keyword::WITH);
            let is_number = matches!(parser.peek_token_ref().token, Token::Number(..) | Token::Minus | Token::Plus);
            alter.restart = Some(if with || is_number { Some(parser.parse_expr()?) } else { None });
        } else if parser.parse_keywords(&[Keyword::OWNED, Keyword::BY]) {
            let none = parser.parse_keyword(Keyword::NONE);
            alter.owned_by = Some(if none { None } else { Some(parser.parse_object_name(false)?) });
        } else if parser.parse_keyword(Keyword::AS) {
            parser.parse_data_type()?;
        } else {
            let option = sequence_option(parser)?;
            match option {
                Some(option) => alter.options.push(option),
                None => return Ok(Own::AlterSequence(Box::new(alter))),
            }
        }
    }
}

fn sequence_option(parser: &mut Parser<'_>) -> std::result::Result<Option<SequenceOptions>, ParserError> {
    let no = parser.parse_keyword(Keyword::NO);
    Ok(Some(if parser.parse_keyword(Keyword::INCREMENT) {
        let by = parser.parse_keyword(Keyword::BY);
        SequenceOptions::IncrementBy(parser.parse_expr()?, by)
    } else if parser.parse_keyword(Keyword::MINVALUE) {
        SequenceOptions::MinValue(if no { None } else { Some(parser.parse_expr()?) })
    } else if parser.parse_keyword(Keyword::MAXVALUE) {
        SequenceOptions::MaxValue(if no { None } else { Some(parser.parse_expr()?) })
    } else if parser.parse_keyword(Keyword::START) {
        let with = parser.parse_keyword(Keyword::WITH);
        SequenceOptions::StartWith(parser.parse_expr()?, with)
    } else if parser.parse_keyword(Keyword::CACHE) {
        SequenceOptions::Cache(parser.parse_expr()?)
    } else if parser.parse_keyword(Keyword::CYCLE) {
        SequenceOptions::Cycle(no)
    } else {
        return Ok(None);
    }))
}

/// Skips `(a, b on)`, or some words without parentheses.
fn skip_options(parser: &mut Parser<'_>, words: &[&str]) -> std::result::Result<bool, ParserError> {
    let mut with_analyze = false;
    if parser.consume_token(&Token::LParen) {
        while !parser.consume_token(&Token::RParen) {
            if word(parser, "analyze") {
                with_analyze = !["false", "off", "0"].iter().any(|no| word(parser, no));
            } else if parser.next_token().token == Token::EOF {
                return parser.expected("the end of the options", parser.peek_token());
            }
        }
        return Ok(with_analyze);
    }
    while let Some(found) = words.iter().find(|text| word(parser, text)) {
        with_analyze |= *found == "analyze";
    }
    Ok(with_analyze)
}

/// Tables, each perhaps with columns, which do not matter.
fn tables(parser: &mut Parser<'_>) -> std::result::Result<Vec<ObjectName>, ParserError> {
    let mut names = Vec::new();
    if parser.peek_token_ref().token == Token::EOF {
        return Ok(names);
    }
    loop {
        names.push(parser.parse_object_name(false)?);
        if parser.consume_token(&Token::LParen) {
            parser.parse_comma_separated(Parser::parse_identifier)?;
            parser.expect_token(&Token::RParen)?;
        }
        if !parser.consume_token(&Token::Comma) {
            return Ok(names);
        }
    }
}

/// Whether the first word is one of some.
fn begins_with(tokens: &[TokenWithSpan], first: &[&str]) -> bool {
    let word = tokens.iter().find(|token| !matches!(token.token, Token::Whitespace(_)));
    word.is_some_and(|word| first.iter().any(|text| is_word(word, text)))
}

/// The places of the tokens that are not blank.
fn words(tokens: &[TokenWithSpan]) -> Vec<usize> {
    (0..tokens.len()).filter(|&at| !matches!(tokens[at].token, Token::Whitespace(_))).collect()
}

/// Takes OVERRIDING SYSTEM VALUE or USER VALUE out of an INSERT.
pub(super) fn take_overriding(mut tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Option<&'static str>) {
    let words = words(&tokens);
    let is_insert = words.iter().take(16).any(|&at| is_word(&tokens[at], "insert"));
    if !is_insert {
        return (tokens, None);
    }
    for window in words.windows(3) {
        let [first, second, third] = [window[0], window[1], window[2]];
        if !is_word(&tokens[first], "overriding") || !is_word(&tokens[third], "value") {
            continue;
        }
        let what = ["system", "user"].into_iter().find(|what| is_word(&tokens[second], what));
        if what.is_some() {
            tokens.drain(first..=third);
            return (tokens, what);
        }
    }
    (tokens, None)
}

/// The order in which the SQL parser takes the options of a sequence.
const OPTION_ORDER: &[&str] = &["increment", "minvalue", "maxvalue", "start", "cache", "cycle"];

/// Brings the options behind each IDENTITY into the order that the SQL parser knows.
pub(super) fn order_identity_options(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let words = words(&tokens);
    let mut ordered = Vec::with_capacity(tokens.len());
    let mut done = 0;
    for pair in words.windows(2) {
        if pair[0] < done || !is_word(&tokens[pair[0]], "identity") || tokens[pair[1]].token != Token::LParen {
            continue;
        }
        let Some(end) = words.iter().copied().find(|&at| at > pair[1] && tokens[at].token == Token::RParen) else {
            continue;
        };
        ordered.extend_from_slice(&tokens[done..=pair[1]]);
        let rank = |token: &TokenWithSpan| OPTION_ORDER.iter().position(|word| is_word(token, word));
        // An option begins at its word, or at the NO before it.
        let mut options: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
        let mut no: Vec<TokenWithSpan> = Vec::new();
        // The sequence gets the name that those of columns have.
        let mut names_sequence = false;
        for token in &tokens[pair[1] + 1..end] {
            let begins_option = rank(token).is_some() || is_word(token, "no");
            names_sequence = !begins_option && (names_sequence || is_word(token, "sequence"));
            if names_sequence {
                continue;
            }
            match (rank(token), options.last_mut()) {
                (Some(rank), _) => {
                    let mut option = std::mem::take(&mut no);
                    option.push(token.clone());
                    options.push((rank, option));
                }
                _ if is_word(token, "no") || !no.is_empty() => no.push(token.clone()),
                (None, Some((_, option))) => option.push(token.clone()),
                (None, None) => no.push(token.clone()),
            }
        }
        options.sort_by_key(|(rank, _)| *rank);
        for (_, option) in options {
            ordered.extend(option);
            // Two options may have touched the same blank.
            ordered.push(TokenWithSpan::wrap(Token::Whitespace(sqlparser::tokenizer::Whitespace::Space)));
        }
        ordered.extend(no);
        done = end;
    }
    ordered.extend_from_slice(&tokens[done..]);
    ordered
}

/// Takes FREEZE out of the options of COPY, which means nothing here.
pub(super) fn without_freeze(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let words = words(&tokens);
    if !words.first().is_some_and(|&at| is_word(&tokens[at], "copy")) {
        return tokens;
    }
    let Some(place) = words.iter().position(|&at| is_word(&tokens[at], "freeze")) else { return tokens };
    let (mut from, mut to) = (words[place], words[place]);
    let next = words.get(place + 1).copied();
    if let Some(next) = next.filter(|&next| ["on", "off", "true", "false"].iter().any(|w| is_word(&tokens[next], w))) {
        to = next;
    }
    // With the comma before or behind; without other options the parentheses go, too.
    let before = place.checked_sub(1).map(|at| words[at]);
    let behind = words.iter().copied().find(|&at| at > to);
    let is = |at: Option<usize>, token: &Token| at.is_some_and(|at| tokens[at].token == *token);
    if is(before, &Token::Comma) {
        from = before.unwrap_or(from);
    } else if is(behind, &Token::Comma) {
        to = behind.unwrap_or(to);
    } else if is(before, &Token::LParen) && is(behind, &Token::RParen) {
        from = before.unwrap_or(from);
        to = behind.unwrap_or(to);
        let with = place.checked_sub(2).map(|at| words[at]);
        if let Some(with) = with.filter(|&with| is_word(&tokens[with], "with")) {
            from = with;
        }
    }
    tokens.drain(from..=to);
    tokens
}
