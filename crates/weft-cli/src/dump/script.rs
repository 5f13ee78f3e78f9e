//! The statements of a dump, in an order in which they can be run.

use std::io::Write;

use weft_server::client::{Client, ClientError};

use super::catalog::{Catalog, Column, Owner, Relation, Sequence};
use super::reader::literal;
use super::rights::Statements;
use crate::failure::Failure;

/// What is to be in it.
pub(super) struct Wanted {
    pub(super) definitions: bool,
    pub(super) rows: bool,
    /// Roles, and whom objects belong to.
    pub(super) owners: bool,
    /// Who may what.
    pub(super) grants: bool,
    /// Only these tables; empty: all.
    pub(super) tables: Vec<String>,
}

/// A dump being written.
pub(super) struct Script<'a> {
    pub(super) client: &'a mut Client,
    pub(super) catalog: &'a Catalog,
    pub(super) rights: &'a Statements,
    pub(super) wanted: &'a Wanted,
    pub(super) out: &'a mut dyn Write,
}

/// As pg_dump begins: names are those of the dump, dates and times are read as they are written, and nothing is cut off
/// by a limit of the session.
const HEAD: &str = "\
SET statement_timeout = 0;
SET lock_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, MDY';
SET IntervalStyle = 'postgres';
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET client_min_messages = warning;
";

