//! What each kind of statement is; queries are looked into by `reads`.

use sqlparser::ast::{
    ContextModifier, CopySource, CopyTarget, DiscardObject, Expr, Reset, Set, Statement, TransactionAccessMode,
    TransactionIsolationLevel, TransactionMode, Value,
};

use super::kind::{Assignment, Kind, Routed};
use super::reads;
use crate::parse::{Own, Parsed, RightsStatement, fold};

/// What a statement of a text is.
pub(super) fn of(parsed: &Parsed, text: &str) -> Routed {
    let mut routed = match parsed {
        Parsed::Sql { statement, .. } => of_statement(statement),
        Parsed::Checkpoint => Routed::new(Kind::Effect, "it is about the writer's files"),
        Parsed::SetConstraints { .. } => Routed::new(Kind::Within, "it is about a transaction that writes"),
        Parsed::Own(own) => of_own(own),
    };
    routed.binds |= match (parsed, &routed.kind) {
        (_, Kind::Read) => false,
        (Parsed::Sql { statement, .. }, _) => matches!(&**statement, Statement::Call(_)) || reads::may_bind(statement),
        (Parsed::Own(own), _) => !matches!(own, Own::SetConfig(..) | Own::Rights(_) | Own::AsOf(_) | Own::Move(..)),
        _ => false,
    };
    // INSERT INTO temp_readings is a write and no more; CREATE TEMP, SELECT INTO TEMP and unknown forms may make
    // something.
    let may_make = matches!(routed.kind, Kind::Write)
        && !matches!(parsed, Parsed::Sql { statement, .. } if changes_rows(statement));
    if may_make && names_temporary(text) {
        return Routed::new(Kind::Sticks, "it may make a temporary relation");
    }
    if sets_beside(parsed, &routed.kind, text) {
        return Routed::new(Kind::Sticks, "it calls set_config beside something else");
    }
    routed
}

/// Whether a statement that is more than its settings may set one: which it is, and whether it did, is not told.
fn sets_beside(parsed: &Parsed, kind: &Kind, text: &str) -> bool {
    match (parsed, kind) {
        (_, Kind::Set(_) | Kind::Read | Kind::Prepared { .. }) => false,
        (Parsed::Sql { statement, .. }, _) => reads::calls_set_config(statement),
        _ => text.to_lowercase().contains("set_config"),
    }
}

fn changes_rows(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
            | Statement::Copy { .. }
            | Statement::Truncate(_)
    )
}

fn names_temporary(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| ["temp", "temporary", "pg_temp"].iter().any(|known| word.eq_ignore_ascii_case(known)))
}

fn of_own(own: &Own) -> Routed {
    match own {
        Own::SetConfig(name, value, local) => {
            let value = Some(value.clone());
            set(vec![Assignment { name: Some(name.to_lowercase()), value, is_local: *local }])
        }
        Own::Rights(rights) => match &**rights {
            RightsStatement::SetRole(role, local) => {
                set(vec![Assignment { name: Some("role".into()), value: role.clone(), is_local: *local }])
            }
            RightsStatement::SetAuthorization(..) => Routed::new(Kind::Sticks, "it changes who the session is"),
            _ => Routed::new(Kind::Write, "it changes rights"),
        },
        Own::AsOf(_) => Routed::new(Kind::Begin { reads: false }, "it reads the past, of which the writer keeps most"),
        Own::Move(..) => Routed::new(Kind::Within, "a cursor is where it was declared"),
        Own::Backup(_) => Routed::new(Kind::Effect, "it is about the writer's files"),
        _ => Routed::new(Kind::Write, "it changes definitions or tables"),
    }
}

fn set(assignments: Vec<Assignment>) -> Routed {
    Routed::new(Kind::Set(assignments), "settings are the writer's session's; nodes are told")
}

