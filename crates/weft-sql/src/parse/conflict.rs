//! `ON CONFLICT (columns and expressions) WHERE condition`, of which the SQL parser knows columns only.
//!
//! ```text
//!   INSERT INTO t VALUES (1) ON CONFLICT (a, lower(b)) WHERE c > 0 DO NOTHING
//!     to the parser     INSERT INTO t VALUES (1) ON CONFLICT (parts_in_conflict) DO NOTHING
//!     then              settings [rows_in_conflict = (c > 0), parts_in_conflict = (a, lower(b))]
//!                       a clause of another dialect, free in ours
//! ```

use sqlparser::ast::{Expr, Ident, Insert, Setting, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use weft_format::{Code, Error, Result};

use super::lexemes::keyword;

/// What the condition is called in the tree.
const ROWS: &str = "rows_in_conflict";
/// What a list that is not of columns alone is called in the tree.
const OVERRIDING: &str = "overriding";
const PARTS: &str = "parts_in_conflict";

/// What was taken out of the tokens of a statement.
#[derive(Default)]
pub(super) struct Taken {
    /// The condition behind WHERE.
    pub(super) rows: Option<Vec<TokenWithSpan>>,
    /// The list, with its parentheses, when it has more than columns.
    pub(super) parts: Option<Vec<TokenWithSpan>>,
}

/// Takes out of the tokens of a statement what the parser does not know: the tokens that are left, and what was taken.
pub(super) fn take_conflict(mut tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Taken) {
    let mut taken = Taken::default();
    if let Some((from, to)) = place_of_condition(&tokens) {
        taken.rows = Some(tokens.drain(from..to).skip(1).collect());
    }
    if let Some((from, to)) = place_of_list(&tokens)
        && !tokens[from + 1..to].iter().all(is_of_columns)
    {
        let word = Word { value: PARTS.into(), quote_style: None, keyword: Keyword::NoKeyword };
        let name = TokenWithSpan { token: Token::Word(word), span: tokens[from + 1].span };
        let list: Vec<TokenWithSpan> = tokens[from..=to].to_vec();
        tokens.splice(from + 1..to, [name]);
        taken.parts = Some(list);
    }
    (tokens, taken)
}

fn is_of_columns(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Word(_) | Token::Comma | Token::Whitespace(_))
}

/// Whether a statement may have an ON CONFLICT.
fn is_insert(tokens: &[TokenWithSpan]) -> bool {
    let first = tokens.iter().find(|token| !matches!(token.token, Token::Whitespace(_)));
    first.is_some_and(|token| matches!(keyword(token), Keyword::INSERT | Keyword::EXPLAIN | Keyword::WITH))
}

/// The places of the parentheses behind ON CONFLICT on the outermost level.
fn place_of_list(tokens: &[TokenWithSpan]) -> Option<(usize, usize)> {
    if !is_insert(tokens) {
        return None;
    }
    let (mut depth, mut seen, mut from) = (0usize, 0, None);
    let words = tokens.iter().enumerate().filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    for (at, token) in words {
        match (&token.token, keyword(token)) {
            (Token::LParen, _) => {
                if depth == 0 && seen == 2 {
                    from = Some(at);
                }
                depth += 1;
            }
            (Token::RParen, _) => {
                depth = depth.saturating_sub(1);
                if let Some(from) = from.filter(|_| depth == 0) {
                    return Some((from, at));
                }
            }
            _ if depth > 0 => {}
            (_, Keyword::ON) => seen = 1,
            (_, Keyword::CONFLICT) if seen == 1 => seen = 2,
            _ => seen = 0,
        }
    }
    None
}

/// The places of WHERE and of the DO behind it.
fn place_of_condition(tokens: &[TokenWithSpan]) -> Option<(usize, usize)> {
    // On the outermost level: ON CONFLICT and the list, then WHERE ... DO.
    let (_, end) = place_of_list(tokens)?;
    let mut words = (end + 1..tokens.len()).filter(|&at| !matches!(tokens[at].token, Token::Whitespace(_)));
    let from = words.next().filter(|&at| keyword(&tokens[at]) == Keyword::WHERE)?;
    let mut depth = 0usize;
    for at in words {
        match &tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ if depth == 0 && keyword(&tokens[at]) == Keyword::DO => return Some((from, at)),
            _ => {}
        }
    }
    None
}

/// Puts what was taken into the tree of the statement.
pub(super) fn put_conflict(statement: &mut Statement, rows: Option<Expr>, parts: Option<Expr>) -> Result<()> {
    match statement {
        _ if rows.is_none() && parts.is_none() => Ok(()),
        Statement::Insert(insert) => {
            let settings = [(ROWS, rows), (PARTS, parts)];
            let some =
                settings.into_iter().filter_map(|(key, value)| Some(Setting { key: Ident::new(key), value: value? }));
            insert.settings = Some(some.collect());
            Ok(())
        }
        Statement::Explain { statement, .. } => put_conflict(statement, rows, parts),
        _ => {
            let what = "ON CONFLICT (...) WHERE, or on an expression, is not supported in this statement";
            Err(Error::new(Code::FeatureNotSupported, what)
                .hint("write INSERT INTO ... ON CONFLICT without WITH before it"))
        }
    }
}

