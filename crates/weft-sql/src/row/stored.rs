//! Expressions that definitions keep as text: DEFAULT, CHECK and GENERATED.
//!
//! ```text
//!   DEFAULT '1.2.2024'::date      kept as '2024-02-01'::date: it means the same in every session
//!   DEFAULT now()::date::text     refused: what it gives depends on the session
//! ```

use sqlparser::ast::Expr as SqlExpr;
use sqlparser::tokenizer::Span;
use weft_expr::Local;
use weft_format::{Code, Column, Error, Result};

use crate::expr::{BindResult, Binder, Definer, Expr, Scope};
use crate::parse::{parse_expression, span_position};

/// What a column gets that a statement says nothing about.
#[derive(Clone)]
pub enum RowDefault {
    /// The value of an expression without columns.
    Expr(Expr),
    /// The next number of a sequence.
    NextOf(String),
}

/// Binds a DEFAULT expression to its column; an error when the expression is more than the point engine knows.
pub(crate) fn bind_default(source: &str, column: &Column) -> Result<Expr> {
    let tree = parse_expression(source)?;
    let mut binder = Binder { is_stored: true, ..Binder::new(source) };
    let bound = binder.bind_assignment(&tree, &Scope::empty(), column.data_type, &column.name);
    only_constants(&binder, "DEFAULT")?;
    bound.map_err(|error| not_in("DEFAULT", error.into()))
}

/// Binds a CHECK condition.
pub(crate) fn bind_check(source: &str, scope: &Scope) -> Result<Expr> {
    let tree = parse_expression(source)?;
    let mut binder = Binder { is_stored: true, ..Binder::new(source) };
    let bound = binder.bind_condition(&tree, scope);
    only_constants(&binder, "CHECK")?;
    bound.map_err(|error| not_in("CHECK", error.into()))
}

/// The text of a DEFAULT as it is stored: it means in all sessions what it means in the one that defines it.
pub(crate) fn stored_default(source: &str, column: &Column, local: &Local) -> Result<String> {
    stored(source, local, "DEFAULT", |binder, tree| {
        binder.bind_assignment(tree, &Scope::empty(), column.data_type, &column.name)
    })
}

/// The same of the expression of a generated column.
pub(crate) fn stored_expression(source: &str, scope: &Scope, column: &Column, local: &Local) -> Result<String> {
    stored(source, local, "GENERATED", |binder, tree| {
        binder.bind_assignment(tree, scope, column.data_type, &column.name)
    })
}

/// The same of a CHECK condition.
pub(crate) fn stored_check(source: &str, scope: &Scope, local: &Local) -> Result<String> {
    stored(source, local, "CHECK", |binder, tree| binder.bind_condition(tree, scope))
}

fn stored(
    source: &str,
    local: &Local,
    place: &str,
    bind: impl Fn(&mut Binder<'_>, &SqlExpr) -> BindResult<Expr>,
) -> Result<String> {
    let definer = Some(Definer { local, texts: Vec::new() });
    let mut binder = Binder { is_stored: true, definer, ..Binder::new(source) };
    let bound = bind(&mut binder, &parse_expression(source)?);
    only_constants(&binder, place)?;
    let bound = bound.map_err(|error| not_in(place, error.into()))?;
    let texts = binder.definer.map(|definer| definer.texts).unwrap_or_default();
    if texts.is_empty() {
        return Ok(source.to_owned());
    }
    let text = with_texts(source, texts);
    // What is stored is bound as every session binds it, and must be the same.
    let again = bind(&mut Binder { is_stored: true, ..Binder::new(&text) }, &parse_expression(&text)?);
    match again {
        Ok(again) if again == bound => Ok(text),
        _ => {
            let message = format!("a date or time in {place} depends on the session: {source}");
            let hint = "write dates as 2024-12-31, and timestamps with time zone with an offset";
            Err(Error::new(Code::FeatureNotSupported, message).hint(hint))
        }
    }
}

/// A source with other constants at some places.
fn with_texts(source: &str, mut texts: Vec<(Span, String)>) -> String {
    texts.sort_by_key(|(span, _)| span.start);
    texts.dedup_by_key(|(span, _)| span.start);
    let end = source.chars().count() + 1;
    let place = |location| span_position(source, Span::new(location, location)).unwrap_or(end);
    let (mut written, mut next) = (String::new(), 1);
    let part = |from: usize, to: usize| source.chars().skip(from - 1).take(to.saturating_sub(from)).collect::<String>();
    for (span, text) in texts {
        written.push_str(&part(next, place(span.start)));
        written.push_str(&format!("'{}'", text.replace('\'', "''")));
        next = place(span.end);
    }
    written + &part(next, end)
}

fn only_constants(binder: &Binder<'_>, place: &str) -> Result<()> {
    match binder.params.is_empty() {
        true => Ok(()),
        false => Err(Error::new(Code::InvalidTableDefinition, format!("a {place} expression cannot have parameters"))),
    }
}

fn not_in(place: &str, error: Error) -> Error {
    if error.code() == Code::FeatureNotSupported {
        let message = error.message().replace("by the point engine", &format!("in {place}"));
        return Error::new(Code::FeatureNotSupported, message);
    }
    error
}
