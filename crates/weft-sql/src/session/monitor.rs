//! Sessions, locks and counters as the catalog shows them, and what its functions ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_format::{Code, Error, Result};
use weft_kernel::Transaction;
use weft_kernel::lock::LockName;
use weft_pgcatalog::{CountsShown, FIRST, LockShown, Request, SessionShown, Snapshot};

use super::asking::Asking;
use super::work::Work;
use crate::activity::{Activities, Shown, State};
use crate::configuration::{Configuration, accepted, definition};
use crate::rights::Permit;
use crate::settings::Settings;

/// The roles whose members may see the statements of all, and may stop them.
const MONITOR: &str = "pg_monitor";
const SIGNAL: &str = "pg_signal_backend";

/// Whether who asks may see what a session of `other` does: a superuser may, everybody their own, and the members of a
/// role.
fn may_watch(permit: &Permit, shown: &Snapshot, other: &str) -> bool {
    shown.user == other || permit.has_role(MONITOR)
}

/// Whether who asks may stop it: the members of another role may, but not a superuser's.
fn may_stop(permit: &Permit, shown: &Snapshot, other: &str) -> bool {
    let of_superuser = || shown.access.oid(other).is_some_and(|oid| shown.access.is_superuser(oid));
    permit.is_superuser() || shown.user == other || permit.has_role(SIGNAL) && !of_superuser()
}

/// Whether the text of a query may ask for sessions and locks (those of statistics, `pg_statistic_ext`, do not).
pub(super) fn may_ask(source: &str) -> bool {
    let lower = source.to_ascii_lowercase();
    ["pg_stat_", "pg_locks", "_backend"].into_iter().any(|word| lower.contains(word))
}

/// Adds sessions, locks and counters.
pub(super) fn add(shown: &mut Snapshot, work: &Asking<'_>, txn: &Transaction) {
    let activities = work.db.activities();
    let sessions = activities.all();
    let locks = work.db.kernel().locks();
    let waiting: BTreeSet<u64> = locks.iter().flat_map(|lock| lock.waiters.iter().map(|(txn, _)| txn.0)).collect();
    shown.sessions = sessions.iter().map(|session| one(work.permit, shown, activities, session, &waiting)).collect();
    let pids: BTreeMap<u64, i64> = sessions.iter().map(|session| (session.transaction, number(session.pid))).collect();
    // Nothing of all tables is looked at where nobody holds a lock.
    let all = if locks.is_empty() { Vec::new() } else { txn.engine().tables() };
    let tables: BTreeMap<LockName, u32> =
        all.iter().map(|table| (LockName::table(table.id()), FIRST + table.def.oid)).collect();
    for lock in &locks {
        let held = lock.holders.iter().map(|holder| (holder, true));
        for ((txn, mode), granted) in held.chain(lock.waiters.iter().map(|waiter| (waiter, false))) {
            shown.locks.push(LockShown {
                relation: tables.get(&lock.name).copied(),
                transaction: txn.0,
                pid: pids.get(&txn.0).copied(),
                exclusive: !mode.writes.is_empty(),
                granted,
                advisory: lock.advisory.map(|key| (key.class, key.object, key.kind)),
            });
        }
    }
    let (counters, cache) = (activities.counters(), work.db.kernel().status().cache);
    shown.counts = CountsShown {
        commits: number(counters.commits),
        rollbacks: number(counters.rollbacks),
        blocks_read: number(cache.misses),
        blocks_hit: number(cache.hits),
        deadlocks: number(activities.errors().get("40P01").copied().unwrap_or(0)),
        sessions: number(counters.sessions),
    };
}

fn one(
    permit: &Permit,
    shown: &Snapshot,
    activities: &Activities,
    session: &Shown,
    waiting: &BTreeSet<u64>,
) -> SessionShown {
    let micros = |nanos: u64| activities.wall_micros(nanos);
    let origin = &session.origin;
    let wait = match session.state {
        State::Active if waiting.contains(&session.transaction) => Some(("Lock", "tuple")),
        State::Active => None,
        _ => Some(("Client", "ClientRead")),
    };
    SessionShown {
        pid: number(session.pid),
        user: origin.user.clone(),
        application_name: origin.application_name.clone(),
        client_address: origin.address.map(|address| address.ip().to_string()),
        client_port: match origin.address {
            Some(address) => Some(address.port().into()),
            None => origin.is_client.then_some(-1),
        },
        backend_start_micros: micros(session.begun_nanos),
        transaction_start_micros: (session.transaction_nanos > 0).then(|| micros(session.transaction_nanos)),
        query_start_micros: (session.query_nanos > 0).then(|| micros(session.query_nanos)),
        state_change_micros: micros(session.state_nanos),
        wait,
        state: session.state.name(),
        query: session.text.to_string(),
        may_watch: may_watch(permit, shown, &origin.user),
        may_stop: may_stop(permit, shown, &origin.user),
    }
}

/// What `pg_settings` tells beside name, value and meaning.
pub(super) fn settings_more(settings: &Arc<Settings>) -> Vec<[String; 4]> {
    let configuration = settings.server.current();
    let of_name = |(name, value, _): (String, String, String)| match (definition(&name.to_lowercase()), accepted(&name))
    {
        (Some(known), _) => Configuration::described(known, configuration.source(known.name)),
        (None, Some(known)) => Configuration::described_accepted(known, &value),
        (None, None) => Default::default(),
    };
    settings.all().into_iter().filter(|(name, ..)| !settings.custom.contains_key(name)).map(of_name).collect()
}

/// Does what a function of the query asked for.
pub(super) fn carry_out(work: &mut Work<'_>, request: Request) -> Result<()> {
    let activities = work.db.activities();
    let pid = |pid: i64| u64::try_from(pid).unwrap_or(0);
    match request {
        Request::Reload if !work.permit.is_superuser() => {
            let message = "permission denied for function pg_reload_conf";
            return Err(Error::new(Code::InsufficientPrivilege, message));
        }
        Request::Promote if !work.permit.is_superuser() => {
            let message = "permission denied for function pg_promote";
            return Err(Error::new(Code::InsufficientPrivilege, message));
        }
        Request::Promote => activities.promote()?,
        Request::Cancel(of) => drop(activities.cancel(pid(of))),
        Request::Terminate(of) => drop(activities.terminate(pid(of))),
        Request::Reload => drop(activities.reload()),
        Request::Export => drop(work.txn.export_snapshot()?),
    }
    Ok(())
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
