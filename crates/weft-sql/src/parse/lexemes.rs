//! What tokens say, for what is read or rewritten before the parser sees it.

use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// A token, with its place or without.
pub(super) trait Lexeme {
    /// It without its place.
    fn token(&self) -> &Token;
}

impl Lexeme for Token {
    fn token(&self) -> &Token {
        self
    }
}

impl Lexeme for TokenWithSpan {
    fn token(&self) -> &Token {
        &self.token
    }
}

impl<T: Lexeme> Lexeme for &T {
    fn token(&self) -> &Token {
        (*self).token()
    }
}

/// The keyword that a token is; a word in quotes is none.
pub(super) fn keyword(token: &impl Lexeme) -> Keyword {
    match token.token() {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// Whether a token is a word without quotes, in any case.
pub(super) fn is_word(token: &impl Lexeme, text: &str) -> bool {
    matches!(token.token(), Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
}

/// The first token from a place on that is not blank.
pub(super) fn next(tokens: &[impl Lexeme], from: usize) -> Option<usize> {
    (from..tokens.len()).find(|at| !matches!(tokens[*at].token(), Token::Whitespace(_) | Token::EOF))
}

/// Takes an unquoted word.
pub(super) fn word(parser: &mut Parser<'_>, text: &str) -> bool {
    let is_it = matches!(&parser.peek_token_ref().token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text));
    if is_it {
        parser.next_token();
    }
    is_it
}
