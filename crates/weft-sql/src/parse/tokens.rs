//! Work on tokens before the parser sees them.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use weft_format::{Code, Error, Result};

use super::parsed::Parsed;
use super::position::{place, position_of};

/// How deep the tree of a statement may become: operators that follow each other between commas each add a level.
/// Walked on the stack of the caller's thread; of 2 MiB, some 1,500 levels fit.
const CHAIN_MAX: usize = 800;
/// How deep parentheses may nest in the tokens. The parser's own limit is lower; this one spares it the try.
const PARENTHESES_MAX: usize = 1000;

pub(super) fn tokenize(source: &str) -> Result<Vec<TokenWithSpan>> {
    Tokenizer::new(&PostgreSqlDialect {}, source).tokenize_with_location().map_err(|error| {
        let message = format!("syntax error: {}", error.message.trim_end());
        let error_at = Error::new(Code::SyntaxError, message);
        match position_of(source, error.location.line, error.location.column) {
            Some(position) => error_at.at(position),
            None => error_at,
        }
    })
}

/// Signs apart from the operator before them: `a->>-1` is `a ->> -1`. An operator ends with a sign only when it has one
/// of `~ ! @ # % ^ & | ` ?`, as in PostgreSQL.
pub(super) fn signs_apart(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let head_of = |token: &Token| match token {
        Token::CustomBinaryOperator(op) if op.ends_with(['+', '-']) => {
            let head = op.trim_end_matches(['+', '-']);
            let is_apart = !head.is_empty() && !head.contains(['~', '!', '@', '#', '%', '^', '&', '|', '`', '?']);
            is_apart.then(|| (head.to_owned(), op[head.len()..].to_owned()))
        }
        _ => None,
    };
    if !tokens.iter().any(|token| head_of(&token.token).is_some()) {
        return tokens;
    }
    let mut made = Vec::with_capacity(tokens.len() + 1);
    for token in tokens {
        let Some((head, signs)) = head_of(&token.token) else {
            made.push(token);
            continue;
        };
        let head = Tokenizer::new(&PostgreSqlDialect {}, &head).tokenize().unwrap_or_default();
        let signs = signs.chars().map(|sign| if sign == '-' { Token::Minus } else { Token::Plus });
        made.extend(head.into_iter().chain(signs).map(|part| TokenWithSpan { token: part, span: token.span }));
    }
    made
}

/// Statements of one word that the SQL parser does not know.
pub(super) fn own_statement(tokens: &[TokenWithSpan]) -> Option<Parsed> {
    let words: Vec<&Token> =
        tokens.iter().map(|token| &token.token).filter(|t| !matches!(t, Token::Whitespace(_))).take(3).collect();
    let is = |token: &Token, text: &str| match token {
        Token::Word(word) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text),
        _ => false,
    };
    match words.as_slice() {
        [only] if is(only, "checkpoint") => Some(Parsed::Checkpoint),
        _ => None,
    }
}

/// Takes CONCURRENTLY out of DROP INDEX, which the SQL parser does not know there.
pub(super) fn without_concurrently(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_blank = |token: &Token| matches!(token, Token::Whitespace(_));
    let mut words = tokens.iter().enumerate().filter(|(_, token)| !is_blank(&token.token));
    let mut next_is = |keyword: Keyword| match words.next() {
        Some((at, TokenWithSpan { token: Token::Word(word), .. })) if word.keyword == keyword => Some(at),
        _ => None,
    };
    let at = next_is(Keyword::DROP).and(next_is(Keyword::INDEX)).and(next_is(Keyword::CONCURRENTLY));
    if let Some(at) = at {
        tokens.remove(at);
    }
    tokens
}

/// Writes TRUE and FALSE for the other words of the options FREEZE and HEADER of COPY, which the SQL parser does not
/// know.
pub(super) fn with_plain_copy_options(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_blank = |token: &Token| matches!(token, Token::Whitespace(_));
    let keyword = |token: &Token| match token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let first = tokens.iter().find(|token| !is_blank(&token.token));
    if first.map(|first| keyword(&first.token)) != Some(Keyword::COPY) {
        return tokens;
    }
    let mut depth = 0i32;
    let mut after_switch = false;
    for token in tokens.iter_mut().filter(|token| !is_blank(&token.token)) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::Word(word) if depth == 1 && matches!(word.keyword, Keyword::FREEZE | Keyword::HEADER) => {
                after_switch = true;
                continue;
            }
            other if after_switch => {
                let said = other.to_string().to_ascii_lowercase();
                let plain = match said.trim_matches('\'') {
                    "on" | "1" | "true" => Some(Keyword::TRUE),
                    "off" | "0" | "false" => Some(Keyword::FALSE),
                    _ => None,
                };
                if let Some(plain) = plain {
                    token.token = Token::make_keyword(if plain == Keyword::TRUE { "TRUE" } else { "FALSE" });
                }
            }
            _ => {}
        }
        after_switch = false;
    }
    tokens
}

