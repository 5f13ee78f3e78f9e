//! JSON_TABLE as a query over the rows that a function makes.
//!
//! ```text
//!   FROM t, JSON_TABLE(t.j, '$[*]' COLUMNS (n FOR ORDINALITY, a int PATH '$.a')) AS r
//!     to the parser   "␁json_table"("␁json_table of" t.j, '$[*]' COLUMNS (...)) AS r
//!     then            LATERAL (SELECT CAST(r.c ->> 0 AS INT) AS n,
//!                                     "json_value"(r.c -> 1, 'nn', 'a', CAST(NULL AS INT), NULL, NULL) AS a
//!                              FROM unnest(weft_json_table(CAST(t.j AS JSONB), ARRAY[...], '{}')) AS r (c)) AS r
//! ```
//!
//! 1. `r` and `c` within are [`ROWS`] and [`CELLS`]; DEFAULT may name them, as it may name what is beside it in FROM.
//! 2. ERROR ON ERROR behind all columns is of the paths to rows, and not of columns.
//!
//! Source: SQL:2016, part 2, section 7.11; PostgreSQL 17, section 9.16.4.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Array, BinaryOperator, DataType, Expr, FunctionArg, FunctionArgExpr, Ident, Query, SelectItem, SetExpr, Statement,
    TableAlias, TableFactor, Value, VisitorMut,
};
use sqlparser::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use weft_expr::builtins::{JSON_QUERY, JSON_TABLE, JSON_VALUE};
use weft_format::{Code, Error, Result};
use weft_walk::VisitMut;

use super::calls::call_of;
use super::lexemes::{is_word, keyword, next, word};
use super::names::fold;
use super::sql_json::{Clauses, Parsed, Shape, cast, parse_context, parse_format, parse_passing, text, value_of};

/// What stands for JSON_TABLE, and before what it is given.
const TABLE: &str = "\u{1}json_table";
const OF: &str = "\u{1}json_table of";
/// Its rows, and their cells.
const ROWS: &str = "json_table rows";
const CELLS: &str = "json_table cells";
/// How deep NESTED may nest.
const NESTING_MAX: usize = 32;

/// Whether there is a JSON_TABLE; its words as the parser takes them.
pub(super) fn written_plainly(tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, bool) {
    if !tokens.iter().any(|token| is_word(token, "json_table")) {
        return (tokens, false);
    }
    let mut made = Vec::with_capacity(tokens.len() + 1);
    let mut found = false;
    let (mut before, mut opens) = (Token::EOF, None);
    for (at, token) in tokens.iter().enumerate() {
        made.push(token.clone());
        if opens == Some(at) {
            made.push(TokenWithSpan { token: mark(OF), span: token.span });
        }
        let begins = matches!(before, Token::Comma | Token::LParen)
            || matches!(keyword(&before), Keyword::FROM | Keyword::JOIN | Keyword::LATERAL | Keyword::USING);
        if begins
            && is_word(token, "json_table")
            && let Some(open) = next(&tokens, at + 1).filter(|open| has_columns(&tokens, *open))
        {
            if let Some(last) = made.last_mut() {
                last.token = mark(TABLE);
            }
            opens = Some(open);
        }
        found |= opens == Some(at);
        if !matches!(token.token, Token::Whitespace(_)) {
            before = token.token.clone();
        }
    }
    (made, found)
}

fn mark(value: &str) -> Token {
    Token::Word(Word { value: value.into(), quote_style: Some('"'), keyword: Keyword::NoKeyword })
}

/// Whether COLUMNS stands within the parentheses that begin here: a table, a query of WITH or a function of the name
/// has none.
fn has_columns(tokens: &[TokenWithSpan], open: usize) -> bool {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            // No column of that name, nor a list of names.
            _ if depth == 1
                && keyword(token) == Keyword::COLUMNS
                && next(tokens, at + 1).is_some_and(|next| tokens[next].token == Token::LParen) =>
            {
                return true;
            }
            _ => {}
        }
        if depth == 0 {
            return false;
        }
    }
    false
}

/// What it is given, as the query; none when something else comes.
pub(super) fn parse_json_table(dialect: &dyn Dialect, parser: &mut Parser<'_>) -> Option<Parsed<Expr>> {
    if !matches!(&parser.peek_token_ref().token, Token::Word(word) if word.value == OF) {
        return None;
    }
    parser.next_token();
    Some(Reader::default().table(dialect, parser).map(|query| Expr::Subquery(Box::new(query))))
}

