//! PostgreSQL's dialect, but for what makes the parser read an argument of a function twice, and with what it lacks.
//!
//! ```text
//!   abs(abs(1))    is abs(1) the name of an argument, as in json_object('a': 1)? no: read it again, and so 2^2 times
//!   -2 ^ 2         is (-2) ^ 2, not -(2 ^ 2)
//!   a IS DISTINCT FROM b OR c    is (a IS DISTINCT FROM b) OR c: the parser takes b OR c for what is compared
//!   x BETWEEN SYMMETRIC a AND b    x BETWEEN a AND b OR x BETWEEN b AND a, as PostgreSQL reads it
//! ```
//!
//! Names of arguments are plain ones (`make_interval(days => 1)`), which takes one step to see.

use std::any::TypeId;
use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, CastKind, DataType, Expr, Ident, UnaryOperator, Value, Visitor};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use weft_walk::Visit;

use super::json_table::parse_json_table;
use super::periods::parse_period;
use super::sql_json::parse_sql_json;

/// See above.
#[derive(Clone, Copy, Debug, Default)]
pub struct WeftDialect {
    /// `FOR SYSTEM_TIME AS OF` may stand behind a table. Only where the text has it: the parser takes other words there
    /// for clauses, too, such as `at`, which are aliases in PostgreSQL.
    has_history: bool,
}

impl WeftDialect {
    /// That of texts which do not ask for the past.
    pub const PLAIN: WeftDialect = WeftDialect { has_history: false };
    /// That of texts which do.
    pub const WITH_HISTORY: WeftDialect = WeftDialect { has_history: true };

    /// `IS [NOT] DISTINCT FROM` and what binds tighter than IS; none when something else comes.
    fn parse_distinct(&self, parser: &mut Parser<'_>, expr: &Expr) -> Option<Result<Expr, ParserError>> {
        let negated = is_next(parser, 1, Keyword::NOT);
        let words = if negated { 2 } else { 1 };
        let is_distinct = is_next(parser, 0, Keyword::IS) && is_next(parser, words, Keyword::DISTINCT);
        if !is_distinct || !is_next(parser, words + 1, Keyword::FROM) {
            return None;
        }
        (0..words + 2).for_each(|_| drop(parser.next_token()));
        let with = parser.parse_subexpr(self.prec_value(Precedence::Is));
        Some(with.map(|with| {
            let (expr, with) = (Box::new(expr.clone()), Box::new(with));
            if negated { Expr::IsNotDistinctFrom(expr, with) } else { Expr::IsDistinctFrom(expr, with) }
        }))
    }
}

/// How many parts the operands of BETWEEN SYMMETRIC have, at most.
const PARTS_MAX: usize = 256;

const BASE: PostgreSqlDialect = PostgreSqlDialect {};

/// What PostgreSQL's dialect says.
macro_rules! as_postgresql {
    ($($name:ident),+ $(,)?) => { $(fn $name(&self) -> bool { BASE.$name() })+ };
}

/// Whether the token in so many places is a keyword.
fn is_next(parser: &Parser<'_>, place: usize, keyword: Keyword) -> bool {
    matches!(&parser.peek_nth_token_ref(place).token, Token::Word(word) if word.keyword == keyword)
}

impl Dialect for WeftDialect {
    fn supports_table_versioning(&self) -> bool {
        self.has_history
    }

    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    fn dialect(&self) -> TypeId {
        BASE.dialect()
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        BASE.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        BASE.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        BASE.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        BASE.is_identifier_part(ch)
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        BASE.is_reserved_for_identifier(keyword)
    }

    fn is_custom_operator_part(&self, ch: char) -> bool {
        BASE.is_custom_operator_part(ch)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        BASE.get_next_precedence(parser)
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        BASE.prec_value(precedence)
    }

