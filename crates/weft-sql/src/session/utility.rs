//! Statements that no engine plans: transactions, settings, DDL, COPY, EXPLAIN, maintenance.

use std::sync::Arc;

use sqlparser::ast::{
    AlterIndexOperation, CopyOption, CopySource, CopyTarget, DataType as SqlType, Expr as SqlExpr, ObjectName,
    ObjectType, Reset, Set, Statement, UnaryOperator, Value as SqlValue,
};
use weft_format::{Code, DataType, Error, Result, Value};
use weft_kernel::sched::SchedulerMode;
use weft_pgcatalog::quoted;

use super::answers::{text_rows, unsupported};
use super::definitions::{alter_table, create_index, create_table, drop_indexes, rename, set_schema};
use super::explain::{explain, explain_options};
use super::modes::{Modes, modes_of};
use super::objects::Kind;
use super::transaction::failed_transaction;
use super::work::{Work, with_context};
use super::{
    Client, Prepared, Session, alter_view, backup, cursors, definitions, domains, functions, locks, maintenance,
    materialized, objects, past, reindex, rights, schemas, user_types, views,
};
use crate::configuration::{Changes, Definition, accepted, definition};
use crate::copy;
use crate::expansion::expand_views;
use crate::notice::Notice;
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};
use crate::parse::{Own, Parsed, fold};
use crate::settings::{Settings, parse_isolation, shown_name};
use crate::types::type_named;

/// Runs a statement that is not planned. Parameters are those of the query of DECLARE CURSOR.
pub(super) fn run(
    session: &mut Session,
    prepared: &Prepared,
    params: &[Value],
    client: &mut dyn Client,
) -> Result<Outcome> {
    let source = Arc::clone(prepared.source());
    let (statement, method) = match &prepared.parsed {
        Parsed::Checkpoint => return maintenance::checkpoint(session),
        Parsed::Own(own) => return run_own(session, own, &source),
        Parsed::SetConstraints { names, deferred } => return set_constraints(session, names.as_deref(), *deferred),
        Parsed::Sql { statement, method, .. } => (&**statement, method.as_deref()),
    };
    if let Some(outcome) = transaction_control(session, statement)? {
        return Ok(outcome);
    }
    if session.is_failed() {
        return Err(failed_transaction());
    }
    if let Some(outcome) = define(session, statement, method, &source) {
        return outcome;
    }
    match statement {
        Statement::Copy { .. } => session.in_statement(|work| {
            work.check_writable_copy(statement)?;
            check_copy(work, statement)?;
            let statement = &*expand_views(work.txn, statement)?;
            work.is_final = copy::reads_client(statement);
            with_context(work, |context| copy::execute(context, statement, &source, client))
        }),
        Statement::Declare { stmts } => cursors::declare(session, stmts, prepared.query(), params),
        Statement::Fetch { name, direction, into: None, .. } => cursors::fetch(session, name, direction, false),
        Statement::Close { cursor } => cursors::close(session, cursor),
        Statement::Explain { analyze, statement, options, format, .. } => {
            if format.is_some() {
                return Err(session.fail(unsupported("EXPLAIN with a format other than text")));
            }
            let mut asked = explain_options(options.as_deref().unwrap_or_default())?;
            asked.analyze |= *analyze;
            explain(session, statement, &asked, &source)
        }
        Statement::Prepare { name, data_types, statement } => {
            prepare(session, &fold(name), data_types, statement, source)
        }
        Statement::Execute { name: Some(name), parameters, .. } => execute_named(session, name, parameters, client),
        Statement::Deallocate { name, .. } => {
            if name.value.eq_ignore_ascii_case("all") && name.quote_style.is_none() {
                session.named.clear();
                session.of_client.clear();
            } else if session.named.remove(&fold(name)).is_none() && !session.of_client.remove(&fold(name)) {
                return Err(session.fail(no_prepared(&fold(name))));
            }
            Ok(Outcome::done(Tag::Done("DEALLOCATE")))
        }
        other => match settings(session, other) {
            Some(result) => result.map_err(|error| session.fail(error)),
            None => Err(session.fail(unsupported_statement(other))),
        },
    }
}

