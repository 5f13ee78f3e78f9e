//! Whether a query is a read: what it writes, locks, calls and names.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, ObjectNamePart, Query, Select,
    Statement, TableFactor, Value, Visitor,
};
use weft_expr::builtins::{self, Volatility};
use weft_walk::{Visit, visit_expressions};

use super::kind::{Assignment, Kind, READ_LOCKS, Routed};
use crate::expr::function_name;
use crate::functions;
use crate::parse::{fold, fold_all, writes};

/// Functions of the system that give another value each time and do nothing.
const HARMLESS: &[&str] = &["random", "clock_timestamp", "timeofday", "gen_random_uuid", "pg_sleep", "now", "version"];

/// Functions that begin with `pg_` and mean the same everywhere. All others tell of a process or do something to it.
const PLAIN_OF_SYSTEM: &[&str] = &["pg_typeof", "pg_size_pretty", "pg_column_size", "pg_sleep"];

/// Functions that write.
const WRITING: &[&str] = &["nextval", "setval", "txid_current", "pg_current_xact_id", "weft_next_number"];

/// Functions that do something to, or know something of, the session or process that runs them, and write nothing: a
/// node would not refuse them.
const EFFECTS: &[&str] = &[
    "currval",
    "lastval",
    "setseed",
    "pg_notify",
    "pg_cancel_backend",
    "pg_terminate_backend",
    "pg_reload_conf",
    "pg_export_snapshot",
];

/// Functions that tell of the session or the process that runs them.
const OF_PROCESS: &[&str] =
    &["current_setting", "inet_server_addr", "inet_server_port", "inet_client_addr", "inet_client_port"];

/// Functions of windows, which are in no table: with OVER they are the system's.
const OF_WINDOWS: &[&str] = &[
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
];

/// What a query is.
pub(super) fn of_query(query: &Query) -> Routed {
    let mut looking = Looking { settings: Vec::new(), found: None };
    let broken = query.visit(&mut looking);
    if let ControlFlow::Break(routed) = broken {
        return routed;
    }
    if !looking.settings.is_empty() && looking.found.as_ref().is_none_or(|found| found.kind == Kind::Elsewhere) {
        return Routed::new(Kind::Set(looking.settings), "it calls set_config");
    }
    looking.found.unwrap_or(Routed::new(Kind::Read, "it only reads"))
}

