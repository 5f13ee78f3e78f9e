//! Nodes, as their writer sees them.

use std::time::Duration;

use weft_format::{Lsn, Timestamp};

use crate::standing::Phase;

/// A node, as its writer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSeen {
    /// What it is called.
    pub name: String,
    /// Where it listens; empty: nobody said.
    pub address: String,
    /// What it does.
    pub phase: Phase,
    /// How far it has read the log.
    pub position: Lsn,
    /// Bytes of log that it has not read.
    pub lag_bytes: u64,
    /// The last commit that it shows.
    pub published: Timestamp,
    /// How long ago it told something.
    pub heard: Duration,
    /// What it needs is beyond the bounds: it will have to join anew.
    pub is_left_behind: bool,
}

/// Who knows the nodes that follow.
pub(crate) trait Nodes: Send + Sync {
    /// Those that have registered, by name.
    fn nodes(&self) -> Vec<NodeSeen>;
}
