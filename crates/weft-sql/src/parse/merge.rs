//! Actions of MERGE that the SQL parser does not know, in those that it knows.
//!
//! ```text
//!   WHEN MATCHED THEN DO NOTHING               THEN UPDATE SET "␀nothing" = NULL
//!   WHEN NOT MATCHED THEN DO NOTHING           THEN INSERT ("␀nothing") VALUES (NULL)
//!   THEN INSERT DEFAULT VALUES                 THEN INSERT ("␀default") VALUES (NULL)
//!   THEN INSERT (a) OVERRIDING SYSTEM VALUE VALUES (1)     THEN INSERT (a, "␀overriding") VALUES (1)
//! ```
//!
//! `␀` is a NUL, which no text of SQL has.

use sqlparser::ast::{Assignment, AssignmentTarget, MergeInsertExpr, ObjectName};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};

use super::lexemes::{is_word, keyword};

const NOTHING: &str = "\0nothing";
const DEFAULT: &str = "\0default";
const OVERRIDING: &str = "\0overriding";

/// Whether an UPDATE is DO NOTHING.
pub(crate) fn sets_nothing(assignments: &[Assignment]) -> bool {
    matches!(assignments, [Assignment { target: AssignmentTarget::ColumnName(name), .. }] if is(name, NOTHING))
}

/// Whether an INSERT is DO NOTHING.
pub(crate) fn inserts_nothing(insert: &MergeInsertExpr) -> bool {
    matches!(insert.columns.as_slice(), [name] if is(name, NOTHING))
}

/// Whether an INSERT has DEFAULT VALUES.
pub(crate) fn inserts_defaults(insert: &MergeInsertExpr) -> bool {
    matches!(insert.columns.as_slice(), [name] if is(name, DEFAULT))
}

/// The columns that an INSERT names, and whether it overrides the identity columns' own values.
pub(crate) fn inserted(insert: &MergeInsertExpr) -> (Vec<&ObjectName>, bool) {
    let named = insert.columns.iter().filter(|name| !is(name, OVERRIDING) && !is(name, DEFAULT)).collect();
    (named, insert.columns.iter().any(|name| is(name, OVERRIDING)))
}

fn is(name: &ObjectName, wanted: &str) -> bool {
    name.0.last().and_then(|part| part.as_ident()).is_some_and(|ident| ident.value == wanted)
}

/// Writes the actions in these forms.
pub(super) fn with_plain_actions(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| keyword(&token.token) == Keyword::MERGE) {
        return tokens;
    }
    let mut at = 0;
    while at < tokens.len() {
        if keyword(&tokens[at].token) == Keyword::THEN {
            write_action(&mut tokens, at);
        }
        at += 1;
    }
    tokens
}

/// Writes the action behind a THEN.
fn write_action(tokens: &mut Vec<TokenWithSpan>, then: usize) {
    let words: Vec<usize> =
        (then + 1..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).take(3).collect();
    let [first, second] = words[..2.min(words.len())] else { return };
    if is_word(&tokens[first].token, "do") && is_word(&tokens[second].token, "nothing") {
        let text = if is_not_matched(&tokens[..then]) { "INSERT (@) VALUES (NULL)" } else { "UPDATE SET @ = NULL" };
        replace(tokens, first..second + 1, text, NOTHING);
        return;
    }
    if !is_word(&tokens[first].token, "insert") {
        return;
    }
    match words.get(2) {
        Some(&third) if is_word(&tokens[second].token, "default") && is_word(&tokens[third].token, "values") => {
            replace(tokens, first..third + 1, "INSERT (@) VALUES (NULL)", DEFAULT);
        }
        _ => write_overriding(tokens, first),
    }
}

/// Whether the last WHEN is one of NOT MATCHED.
fn is_not_matched(tokens: &[TokenWithSpan]) -> bool {
    let mut words = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).rev();
    let (mut after, mut last) = (Keyword::NoKeyword, Keyword::NoKeyword);
    // Backwards: what stands behind the nearest WHEN ... MATCHED.
    for token in words.by_ref() {
        let word = keyword(&token.token);
        if word == Keyword::WHEN && (last == Keyword::MATCHED || last == Keyword::NOT && after == Keyword::MATCHED) {
            return last == Keyword::NOT;
        }
        (after, last) = (last, word);
    }
    false
}

/// Takes OVERRIDING ... VALUE out of an INSERT, and notes it among its columns.
fn write_overriding(tokens: &mut Vec<TokenWithSpan>, insert: usize) {
    let ends = |token: &Token| matches!(keyword(token), Keyword::VALUES | Keyword::WHEN);
    let Some(from) = (insert..tokens.len()).find(|at| {
        let token = &tokens[*at].token;
        is_word(token, "overriding") || ends(token)
    }) else {
        return;
    };
    if !is_word(&tokens[from].token, "overriding") {
        return;
    }
    let Some(to) = (from..tokens.len()).find(|at| is_word(&tokens[*at].token, "value")) else { return };
    let is_system = tokens[from..to].iter().any(|token| is_word(&token.token, "system"));
    tokens.drain(from..=to);
    let close = (insert..from).rev().find(|at| tokens[*at].token == Token::RParen);
    if let (Some(close), true) = (close, is_system) {
        replace(tokens, close..close, ", @", OVERRIDING);
    }
}

/// Puts the tokens of a text in the place of others; `@` in it is the name.
fn replace(tokens: &mut Vec<TokenWithSpan>, place: std::ops::Range<usize>, text: &str, name: &str) {
    let span = tokens[place.start.min(tokens.len() - 1)].span;
    let made = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().unwrap_or_default();
    let named = |token| match token {
        Token::AtSign => {
            Token::Word(Word { value: name.to_owned(), quote_style: Some('"'), keyword: Keyword::NoKeyword })
        }
        token => token,
    };
    tokens.splice(place, made.into_iter().map(|token| TokenWithSpan { token: named(token), span }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_written_plainly() {
        let merge = "MERGE INTO t USING s ON t.a = s.a WHEN";
        let cases = [
            ("MATCHED THEN DO NOTHING", "MATCHED THEN UPDATE SET \"\0nothing\" = NULL"),
            ("NOT MATCHED THEN do nothing", "NOT MATCHED THEN INSERT (\"\0nothing\") VALUES (NULL)"),
            (
                "MATCHED AND CASE WHEN NOT b THEN c END THEN DO NOTHING WHEN NOT MATCHED THEN INSERT VALUES (1)",
                "MATCHED AND CASE WHEN NOT b THEN c END THEN UPDATE SET \"\0nothing\" = NULL WHEN NOT MATCHED THEN \
                 INSERT VALUES (1)",
            ),
            ("NOT MATCHED THEN INSERT DEFAULT VALUES", "NOT MATCHED THEN INSERT (\"\0default\") VALUES (NULL)"),
            (
                "NOT MATCHED THEN INSERT (a) OVERRIDING SYSTEM VALUE VALUES (1)",
                "NOT MATCHED THEN INSERT (a, \"\0overriding\")  VALUES (1)",
            ),
        ];
        for (sql, wanted) in cases {
            let sql = format!("{merge} {sql}");
            let tokens = Tokenizer::new(&PostgreSqlDialect {}, &sql).tokenize_with_location().unwrap();
            let written: String = with_plain_actions(tokens).iter().map(|token| token.token.to_string()).collect();
            assert_eq!(written, format!("{merge} {wanted}"));
        }
    }
}
