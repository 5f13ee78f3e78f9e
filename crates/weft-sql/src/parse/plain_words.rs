//! Clauses in words that the SQL parser knows.
//!
//! ```text
//!   ... OFFSET 2 ROWS FETCH NEXT (1 + 1) ROWS ONLY     ... OFFSET 2 ROWS LIMIT (1 + 1)
//!   FETCH c    FETCH BACKWARD FROM c    MOVE -2 IN c   FETCH NEXT FROM c   FETCH BACKWARD 1 FROM c   MOVE -2 IN c
//!   BEGIN READ ONLY, NOT DEFERRABLE                    BEGIN READ ONLY
//!   SELECT                                             SELECT FROM (SELECT 1) AS one
//!   ABORT AND CHAIN                                    ROLLBACK AND CHAIN
//!   ORDER BY a COLLATE "C"                             ORDER BY a
//!   CREATE UNLOGGED TABLE t (a integer)                CREATE TABLE t (a integer)
//! ```
//!
//! All texts are in the order of their bytes, which the collations "C", "POSIX", "ucs_basic" and "default" name.
//! DEFERRABLE has no effect: a serializable transaction that only reads never waits for others.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::lexemes::keyword;

/// Writes the statement in these words.
pub(super) fn in_plain_words(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    if tokens.iter().any(|token| keyword(token) == Keyword::COLLATE) {
        return other_words(&without_collations(tokens));
    }
    other_words(tokens)
}

fn other_words(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut words = (0..tokens.len()).filter(|&at| is_solid(&tokens[at]));
    let first = words.next();
    let moves =
        |first: usize| matches!(&tokens[first].token, Token::Word(word) if word.value.eq_ignore_ascii_case("move"));
    let aborts = |first: usize| keyword(&tokens[first]) == Keyword::ABORT;
    match first.map(|first| keyword(&tokens[first])) {
        _ if first.is_some_and(moves) => cursor_step(tokens),
        _ if first.is_some_and(aborts) => {
            let abort = |token: &TokenWithSpan| {
                if keyword(token) == Keyword::ABORT { word("ROLLBACK", token) } else { token.clone() }
            };
            tokens.iter().map(abort).collect()
        }
        Some(Keyword::FETCH) => cursor_step(tokens),
        Some(Keyword::BEGIN | Keyword::START | Keyword::SET) => without_deferrable(tokens),
        Some(Keyword::CREATE) => limited(&without_unlogged(tokens)),
        Some(Keyword::SELECT) if words.next().is_none() => without_columns(tokens),
        _ => limited(tokens),
    }
}

fn is_solid(token: &TokenWithSpan) -> bool {
    !matches!(token.token, Token::Whitespace(_) | Token::EOF)
}

/// The tokens without blanks.
fn solid(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    tokens.iter().filter(|token| is_solid(token)).cloned().collect()
}

/// A word at the place of another token.
fn word(text: &str, place: &TokenWithSpan) -> TokenWithSpan {
    TokenWithSpan { token: Token::make_keyword(text), span: place.span }
}

