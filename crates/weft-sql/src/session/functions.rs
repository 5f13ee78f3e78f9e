//! CREATE, ALTER and DROP FUNCTION.
//!
//! ```text
//!   CREATE FUNCTION f(a int) RETURNS int ... 'SELECT a + 1'     an object of the catalog (`crate::functions`); what it
//!                                                               says is planned once, as a test
//!   DROP FUNCTION f(int) CASCADE                                with the views that call it
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{CastKind, DataType as SqlType, Expr, Statement, Value as SqlValue, VisitorMut};
use weft_expr::check_assignable;
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::{ObjectKind, Transaction};
use weft_walk::VisitMut;

use super::Session;
use super::alone;
use super::answers::unsupported;
use super::plan::plan;
use super::work::Work;
use crate::ddl::comment::{self, About};
use crate::ddl::dependents;
use crate::domains;
use crate::expansion::expand_views;
use crate::expr::data_type_of;
use crate::functions::{
    self, Argument, Function, Gives, find, missing, missing_message, open_name, plain_type_of, shown_type,
};
use crate::notice::Notice;
use crate::outcome::{Outcome, OutputColumn, Tag};
use crate::parse::{
    AlterFunction, ArgumentMode, Body, CreateFunction, FunctionOption, FunctionStatement, Signature, WrittenArgument,
    table_name,
};
use crate::resolve::{self, Relation};
use crate::settings::EngineChoice;
use crate::types;

/// Runs such a statement.
pub(super) fn run(session: &mut Session, statement: &FunctionStatement) -> Result<Outcome> {
    session.in_statement(|work| {
        let tag = match statement {
            FunctionStatement::Create(_) => "CREATE FUNCTION",
            FunctionStatement::Alter(..) => "ALTER FUNCTION",
            FunctionStatement::Drop(..) => "DROP FUNCTION",
            FunctionStatement::Comment(..) => "COMMENT",
            FunctionStatement::Refused(what) => {
                let error = unsupported(&format!("CREATE {what}"));
                return Err(error.hint("there are functions in SQL: CREATE FUNCTION ... LANGUAGE sql"));
            }
        };
        work.check_writable(tag)?;
        match statement {
            FunctionStatement::Create(written) => create(work, written)?,
            FunctionStatement::Alter(which, change) => alter(work, which, change)?,
            FunctionStatement::Drop(which, if_exists, cascade) => drop_all(work, which, *if_exists, *cascade)?,
            FunctionStatement::Comment(which, text) => {
                let function = own(work, which)?;
                comment::set(work.txn, &About::Relation(function.id), text.as_deref())?;
            }
            FunctionStatement::Refused(_) => {}
        }
        Ok(Outcome::done(Tag::Done(tag)))
    })
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(Code::InvalidFunctionDefinition, message.into())
}

fn create(work: &mut Work<'_>, written: &CreateFunction) -> Result<()> {
    let (namespace, name) = resolve::creation(work.txn, &table_name(&written.name)?)?;
    work.permit.check_creates_in(work.txn, namespace)?;
    check_name(&name)?;
    types::note_all(work.txn)?;
    let mut function = Function::new(namespace, name);
    check_language(&written.options, written.body.is_some())?;
    set_options(&mut function, &written.options)?;
    function.arguments = arguments_of(work, &written.arguments)?;
    returns(work, &mut function, written)?;
    match &written.body {
        Some(Body::Text(text)) => {
            functions::check_written(text)?;
            function.body.clone_from(text);
        }
        Some(Body::Return(expr)) => {
            function.body = expr.to_string();
            function.is_return = true;
        }
        None => return Err(wrong("no function body specified")),
    }
    if let Some(known) = work.txn.object(ObjectKind::Function, namespace, &function.key()) {
        let shown = &function.name;
        if !written.or_replace {
            let message = format!("function \"{shown}\" already exists with same argument types");
            return Err(Error::new(Code::DuplicateFunction, message));
        }
        work.permit.check_owns(&Relation::Object(Arc::clone(&known)))?;
        check_replacement(work.txn, &Function::of(&known)?, &function)?;
        function.id = known.id;
    }
    let object = function.to_object();
    for text in object.properties.values() {
        types::hold(work.txn, text)?;
    }
    super::views::lock_needs(work, &object.needs)?;
    let made = work.txn.put_object(object)?;
    function.id = made.id;
    if work.settings.get("check_function_bodies")? != "off" {
        check_body(work, &function)?;
    }
    Ok(())
}

