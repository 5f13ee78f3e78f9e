//! Frames of windows in forms that the SQL parser knows.
//!
//! ```text
//!   ROWS BETWEEN 1 PRECEDING AND x EXCLUDE TIES     ROWS BETWEEN "\1frame"('ties', 'preceding', 1) PRECEDING AND x
//!   RANGE '1 day'::interval PRECEDING               RANGE ('1 day'::interval) PRECEDING
//! ```

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::lexemes::{is_word, keyword, next};

/// The function that a start of a frame with EXCLUDE is written as.
pub const FRAME: &str = "\u{1}frame";

/// The start of a frame with EXCLUDE.
pub struct FrameStart {
    /// `current`, `group`, `ties` or `no`.
    pub exclusion: String,
    /// `unbounded`, `current`, `preceding`, `following`, or `end` for UNBOUNDED FOLLOWING.
    pub kind: String,
    /// The offset.
    pub offset: Option<Expr>,
}

/// The start of a frame that an expression stands for.
pub fn frame_start(expr: &Expr) -> Option<FrameStart> {
    let Expr::Function(function) = expr else { return None };
    let name = function.name.0.last()?.as_ident()?;
    let FunctionArguments::List(list) = &function.args else { return None };
    if name.value != FRAME {
        return None;
    }
    let mut args = list.args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    let mut text = || match args.next()? {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    let (exclusion, kind) = (text()?, text()?);
    Some(FrameStart { exclusion, kind, offset: args.next().cloned() })
}

/// Writes frames in these forms.
pub(super) fn written_plainly(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_frame = |token: &TokenWithSpan| {
        matches!(keyword(&token.token), Keyword::PRECEDING | Keyword::FOLLOWING | Keyword::EXCLUDE)
    };
    if !tokens.iter().any(is_frame) {
        return tokens;
    }
    let tokens = without_exclusions(tokens);
    let mut made = Vec::with_capacity(tokens.len());
    for token in tokens {
        if matches!(keyword(&token.token), Keyword::PRECEDING | Keyword::FOLLOWING)
            && let Some(start) = bound_start(&made, made.len())
            && matches!(made[start].token, Token::SingleQuotedString(_))
        {
            let span = made[start].span;
            made.insert(start, TokenWithSpan { token: Token::LParen, span });
            made.push(TokenWithSpan { token: Token::RParen, span });
        }
        made.push(token);
    }
    made
}

/// Writes frames with EXCLUDE.
fn without_exclusions(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if keyword(&tokens[at].token) == Keyword::EXCLUDE
            && let Some(exclusion) = exclusion_at(&tokens, at)
            && let Some((from, to)) = start_of_frame(&tokens, at)
        {
            let end = closing(&tokens, at);
            let rest = tokens.split_off(end);
            let span = tokens[at].span;
            tokens.truncate(at);
            let bound: Vec<Token> = tokens[from..to].iter().map(|token| token.token.clone()).collect();
            let made = call(exclusion, bound).into_iter().map(|token| TokenWithSpan { token, span });
            tokens.splice(from..to, made);
            at = tokens.len();
            tokens.extend(rest);
        }
        at += 1;
    }
    tokens
}

/// What an EXCLUDE at a place says, if it ends a frame.
fn exclusion_at(tokens: &[TokenWithSpan], at: usize) -> Option<&'static str> {
    let first = next(tokens, at + 1)?;
    let second = next(tokens, first + 1)?;
    let is = |at: usize, text: &str| is_word(&tokens[at].token, text);
    let (exclusion, last) = match () {
        () if is(first, "current") && is(second, "row") => ("current", second),
        () if is(first, "no") && is(second, "others") => ("no", second),
        () if is(first, "group") => ("group", first),
        () if is(first, "ties") => ("ties", first),
        () => return None,
    };
    let behind = next(tokens, last + 1)?;
    (tokens[behind].token == Token::RParen).then_some(exclusion)
}

