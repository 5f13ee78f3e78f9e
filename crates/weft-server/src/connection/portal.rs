//! Prepared statements and portals of a connection.

use std::collections::HashMap;
use std::sync::Arc;

use weft::{Outcome, Prepared, Value};
use weft_format::{Code, Error, Result};
use weft_sql::Local;

use crate::types::{Format, read_parameter};
use weft_wire::protocol::{Target, violation};

/// A prepared statement, as the client named it.
pub(crate) struct Statement {
    /// None for a text without a statement.
    pub(crate) prepared: Option<Arc<Prepared>>,
    /// The types of the parameters: what the client said, else what the statement says.
    pub(crate) oids: Vec<u32>,
}

/// A statement with the values of its parameters, and what is left of its rows.
pub(crate) struct Portal {
    pub(crate) statement: Arc<Statement>,
    pub(crate) values: Vec<Value>,
    /// None = all text, one = all that, else one per column.
    pub(crate) formats: Vec<Format>,
    pub(crate) state: State,
}

/// How far a portal is.
pub(crate) enum State {
    Ready,
    /// It ran, and rows from this one on are left.
    Suspended(Outcome, usize),
    Done,
}

/// What Describe and Close name.
pub(crate) enum Named {
    Statement(String),
    Portal(String),
}

impl Named {
    /// A target with a name of its own.
    pub(crate) fn of(target: Target<'_>) -> Named {
        match target {
            Target::Statement(name) => Named::Statement(name.into()),
            Target::Portal(name) => Named::Portal(name.into()),
        }
    }
}

impl Portal {
    /// A portal over a statement.
    pub(crate) fn bind(
        statements: &HashMap<String, Arc<Statement>>,
        statement: &str,
        formats: &[i16],
        values: &[Option<&[u8]>],
        results: &[i16],
        local: &Local,
    ) -> Result<Portal> {
        let Some(found) = statements.get(statement) else { return Err(undefined_statement(statement)) };
        let wanted = found.oids.len();
        if values.len() != wanted {
            return Err(violation(format!(
                "bind message supplies {} parameters, but prepared statement \"{statement}\" requires {wanted}",
                values.len()
            )));
        }
        if formats.len() > 1 && formats.len() != values.len() {
            return Err(violation(format!(
                "bind message has {} parameter formats but {} parameters",
                formats.len(),
                values.len()
            )));
        }
        let types = found.prepared.as_ref().map(|prepared| prepared.param_types()).unwrap_or_default();
        let mut read = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let binary = *formats.get(index).or(formats.first()).unwrap_or(&0) == 1;
            read.push(match (value, types.get(index)) {
                (None, _) => Value::Null,
                (Some(bytes), Some(&data_type)) => read_parameter(bytes, binary, found.oids[index], data_type, local)?,
                (Some(_), None) => return Err(Error::internal("a parameter without a type")),
            });
        }
        let formats = results.iter().map(|&code| if code == 1 { Format::Binary } else { Format::Text }).collect();
        Ok(Portal { statement: Arc::clone(found), values: read, formats, state: State::Ready })
    }
}

/// The format of a column.
pub(crate) fn format_at(formats: &[Format], column: usize) -> Format {
    match formats {
        [] => Format::Text,
        [all] => *all,
        each => each.get(column).copied().unwrap_or(Format::Text),
    }
}

pub(crate) fn undefined_statement(name: &str) -> Error {
    let shown = if name.is_empty() {
        "unnamed prepared statement does not exist".into()
    } else {
        format!("prepared statement \"{name}\" does not exist")
    };
    Error::new(Code::UndefinedPrepared, shown)
}

pub(crate) fn undefined_portal(name: &str) -> Error {
    Error::new(Code::UndefinedCursor, format!("portal \"{name}\" does not exist"))
}