/// Whether a statement calls set_config, anywhere.
pub(super) fn calls_set_config(statement: &Statement) -> bool {
    let calls = |expr: &Expr| match expr {
        Expr::Function(call) if function_name(call) == "set_config" => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    visit_expressions(statement, calls).is_break()
}

/// Whether a statement calls a function that may leave something in its connection: what it is about, or one of a user.
pub(super) fn may_bind(statement: &Statement) -> bool {
    statement.visit(&mut Binding).is_break()
}

struct Binding;

impl Binding {
    fn name(name: &str) -> ControlFlow<()> {
        let is_plain = name == "set_config"
            || HARMLESS.contains(&name)
            || OF_WINDOWS.contains(&name)
            || WRITING.contains(&name)
            || OF_PROCESS.contains(&name);
        let binds = EFFECTS.contains(&name)
            || name.starts_with("pg_advisory")
            || name.starts_with("pg_try_advisory")
            || !(is_plain || name.starts_with("pg_") || name.starts_with("weft_") || functions::is_of_system(name));
        if binds { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Visitor for Binding {
    type Break = ();

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        match table {
            TableFactor::Function { name, .. } | TableFactor::Table { name, args: Some(_), .. } => {
                name.0.last().map_or(ControlFlow::Continue(()), |name| Binding::name(&part(name)))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(call) => Binding::name(&function_name(call)),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// What a query of a relation is.
pub(super) fn of_relation(name: &ObjectName) -> Routed {
    match is_of_process(name) {
        true => elsewhere("it reads what each process has of its own"),
        false => Routed::new(Kind::Read, "it only reads"),
    }
}

/// A part of a name, folded.
pub(super) fn part(part: &ObjectNamePart) -> String {
    part.as_ident().map_or_else(|| part.to_string().to_lowercase(), fold)
}

fn elsewhere(reason: &'static str) -> Routed {
    Routed::new(Kind::Elsewhere, reason)
}

/// Whether a relation tells of a process, or may: those of the system, and what the session alone has.
fn is_of_process(name: &ObjectName) -> bool {
    let parts: Vec<String> = name.0.iter().map(part).collect();
    let schemas = &parts[..parts.len().saturating_sub(1)];
    schemas.iter().any(|schema| schema == "information_schema" || schema.starts_with("pg_"))
        || parts.last().is_some_and(|name| name.starts_with("pg_") || name.starts_with("weft_"))
}

/// The first thing that makes a query more than a read; what is worse ends the walk.
struct Looking {
    settings: Vec<Assignment>,
    found: Option<Routed>,
}

impl Looking {
    /// What is worse than to be elsewhere is the answer at once.
    fn note(&mut self, routed: Routed) -> ControlFlow<Routed> {
        if routed.kind != Kind::Elsewhere {
            return ControlFlow::Break(routed);
        }
        self.found.get_or_insert(routed);
        ControlFlow::Continue(())
    }

    fn name(&mut self, name: &str) -> ControlFlow<Routed> {
        let effect = |reason| Routed::new(Kind::Effect, reason);
        if WRITING.contains(&name) {
            return self.note(Routed::new(Kind::Write, "it calls a function that writes"));
        }
        if EFFECTS.contains(&name) || name.starts_with("pg_advisory") || name.starts_with("pg_try_advisory") {
            return self.note(effect("it calls a function with an effect on the session or on others"));
        }
        if HARMLESS.contains(&name) || PLAIN_OF_SYSTEM.contains(&name) {
            return ControlFlow::Continue(());
        }
        if name.starts_with("pg_") || name.starts_with("weft_") || OF_PROCESS.contains(&name) {
            return self.note(elsewhere("it calls a function that tells of a process"));
        }
        if !functions::is_of_system(name) {
            return self.note(elsewhere("it calls a function that is not known"));
        }
        if builtins::volatility(name) == Volatility::Volatile {
            return self.note(effect("it calls a volatile function"));
        }
        ControlFlow::Continue(())
    }

    fn call(&mut self, call: &Function) -> ControlFlow<Routed> {
        let name = function_name(call);
        if call.over.is_some() && OF_WINDOWS.contains(&name.as_str()) {
            return ControlFlow::Continue(());
        }
        if name != "set_config" {
            return self.name(&name);
        }
        let constant = |arg: &FunctionArg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => match &value.value {
                Value::SingleQuotedString(text) => Some(text.clone()),
                _ => None,
            },
            _ => None,
        };
        let FunctionArguments::List(list) = &call.args else { return ControlFlow::Continue(()) };
        match list.args.first().and_then(constant) {
            Some(name) => {
                let name = Some(name.to_lowercase());
                self.settings.push(Assignment { name, value: None, is_local: false });
            }
            None => {
                let reason = "it sets a setting whose name is not in the text";
                return ControlFlow::Break(Routed::new(Kind::Sticks, reason));
            }
        }
        ControlFlow::Continue(())
    }
}

impl Visitor for Looking {
    type Break = Routed;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Routed> {
        let write = |reason| ControlFlow::Break(Routed::new(Kind::Write, reason));
        if writes(query) {
            return write("it writes rows");
        }
        if !query.locks.is_empty() && !weft_kernel::fault::active(READ_LOCKS) {
            return write("it locks rows");
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Routed> {
        if select.into.is_some() {
            return ControlFlow::Break(Routed::new(Kind::Write, "it makes a table"));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<Routed> {
        match of_relation(name) {
            Routed { kind: Kind::Read, .. } => ControlFlow::Continue(()),
            routed => self.note(routed),
        }
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<Routed> {
        match table {
            TableFactor::Function { name, .. } | TableFactor::Table { name, args: Some(_), .. } => {
                let name = fold_all(name);
                if name.ends_with("set_config") {
                    let reason = "it calls set_config beside something else";
                    return ControlFlow::Break(Routed::new(Kind::Sticks, reason));
                }
                self.name(name.strip_prefix("pg_catalog.").unwrap_or(&name))
            }
            // The past: nodes keep what their files have, the writer what was promised.
            TableFactor::Table { version: Some(_), .. } => self.note(elsewhere("it reads the past")),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Routed> {
        match expr {
            Expr::Function(call) => self.call(call),
            _ => ControlFlow::Continue(()),
        }
    }
}
