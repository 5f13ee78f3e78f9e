//! Periods behind a table, which the SQL parser does not know: FOR SYSTEM_TIME FROM, BETWEEN and ALL.
//!
//! ```text
//!   t FOR SYSTEM_TIME FROM a TO b        read as t FOR SYSTEM_TIME AS OF "\u{2}from"(a, b)
//!   t FOR SYSTEM_TIME BETWEEN a AND b                               AS OF "\u{2}between"(a, b)
//!   t FOR SYSTEM_TIME ALL                                           AS OF "\u{2}all"()
//! ```
//!
//! 1. Who writes a query out writes the clause as it was read, in front of the alias.

use std::borrow::Cow;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Query, TableFactor, TableVersion,
    VisitorMut,
};
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use weft_format::{Code, Error, Result};
use weft_walk::VisitMut;

use super::calls::call_of;
use super::lexemes::keyword;
use super::position::place;

/// Which versions of a table's rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodKind {
    /// FROM a TO b: without what begins at b.
    From,
    /// BETWEEN a AND b: with it.
    Between,
    /// ALL that are kept.
    All,
    /// What there is at a, and not at b. No clause of SQL: differences are made of it.
    AtNot,
}

impl PeriodKind {
    const KINDS: [PeriodKind; 4] = [PeriodKind::From, PeriodKind::Between, PeriodKind::All, PeriodKind::AtNot];

    /// The function that stands for it: no SQL text has such a name.
    fn function(self) -> &'static str {
        match self {
            PeriodKind::From => "\u{2}from",
            PeriodKind::Between => "\u{2}between",
            PeriodKind::All => "\u{2}all",
            PeriodKind::AtNot => "\u{2}at not",
        }
    }
}

/// The expression that stands for a period.
pub(crate) fn period(kind: PeriodKind, bounds: Vec<Expr>) -> Expr {
    call_of(Ident::new(kind.function()), bounds)
}

/// The period that an expression stands for, and its bounds; none when it is a moment.
pub fn period_of(expr: &Expr) -> Option<(PeriodKind, Vec<&Expr>)> {
    let Expr::Function(function) = expr else { return None };
    let name = &function.name.0.last()?.as_ident()?.value;
    let kind = PeriodKind::KINDS.into_iter().find(|kind| kind.function() == name)?;
    let FunctionArguments::List(list) = &function.args else { return None };
    let bounds = list.args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    Some((kind, bounds.collect()))
}

/// A moment or period behind FOR SYSTEM_TIME, as it is written; a moment is its expression alone.
pub fn moment_text(expr: &Expr) -> String {
    match period_of(expr) {
        Some((PeriodKind::From, bounds)) if bounds.len() == 2 => format!("FROM {} TO {}", bounds[0], bounds[1]),
        Some((PeriodKind::Between, bounds)) if bounds.len() == 2 => format!("BETWEEN {} AND {}", bounds[0], bounds[1]),
        Some((PeriodKind::AtNot, bounds)) if bounds.len() == 2 => format!("AS OF {}, not {}", bounds[0], bounds[1]),
        Some(_) => "ALL".to_owned(),
        None => expr.to_string(),
    }
}

/// What TO between bounds becomes: behind an interval the parser would take it for a part of that.
const TO: &str = "\u{2}to";
/// Behind the TO of an interval.
const FIELDS: [Keyword; 5] = [Keyword::MONTH, Keyword::DAY, Keyword::HOUR, Keyword::MINUTE, Keyword::SECOND];

/// The tokens with periods as the parser knows them.
pub(super) fn with_periods<'t>(source: &str, tokens: &'t [TokenWithSpan]) -> Result<Cow<'t, [TokenWithSpan]>> {
    if !tokens.iter().any(|token| keyword(token) == Keyword::SYSTEM_TIME) {
        return Ok(Cow::Borrowed(tokens));
    }
    let words: Vec<usize> =
        (0..tokens.len()).filter(|&at| !matches!(tokens[at].token, Token::Whitespace(_) | Token::EOF)).collect();
    let mut written = tokens.to_vec();
    // From the last to the first: what comes before keeps its place.
    for window in words.windows(3).rev() {
        let [first, second, third] = [window[0], window[1], window[2]].map(|at| keyword(&tokens[at]));
        if first != Keyword::FOR || second != Keyword::SYSTEM_TIME || third == Keyword::AS {
            continue;
        }
        let token = &tokens[window[2]];
        let kind = match third {
            Keyword::FROM => PeriodKind::From,
            Keyword::BETWEEN => PeriodKind::Between,
            Keyword::ALL => PeriodKind::All,
            _ => {
                let message = format!("FOR SYSTEM_TIME {} is not supported", token.token);
                let error = Error::new(Code::FeatureNotSupported, message);
                return Err(place(error.hint("write AS OF, FROM, BETWEEN or ALL"), source, token.span));
            }
        };
        let at = |token: Token| TokenWithSpan { token, span: tokens[window[2]].span };
        let function = Word { value: kind.function().into(), quote_style: Some('"'), keyword: Keyword::NoKeyword };
        let space = || at(Token::Whitespace(sqlparser::tokenizer::Whitespace::Space));
        let read =
            [at(Token::make_keyword("AS")), space(), at(Token::make_keyword("OF")), space(), at(Token::Word(function))];
        if kind == PeriodKind::From
            && let Some(to) = end_of_first(&written, window[2] + 1)
        {
            let word = Word { value: TO.into(), quote_style: Some('"'), keyword: Keyword::NoKeyword };
            written[to].token = Token::Word(word);
        }
        written.splice(window[2]..=window[2], read);
    }
    Ok(Cow::Owned(written))
}