/// Some names are the system's alone.
fn check_name(name: &str) -> Result<()> {
    if functions::is_of_system(name) {
        let error = unsupported(&format!("a function named {name}, as one of the system is"));
        return Err(error.hint("give the function another name"));
    }
    Ok(())
}

/// The language must be SQL.
fn check_language(options: &[FunctionOption], has_body: bool) -> Result<()> {
    let language = options.iter().find_map(|option| match option {
        FunctionOption::Language(name) => Some(name.as_str()),
        _ => None,
    });
    match language {
        Some("sql") => Ok(()),
        None if has_body && options.is_empty() => Ok(()),
        None => Err(wrong("no language specified")),
        Some(known @ ("plpgsql" | "c" | "internal")) => {
            let error = unsupported(&format!("LANGUAGE {known}"));
            Err(error.hint("write the function in SQL: LANGUAGE sql"))
        }
        Some(other) => Err(Error::new(Code::UndefinedObject, format!("language \"{other}\" does not exist"))),
    }
}

fn set_options(function: &mut Function, options: &[FunctionOption]) -> Result<()> {
    let mut seen: Vec<std::mem::Discriminant<FunctionOption>> = Vec::new();
    for option in options {
        if seen.contains(&std::mem::discriminant(option)) {
            return Err(Error::new(Code::SyntaxError, "conflicting or redundant options"));
        }
        seen.push(std::mem::discriminant(option));
        match option {
            FunctionOption::Language(_) => {}
            FunctionOption::Volatility(letter) => function.volatility = *letter,
            FunctionOption::Strict(strict) => function.strict = *strict,
            FunctionOption::Definer(true) => {
                let message = format!("SECURITY DEFINER of function {} is not supported", function.name);
                let error = Error::new(Code::FeatureNotSupported, message);
                return Err(
                    error.hint("GRANT the rights that its statements need to those who call it, or make a view")
                );
            }
            FunctionOption::Definer(false) => function.definer = false,
            FunctionOption::LeakProof(leak_proof) => function.leak_proof = *leak_proof,
            FunctionOption::Parallel(letter) => function.parallel = *letter,
            FunctionOption::Cost(cost) => function.cost = Some(cost.clone()),
            FunctionOption::Rows(rows) => function.rows = Some(rows.clone()),
            FunctionOption::Refused(what) => return Err(unsupported(what)),
        }
    }
    Ok(())
}

/// A type as it is kept: lengths and digits do not count.
fn stored_type(work: &Work<'_>, written: &SqlType) -> Result<String> {
    let fixed = types::fixed_type(work.txn, written)?;
    if domains::plain_type(work.txn, &fixed)?.is_some() {
        return Ok(fixed.to_string());
    }
    if let SqlType::Custom(name, _) = &fixed
        && let Some(word) = name.0.last().and_then(|part| part.as_ident())
        && let word = word.value.to_lowercase()
        && (word.starts_with("any") || ["record", "trigger", "cstring", "internal"].contains(&word.as_str()))
    {
        let error = unsupported(&format!("the type {word} of a function"));
        return Err(error.hint("name a type of values: integer, text, ..."));
    }
    Ok(open_name(data_type_of(&fixed)?))
}