    /// A sign binds tighter than `^`: -2 ^ 2 is 4. A period stands where a moment may.
    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        if self.has_history
            && let Some(period) = parse_period(self, parser)
        {
            return Some(period);
        }
        if let Some(bits) = parse_bits(parser) {
            return Some(Ok(bits));
        }
        if let Some(call) = parse_sql_json(parser).or_else(|| parse_json_table(self, parser)) {
            return Some(call);
        }
        if parser.peek_token_ref().token != Token::Minus {
            return None;
        }
        parser.next_token();
        let operand = parser.parse_subexpr(self.prec_value(Precedence::Caret));
        Some(operand.map(|expr| Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(expr) }))
    }

    fn parse_infix(&self, parser: &mut Parser<'_>, expr: &Expr, _: u8) -> Option<Result<Expr, ParserError>> {
        if let Some(compared) = self.parse_distinct(parser, expr).or_else(|| parse_quantified(parser, expr)) {
            return Some(compared);
        }
        let is = |place: usize, keyword: Keyword| is_next(parser, place, keyword);
        let negated = is(0, Keyword::NOT);
        let between = usize::from(negated);
        let is_symmetric = is(between + 1, Keyword::SYMMETRIC);
        if !is(between, Keyword::BETWEEN) || !is_symmetric && !is(between + 1, Keyword::ASYMMETRIC) {
            return None;
        }
        (0..between + 2).for_each(|_| drop(parser.next_token()));
        let ordered = parser.parse_between(expr.clone(), negated);
        Some(if is_symmetric { ordered.and_then(either_way) } else { ordered })
    }

    as_postgresql!(
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_alter_column_type_using,
        supports_array_typedef_with_brackets,
        supports_bitwise_shift_operators,
        supports_comma_separated_trim,
        supports_comment_on,
        supports_comment_optimizer_hint,
        supports_create_index_with_clause,
        supports_create_table_like_parenthesized,
        supports_empty_projections,
        supports_explain_with_utility_options,
        supports_factorial_operator,
        supports_filter_during_aggregation,
        supports_geometric_types,
        supports_group_by_expr,
        supports_insert_table_alias,
        supports_interval_options,
        supports_listen_notify,
        supports_load_extension,
        supports_named_fn_args_with_colon_operator,
        supports_nested_comments,
        supports_notnull_operator,
        supports_numeric_literal_underscores,
        supports_select_wildcard_with_alias,
        supports_set_names,
        supports_string_escape_constant,
        supports_unicode_string_literal,
        supports_xml_expressions,
    );
}

/// `LIKE ANY (...)`, `NOT ILIKE ALL (...)`, `@> ANY (...)`: operators that the parser does not take there. Those of
/// patterns have signs, too.
fn parse_quantified(parser: &mut Parser<'_>, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let negated = is_next(parser, 0, Keyword::NOT);
    let first = usize::from(negated);
    let (is_like, is_ilike) = (is_next(parser, first, Keyword::LIKE), is_next(parser, first, Keyword::ILIKE));
    let op = match (&parser.peek_nth_token_ref(first).token, negated) {
        _ if is_like && negated => BinaryOperator::PGNotLikeMatch,
        _ if is_like => BinaryOperator::PGLikeMatch,
        _ if is_ilike && negated => BinaryOperator::PGNotILikeMatch,
        _ if is_ilike => BinaryOperator::PGILikeMatch,
        (Token::AtArrow, false) => BinaryOperator::AtArrow,
        (Token::ArrowAt, false) => BinaryOperator::ArrowAt,
        (Token::Overlap, false) => BinaryOperator::PGOverlap,
        (Token::Question, false) => BinaryOperator::Question,
        (Token::CaretAt, false) => BinaryOperator::PGStartsWith,
        _ => return None,
    };
    let quantifier =
        [Keyword::ANY, Keyword::SOME, Keyword::ALL].into_iter().find(|of| is_next(parser, first + 1, *of))?;
    if parser.peek_nth_token_ref(first + 2).token != Token::LParen {
        return None;
    }
    (0..first + 3).for_each(|_| drop(parser.next_token()));
    let is_query = [Keyword::SELECT, Keyword::WITH, Keyword::VALUES].iter().any(|word| is_next(parser, 0, *word));
    let right = if is_query { parser.parse_query().map(Expr::Subquery) } else { parser.parse_expr() };
    Some(right.and_then(|right| {
        parser.expect_token(&Token::RParen)?;
        let (left, right) = (Box::new(expr.clone()), Box::new(right));
        Ok(match quantifier {
            Keyword::ALL => Expr::AllOp { left, compare_op: op, right },
            other => Expr::AnyOp { left, compare_op: op, right, is_some: other == Keyword::SOME },
        })
    }))
}

/// `B'101'` and `X'1F'`: texts, which the type of bits reads.
fn parse_bits(parser: &mut Parser<'_>) -> Option<Expr> {
    let text = match &parser.peek_token_ref().token {
        Token::SingleQuotedByteStringLiteral(digits) => format!("b{digits}"),
        Token::HexStringLiteral(digits) => format!("x{digits}"),
        _ => return None,
    };
    parser.next_token();
    Some(Expr::Cast {
        kind: CastKind::DoubleColon,
        expr: Box::new(Expr::value(Value::SingleQuotedString(text))),
        data_type: DataType::Custom(vec![Ident::with_quote('"', "bit")].into(), Vec::new()),
        array: false,
        format: None,
    })
}