/// The TO behind the first bound of FROM: not the one of `INTERVAL '1' YEAR TO MONTH`.
fn end_of_first(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut depth = 0;
    for at in from..tokens.len() {
        match tokens[at].token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth -= 1,
            _ if depth == 0 && keyword(&tokens[at]) == Keyword::TO => {
                let mut behind = tokens[at + 1..].iter().filter(|next| !matches!(next.token, Token::Whitespace(_)));
                if !behind.next().is_some_and(|next| FIELDS.contains(&keyword(next))) {
                    return Some(at);
                }
            }
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    None
}

/// The period that comes next; none when something else does.
pub(super) fn parse_period(
    dialect: &dyn Dialect,
    parser: &mut Parser<'_>,
) -> Option<std::result::Result<Expr, ParserError>> {
    let Token::Word(word) = &parser.peek_token_ref().token else { return None };
    let kind = PeriodKind::KINDS.into_iter().find(|kind| kind.function() == word.value)?;
    parser.next_token();
    Some(bounds(kind, dialect, parser).map(|bounds| period(kind, bounds)))
}

fn bounds(
    kind: PeriodKind,
    dialect: &dyn Dialect,
    parser: &mut Parser<'_>,
) -> std::result::Result<Vec<Expr>, ParserError> {
    match kind {
        PeriodKind::From => {
            let from = parser.parse_expr()?;
            let found = parser.next_token();
            if !matches!(&found.token, Token::Word(word) if word.value == TO) {
                return parser.expected("TO", found);
            }
            Ok(vec![from, parser.parse_expr()?])
        }
        PeriodKind::Between => {
            // AND stands between the bounds, and in none of them.
            let tighter = dialect.prec_value(Precedence::Between);
            let from = parser.parse_subexpr(tighter)?;
            parser.expect_keyword(Keyword::AND)?;
            Ok(vec![from, parser.parse_subexpr(tighter)?])
        }
        PeriodKind::All | PeriodKind::AtNot => Ok(Vec::new()),
    }
}

/// A query as text that is read as the same query (periods 1).
pub(crate) fn written(query: &Query) -> String {
    let mut query = query.clone();
    let _ = VisitMut::visit(&mut query, &mut Writing);
    query.to_string()
}

struct Writing;

impl VisitorMut for Writing {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, version, .. } = factor else { return ControlFlow::Continue(()) };
        if let Some(TableVersion::ForSystemTimeAsOf(moment)) = version {
            let verb = if period_of(moment).is_some() { "" } else { "AS OF " };
            // The parser's own writing puts the clause behind the alias, where it is not read.
            let text = format!("{name} FOR SYSTEM_TIME {verb}{}", moment_text(moment));
            *name = ObjectName::from(vec![Ident::new(text)]);
            *version = None;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::{Parsed, parse};

    fn written(sql: &str) -> String {
        let parsed = parse(sql).unwrap();
        let [Parsed::Sql { statement, .. }] = &parsed[..] else { panic!("{sql}") };
        let sqlparser::ast::Statement::Query(query) = &**statement else { panic!("{sql}") };
        super::written(query)
    }

    #[test]
    fn periods_are_read_and_written() {
        for sql in [
            "SELECT * FROM t FOR SYSTEM_TIME ALL",
            "SELECT * FROM t FOR SYSTEM_TIME ALL h",
            "SELECT row_start FROM t FOR SYSTEM_TIME ALL AS h, u FOR SYSTEM_TIME AS OF now() AS o WHERE h.a > 1",
            "SELECT * FROM s.t FOR SYSTEM_TIME FROM now() - INTERVAL '1 hour' TO $1 AS h (a, b) ORDER BY a",
            "SELECT * FROM t FOR SYSTEM_TIME BETWEEN 1 + 2 AND now() AS h JOIN u ON u.b BETWEEN 1 AND 2",
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM t FOR SYSTEM_TIME FROM '2026-11-27' TO '2027-01-01')",
        ] {
            assert_eq!(written(sql), sql);
        }
    }

    #[test]
    fn other_periods_are_refused() {
        let code = |sql: &str| parse(sql).unwrap_err().code().sqlstate().to_owned();
        assert_eq!(code("SELECT * FROM t FOR SYSTEM_TIME CONTAINED IN (1, 2)"), "0A000");
        assert_eq!(code("SELECT * FROM t FOR SYSTEM_TIME FROM 1"), "42601");
        assert_eq!(code("SELECT * FROM t FOR SYSTEM_TIME BETWEEN 1"), "42601");
        assert_eq!(code("UPDATE t FOR SYSTEM_TIME ALL SET a = 1"), "0A000");
        assert_eq!(code("SELECT * FROM t FOR SYSTEM_TIME ALL FOR UPDATE"), "0A000");
    }
}
