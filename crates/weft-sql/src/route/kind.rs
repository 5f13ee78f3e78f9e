//! What a statement can be to who must choose where it runs.

use weft_kernel::fault::Fault;

/// A deliberate bug: a query that locks rows counts as a read.
pub const READ_LOCKS: Fault = Fault::new("READ_LOCKS");

/// What a statement is to who must choose where it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It reads, and means the same on every node.
    Read,
    /// It begins a transaction; whether a node may have it: it is READ ONLY, of what is there now.
    Begin {
        /// A node may have it.
        reads: bool,
    },
    /// COMMIT or ROLLBACK; whether AND CHAIN begins the next.
    End {
        /// AND CHAIN
        chain: bool,
    },
    /// Within a transaction: savepoints, its modes, cursors of it.
    Within,
    /// It changes settings of the session: those named, or all of them.
    Set(Vec<Assignment>),
    /// It makes something that lives in its connection: the session stays where that is.
    Sticks,
    /// PREPARE, EXECUTE or DEALLOCATE of a prepared statement; none: all of them.
    Prepared {
        /// Its name.
        name: Option<String>,
        /// DEALLOCATE
        forgets: bool,
        /// PREPARE
        makes: bool,
    },
    /// DISCARD ALL
    Discard,
    /// It has an effect, or an answer, that belongs to the writer, and which a node would not refuse.
    Effect,
    /// Its answer may differ between nodes; the writer's is meant.
    Elsewhere,
    /// It may write; nodes refuse that.
    Write,
}

/// A setting that a statement gives a value; the name is folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// `role` and `session_authorization` are among them; none: any setting.
    pub name: Option<String>,
    /// The value, where it is a single constant.
    pub value: Option<String>,
    /// It holds to the end of the transaction; outside of one not at all.
    pub is_local: bool,
}

/// A statement's kind, and why it is that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routed {
    /// What it is.
    pub kind: Kind,
    /// Why, for those who ask.
    pub reason: &'static str,
    /// It may leave something in its connection that another one would not have, and that no text tells: a lock of the
    /// session, a setting. What `currval` remembers does not count: without it that is told as an error.
    pub binds: bool,
}

impl Routed {
    pub(super) fn new(kind: Kind, reason: &'static str) -> Routed {
        let binds = matches!(kind, Kind::Sticks | Kind::Effect | Kind::Prepared { .. });
        Routed { kind, reason, binds }
    }
}
