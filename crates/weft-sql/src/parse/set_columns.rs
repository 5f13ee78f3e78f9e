//! The columns that a foreign key sets when a row goes, which the SQL parser does not know.
//!
//! ```text
//!   REFERENCES p (x, y) ON DELETE SET NULL (b)     REFERENCES p (x, y, "␀set", "b") ON DELETE SET NULL
//!   REFERENCES p ON DELETE SET DEFAULT (b)         REFERENCES p ("␀set", "b") ON DELETE SET DEFAULT
//! ```
//!
//! `␀` is a NUL, which no text of SQL has.

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use weft_format::{Code, Error, Result};

use super::names::fold;
use super::position;

/// The name behind which the columns are that are set.
const SET: &str = "\0set";

/// The columns that a foreign key refers to, and those that it sets when a row is deleted.
pub(crate) fn referred_and_set(columns: &[Ident]) -> (Vec<String>, Vec<String>) {
    let folded = |columns: &[Ident]| columns.iter().map(fold).collect();
    match columns.iter().position(|column| column.value == SET) {
        Some(at) => (folded(&columns[..at]), folded(&columns[at + 1..])),
        None => (folded(columns), Vec::new()),
    }
}

/// Moves each list of columns that are set to the columns that are referred to.
pub(super) fn with_moved_lists(source: &str, tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    let defines = |token: &TokenWithSpan| is_keyword(token, Keyword::CREATE) || is_keyword(token, Keyword::ALTER);
    let first = tokens.iter().find(|token| !matches!(token.token, Token::Whitespace(_)));
    if !first.is_some_and(defines) {
        return Ok(tokens);
    }
    let mut tokens = tokens;
    let mut from = 0;
    while let Some((references, open, close)) = next_list(source, &tokens, from)? {
        let list: Vec<TokenWithSpan> = tokens[open + 1..close].to_vec();
        tokens.drain(open..=close);
        let place = behind_table(&tokens, references);
        let has_columns = place.is_some_and(|place| tokens[place].token == Token::LParen);
        let span = tokens[references].span;
        let token = |token: Token| TokenWithSpan { token, span };
        let set = Word { value: SET.into(), quote_style: Some('"'), keyword: Keyword::NoKeyword };
        let mut moved = vec![token(Token::Word(set)), token(Token::Comma)];
        moved.extend(list);
        let at = match place.filter(|_| has_columns) {
            Some(place) => {
                moved.insert(0, token(Token::Comma));
                (place..tokens.len()).find(|at| tokens[*at].token == Token::RParen).unwrap_or(tokens.len())
            }
            None => {
                moved.insert(0, token(Token::LParen));
                moved.push(token(Token::RParen));
                place.unwrap_or(tokens.len())
            }
        };
        from = at + moved.len();
        tokens.splice(at..at, moved);
    }
    Ok(tokens)
}

/// The next list of columns behind SET NULL or SET DEFAULT of an action: its REFERENCES, where it begins and ends.
fn next_list(source: &str, tokens: &[TokenWithSpan], from: usize) -> Result<Option<(usize, usize, usize)>> {
    let words: Vec<usize> =
        (from..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let mut references = None;
    for (number, &at) in words.iter().enumerate() {
        let is = |place: usize, keyword: Keyword| {
            words.get(number + place).is_some_and(|at| is_keyword(&tokens[*at], keyword))
        };
        if is_keyword(&tokens[at], Keyword::REFERENCES) {
            references = Some(at);
        }
        let sets = is(2, Keyword::SET) && (is(3, Keyword::NULL) || is(3, Keyword::DEFAULT));
        let Some(&open) = words.get(number + 4).filter(|open| tokens[**open].token == Token::LParen) else { continue };
        let Some(references) = references.filter(|_| sets && is(0, Keyword::ON)) else { continue };
        if is(1, Keyword::UPDATE) {
            let what = if is(3, Keyword::NULL) { "SET NULL" } else { "SET DEFAULT" };
            let message = format!("a column list with {what} is only supported for ON DELETE actions");
            return Err(position::place(Error::new(Code::FeatureNotSupported, message), source, tokens[at].span));
        }
        let close = (open..tokens.len()).find(|at| tokens[*at].token == Token::RParen);
        if let Some(close) = close.filter(|_| is(1, Keyword::DELETE)) {
            return Ok(Some((references, open, close)));
        }
    }
    Ok(None)
}

/// What is behind REFERENCES and a table.
fn behind_table(tokens: &[TokenWithSpan], references: usize) -> Option<usize> {
    let next = |from: usize| (from..tokens.len()).find(|at| !matches!(tokens[*at].token, Token::Whitespace(_)));
    let mut place = next(references + 1)?;
    while let Some(period) = next(place + 1).filter(|at| tokens[*at].token == Token::Period) {
        place = next(period + 1)?;
    }
    next(place + 1)
}

fn is_keyword(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.keyword == keyword)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_columns_move() {
        let cases = [
            (
                "REFERENCES p ON DELETE SET NULL (b) MATCH FULL",
                "REFERENCES p (\"␀set\",b)ON DELETE SET NULL  MATCH FULL",
            ),
            (
                "references s.p (x, y) on update cascade on delete set default (a, b), \
                 c int references q on delete set null(c)",
                "references s.p (x, y,\"␀set\",a, b) on update cascade on delete set default , \
                 c int references q (\"␀set\",c)on delete set null",
            ),
            ("UPDATE t SET a = DEFAULT", "UPDATE t SET a = DEFAULT"),
        ];
        for (sql, wanted) in cases {
            let sql = format!("CREATE {sql}");
            let tokens = super::super::tokens::tokenize(&sql).unwrap();
            let moved = with_moved_lists(&sql, tokens).unwrap();
            let shown: String = moved.iter().map(|token| token.token.to_string()).collect();
            assert_eq!(shown.replace('\0', "␀"), format!("CREATE {wanted}"));
        }
    }
}
