//! Roles as a server asks for them: who may log in, and with which password.
//!
//! ```text
//!   login("bob")     { superuser: f, can_login: t, verifier: SCRAM-SHA-256$4096:... }
//! ```
//!
//! Roles are objects of the catalog (see [`rights`](crate::rights)). Directories of earlier releases have them in a
//! table `public.pg_authid`, which is moved when it is met.

use std::sync::Arc;

use weft_format::{Error, Result, Value};
use weft_kernel::SchemaId;
use weft_pgcatalog::rights::{Access, Kind, Rights, Target};

use crate::engine::SqlEngine;
use crate::rights::put_first;
use crate::session::Session;

/// The table of earlier releases.
const OLD: &str = "SELECT rolname, rolsuper, rolcanlogin, rolpassword FROM public.pg_authid \
                   ORDER BY rolsuper DESC, rolname";

/// What a login is decided by.
#[derive(Clone, Debug)]
pub struct Login {
    /// The role's number.
    pub oid: u32,
    /// Whether every right is the role's.
    pub superuser: bool,
    /// Whether it may take the whole database, as nodes do.
    pub replication: bool,
    /// Whether it may log in at all.
    pub can_login: bool,
    /// Whether it may connect to the database.
    pub may_connect: bool,
    /// How many sessions it may have; negative: any number.
    pub connection_limit: i64,
    /// Until when its password is good: microseconds since 1970 UTC.
    pub valid_until: Option<i64>,
    /// What its password is tested with; none: no password fits.
    pub verifier: Option<String>,
}

/// Makes the first superuser, or gives a role another verifier.
pub fn put_superuser(session: &mut Session, name: &str, verifier: Option<&str>) -> Result<()> {
    move_old(session)?;
    session.in_catalog(|txn| put_first(txn, name, verifier))
}

/// Whether the first superuser was made.
pub fn has_superuser(session: &mut Session) -> Result<bool> {
    move_old(session)?;
    session.database().has_first_role()
}

/// A role's login; none when there is no such role.
pub fn login(session: &mut Session, name: &str) -> Result<Option<Login>> {
    move_old(session)?;
    let access = access(session)?;
    let Some(role) = access.named(name) else { return Ok(None) };
    let db: &Arc<SqlEngine> = session.database();
    if !db.has_first_role()? {
        return Ok(None);
    }
    Ok(Some(Login {
        oid: role.oid,
        superuser: role.superuser,
        replication: role.replication,
        can_login: role.login,
        may_connect: access.rights(role.oid, Target::Database, Kind::Database).has(Rights::CONNECT),
        connection_limit: role.connection_limit,
        valid_until: role.valid_until,
        verifier: role.password.clone(),
    }))
}

/// The roles and rights of the moment.
fn access(session: &mut Session) -> Result<Arc<Access>> {
    let db = Arc::clone(session.database());
    let txn = db.kernel().begin()?;
    let access = db.access(&txn);
    txn.rollback();
    access
}

/// Moves the roles of an earlier release into the catalog.
fn move_old(session: &mut Session) -> Result<()> {
    let txn = session.database().kernel().begin()?;
    let is_old = txn.table_in(SchemaId::PUBLIC, "pg_authid").is_ok_and(|table| {
        let names = ["rolname", "rolsuper", "rolcanlogin", "rolpassword"];
        table.def.schema.columns.iter().map(|column| column.name.as_str()).eq(names)
    });
    txn.rollback();
    if !is_old {
        return Ok(());
    }
    session.execute("BEGIN")?;
    let moved = move_rows(session);
    session.execute(if moved.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    moved
}

fn move_rows(session: &mut Session) -> Result<()> {
    let rows: Vec<Vec<Value>> = session.execute_params(OLD, &[])?.rows.iter().collect();
    for row in rows {
        let wrong = || Error::corrupt("a role of an earlier release has values of wrong types");
        let Ok([Value::Text(name), Value::Bool(superuser), Value::Bool(login), verifier]) = <[Value; 4]>::try_from(row)
        else {
            return Err(wrong());
        };
        let verifier = match &verifier {
            Value::Text(text) => Some(&**text),
            _ => None,
        };
        session.in_catalog(|txn| crate::rights::put_old(txn, &name, superuser, login, verifier))?;
    }
    session.execute("DROP TABLE public.pg_authid").map(|_| ())
}
