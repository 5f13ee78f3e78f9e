//! Locking clauses in forms that the SQL parser knows.
//!
//! ```text
//!   FOR UPDATE OF a, b NOWAIT     FOR UPDATE OF a NOWAIT FOR UPDATE OF b NOWAIT
//!   FOR NO KEY UPDATE OF a        FOR UPDATE OF "\1key".a
//!   FOR KEY SHARE                 FOR SHARE OF "\1key"
//!   FOR UPDATE LIMIT 1            LIMIT 1 FOR UPDATE
//! ```
//!
//! A clause is one of the subqueries in FROM, too, whose rows it locks: who may lock them is asked there.

use std::ops::ControlFlow;

use sqlparser::ast::{LockClause, ObjectName, Query, SetExpr, Statement, TableFactor, TableWithJoins, VisitorMut};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};
use weft_walk::VisitMut;

use super::lexemes::{is_word, keyword, next};
use super::names::{fold, table_name};

/// Before the relation of a clause: that it is about keys.
const KEY: &str = "\u{1}key";

/// What a locking clause says of its relation: whether NO KEY UPDATE or KEY SHARE is meant, and the relation's name.
pub(crate) fn clause_of(clause: &LockClause) -> (bool, Option<ObjectName>) {
    let Some(of) = &clause.of else { return (false, None) };
    match &of.0[..] {
        [first, rest @ ..] if first.as_ident().is_some_and(|first| first.value == KEY) => {
            (true, (!rest.is_empty()).then(|| ObjectName(rest.to_vec())))
        }
        _ => (false, Some(of.clone())),
    }
}

/// A clause for all of a subquery.
pub(crate) fn anywhere(clause: &LockClause) -> LockClause {
    let of = match clause_of(clause) {
        (true, _) => clause.of.as_ref().map(|of| ObjectName(of.0[..1].to_vec())),
        (false, _) => None,
    };
    LockClause { of, ..clause.clone() }
}

/// Gives the locking clauses of queries to their subqueries in FROM.
pub(crate) fn pushed_down(statement: &mut Statement) {
    struct Pusher;
    impl VisitorMut for Pusher {
        type Break = ();
        fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
            if let (SetExpr::Select(select), false) = (&mut *query.body, query.locks.is_empty()) {
                select.from.iter_mut().for_each(|table| push(&query.locks, table));
            }
            ControlFlow::Continue(())
        }
    }
    let _ = VisitMut::visit(statement, &mut Pusher);
}

fn push(clauses: &[LockClause], table: &mut TableWithJoins) {
    let joined = table.joins.iter_mut().map(|join| &mut join.relation);
    for factor in std::iter::once(&mut table.relation).chain(joined) {
        match factor {
            TableFactor::NestedJoin { table_with_joins, .. } => push(clauses, table_with_joins),
            TableFactor::Derived { subquery, alias, .. } if !matches!(*subquery.body, SetExpr::Values(_)) => {
                let shown = alias.as_ref().map(|alias| fold(&alias.name));
                let is_of = |clause: &&LockClause| match clause_of(clause).1 {
                    Some(of) => table_name(&of).ok() == shown,
                    None => true,
                };
                subquery.locks.extend(clauses.iter().filter(is_of).map(anywhere));
            }
            _ => {}
        }
    }
}

/// Writes locking clauses in these forms.
pub(super) fn written_plainly(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_it = |token: &TokenWithSpan| matches!(keyword(&token.token), Keyword::UPDATE | Keyword::SHARE);
    if !tokens.iter().any(|token| keyword(&token.token) == Keyword::FOR) || !tokens.iter().any(is_it) {
        return tokens;
    }
    let mut made = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let blank = TokenWithSpan { token: Token::Whitespace(Whitespace::Space), span: tokens[at].span };
        let (mut end, mut clauses) = (at, Vec::new());
        while let Some((behind, more)) = next(&tokens, end).and_then(|place| clause(&tokens, place)) {
            clauses.push(blank.clone());
            clauses.extend(more);
            end = behind;
        }
        if clauses.is_empty() {
            made.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at = limits(&tokens, end).unwrap_or(end);
        made.extend(tokens[end..at].iter().cloned());
        made.append(&mut clauses);
    }
    made
}

/// Where LIMIT, OFFSET and FETCH end that stand at a place.
fn limits(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    next(tokens, from)
        .filter(|at| matches!(keyword(&tokens[*at].token), Keyword::LIMIT | Keyword::OFFSET | Keyword::FETCH))?;
    let mut depth = 0;
    let ends = |token: &TokenWithSpan| {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth -= 1,
            _ => {}
        }
        let ends = matches!(keyword(&token.token), Keyword::FOR | Keyword::RETURNING | Keyword::ON);
        depth < 0 || token.token == Token::EOF || depth == 0 && ends
    };
    let end = tokens[from..].iter().position(ends).map(|count| from + count);
    Some(end.unwrap_or(tokens.len()))
}

