//! LIKE in CREATE TABLE: columns, and what else is asked for, as another table has it now.
//!
//! ```text
//!   s (id serial PRIMARY KEY, a int CHECK (a > 0) DEFAULT 7)      CREATE TABLE t (LIKE s INCLUDING ...)
//!     always        id integer NOT NULL, a integer
//!     DEFAULTS      id nextval of s's own sequence, a 7           IDENTITY    a sequence of its own
//!     CONSTRAINTS   s_a_check under its name                      GENERATED   expressions of generated columns
//!     INDEXES       the primary key, unique constraints, indexes  COMMENTS    of columns
//! ```
//!
//! STORAGE, COMPRESSION and STATISTICS are taken and say nothing here. Foreign keys are never copied, as in PostgreSQL.

use std::sync::Arc;

use sqlparser::ast::{SequenceOptions as SqlOption, Statement};
use weft_expr::Local;
use weft_format::{Code, Column, Error, Result};
use weft_kernel::catalog::SequenceOptions;
use weft_kernel::index::IndexPart;
use weft_kernel::{IndexRef, Object, ObjectKind, TableRef, Transaction};
use weft_pgcatalog::quoted;

use super::AnyIndex;
use super::building::{Building, NewCheck, check_column_name};
use super::comment::{self, About};
use super::pieces::{NO_INHERIT, NewUnique, marked, without_table};
use super::sequence::{self, NewSequence};
use crate::domains::{self, Rules};
use crate::parse::{Like, Parsed, parse, parse_expression};
use crate::resolve::{self, Relation};
use crate::row::{generated, predicate_text};
use crate::view_columns::view_columns;

/// What INCLUDING and EXCLUDING say in the end.
#[derive(Clone, Copy, Default)]
struct Options {
    comments: bool,
    constraints: bool,
    defaults: bool,
    generated: bool,
    identity: bool,
    indexes: bool,
}

impl Options {
    fn of(said: &[String]) -> Result<Options> {
        let mut options = Options::default();
        for option in said {
            let (verb, what) = option.split_once(' ').unwrap_or((option, ""));
            let is_in = verb == "including";
            match what {
                "all" => {
                    options = Options {
                        comments: is_in,
                        constraints: is_in,
                        defaults: is_in,
                        generated: is_in,
                        identity: is_in,
                        indexes: is_in,
                    };
                }
                "comments" => options.comments = is_in,
                "constraints" => options.constraints = is_in,
                "defaults" => options.defaults = is_in,
                "generated" => options.generated = is_in,
                "identity" => options.identity = is_in,
                "indexes" => options.indexes = is_in,
                "compression" | "statistics" | "storage" => {}
                other => {
                    let error = Error::new(Code::SyntaxError, format!("syntax error at or near \"{other}\""));
                    return Err(
                        error.hint("LIKE takes ALL, COMMENTS, CONSTRAINTS, DEFAULTS, GENERATED, IDENTITY, INDEXES")
                    );
                }
            }
        }
        Ok(options)
    }
}

/// What is taken over when the new table is there.
pub(crate) struct Copied {
    /// CREATE INDEX of those that no constraint made.
    indexes: Vec<String>,
    /// Comments of columns, by name.
    comments: Vec<(String, String)>,
}

impl Copied {
    pub(super) fn finish(&self, txn: &mut Transaction, table: &TableRef, local: &Local) -> Result<()> {
        let namespace = table.def.namespace;
        for text in &self.indexes {
            let damaged = || Error::internal("an index is copied by its statement");
            let Some(Parsed::Sql { statement, .. }) = parse(text)?.pop() else { return Err(damaged()) };
            let Statement::CreateIndex(create) = *statement else { return Err(damaged()) };
            let is_taken = |name: &str| resolve::is_taken(txn, namespace, name);
            let new = super::new_index(&create, None, table, text, local, &is_taken)?;
            if let AnyIndex::Entries(new) = new {
                txn.create_index(table, new)?;
            }
        }
        for (column, text) in &self.comments {
            if let Some(ordinal) = table.def.schema.visible_ordinal(column) {
                comment::set(txn, &About::Column(table.def.oid, ordinal), Some(text))?;
            }
        }
        Ok(())
    }
}

/// Adds the columns of a table to one that is being built, and what its options ask for.
pub(super) fn copy(txn: &Transaction, like: &Like, building: &mut Building<'_>) -> Result<Copied> {
    let options = Options::of(&like.options)?;
    match resolve::relation(txn, &like.table) {
        Some(Relation::Table(table)) => copy_table(txn, &table, options, building),
        Some(Relation::Object(view)) if view.kind == ObjectKind::View => {
            for (name, data_type) in view_columns(&view) {
                add(building, Column { name, data_type, not_null: false }, None)?;
            }
            Ok(Copied { indexes: Vec::new(), comments: Vec::new() })
        }
        Some(_) => {
            let message = format!("relation \"{}\" is invalid in LIKE clause", resolve::shown(&like.table));
            Err(Error::new(Code::WrongObjectType, message).hint("name a table or a view"))
        }
        None => Err(resolve::undefined(&like.table)),
    }
}