/// PREPARE
fn prepare(
    session: &mut Session,
    name: &str,
    data_types: &[SqlType],
    statement: &Statement,
    source: Arc<str>,
) -> Result<Outcome> {
    if session.named.contains_key(name) {
        let message = format!("prepared statement {name:?} already exists");
        let error = Error::new(Code::DuplicatePrepared, message);
        return Err(session.fail(error.hint(format!("DEALLOCATE {name} first, or take another name"))));
    }
    // `unknown` leaves the type to the statement.
    let is_unknown = |data_type: &SqlType| data_type.to_string().eq_ignore_ascii_case("unknown");
    let types = session.in_statement(|work| {
        let named = |named: &SqlType| (!is_unknown(named)).then(|| type_named(work.txn, named)).transpose();
        data_types.iter().map(named).collect::<Result<Vec<_>>>()
    })?;
    let parsed = Parsed::Sql { statement: Box::new(statement.clone()), method: None };
    let made = session.prepare_typed(source, parsed, &types).map_err(|error| session.fail(error))?;
    session.named.insert(name.to_owned(), made);
    Ok(Outcome::done(Tag::Done("PREPARE")))
}

/// Statements that define; none for others.
fn define(session: &mut Session, statement: &Statement, method: Option<&str>, source: &str) -> Option<Result<Outcome>> {
    Some(match statement {
        Statement::CreateTable(create) => create_table(session, create, method, source),
        Statement::CreateIndex(create) => create_index(session, create, method, source),
        Statement::Drop { object_type: ObjectType::Index, if_exists, names, table: None, temporary: false, .. } => {
            drop_indexes(session, names, *if_exists)
        }
        Statement::Drop { object_type, if_exists, names, cascade, temporary: false, table: None, .. } => {
            match object_type {
                ObjectType::Table => objects::drop_relations(session, Kind::Table, names, *if_exists, *cascade),
                ObjectType::View => objects::drop_relations(session, Kind::View, names, *if_exists, *cascade),
                ObjectType::MaterializedView => {
                    objects::drop_relations(session, Kind::Materialized, names, *if_exists, *cascade)
                }
                ObjectType::Sequence => objects::drop_relations(session, Kind::Sequence, names, *if_exists, *cascade),
                ObjectType::Schema => schemas::drop(session, names, *if_exists, *cascade),
                ObjectType::Type => user_types::drop(session, names, *if_exists, *cascade),
                _ => Err(session.fail(unsupported_statement(statement))),
            }
        }
        Statement::AlterTable(alter) => alter_table(session, alter, source),
        Statement::CreateType { name, representation } => user_types::create(session, name, representation.as_ref()),
        Statement::AlterType(alter) => user_types::alter(session, alter),
        Statement::AlterIndex { name, operation: AlterIndexOperation::RenameIndex { index_name } } => {
            rename(session, name, false, index_name, "ALTER INDEX")
        }
        Statement::CreateView(create) if create.materialized => materialized::create(session, create, method, source),
        Statement::CreateView(create) => views::create(session, create, source),
        Statement::CreateSchema { schema_name, if_not_exists, .. } => {
            schemas::create(session, schema_name, *if_not_exists)
        }
        Statement::Comment { object_type, object_name, comment, .. } => {
            objects::comment_on(session, object_type, object_name, comment.as_deref())
        }
        Statement::Truncate(truncate) => maintenance::truncate(session, truncate),
        Statement::Discard { object_type } => maintenance::discard(session, object_type),
        _ => return None,
    })
}

impl Work<'_> {
    fn check_writable_copy(&self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Copy { to: false, .. } => self.check_writable("COPY FROM"),
            _ => Ok(()),
        }
    }
}

