//! Rows and their columns in forms that the SQL parser knows.
//!
//! ```text
//!   (t).*                                     (t)."\u{1}all"
//!   FROM json_to_record(j) AS (a int)         FROM json_to_record(j) AS "json_to_record" (a int)
//! ```

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::lexemes::{keyword, next};

/// The name of a column that stands for all columns of a row.
pub const ALL_COLUMNS: &str = "\u{1}all";

/// Functions whose columns are given behind AS.
const RECORDS: [&str; 4] = ["json_to_record", "jsonb_to_record", "json_to_recordset", "jsonb_to_recordset"];

fn quoted(text: &str) -> Token {
    Token::Word(Word { value: text.into(), quote_style: Some('"'), keyword: Keyword::NoKeyword })
}

/// Writes rows in these forms.
pub(super) fn written_plainly(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while let Some(close) = next(&tokens, at) {
        at = close + 1;
        if tokens[close].token == Token::RParen
            && let Some(period) = next(&tokens, close + 1).filter(|period| tokens[*period].token == Token::Period)
            && let Some(star) = next(&tokens, period + 1).filter(|star| tokens[*star].token == Token::Mul)
        {
            tokens[star].token = quoted(ALL_COLUMNS);
            at = star + 1;
        } else if let Some(name) = record(&tokens[close].token)
            && let Some(list) = list_behind(&tokens, close)
        {
            let span = tokens[list].span;
            tokens.insert(list, TokenWithSpan { token: quoted(name), span });
        }
    }
    tokens
}

fn record(token: &Token) -> Option<&'static str> {
    let Token::Word(word) = token else { return None };
    RECORDS.into_iter().find(|name| word.value.eq_ignore_ascii_case(name))
}

/// The list of columns in `name(...) AS (...)`, whose name is at a place.
fn list_behind(tokens: &[TokenWithSpan], name: usize) -> Option<usize> {
    let mut at = next(tokens, name + 1).filter(|open| tokens[*open].token == Token::LParen)?;
    let mut depth = 0usize;
    loop {
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        at = next(tokens, at + 1)?;
    }
    let word = next(tokens, at + 1).filter(|word| keyword(&tokens[*word].token) == Keyword::AS)?;
    next(tokens, word + 1).filter(|list| tokens[*list].token == Token::LParen)
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    #[test]
    fn rows_are_written_plainly() {
        let cases = [
            ("(t).*, t.*, (a) * 2", "(t).\"\u{1}all\", t.*, (a) * 2"),
            ("json_to_record(f(j)) AS (a int)", "json_to_record(f(j)) AS \"json_to_record\"(a int)"),
            ("json_to_record(j) AS t (a int), f(x) AS (y)", "json_to_record(j) AS t (a int), f(x) AS (y)"),
        ];
        for (sql, wanted) in cases {
            let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
            let written: String = written_plainly(tokens).iter().map(|token| token.token.to_string()).collect();
            assert_eq!(written, wanted);
        }
    }
}
