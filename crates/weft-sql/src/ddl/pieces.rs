//! What definitions of tables, keys and indexes have in common: names, places, refusals.

use std::ops::ControlFlow;

use sqlparser::ast::Expr as SqlExpr;
use sqlparser::tokenizer::Span;
use weft_format::{Code, Error, Result};
use weft_kernel::{TableDef, TableRef};
use weft_walk::visit_expressions_mut;

use crate::parse::{fold, parse_expression, span_position};

/// The most bytes of a name of a table or column.
const NAME_BYTES_MAX: usize = 255;

/// The property of a table that says what a commit does with it.
pub(crate) const ON_COMMIT: &str = "on_commit";

/// The mark of a constraint that tables below do not get.
pub(crate) const NO_INHERIT: &str = "no_inherit";

/// The mark of a constraint that not all rows were tested against.
pub(crate) const NOT_VALID: &str = "not_valid";

/// The property of a table that marks a constraint.
pub(crate) fn marked(mark: &str, constraint: &str) -> String {
    format!("{mark}.{constraint}")
}

/// The constraints of a table that have a mark.
pub(crate) fn with_mark<'a>(def: &'a TableDef, mark: &'a str) -> impl Iterator<Item = &'a str> {
    let names = def.properties.keys().filter_map(move |property| property.strip_prefix(mark));
    names.filter_map(|name| name.strip_prefix('.'))
}

/// Takes the marks from a constraint, or gives them to its new name.
pub(super) fn move_marks(def: &mut TableDef, constraint: &str, new: Option<&str>) {
    for mark in [NO_INHERIT, NOT_VALID] {
        if let (Some(value), Some(new)) = (def.properties.remove(&marked(mark, constraint)), new) {
            def.properties.insert(marked(mark, new), value);
        }
    }
}

/// Takes the marks of constraints that are gone.
pub(super) fn forget_marks(def: &mut TableDef) {
    let names = def.checks.iter().map(|(name, _)| name).chain(def.foreign_keys.iter().map(|key| &key.name));
    let names: Vec<String> = names.cloned().collect();
    def.properties.retain(|property, _| match property.split_once('.') {
        Some((NO_INHERIT | NOT_VALID, name)) => names.iter().any(|known| known == name),
        _ => true,
    });
}

/// A UNIQUE constraint: the columns' ordinals, and the name if it was given.
pub(crate) struct NewUnique {
    pub(crate) name: Option<String>,
    pub(crate) columns: Vec<usize>,
}

/// Refuses a name that is too long.
pub(super) fn check_length(name: &str) -> Result<()> {
    if name.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    let message =
        format!("a name is longer than {NAME_BYTES_MAX} bytes: \"{}...\"", &name[..name.floor_char_boundary(63)]);
    Err(Error::new(Code::ProgramLimit, message).hint("choose a shorter one"))
}

/// What CREATE TABLE refuses by name.
pub(super) fn unsupported(what: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("{what} is not supported in CREATE TABLE"))
}

/// An error with the place of what it is about.
pub(super) fn place(error: Error, source: &str, span: Span) -> Error {
    match span_position(source, span) {
        Some(position) if error.position().is_none() => error.at(position),
        _ => error,
    }
}

/// The ordinal of a visible column.
pub(super) fn ordinal_of(table: &TableRef, name: &str) -> Result<usize> {
    table.def.schema.visible_ordinal(name).ok_or_else(|| {
        let message = format!("column \"{name}\" does not exist");
        Error::new(Code::UndefinedColumn, message).about(&table.def.name, Some(name), None)
    })
}

/// What CREATE INDEX refuses by name.
pub(super) fn refused(what: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("{what} is not supported in CREATE INDEX"))
}

/// `base_suffix`, with a number when it is taken.
pub(crate) fn free_name(base: &str, suffix: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
    let numbered = (1..).map(|number| format!("{base}_{suffix}{number}"));
    let mut names = std::iter::once(format!("{base}_{suffix}")).chain(numbered);
    names.find(|name| !is_taken(name)).expect("some number is free")
}

/// An expression over a table's columns without the table's name before them.
pub(super) fn without_table(text: &str, table: &str) -> Result<String> {
    let mut tree = parse_expression(text)?;
    let mut changed = false;
    let _ = visit_expressions_mut(&mut tree, |expr| {
        if let SqlExpr::CompoundIdentifier(parts) = expr
            && let [.., of, column] = parts.as_slice()
            && fold(of) == table
        {
            *expr = SqlExpr::Identifier(column.clone());
            changed = true;
        }
        ControlFlow::<()>::Continue(())
    });
    Ok(if changed { tree.to_string() } else { text.to_owned() })
}