/// Tests what COPY needs: of the table and its columns, of the query, of the server's files.
fn check_copy(work: &mut Work<'_>, statement: &Statement) -> Result<()> {
    let Statement::Copy { source, to, target, options, .. } = statement else { return Ok(()) };
    if work.permit.is_superuser() {
        return Ok(());
    }
    let (verb, what, role) = match (target, to) {
        (CopyTarget::Program { .. }, _) => ("COPY to or from an", "external program", "pg_execute_server_program"),
        (CopyTarget::File { .. }, true) => ("COPY to", "a file", "pg_write_server_files"),
        (CopyTarget::File { .. }, false) => ("COPY from", "a file", "pg_read_server_files"),
        _ => ("", "", ""),
    };
    if !role.is_empty() && !work.permit.has_role(role) {
        let message = format!("must be superuser or have privileges of the {role} role to {verb} {what}");
        let error = Error::new(Code::InsufficientPrivilege, message);
        return Err(error.hint("Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone."));
    }
    match source {
        CopySource::Query(query) => work.permit.check_statement(work.txn, &Statement::Query(query.clone())).map(|_| ()),
        CopySource::Table { table_name, columns } => {
            let right = if *to { "SELECT" } else { "INSERT" };
            rights::check_columns(work, table_name, columns, right)?;
            // A line of JSON that lacks a column takes its default.
            let is_form_of_json = |name: &str| name.to_ascii_lowercase().starts_with("json");
            let is_json =
                |option: &CopyOption| matches!(option, CopyOption::Format(form) if is_form_of_json(&form.value));
            if !to && options.iter().any(is_json) { rights::check_defaults(work, table_name) } else { Ok(()) }
        }
    }
}

/// BEGIN, COMMIT, ROLLBACK and savepoints; none for other statements.
fn transaction_control(session: &mut Session, statement: &Statement) -> Result<Option<Outcome>> {
    let tag = match statement {
        Statement::StartTransaction {
            modes,
            statements,
            exception: None,
            modifier: None,
            has_end_keyword: false,
            begin,
            ..
        } if statements.is_empty() => {
            session.begin(modes_of(modes)?)?;
            if *begin { "BEGIN" } else { "START TRANSACTION" }
        }
        Statement::Commit { chain, modifier: None, .. } => {
            if session.end(true, *chain)? {
                "COMMIT"
            } else {
                "ROLLBACK"
            }
        }
        Statement::Rollback { chain, savepoint: None } => {
            session.end(false, *chain)?;
            "ROLLBACK"
        }
        Statement::Rollback { chain: false, savepoint: Some(name) } => {
            session.rollback_to_savepoint(&fold(name))?;
            "ROLLBACK"
        }
        Statement::Savepoint { name } => {
            session.savepoint(fold(name))?;
            "SAVEPOINT"
        }
        Statement::ReleaseSavepoint { name } => {
            session.release_savepoint(&fold(name))?;
            "RELEASE"
        }
        Statement::Commit { .. } | Statement::Rollback { .. } => {
            return Err(unsupported("this form of COMMIT or ROLLBACK"));
        }
        _ => return Ok(None),
    };
    Ok(Some(Outcome::done(Tag::Done(tag))))
}

/// SET, SHOW and RESET; none for other statements.
fn settings(session: &mut Session, statement: &Statement) -> Option<Result<Outcome>> {
    let result = match statement {
        Statement::Set(set) => self::set(session, set),
        Statement::ShowVariable { variable } => {
            let words: Vec<String> = variable.iter().map(fold).collect();
            show(session, &words)
        }
        Statement::ShowTables { .. } => show_tables(session),
        Statement::Reset(reset) => {
            let defaults = Arc::clone(&session.defaults);
            match &reset.reset {
                Reset::ALL => {
                    session.settings = Arc::new((*defaults).clone().with_roles_of(&session.settings));
                }
                Reset::ConfigurationParameter(name) => {
                    let name = name.to_string().to_lowercase();
                    if let Some(known) = of_engine(&name) {
                        return Some(change_engine(session, known, None, false).map(|()| reset_done()));
                    }
                    if let Err(error) = Arc::make_mut(&mut session.settings).reset(&name, &defaults) {
                        return Some(Err(error));
                    }
                }
            }
            Ok(reset_done())
        }
        _ => return None,
    };
    Some(result)
}