impl Script<'_> {
    pub(super) fn write(&mut self) -> Result<(), Failure> {
        self.lines(&["--", "-- Dump of a Weft database", "--", "", HEAD])?;
        if self.wanted.definitions {
            if self.wanted.owners {
                self.statements(&self.rights.roles)?;
            }
            for schema in &self.catalog.schemas {
                self.line(&format!("CREATE SCHEMA {schema};"))?;
            }
            self.statements(&self.catalog.types)?;
            self.functions(|kind| kind.is_none())?;
            self.sequences()?;
            self.tables()?;
            self.functions(|kind| kind == Some('r'))?;
            self.views()?;
            self.functions(|kind| matches!(kind, Some('v' | 'm')))?;
        }
        if self.wanted.rows {
            self.rows()?;
            self.sequence_values()?;
            self.refreshes()?;
        }
        if self.wanted.definitions {
            self.constraints(&['u'])?;
            for index in &self.catalog.indexes {
                self.line(&format!("{index};"))?;
            }
            self.constraints(&['f'])?;
            self.statements(&self.catalog.comments)?;
            for function in &self.catalog.functions {
                if let Some(comment) = &function.comment {
                    self.line(&format!("COMMENT ON FUNCTION {} IS {};", function.name, literal(comment)))?;
                }
            }
            if self.wanted.owners {
                self.statements(&self.rights.owners)?;
            }
            if self.wanted.grants {
                self.statements(&self.rights.grants)?;
            }
        }
        Ok(())
    }

    fn statements(&mut self, statements: &[String]) -> Result<(), Failure> {
        statements.iter().try_for_each(|statement| self.line(statement))
    }

    fn line(&mut self, line: &str) -> Result<(), Failure> {
        writeln!(self.out, "{line}").map_err(|error| Failure::io("cannot write the dump", &error))
    }

    fn lines(&mut self, lines: &[&str]) -> Result<(), Failure> {
        lines.iter().try_for_each(|line| self.line(line))
    }

    fn of_kind(&self, kind: char) -> impl Iterator<Item = &Relation> {
        self.catalog.relations.iter().filter(move |relation| relation.kind == kind)
    }

    /// Functions that give rows of relations of a kind; none: values.
    fn functions(&mut self, of_kind: impl Fn(Option<char>) -> bool) -> Result<(), Failure> {
        let catalog = self.catalog;
        for function in &catalog.functions {
            let relation = catalog.relations.iter().find(|relation| relation.oid == function.gives);
            if of_kind(relation.map(|relation| relation.kind)) {
                self.line(&format!("\n{}", function.create))?;
            }
        }
        Ok(())
    }

    /// Sequences of their own and those of defaults; an identity brings its own.
    fn sequences(&mut self) -> Result<(), Failure> {
        for sequence in &self.catalog.sequences {
            let is_identity = sequence.owner.as_ref().is_some_and(|owner| owner.is_identity);
            let Some(name) = self.catalog.name_of(sequence.relation).filter(|_| !is_identity) else { continue };
            self.line(&format!("\nCREATE SEQUENCE {name} AS {} {};", sequence.type_name, options(sequence)))?;
        }
        Ok(())
    }

    fn tables(&mut self) -> Result<(), Failure> {
        let tables: Vec<&Relation> = self.catalog.relations.iter().filter(|relation| relation.kind == 'r').collect();
        for table in tables {
            let mut parts: Vec<String> = Vec::new();
            for column in self.catalog.columns.get(&table.oid).into_iter().flatten() {
                parts.push(self.column(table, column));
            }
            for constraint in self.catalog.constraints.iter().filter(|constraint| constraint.table == table.oid) {
                if ['p', 'c'].contains(&constraint.kind) {
                    parts.push(format!("CONSTRAINT {} {}", constraint.name, constraint.definition));
                }
            }
            let tail = format!("{}{}", using(table), with(table));
            self.line(&format!("\nCREATE TABLE {} (\n    {}\n){tail};", table.name, parts.join(",\n    ")))?;
        }
        for sequence in &self.catalog.sequences {
            let name = self.catalog.name_of(sequence.relation);
            if let (Some(name), Some(owner)) = (name, &sequence.owner)
                && !owner.is_identity
                && let (Some(table), Some(column)) = (self.catalog.name_of(owner.table), self.column_of(owner))
            {
                self.line(&format!("ALTER SEQUENCE {name} OWNED BY {table}.{column};"))?;
            }
        }
        Ok(())
    }

    /// The name of the column that a sequence goes with, quoted where that is needed.
    fn column_of(&self, owner: &Owner) -> Option<&str> {
        let mut columns = self.catalog.columns.get(&owner.table)?.iter();
        columns.find(|column| column.plain_name == owner.column).map(|column| column.name.as_str())
    }

    fn column(&self, table: &Relation, column: &Column) -> String {
        let mut text = format!("{} {}", column.name, column.type_name);
        if let Some(identity) = column.identity {
            let of_column = |sequence: &&Sequence| {
                let owner = sequence.owner.as_ref();
                owner.is_some_and(|owner| owner.table == table.oid && owner.column == column.plain_name)
            };
            let options =
                self.catalog.sequences.iter().find(of_column).map(|sequence| format!(" ({})", options(sequence)));
            let when = if identity == 'a' { "ALWAYS" } else { "BY DEFAULT" };
            text.push_str(&format!(" GENERATED {when} AS IDENTITY{}", options.unwrap_or_default()));
        } else if let (Some(expression), true) = (&column.default, column.generated) {
            text.push_str(&format!(" GENERATED ALWAYS AS ({expression}) STORED"));
        } else if let Some(default) = &column.default {
            text.push_str(&format!(" DEFAULT {default}"));
        }
        if column.not_null {
            text.push_str(" NOT NULL");
        }
        text
    }

    /// With the names of their columns, which their queries need not have.
    fn views(&mut self) -> Result<(), Failure> {
        for view in &self.catalog.views {
            let Some(name) = self.catalog.name_of(view.relation) else { continue };
            let columns = view.columns.join(", ");
            let columns = if columns.is_empty() { columns } else { format!(" ({columns})") };
            let (kind, data) = if view.materialized { ("MATERIALIZED VIEW", "\nWITH NO DATA") } else { ("VIEW", "") };
            let options = view.options.join(", ");
            let options = if options.is_empty() { options } else { format!(" WITH ({options})") };
            self.line(&format!("\nCREATE {kind} {name}{columns}{options} AS\n{}{data};", view.query))?;
            for (column, default) in &view.defaults {
                self.line(&format!("ALTER VIEW {name} ALTER COLUMN {column} SET DEFAULT {default};"))?;
            }
        }
        Ok(())
    }

    fn rows(&mut self) -> Result<(), Failure> {
        let tables: Vec<String> = self
            .of_kind('r')
            .map(|table| {
                let columns = self.catalog.columns.get(&table.oid).into_iter().flatten();
                let columns = columns.filter(|column| !column.generated);
                let columns: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
                let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
                format!("{}{columns}", table.name)
            })
            .collect();
        for table in tables {
            self.line(&format!("\nCOPY {table} FROM stdin;"))?;
            let mut failed = None;
            let out = &mut *self.out;
            let copied = self.client.copy_out(&format!("COPY {table} TO STDOUT"), &mut |bytes| {
                out.write_all(bytes).map_err(|error| {
                    failed = Some(Failure::io("cannot write the dump", &error));
                    ClientError::Local(weft::Error::io("writing the dump", &error))
                })
            });
            if let Some(failed) = failed {
                return Err(failed);
            }
            copied?;
            self.line("\\.")?;
        }
        Ok(())
    }

    /// Materialised views get their rows from what they read.
    fn refreshes(&mut self) -> Result<(), Failure> {
        for view in self.catalog.views.iter().filter(|view| view.materialized && view.populated) {
            let Some(name) = self.catalog.name_of(view.relation) else { continue };
            self.line(&format!("REFRESH MATERIALIZED VIEW {name};"))?;
        }
        Ok(())
    }

    fn sequence_values(&mut self) -> Result<(), Failure> {
        self.line("")?;
        // In an order that does not depend on when each was made.
        let mut statements = Vec::new();
        for sequence in &self.catalog.sequences {
            let Some((at, is_called)) = &sequence.place else { continue };
            if !is_called && *at == sequence.start {
                continue;
            }
            let name = match (&sequence.owner, self.catalog.name_of(sequence.relation)) {
                (Some(owner), _) if owner.is_identity => {
                    let Some(table) = self.catalog.name_of(owner.table) else { continue };
                    format!("pg_catalog.pg_get_serial_sequence({}, {})", literal(table), literal(&owner.column))
                }
                (_, Some(name)) => literal(name),
                (_, None) => continue,
            };
            statements.push(format!("SELECT pg_catalog.setval({name}, {at}, {is_called});"));
        }
        statements.sort_unstable();
        self.statements(&statements)
    }

    fn constraints(&mut self, kinds: &[char]) -> Result<(), Failure> {
        for constraint in self.catalog.constraints.iter().filter(|constraint| kinds.contains(&constraint.kind)) {
            let Some(table) = self.catalog.name_of(constraint.table) else { continue };
            let (name, definition) = (&constraint.name, &constraint.definition);
            self.line(&format!("ALTER TABLE ONLY {table} ADD CONSTRAINT {name} {definition};"))?;
        }
        Ok(())
    }
}

/// USING, for a table that is not stored as tables are when nothing is said: PostgreSQL knows none of these methods.
fn using(table: &Relation) -> String {
    match table.method.as_str() {
        "" | "heap" | "column" => String::new(),
        method => format!(" USING {method}"),
    }
}

/// WITH, for a table that has options; PostgreSQL has none of these.
fn with(table: &Relation) -> String {
    if table.options.is_empty() {
        return String::new();
    }
    let options = table.options.iter().map(|(name, value)| format!("{name} = {}", literal(value).trim_start()));
    format!(" WITH ({})", options.collect::<Vec<_>>().join(", "))
}

fn options(sequence: &Sequence) -> String {
    let Sequence { start, increment, min, max, cache, .. } = sequence;
    let cycle = if sequence.cycles { " CYCLE" } else { "" };
    format!("START WITH {start} INCREMENT BY {increment} MINVALUE {min} MAXVALUE {max} CACHE {cache}{cycle}")
}
