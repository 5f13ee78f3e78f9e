//! CREATE, ALTER and DROP FUNCTION.
//!
//! ```text
//!   CREATE OR REPLACE FUNCTION s.f(a int, b text DEFAULT 'x') RETURNS SETOF t LANGUAGE sql STABLE AS $$SELECT ...$$
//!   ALTER FUNCTION f(int, text) STRICT RENAME TO g
//!   DROP FUNCTION IF EXISTS f(int), g CASCADE
//! ```

use sqlparser::ast::{DataType, Expr, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::lexemes::word;
use super::names::fold;

type Parsed<T> = std::result::Result<T, ParserError>;

/// A statement about functions.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionStatement {
    /// CREATE FUNCTION
    Create(Box<CreateFunction>),
    /// ALTER FUNCTION: which, and what changes.
    Alter(Signature, Box<AlterFunction>),
    /// DROP FUNCTION: which, IF EXISTS, CASCADE.
    Drop(Vec<Signature>, bool, bool),
    /// COMMENT ON FUNCTION
    Comment(Signature, Option<String>),
    /// A statement about something of the kind that is not there: what it is called.
    Refused(&'static str),
}

/// CREATE FUNCTION.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunction {
    /// OR REPLACE
    pub or_replace: bool,
    /// Which.
    pub name: ObjectName,
    /// In the order in which they were written.
    pub arguments: Vec<WrittenArgument>,
    /// RETURNS; none: what the OUT arguments say.
    pub returns: Option<Returns>,
    /// The text behind AS, or RETURN.
    pub body: Option<Body>,
    /// Attributes.
    pub options: Vec<FunctionOption>,
}

/// What a function consists of.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// AS 'text'
    Text(String),
    /// RETURN expression
    Return(Box<Expr>),
}

/// RETURNS.
#[derive(Clone, Debug, PartialEq)]
pub struct Returns {
    /// SETOF, or TABLE.
    pub is_set: bool,
    /// The type; that of RETURNS TABLE is what its columns say.
    pub data_type: Option<DataType>,
}

/// How an argument is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentMode {
    /// IN
    In,
    /// OUT
    Out,
    /// INOUT
    InOut,
    /// VARIADIC
    Variadic,
    /// A column of RETURNS TABLE.
    Table,
}

/// An argument as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenArgument {
    /// Mode.
    pub mode: ArgumentMode,
    /// Name, folded.
    pub name: Option<String>,
    /// Type.
    pub data_type: DataType,
    /// DEFAULT
    pub default: Option<Expr>,
}

/// An attribute of a function.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionOption {
    /// LANGUAGE
    Language(String),
    /// IMMUTABLE, STABLE, VOLATILE, by their first letters.
    Volatility(char),
    /// STRICT
    Strict(bool),
    /// SECURITY DEFINER
    Definer(bool),
    /// LEAKPROOF
    LeakProof(bool),
    /// PARALLEL, by its first letter.
    Parallel(char),
    /// COST
    Cost(String),
    /// ROWS
    Rows(String),
    /// What is not there: how it is called.
    Refused(&'static str),
}

/// A function that is named.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Its name.
    pub name: ObjectName,
    /// Its arguments; none: there is one function of the name.
    pub arguments: Option<Vec<WrittenArgument>>,
}

/// What ALTER FUNCTION does.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterFunction {
    /// RENAME TO
    Rename(String),
    /// SET SCHEMA
    SetSchema(String),
    /// Attributes.
    Options(Vec<FunctionOption>),
}

/// Parses such a statement; none when it is about something else.
pub(super) fn function_statement(parser: &mut Parser<'_>) -> Parsed<Option<FunctionStatement>> {
    match parser.parse_one_of_keywords(&[Keyword::CREATE, Keyword::ALTER, Keyword::DROP, Keyword::COMMENT]) {
        Some(Keyword::CREATE) => {
            let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
            if let Some(what) = other(parser) {
                return Ok(skipped(parser, what));
            }
            if !parser.parse_keyword(Keyword::FUNCTION) {
                return Ok(None);
            }
            create(parser, or_replace).map(Some)
        }
        Some(Keyword::ALTER) => {
            if let Some(what) = other(parser) {
                return Ok(skipped(parser, what));
            }
            if !parser.parse_keyword(Keyword::FUNCTION) {
                return Ok(None);
            }
            alter(parser)
        }
        Some(Keyword::DROP) => {
            if !parser.parse_keyword(Keyword::FUNCTION) && !word(parser, "routine") {
                return Ok(None);
            }
            let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
            let names = parser.parse_comma_separated(signature)?;
            let cascade = parser.parse_keyword(Keyword::CASCADE);
            let _ = !cascade && parser.parse_keyword(Keyword::RESTRICT);
            Ok(Some(FunctionStatement::Drop(names, if_exists, cascade)))
        }
        Some(_) => {
            if !parser.parse_keywords(&[Keyword::ON, Keyword::FUNCTION]) {
                return Ok(None);
            }
            let which = signature(parser)?;
            parser.expect_keyword(Keyword::IS)?;
            let text = if parser.parse_keyword(Keyword::NULL) { None } else { Some(parser.parse_literal_string()?) };
            Ok(Some(FunctionStatement::Comment(which, text)))
        }
        None => Ok(None),
    }
}