/// FETCH or MOVE with a direction, a count that may be negative, and FROM.
fn cursor_step(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let words = solid(tokens);
    let mut rest = words.iter().peekable();
    let mut out: Vec<TokenWithSpan> = rest.next().cloned().into_iter().collect();
    let Some(place) = out.first().cloned() else { return out };
    let number = |text: String| TokenWithSpan { token: Token::Number(text, false), span: place.span };
    let direction = rest.peek().map_or(Keyword::NoKeyword, keyword);
    let counts = match direction {
        Keyword::NEXT | Keyword::PRIOR | Keyword::FIRST | Keyword::LAST | Keyword::ALL => {
            out.extend(rest.next().cloned());
            false
        }
        Keyword::ABSOLUTE | Keyword::RELATIVE | Keyword::FORWARD | Keyword::BACKWARD => {
            out.extend(rest.next().cloned());
            out.extend(rest.next_if(|next| keyword(next) == Keyword::ALL).cloned());
            out.last().is_some_and(|last| keyword(last) != Keyword::ALL)
        }
        _ => {
            let is_count =
                rest.peek().is_some_and(|next| matches!(next.token, Token::Number(..) | Token::Minus | Token::Plus));
            if !is_count {
                out.push(word("NEXT", &place));
            }
            is_count
        }
    };
    if counts {
        let sign = rest.next_if(|next| matches!(next.token, Token::Minus | Token::Plus));
        let is_negative = sign.is_some_and(|sign| sign.token == Token::Minus);
        match rest.next_if(|next| matches!(next.token, Token::Number(..))).map(|count| &count.token) {
            Some(Token::Number(digits, _)) if is_negative => out.push(number(format!("-{digits}"))),
            Some(Token::Number(digits, _)) => out.push(number(digits.clone())),
            _ => out.push(number("1".into())),
        }
    }
    match rest.next_if(|next| matches!(keyword(next), Keyword::FROM | Keyword::IN)) {
        Some(from) => out.push(from.clone()),
        None => out.push(word("FROM", &place)),
    }
    out.extend(rest.cloned());
    out
}

/// Takes DEFERRABLE and NOT DEFERRABLE out of the modes of a transaction.
fn without_deferrable(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let words = solid(tokens);
    let is_of_transaction = words.iter().take(5).any(|token| {
        matches!(keyword(token), Keyword::BEGIN | Keyword::TRANSACTION) || keyword(token) == Keyword::CHARACTERISTICS
    });
    if !is_of_transaction || !words.iter().any(|token| keyword(token) == Keyword::DEFERRABLE) {
        return tokens.to_vec();
    }
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(words.len());
    let mut rest = words.into_iter().peekable();
    while let Some(token) = rest.next() {
        if keyword(&token) != Keyword::DEFERRABLE {
            out.push(token);
            continue;
        }
        if out.last().is_some_and(|last| keyword(last) == Keyword::NOT) {
            out.pop();
        }
        match out.last().map(|last| last.token == Token::Comma) {
            Some(true) => drop(out.pop()),
            _ => drop(rest.next_if(|next| next.token == Token::Comma)),
        }
    }
    out
}

/// CREATE UNLOGGED TABLE makes a table like any other, which loses nothing.
fn without_unlogged(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut out = solid(tokens);
    let is_unlogged = out.get(1).is_some_and(|token| {
        let text = token.token.to_string();
        text.eq_ignore_ascii_case("unlogged")
    });
    if !is_unlogged || out.get(2).is_none_or(|token| keyword(token) != Keyword::TABLE) {
        return tokens.to_vec();
    }
    out.remove(1);
    out
}

/// Takes COLLATE with the collations that are the order of bytes out; others stay, and are refused.
fn without_collations(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let words = solid(tokens);
    let name = |at: usize| match words.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_some() => Some(word.value.clone()),
        Some(Token::Word(word)) => Some(word.value.to_lowercase()),
        _ => None,
    };
    let is_bytes = |at: usize| {
        let known = ["C", "POSIX", "ucs_basic", "default"];
        name(at).is_some_and(|name| known.contains(&name.as_str()))
    };
    let mut out = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        let is_collate = keyword(&words[at]) == Keyword::COLLATE;
        let is_qualified = name(at + 1).as_deref() == Some("pg_catalog")
            && words.get(at + 2).is_some_and(|token| token.token == Token::Period);
        if is_collate && is_qualified && is_bytes(at + 3) {
            at += 4;
        } else if is_collate && is_bytes(at + 1) {
            at += 2;
        } else {
            out.push(words[at].clone());
            at += 1;
        }
    }
    out
}

/// SELECT alone: a row without columns.
fn without_columns(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut out = solid(tokens);
    let Some(place) = out.first().cloned() else { return out };
    let at = |token: Token| TokenWithSpan { token, span: place.span };
    out.extend([word("FROM", &place), at(Token::LParen), word("SELECT", &place)]);
    out.extend([at(Token::Number("1".into(), false)), at(Token::RParen), word("AS", &place)]);
    out.push(at(Token::make_word("one", Some('"'))));
    out
}

