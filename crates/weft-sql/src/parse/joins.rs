//! Joins in forms that the SQL parser knows.
//!
//! ```text
//!   a LEFT JOIN b JOIN c ON x ON y     a LEFT JOIN (b JOIN c ON x) ON y
//!   a JOIN b USING (k) AS j            a JOIN b USING (k, "\u{1}as", "j")
//! ```
//!
//! An ON or USING belongs to the last join that has none; joins before it stay open. A CROSS or NATURAL join is whole
//! at once.

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::lexemes::keyword;

/// Among the columns of USING, that the next one is the name of the join.
pub(super) const AS: &str = "\u{1}as";

/// The columns of USING, and the name that the joined columns have together.
pub fn joined_names(columns: &[ObjectName]) -> (&[ObjectName], Option<&Ident>) {
    let ident = |name: &ObjectName| name.0.last().and_then(|part| part.as_ident()).cloned();
    match columns {
        [columns @ .., mark, name] if ident(mark).is_some_and(|mark| mark.value == AS) => {
            (columns, name.0.last().and_then(|part| part.as_ident()))
        }
        _ => (columns, None),
    }
}

/// A join whose condition is still to come.
struct Open {
    /// The place behind its JOIN.
    behind: usize,
    /// Whether another join begins before its condition.
    holds_join: bool,
}

/// Writes joins in these forms.
pub(super) fn written_plainly(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| keyword(&token.token) == Keyword::JOIN) {
        return tokens;
    }
    let mut parentheses: Vec<(usize, Token)> = Vec::new();
    let mut levels: Vec<Vec<Open>> = vec![Vec::new()];
    let mut last = [Keyword::NoKeyword; 3];
    for (at, token) in tokens.iter().enumerate() {
        let word = keyword(&token.token);
        let Some(level) = levels.last_mut() else { return tokens };
        match (&token.token, word) {
            (Token::Whitespace(_), _) => continue,
            (Token::LParen, _) => levels.push(Vec::new()),
            (Token::RParen, _) => drop(levels.pop()),
            (_, Keyword::JOIN) => {
                level.iter_mut().for_each(|open| open.holds_join = true);
                if !is_whole(last) {
                    level.push(Open { behind: at + 1, holds_join: false });
                }
            }
            (_, Keyword::ON | Keyword::USING) => {
                if let Some(open) = level.pop()
                    && open.holds_join
                {
                    parentheses.push((open.behind, Token::LParen));
                    parentheses.push((at, Token::RParen));
                }
            }
            (Token::Comma, _) | (_, Keyword::WHERE | Keyword::SELECT) => level.clear(),
            _ => {}
        }
        last = [last[1], last[2], word];
    }
    with_names(inserted(tokens, parentheses))
}

/// Whether the words before JOIN say that it has no condition.
fn is_whole(last: [Keyword; 3]) -> bool {
    let is_kind = |word| matches!(word, Keyword::LEFT | Keyword::RIGHT | Keyword::FULL | Keyword::INNER);
    match last {
        [.., Keyword::CROSS | Keyword::NATURAL] => true,
        [_, Keyword::NATURAL, kind] | [Keyword::NATURAL, kind, Keyword::OUTER] => is_kind(kind),
        _ => false,
    }
}

/// The tokens with others put before the places given.
fn inserted(tokens: Vec<TokenWithSpan>, mut made: Vec<(usize, Token)>) -> Vec<TokenWithSpan> {
    if made.is_empty() {
        return tokens;
    }
    made.sort_by_key(|(at, _)| *at);
    let mut made = made.into_iter().peekable();
    let mut all = Vec::with_capacity(tokens.len() + 8);
    for (at, token) in tokens.into_iter().enumerate() {
        while let Some((_, token_made)) = made.next_if(|(place, _)| *place == at) {
            all.push(TokenWithSpan { token: token_made, span: token.span });
        }
        all.push(token);
    }
    all
}

/// Puts the name of a join with USING among its columns.
fn with_names(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut made: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].token == Token::RParen
            && let Some(name) = name_behind(&tokens, at)
        {
            let span = tokens[name].span;
            let quoted = |text: &str| {
                Token::Word(Word { value: text.into(), quote_style: Some('"'), keyword: Keyword::NoKeyword })
            };
            let parts = [Token::Comma, quoted(AS), Token::Comma, tokens[name].token.clone(), Token::RParen];
            made.extend(parts.into_iter().map(|token| TokenWithSpan { token, span }));
            at = name + 1;
            continue;
        }
        made.push(tokens[at].clone());
        at += 1;
    }
    made
}

/// The name in `USING (...) AS name`, whose parenthesis closes at a place.
fn name_behind(tokens: &[TokenWithSpan], close: usize) -> Option<usize> {
    let next = |from: usize| (from..tokens.len()).find(|at| !matches!(tokens[*at].token, Token::Whitespace(_)));
    let before = |to: usize| (0..to).rev().find(|at| !matches!(tokens[*at].token, Token::Whitespace(_)));
    let word = next(close + 1).filter(|at| keyword(&tokens[*at].token) == Keyword::AS)?;
    let name = next(word + 1).filter(|at| matches!(tokens[*at].token, Token::Word(_)))?;
    let mut at = before(close)?;
    while tokens[at].token != Token::LParen {
        if !matches!(tokens[at].token, Token::Word(_) | Token::Comma) {
            return None;
        }
        at = before(at)?;
    }
    let using = before(at)?;
    (keyword(&tokens[using].token) == Keyword::USING).then_some(name)
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    #[test]
    fn joins_are_written_plainly() {
        let cases = [
            ("a LEFT JOIN b JOIN c ON x ON y", "a LEFT JOIN( b JOIN c ON x )ON y"),
            ("a JOIN b ON x JOIN c ON y", "a JOIN b ON x JOIN c ON y"),
            ("a JOIN b JOIN c JOIN d ON x ON y ON z", "a JOIN( b JOIN( c JOIN d ON x )ON y )ON z"),
            ("a JOIN b CROSS JOIN c ON x", "a JOIN( b CROSS JOIN c )ON x"),
            ("a JOIN b NATURAL JOIN c USING (k)", "a JOIN( b NATURAL JOIN c )USING (k)"),
            ("a CROSS JOIN b JOIN c ON x", "a CROSS JOIN b JOIN c ON x"),
            ("a NATURAL LEFT JOIN b JOIN c ON x", "a NATURAL LEFT JOIN b JOIN c ON x"),
            ("a NATURAL FULL OUTER JOIN b JOIN c ON x", "a NATURAL FULL OUTER JOIN b JOIN c ON x"),
            ("a JOIN (b JOIN c ON x) ON y", "a JOIN (b JOIN c ON x) ON y"),
            ("a NATURAL JOIN b, c JOIN d ON x", "a NATURAL JOIN b, c JOIN d ON x"),
            ("SELECT DISTINCT ON (a) a FROM b JOIN c USING (k)", "SELECT DISTINCT ON (a) a FROM b JOIN c USING (k)"),
            ("a JOIN b USING (k, l) AS j WHERE x", "a JOIN b USING (k, l,\"\u{1}as\",j) WHERE x"),
        ];
        for (sql, wanted) in cases {
            let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
            let written: String = written_plainly(tokens).iter().map(|token| token.token.to_string()).collect();
            assert_eq!(written, wanted);
        }
    }
}