fn of_statement(statement: &Statement) -> Routed {
    match statement {
        Statement::Query(query) => reads::of_query(query),
        Statement::Explain { statement, .. } => match of_statement(statement) {
            Routed { kind: Kind::Read, .. } => Routed::new(Kind::Read, "it explains a read"),
            other => Routed::new(other.kind, "it explains what is for the writer"),
        },
        Statement::Copy { to: true, source, target: CopyTarget::Stdout, .. } => match source {
            CopySource::Query(query) => reads::of_query(query),
            CopySource::Table { table_name, .. } => reads::of_relation(table_name),
        },
        Statement::Copy { to: true, .. } => Routed::new(Kind::Effect, "it writes a file of the writer's machine"),
        Statement::Copy { .. } => Routed::new(Kind::Write, "it writes rows"),
        Statement::StartTransaction { modes, statements, exception: None, .. } if statements.is_empty() => begin(modes),
        Statement::Commit { chain, .. } | Statement::Rollback { chain, savepoint: None } => {
            Routed::new(Kind::End { chain: *chain }, "it ends a transaction where that is")
        }
        Statement::Rollback { .. } | Statement::Savepoint { .. } | Statement::ReleaseSavepoint { .. } => {
            Routed::new(Kind::Within, "it is about the transaction that is open")
        }
        Statement::Fetch { .. } | Statement::Close { .. } => {
            Routed::new(Kind::Within, "a cursor is where it was declared")
        }
        Statement::Declare { stmts } => match stmts.iter().any(|cursor| cursor.hold == Some(true)) {
            true => Routed::new(Kind::Sticks, "a cursor WITH HOLD outlives its transaction"),
            false => Routed::new(Kind::Within, "a cursor lives in its transaction"),
        },
        Statement::Set(set) => of_set(set),
        Statement::Reset(reset) => match &reset.reset {
            Reset::ALL => set(vec![Assignment { name: None, value: None, is_local: false }]),
            Reset::ConfigurationParameter(name) => {
                let name = name.to_string().to_lowercase();
                set(vec![Assignment { name: Some(name), value: None, is_local: false }])
            }
        },
        Statement::Discard { object_type: DiscardObject::ALL } => {
            Routed::new(Kind::Discard, "it ends what lives in the session")
        }
        Statement::Discard { .. } => Routed::new(Kind::Effect, "it ends what lives in the writer's session"),
        Statement::ShowVariable { .. } => Routed::new(Kind::Elsewhere, "the settings of the session are the writer's"),
        Statement::Prepare { name, .. } => prepared(Some(fold(name)), false, true),
        Statement::Execute { name: Some(name), .. } => prepared(name.0.last().map(reads::part), false, false),
        Statement::Deallocate { name, .. } => {
            let name = fold(name);
            prepared((name != "all").then_some(name), true, false)
        }
        Statement::LISTEN { .. } | Statement::UNLISTEN { .. } => {
            Routed::new(Kind::Sticks, "what it listens to comes to the writer's session")
        }
        Statement::NOTIFY { .. } => Routed::new(Kind::Effect, "who listens is at the writer"),
        _ => Routed::new(Kind::Write, "it may write"),
    }
}

fn prepared(name: Option<String>, forgets: bool, makes: bool) -> Routed {
    Routed::new(Kind::Prepared { name, forgets, makes }, "prepared statements of SQL are the writer's session's")
}

fn begin(modes: &[TransactionMode]) -> Routed {
    let is = |wanted: &dyn Fn(&TransactionMode) -> bool| modes.iter().any(wanted);
    let read_only = is(&|mode| matches!(mode, TransactionMode::AccessMode(TransactionAccessMode::ReadOnly)));
    let read_write = is(&|mode| matches!(mode, TransactionMode::AccessMode(TransactionAccessMode::ReadWrite)));
    match read_only && !read_write && !is(&is_serializable) {
        true => Routed::new(Kind::Begin { reads: true }, "a transaction that only reads"),
        false => Routed::new(Kind::Begin { reads: false }, "a transaction that may write"),
    }
}

/// A node reads a state that was; that it is one of a serial order with what the writer commits is not claimed.
fn is_serializable(mode: &TransactionMode) -> bool {
    matches!(mode, TransactionMode::IsolationLevel(TransactionIsolationLevel::Serializable))
}

fn of_set(statement: &Set) -> Routed {
    let constant = |value: &Expr| match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => Some(text.clone()),
            _ => None,
        },
        Expr::Identifier(word) => Some(word.value.clone()),
        _ => None,
    };
    let one = |name: &str, value: Option<String>, is_local: bool| {
        set(vec![Assignment { name: Some(name.to_lowercase()), value, is_local }])
    };
    let local = |scope: &Option<ContextModifier>| matches!(scope, Some(ContextModifier::Local));
    match statement {
        Set::SingleAssignment { scope, variable, values, .. } => match &values[..] {
            [value] => one(&variable.to_string(), constant(value), local(scope)),
            _ => one(&variable.to_string(), None, local(scope)),
        },
        Set::SetTimeZone { local, .. } => one("timezone", None, *local),
        Set::SetNames { .. } | Set::SetNamesDefault { .. } => one("client_encoding", None, false),
        Set::SetRole { context_modifier, .. } => one("role", None, local(context_modifier)),
        Set::SetTransaction { session: true, .. } => set(["isolation", "read_only"]
            .map(|mode| Assignment { name: Some(format!("default_transaction_{mode}")), value: None, is_local: false })
            .to_vec()),
        Set::SetTransaction { modes, .. } if modes.iter().any(is_serializable) => {
            Routed::new(Kind::Effect, "what a node shows is in no serial order with what the writer commits")
        }
        Set::SetTransaction { .. } => Routed::new(Kind::Within, "it is about the transaction that is open"),
        _ => Routed::new(Kind::Sticks, "it sets something that nodes cannot be told"),
    }
}