/// LIMIT for FETCH FIRST ... ROWS ONLY.
fn limited(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| keyword(token) == Keyword::FETCH) {
        return tokens.to_vec();
    }
    let words = solid(tokens);
    let mut out = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        match fetch_first(&words, at) {
            Some((count, end)) => {
                out.push(word("LIMIT", &words[at]));
                match count.is_empty() {
                    true => {
                        out.push(TokenWithSpan { token: Token::Number("1".into(), false), span: words[at].span });
                    }
                    false => out.extend_from_slice(count),
                }
                at = end;
            }
            None => {
                out.push(words[at].clone());
                at += 1;
            }
        }
    }
    out
}

/// The tokens of the count of FETCH FIRST ... ROWS ONLY, and the place behind it.
fn fetch_first(words: &[TokenWithSpan], at: usize) -> Option<(&[TokenWithSpan], usize)> {
    let is = |at: usize, known: &[Keyword]| words.get(at).is_some_and(|token| known.contains(&keyword(token)));
    if !is(at, &[Keyword::FETCH]) || !is(at + 1, &[Keyword::FIRST, Keyword::NEXT]) {
        return None;
    }
    let mut depth = 0i32;
    for end in at + 2..words.len() {
        match words[end].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
        if depth == 0 && is(end, &[Keyword::ROW, Keyword::ROWS]) {
            return is(end + 1, &[Keyword::ONLY]).then(|| (&words[at + 2..end], end + 2));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;

    fn plain(source: &str) -> String {
        let tokens = in_plain_words(&tokenize(source).unwrap());
        solid(&tokens).iter().map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_become_those_that_the_parser_knows() {
        for (source, written) in [
            ("FETCH c", "FETCH NEXT FROM c"),
            ("fetch from c", "fetch NEXT from c"),
            ("FETCH BACKWARD IN c", "FETCH BACKWARD 1 IN c"),
            ("FETCH FORWARD ALL FROM c", "FETCH FORWARD ALL FROM c"),
            ("MOVE -2 IN c", "MOVE -2 IN c"),
            ("FETCH ABSOLUTE -1 c", "FETCH ABSOLUTE -1 FROM c"),
            ("FETCH 7 FROM \"C d\"", "FETCH 7 FROM \"C d\""),
            (
                "BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE",
                "BEGIN ISOLATION LEVEL SERIALIZABLE , READ ONLY",
            ),
            ("BEGIN NOT DEFERRABLE", "BEGIN"),
            ("SET TRANSACTION DEFERRABLE, READ ONLY", "SET TRANSACTION READ ONLY"),
            ("SET CONSTRAINTS ALL DEFERRED", "SET CONSTRAINTS ALL DEFERRED"),
            ("SELECT a COLLATE \"C\", b collate pg_catalog.\"default\" < c COLLATE x", "SELECT a , b < c COLLATE x"),
            ("create unlogged table t (a int)", "create table t ( a int )"),
            ("CREATE INDEX unlogged ON t", "CREATE INDEX unlogged ON t"),
            (" SELECT ", "SELECT FROM ( SELECT 1 ) AS \"one\""),
            (
                "SELECT a FROM t OFFSET 1 ROWS FETCH NEXT (1 + 1) ROWS ONLY",
                "SELECT a FROM t OFFSET 1 ROWS LIMIT ( 1 + 1 )",
            ),
            ("SELECT (SELECT a FETCH FIRST ROW ONLY) FOR UPDATE", "SELECT ( SELECT a LIMIT 1 ) FOR UPDATE"),
            ("SELECT a FETCH FIRST 2 ROWS WITH TIES", "SELECT a FETCH FIRST 2 ROWS WITH TIES"),
        ] {
            assert_eq!(plain(source), written, "{source}");
        }
    }
}