/// What is made and changed as functions are, and is not there.
fn other(parser: &mut Parser<'_>) -> Option<&'static str> {
    if word(parser, "procedure") {
        return Some("PROCEDURE");
    }
    if word(parser, "aggregate") { Some("AGGREGATE") } else { None }
}

fn skipped(parser: &mut Parser<'_>, what: &'static str) -> Option<FunctionStatement> {
    while parser.next_token().token != Token::EOF {}
    Some(FunctionStatement::Refused(what))
}

fn create(parser: &mut Parser<'_>, or_replace: bool) -> Parsed<FunctionStatement> {
    let name = parser.parse_object_name(false)?;
    let mut arguments = arguments(parser)?;
    let mut returns = None;
    if parser.parse_keyword(Keyword::RETURNS) {
        if parser.parse_keyword(Keyword::TABLE) {
            parser.expect_token(&Token::LParen)?;
            let columns = parser.parse_comma_separated(|parser| {
                let name = Some(fold(&parser.parse_identifier()?));
                let data_type = parser.parse_data_type()?;
                Ok(WrittenArgument { mode: ArgumentMode::Table, name, data_type, default: None })
            })?;
            parser.expect_token(&Token::RParen)?;
            arguments.extend(columns);
            returns = Some(Returns { is_set: true, data_type: None });
        } else {
            let is_set = word(parser, "setof");
            returns = Some(Returns { is_set, data_type: Some(parser.parse_data_type()?) });
        }
    }
    let (mut body, mut options) = (None, Vec::new());
    loop {
        if parser.parse_keyword(Keyword::AS) {
            body = Some(Body::Text(text(parser)?));
            if parser.consume_token(&Token::Comma) {
                text(parser)?;
                options.push(FunctionOption::Refused("a function of an object file"));
            }
        } else if parser.parse_keyword(Keyword::RETURN) {
            body = Some(Body::Return(Box::new(parser.parse_expr()?)));
        } else if parser.parse_keywords(&[Keyword::BEGIN, Keyword::ATOMIC]) {
            options.push(FunctionOption::Refused("BEGIN ATOMIC"));
            while parser.next_token().token != Token::EOF {}
        } else if let Some(option) = option(parser)? {
            options.push(option);
        } else {
            let create = CreateFunction { or_replace, name, arguments, returns, body, options };
            return Ok(FunctionStatement::Create(Box::new(create)));
        }
    }
}

/// A text, perhaps between dollars.
fn text(parser: &mut Parser<'_>) -> Parsed<String> {
    if let Token::DollarQuotedString(quoted) = &parser.peek_token_ref().token {
        let text = quoted.value.clone();
        parser.next_token();
        return Ok(text);
    }
    parser.parse_literal_string()
}

fn option(parser: &mut Parser<'_>) -> Parsed<Option<FunctionOption>> {
    Ok(Some(if parser.parse_keyword(Keyword::LANGUAGE) {
        let language = match &parser.peek_token_ref().token {
            Token::SingleQuotedString(_) => parser.parse_literal_string()?.to_lowercase(),
            _ => fold(&parser.parse_identifier()?),
        };
        FunctionOption::Language(language)
    } else if word(parser, "immutable") {
        FunctionOption::Volatility('i')
    } else if word(parser, "stable") {
        FunctionOption::Volatility('s')
    } else if word(parser, "volatile") {
        FunctionOption::Volatility('v')
    } else if word(parser, "strict") {
        FunctionOption::Strict(true)
    } else if parser.parse_keywords(&[Keyword::CALLED, Keyword::ON, Keyword::NULL, Keyword::INPUT]) {
        FunctionOption::Strict(false)
    } else if parser.parse_keywords(&[Keyword::RETURNS, Keyword::NULL, Keyword::ON, Keyword::NULL, Keyword::INPUT]) {
        FunctionOption::Strict(true)
    } else if parser.parse_keywords(&[Keyword::NOT]) {
        expect(parser, "leakproof")?;
        FunctionOption::LeakProof(false)
    } else if word(parser, "leakproof") {
        FunctionOption::LeakProof(true)
    } else if word(parser, "window") {
        FunctionOption::Refused("a window function of one's own")
    } else if word(parser, "external") || word(parser, "security") {
        let _ = word(parser, "security");
        let definer = word(parser, "definer");
        if !definer {
            expect(parser, "invoker")?;
        }
        FunctionOption::Definer(definer)
    } else if word(parser, "parallel") {
        let kinds = [("unsafe", 'u'), ("restricted", 'r'), ("safe", 's')];
        match kinds.into_iter().find(|(name, _)| word(parser, name)) {
            Some((_, letter)) => FunctionOption::Parallel(letter),
            None => return parser.expected("SAFE, RESTRICTED or UNSAFE", parser.peek_token()),
        }
    } else if word(parser, "cost") {
        FunctionOption::Cost(parser.parse_number_value()?.to_string())
    } else if word(parser, "rows") {
        FunctionOption::Rows(parser.parse_number_value()?.to_string())
    } else if parser.parse_keyword(Keyword::SET) {
        while !matches!(parser.peek_token_ref().token, Token::EOF)
            && !matches!(&parser.peek_token_ref().token, Token::Word(word) if word.keyword == Keyword::AS)
        {
            parser.next_token();
        }
        FunctionOption::Refused("SET within a function")
    } else {
        return Ok(None);
    }))
}

fn expect(parser: &mut Parser<'_>, text: &str) -> Parsed<()> {
    if word(parser, text) { Ok(()) } else { parser.expected(&text.to_uppercase(), parser.peek_token()) }
}

fn alter(parser: &mut Parser<'_>) -> Parsed<Option<FunctionStatement>> {
    let which = signature(parser)?;
    if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        let new = fold(&parser.parse_identifier()?);
        return Ok(Some(FunctionStatement::Alter(which, Box::new(AlterFunction::Rename(new)))));
    }
    if parser.parse_keywords(&[Keyword::SET, Keyword::SCHEMA]) {
        let schema = fold(&parser.parse_identifier()?);
        return Ok(Some(FunctionStatement::Alter(which, Box::new(AlterFunction::SetSchema(schema)))));
    }
    let mut options = Vec::new();
    while let Some(option) = option(parser)? {
        options.push(option);
    }
    let _ = parser.parse_keyword(Keyword::RESTRICT);
    if options.is_empty() {
        return parser.expected("an attribute of a function", parser.peek_token());
    }
    Ok(Some(FunctionStatement::Alter(which, Box::new(AlterFunction::Options(options)))))
}

