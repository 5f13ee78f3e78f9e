//! CREATE VIEW in a form that the SQL parser knows.
//!
//! ```text
//!   CREATE VIEW v WITH (security_barrier) AS SELECT a FROM t WITH CHECK OPTION
//!   CREATE VIEW v WITH (security_barrier = true, check_option = 'cascaded') AS SELECT a FROM t
//!
//!   CREATE RECURSIVE VIEW s.v (n) AS VALUES (1) UNION ALL SELECT n + 1 FROM v
//!   CREATE VIEW s.v AS WITH RECURSIVE v (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM v) SELECT n FROM v
//! ```

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use weft_format::{Code, Error, Result};

use super::lexemes::{is_word, keyword};

/// Rewrites a CREATE VIEW; others are left as they are.
pub(super) fn plain_view(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    let Some(head) = Head::of(&tokens) else { return Ok(tokens) };
    let mut tokens: Vec<TokenWithSpan> = tokens;
    let check = take_check_option(&mut tokens);
    if check.is_some() && head.recursive.is_some() {
        let message = "WITH CHECK OPTION not supported on recursive views";
        return Err(Error::new(Code::FeatureNotSupported, message));
    }
    let Some(body) = body_of(&tokens, head.view) else { return Ok(tokens) };
    write_options(&mut tokens, head.view, body, check);
    match head.recursive {
        Some(recursive) => Ok(written_recursive(tokens, head.view, recursive)),
        None => Ok(tokens),
    }
}

/// The places of the words before a view's name.
struct Head {
    view: usize,
    recursive: Option<usize>,
}

impl Head {
    fn of(tokens: &[TokenWithSpan]) -> Option<Head> {
        let mut places = (0..tokens.len()).filter(|&at| is_solid(&tokens[at]));
        if keyword(&tokens[places.next()?]) != Keyword::CREATE {
            return None;
        }
        let mut recursive = None;
        for at in places {
            match keyword(&tokens[at]) {
                Keyword::VIEW => return Some(Head { view: at, recursive }),
                Keyword::RECURSIVE => recursive = Some(at),
                Keyword::OR | Keyword::REPLACE | Keyword::TEMP | Keyword::TEMPORARY => {}
                Keyword::LOCAL | Keyword::GLOBAL => {}
                _ => return None,
            }
        }
        None
    }
}

fn is_solid(token: &TokenWithSpan) -> bool {
    !matches!(token.token, Token::Whitespace(_) | Token::EOF)
}

/// Takes WITH [LOCAL | CASCADED] CHECK OPTION from the end.
fn take_check_option(tokens: &mut Vec<TokenWithSpan>) -> Option<&'static str> {
    let last: Vec<usize> = (0..tokens.len()).rev().filter(|&at| is_solid(&tokens[at])).take(4).collect();
    let is = |place: usize, text: &str| last.get(place).is_some_and(|&at| is_word(&tokens[at], text));
    if !is(0, "option") || !is(1, "check") {
        return None;
    }
    let (from, which) = match () {
        () if is(2, "with") => (last[2], "cascaded"),
        () if is(2, "cascaded") && is(3, "with") => (last[3], "cascaded"),
        () if is(2, "local") && is(3, "with") => (last[3], "local"),
        () => return None,
    };
    tokens.truncate(from);
    Some(which)
}

/// The place of the AS before a view's query.
fn body_of(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut depth = 0i32;
    (from..tokens.len()).find(|&at| {
        let token = &tokens[at].token;
        depth += i32::from(*token == Token::LParen) - i32::from(*token == Token::RParen);
        depth == 0 && keyword(&tokens[at]) == Keyword::AS
    })
}

