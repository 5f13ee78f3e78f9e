//! Statements about roles and rights, and whose rights count: SET ROLE, SET SESSION AUTHORIZATION.
//!
//! ```text
//!   login bob          session_user bob, current_user bob
//!   SET ROLE readers   session_user bob, current_user readers     until RESET ROLE, or the end of a rolled back block
//! ```

use std::sync::Arc;

use sqlparser::ast::{Ident, ObjectName};
use weft_format::{Code, Error, Result};
use weft_kernel::Transaction;
use weft_pgcatalog::rights::{OWNER, Rights};

use super::work::Work;
use super::{Session, objects, schemas};
use crate::outcome::{Outcome, Tag};
use crate::parse::{Parsed, RightsStatement, fold, parse};
use crate::rights::{self, Who};
use crate::settings::Settings;

impl Work<'_> {
    /// Who does something about roles and rights.
    pub(super) fn who(&mut self) -> Who<'_> {
        Who {
            role: self.permit.oid(),
            session: self.settings.session_role.unwrap_or(OWNER),
            database: &self.settings.database,
            txn: self.txn,
            notices: self.notices,
            local: &self.local,
        }
    }
}

impl Session {
    /// Changes the catalog in a transaction of its own, or the open one.
    pub(crate) fn in_catalog<T>(&mut self, mut work: impl FnMut(&mut Transaction) -> Result<T>) -> Result<T> {
        self.in_statement(|given| work(given.txn))
    }
}

/// Runs such a statement.
pub(super) fn run(session: &mut Session, statement: &RightsStatement) -> Result<Outcome> {
    match statement {
        RightsStatement::SetRole(name, local) => return set_role(session, name.as_deref(), *local),
        RightsStatement::SetAuthorization(name, local) => return set_authorization(session, name.as_deref(), *local),
        _ => {}
    }
    let tag = tag_of(statement);
    session.in_statement(|work| {
        work.check_writable(tag)?;
        let who = &mut work.who();
        match statement {
            RightsStatement::CreateRole(name, options) => rights::create_role(who, name, options)?,
            RightsStatement::AlterRole(name, options) => rights::alter_role(who, name, options)?,
            RightsStatement::RenameRole(name, new) => rights::rename_role(who, name, new)?,
            RightsStatement::DropRoles(names, if_exists) => rights::drop_roles(who, names, *if_exists)?,
            RightsStatement::GrantRoles(grant) => rights::grant_roles(who, grant)?,
            RightsStatement::Grant(grant) => rights::grant(who, grant)?,
            RightsStatement::Defaults(of, schemas, grant) => rights::alter_defaults(who, of, schemas, grant)?,
            RightsStatement::Owner(owned, to) => rights::change_owner(who, owned, to)?,
            RightsStatement::Reassign(from, to) => rights::reassign_owned(who, from, to)?,
            RightsStatement::DropOwned(from, cascade) => {
                let (relations, schemas) = rights::drop_owned(who, from)?;
                objects::drop_numbered(work, &relations, *cascade)?;
                schemas::drop_numbered(work, &schemas, *cascade)?;
            }
            RightsStatement::SetRole(..) | RightsStatement::SetAuthorization(..) => {}
        }
        Ok(())
    })?;
    Ok(Outcome::done(Tag::Done(tag)))
}

fn tag_of(statement: &RightsStatement) -> &'static str {
    match statement {
        RightsStatement::CreateRole(..) => "CREATE ROLE",
        RightsStatement::AlterRole(..) | RightsStatement::RenameRole(..) => "ALTER ROLE",
        RightsStatement::DropRoles(..) => "DROP ROLE",
        RightsStatement::GrantRoles(grant) if grant.revokes => "REVOKE ROLE",
        RightsStatement::GrantRoles(_) => "GRANT ROLE",
        RightsStatement::Grant(grant) if grant.revokes => "REVOKE",
        RightsStatement::Grant(_) => "GRANT",
        RightsStatement::Defaults(..) => "ALTER DEFAULT PRIVILEGES",
        RightsStatement::Owner(owned, _) => match owned {
            crate::parse::Owned::Relation("view", ..) => "ALTER VIEW",
            crate::parse::Owned::Relation("sequence", ..) => "ALTER SEQUENCE",
            crate::parse::Owned::Relation("index", ..) => "ALTER INDEX",
            crate::parse::Owned::Relation(..) => "ALTER TABLE",
            crate::parse::Owned::Type("domain", _) => "ALTER DOMAIN",
            crate::parse::Owned::Type(..) => "ALTER TYPE",
            crate::parse::Owned::Function(_) => "ALTER FUNCTION",
            crate::parse::Owned::Schema(_) => "ALTER SCHEMA",
            crate::parse::Owned::Database(_) => "ALTER DATABASE",
        },
        RightsStatement::Reassign(..) => "REASSIGN OWNED",
        RightsStatement::DropOwned(..) => "DROP OWNED",
        RightsStatement::SetRole(..) | RightsStatement::SetAuthorization(..) => "SET",
    }
}