fn arguments_of(work: &Work<'_>, written: &[WrittenArgument]) -> Result<Vec<Argument>> {
    let mut arguments: Vec<Argument> = Vec::with_capacity(written.len());
    let mut has_default = false;
    for argument in written {
        let data_type = stored_type(work, &argument.data_type)?;
        let is_input = matches!(argument.mode, ArgumentMode::In | ArgumentMode::InOut | ArgumentMode::Variadic);
        if arguments.iter().any(|known| known.mode == ArgumentMode::Variadic && is_input) {
            return Err(wrong("VARIADIC parameter must be the last input parameter"));
        }
        if argument.mode == ArgumentMode::Variadic && plain_type_of(work.txn, &data_type)?.0.element().is_none() {
            return Err(wrong("VARIADIC parameter must be an array"));
        }
        // A column of the result may have the name of nothing else, an input that of an output.
        let clashes = |known: &&Argument| {
            known.name.is_some() && known.name == argument.name && {
                let is_table = known.mode == ArgumentMode::Table || argument.mode == ArgumentMode::Table;
                let both = is_input && known.is_input();
                let outputs = !is_input && known.is_output() || argument.mode == ArgumentMode::InOut;
                both || outputs || is_table
            }
        };
        if let Some(known) = arguments.iter().find(clashes) {
            let name = known.name.clone().unwrap_or_default();
            return Err(wrong(format!("parameter name \"{name}\" used more than once")));
        }
        let default = match &argument.default {
            Some(_) if !is_input => return Err(wrong("only input parameters can have default values")),
            Some(expr) => {
                has_default = true;
                Some(default_of(work, expr, &data_type)?)
            }
            None if has_default && is_input && argument.mode != ArgumentMode::Variadic => {
                return Err(wrong("input parameters after one with a default value must also have default values"));
            }
            None => None,
        };
        arguments.push(Argument { mode: argument.mode, name: argument.name.clone(), data_type, default });
    }
    Ok(arguments)
}

/// A DEFAULT as it is kept; it must be of the type.
fn default_of(work: &Work<'_>, expr: &Expr, data_type: &str) -> Result<String> {
    let fixed = types::fixed(work.txn, expr)?;
    let fixed = functions::fixed(work.txn, &*fixed)?;
    let cast = functions::cast_of((*fixed).clone(), data_type)?;
    let item = sqlparser::ast::SelectItem::UnnamedExpr(cast);
    let query = crate::dml::select(vec![item], Vec::new(), None)?;
    let statement = Statement::Query(Box::new(query));
    let expanded = expand_views(work.txn, &statement)?;
    plan(work.db, &expanded, "", work.txn, (EngineChoice::Auto, &work.local))?;
    Ok(fixed.to_string())
}

/// What RETURNS and the OUT arguments say.
fn returns(work: &Work<'_>, function: &mut Function, written: &CreateFunction) -> Result<()> {
    let outputs: Vec<Argument> = function.arguments.iter().filter(|argument| argument.is_output()).cloned().collect();
    let of_outputs = match outputs.as_slice() {
        [] => None,
        [only] => Some(Gives::Type(only.data_type.clone())),
        _ => Some(Gives::Record),
    };
    let Some(returns) = &written.returns else {
        function.gives = of_outputs.ok_or_else(|| wrong("function result type must be specified"))?;
        return Ok(());
    };
    function.is_set = returns.is_set;
    let Some(data_type) = &returns.data_type else {
        function.gives = of_outputs.ok_or_else(|| wrong("RETURNS TABLE has no column"))?;
        return Ok(());
    };
    let named = match data_type {
        SqlType::Custom(name, arguments) if arguments.is_empty() => Some(name),
        _ => None,
    };
    let word = named.map(|name| name.to_string().to_lowercase()).unwrap_or_default();
    let given = match word.as_str() {
        "void" => Gives::Void,
        "record" if of_outputs == Some(Gives::Record) => Gives::Record,
        "trigger" | "event_trigger" => return Err(wrong(format!("SQL functions cannot return type {word}"))),
        "record" => {
            return Err(unsupported("RETURNS record").hint("RETURNS TABLE (column type, ...) says what its rows have"));
        }
        _ => match named.map(|name| relation_of(work, name, data_type)).transpose()?.flatten() {
            Some(id) => Gives::Relation(id),
            None => Gives::Type(stored_type(work, data_type)?),
        },
    };
    if let Some(expected) = of_outputs.filter(|expected| *expected != given) {
        let shown = match &expected {
            Gives::Type(text) => shown_type(work.txn, text),
            _ => "record".to_owned(),
        };
        return Err(wrong(format!("function result type must be {shown} because of OUT parameters")));
    }
    function.gives = given;
    Ok(())
}

/// The table or view whose rows a type's name means.
fn relation_of(work: &Work<'_>, name: &sqlparser::ast::ObjectName, data_type: &SqlType) -> Result<Option<u32>> {
    if types::find(work.txn, name).is_some() || data_type_of(data_type).is_ok() {
        return Ok(None);
    }
    let known_as = table_name(name)?;
    Ok(match resolve::relation(work.txn, &known_as) {
        Some(Relation::Table(table)) => Some(table.def.oid),
        Some(Relation::Object(view)) if view.kind == ObjectKind::View => Some(view.id),
        _ => return Err(types::missing(name)),
    })
}