/// Gives each option a value, and adds the check option.
fn write_options(tokens: &mut Vec<TokenWithSpan>, view: usize, body: usize, check: Option<&str>) {
    let span = tokens[body].span;
    let token = |token: Token| TokenWithSpan { token, span };
    let name = |text: &str| token(Token::make_word(text, None));
    let value = |text: &str| [token(Token::Eq), token(Token::SingleQuotedString(text.to_owned()))];
    let with = (view..body).find(|&at| {
        let next = (at + 1..body).find(|&next| is_solid(&tokens[next]));
        keyword(&tokens[at]) == Keyword::WITH && next.is_some_and(|next| tokens[next].token == Token::LParen)
    });
    let Some(with) = with else {
        if let Some(check) = check {
            let mut added = vec![name("with"), token(Token::LParen), name("check_option")];
            added.extend(value(check));
            added.push(token(Token::RParen));
            added.push(token(Token::Whitespace(sqlparser::tokenizer::Whitespace::Space)));
            tokens.splice(body..body, added);
        }
        return;
    };
    let Some(close) = (with..body).rev().find(|&at| tokens[at].token == Token::RParen) else { return };
    let mut made = Vec::with_capacity(tokens.len());
    made.extend_from_slice(&tokens[..with]);
    let mut has_value = false;
    for part in &tokens[with..close] {
        if part.token == Token::Comma && !has_value {
            made.extend([token(Token::Eq), name("true")]);
        }
        has_value = part.token == Token::Eq || has_value && part.token != Token::Comma;
        made.push(part.clone());
    }
    if !has_value {
        made.extend([token(Token::Eq), name("true")]);
    }
    if let Some(check) = check {
        made.extend([token(Token::Comma), name("check_option")]);
        made.extend(value(check));
    }
    made.extend_from_slice(&tokens[close..]);
    *tokens = made;
}

/// A recursive view as one over a recursive query.
fn written_recursive(tokens: Vec<TokenWithSpan>, view: usize, recursive: usize) -> Vec<TokenWithSpan> {
    let whole = || (body_of(&tokens, view), (view..tokens.len()).find(|&at| tokens[at].token == Token::LParen));
    let (Some(body), Some(open)) = whole() else { return tokens };
    let close = (open..body).find(|&at| tokens[at].token == Token::RParen);
    let own = (view + 1..open).rev().find(|&at| matches!(tokens[at].token, Token::Word(_)));
    let (Some(close), Some(own)) = (close, own) else { return tokens };
    let span = tokens[body].span;
    let word = |text: &str| TokenWithSpan { token: Token::make_word(text, None), span };
    let sign = |token: Token| TokenWithSpan { token, span };
    let space = || sign(Token::Whitespace(sqlparser::tokenizer::Whitespace::Space));
    let mut made: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() * 2);
    made.extend((0..open).filter(|&at| at != recursive).map(|at| tokens[at].clone()));
    made.extend_from_slice(&tokens[close + 1..=body]);
    made.extend([space(), word("with"), space(), word("recursive"), space(), tokens[own].clone(), space()]);
    made.extend_from_slice(&tokens[open..=close]);
    made.extend([space(), word("as"), space(), sign(Token::LParen)]);
    made.extend(tokens[body + 1..].iter().filter(|token| token.token != Token::EOF).cloned());
    made.extend([sign(Token::RParen), space(), word("select"), space()]);
    made.extend_from_slice(&tokens[open + 1..close]);
    made.extend([space(), word("from"), space(), tokens[own].clone()]);
    made
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn written(sql: &str) -> String {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        plain_view(tokens).unwrap().iter().map(|token| token.token.to_string()).collect()
    }

    #[test]
    fn views_are_written_plainly() {
        let cases = [
            ("CREATE VIEW v AS SELECT 1", "CREATE VIEW v AS SELECT 1"),
            (
                "CREATE VIEW v AS SELECT 1 WITH LOCAL CHECK OPTION",
                "CREATE VIEW v with(check_option='local') AS SELECT 1 ",
            ),
            (
                "CREATE OR REPLACE TEMP VIEW v (a) WITH (security_barrier) AS SELECT 1 WITH CHECK OPTION",
                "CREATE OR REPLACE TEMP VIEW v (a) WITH (security_barrier=true,check_option='cascaded') AS SELECT 1 ",
            ),
            (
                "CREATE VIEW v WITH (security_barrier, security_invoker = on) AS SELECT 1",
                "CREATE VIEW v WITH (security_barrier=true, security_invoker = on) AS SELECT 1",
            ),
            (
                "CREATE RECURSIVE VIEW s.v (n) AS VALUES (1)",
                "CREATE  VIEW s.v  AS with recursive v (n) as ( VALUES (1)) select n from v",
            ),
            ("CREATE TABLE v AS SELECT 1 AS check", "CREATE TABLE v AS SELECT 1 AS check"),
        ];
        for (sql, wanted) in cases {
            assert_eq!(written(sql), wanted);
        }
    }
}
