//! Isolation levels.

use std::fmt;

/// What a transaction is protected from. PostgreSQL's names and behaviour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IsolationLevel {
    /// A snapshot per statement. A statement that meets a row changed since then is run again on a new snapshot, its
    /// locks kept.
    ReadCommitted,
    /// One snapshot for the whole transaction; the first committer wins (snapshot isolation).
    #[default]
    RepeatableRead,
    /// As if transactions ran one after the other, in the order of their commits: what was read is validated at
    /// commit.
    Serializable,
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IsolationLevel::ReadCommitted => "read committed",
            IsolationLevel::RepeatableRead => "repeatable read",
            IsolationLevel::Serializable => "serializable",
        })
    }
}
