//! `ROWS FROM (f(x), g(y))`, which the SQL parser does not know, as a function of its functions.
//!
//! ```text
//!   FROM ROWS FROM (f(1), g(2)) WITH ORDINALITY AS r     FROM "␁rows_from" (f(1), g(2)) WITH ORDINALITY AS r
//! ```
//!
//! `␁` is a character that names do not have.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::lexemes::{keyword, next};

/// The function that stands for ROWS FROM.
pub const ROWS_FROM: &str = "\u{1}rows_from";

/// Writes it so.
pub(super) fn written_plainly(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while let Some(rows) = (at..tokens.len()).find(|at| keyword(&tokens[*at]) == Keyword::ROWS) {
        at = rows + 1;
        let from = next(&tokens, rows + 1).filter(|from| keyword(&tokens[*from]) == Keyword::FROM);
        let open = from.and_then(|from| next(&tokens, from + 1));
        if open.is_some_and(|open| tokens[open].token == Token::LParen)
            && let Some(from) = from
        {
            let name = Word { value: ROWS_FROM.into(), quote_style: Some('"'), keyword: Keyword::NoKeyword };
            let span = tokens[rows].span;
            tokens.splice(rows..=from, [TokenWithSpan { token: Token::Word(name), span }]);
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::super::{Parsed, parse};

    #[test]
    fn functions_stand_side_by_side() {
        let sql = "SELECT * FROM t, LATERAL rows from (f(t.a), g(1)) WITH ORDINALITY AS r (a, b, n)";
        let Some(Parsed::Sql { statement, .. }) = parse(sql).unwrap().pop() else { panic!("{sql}") };
        let shown = statement.to_string().replace('\u{1}', "");
        assert!(shown.contains("\"rows_from\"(f(t.a), g(1)) WITH ORDINALITY AS r (a, b, n)"), "{shown}");
    }
}
