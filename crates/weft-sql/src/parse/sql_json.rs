//! JSON_EXISTS, JSON_VALUE and JSON_QUERY, whose clauses the SQL parser does not know, as calls.
//!
//! ```text
//!   JSON_VALUE(j, '$.a' RETURNING int DEFAULT 0 ON EMPTY)
//!       "json_value"(CAST(j AS JSONB), '$.a', '{}', 'dn', CAST(NULL AS INT), CAST(0 AS INT), NULL)
//!   JSON_EXISTS(j, '$.a ? (@ > $x)' PASSING 1 AS x)
//!       "json_exists"(CAST(j AS JSONB), '$.a ? (@ > $x)', jsonb_build_object('x', 1), 'f')
//! ```
//!
//! 1. Names in quotes are never read so: a call that was written out is read as the same call.
//! 2. A type that has a name may be a domain, and one in parentheses has a limit that only a cast knows: the value is
//!    cast once more, so that the rules are tested, and texts cut.
//!
//! Source: SQL:2016, part 2, sections 6.27 to 6.31; PostgreSQL 17, section 9.16.

use sqlparser::ast::{CastKind, DataType, Expr, Ident, Value};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use weft_expr::builtins::{JSON_EXISTS, JSON_QUERY, JSON_VALUE};

use super::calls::call_of;
use super::lexemes::word;
use super::names::fold;

pub(super) type Parsed<T> = Result<T, ParserError>;

/// The call that comes next; none when something else does.
pub(super) fn parse_sql_json(parser: &mut Parser<'_>) -> Option<Parsed<Expr>> {
    let Token::Word(name) = &parser.peek_token_ref().token else { return None };
    if name.quote_style.is_some() || parser.peek_nth_token_ref(1).token != Token::LParen {
        return None;
    }
    let read = match name.value.to_ascii_lowercase().as_str() {
        JSON_EXISTS => parse_exists,
        JSON_VALUE => parse_value,
        JSON_QUERY => parse_query,
        _ => return None,
    };
    (0..2).for_each(|_| drop(parser.next_token()));
    let call = read(parser);
    Some(call.and_then(|call| parser.expect_token(&Token::RParen).map(|_| call)))
}

fn parse_exists(parser: &mut Parser<'_>) -> Parsed<Expr> {
    let mut args = parse_document(parser)?;
    let clauses = Clauses::read(parser, "tfne")?;
    if clauses.on_empty.is_some() {
        return Err(ParserError::ParserError("JSON_EXISTS has no ON EMPTY".into()));
    }
    args.push(text(clauses.letter(clauses.on_error.as_ref(), 'f')));
    Ok(call(JSON_EXISTS, args))
}

fn parse_value(parser: &mut Parser<'_>) -> Parsed<Expr> {
    let args = parse_document(parser)?;
    let returning = parse_returning(parser)?.unwrap_or(Returning { of: DataType::Text, is_json: false });
    if returning.is_json {
        let message = "cannot specify FORMAT JSON in RETURNING clause of JSON_VALUE()";
        return Err(ParserError::ParserError(message.into()));
    }
    let clauses = Clauses::read(parser, "ned")?;
    Ok(value_of(JSON_VALUE, args, returning.of, clauses.letters('n', 'n'), None, &clauses))
}

fn parse_query(parser: &mut Parser<'_>) -> Parsed<Expr> {
    let args = parse_document(parser)?;
    let of = parse_returning(parser)?.map_or(DataType::JSONB, |returning| returning.of);
    let shape = Shape::read(parser)?;
    let clauses = Clauses::read(parser, "nedao")?;
    let letters = format!("{}{}", clauses.letters('n', 'n'), shape.letters());
    Ok(value_of(JSON_QUERY, args, of, letters, None, &clauses))
}

/// The document, the path and the variables.
fn parse_document(parser: &mut Parser<'_>) -> Parsed<Vec<Expr>> {
    let document = parse_context(parser)?;
    let path = parser.parse_expr()?;
    Ok(vec![document, path, parse_passing(parser)?])
}

/// The document and the comma behind it.
pub(super) fn parse_context(parser: &mut Parser<'_>) -> Parsed<Expr> {
    let document = parser.parse_expr()?;
    parse_format(parser)?;
    parser.expect_token(&Token::Comma)?;
    Ok(cast(document, DataType::JSONB))
}

/// `FORMAT JSON [ENCODING UTF8]`
pub(super) fn parse_format(parser: &mut Parser<'_>) -> Parsed<bool> {
    if !parser.parse_keywords(&[Keyword::FORMAT, Keyword::JSON]) {
        return Ok(false);
    }
    if word(parser, "encoding") && !word(parser, "utf8") {
        return Err(ParserError::ParserError("JSON texts have the encoding UTF8".into()));
    }
    Ok(true)
}

