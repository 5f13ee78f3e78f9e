//! What asks for the past.
//!
//! ```text
//!   FROM t FOR SYSTEM_TIME AS OF now() - interval '1 hour' AS old        the SQL parser's, where a text has the words
//!   BEGIN READ ONLY AS OF '2026-11-27 10:00'                             BEGIN READ ONLY, and the moment
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FromTable, Query, Select, SetExpr, Statement, TableFactor, TableVersion, TransactionMode, Visitor, VisitorMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use weft_format::{Code, Error, Result};
use weft_walk::{Visit, VisitMut};

use super::lexemes::keyword;
use super::names::{fold, table_name};
use super::parser::{expect_end, parser, syntax_error};

/// What puts a transaction at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct AsOf {
    /// How it is said.
    pub verb: AsOfVerb,
    /// Its other modes.
    pub modes: Vec<TransactionMode>,
    /// The moment.
    pub at: Expr,
}

/// How a transaction is put at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOfVerb {
    /// BEGIN
    Begin,
    /// START TRANSACTION
    Start,
    /// SET TRANSACTION
    Set,
}

/// The places of the tokens that are not blank.
fn words(tokens: &[TokenWithSpan]) -> Vec<usize> {
    (0..tokens.len()).filter(|&at| !matches!(tokens[at].token, Token::Whitespace(_) | Token::EOF)).collect()
}

/// `BEGIN ... AS OF moment` and its like; none when it is another statement.
pub(super) fn as_of(source: &str, tokens: &[TokenWithSpan]) -> Result<Option<AsOf>> {
    let words = words(tokens);
    let word = |place: usize| words.get(place).map_or(Keyword::NoKeyword, |&at| keyword(&tokens[at]));
    let verb = match (word(0), word(1)) {
        (Keyword::BEGIN, _) => AsOfVerb::Begin,
        (Keyword::START, Keyword::TRANSACTION) => AsOfVerb::Start,
        (Keyword::SET, Keyword::TRANSACTION) => AsOfVerb::Set,
        _ => return Ok(None),
    };
    let Some(place) = (1..words.len()).find(|&place| word(place) == Keyword::AS && word(place + 1) == Keyword::OF)
    else {
        return Ok(None);
    };
    let is_bare = place == 2 && verb != AsOfVerb::Begin || place == 1;
    let modes = if is_bare { Vec::new() } else { modes_before(source, &tokens[..words[place]])? };
    let mut parser = parser(&tokens[words[place + 1] + 1..]);
    let at = parser.parse_expr().map_err(|error| syntax_error(source, &parser, error))?;
    expect_end(source, &parser)?;
    Ok(Some(AsOf { verb, modes, at }))
}

fn modes_before(source: &str, tokens: &[TokenWithSpan]) -> Result<Vec<TransactionMode>> {
    let mut parser = parser(tokens);
    let statement = parser.parse_statement().map_err(|error| syntax_error(source, &parser, error))?;
    expect_end(source, &parser)?;
    match statement {
        Statement::StartTransaction { modes, .. } => Ok(modes),
        Statement::Set(sqlparser::ast::Set::SetTransaction { modes, snapshot: None, session: false }) => Ok(modes),
        other => Err(Error::new(Code::SyntaxError, format!("{other} has no AS OF"))),
    }
}