fn set(session: &mut Session, set: &Set) -> Result<Outcome> {
    match set {
        Set::SingleAssignment { scope, variable, values, .. } => {
            let local = scope.as_ref().is_some_and(|scope| scope.to_string().trim().eq_ignore_ascii_case("local"));
            let name = variable.to_string().to_lowercase();
            if is_default(values) {
                change(session, &name, None, local)?;
                return Ok(Outcome::done(Tag::Done("SET")));
            }
            let text = if name == "search_path" { path_text } else { setting_text };
            let value = values.iter().map(text).collect::<Result<Vec<String>>>()?.join(", ");
            change(session, &name, Some(&value), local)?;
        }
        Set::SetTimeZone { local, value } if is_default(std::slice::from_ref(value)) || is_local(value) => {
            change(session, "timezone", None, *local)?;
        }
        Set::SetTimeZone { local, value } => change(session, "timezone", Some(&zone_text(value)?), *local)?,
        Set::SetNames { charset_name, .. } => change(session, "client_encoding", Some(&charset_name.value), false)?,
        Set::SetTransaction { modes, snapshot: None, session: for_session } => {
            let modes = modes_of(modes)?;
            if !for_session {
                session.set_transaction(modes)?;
            } else {
                let settings = Arc::make_mut(&mut session.settings);
                settings.read_only = modes.read_only.unwrap_or(settings.read_only);
                settings.isolation = modes.level.unwrap_or(settings.isolation);
            }
        }
        Set::SetTransaction { modes, snapshot: Some(id), session: false } if modes.is_empty() => {
            session.set_snapshot(&id.value.clone().into_string().unwrap_or_default())?;
        }
        other => return Err(unsupported(&other.to_string())),
    }
    Ok(Outcome::done(Tag::Done("SET")))
}

fn reset_done() -> Outcome {
    Outcome::done(Tag::Done("RESET"))
}

/// A setting that holds for the whole engine.
fn of_engine(name: &str) -> Option<&'static Definition> {
    definition(name).filter(|known| known.changes == Changes::Engine)
}