/// Puts the queries where the functions stand.
pub(super) fn placed(tree: &mut Statement) -> Result<()> {
    match VisitMut::visit(tree, &mut Placer) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Placer;

impl VisitorMut for Placer {
    type Break = Error;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let (name, args, alias, with_ordinality, is_sampled) = match factor {
            TableFactor::Table { name, args: Some(args), alias, with_ordinality, sample, .. } => {
                (name, &mut args.args, alias, *with_ordinality, sample.is_some())
            }
            TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                (name, args, alias, *with_ordinality, false)
            }
            _ => return ControlFlow::Continue(()),
        };
        let is_it = name.0.last().and_then(|part| part.as_ident()).is_some_and(|ident| ident.value == TABLE);
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Subquery(query)))] = &args[..] else {
            return ControlFlow::Continue(());
        };
        if !is_it {
            return ControlFlow::Continue(());
        }
        if is_sampled {
            let error = Error::new(Code::FeatureNotSupported, "TABLESAMPLE of JSON_TABLE is not supported");
            return ControlFlow::Break(error.hint("sample a table that was made of it"));
        }
        if with_ordinality {
            let error = Error::new(Code::SyntaxError, "JSON_TABLE has no WITH ORDINALITY");
            return ControlFlow::Break(error.hint("number its rows by a column FOR ORDINALITY"));
        }
        let unnamed =
            || TableAlias { explicit: true, name: Ident::with_quote('"', "json_table"), columns: Vec::new(), at: None };
        let alias = Some(alias.take().unwrap_or_else(unnamed));
        *factor = TableFactor::Derived { lateral: true, subquery: query.clone(), alias, sample: None };
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        match expr {
            Expr::Function(function)
                if function.name.0.last().and_then(|part| part.as_ident()).is_some_and(|name| name.value == TABLE) =>
            {
                let error = Error::new(Code::SyntaxError, "JSON_TABLE stands where an expression is needed");
                ControlFlow::Break(error.hint("JSON_TABLE can be used in FROM only"))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Reads the levels.
#[derive(Default)]
struct Reader {
    /// What `weft_json_table` is told.
    plan: Vec<String>,
    columns: Vec<SelectItem>,
    /// Of columns and paths.
    names: Vec<String>,
    depth: usize,
}

impl Reader {
    fn table(mut self, dialect: &dyn Dialect, parser: &mut Parser<'_>) -> Parsed<Query> {
        let document = parse_context(parser)?;
        let path = parse_path(parser)?;
        self.path_name(parser)?;
        let vars = parse_passing(parser)?;
        // What the levels say of errors depends on what comes last.
        let mut levels = Vec::new();
        self.level(parser, path, &mut levels)?;
        let tells = match Clauses::read(parser, "ea") {
            Ok(Clauses { on_empty: None, on_error }) => on_error.is_some_and(|clause| clause.letter == 'e'),
            _ => {
                let message = "invalid ON ERROR behavior: only EMPTY or ERROR is allowed for JSON_TABLE";
                return Err(ParserError::ParserError(message.into()));
            }
        };
        levels.into_iter().for_each(|part| self.take(part, tells));
        let plan = self.plan.into_iter().map(text).collect();
        let plan = Expr::Array(Array { elem: plan, named: true });
        let rows = call_of(Ident::new(JSON_TABLE), vec![document, plan, vars]);
        let sql = format!("SELECT 1 FROM unnest(NULL) AS \"{ROWS}\" (\"{CELLS}\")");
        let mut query = *Parser::new(dialect).try_with_sql(&sql)?.parse_query()?;
        if let SetExpr::Select(select) = &mut *query.body {
            select.projection = self.columns;
            if let Some(TableFactor::UNNEST { array_exprs, .. }) =
                select.from.first_mut().map(|from| &mut from.relation)
            {
                *array_exprs = vec![rows];
            }
        }
        Ok(query)
    }

    /// `AS name` of a path.
    fn path_name(&mut self, parser: &mut Parser<'_>) -> Parsed<()> {
        if parser.parse_keyword(Keyword::AS) {
            let name = parser.parse_identifier()?;
            self.named(&name)?;
        }
        Ok(())
    }

    fn named(&mut self, name: &Ident) -> Parsed<String> {
        let name = fold(name);
        if self.names.contains(&name) {
            return Err(ParserError::ParserError(format!("duplicate JSON_TABLE column or path name: {name}")));
        }
        self.names.push(name.clone());
        Ok(name)
    }

    /// `COLUMNS (...)`
    fn level(&mut self, parser: &mut Parser<'_>, path: String, parts: &mut Vec<Part>) -> Parsed<()> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            let message = format!("JSON_TABLE nests at most {NESTING_MAX} levels");
            return Err(ParserError::ParserError(message));
        }
        parser.expect_keyword(Keyword::COLUMNS)?;
        parser.expect_token(&Token::LParen)?;
        parts.push(Part::Begin(path));
        let mut is_numbered = false;
        loop {
            if is_nested(parser) {
                parser.next_token();
                let _ = word(parser, "path");
                let path = parse_path(parser)?;
                self.path_name(parser)?;
                self.level(parser, path, parts)?;
            } else {
                let column = self.column(parser)?;
                let numbers = matches!(&column, Part::Column { kind, .. } if matches!(**kind, Kind::Ordinality));
                if numbers && std::mem::replace(&mut is_numbered, true) {
                    let message = "cannot use more than one FOR ORDINALITY column";
                    return Err(ParserError::ParserError(message.into()));
                }
                parts.push(column);
            }
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        parser.expect_token(&Token::RParen)?;
        parts.push(Part::End);
        self.depth -= 1;
        Ok(())
    }

    fn column(&mut self, parser: &mut Parser<'_>) -> Parsed<Part> {
        let ident = parser.parse_identifier()?;
        let name = self.named(&ident)?;
        let path = |parser: &mut Parser<'_>| match word(parser, "path") {
            true => parse_path(parser),
            false => Ok(format!("$.{}", quoted_key(&name))),
        };
        if parser.parse_keyword(Keyword::FOR) {
            if !word(parser, "ordinality") {
                return parser.expected("ORDINALITY", parser.peek_token());
            }
            return Ok(Part::Column { name, kind: Box::new(Kind::Ordinality) });
        }
        let of = parser.parse_data_type()?;
        if parser.parse_keyword(Keyword::EXISTS) {
            let path = path(parser)?;
            let clauses = Clauses::read(parser, "tfne")?;
            if clauses.on_empty.is_some() {
                return Err(ParserError::ParserError("a column EXISTS has no ON EMPTY".into()));
            }
            let on_error = clauses.on_error.map(|clause| clause.letter);
            return Ok(Part::Column { name, kind: Box::new(Kind::Exists { path, of, on_error }) });
        }
        let is_json = parse_format(parser)?;
        let path = path(parser)?;
        let shape = Shape::read(parser)?;
        // What types have arrays and objects is known when they are.
        let clauses = Clauses::read(parser, "nedao")?;
        let shape = (is_json || shape.is_given()).then_some(shape);
        Ok(Part::Column { name, kind: Box::new(Kind::Value { path, of, shape, clauses: Box::new(clauses) }) })
    }

    /// Adds a part to the plan and its column to the query.
    fn take(&mut self, part: Part, tells: bool) {
        let (name, kind) = match part {
            Part::Begin(path) => return self.plan.push(format!("{}{path}", if tells { '[' } else { '(' })),
            Part::End => return self.plan.push(")".into()),
            Part::Column { name, kind } => (name, kind),
        };
        let at = self.columns.len();
        let expr = match *kind {
            Kind::Ordinality => {
                self.plan.push("#".into());
                cast(cell(at, BinaryOperator::LongArrow), DataType::Int(None))
            }
            Kind::Exists { path, of, on_error } => {
                let on_error = on_error.unwrap_or('f');
                self.plan.push(format!("x{on_error}{path}"));
                cast(cast(cell(at, BinaryOperator::LongArrow), DataType::Boolean), of)
            }
            Kind::Value { path, of, shape, clauses } => {
                let letters = clauses.letters('n', 'n');
                let tells = letters.ends_with('e');
                self.plan.push(format!("{}{path}", if tells { 'V' } else { 'v' }));
                let given = vec![cell(at, BinaryOperator::Arrow)];
                match shape {
                    Some(shape) => {
                        let letters = letters + &shape.letters();
                        value_of(JSON_QUERY, given, of, letters, Some(&name), &clauses)
                    }
                    None => value_of(JSON_VALUE, given, of, letters, Some(&name), &clauses),
                }
            }
        };
        self.columns.push(SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) });
    }
}

