//! SET CONSTRAINTS, which the SQL parser does not know.
//!
//! ```text
//!   SET CONSTRAINTS ALL DEFERRED                    names none,               deferred
//!   SET CONSTRAINTS c_p_fkey, public.x IMMEDIATE    names c_p_fkey and x,     immediate
//! ```

use sqlparser::ast::ObjectName;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use weft_format::{Code, Error, Result};

use super::names::fold;
use super::parsed::Parsed;
use super::parser::{expect_end, syntax_error};

/// Whether the statement begins with SET CONSTRAINTS and goes on.
pub(super) fn is_set_constraints(tokens: &[TokenWithSpan]) -> bool {
    let mut words = tokens.iter().map(|token| &token.token).filter(|token| !matches!(token, Token::Whitespace(_)));
    let mut next_is = |text: &str| match words.next() {
        Some(Token::Word(word)) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text),
        _ => false,
    };
    // SET constraints = 1 is a setting like others.
    next_is("set")
        && next_is("constraints")
        && matches!(words.next(), Some(Token::Word(word)) if word.keyword != Keyword::TO)
}

/// Reads the statement.
pub(super) fn set_constraints(source: &str, mut parser: Parser<'_>) -> Result<Parsed> {
    parser.advance_token();
    parser.advance_token();
    let names = if parser.parse_keyword(Keyword::ALL) {
        None
    } else {
        let names = parser.parse_comma_separated(|parser| parser.parse_object_name(false));
        let names = names.map_err(|error| syntax_error(source, &parser, error))?;
        Some(names.iter().map(constraint_name).collect::<Result<Vec<String>>>()?)
    };
    let mode = parser.expect_one_of_keywords(&[Keyword::DEFERRED, Keyword::IMMEDIATE]);
    let mode = mode.map_err(|error| syntax_error(source, &parser, error))?;
    expect_end(source, &parser)?;
    Ok(Parsed::SetConstraints { names, deferred: mode == Keyword::DEFERRED })
}

fn constraint_name(name: &ObjectName) -> Result<String> {
    let parts: Option<Vec<String>> = name.0.iter().map(|part| part.as_ident().map(fold)).collect();
    match parts.as_deref() {
        Some([constraint]) => Ok(constraint.clone()),
        Some([schema, constraint]) if schema == "public" => Ok(constraint.clone()),
        _ => Err(Error::new(Code::UndefinedObject, format!("constraint \"{name}\" does not exist"))
            .hint("all constraints are in the schema public")),
    }
}
