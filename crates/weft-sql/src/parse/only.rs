//! ONLY before a table, `*` behind one, and NO INHERIT of a CHECK constraint. No table has others below it, so a table
//! with or without them is the same.
//!
//! ```text
//!   SELECT * FROM ONLY (t), u* AS x         SELECT * FROM t, u AS x
//!   CHECK (a > 0) NO INHERIT                CHECK (a > 0) NOT ENFORCED, which stands for it
//! ```

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use weft_format::{Code, Error, Result};

use super::lexemes::{is_word, keyword, next};
use super::position;

/// Writes tables without ONLY and `*`, and NO INHERIT in words that the SQL parser knows.
pub(super) fn written_plainly(source: &str, tokens: &[TokenWithSpan]) -> Result<Vec<TokenWithSpan>> {
    let enforced = |token: &&TokenWithSpan| keyword(token) == Keyword::ENFORCED;
    let defines = tokens
        .iter()
        .find(|token| is_solid(token))
        .is_some_and(|first| matches!(keyword(first), Keyword::CREATE | Keyword::ALTER));
    if defines && let Some(token) = tokens.iter().find(enforced) {
        let error = Error::new(Code::SyntaxError, format!("syntax error at or near \"{}\"", token.token));
        return Err(position::place(error, source, token.span));
    }
    let concerns = |token: &TokenWithSpan| is_only(token) || token.token == Token::Mul || is_word(token, "inherit");
    if !tokens.iter().any(concerns) {
        return Ok(tokens.to_vec());
    }
    Ok(without_star(with_enforced(without_only(tokens.to_vec()))))
}

fn is_solid(token: &TokenWithSpan) -> bool {
    !matches!(token.token, Token::Whitespace(_) | Token::EOF)
}

fn is_only(token: &TokenWithSpan) -> bool {
    is_word(token, "only")
}

/// The place behind a name, perhaps with its schema, that begins at a place.
fn behind_name(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let is_part = |at: usize| matches!(tokens[at].token, Token::Word(_));
    let mut last = Some(at).filter(|at| is_part(*at))?;
    while let Some(period) = next(tokens, last + 1).filter(|at| tokens[*at].token == Token::Period) {
        last = next(tokens, period + 1).filter(|at| is_part(*at))?;
    }
    Some(last + 1)
}

/// `ONLY t` and `ONLY (t)` become `t`: the word is reserved, and elsewhere is behind READ, ROW or ROWS.
fn without_only(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut before = Keyword::NoKeyword;
    let mut at = 0;
    while let Some(place) = next(&tokens, at) {
        at = place + 1;
        let is_before_table =
            is_only(&tokens[place]) && !matches!(before, Keyword::READ | Keyword::ROW | Keyword::ROWS);
        before = keyword(&tokens[place]);
        let Some(behind) = next(&tokens, at).filter(|_| is_before_table) else { continue };
        if behind_name(&tokens, behind).is_some() {
            tokens.remove(place);
            at = place;
        } else if tokens[behind].token == Token::LParen
            && let Some(name) = next(&tokens, behind + 1)
            && let Some(end) = behind_name(&tokens, name)
            && let Some(close) = next(&tokens, end).filter(|at| tokens[*at].token == Token::RParen)
        {
            tokens.remove(close);
            tokens.drain(place..=behind);
            at = place;
        }
    }
    tokens
}

/// NO INHERIT behind the parenthesis of a CHECK.
fn with_enforced(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let words: Vec<usize> = (0..tokens.len()).filter(|at| is_solid(&tokens[*at])).collect();
    for window in words.windows(3) {
        let [close, no, inherit] = [window[0], window[1], window[2]];
        let closes = tokens[close].token == Token::RParen;
        if closes && keyword(&tokens[no]) == Keyword::NO && is_word(&tokens[inherit], "inherit") {
            tokens[no].token = Token::make_keyword("NOT");
            tokens[inherit].token = Token::make_keyword("ENFORCED");
        }
    }
    tokens
}