/// Tests a right on columns of a table, or all of them.
pub(super) fn check_columns(work: &Work<'_>, table: &ObjectName, columns: &[Ident], right: &str) -> Result<()> {
    let quoted = |ident: &Ident| Ident::with_quote('"', fold(ident));
    let list: Vec<String> = columns.iter().map(|column| quoted(column).to_string()).collect();
    let sql = match (right, list.is_empty()) {
        ("SELECT", true) => format!("SELECT * FROM {table}"),
        ("SELECT", false) => format!("SELECT {} FROM {table}", list.join(", ")),
        (_, true) => format!("INSERT INTO {table} SELECT * FROM {table} WHERE false"),
        (_, false) => {
            format!("INSERT INTO {table} ({}) VALUES ({})", list.join(", "), vec!["1"; list.len()].join(", "))
        }
    };
    let Some(Parsed::Sql { statement, .. }) = parse(&sql)?.pop() else { return Ok(()) };
    let mut needs = work.permit.needs(work.txn, &statement)?;
    if right == "INSERT" {
        // The query only stands for values.
        needs.relations.retain(|need| need.rights.has(Rights::INSERT) || need.word == "sequence");
    }
    work.permit.check(&needs)
}

/// Tests the rights that the defaults of a table's columns need.
pub(super) fn check_defaults(work: &Work<'_>, table: &ObjectName) -> Result<()> {
    let sql = format!("INSERT INTO {table} DEFAULT VALUES");
    let Some(Parsed::Sql { statement, .. }) = parse(&sql)?.pop() else { return Ok(()) };
    let mut needs = work.permit.needs(work.txn, &statement)?;
    needs.relations.retain(|need| need.word == "sequence");
    work.permit.check(&needs)
}

/// A role that a session becomes: its number and name; none: an embedded session's own.
type Becomes = (Option<u32>, String);

/// SET ROLE
fn set_role(session: &mut Session, name: Option<&str>, local: bool) -> Result<Outcome> {
    let to = session.in_statement(|work| {
        let own = work.settings.session_role;
        let Some(name) = name else { return Ok((own, work.settings.session_user.clone())) };
        let access = work.db.access(work.txn)?;
        let role = find(&access, name)?;
        if own.is_some_and(|own| !access.is_member(own, role)) {
            let message = format!("permission denied to set role \"{name}\"");
            return Err(Error::new(Code::InsufficientPrivilege, message));
        }
        Ok((Some(role), name.to_owned()))
    })?;
    become_role(session, local, &|settings| (settings.role, settings.user) = to.clone());
    Ok(Outcome::done(Tag::Done("SET")))
}

/// SET SESSION AUTHORIZATION
fn set_authorization(session: &mut Session, name: Option<&str>, local: bool) -> Result<Outcome> {
    let first: Becomes = (session.defaults.session_role, session.defaults.session_user.clone());
    let to: Becomes = session.in_statement(|work| {
        let Some(name) = name else { return Ok(first.clone()) };
        let access = work.db.access(work.txn)?;
        let role = find(&access, name)?;
        if first.0.is_some_and(|own| own != role && !access.is_superuser(own)) {
            let message = "permission denied to set session authorization";
            return Err(Error::new(Code::InsufficientPrivilege, message));
        }
        Ok((Some(role), name.to_owned()))
    })?;
    become_role(session, local, &|settings| {
        (settings.role, settings.user) = to.clone();
        (settings.session_role, settings.session_user) = to.clone();
    });
    Ok(Outcome::done(Tag::Done("SET")))
}

fn find(access: &weft_pgcatalog::rights::Access, name: &str) -> Result<u32> {
    let role = access.oid(name).filter(|_| !name.is_empty());
    role.ok_or_else(|| Error::new(Code::InvalidParameterValue, format!("role \"{name}\" does not exist")))
}

/// Changes the settings, until the end of the transaction when `local`.
fn become_role(session: &mut Session, local: bool, change: &dyn Fn(&mut Settings)) {
    if local {
        let Some(block) = &mut session.block else {
            let message = "SET LOCAL can only be used in transaction blocks";
            session.notices.push(crate::notice::Notice::warning("25P01", message));
            return;
        };
        block.after.get_or_insert_with(|| Arc::clone(&session.settings));
    } else if let Some(after) = session.block.as_mut().and_then(|block| block.after.as_mut()) {
        change(Arc::make_mut(after));
    }
    change(Arc::make_mut(&mut session.settings));
}

impl Settings {
    /// The same roles as others have.
    pub(super) fn with_roles_of(mut self, other: &Settings) -> Settings {
        self.user.clone_from(&other.user);
        self.session_user.clone_from(&other.session_user);
        (self.role, self.session_role) = (other.role, other.session_role);
        self
    }

    /// What SHOW role tells.
    pub(super) fn role_shown(&self) -> String {
        if (self.role, &self.user) == (self.session_role, &self.session_user) {
            "none".into()
        } else {
            self.user.clone()
        }
    }
}