/// The clause at a place, in a form that the parser knows, and where it ends.
fn clause(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, Vec<TokenWithSpan>)> {
    let span = tokens[at].span;
    if keyword(&tokens[at].token) != Keyword::FOR {
        return None;
    }
    let word = |at: usize| keyword(&tokens[at].token);
    let mut place = next(tokens, at + 1)?;
    let is_key = is_word(&tokens[place].token, "no") || word(place) == Keyword::KEY;
    if is_word(&tokens[place].token, "no") {
        place = next(tokens, place + 1).filter(|place| word(*place) == Keyword::KEY)?;
    }
    if is_key {
        place = next(tokens, place + 1)?;
    }
    let kind = match word(place) {
        Keyword::UPDATE => "UPDATE",
        Keyword::SHARE => "SHARE",
        _ => return None,
    };
    let mut end = place + 1;
    let mut names: Vec<Vec<Token>> = Vec::new();
    if let Some(of) = next(tokens, end).filter(|of| word(*of) == Keyword::OF) {
        let mut from = of;
        loop {
            let (behind, name) = name_at(tokens, from + 1)?;
            names.push(name);
            end = behind;
            match next(tokens, end).filter(|comma| tokens[*comma].token == Token::Comma) {
                Some(comma) => from = comma,
                None => break,
            }
        }
    }
    let tail = waiting(tokens, &mut end);
    if !is_key && names.len() < 2 {
        return Some((end, tokens[at..end].to_vec()));
    }
    if names.is_empty() {
        names.push(Vec::new());
    }
    let mut made = Vec::new();
    for name in names {
        let mark = Token::Word(Word { value: KEY.into(), quote_style: Some('"'), keyword: Keyword::NoKeyword });
        let mut words = vec![Token::make_keyword("FOR"), Token::make_keyword(kind)];
        if is_key || !name.is_empty() {
            words.push(Token::make_keyword("OF"));
            let marks = [mark, Token::Period].into_iter().filter(|_| is_key);
            let mut of: Vec<Token> = marks.chain(name).collect();
            if of.last() == Some(&Token::Period) {
                of.pop();
            }
            words.push(Token::Whitespace(Whitespace::Space));
            words.extend(of);
        }
        for token in words.into_iter().chain(tail.iter().cloned()) {
            made.push(TokenWithSpan { token, span });
            made.push(TokenWithSpan { token: Token::Whitespace(Whitespace::Space), span });
        }
    }
    Some((end, made))
}

/// NOWAIT or SKIP LOCKED at a place, which moves behind it.
fn waiting(tokens: &[TokenWithSpan], end: &mut usize) -> Vec<Token> {
    let Some(first) = next(tokens, *end) else { return Vec::new() };
    if is_word(&tokens[first].token, "nowait") {
        *end = first + 1;
        return vec![tokens[first].token.clone()];
    }
    let second = next(tokens, first + 1).filter(|at| is_word(&tokens[*at].token, "locked"));
    match second.filter(|_| is_word(&tokens[first].token, "skip")) {
        Some(second) => {
            *end = second + 1;
            vec![tokens[first].token.clone(), tokens[second].token.clone()]
        }
        None => Vec::new(),
    }
}

/// The parts of a name, and where it ends.
fn name_at(tokens: &[TokenWithSpan], from: usize) -> Option<(usize, Vec<Token>)> {
    let mut name = Vec::new();
    let mut place = next(tokens, from)?;
    loop {
        if !matches!(tokens[place].token, Token::Word(_)) {
            return None;
        }
        name.push(tokens[place].token.clone());
        match next(tokens, place + 1).filter(|period| tokens[*period].token == Token::Period) {
            Some(period) => {
                name.push(Token::Period);
                place = next(tokens, period + 1)?;
            }
            None => return Some((place + 1, name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    #[test]
    fn clauses_are_written_plainly() {
        let cases = [
            ("FOR UPDATE OF a, b.c NOWAIT;", " FOR UPDATE OF   a NOWAIT FOR UPDATE OF   b . c NOWAIT ;"),
            ("FOR NO KEY UPDATE OF a", " FOR UPDATE OF   \"\u{1}key\" . a "),
            ("for key share skip locked", " FOR SHARE OF   \"\u{1}key\" skip locked "),
            ("FOR UPDATE OF a", " FOR UPDATE OF a"),
            ("FOR UPDATE SKIP LOCKED LIMIT (1) OFFSET 2) q", " LIMIT (1) OFFSET 2 FOR UPDATE SKIP LOCKED) q"),
            ("FOR SHARE OF a FOR UPDATE OF b LIMIT 1", " LIMIT 1 FOR SHARE OF a FOR UPDATE OF b"),
            ("substring(a FOR 2), UPDATE", "substring(a FOR 2), UPDATE"),
        ];
        for (sql, wanted) in cases {
            let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
            let written: String = written_plainly(tokens).iter().map(|token| token.token.to_string()).collect();
            assert_eq!(written, wanted);
        }
    }
}
