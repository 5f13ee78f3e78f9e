//! A text, cut into statements, each read by the SQL parser or by ours.

use sqlparser::ast::Expr;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use weft_format::{Code, Error, Result};

use super::parsed::Parsed;
use super::parser::{expect_end, parser, syntax_error};
use super::{
    conflict, constraints, copy_options, frames, history, joins, json_table, locked_parts, locking, merge,
    named_arguments, only, own, parts, periods, plain_words, row_assignments, rows, rows_from, set_columns, subqueries,
    table_operations, tables, tokens, views, with,
};

/// Parses a text of any number of statements; empty ones are left out.
pub fn parse(source: &str) -> Result<Vec<Parsed>> {
    if let Some(at) = source.find('\0') {
        let error = Error::new(Code::CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x00");
        return Err(error.hint("take the NUL out of the text").at(source[..at].chars().count() + 1));
    }
    let tokens = tokens::tokenize(source)?;
    let mut parsed = Vec::new();
    for statement in tokens.split(|token| token.token == Token::SemiColon) {
        if statement.iter().any(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF)) {
            parsed.push(parse_one(source, statement)?);
        }
    }
    Ok(parsed)
}

/// Parses an expression that stands alone (a stored DEFAULT or CHECK).
pub fn parse_expression(source: &str) -> Result<Expr> {
    let tokens = tokens::tokenize(source)?;
    tokens::check_chains(source, &tokens)?;
    whole_expression(source, &tokens)
}

fn whole_expression(source: &str, tokens: &[TokenWithSpan]) -> Result<Expr> {
    let mut parser = parser(tokens);
    let expr = parser.parse_expr().map_err(|error| syntax_error(source, &parser, error))?;
    expect_end(source, &parser)?;
    Ok(expr)
}

fn parse_one(source: &str, statement: &[TokenWithSpan]) -> Result<Parsed> {
    tokens::check_chains(source, statement)?;
    let statement = &*periods::with_periods(source, statement)?;
    let statement = &*plain_words::in_plain_words(statement);
    let statement = &*only::written_plainly(source, statement)?;
    if let Some(parsed) = tokens::own_statement(statement) {
        return Ok(parsed);
    }
    if let Some(own) = own::own_statement(source, statement)? {
        return Ok(Parsed::Own(own));
    }
    if constraints::is_set_constraints(statement) {
        return constraints::set_constraints(source, parser(statement));
    }
    let (statement, no_data) = tables::take_data(tables::written_out(statement));
    let statement = views::plain_view(statement)?;
    let statement = &statement;
    let (tokens, method) = tokens::take_method(source, statement)?;
    let tokens = tokens::with_plain_copy_options(tokens::without_concurrently(tokens));
    let (tokens, overriding) = own::take_overriding(tokens);
    let tokens = own::order_identity_options(own::without_freeze(copy_options::with_force_array(tokens)));
    let tokens = set_columns::with_moved_lists(source, tokens)?;
    let tokens = table_operations::with_known_operations(source, tokens)?;
    let (tokens, taken) = conflict::take_conflict(parts::with_named_subscripts(tokens));
    let tokens = merge::with_plain_actions(subqueries::written_plainly(rows_from::written_plainly(tokens)));
    let tokens = tokens::signs_apart(tokens);
    let tokens = locking::written_plainly(frames::written_plainly(joins::written_plainly(tokens)));
    let (tokens, has_json_table) = json_table::written_plainly(rows::written_plainly(tokens));
    let mut parser = parser(&tokens);
    let mut tree = parser
        .parse_statement()
        .map_err(|error| syntax_error(source, &parser, error))
        .and_then(|tree| expect_end(source, &parser).map(|()| tree))?;
    if has_json_table {
        json_table::placed(&mut tree)?;
    }
    tree = with::put_behind_insert(tree);
    locking::pushed_down(&mut tree);
    tree = locked_parts::taken_apart(tree)?;
    named_arguments::placed(&mut tree, &tokens)?;
    row_assignments::written_singly(&mut tree, &parse_expression)?;
    history::check_history(&tree)?;
    let expression = |tokens: Vec<TokenWithSpan>| whole_expression(source, &tokens);
    conflict::put_conflict(
        &mut tree,
        taken.rows.map(expression).transpose()?,
        taken.parts.map(expression).transpose()?,
    )?;
    conflict::put_overriding(&mut tree, overriding);
    tables::put_data(&mut tree, no_data);
    Ok(Parsed::Sql { statement: Box::new(tables::into_table(tree)?), method })
}