/// A function that replaces another gives the same, and its arguments have the same names.
fn check_replacement(txn: &Transaction, known: &Function, new: &Function) -> Result<()> {
    let hint = format!("Use DROP FUNCTION {} first.", known.shown(txn));
    let outputs = |function: &Function| -> Vec<Argument> {
        function.arguments.iter().filter(|argument| argument.is_output()).cloned().collect()
    };
    if (known.is_set, &known.gives) != (new.is_set, &new.gives) {
        return Err(wrong("cannot change return type of existing function").hint(hint));
    }
    if outputs(known) != outputs(new) {
        let error = wrong("cannot change return type of existing function");
        return Err(error.detail("Row type defined by OUT parameters is different.").hint(hint));
    }
    for (old, new) in known.inputs().zip(new.inputs()) {
        if let Some(name) = &old.name
            && new.name != old.name
        {
            return Err(wrong(format!("cannot change name of input parameter \"{name}\"")).hint(hint));
        }
        if old.default.is_some() && new.default.is_none() {
            return Err(wrong("cannot remove parameter defaults from existing function").hint(hint));
        }
    }
    Ok(())
}

/// Plans the statements of a function; the last one must give what the function does.
fn check_body(work: &mut Work<'_>, function: &Function) -> Result<()> {
    let statements = functions::statements_of(work.txn, function)?;
    let params: Vec<String> = function.inputs().map(|input| input.data_type.clone()).collect();
    let mut columns: Option<Arc<[OutputColumn]>> = None;
    for statement in statements {
        columns = check_statement(work, function, statement, &params)?;
    }
    let given: Vec<(String, DataType)> = match (&function.gives, function.columns(work.txn)?) {
        (Gives::Void, _) => return Ok(()),
        (_, Some(columns)) => {
            let typed = columns.into_iter().map(|column| {
                let (data_type, _) = plain_type_of(work.txn, &column.data_type)?;
                Ok((column.data_type, data_type))
            });
            typed.collect::<Result<_>>()?
        }
        (Gives::Type(text), None) => vec![(text.clone(), plain_type_of(work.txn, text)?.0)],
        _ => Vec::new(),
    };
    let result = match (&function.gives, given.as_slice()) {
        (Gives::Type(_), [(text, _)]) => shown_type(work.txn, text),
        (Gives::Relation(id), _) => relation_name(work.txn, *id),
        _ => "record".to_owned(),
    };
    let mismatch = |detail: String| {
        Err(wrong(format!("return type mismatch in function declared to return {result}")).detail(detail))
    };
    let Some(columns) = columns.filter(|columns| !columns.is_empty()) else {
        return mismatch("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.".into());
    };
    let is_value = !function.gives_rows();
    if is_value && columns.len() != 1 {
        return mismatch("Final statement must return exactly one column.".into());
    }
    if columns.len() != given.len() {
        let few = if columns.len() < given.len() { "few" } else { "many" };
        return mismatch(format!("Final statement returns too {few} columns."));
    }
    for (at, (column, (text, data_type))) in columns.iter().zip(&given).enumerate() {
        if check_assignable(column.data_type, *data_type, "").is_ok() {
            continue;
        }
        let actual = crate::text::type_name(column.data_type);
        return mismatch(match is_value {
            true => format!("Actual return type is {actual}."),
            false => {
                let wanted = shown_type(work.txn, text);
                format!("Final statement returns {actual} instead of {wanted} at column {}.", at + 1)
            }
        });
    }
    Ok(())
}

fn relation_name(txn: &Transaction, id: u32) -> String {
    let table = || txn.tables().iter().find(|def| def.oid == id).map(|def| def.name.clone());
    txn.object_of(id).map(|view| view.name.clone()).or_else(table).unwrap_or_else(|| "record".to_owned())
}

