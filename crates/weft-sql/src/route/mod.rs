//! Where a statement may run, for who stands before a writer and its read nodes: told from its text alone.
//!
//! ```text
//!   SELECT sum(v) FROM t                 Read          any node
//!   SELECT v FROM t FOR UPDATE           Write         the writer: it locks rows
//!   SELECT pg_advisory_lock(7)           Effect        the writer; on a node it would lock nothing that others see
//!   SELECT * FROM pg_stat_activity       Elsewhere     the writer; a node would tell of itself
//!   SET search_path = a                  Set           the writer; nodes are told later
//!   SELEC 1                              Write         the writer says what is wrong
//! ```
//!
//! 1. A read is what surely changes nothing and means the same on every node. All else, and whatever is not known, is
//!    for the writer: a wrong answer here costs a node its use, never a session its truth.
//! 2. The parser is the one that runs statements; functions are known by the tables that run them. A function of a user
//!    is not known.
//! 3. What is behind a view is not looked at: there is no catalog here. A view cannot write: nodes refuse what would.

mod kind;
mod reads;
mod statements;

pub use kind::{Assignment, Kind, READ_LOCKS, Routed};

#[cfg(test)]
mod tests;

/// Where a text may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// On any node.
    Anywhere,
    /// On the writer, and why.
    Writer(&'static str),
}

/// Where a text of statements may run: anywhere when each of them may.
pub fn route_of(text: &str) -> Route {
    let other = routed(text).into_iter().find(|statement| statement.kind != Kind::Read);
    other.map_or(Route::Anywhere, |statement| Route::Writer(statement.reason))
}

/// What the statements of a text are, in its order.
pub fn routed(text: &str) -> Vec<Routed> {
    match crate::parse::parse(text) {
        Ok(parsed) => parsed.iter().map(|statement| statements::of(statement, text)).collect(),
        Err(_) => vec![Routed { kind: Kind::Write, reason: "it is not understood", binds: true }],
    }
}
