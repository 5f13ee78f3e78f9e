//! Relations and functions that tell what the server does: sessions, locks, counters, settings.
//!
//! ```text
//!   SELECT pid, state, query FROM pg_stat_activity      one row per session
//!   SELECT pg_cancel_backend(17)                        t, and a request that is carried out after the query
//! ```

use crate::making::Rows;
use crate::snapshot::{Request, SessionShown, Snapshot};
use crate::value::Datum;

/// The number of the one database.
const DATABASE: i64 = crate::roles::DATABASE;

/// Adds the rows of a relation.
pub(crate) fn fill(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) {
    match name {
        "pg_settings" => settings(rows, snapshot),
        "pg_stat_activity" => snapshot.sessions.iter().for_each(|session| activity(rows, snapshot, session)),
        "pg_locks" => locks(rows, snapshot),
        "pg_stat_database" => database(rows, snapshot),
        _ => {}
    }
}

fn text(text: impl Into<String>) -> Datum {
    Datum::text(text.into())
}

fn known(value: Option<i64>) -> Datum {
    value.map_or(Datum::Null, Datum::Int)
}

fn settings(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    let fixed = [("max_index_keys", "32", "The most columns of an index"), ("block_size", "8192", "Bytes")];
    let internal = ["internal", "integer", "default", ""].map(str::to_owned);
    let own = snapshot.settings.iter().zip(&snapshot.settings_more);
    let own = own.map(|((name, value, says), more)| (name.as_str(), value.as_str(), says.as_str(), more));
    for (name, value, says, more) in own.chain(fixed.map(|(name, value, says)| (name, value, says, &internal))) {
        let [context, vartype, source, boot] = more;
        rows.add([
            ("name", text(name)),
            ("setting", text(value)),
            ("category", text("Weft")),
            ("short_desc", text(says)),
            ("context", text(context)),
            ("vartype", text(vartype)),
            ("source", text(source)),
            ("boot_val", text(boot)),
            ("reset_val", text(value)),
        ]);
    }
}

fn activity(rows: &mut Rows<'_>, snapshot: &Snapshot, session: &SessionShown) {
    let user = snapshot.role_oid(&session.user).map_or(10, i64::from);
    let detail = |value: Datum| if session.may_watch { value } else { Datum::Null };
    let (wait_type, wait) = match session.wait {
        Some((wait_type, wait)) => (text(wait_type), text(wait)),
        None => (Datum::Null, Datum::Null),
    };
    let query = if session.may_watch { session.query.as_str() } else { "<insufficient privilege>" };
    rows.add([
        ("datid", Datum::Int(DATABASE)),
        ("datname", text(&snapshot.database)),
        ("pid", Datum::Int(session.pid)),
        ("leader_pid", Datum::Null),
        ("usesysid", Datum::Int(user)),
        ("usename", text(&session.user)),
        ("application_name", detail(text(&session.application_name))),
        ("client_addr", detail(session.client_address.as_ref().map_or(Datum::Null, text))),
        ("client_port", detail(known(session.client_port))),
        ("backend_start", detail(Datum::Int(session.backend_start_micros))),
        ("xact_start", detail(known(session.transaction_start_micros))),
        ("query_start", detail(known(session.query_start_micros))),
        ("state_change", detail(Datum::Int(session.state_change_micros))),
        ("wait_event_type", detail(wait_type)),
        ("wait_event", detail(wait)),
        ("state", detail(text(session.state))),
        ("backend_xid", Datum::Null),
        ("backend_xmin", Datum::Null),
        ("query_id", Datum::Null),
        ("query", text(query)),
        ("backend_type", text("client backend")),
    ]);
}

fn locks(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    for lock in &snapshot.locks {
        let relation = lock.relation.map_or(Datum::Null, |oid| Datum::Int(oid.into()));
        let kind = match (lock.advisory, lock.relation) {
            (Some(_), _) => "advisory",
            (None, Some(_)) => "relation",
            _ => "tuple",
        };
        rows.add([
            ("locktype", text(kind)),
            ("database", Datum::Int(DATABASE)),
            ("relation", relation),
            ("page", Datum::Null),
            ("tuple", Datum::Null),
            ("transactionid", Datum::Null),
            ("classid", known(lock.advisory.map(|(class, ..)| class.into()))),
            ("objid", known(lock.advisory.map(|(_, object, _)| object.into()))),
            ("objsubid", known(lock.advisory.map(|(.., number)| number.into()))),
            ("virtualtransaction", text(format!("{}/{}", lock.pid.unwrap_or(0), lock.transaction))),
            ("pid", known(lock.pid)),
            ("mode", text(if lock.exclusive { "ExclusiveLock" } else { "ShareLock" })),
            ("granted", Datum::Bool(lock.granted)),
        ]);
    }
}

fn database(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    let counts = &snapshot.counts;
    rows.add([
        ("datid", Datum::Int(DATABASE)),
        ("datname", text(&snapshot.database)),
        ("numbackends", Datum::Int(snapshot.sessions.len() as i64)),
        ("xact_commit", Datum::Int(counts.commits)),
        ("xact_rollback", Datum::Int(counts.rollbacks)),
        ("blks_read", Datum::Int(counts.blocks_read)),
        ("blks_hit", Datum::Int(counts.blocks_hit)),
        ("deadlocks", Datum::Int(counts.deadlocks)),
        ("sessions", Datum::Int(counts.sessions)),
    ]);
}

/// `pg_cancel_backend` and `pg_terminate_backend`: whether there is such a session that this one may stop.
pub(crate) fn stop(snapshot: &Snapshot, pid: i64, ends: bool) -> Result<bool, weft_format::Error> {
    let Some(session) = snapshot.sessions.iter().find(|session| session.pid == pid && pid > 0) else {
        return Ok(false);
    };
    if !session.may_stop {
        let what = if ends { "terminate the process" } else { "cancel the query" };
        let message = format!("must be a member of the role whose {what} is to be stopped or of pg_signal_backend");
        return Err(weft_format::Error::new(weft_format::Code::InsufficientPrivilege, message));
    }
    let request = if ends { Request::Terminate(pid) } else { Request::Cancel(pid) };
    snapshot.requests.lock().push(request);
    Ok(true)
}