/// A part of the levels.
enum Part {
    Begin(String),
    Column { name: String, kind: Box<Kind> },
    End,
}

/// A column.
enum Kind {
    Ordinality,
    Exists {
        path: String,
        of: DataType,
        on_error: Option<char>,
    },
    Value {
        path: String,
        of: DataType,
        /// Of JSON_QUERY.
        shape: Option<Shape>,
        clauses: Box<Clauses>,
    },
}

/// Whether NESTED comes next, and no column of that name.
fn is_nested(parser: &Parser<'_>) -> bool {
    let behind = parser.peek_nth_token_ref(1);
    is_word(parser.peek_token_ref(), "nested")
        && (is_word(behind, "path") || matches!(behind.token, Token::SingleQuotedString(_)))
}

fn parse_path(parser: &mut Parser<'_>) -> Parsed<String> {
    match parser.next_token() {
        TokenWithSpan { token: Token::SingleQuotedString(path) | Token::EscapedStringLiteral(path), .. } => Ok(path),
        TokenWithSpan { token: Token::DollarQuotedString(path), .. } => Ok(path.value),
        other => parser.expected("a path, a literal", other),
    }
}

/// A key of an object as a path has it.
fn quoted_key(key: &str) -> String {
    let mut quoted = String::new();
    weft_expr::json::quote(key, &mut quoted);
    quoted
}

