//! Functions whose value depends on the session or changes something: nextval, currval, setval, lastval, set_config,
//! current_schema, obj_description, col_description; weft_last_commit, weft_published_commit, weft_writer_epoch,
//! weft_commit_time, weft_commit_at.
//!
//! ```text
//!   SELECT nextval('s')                    the call is made, then planned: SELECT CAST(7 AS bigint) AS nextval
//!   SELECT nextval($1)                     the parameter stays: SELECT CASE WHEN $1 IS NULL THEN 7 ELSE 7 END
//!   INSERT INTO t VALUES (nextval('s'))    each call stands for one row: it is made once
//!   SELECT nextval('s') FROM t             called for each row: SELECT weft_next_number(71..), which is s
//! ```

use std::collections::HashMap;
use std::ops::ControlFlow;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    CaseWhen, Expr as SqlExpr, Function, Select, SelectItem, SetExpr, Statement, Value as SqlValue, Visitor, VisitorMut,
};
use weft_expr::{NextNumber, Numbers};
use weft_format::{Code, DataType, Error, Result, Timestamp, Value, ValueRef};
use weft_kernel::{NumberTaker, Object, ObjectKind, SequenceValue};
use weft_pgcatalog::rights::Rights;
use weft_replica::Company;
use weft_walk::{Visit, VisitMut, visit_expressions};

use super::client::Embedded;
use super::execute::{Run, execute};
use super::plan::plan;
use super::work::{SettingChange, Work};
use crate::ddl::comment::{self, About};
use crate::expr::{arguments, call, function_name, relation_argument, relation_name};
use crate::parse::parse_expression;
use crate::resolve::{self, Relation};
use crate::settings::EngineChoice;

const CALLS: &[&str] = &[
    "nextval",
    "currval",
    "setval",
    "lastval",
    "set_config",
    "current_schema",
    "obj_description",
    "col_description",
    "weft_last_commit",
    "weft_published_commit",
    "weft_commit_time",
    "weft_commit_at",
    "weft_writer_epoch",
    "weft_system_identifier",
];

/// A statement with the values of its calls in their places.
pub(super) fn substitute(
    work: &mut Work<'_>,
    statement: &Statement,
    source: &str,
    params: &[Value],
) -> Result<Statement> {
    let mut called = statement.clone();
    let mut caller = Caller { work: Some(&mut *work), source, params, in_rows: 0, sequences: HashMap::new() };
    if let ControlFlow::Break(error) = VisitMut::visit(&mut called, &mut caller) {
        return Err(error);
    }
    let sequences = caller.sequences;
    work.local.numbers = Numbers::of(sequences);
    Ok(called)
}