/// What a pair of parentheses has had so far.
#[derive(Clone, Copy, Default)]
struct Level {
    /// A statement that has a FROM of tables.
    reads: bool,
    /// Within the list of FROM.
    lists: bool,
}

/// Takes `*` from behind the names of tables.
fn without_star(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let (mut levels, mut before) = (vec![Level::default()], Keyword::NoKeyword);
    let mut at = 0;
    while let Some(place) = next(&tokens, at) {
        at = place + 1;
        let word = keyword(&tokens[place]);
        let Some(level) = levels.last_mut() else { return tokens };
        let mut begins_table = false;
        match (&tokens[place].token, word) {
            (Token::LParen, _) => levels.push(Level::default()),
            (Token::RParen, _) => drop(levels.pop()),
            (Token::Comma, _) => begins_table = level.lists,
            (_, Keyword::SELECT | Keyword::DELETE) => *level = Level { reads: true, lists: false },
            (_, Keyword::UPDATE) => {
                level.reads = true;
                begins_table = before != Keyword::FOR;
            }
            (_, Keyword::FROM) => {
                level.lists = level.reads && before != Keyword::DISTINCT;
                begins_table = level.lists;
            }
            (_, Keyword::JOIN | Keyword::TABLE | Keyword::TRUNCATE) => begins_table = true,
            (_, Keyword::WHERE | Keyword::GROUP | Keyword::ORDER | Keyword::HAVING | Keyword::LIMIT) => {
                level.lists = false;
            }
            (_, Keyword::SET | Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::RETURNING) => {
                level.lists = false;
            }
            (_, Keyword::WINDOW | Keyword::FOR | Keyword::OFFSET | Keyword::FETCH) => level.lists = false,
            _ => {}
        }
        before = word;
        let star = next(&tokens, at).filter(|_| begins_table).and_then(|name| behind_name(&tokens, name));
        let star = star.and_then(|behind| next(&tokens, behind)).filter(|star| tokens[*star].token == Token::Mul);
        if let Some(star) = star {
            tokens.remove(star);
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;

    #[test]
    fn tables_stand_alone() {
        let cases = [
            ("SELECT * FROM ONLY t, ONLY (s.u) AS x", "SELECT * FROM t,s.u AS x"),
            ("SELECT a * b FROM t* WHERE a * 2 > 1", "SELECT a * b FROM t WHERE a * 2 > 1"),
            ("SELECT extract(epoch FROM a * b), c * d FROM t, u*", "SELECT extract(epoch FROM a * b), c * d FROM t, u"),
            ("SELECT 1 IS DISTINCT FROM a * 2 FROM t", "SELECT 1 IS DISTINCT FROM a * 2 FROM t"),
            ("SELECT 1 FROM a JOIN b* ON a.x = b.y * 2, c *", "SELECT 1 FROM a JOIN b ON a.x = b.y * 2, c "),
            ("UPDATE ONLY t SET a = b * 2 FROM u *", "UPDATE t SET a = b * 2 FROM u "),
            ("SELECT * FROM t FETCH FIRST 2 ROWS ONLY", "SELECT * FROM t FETCH FIRST 2 ROWS ONLY"),
            ("BEGIN READ ONLY", "BEGIN READ ONLY"),
            ("TRUNCATE ONLY t*", "TRUNCATE t"),
            ("ALTER TABLE ONLY t NO INHERIT p", "ALTER TABLE t NO INHERIT p"),
            ("CREATE TABLE t (a int CHECK (a > 0) NO INHERIT)", "CREATE TABLE t (a int CHECK (a > 0) NOT ENFORCED)"),
        ];
        for (sql, wanted) in cases {
            let plain = written_plainly(sql, &tokenize(sql).unwrap()).unwrap();
            let shown: String = plain.iter().map(|token| token.token.to_string()).collect();
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words(&shown.replace(", ", ",")), words(&wanted.replace(", ", ",")), "{sql}");
        }
        assert!(written_plainly("", &tokenize("CREATE TABLE t (CHECK (a > 0) NOT ENFORCED)").unwrap()).is_err());
    }
}