/// `PASSING value AS name, ...`, as an object.
pub(super) fn parse_passing(parser: &mut Parser<'_>) -> Parsed<Expr> {
    if !word(parser, "passing") {
        return Ok(text("{}"));
    }
    let mut members = Vec::new();
    loop {
        let value = parser.parse_expr()?;
        let value = if parse_format(parser)? { cast(value, DataType::JSONB) } else { value };
        parser.expect_keyword(Keyword::AS)?;
        members.extend([text(fold(&parser.parse_identifier()?)), value]);
        if !parser.consume_token(&Token::Comma) {
            return Ok(call_of(Ident::new("jsonb_build_object"), members));
        }
    }
}

struct Returning {
    of: DataType,
    is_json: bool,
}

fn parse_returning(parser: &mut Parser<'_>) -> Parsed<Option<Returning>> {
    if !parser.parse_keyword(Keyword::RETURNING) {
        return Ok(None);
    }
    let of = parser.parse_data_type()?;
    Ok(Some(Returning { of, is_json: parse_format(parser)? }))
}

/// What JSON_QUERY makes of the items that were found.
#[derive(Clone, Copy, Default)]
pub(super) struct Shape {
    wrapper: Option<char>,
    omits_quotes: bool,
    keeps_quotes: bool,
}

impl Shape {
    /// `WITH | WITHOUT ... WRAPPER` and `KEEP | OMIT QUOTES`
    pub(super) fn read(parser: &mut Parser<'_>) -> Parsed<Shape> {
        let mut shape = Shape::default();
        if parser.parse_keyword(Keyword::WITH) {
            let is_conditional = word(parser, "conditional");
            let _ = !is_conditional && word(parser, "unconditional");
            shape.wrapper = Some(if is_conditional { 'c' } else { 'u' });
        } else if parser.parse_keyword(Keyword::WITHOUT) {
            shape.wrapper = Some('w');
        }
        if shape.wrapper.is_some() {
            let _ = parser.parse_keyword(Keyword::ARRAY);
            if !word(parser, "wrapper") {
                return parser.expected("WRAPPER", parser.peek_token());
            }
        }
        (shape.keeps_quotes, shape.omits_quotes) = (word(parser, "keep"), word(parser, "omit"));
        if shape.keeps_quotes || shape.omits_quotes {
            if !word(parser, "quotes") {
                return parser.expected("QUOTES", parser.peek_token());
            }
            if shape.omits_quotes && matches!(shape.wrapper, Some('c' | 'u')) {
                let message = "SQL/JSON QUOTES behavior must not be specified when WITH WRAPPER is used";
                return Err(ParserError::ParserError(message.into()));
            }
            let is_scalar = matches!(&parser.peek_nth_token_ref(1).token,
                Token::Word(next) if next.value.eq_ignore_ascii_case("scalar"));
            if is_scalar && parser.parse_keyword(Keyword::ON) {
                let is_string = word(parser, "scalar") && word(parser, "string");
                if !is_string {
                    return parser.expected("SCALAR STRING", parser.peek_token());
                }
            }
        }
        Ok(shape)
    }

    pub(super) fn is_given(self) -> bool {
        self.wrapper.is_some() || self.keeps_quotes || self.omits_quotes
    }

    pub(super) fn letters(self) -> String {
        format!("{}{}", self.wrapper.unwrap_or('w'), if self.omits_quotes { 'o' } else { 'k' })
    }
}

/// What stands before ON EMPTY or ON ERROR: a letter, and the value behind DEFAULT.
pub(super) struct Clause {
    pub(super) letter: char,
    value: Option<Expr>,
}

/// ON EMPTY and ON ERROR.
#[derive(Default)]
pub(super) struct Clauses {
    pub(super) on_empty: Option<Clause>,
    pub(super) on_error: Option<Clause>,
}

impl Clauses {
    /// Those that come next; `letters` are those that they may have.
    pub(super) fn read(parser: &mut Parser<'_>, letters: &str) -> Parsed<Clauses> {
        let mut clauses = Clauses::default();
        while let Some(clause) = parse_clause(parser)? {
            parser.expect_keyword(Keyword::ON)?;
            let is_empty = clauses.on_empty.is_none() && clauses.on_error.is_none() && word(parser, "empty");
            if !is_empty {
                parser.expect_keyword(Keyword::ERROR)?;
            }
            let (place, name) =
                if is_empty { (&mut clauses.on_empty, "EMPTY") } else { (&mut clauses.on_error, "ERROR") };
            if !letters.contains(clause.letter) {
                return Err(ParserError::ParserError(format!("invalid ON {name} behavior")));
            }
            *place = Some(clause);
            if !is_empty {
                break;
            }
        }
        Ok(clauses)
    }

    fn letter(&self, clause: Option<&Clause>, otherwise: char) -> String {
        clause.map_or(otherwise, |clause| clause.letter).to_string()
    }

    /// Both letters; those where nothing is said.
    pub(super) fn letters(&self, empty: char, error: char) -> String {
        self.letter(self.on_empty.as_ref(), empty) + &self.letter(self.on_error.as_ref(), error)
    }

    /// The values behind DEFAULT as values of a type.
    fn defaults(&self, of: &DataType) -> [Expr; 2] {
        [&self.on_empty, &self.on_error].map(|clause| match clause {
            Some(Clause { value: Some(value), .. }) => cast(value.clone(), of.clone()),
            _ => Expr::value(Value::Null),
        })
    }
}