/// Whether a part of a statement asks for the past.
pub(crate) fn has_history(tree: &impl Visit) -> bool {
    struct Tables;
    impl Visitor for Tables {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            if version_of(factor).is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    tree.visit(&mut Tables).is_break()
}

fn version_of(factor: &TableFactor) -> Option<&TableVersion> {
    match factor {
        TableFactor::Table { version, .. } => version.as_ref(),
        _ => None,
    }
}

/// Refuses the clause where rows are changed or locked, and what other databases have in its place.
pub(super) fn check_history(tree: &Statement) -> Result<()> {
    let found = tree.visit(&mut Places);
    match found {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Places;

impl Visitor for Places {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Error> {
        let target = match statement {
            Statement::Update(update) => Some(("UPDATE", &update.table.relation)),
            Statement::Merge(merge) => Some(("MERGE", &merge.table)),
            Statement::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
                from.first().map(|from| ("DELETE", &from.relation))
            }
            _ => None,
        };
        match target {
            Some((verb, factor)) if version_of(factor).is_some() => refused(&format!("{verb} of the past")),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        let reads_past = |select: &Select| {
            let joined = select.from.iter().flat_map(|from| from.joins.iter().map(|join| &join.relation));
            select.from.iter().map(|from| &from.relation).chain(joined).any(|factor| version_of(factor).is_some())
        };
        match &*query.body {
            SetExpr::Select(select) if !query.locks.is_empty() && reads_past(select) => {
                refused("locking rows of the past")
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Error> {
        match version_of(factor) {
            None | Some(TableVersion::ForSystemTimeAsOf(_)) => ControlFlow::Continue(()),
            Some(other) => refused(&format!("{other} behind a table")),
        }
    }
}

fn refused(what: &str) -> ControlFlow<Error> {
    ControlFlow::Break(Error::new(Code::FeatureNotSupported, format!("{what} is not supported")))
}

/// The tables of a query, where they do not say another moment, are read at this one.
pub(crate) fn read_at(query: &mut Query, version: &TableVersion) {
    let _ = VisitMut::visit(query, &mut Pushing { version, with: Vec::new() });
}

struct Pushing<'a> {
    version: &'a TableVersion,
    /// The names of the WITH clauses in sight.
    with: Vec<Vec<String>>,
}

impl VisitorMut for Pushing<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.with.push(tables.map(|table| fold(&table.alias.name)).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.with.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, version: version @ None, args: None, .. } = factor
            && let Ok(name) = table_name(name)
            && !self.with.iter().flatten().any(|with| *with == name)
        {
            *version = Some(self.version.clone());
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::{Own, Parsed, parse};

    fn code(sql: &str) -> String {
        parse(sql).err().map(|error| error.code().sqlstate().to_owned()).unwrap_or_default()
    }

    #[test]
    fn the_clause_stands_behind_tables_that_are_read() {
        for sql in [
            "SELECT * FROM t FOR SYSTEM_TIME AS OF '2026-11-27' old JOIN t ON true",
            "SELECT * FROM s.t FOR SYSTEM_TIME AS OF now() - interval '1 hour' AS old (a, b) WHERE a > 1",
            "INSERT INTO t SELECT * FROM t FOR SYSTEM_TIME AS OF $1",
            "UPDATE t SET a = old.a FROM t FOR SYSTEM_TIME AS OF 7 AS old WHERE old.k = t.k",
            "SELECT * FROM t at FOR UPDATE",
        ] {
            assert_eq!(code(sql), "", "{sql}");
        }
        for sql in [
            "SELECT * FROM t FOR SYSTEM_TIME AS OF 7 FOR UPDATE",
            "UPDATE t FOR SYSTEM_TIME AS OF 7 SET a = 1",
            "DELETE FROM t FOR SYSTEM_TIME AS OF 7",
            "SELECT * FROM t AT(TIMESTAMP => 7), u FOR SYSTEM_TIME AS OF 1",
        ] {
            assert_eq!(code(sql), "0A000", "{sql}");
        }
    }

    #[test]
    fn transactions_are_put_at_a_moment() {
        for (sql, modes) in [
            ("BEGIN AS OF 7", 0),
            ("BEGIN READ ONLY AS OF now() - interval '1 day'", 1),
            ("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY AS OF $1", 2),
            ("START TRANSACTION AS OF '2026-11-27'", 0),
            ("START TRANSACTION READ ONLY AS OF 1", 1),
            ("SET TRANSACTION AS OF 7", 0),
            ("SET TRANSACTION READ ONLY AS OF 7", 1),
        ] {
            let parsed = parse(sql).unwrap();
            let [Parsed::Own(Own::AsOf(as_of))] = &parsed[..] else { panic!("{sql}: {parsed:?}") };
            assert_eq!(as_of.modes.len(), modes, "{sql}");
        }
        assert_eq!(code("BEGIN AS OF"), "42601");
        assert_eq!(code("BEGIN AS OF 7 8"), "42601");
    }
}
