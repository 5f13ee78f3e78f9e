//! A range of rows: its main store, the deltas after it, and older generations for as long as somebody may ask.
//!
//! ```text
//!   past   main 12 + delta (12, 40]      now   main 40 + delta (40, 52], being merged + delta (52, ..]
//! ```
//!
//! Concurrency: who appends shares the lock, who ends a delta or switches has it alone; readers go on with what they
//! pinned. Nothing by size is done under it.

use std::sync::Arc;

use weft_env::sync::RwLock;
use weft_format::Timestamp;

use super::delta::Delta;
use super::generation::{Generation, Main};

/// A main store that was replaced, and the delta that its successor has.
struct Past {
    main: Arc<Main>,
    delta: Arc<Delta>,
}

/// What a reader pins.
#[derive(Clone)]
pub(super) struct Layout {
    /// Oldest first.
    past: Vec<Arc<Past>>,
    pub(super) main: Arc<Main>,
    /// A delta that has ended and is not in the main store yet.
    pub(super) ended: Option<Arc<Delta>>,
    pub(super) active: Arc<Delta>,
}

/// See the module.
pub(super) struct Range {
    rows: u32,
    layout: RwLock<Arc<Layout>>,
}

impl Layout {
    /// What a snapshot reads; none: it is not registered, and what it sees is gone.
    pub(super) fn generation(&self, read_ts: Timestamp) -> Option<Generation<'_>> {
        if read_ts >= self.main.cut {
            return Some(Generation { main: &self.main, deltas: [Some(&self.active), self.ended.as_deref()] });
        }
        let past = self.past.iter().rev().find(|past| past.main.cut <= read_ts)?;
        Some(Generation { main: &past.main, deltas: [Some(&past.delta), None] })
    }

    /// How many older generations are kept.
    pub(super) fn past_count(&self) -> u64 {
        self.past.len() as u64
    }
}

impl Range {
    pub(super) fn new(rows: u32) -> Range {
        let active = Arc::new(Delta::new(rows));
        let layout = Layout { past: Vec::new(), main: Arc::default(), ended: None, active };
        Range { rows, layout: RwLock::new(Arc::new(layout)) }
    }

    pub(super) fn layout(&self) -> Arc<Layout> {
        self.layout.read().clone()
    }

    /// Appends to the delta of a timestamp; returns how many changes wait that no merge has begun with.
    pub(super) fn append(&self, ts: Timestamp, append: impl FnOnce(&Delta)) -> u32 {
        let layout = self.layout.read();
        let of_ended = layout.ended.as_ref().filter(|ended| ended.ends_at().is_some_and(|to| ts <= to));
        append(of_ended.unwrap_or(&layout.active));
        layout.active.len()
    }

    /// Ends the active delta when it has so many changes and the one before is in the main store; `last` is the last
    /// timestamp that was handed out, asked for while nobody appends.
    pub(super) fn end(&self, changes: u32, last: impl FnOnce() -> Timestamp) {
        let mut layout = self.layout.write();
        if layout.ended.is_some() || layout.active.len() < changes.max(1) {
            return;
        }
        let active = Arc::new(Delta::new(self.rows));
        layout.active.end(last());
        let ended = Some(layout.active.clone());
        *layout = Arc::new(Layout { ended, active, ..Layout::clone(&layout) });
    }

    /// The main store has the ended delta from now on; what nobody asks for at or before `limit` goes. Returns how many
    /// changes wait already.
    pub(super) fn switch(&self, main: Arc<Main>, limit: Timestamp) -> u32 {
        let mut layout = self.layout.write();
        let mut next = Layout::clone(&layout);
        let delta = next.ended.take().expect("one merge at a time takes the ended delta (dbm 1)");
        assert!(delta.ends_at() == Some(main.cut), "a main store is the state at the end of its delta (dbm 1)");
        next.past.push(Arc::new(Past { main: std::mem::replace(&mut next.main, main), delta }));
        next.past.retain(|past| past.delta.ends_at().is_some_and(|to| to > limit));
        *layout = Arc::new(next);
        layout.active.len()
    }
}
