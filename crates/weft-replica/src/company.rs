//! What an engine knows of the processes beside it, for who has the engine alone: sessions and views.
//!
//! ```text
//!   Company::of(engine)   none: it is alone    writer: nodes()    node: standing(), and waiting for what it shows
//! ```

use std::sync::{Arc, Weak};
use std::time::Duration;

use weft_format::{Result, Timestamp};
use weft_kernel::{CancelToken, Engine};

use crate::seen::{NodeSeen, Nodes};
use crate::standing::{Goal, NodeStatus, Standing, Waited};

/// The processes beside an engine's. It keeps nothing of them.
pub struct Company(Kind);

enum Kind {
    /// It writes, and nodes may follow.
    Writer(Weak<dyn Nodes>),
    /// It follows, by which join of the node.
    Node(Weak<Standing>, u64),
}

impl Company {
    pub(crate) fn writer(nodes: &Arc<dyn Nodes>) -> Company {
        Company(Kind::Writer(Arc::downgrade(nodes)))
    }

    pub(crate) fn node_of(standing: &Arc<Standing>, join: u64) -> Company {
        Company(Kind::Node(Arc::downgrade(standing), join))
    }

    /// That of an engine.
    pub fn of(engine: &Engine) -> Option<&Company> {
        engine.company()
    }

    /// The nodes that follow, by name; none when it does not write.
    pub fn nodes(&self) -> Vec<NodeSeen> {
        match &self.0 {
            Kind::Writer(nodes) => nodes.upgrade().map_or_else(Vec::new, |nodes| nodes.nodes()),
            Kind::Node(..) => Vec::new(),
        }
    }

    /// Where a node is; none when it is none, or has ended.
    pub fn standing(&self) -> Option<NodeStatus> {
        Some(self.node()?.status())
    }

    fn node(&self) -> Option<Arc<Standing>> {
        match &self.0 {
            Kind::Writer(_) => None,
            Kind::Node(standing, _) => standing.upgrade(),
        }
    }

    /// Waits until a node shows a commit. Who writes shows it.
    pub fn wait_for(&self, ts: Timestamp, limit: Duration, cancel: Option<&CancelToken>) -> Result<Waited> {
        self.wait(Goal::Shows(ts), limit, cancel)
    }

    /// Waits until a node shows everything that was acknowledged so long ago; with no time, everything that is
    /// acknowledged by now. Who writes shows it.
    pub fn wait_within(&self, age: Duration, limit: Duration, cancel: Option<&CancelToken>) -> Result<Waited> {
        self.wait(if age.is_zero() { Goal::Latest } else { Goal::Within(age) }, limit, cancel)
    }

    fn wait(&self, goal: Goal, limit: Duration, cancel: Option<&CancelToken>) -> Result<Waited> {
        match (&self.0, self.node()) {
            (Kind::Writer(_), _) => Ok(Waited::Shown),
            (Kind::Node(_, join), Some(node)) => node.wait((goal, Some(*join)), limit, cancel),
            // It follows no more, so nothing will come.
            (Kind::Node(..), None) => Ok(Waited::TimedOut),
        }
    }
}