fn add(building: &mut Building<'_>, column: Column, default: Option<String>) -> Result<()> {
    check_column_name(&column.name, &building.columns)?;
    building.columns.push(column);
    building.defaults.push(default);
    Ok(())
}

fn copy_table(txn: &Transaction, table: &TableRef, options: Options, building: &mut Building<'_>) -> Result<Copied> {
    let def = &table.def;
    let mut comments = Vec::new();
    // The new ordinals of the columns, by the old ones.
    let mut places = vec![None; def.schema.columns.len()];
    for (ordinal, column) in def.schema.visible() {
        let place = building.columns.len();
        let identity = def.properties.get(&format!("identity.{ordinal}"));
        let default = def.defaults[ordinal].clone().filter(|_| options.defaults && identity.is_none());
        add(building, column.clone(), default)?;
        places[ordinal] = Some(place);
        if let Some(text) = def.properties.get(&domains::property(ordinal)) {
            building.domains.push((place, Rules::of_text(text)?));
        }
        if let Some(text) = generated(def, ordinal).filter(|_| options.generated) {
            building.generated.push((place, text.to_owned()));
        }
        if let Some(kind) = identity.filter(|_| options.identity) {
            let new = NewSequence {
                ordinal: place,
                data_type: column.data_type,
                options: sequence_of(txn, def.oid, ordinal)?,
                identity: Some(kind == "always"),
            };
            building.sequences.push(new);
        }
        if let Some(comment) = comment::find(txn, &About::Column(def.oid, ordinal)).filter(|_| options.comments)
            && let Some(text) = comment.property("text")
        {
            comments.push((column.name.clone(), text.to_owned()));
        }
    }
    if options.constraints {
        for (name, condition) in &def.checks {
            building.checks.push(NewCheck {
                name: Some(name.clone()),
                column: None,
                condition: without_table(condition, &def.name)?,
                no_inherit: def.properties.contains_key(&marked(NO_INHERIT, name)),
            });
        }
    }
    let mut indexes = Vec::new();
    if options.indexes {
        let placed = |ordinals: &[usize]| ordinals.iter().filter_map(|&ordinal| places[ordinal]).collect::<Vec<_>>();
        if !def.schema.hidden_row_id {
            building.primary_key(None, placed(&def.schema.key))?;
        }
        for index in txn.indexes_of(table) {
            if index.index.is_constraint() {
                building.uniques.push(NewUnique { name: None, columns: placed(index.index.columns()) });
            } else {
                indexes.push(statement_of(table, &index));
            }
        }
    }
    Ok(Copied { indexes, comments })
}

/// The options of the sequence that a column owns.
fn sequence_of(txn: &Transaction, table: u32, ordinal: usize) -> Result<Vec<SqlOption>> {
    let is_it =
        |object: &Arc<Object>| object.kind == ObjectKind::Sequence && sequence::owner(object) == Some((table, ordinal));
    let Some(sequence) = txn.objects().into_iter().find(is_it) else { return Ok(Vec::new()) };
    let of = SequenceOptions::of(&sequence)?;
    let number = |value: i64| parse_expression(&value.to_string());
    Ok(vec![
        SqlOption::IncrementBy(number(of.increment)?, true),
        SqlOption::MinValue(Some(number(of.min)?)),
        SqlOption::MaxValue(Some(number(of.max)?)),
        SqlOption::StartWith(number(of.start)?, true),
        SqlOption::Cycle(!of.cycle),
    ])
}

/// `CREATE INDEX` without a name, of the same columns and rows.
fn statement_of(table: &TableRef, index: &IndexRef) -> String {
    let schema = &table.def.schema;
    let name = |ordinal: usize| quoted(&schema.columns[ordinal].name);
    let part = |part: &IndexPart| match part {
        IndexPart::Column(ordinal) => name(*ordinal),
        IndexPart::Expression(_) => format!("({})", part.text(schema)),
    };
    let parts: Vec<String> = index.index.parts().iter().map(part).collect();
    let unique = if index.index.is_unique() { "UNIQUE " } else { "" };
    let mut text = format!("CREATE {unique}INDEX ON t ({})", parts.join(", "));
    let included: Vec<String> = index.index.included().iter().map(|&ordinal| name(ordinal)).collect();
    if !included.is_empty() {
        text += &format!(" INCLUDE ({})", included.join(", "));
    }
    if index.index.is_partial() {
        text += &format!(" WHERE {}", predicate_text(table, index.index.predicate()));
    }
    text
}