/// The same for who asks for columns and types only: nothing is called.
pub(super) fn described(statement: &Statement) -> Result<Statement> {
    let mut called = statement.clone();
    match VisitMut::visit(
        &mut called,
        &mut Caller { work: None, source: "", params: &[], in_rows: 0, sequences: HashMap::new() },
    ) {
        ControlFlow::Continue(()) => Ok(called),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Caller<'a, 'w> {
    /// None: nothing is called.
    work: Option<&'a mut Work<'w>>,
    source: &'a str,
    params: &'a [Value],
    /// How many SELECTs with FROM are around.
    in_rows: usize,
    /// Those of which each row of the statement takes numbers.
    sequences: HashMap<i64, Box<dyn NextNumber>>,
}

/// A sequence as expressions know it.
struct Taking(NumberTaker);

impl NextNumber for Taking {
    fn next_number(&self) -> Result<i64> {
        self.0.next_value()
    }
}

impl VisitorMut for Caller<'_, '_> {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Error> {
        if matches!(statement, Statement::Update(_) | Statement::Delete(_)) {
            self.in_rows += 1;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.in_rows += usize::from(!select.from.is_empty());
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && let Some(name) = called_name(expr)
            {
                let alias = sqlparser::ast::Ident::new(name);
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.in_rows -= usize::from(!select.from.is_empty());
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut SqlExpr) -> ControlFlow<Error> {
        let Some(name) = called_name(expr) else { return ControlFlow::Continue(()) };
        match self.value(&name, expr) {
            Ok(value) => {
                *expr = value;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// The name of a function of ours that an expression calls.
fn called_name(expr: &SqlExpr) -> Option<String> {
    match expr {
        SqlExpr::Function(function) => {
            let name = function_name(function);
            // Of the comment on what a row names the catalog tells.
            let is_of_rows = name.ends_with("_description") && reads_columns(function);
            (CALLS.contains(&name.as_str()) && !is_of_rows).then_some(name)
        }
        SqlExpr::Identifier(ident)
            if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("current_schema") =>
        {
            Some("current_schema".into())
        }
        _ => None,
    }
}

/// Whether an argument of a call names a column.
fn reads_columns(function: &Function) -> bool {
    struct Columns;
    impl Visitor for Columns {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &SqlExpr) -> ControlFlow<()> {
            match expr {
                SqlExpr::Identifier(_) | SqlExpr::CompoundIdentifier(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    Visit::visit(&function.args, &mut Columns).is_break()
}

impl Caller<'_, '_> {
    fn value(&mut self, name: &str, expr: &SqlExpr) -> Result<SqlExpr> {
        let is_text = matches!(name, "current_schema" | "obj_description" | "col_description" | "set_config");
        let is_time = name == "weft_commit_time";
        let data_type = if is_time {
            "timestamptz"
        } else if is_text {
            "text"
        } else {
            "bigint"
        };
        let given = params_of(name, expr);
        if let ("nextval", SqlExpr::Function(function), true, Some(_)) = (name, expr, self.in_rows > 0, &self.work) {
            return Ok(keeping(given, self.for_each_row(function)?));
        }
        if self.work.is_none() {
            return Ok(keeping(given, parse_expression(&format!("CAST(NULL AS {data_type})"))?));
        }
        if matches!(name, "setval" | "set_config") && self.in_rows > 0 {
            let message = format!("{name}() for each row of a query is not supported");
            let hint = "call it in a SELECT without FROM or in VALUES; setval may be the only item of the list";
            return Err(Error::new(Code::FeatureNotSupported, message).hint(hint));
        }
        let text = match expr {
            SqlExpr::Function(function) => self.call(name, function)?,
            _ => self.call_schema()?,
        };
        let literal = match text {
            None => "NULL".to_owned(),
            Some(text) if is_text || is_time => format!("'{}'", text.replace('\'', "''")),
            Some(text) => text,
        };
        Ok(keeping(given, parse_expression(&format!("CAST({literal} AS {data_type})"))?))
    }

    /// A call that takes a number for each row.
    fn for_each_row(&mut self, function: &Function) -> Result<SqlExpr> {
        let args = arguments(function).unwrap_or_default();
        let [which] = args.as_slice() else {
            let message = format!("function nextval does not exist with {} arguments", args.len());
            return Err(Error::new(Code::UndefinedFunction, message));
        };
        let sequence = self.sequence(which)?;
        let Some(work) = &mut self.work else { return Err(Error::internal("nothing is called while it is described")) };
        work.permit.check_sequence(&sequence, Rights::USAGE.and(Rights::UPDATE))?;
        work.check_writable("nextval()")?;
        let called = (work.txn.engine().env().rng.next_u64() >> 2) as i64;
        self.sequences.insert(called, Box::new(Taking(work.txn.number_taker(&sequence))));
        let called = SqlExpr::value(sqlparser::ast::Value::Number(called.to_string(), false));
        Ok(call("weft_next_number", vec![called]))
    }

    fn call_schema(&mut self) -> Result<Option<String>> {
        let Some(work) = &self.work else { return Ok(None) };
        Ok(work.txn.search_path().first().map(|id| resolve::schema_name(work.txn, *id)))
    }

    fn call(&mut self, name: &str, function: &Function) -> Result<Option<String>> {
        let args = arguments(function).unwrap_or_default();
        match (name, args.as_slice()) {
            ("current_schema", []) => self.call_schema(),
            ("lastval", []) => {
                let Some(work) = &mut self.work else { return Ok(None) };
                work.numbers.note(work.txn);
                let last = work.numbers.last.and_then(|id| work.numbers.by_id.get(&id));
                let last = last.ok_or_else(|| not_yet("lastval is not yet defined in this session"))?;
                Ok(Some(last.to_string()))
            }
            ("nextval", [which]) => {
                let sequence = self.sequence(which)?;
                let Some(work) = &mut self.work else { return Ok(None) };
                work.permit.check_sequence(&sequence, Rights::USAGE.and(Rights::UPDATE))?;
                work.check_writable("nextval()")?;
                Ok(Some(work.txn.next_value(&sequence)?.to_string()))
            }
            ("currval", [which]) => {
                let sequence = self.sequence(which)?;
                let Some(work) = &mut self.work else { return Ok(None) };
                work.permit.check_sequence(&sequence, Rights::USAGE.and(Rights::SELECT))?;
                work.numbers.note(work.txn);
                let number = work.numbers.by_id.get(&sequence.id).ok_or_else(|| {
                    not_yet(&format!("currval of sequence \"{}\" is not yet defined in this session", sequence.name))
                })?;
                Ok(Some(number.to_string()))
            }
            ("setval", [which, value, rest @ ..]) if rest.len() <= 1 => {
                let sequence = self.sequence(which)?;
                let last = match self.evaluate(&typed(value, "bigint")?)? {
                    Value::Int(last) => last,
                    Value::Null => return Ok(None),
                    other => {
                        let text = format!("{other:?}");
                        return Err(Error::new(Code::DatatypeMismatch, format!("setval takes a bigint, not {text}")));
                    }
                };
                let is_called = match rest.first() {
                    Some(flag) => self.evaluate(&typed(flag, "boolean")?)? != Value::Bool(false),
                    None => true,
                };
                let Some(work) = &mut self.work else { return Ok(None) };
                work.permit.check_sequence(&sequence, Rights::UPDATE)?;
                work.check_writable("setval()")?;
                work.txn.set_sequence(&sequence, SequenceValue { last, is_called })?;
                if is_called {
                    work.numbers.by_id.insert(sequence.id, last);
                }
                Ok(Some(last.to_string()))
            }
            (
                "weft_last_commit"
                | "weft_published_commit"
                | "weft_commit_time"
                | "weft_commit_at"
                | "weft_writer_epoch"
                | "weft_system_identifier",
                args,
            ) => self.commit(name, args),
            ("set_config", [name, value, local]) => self.set_config(name, value, local),
            ("obj_description", [which, ..]) | ("col_description", [which, _]) => self.description(which, args.get(1)),
            (_, args) => Err(wrong_arguments(name, args)),
        }
    }

    /// What is asked about commits, their moments, and who makes them.
    fn commit(&mut self, name: &str, args: &[&SqlExpr]) -> Result<Option<String>> {
        match (name, args) {
            ("weft_last_commit", []) => {
                let Some(work) = &self.work else { return Ok(None) };
                Ok(work.numbers.last_commit.map(|ts| ts.to_string()))
            }
            // What a statement that begins now sees, whatever the clocks say.
            ("weft_published_commit", []) => {
                let Some(work) = &self.work else { return Ok(None) };
                Ok(Some(work.txn.engine().published().to_string()))
            }
            // Of two servers that both say they write, the one with the higher epoch does.
            ("weft_writer_epoch", []) => {
                let Some(work) = &self.work else { return Ok(None) };
                let engine = work.txn.engine();
                let epoch = match Company::of(engine).and_then(Company::standing) {
                    Some(node) => node.epoch,
                    None => engine.epoch(),
                };
                Ok(Some(epoch.to_string()))
            }
            // Of two servers that say different ones each has a database of its own.
            ("weft_system_identifier", []) => {
                let Some(work) = &self.work else { return Ok(None) };
                Ok(work.txn.engine().database_number().map(|number| number.to_string()))
            }
            ("weft_commit_time", [commit]) => {
                let commit = self.evaluate(commit)?;
                let (Some(work), Value::Int(commit)) = (&self.work, commit) else { return Ok(None) };
                let time = u64::try_from(commit).ok().map(Timestamp);
                let time = time.and_then(|ts| work.txn.engine().commit_time(ts));
                Ok(time.map(|micros| weft_expr::text::print(ValueRef::Int(micros), DataType::TimestampTz)))
            }
            ("weft_commit_at", [moment]) => {
                let cast = crate::expr::cast_to((*moment).clone(), DataType::TimestampTz)?;
                let moment = self.evaluate(&cast)?;
                let (Some(work), Value::Int(micros)) = (&self.work, moment) else { return Ok(None) };
                Ok(Some(work.txn.engine().commit_at(micros)?.to_string()))
            }
            _ => Err(wrong_arguments(name, args)),
        }
    }

    /// The setting is changed when the statement has ended.
    fn set_config(&mut self, name: &SqlExpr, value: &SqlExpr, local: &SqlExpr) -> Result<Option<String>> {
        let Value::Text(name) = self.evaluate(&typed(name, "text")?)? else {
            let message = "SET requires parameter name";
            return Err(Error::new(Code::InvalidParameterValue, message));
        };
        let value = match self.evaluate(&typed(value, "text")?)? {
            Value::Text(value) => Some(value),
            _ => None,
        };
        let local = matches!(self.evaluate(&typed(local, "boolean")?)?, Value::Bool(true));
        let Some(work) = &mut self.work else { return Ok(None) };
        let name = name.to_lowercase();
        let value = value.map(|value| value.to_string());
        work.changes.push(SettingChange { name, value: value.clone(), local });
        Ok(Some(value.unwrap_or_default()))
    }

    fn sequence(&mut self, which: &SqlExpr) -> Result<std::sync::Arc<Object>> {
        let name = match relation_argument(which) {
            Some(name) => name?,
            None => match self.evaluate(which)? {
                Value::Text(text) => relation_name(&text)?,
                _ => return Err(Error::new(Code::DatatypeMismatch, "a sequence is named by a text")),
            },
        };
        let Some(work) = &self.work else { return Err(Error::internal("nothing is called while it is described")) };
        match resolve::relation(work.txn, &name) {
            Some(Relation::Object(object)) if object.kind == ObjectKind::Sequence => Ok(object),
            Some(_) => {
                let name = resolve::shown(&name);
                Err(Error::new(Code::WrongObjectType, format!("\"{name}\" is not a sequence")))
            }
            None => Err(resolve::undefined(&name)),
        }
    }

    /// The comment on a relation ('t'::regclass), or on one of its columns, which are numbered from 1.
    fn description(&mut self, which: &SqlExpr, column: Option<&&SqlExpr>) -> Result<Option<String>> {
        let Some(name) = relation_argument(which) else {
            let message = "a description is asked for by name: 't'::regclass";
            return Err(Error::new(Code::FeatureNotSupported, message));
        };
        let name = name?;
        let number = match column {
            Some(column) => match self.evaluate(column)? {
                Value::Int(number) => Some(number),
                _ => None,
            },
            None => None,
        };
        let Some(work) = &self.work else { return Ok(None) };
        let id = match resolve::relation(work.txn, &name) {
            Some(Relation::Table(table)) => table.def.oid,
            Some(Relation::Index(_, index)) => index.id().0,
            Some(Relation::Columns(_, columns)) => columns.def.oid,
            Some(Relation::Object(object)) => object.id,
            None => return Err(resolve::undefined(&name)),
        };
        let about = match number.and_then(|number| usize::try_from(number - 1).ok()) {
            Some(ordinal) => About::Column(id, ordinal),
            None => About::Relation(id),
        };
        let text = comment::find(work.txn, &about);
        Ok(text.and_then(|text| text.property("text").map(str::to_owned)))
    }

    /// The value of an argument: a query of its own.
    fn evaluate(&mut self, expr: &SqlExpr) -> Result<Value> {
        let Some(work) = &mut self.work else { return Ok(Value::Null) };
        let item = SelectItem::UnnamedExpr(expr.clone());
        let query = crate::dml::select(vec![item], Vec::new(), None)?;
        debug_assert!(matches!(*query.body, SetExpr::Select(_)), "the query is a SELECT");
        let statement = Statement::Query(Box::new(query));
        let statement = crate::types::fixed(work.txn, &statement)?.into_owned();
        let plan = plan(work.db, &statement, self.source, work.txn, (EngineChoice::Auto, &work.local))?;
        let count = plan.param_types.len().min(self.params.len());
        let run = Run { statement: &statement, source: self.source, params: &self.params[..count], literals: None };
        let outcome = execute(&plan, &run, work, &mut Embedded)?;
        let row = outcome.rows.iter().next();
        Ok(row.and_then(|row| row.first().cloned()).unwrap_or_default())
    }
}

/// An argument with a type; a parameter has it, too.
fn typed(argument: &SqlExpr, data_type: &str) -> Result<SqlExpr> {
    match argument {
        SqlExpr::Value(value) if matches!(value.value, SqlValue::Placeholder(_)) => {
            parse_expression(&format!("CAST({argument} AS {data_type})"))
        }
        other => Ok(other.clone()),
    }
}

/// The parameters within the arguments of a call, each with the type that it has there.
fn params_of(name: &str, expr: &SqlExpr) -> Vec<SqlExpr> {
    let SqlExpr::Function(function) = expr else { return Vec::new() };
    let types = match name {
        "setval" => ["text", "bigint", "boolean"],
        "set_config" => ["text", "text", "boolean"],
        "weft_commit_time" => ["bigint"; 3],
        "weft_commit_at" => ["timestamptz"; 3],
        _ => ["text"; 3],
    };
    let args = arguments(function).unwrap_or_default();
    let mut found = Vec::new();
    for (arg, data_type) in args.into_iter().zip(types) {
        let _ = visit_expressions(arg, |part| {
            if let SqlExpr::Value(value) = part
                && let SqlValue::Placeholder(param) = &value.value
                && let Ok(cast) = parse_expression(&format!("CAST({param} AS {data_type})"))
            {
                found.push(cast);
            }
            ControlFlow::<()>::Continue(())
        });
    }
    found
}

/// A value that is the same for all parameters: the statement has them still.
fn keeping(params: Vec<SqlExpr>, value: SqlExpr) -> SqlExpr {
    params.into_iter().fold(value, |value, param| SqlExpr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition: SqlExpr::IsNull(Box::new(param)), result: value.clone() }],
        else_result: Some(Box::new(value)),
    })
}

fn wrong_arguments(name: &str, args: &[&SqlExpr]) -> Error {
    let message = format!("function {name} does not exist with {} arguments", args.len());
    Error::new(Code::UndefinedFunction, message)
}

fn not_yet(message: &str) -> Error {
    Error::new(Code::NotInPrerequisiteState, message)
}