/// Plans one statement of a function; the columns that it gives, if it is one that gives rows.
fn check_statement(
    work: &mut Work<'_>,
    function: &Function,
    mut statement: Statement,
    params: &[String],
) -> Result<Option<Arc<[OutputColumn]>>> {
    if !super::asks::is_planned(&statement) {
        let text = statement.to_string();
        let words: Vec<&str> = text.split_whitespace().take(2).collect();
        let error = unsupported(&format!("{} in a function", words.join(" ")));
        return Err(error.hint("a function in SQL has SELECT, INSERT, UPDATE, DELETE and MERGE"));
    }
    cast_params(&mut statement, params)?;
    let statement = match alone::call_of(work.txn, &statement)? {
        Some(call) => alone::described(&call)?,
        None => statement,
    };
    let called = super::calls::described(&statement)?;
    let expanded = expand_views(work.txn, &called)?;
    let made = plan(work.db, &expanded, &function.body, work.txn, (EngineChoice::Auto, &work.local))?;
    Ok((!made.columns.is_empty()).then(|| Arc::clone(&made.columns)))
}

/// Gives parameters their types.
pub(super) fn cast_params(statement: &mut Statement, params: &[String]) -> Result<()> {
    struct Casting(Vec<SqlType>);
    impl VisitorMut for Casting {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Value(value) = expr
                && let SqlValue::Placeholder(name) = &value.value
                && let Some(at) = name.strip_prefix('$').and_then(|number| number.parse::<usize>().ok())
                && let Some(data_type) = at.checked_sub(1).and_then(|at| self.0.get(at))
            {
                let (kind, data_type) = (CastKind::Cast, data_type.clone());
                *expr = Expr::Cast { kind, expr: Box::new(expr.clone()), data_type, array: false, format: None };
            }
            ControlFlow::Continue(())
        }
    }
    let types = params.iter().map(|text| functions::sql_type_of(text)).collect::<Result<_>>()?;
    let _ = VisitMut::visit(statement, &mut Casting(types));
    Ok(())
}

/// The function of a signature, which the session's role owns.
fn own(work: &Work<'_>, which: &Signature) -> Result<Function> {
    let function = find(work.txn, which)?.ok_or_else(|| missing(which))?;
    let object = work.txn.object_of(function.id).ok_or_else(|| missing(which))?;
    work.permit.check_owns(&Relation::Object(object))?;
    Ok(function)
}

fn alter(work: &mut Work<'_>, which: &Signature, change: &AlterFunction) -> Result<()> {
    let mut function = own(work, which)?;
    let key = function.key();
    let place = function.namespace;
    match change {
        AlterFunction::Rename(name) => {
            check_name(name)?;
            function.name.clone_from(name);
        }
        AlterFunction::SetSchema(schema) => {
            function.namespace = resolve::schema_of(work.txn, schema).ok_or_else(|| resolve::no_schema(schema))?;
            work.permit.check_creates_in(work.txn, function.namespace)?;
        }
        AlterFunction::Options(options) => set_options(&mut function, options)?,
    }
    let is_moved = (place, key) != (function.namespace, function.key());
    if is_moved && work.txn.object(ObjectKind::Function, function.namespace, &function.key()).is_some() {
        let schema = resolve::schema_name(work.txn, function.namespace);
        let message = format!("function {} already exists in schema \"{schema}\"", function.shown(work.txn));
        return Err(Error::new(Code::DuplicateFunction, message));
    }
    work.txn.put_object(function.to_object()).map(|_| ())
}

fn drop_all(work: &mut Work<'_>, names: &[Signature], if_exists: bool, cascade: bool) -> Result<()> {
    let mut found = Vec::with_capacity(names.len());
    for which in names {
        let known = match find(work.txn, which) {
            Err(error) if if_exists && matches!(error.code(), Code::UndefinedSchema | Code::UndefinedObject) => {
                work.notices.push(Notice::plain(format!("{}, skipping", error.message())));
                continue;
            }
            known => known?,
        };
        match known {
            Some(_) => found.push(own(work, which)?),
            None if if_exists => {
                let message = match which.arguments {
                    Some(_) => missing_message(which),
                    None => format!("function {}() does not exist", resolve::shown(&table_name(&which.name)?)),
                };
                work.notices.push(Notice::plain(format!("{message}, skipping")));
            }
            None => return Err(missing(which)),
        }
    }
    for function in found {
        if let Some(object) = work.txn.object_of(function.id) {
            dependents::drop_function(work.txn, &object, cascade, work.notices)?;
        }
    }
    Ok(())
}