/// The parenthesis that ends a window, behind its EXCLUDE.
fn closing(tokens: &[TokenWithSpan], at: usize) -> usize {
    (at..tokens.len()).find(|at| tokens[*at].token == Token::RParen).unwrap_or(tokens.len())
}

/// The tokens of the first bound of a frame that ends at a place.
fn start_of_frame(tokens: &[TokenWithSpan], end: usize) -> Option<(usize, usize)> {
    let mut depth = 0i32;
    let mut second = end;
    let mut units = None;
    for at in (0..end).rev() {
        match &tokens[at].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => break,
            Token::LParen => depth -= 1,
            token if depth == 0 => match keyword(token) {
                Keyword::ROWS | Keyword::RANGE | Keyword::GROUPS => {
                    units = Some(at);
                    break;
                }
                Keyword::AND => second = at,
                _ => {}
            },
            _ => {}
        }
    }
    let mut from = next(tokens, units? + 1)?;
    if keyword(&tokens[from].token) == Keyword::BETWEEN {
        from = next(tokens, from + 1)?;
    } else if second != end {
        return None;
    }
    (from < second).then_some((from, second))
}

/// The call that a bound is written as.
fn call(exclusion: &str, bound: Vec<Token>) -> Vec<Token> {
    let mut bound: Vec<Token> = bound.into_iter().filter(|token| !matches!(token, Token::Whitespace(_))).collect();
    let last = bound.pop().map_or(Keyword::NoKeyword, |token| keyword(&token));
    let first = bound.first().map_or(Keyword::NoKeyword, keyword);
    let kind = match (first, last) {
        (Keyword::UNBOUNDED, Keyword::PRECEDING) => "unbounded",
        (Keyword::UNBOUNDED, _) => "end",
        (_, Keyword::ROW) => "current",
        (_, Keyword::PRECEDING) => "preceding",
        _ => "following",
    };
    let text = |text: &str| Token::SingleQuotedString(text.into());
    let name = Token::Word(Word { value: FRAME.into(), quote_style: Some('"'), keyword: Keyword::NoKeyword });
    let mut made = vec![name, Token::LParen, text(exclusion), Token::Comma, text(kind)];
    if matches!(kind, "preceding" | "following") {
        made.push(Token::Comma);
        for token in bound {
            made.push(token);
            made.push(Token::Whitespace(sqlparser::tokenizer::Whitespace::Space));
        }
    }
    made.extend([Token::RParen, Token::make_keyword("PRECEDING")]);
    made
}

/// Where the bound begins that ends before a place.
fn bound_start(tokens: &[TokenWithSpan], end: usize) -> Option<usize> {
    let mut depth = 0i32;
    for at in (0..end).rev() {
        match &tokens[at].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return None,
            Token::LParen => depth -= 1,
            token if depth == 0 => {
                let word = keyword(token);
                let begins = [Keyword::BETWEEN, Keyword::AND, Keyword::ROWS, Keyword::RANGE, Keyword::GROUPS];
                if begins.contains(&word) {
                    return next(tokens, at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    #[test]
    fn frames_are_written_plainly() {
        let cases = [
            (
                "(ORDER BY a ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE TIES)",
                "(ORDER BY a ROWS BETWEEN \"\u{1}frame\"('ties','preceding',1 )PRECEDINGAND 2 FOLLOWING )",
            ),
            ("(ROWS UNBOUNDED PRECEDING exclude current row)", "(ROWS \"\u{1}frame\"('current','unbounded')PRECEDING)"),
            ("(RANGE '1'::int PRECEDING)", "(RANGE ('1'::int )PRECEDING)"),
            ("(RANGE '1' PRECEDING)", "(RANGE ('1' )PRECEDING)"),
            ("SELECT exclude FROM t", "SELECT exclude FROM t"),
            ("SELECT range BETWEEN 1 AND 2", "SELECT range BETWEEN 1 AND 2"),
        ];
        for (sql, wanted) in cases {
            let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
            let written: String = written_plainly(tokens).iter().map(|token| token.token.to_string()).collect();
            assert_eq!(written, wanted);
        }
    }
}
