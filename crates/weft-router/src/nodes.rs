//! The read nodes: which are well, and which has the fewest sessions.
//!
//! ```text
//!   a  up    12 sessions        attach() ─▶ b: 12
//!   b  up    11 sessions        drop     ─▶ b: 11
//!   c  down   0 sessions        until a probe finds it well
//! ```
//!
//! 1. A node is down when it lets nobody connect, or its probe says so. What one session meets there (it was ended, its
//!    password is not taken) says nothing to the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::options::Place;

/// A node.
pub(crate) struct Node {
    pub(crate) place: Place,
    /// Its place among the nodes.
    pub(crate) number: usize,
    is_up: AtomicBool,
    sessions: AtomicUsize,
}

impl Node {
    pub(crate) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::SeqCst)
    }

    /// Notes whether it is well; true when that is new.
    pub(crate) fn set_up(&self, is_up: bool) -> bool {
        self.is_up.swap(is_up, Ordering::SeqCst) != is_up
    }
}

/// A session's place at a node; dropping it frees the place.
pub(crate) struct Attached(Arc<Node>);

impl Attached {
    pub(crate) fn node(&self) -> &Node {
        &self.0
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::SeqCst);
    }
}

/// All of them.
pub(crate) struct Nodes(Vec<Arc<Node>>);

impl Nodes {
    /// All are taken to be well until one is found not to be.
    pub(crate) fn new(places: &[Place]) -> Nodes {
        let node = |(number, place): (usize, &Place)| {
            let (is_up, sessions) = (AtomicBool::new(true), AtomicUsize::new(0));
            Arc::new(Node { place: place.clone(), number, is_up, sessions })
        };
        Nodes(places.iter().enumerate().map(node).collect())
    }

    pub(crate) fn all(&self) -> &[Arc<Node>] {
        &self.0
    }

    /// A place at the node with the fewest sessions among those that are well and `wanted`; none when none is.
    pub(crate) fn attach(&self, wanted: impl Fn(&Node) -> bool) -> Option<Attached> {
        let up = self.0.iter().filter(|node| node.is_up() && wanted(node));
        let node = up.min_by_key(|node| node.sessions.load(Ordering::SeqCst))?;
        node.sessions.fetch_add(1, Ordering::SeqCst);
        Some(Attached(Arc::clone(node)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_with_the_fewest_sessions_is_taken() {
        let places: Vec<Place> = ["a:1", "b:2"].iter().map(|text| Place::parse(text).unwrap()).collect();
        let nodes = Nodes::new(&places);
        let host = |attached: &Attached| attached.node().place.host.clone();
        let first = nodes.attach(|_| true).unwrap();
        let second = nodes.attach(|_| true).unwrap();
        assert_ne!(host(&first), host(&second));
        let freed = host(&first);
        drop(first);
        assert_eq!(host(&nodes.attach(|_| true).unwrap()), freed);
        assert!(nodes.all()[0].set_up(false) && !nodes.all()[0].set_up(false));
        assert_eq!(host(&nodes.attach(|_| true).unwrap()), "b");
        nodes.all()[1].set_up(false);
        assert!(nodes.attach(|_| true).is_none());
        nodes.all()[0].set_up(true);
        assert_eq!(host(&nodes.attach(|_| true).unwrap()), "a");
        assert!(nodes.attach(|node| node.number > 0).is_none());
    }
}
