//! Subqueries in forms that the SQL parser knows.
//!
//! ```text
//!   x > ALL (VALUES (1), (2))                 x > ALL (SELECT * FROM (VALUES (1), (2)) AS "any")
//!   x = ANY ((SELECT ...) UNION (SELECT ...)) x = ANY (SELECT * FROM ((SELECT ...) UNION (SELECT ...)) AS "any")
//!   x IN (VALUES (1))                         x IN (SELECT * FROM (VALUES (1)) AS "any")
//!   x IN ((SELECT ...), 1)                    x IN (coalesce((SELECT ...)), 1)
//!   SELECT 1 + ((SELECT ...) UNION (SELECT ...))   1 + (SELECT * FROM ((SELECT ...) UNION (SELECT ...)) AS "any")
//! ```

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::lexemes::{keyword, next};

/// Writes subqueries behind ANY, ALL, SOME and IN in these forms.
pub(super) fn written_plainly(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if let Some((open, close)) = behind(&tokens, at) {
            let is_list = keyword(&tokens[at].token) == Keyword::IN;
            wrap(&mut tokens, open, close, is_list);
        } else if let Some(close) = operand(&tokens, at) {
            wrap(&mut tokens, at, close, false);
        }
        at += 1;
    }
    tokens
}

/// The parentheses behind a word that compares with a subquery.
fn behind(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, usize)> {
    let is_it = match keyword(&tokens[at].token) {
        Keyword::IN => true,
        Keyword::ANY | Keyword::ALL | Keyword::SOME => {
            // Not that of UNION ALL.
            let before = tokens[..at].iter().rev().find(|token| !matches!(token.token, Token::Whitespace(_)))?;
            matches!(before.token, Token::Eq | Token::Neq | Token::Lt | Token::LtEq | Token::Gt | Token::GtEq)
        }
        _ => false,
    };
    let open = next(tokens, at + 1).filter(|open| is_it && tokens[*open].token == Token::LParen)?;
    Some((open, closing(tokens, open)?))
}

/// The end of parentheses that begin with others, and stand where an expression does.
fn operand(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    if tokens[open].token != Token::LParen || tokens[next(tokens, open + 1)?].token != Token::LParen {
        return None;
    }
    let before = tokens[..open].iter().rev().find(|token| !matches!(token.token, Token::Whitespace(_)));
    let is_operand = match before.map(|before| &before.token) {
        Some(Token::Comma | Token::Eq | Token::Neq | Token::Lt | Token::LtEq | Token::Gt | Token::GtEq) => true,
        Some(Token::Plus | Token::Minus | Token::Mul | Token::Div) => true,
        Some(word) => matches!(
            keyword(word),
            Keyword::SELECT
                | Keyword::WHERE
                | Keyword::AND
                | Keyword::OR
                | Keyword::NOT
                | Keyword::THEN
                | Keyword::ELSE
                | Keyword::WHEN
                | Keyword::BY
                | Keyword::ON
                | Keyword::HAVING
        ),
        None => false,
    };
    if is_operand { closing(tokens, open) } else { None }
}

fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn wrap(tokens: &mut Vec<TokenWithSpan>, open: usize, close: usize, is_list: bool) {
    let Some(first) = next(tokens, open + 1).filter(|first| *first < close) else { return };
    let mut is_query = keyword(&tokens[first].token) == Keyword::VALUES;
    if tokens[first].token == Token::LParen {
        let Some(end) = closing(tokens, first) else { return };
        let inner = next(tokens, first + 1).map(|inner| keyword(&tokens[inner].token));
        let starts_query = matches!(inner, Some(Keyword::SELECT | Keyword::VALUES | Keyword::WITH));
        match next(tokens, end + 1).map(|after| &tokens[after].token) {
            Some(Token::Comma) if is_list && starts_query => {
                insert(tokens, end + 1, ")");
                insert(tokens, first, "coalesce(");
                return;
            }
            Some(after) => {
                let after = keyword(after);
                is_query = matches!(after, Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT);
            }
            None => {}
        }
    }
    if is_query {
        insert(tokens, close, ") AS \"any\"");
        insert(tokens, open + 1, "SELECT * FROM (");
    }
}

/// Puts the tokens of a text at a place, whose position they have.
fn insert(tokens: &mut Vec<TokenWithSpan>, at: usize, text: &str) {
    let span = tokens[at.min(tokens.len() - 1)].span;
    let made = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().unwrap_or_default();
    tokens.splice(at..at, made.into_iter().map(|token| TokenWithSpan { token, span }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sql: &str) -> String {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        written_plainly(tokens).iter().map(|token| token.token.to_string()).collect()
    }

    #[test]
    fn subqueries_are_written_plainly() {
        let cases = [
            ("x > ALL (VALUES (1), (2))", "x > ALL (SELECT * FROM (VALUES (1), (2)) AS \"any\")"),
            ("x IN (VALUES (1))", "x IN (SELECT * FROM (VALUES (1)) AS \"any\")"),
            (
                "x = ANY ((SELECT 1) UNION (SELECT 2))",
                "x = ANY (SELECT * FROM ((SELECT 1) UNION (SELECT 2)) AS \"any\")",
            ),
            (
                "SELECT a, ((SELECT 1) UNION (SELECT 2)) FROM ((SELECT 1) UNION (SELECT 2)) AS t",
                "SELECT a, (SELECT * FROM ((SELECT 1) UNION (SELECT 2)) AS \"any\") \
                 FROM ((SELECT 1) UNION (SELECT 2)) AS t",
            ),
            ("SELECT ((1) + 2)", "SELECT ((1) + 2)"),
            ("x IN ((SELECT 1), 2)", "x IN (coalesce((SELECT 1)), 2)"),
            ("x IN ((SELECT 1))", "x IN ((SELECT 1))"),
            ("x IN ((1), 2)", "x IN ((1), 2)"),
            ("SELECT 1 UNION ALL (VALUES (1))", "SELECT 1 UNION ALL (VALUES (1))"),
            ("x = ANY (a) AND y IN (1, (2))", "x = ANY (a) AND y IN (1, (2))"),
            ("x IN (VALUES (1)) OR x IN (", "x IN (SELECT * FROM (VALUES (1)) AS \"any\") OR x IN ("),
        ];
        for (sql, wanted) in cases {
            assert_eq!(written(sql), wanted);
        }
    }
}
