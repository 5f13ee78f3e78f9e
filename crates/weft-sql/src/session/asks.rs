//! What a statement asks for, seen from its text or its tree alone.

use sqlparser::ast::{Query, Statement};
use weft_pgcatalog::{Kind, classify};

use crate::parse::{has_writing_parts, writes};

/// Whether a statement is a query of the catalog.
pub(super) fn is_of_catalog(statement: &Statement) -> bool {
    matches!(statement, Statement::Query(query)
        if query.locks.is_empty() && !may_write(query) && classify(query) == Kind::Catalog)
}

/// Whether a statement is a query with constants of the catalog, and reads nothing of it.
pub(super) fn has_constants(statement: &Statement) -> bool {
    matches!(statement, Statement::Query(query)
        if query.locks.is_empty() && !may_write(query) && classify(query) == Kind::Constants)
}

/// Whether a statement goes to an engine.
pub(super) fn is_planned(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_)
    )
}

/// Whether a query, or a WITH query of it, is a statement that writes.
fn may_write(query: &Query) -> bool {
    writes(query) || has_writing_parts(query)
}

/// Whether a text may call one of the functions: `...val(`, `..._schema`, `..._description`, `set_config` or
/// `weft_..._commit...`, `weft_writer_epoch`, `weft_system_identifier`. One pass, for texts may be long.
pub(super) fn may_have_calls(source: &str) -> bool {
    let bytes = source.as_bytes();
    let follows = |at: usize, word: &str| {
        bytes.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    };
    (0..bytes.len()).any(|at| match bytes[at] {
        b'v' | b'V' => {
            follows(at, "val") && bytes[at + 3..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'(')
        }
        b'_' => ["_schema", "_description", "_config", "_commit", "_epoch", "_identifier"]
            .iter()
            .any(|word| follows(at, word)),
        _ => false,
    })
}
