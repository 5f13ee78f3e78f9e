//! `ON CONFLICT (columns) WHERE condition`, which the SQL parser does not know.
//!
//! ```text
//!   INSERT INTO t VALUES (1) ON CONFLICT (a) WHERE b > 0 DO NOTHING
//!     to the parser     INSERT INTO t VALUES (1) ON CONFLICT (a) DO NOTHING
//!     then              settings [rows_in_conflict = (b > 0)]          a clause of another dialect, free in ours
//! ```

use sqlparser::ast::{Expr, Ident, Insert, Setting, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use weft_format::{Code, Error, Result};

/// What the condition is called in the tree.
const KEY: &str = "rows_in_conflict";

/// Takes the condition out of the tokens of a statement: what is left, and the condition's tokens.
pub(super) fn take_conflict_rows(tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Option<Vec<TokenWithSpan>>) {
    let Some((from, to)) = place_of_condition(&tokens) else { return (tokens, None) };
    let condition = tokens[from + 1..to].to_vec();
    let rest = tokens[..from].iter().chain(&tokens[to..]).cloned().collect();
    (rest, Some(condition))
}

/// The places of WHERE and of the DO behind it.
fn place_of_condition(tokens: &[TokenWithSpan]) -> Option<(usize, usize)> {
    let keyword = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let mut words =
        tokens.iter().enumerate().filter(|(_, token)| !matches!(token.token, Token::Whitespace(_))).peekable();
    let first = words.peek().map(|(_, token)| keyword(token))?;
    if !matches!(first, Keyword::INSERT | Keyword::EXPLAIN | Keyword::WITH) {
        return None;
    }
    // On the outermost level: ON, CONFLICT, the columns, then WHERE ... DO.
    let (mut depth, mut seen, mut from) = (0usize, 0, None);
    for (at, token) in words {
        match (&token.token, keyword(token)) {
            (Token::LParen, _) => {
                seen = if depth == 0 && seen == 2 { 3 } else { seen };
                depth += 1;
                continue;
            }
            (Token::RParen, _) => {
                depth = depth.saturating_sub(1);
                continue;
            }
            _ if depth > 0 => continue,
            (_, Keyword::DO) if from.is_some() => return from.map(|from| (from, at)),
            _ if from.is_some() => continue,
            (_, Keyword::ON) => seen = 1,
            (_, Keyword::CONFLICT) if seen == 1 => seen = 2,
            (_, Keyword::WHERE) if seen == 3 => from = Some(at),
            _ => seen = 0,
        }
    }
    None
}

/// Puts the condition into the tree of the statement.
pub(super) fn put_conflict_rows(statement: &mut Statement, condition: Expr) -> Result<()> {
    match statement {
        Statement::Insert(insert) => {
            insert.settings = Some(vec![Setting { key: Ident::new(KEY), value: condition }]);
            Ok(())
        }
        Statement::Explain { statement, .. } => put_conflict_rows(statement, condition),
        _ => Err(Error::new(Code::FeatureNotSupported, "ON CONFLICT (...) WHERE is not supported in this statement")
            .hint("write INSERT INTO ... ON CONFLICT without WITH before it")),
    }
}

/// The condition behind the columns of an ON CONFLICT.
pub fn conflict_rows(insert: &Insert) -> Option<&Expr> {
    match insert.settings.as_deref() {
        Some([Setting { key, value }]) if key.value == KEY => Some(value),
        _ => None,
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
        for wrong in ["(a) WHERE DO NOTHING", "(a) WHERE b > DO NOTHING", "(a) WHERE b", "WHERE b DO NOTHING"] {
            assert_eq!(parse(&format!("{insert} {wrong}")).unwrap_err().code(), Code::SyntaxError, "{wrong}");
        }
    }
}