/// Whether SET has the word DEFAULT, not a text.
fn is_default(values: &[SqlExpr]) -> bool {
    matches!(values, [SqlExpr::Identifier(ident)]
        if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

/// Whether SET TIME ZONE has the word LOCAL: what the session began with.
fn is_local(value: &SqlExpr) -> bool {
    matches!(value, SqlExpr::Identifier(ident)
        if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("local"))
}

/// Carries out, or forgets, what set_config has asked for in a statement.
pub(super) fn change_settings(session: &mut Session, succeeded: bool) -> Result<()> {
    for asked in std::mem::take(&mut session.changes) {
        if succeeded {
            change(session, &asked.name, asked.value.as_deref(), asked.local).map_err(|error| session.fail(error))?;
        }
    }
    Ok(())
}

/// Sets a setting, until the end of the transaction when `local`; to what the session began with when there is no
/// value.
fn change(session: &mut Session, name: &str, value: Option<&str>, local: bool) -> Result<()> {
    if accepted(name).is_some_and(|known| known.for_superusers)
        && !session.in_statement(|work| Ok(work.permit.is_superuser()))?
    {
        let message = format!("permission denied to set parameter \"{name}\"");
        return Err(Error::new(Code::InsufficientPrivilege, message));
    }
    if let Some(known) = of_engine(name) {
        return change_engine(session, known, value, local);
    }
    if local {
        let Some(block) = &mut session.block else {
            let message = "SET LOCAL can only be used in transaction blocks";
            session.notices.push(Notice::warning("25P01", message));
            return Ok(());
        };
        block.after.get_or_insert_with(|| Arc::clone(&session.settings));
    } else if let Some(after) = session.block.as_mut().and_then(|block| block.after.as_mut())
        && name != "transaction_isolation"
    {
        change_in(Arc::make_mut(after), &session.defaults, name, value)?;
    }
    if name == "transaction_isolation" {
        let value = value.unwrap_or("default");
        let level = parse_isolation(&value.trim().to_lowercase()).ok_or_else(|| {
            let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
            Error::new(Code::InvalidParameterValue, message)
                .hint("allowed: read committed, repeatable read, serializable")
        })?;
        return session.set_transaction(Modes { level: Some(level), read_only: None });
    }
    change_in(Arc::make_mut(&mut session.settings), &session.defaults, name, value)
}

/// Sets a setting of the whole engine, at once.
fn change_engine(session: &mut Session, known: &'static Definition, value: Option<&str>, local: bool) -> Result<()> {
    let name = known.name;
    if local {
        let message = format!("parameter \"{name}\" cannot be set for a transaction");
        return Err(Error::new(Code::InvalidParameterValue, message).hint("it holds for the whole engine: SET it"));
    }
    if !session.in_statement(|work| Ok(work.permit.is_superuser()))? {
        let message = format!("permission denied to set parameter \"{name}\"");
        return Err(Error::new(Code::InsufficientPrivilege, message));
    }
    let value = value.map_or(known.default, str::trim);
    let value = known.kind.canonical(value).ok_or_else(|| {
        let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
        Error::new(Code::InvalidParameterValue, message).hint(format!("allowed: {}", known.kind.allowed()))
    })?;
    if let Some(mode) = SchedulerMode::from_name(&value) {
        session.db.kernel().load().set_mode(mode);
    }
    session.db.configured().put(known, value);
    Ok(())
}

fn change_in(settings: &mut Settings, defaults: &Settings, name: &str, value: Option<&str>) -> Result<()> {
    match value {
        Some(value) => settings.set(name, value),
        None => settings.reset(name, defaults),
    }
}

/// One schema of a search path, in quotes where its name needs them. A number is none, and stays as it is.
fn path_text(expr: &SqlExpr) -> Result<String> {
    match expr {
        SqlExpr::Identifier(ident) => Ok(quoted(&fold(ident))),
        SqlExpr::Value(value) if matches!(value.value, SqlValue::Number(..)) => setting_text(expr),
        other => Ok(quoted(&setting_text(other)?)),
    }
}

/// What SET TIME ZONE names.
fn zone_text(expr: &SqlExpr) -> Result<String> {
    match expr {
        SqlExpr::Interval(interval) => match &*interval.value {
            SqlExpr::Value(value) => {
                let text = value.value.clone().into_string().ok_or_else(|| bad_setting(expr))?;
                Ok(format!("interval '{text}'"))
            }
            _ => Err(bad_setting(expr)),
        },
        other => setting_text(other),
    }
}

fn setting_text(expr: &SqlExpr) -> Result<String> {
    match expr {
        SqlExpr::Identifier(ident) => Ok(ident.value.clone()),
        SqlExpr::Value(value) => match &value.value {
            SqlValue::Number(digits, _) => Ok(digits.clone()),
            SqlValue::Boolean(truth) => Ok(if *truth { "on" } else { "off" }.into()),
            other => other.clone().into_string().ok_or_else(|| bad_setting(expr)),
        },
        SqlExpr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => Ok(format!("-{}", setting_text(inner)?)),
        SqlExpr::UnaryOp { op: UnaryOperator::Plus, expr: inner } => setting_text(inner),
        _ => Err(bad_setting(expr)),
    }
}

fn bad_setting(expr: &SqlExpr) -> Error {
    Error::new(Code::SyntaxError, format!("SET takes a word, a number or a string, not {expr}"))
}

/// SET CONSTRAINTS; outside of a transaction it has no effect, as in PostgreSQL (which warns).
fn set_constraints(session: &mut Session, names: Option<&[String]>, deferred: bool) -> Result<Outcome> {
    session.in_statement(|work| work.txn.set_constraints(names, deferred))?;
    Ok(Outcome::done(Tag::Done("SET CONSTRAINTS")))
}

fn show(session: &mut Session, words: &[String]) -> Result<Outcome> {
    let name = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["all"] => {
            let rows = session.settings.all().into_iter().flat_map(|(name, value, meaning)| [name, value, meaning]);
            return Ok(text_rows(&["name", "setting", "description"], rows));
        }
        ["time", "zone"] => "timezone".to_owned(),
        ["transaction", "isolation", "level"] | ["transaction_isolation"] => {
            return Ok(text_rows(&["transaction_isolation"], [session.isolation().to_string()]));
        }
        ["transaction_read_only"] => {
            let otherwise = session.settings.read_only || session.db.kernel().is_follower();
            let read_only = session.block.as_ref().map_or(otherwise, |block| block.read_only);
            let value = if read_only { "on" } else { "off" };
            return Ok(text_rows(&["transaction_read_only"], [value.to_owned()]));
        }
        ["transaction_deferrable"] => return Ok(text_rows(&["transaction_deferrable"], ["off".to_owned()])),
        ["role"] => return Ok(text_rows(&["role"], [session.settings.role_shown()])),
        ["session_authorization"] | ["session", "authorization"] => {
            return Ok(text_rows(&["session_authorization"], [session.settings.session_user.clone()]));
        }
        ["is_superuser"] => {
            let is_superuser = session.in_statement(|work| Ok(work.permit.is_superuser()))?;
            return Ok(text_rows(&["is_superuser"], [if is_superuser { "on" } else { "off" }.to_owned()]));
        }
        words => words.join("."),
    };
    let value = session.settings.get(&name)?;
    Ok(text_rows(&[shown_name(&name)], [value]))
}

fn show_tables(session: &mut Session) -> Result<Outcome> {
    let mut names = session
        .in_statement(|work| Ok(work.txn.tables().iter().map(|def| def.name.clone()).collect::<Vec<String>>()))?;
    names.sort();
    Ok(text_rows(&["name"], names))
}

fn execute_named(
    session: &mut Session,
    name: &ObjectName,
    parameters: &[SqlExpr],
    client: &mut dyn Client,
) -> Result<Outcome> {
    let name = prepared_name(name);
    let Some(prepared) = session.named.get(&name).map(Arc::clone) else {
        return Err(session.fail(no_prepared(&name)));
    };
    let types = prepared.param_types();
    let mut values = Vec::with_capacity(parameters.len());
    let local = session.local();
    for (index, parameter) in parameters.iter().enumerate() {
        let data_type = types.get(index).copied().unwrap_or(DataType::Text);
        let mut binder = crate::expr::Binder::new("");
        let bound = binder.bind_assignment(parameter, &crate::expr::Scope::empty(), data_type, "EXECUTE");
        let context = crate::expr::EvalContext { params: &[], local: &local, rng: None };
        let value = bound.map_err(Error::from).and_then(|expr| expr.eval(&[], &context));
        values.push(value.map_err(|error| session.fail(error))?);
    }
    session.run(&prepared, &values, None, client)
}

/// Runs a statement that the SQL parser does not know.
fn run_own(session: &mut Session, own: &Own, source: &str) -> Result<Outcome> {
    if session.is_failed() {
        return Err(failed_transaction());
    }
    match own {
        Own::Vacuum(tables, with_analyze) => maintenance::vacuum(session, tables, *with_analyze),
        Own::SetConfig(name, value, local) => {
            change(session, name, Some(value.as_str()), *local).map_err(|error| session.fail(error))?;
            let columns: Arc<[OutputColumn]> = set_config_columns();
            let rows = Rows::from_values(1, vec![Value::Text(value.as_str().into())]);
            Ok(Outcome { tag: Tag::Select(1), columns, rows })
        }
        Own::Backup(dest) => backup::run(session, dest),
        Own::Refresh(refresh) => materialized::refresh(session, refresh, source),
        Own::Lock(lock) => locks::lock(session, lock),
        Own::Reindex(of) => reindex::run(session, of),
        Own::Analyze(tables) => maintenance::analyze(session, tables),
        Own::CreateSequence(create) => objects::create_sequence(session, create),
        Own::AlterSequence(alter) => objects::alter_sequence(session, alter),
        Own::SetSchema(name, if_exists, schema) => set_schema(session, name, *if_exists, schema),
        Own::Rename(name, if_exists, new) => rename(session, name, *if_exists, new, "ALTER TABLE"),
        Own::AlterView(alter) => {
            let (name, if_exists, change) = &**alter;
            alter_view::alter(session, name, *if_exists, change, source)
        }
        Own::Move(name, direction) => cursors::fetch(session, name, direction, true),
        Own::RenameSchema(name, new) => schemas::rename(session, name, new),
        Own::Rights(statement) => rights::run(session, statement),
        Own::AsOf(as_of) => past::as_of(session, as_of),
        Own::Domain(statement) => domains::run(session, statement),
        Own::Function(statement) => functions::run(session, statement),
        Own::DropIdentity(table, if_exists, column, is_known) => {
            definitions::drop_identity(session, (table, *if_exists), (column, *is_known), source)
        }
        Own::CommentOnConstraint(name, table, text) => {
            objects::comment_on_constraint(session, name, table, text.as_deref())
        }
    }
}

/// The name that EXECUTE says.
pub(super) fn prepared_name(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map_or_else(|| name.to_string(), fold)
}

/// What `SELECT set_config(...)` returns.
pub(super) fn set_config_columns() -> Arc<[OutputColumn]> {
    [OutputColumn::new("set_config", DataType::Text)].into()
}

fn no_prepared(name: &str) -> Error {
    Error::new(Code::UndefinedPrepared, format!("prepared statement \"{name}\" does not exist"))
}

fn unsupported_statement(statement: &Statement) -> Error {
    let text = statement.to_string();
    let words: Vec<&str> = text.split_whitespace().take(2).collect();
    unsupported(&words.join(" "))
}