fn setting<'a>(insert: &'a Insert, key: &str) -> Option<&'a Expr> {
    let settings = insert.settings.as_deref().unwrap_or_default();
    settings.iter().find(|setting| setting.key.value == key).map(|setting| &setting.value)
}

/// Notes OVERRIDING SYSTEM VALUE or USER VALUE at an INSERT.
pub(super) fn put_overriding(statement: &mut Statement, what: Option<&str>) {
    match statement {
        Statement::Insert(insert) if what.is_some() => {
            let value = Expr::Identifier(Ident::new(what.unwrap_or_default()));
            insert.settings.get_or_insert_default().push(Setting { key: Ident::new(OVERRIDING), value });
        }
        Statement::Explain { statement, .. } => put_overriding(statement, what),
        _ => {}
    }
}

/// Whether an INSERT says OVERRIDING.
pub fn has_overriding(insert: &Insert) -> bool {
    setting(insert, OVERRIDING).is_some()
}

/// Whether an INSERT says OVERRIDING SYSTEM VALUE.
pub fn overriding(insert: &Insert) -> bool {
    matches!(setting(insert, OVERRIDING), Some(Expr::Identifier(word)) if word.value == "system")
}

/// The condition behind the list of an ON CONFLICT.
pub fn conflict_rows(insert: &Insert) -> Option<&Expr> {
    setting(insert, ROWS)
}

/// The list of an ON CONFLICT that is not of columns alone.
pub fn conflict_parts(insert: &Insert) -> Option<&[Expr]> {
    match setting(insert, PARTS)? {
        Expr::Tuple(parts) => Some(parts),
        Expr::Nested(part) => Some(std::slice::from_ref(part)),
        part => Some(std::slice::from_ref(part)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Parsed, parse};
    use super::*;

    fn condition(source: &str) -> Option<String> {
        let Some(Parsed::Sql { statement, .. }) = parse(source).unwrap().pop() else { panic!("{source}") };
        let insert = match *statement {
            Statement::Insert(insert) => insert,
            Statement::Explain { statement, .. } => match *statement {
                Statement::Insert(insert) => insert,
                other => panic!("{other}"),
            },
            other => panic!("{other}"),
        };
        assert!(insert.on.is_some());
        if let Some(parts) = conflict_parts(&insert) {
            return Some(parts.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
        }
        conflict_rows(&insert).map(ToString::to_string)
    }

    #[test]
    fn conditions_are_found_where_they_are() {
        let insert = "INSERT INTO t (a, b) VALUES (1, 2) ON CONFLICT";
        assert_eq!(condition(&format!("{insert} (a) DO NOTHING")), None);
        assert_eq!(condition(&format!("{insert} (a) WHERE b > 0 DO NOTHING")), Some("b > 0".into()));
        let twice = format!("{insert} (a, b)where(b IN (1)) and c do UPDATE SET a = 1 WHERE t.b = 2 RETURNING a");
        assert_eq!(condition(&twice), Some("(b IN (1)) AND c".into()));
        assert_eq!(condition(&format!("{insert} (a) DO UPDATE SET a = 1 WHERE t.b = 2")), None);
        assert_eq!(condition(&format!("EXPLAIN {insert} (a) WHERE b DO NOTHING")), Some("b".into()));
        let query =
            "INSERT INTO t SELECT a FROM u JOIN v ON u.a = v.a WHERE u.b > 0 ON CONFLICT (a) WHERE b DO NOTHING";
        assert_eq!(condition(query), Some("b".into()));
        assert_eq!(condition(&format!("{insert} (lower(a)) DO NOTHING")), Some("lower(a)".into()));
        let both = format!("{insert} (b, (a + 1)) WHERE lower(b) = '' DO NOTHING");
        assert_eq!(condition(&both), Some("b; (a + 1)".into()));
        assert_eq!(condition(&format!("EXPLAIN {insert} ((a)) DO NOTHING")), Some("(a)".into()));
        for wrong in [
            "(lower(a) DO NOTHING",
            "(lower(a) +) DO NOTHING",
            "(lower(a)) x DO NOTHING",
            "(a) WHERE DO NOTHING",
            "(a) WHERE b > DO NOTHING",
            "(a) WHERE b",
            "WHERE b DO NOTHING",
        ] {
            assert_eq!(parse(&format!("{insert} {wrong}")).unwrap_err().code(), Code::SyntaxError, "{wrong}");
        }
    }
}