/// The name of a function, perhaps with its arguments.
pub(super) fn signature(parser: &mut Parser<'_>) -> Parsed<Signature> {
    let name = parser.parse_object_name(false)?;
    let is_given = parser.peek_token_ref().token == Token::LParen;
    let arguments = if is_given { Some(arguments(parser)?) } else { None };
    Ok(Signature { name, arguments })
}

fn arguments(parser: &mut Parser<'_>) -> Parsed<Vec<WrittenArgument>> {
    parser.expect_token(&Token::LParen)?;
    if parser.consume_token(&Token::RParen) {
        return Ok(Vec::new());
    }
    let arguments = parser.parse_comma_separated(argument)?;
    parser.expect_token(&Token::RParen)?;
    Ok(arguments)
}

fn mode(parser: &mut Parser<'_>) -> Option<ArgumentMode> {
    if parser.parse_keyword(Keyword::IN) {
        let both = word(parser, "out");
        return Some(if both { ArgumentMode::InOut } else { ArgumentMode::In });
    }
    let modes = [("out", ArgumentMode::Out), ("inout", ArgumentMode::InOut), ("variadic", ArgumentMode::Variadic)];
    modes.into_iter().find(|(name, _)| word(parser, name)).map(|(_, mode)| mode)
}

fn argument(parser: &mut Parser<'_>) -> Parsed<WrittenArgument> {
    let first = mode(parser);
    // A type alone, or a name and a type.
    let alone = parser.maybe_parse(|parser| {
        let data_type = parser.parse_data_type()?;
        let next = &parser.peek_token_ref().token;
        let ends = matches!(next, Token::Comma | Token::RParen | Token::Eq | Token::Assignment)
            || matches!(next, Token::Word(word) if word.keyword == Keyword::DEFAULT);
        if ends { Ok(data_type) } else { parser.expected("the end of a type", parser.peek_token()) }
    })?;
    let (name, then, data_type) = match alone {
        Some(data_type) => (None, None, data_type),
        None => {
            let name = fold(&parser.parse_identifier()?);
            (Some(name), mode(parser), parser.parse_data_type()?)
        }
    };
    let default = if parser.parse_keyword(Keyword::DEFAULT) || parser.consume_token(&Token::Eq) {
        Some(parser.parse_expr()?)
    } else {
        None
    };
    Ok(WrittenArgument { mode: first.or(then).unwrap_or(ArgumentMode::In), name, data_type, default })
}
