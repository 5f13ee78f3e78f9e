//! The settings of a session, which both of its connections must have.
//!
//! ```text
//!   SET timezone = 'UTC'        writer     watched: timezone; the writer's value counts
//!   BEGIN; SET timezone = 'CET'; ROLLBACK  the same: what counts is asked when the transaction has ended
//!   SELECT ...                  before it: writer, what is timezone now? 'UTC' ─▶ node: set_config('timezone', 'UTC')
//!   INSERT ... set_config(...)  the session stays at the writer: which settings it set is not in the text
//! ```
//!
//! 1. Which settings differ is noted from the statements' texts; what they are is asked of the connection that was
//!    told, outside of a transaction. So ROLLBACK, savepoints, SET LOCAL, RESET and errors need no second account of
//!    them.
//! 2. The question is asked once, before the first use of the other connection, together with that for the commit
//!    that a node must show.

use std::collections::{BTreeMap, BTreeSet};

use weft_sql::route::Assignment;
use weft_wire::client::{ClientError, ResultSet};

use super::backend::Backend;

/// The role, which SET ROLE sets and SHOW tells.
const ROLE: &str = "role";
/// The router's own: it is told together with what the session asked for.
const TOKEN: &str = "freshness_token";
/// What a statement that begins now on the writer sees. It is a number, no time: no clock has a say in it.
const POSITION: &str = "SELECT weft_published_commit()";

/// What is known of a session's settings.
#[derive(Default)]
pub(super) struct Known {
    /// Those that a statement named.
    watched: BTreeSet<String>,
    /// What they are.
    values: BTreeMap<String, Option<String>>,
}

impl Known {
    /// Notes which settings a statement sets.
    pub(super) fn watch(&mut self, assignments: &[Assignment]) {
        self.watched.extend(assignments.iter().filter_map(|assignment| assignment.name.clone()));
    }

    /// Notes that a setting must be known, whatever the statements said; true when that is new.
    pub(super) fn watch_name(&mut self, name: &str) -> bool {
        self.watched.insert(name.to_owned())
    }

    /// What a setting is, as far as that was asked.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).and_then(Option::as_deref)
    }

    /// Notes a value without asking for it: a deliberate bug.
    pub(super) fn believe(&mut self, assignments: &[Assignment]) {
        for Assignment { name, value, .. } in assignments {
            if let (Some(name), Some(value)) = (name, value) {
                self.values.insert(name.clone(), Some(value.clone()));
            }
        }
    }

    /// The commit that the session itself asked to see.
    fn token(&self) -> u64 {
        self.value(TOKEN).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// Asks a connection for the values, if they are `wanted`, and for its newest commit, if that is; the commit.
    pub(super) fn ask(&mut self, of: &mut Backend, settings: bool, position: bool) -> Result<Option<u64>, ClientError> {
        let names: Vec<&String> = self.watched.iter().filter(|name| *name != ROLE && settings).collect();
        let asks_role = settings && self.watched.contains(ROLE);
        let mut texts = Vec::new();
        if position {
            texts.push(POSITION.to_owned());
        }
        if !names.is_empty() {
            let calls: Vec<String> =
                names.iter().map(|name| format!("current_setting({}, true)", quoted(name))).collect();
            texts.push(format!("SELECT {}", calls.join(", ")));
        }
        if asks_role {
            texts.push("SHOW role".into());
        }
        if texts.is_empty() {
            return Ok(None);
        }
        let mut results = of.query(&texts.join("; "))?.into_iter();
        let mut row =
            || results.next().and_then(|result: ResultSet| result.rows.into_iter().next()).unwrap_or_default();
        let commit = position.then(|| row().into_iter().next().flatten().and_then(|text| text.parse().ok())).flatten();
        if !names.is_empty() {
            let values: Vec<(String, Option<String>)> = names.into_iter().cloned().zip(row()).collect();
            self.values.extend(values);
        }
        if asks_role {
            self.values.insert(ROLE.into(), row().into_iter().next().flatten());
        }
        if settings {
            of.given.extend(self.values.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        Ok(commit)
    }

    /// Tells a connection what differs, and the commit that it must show; 0: none.
    pub(super) fn tell(&self, to: &mut Backend, token: u64) -> Result<(), ClientError> {
        let differs =
            |(name, value): &(&String, &Option<String>)| *name != TOKEN && to.given.get(*name) != Some(*value);
        let mut texts: Vec<String> = self.values.iter().filter(differs).map(|(name, value)| put(name, value)).collect();
        let token = token.max(self.token());
        if token != to.token && to.is_node() {
            texts.push(format!("SET {TOKEN} = '{token}'"));
        }
        if texts.is_empty() {
            return Ok(());
        }
        to.query(&texts.join("; "))?;
        to.token = token;
        to.given.extend(self.values.iter().map(|(name, value)| (name.clone(), value.clone())));
        Ok(())
    }
}

/// The statement that gives a setting a value.
fn put(name: &str, value: &Option<String>) -> String {
    match (name, value.as_deref()) {
        (ROLE, None | Some("none")) => "RESET ROLE".into(),
        (ROLE, Some(role)) => format!("SET ROLE \"{}\"", role.replace('"', "\"\"")),
        (name, value) => format!("SELECT set_config({}, {}, false)", quoted(name), quoted(value.unwrap_or(""))),
    }
}

/// A constant of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_constants() {
        assert_eq!(put("app.user", &Some("o'neill".into())), "SELECT set_config('app.user', 'o''neill', false)");
        assert_eq!(put("app.user", &None), "SELECT set_config('app.user', '', false)");
        assert_eq!(put("role", &Some("an\"n".into())), "SET ROLE \"an\"\"n\"");
        assert_eq!(put("role", &Some("none".into())), "RESET ROLE");
    }

    #[test]
    fn the_later_token_counts() {
        let mut known = Known::default();
        known.watch(&[Assignment { name: Some(TOKEN.into()), value: None, is_local: false }]);
        assert_eq!(known.token(), 0);
        known.values.insert(TOKEN.into(), Some("1042".into()));
        assert_eq!(known.token(), 1042);
    }
}