/// A cell of a row.
fn cell(at: usize, op: BinaryOperator) -> Expr {
    let cells = [ROWS, CELLS].map(|name| Ident::with_quote('"', name));
    let number = Expr::value(Value::Number(at.to_string(), false));
    Expr::BinaryOp { left: Box::new(Expr::CompoundIdentifier(cells.into())), op, right: Box::new(number) }
}

#[cfg(test)]
mod tests {
    use super::super::{Parsed, parse};

    fn read(sql: &str) -> String {
        let Some(Parsed::Sql { statement, .. }) = parse(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).pop()
        else {
            panic!("{sql}")
        };
        statement.to_string()
    }

    #[test]
    fn it_is_a_query_over_its_rows() {
        let sql = "SELECT * FROM t, JSON_TABLE (t.j, 'lax $[*]' AS p PASSING 1 AS x COLUMNS (n FOR ORDINALITY, \
                   a int DEFAULT 1 ON EMPTY, \"B\" jsonb PATH '$.b' ERROR ON ERROR, \
                   NESTED PATH '$.c' COLUMNS (e int EXISTS PATH '$.e'))) AS r (k)";
        let written = read(sql);
        let cells = "\"json_table rows\".\"json_table cells\"";
        let wanted = format!(
            "SELECT * FROM t, LATERAL (SELECT CAST({cells} ->> 0 AS INT) AS \"n\", \
             \"json_value\"({cells} -> 1, 'dn', 'a', CAST(NULL AS INT), CAST(1 AS INT), NULL) AS \"a\", \
             \"json_value\"({cells} -> 2, 'ne', 'B', CAST(NULL AS JSONB), NULL, NULL) AS \"B\", \
             CAST(CAST({cells} ->> 3 AS BOOLEAN) AS INT) AS \"e\" \
             FROM UNNEST(weft_json_table(CAST(t.j AS JSONB), \
             ARRAY['(lax $[*]', '#', 'v$.\"a\"', 'V$.b', '($.c', 'xf$.e', ')', ')'], jsonb_build_object('x', 1))) \
             AS \"json_table rows\" (\"json_table cells\")) AS r (k)"
        );
        assert_eq!(written, wanted);
        assert_eq!(read(&written), written);
    }

    #[test]
    fn it_may_stand_in_any_from() {
        for sql in [
            "SELECT * FROM JSON_TABLE('1', '$' COLUMNS (a int))",
            "SELECT * FROM t LEFT JOIN LATERAL \
             json_table(j, '$' COLUMNS (nested int, b int[] FORMAT JSON PATH '$')) ON true",
            "SELECT (SELECT x FROM json_table(\
             (SELECT j FROM JSON_TABLE(k, '$' COLUMNS (j json)) i), '$' COLUMNS (x text)) o)",
            "SELECT * FROM json_table(j, '$' COLUMNS (a int) EMPTY ARRAY ON ERROR) AS json_table",
        ] {
            assert!(!read(sql).contains('\u{1}'), "{}", read(sql));
        }
        // A table, a query of WITH and a function may have the name.
        for sql in [
            "INSERT INTO json_table (a) VALUES (1)",
            "WITH a AS (SELECT 1), json_table (x) AS (SELECT 2) SELECT * FROM json_table",
            "WITH a AS (SELECT 1), json_table (columns) AS (SELECT 2) SELECT * FROM json_table",
            "SELECT 1, json_table(3)",
        ] {
            assert_eq!(read(sql), sql);
        }
        for wrong in [
            "SELECT JSON_TABLE('1', '$' COLUMNS (a int))",
            "SELECT 1, json_table('1', '$' COLUMNS (a int))",
            "SELECT * FROM json_table('1', '$' COLUMNS (a int)) TABLESAMPLE system (10)",
            "SELECT * FROM json_table('1', '$' COLUMNS ())",
            "SELECT * FROM json_table('1', '$' COLUMNS (a int, a int))",
            "SELECT * FROM json_table('1', '$' AS a COLUMNS (a int))",
            "SELECT * FROM json_table('1', '$' || 'x' COLUMNS (a int))",
            "SELECT * FROM json_table('1', '$' COLUMNS (a int) DEFAULT 1 ON ERROR)",
            "SELECT * FROM json_table('1', '$' COLUMNS (a int)) WITH ORDINALITY",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
