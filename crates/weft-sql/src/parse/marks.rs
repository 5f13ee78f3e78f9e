//! Stored queries as users read them: forms that the SQL parser does not know, written back.
//!
//! ```text
//!   ROWS BETWEEN "\1frame"('ties', 'preceding', 1) PRECEDING AND x     ROWS BETWEEN 1 PRECEDING AND x EXCLUDE TIES
//!   USING(k, "\1as", j)                                                USING(k) AS j
//! ```

use std::borrow::Cow;

use sqlparser::tokenizer::{Token, Whitespace};

use super::frames::FRAME;
use super::joins::AS;
use super::rows_from::ROWS_FROM;
use super::tokens::tokenize;

/// Such a text without marks.
pub(crate) fn as_written(text: &str) -> Cow<'_, str> {
    if !text.contains([FRAME, AS].map(|mark| mark.chars().next().unwrap_or_default())) {
        return Cow::Borrowed(text);
    }
    let Ok(tokens) = tokenize(text) else { return Cow::Borrowed(text) };
    let mut tokens: Vec<Token> = tokens.into_iter().map(|token| token.token).collect();
    while let Some(at) = tokens.iter().position(|token| is_mark(token, AS)) {
        if !write_name(&mut tokens, at) {
            return Cow::Borrowed(text);
        }
    }
    while let Some(at) = tokens.iter().position(|token| is_mark(token, FRAME)) {
        if !write_frame(&mut tokens, at) {
            return Cow::Borrowed(text);
        }
    }
    for token in &mut tokens {
        if is_mark(token, ROWS_FROM) {
            *token = Token::make_word("ROWS FROM ", None);
        }
    }
    Cow::Owned(tokens.iter().filter(|token| **token != Token::EOF).map(Token::to_string).collect())
}

fn is_mark(token: &Token, mark: &str) -> bool {
    matches!(token, Token::Word(word) if word.value == mark)
}

fn is_blank(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

/// `, "\1as", j)` becomes `) AS j`.
fn write_name(tokens: &mut Vec<Token>, mark: usize) -> bool {
    let Some(comma) = tokens[..mark].iter().rposition(|token| *token == Token::Comma) else { return false };
    let Some(end) = closing(tokens, mark) else { return false };
    let Some(name) = tokens[mark..end].iter().rposition(|token| matches!(token, Token::Word(_))) else { return false };
    let name = tokens[mark + name].clone();
    let space = || Token::Whitespace(Whitespace::Space);
    let made = [Token::RParen, space(), Token::make_keyword("AS"), space(), name];
    tokens.splice(comma..=end, made);
    true
}

/// The mark's call and its PRECEDING become the bound; EXCLUDE comes to the end of the window.
fn write_frame(tokens: &mut Vec<Token>, mark: usize) -> bool {
    let Some(open) = (mark..tokens.len()).find(|at| tokens[*at] == Token::LParen) else { return false };
    let Some(end) = closing(tokens, open + 1) else { return false };
    let Some(preceding) = (end + 1..tokens.len()).find(|at| !is_blank(&tokens[*at])) else { return false };
    let arguments: Vec<Token> = tokens[open + 1..end].iter().filter(|token| !is_blank(token)).cloned().collect();
    let [Token::SingleQuotedString(exclusion), Token::Comma, Token::SingleQuotedString(kind), offset @ ..] =
        arguments.as_slice()
    else {
        return false;
    };
    let (words, has_offset) = match kind.as_str() {
        "unbounded" => ("UNBOUNDED PRECEDING", false),
        "end" => ("UNBOUNDED FOLLOWING", false),
        "current" => ("CURRENT ROW", false),
        "preceding" => ("PRECEDING", true),
        _ => ("FOLLOWING", true),
    };
    let excluded = match exclusion.as_str() {
        "current" => "CURRENT ROW",
        "group" => "GROUP",
        "ties" => "TIES",
        _ => "NO OTHERS",
    };
    let Some(window) = closing(tokens, preceding) else { return false };
    // Keywords are written as they stand.
    let plain = |text: String| Token::make_word(&text, None);
    let mut bound = Vec::new();
    if has_offset {
        for token in &offset[usize::from(!offset.is_empty())..] {
            bound.extend([token.clone(), Token::Whitespace(Whitespace::Space)]);
        }
    }
    bound.push(plain(words.to_owned()));
    tokens.insert(window, plain(format!(" EXCLUDE {excluded}")));
    tokens.splice(mark..=preceding, bound);
    true
}

/// The parenthesis that closes what is open at a place.
fn closing(tokens: &[Token], from: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return Some(at),
            Token::RParen => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{Parsed, parse};

    #[test]
    fn stored_queries_are_read_as_they_were_written() {
        let frames = [
            "1 PRECEDING AND 2 FOLLOWING EXCLUDE TIES",
            "UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW",
            "CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE GROUP",
            "a + 1 FOLLOWING AND (b) FOLLOWING EXCLUDE NO OTHERS",
        ];
        let frames = frames.map(|frame| format!("SELECT sum(a) OVER (ORDER BY b ROWS BETWEEN {frame}), b FROM t"));
        let joins = ["SELECT j.k FROM a JOIN b USING (k) AS j JOIN c USING(k, l) AS \"J x\"".to_owned()];
        for text in frames.into_iter().chain(joins) {
            let parsed = |text: &str| match parse(text).unwrap().pop() {
                Some(Parsed::Sql { statement, .. }) => *statement,
                other => panic!("{other:?}"),
            };
            let stored = parsed(&text).to_string();
            let shown = as_written(&stored);
            assert!(stored.contains('\u{1}') && !shown.contains('\u{1}'), "{shown}");
            assert_eq!(parsed(&shown).to_string(), stored);
        }
    }
}