fn parse_clause(parser: &mut Parser<'_>) -> Parsed<Option<Clause>> {
    let plain = |letter| Ok(Some(Clause { letter, value: None }));
    for (keyword, letter) in [
        (Keyword::NULL, 'n'),
        (Keyword::UNKNOWN, 'n'),
        (Keyword::ERROR, 'e'),
        (Keyword::TRUE, 't'),
        (Keyword::FALSE, 'f'),
    ] {
        if parser.parse_keyword(keyword) {
            return plain(letter);
        }
    }
    if parser.parse_keyword(Keyword::DEFAULT) {
        return Ok(Some(Clause { letter: 'd', value: Some(parser.parse_expr()?) }));
    }
    if !word(parser, "empty") {
        return Ok(None);
    }
    let is_object = word(parser, "object");
    let _ = !is_object && parser.parse_keyword(Keyword::ARRAY);
    plain(if is_object { 'o' } else { 'a' })
}

/// A call of JSON_VALUE or JSON_QUERY; `given` is what is read, and `column` that of JSON_TABLE.
pub(super) fn value_of(
    name: &str,
    mut given: Vec<Expr>,
    of: DataType,
    letters: String,
    column: Option<&str>,
    clauses: &Clauses,
) -> Expr {
    let defaults = clauses.defaults(&of);
    given.push(text(letters));
    given.extend(column.map(text));
    given.push(cast(Expr::value(Value::Null), of.clone()));
    given.extend(defaults);
    let value = call(name, given);
    if is_plain(&of) { value } else { cast(value, of) }
}

/// Whether a type is no more than its name says (2).
fn is_plain(of: &DataType) -> bool {
    matches!(
        of,
        DataType::Text
            | DataType::JSON
            | DataType::JSONB
            | DataType::Boolean
            | DataType::Bool
            | DataType::SmallInt(_)
            | DataType::Int(_)
            | DataType::Integer(_)
            | DataType::BigInt(_)
            | DataType::Real
            | DataType::DoublePrecision
            | DataType::Numeric(_)
            | DataType::Date
            | DataType::Uuid
            | DataType::Bytea
            | DataType::Array(_)
    )
}

/// A call that is never read as one of these functions (1).
fn call(name: &str, args: Vec<Expr>) -> Expr {
    call_of(Ident::with_quote('"', name), args)
}

pub(super) fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}

pub(super) fn text(text: impl Into<String>) -> Expr {
    Expr::value(Value::SingleQuotedString(text.into()))
}

#[cfg(test)]
mod tests {
    use super::super::parse_expression;

    #[test]
    fn clauses_become_arguments() {
        for (sql, read) in [
            ("json_exists(j, '$.a')", "\"json_exists\"(CAST(j AS JSONB), '$.a', '{}', 'f')"),
            (
                "JSON_EXISTS(j FORMAT JSON, p PASSING 1 + x AS Y, 'z' AS \"Q\" ERROR ON ERROR)",
                "\"json_exists\"(CAST(j AS JSONB), p, jsonb_build_object('y', 1 + x, 'Q', 'z'), 'e')",
            ),
            (
                "json_value(j, '$' RETURNING int DEFAULT 2 + 3 ON ERROR)",
                "\"json_value\"(CAST(j AS JSONB), '$', '{}', 'nd', CAST(NULL AS INT), NULL, CAST(2 + 3 AS INT))",
            ),
            (
                "json_value(j, '$' RETURNING d ERROR ON EMPTY NULL ON ERROR) IS NULL",
                "CAST(\"json_value\"(CAST(j AS JSONB), '$', '{}', 'en', CAST(NULL AS d), NULL, NULL) AS d) IS NULL",
            ),
            (
                "json_query(j, '$' RETURNING text WITH CONDITIONAL ARRAY WRAPPER EMPTY OBJECT ON EMPTY)",
                "\"json_query\"(CAST(j AS JSONB), '$', '{}', 'onck', CAST(NULL AS TEXT), NULL, NULL)",
            ),
            (
                "json_query(j, '$' OMIT QUOTES ON SCALAR STRING EMPTY ON ERROR)",
                "\"json_query\"(CAST(j AS JSONB), '$', '{}', 'nawo', CAST(NULL AS JSONB), NULL, NULL)",
            ),
        ] {
            let read_as = parse_expression(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).to_string();
            assert_eq!(read_as, read);
            assert_eq!(parse_expression(read).unwrap().to_string(), read);
        }
        for wrong in [
            "json_value(j)",
            "json_value(j, '$' EMPTY ON ERROR)",
            "json_value(j, '$' TRUE ON ERROR)",
            "json_value(j, '$' RETURNING int FORMAT JSON)",
            "json_exists(j, '$' DEFAULT 1 ON ERROR)",
            "json_exists(j, '$' TRUE ON EMPTY)",
            "json_query(j, '$' WITH WRAPPER OMIT QUOTES)",
            "json_query(j, '$' NULL ON ERROR NULL ON EMPTY)",
        ] {
            assert!(parse_expression(wrong).is_err(), "{wrong}");
        }
    }
}