/// BETWEEN, whichever of its ends is the lower one. Its parts are there twice then: within each other they would be
/// there 2^n times.
fn either_way(between: Expr) -> Result<Expr, ParserError> {
    if is_large(&between) {
        let message = format!("BETWEEN SYMMETRIC takes expressions of {PARTS_MAX} parts at most");
        return Err(ParserError::ParserError(message));
    }
    let Expr::Between { expr, negated, low, high } = between else { return Ok(between) };
    let turned = Expr::Between { expr: expr.clone(), negated, low: high.clone(), high: low.clone() };
    let op = if negated { BinaryOperator::And } else { BinaryOperator::Or };
    let ordered = Expr::Between { expr, negated, low, high };
    Ok(Expr::Nested(Box::new(Expr::BinaryOp { left: Box::new(ordered), op, right: Box::new(turned) })))
}

/// Whether an expression has more parts than [`PARTS_MAX`].
fn is_large(expr: &Expr) -> bool {
    struct Parts(usize);
    impl Visitor for Parts {
        type Break = ();
        fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
            self.0 += 1;
            if self.0 > PARTS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    expr.visit(&mut Parts(0)).is_break()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_between_may_be_given_either_way() {
        for (sql, read) in [
            ("a BETWEEN SYMMETRIC 3 AND 1 AND b", "(a BETWEEN 3 AND 1 OR a BETWEEN 1 AND 3) AND b"),
            ("NOT a NOT BETWEEN SYMMETRIC b AND 1", "NOT (a NOT BETWEEN b AND 1 AND a NOT BETWEEN 1 AND b)"),
            ("a + 1 BETWEEN ASYMMETRIC 3 AND 1", "a + 1 BETWEEN 3 AND 1"),
        ] {
            let parsed = Parser::parse_sql(&WeftDialect::PLAIN, &format!("SELECT {sql}")).unwrap();
            assert_eq!(parsed[0].to_string(), format!("SELECT {read}"));
        }
        assert!(Parser::parse_sql(&WeftDialect::PLAIN, "SELECT a BETWEEN SYMMETRIC 3").is_err());
        // 2^60 parts.
        let chain = format!("SELECT true{}", " BETWEEN SYMMETRIC true AND true".repeat(60));
        assert!(Parser::parse_sql(&WeftDialect::PLAIN, &chain).is_err());
    }

    #[test]
    fn calls_are_read_once_however_deep_they_nest() {
        // Twice each would be 2^40 steps, which nobody sees the end of.
        let deep = format!("SELECT {}1{}", "abs(".repeat(40), ")".repeat(40));
        let parsed = Parser::parse_sql(&WeftDialect::PLAIN, &deep).unwrap();
        assert_eq!(parsed[0].to_string(), deep);
    }

    #[test]
    fn everything_else_is_read_as_by_postgresqls_dialect() {
        for sql in [
            "SELECT make_interval(days => 1), a.b::int[], U&'\\0041', E'\\n', 1_000, x -> 'a' ->> 'b', a #>> '{b}'",
            "SELECT \"Q\", é, $1, a @> b, ARRAY[1, 2][1], INTERVAL '1' DAY, EXTRACT(epoch FROM t)",
            "SELECT t AT TIME ZONE 'UTC'",
            "SELECT a NOTNULL, a << 1, TRIM(BOTH 'x' FROM y), count(*) FILTER (WHERE a) FROM t AS u GROUP BY a + 1",
            "SELECT FROM t /* a /* b */ c */",
            "INSERT INTO t AS u VALUES (1) ON CONFLICT (a) DO UPDATE SET b = excluded.b",
            "EXPLAIN (ANALYZE, FORMAT TEXT) SELECT NOT a = b AND c ~ 'x' OR -2 ^ 2 < 3 COLLATE \"C\"",
            "ALTER TABLE t ALTER COLUMN a TYPE int USING a::int",
            "COMMENT ON TABLE t IS 'x'",
            "CREATE INDEX i ON t USING btree (a) WITH (fillfactor = 70)",
            "SET NAMES 'UTF8'",
        ] {
            let shown = |dialect: &dyn Dialect| {
                let parsed = Parser::parse_sql(dialect, sql);
                format!("{:?}", parsed.map(|all| all[0].to_string()))
            };
            assert_eq!(shown(&WeftDialect::PLAIN), shown(&BASE), "{sql}");
        }
    }
}