/// Takes `USING method` out of CREATE TABLE: the one outside of parentheses, before any AS.
pub(super) fn take_method(source: &str, tokens: &[TokenWithSpan]) -> Result<(Vec<TokenWithSpan>, Option<String>)> {
    let keyword = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let is_blank = |token: &&TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let mut words = tokens.iter().filter(|token| !is_blank(token));
    let mut first = words.next();
    if first.map(keyword) == Some(Keyword::EXPLAIN) {
        first = words.find(|token| keyword(token) == Keyword::CREATE);
    }
    if first.map(keyword) != Some(Keyword::CREATE) {
        return Ok((tokens.to_vec(), None));
    }
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        match keyword(token) {
            Keyword::AS | Keyword::SELECT if depth == 0 => break,
            Keyword::USING if depth == 0 => {
                let name_at = tokens[index + 1..].iter().position(|token| !is_blank(&token)).map(|at| index + 1 + at);
                let name = name_at.and_then(|at| match &tokens[at].token {
                    Token::Word(word) if word.quote_style.is_some() => Some((at, word.value.clone())),
                    Token::Word(word) => Some((at, word.value.to_lowercase())),
                    _ => None,
                });
                let Some((at, method)) = name else {
                    let error = Error::new(Code::SyntaxError, "syntax error: USING needs the name of a table method");
                    return Err(place(error, source, token.span));
                };
                let rest = tokens[..index].iter().chain(&tokens[at + 1..]).cloned().collect();
                return Ok((rest, Some(method)));
            }
            _ => {}
        }
    }
    Ok((tokens.to_vec(), None))
}

/// Bounds of how deep the tree of one level of parentheses becomes.
#[derive(Clone, Copy, Default)]
struct Chain {
    /// AND, OR, UNION, JOIN ...: each takes all before it as its left side.
    links: usize,
    /// Operators since the last of these.
    operators: usize,
    /// The deepest parentheses since the last of these.
    inner: usize,
    /// The deepest that came before.
    deepest: usize,
}

impl Chain {
    fn depth(&self) -> usize {
        self.links + self.deepest.max(self.operators + self.inner)
    }

    /// Ends an operand of AND, OR, ...
    fn link(&mut self) {
        self.deepest = self.deepest.max(self.operators + self.inner);
        (self.operators, self.inner) = (0, 0);
        self.links += 1;
    }

    /// Ends an element of a list.
    fn element(&mut self) {
        *self = Chain { deepest: self.depth(), ..Chain::default() };
    }
}

/// Refuses texts that would become trees too deep to walk: see invariant 1 of the module.
pub(super) fn check_chains(source: &str, tokens: &[TokenWithSpan]) -> Result<()> {
    let mut outer: Vec<Chain> = Vec::new();
    let mut chain = Chain::default();
    for token in tokens {
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                outer.push(chain);
                chain = Chain::default();
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                let inner = chain.depth() + 1;
                chain = outer.pop().unwrap_or_default();
                chain.inner = chain.inner.max(inner);
            }
            Token::Comma => chain.element(),
            Token::Word(word) if links(word.keyword) => chain.link(),
            Token::Word(word) if !deepens(word.keyword) => {}
            Token::Whitespace(_) | Token::Number(..) | Token::SingleQuotedString(_) | Token::Placeholder(_) => {}
            Token::Period | Token::SemiColon | Token::EOF => {}
            _ => chain.operators += 1,
        }
        if chain.depth() > CHAIN_MAX || outer.len() > PARENTHESES_MAX {
            let message = format!(
                "the statement chains more than {CHAIN_MAX} operators or nests more than {PARENTHESES_MAX} parentheses"
            );
            let error = Error::new(Code::StatementTooComplex, message);
            return Err(place(error.hint("use IN (...) or a VALUES list, or split the statement"), source, token.span));
        }
    }
    Ok(())
}

/// Whether a keyword takes all before it on its level as its left side.
fn links(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::AND | Keyword::OR | Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::JOIN
    )
}

/// Whether a keyword adds a level to the tree.
fn deepens(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::NOT
            | Keyword::IS
            | Keyword::LIKE
            | Keyword::ILIKE
            | Keyword::SIMILAR
            | Keyword::BETWEEN
            | Keyword::IN
            | Keyword::CASE
            | Keyword::COLLATE
            | Keyword::AT
            | Keyword::SELECT
            | Keyword::EXPLAIN
    )
}
