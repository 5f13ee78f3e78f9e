//! What the threads of a simulation did, in order: a running hash, and lines when they are recorded.
//!
//! ```text
//!   12000 committer write db/log/1 4096 512       virtual nanoseconds, thread, operation, path, two numbers
//! ```
//!
//! 1. The hash covers the thread, the operation, its path and numbers, and nothing that differs between two runs of the
//!    same seed: no address, no wall time, no order of a hash map.

use super::op::Op;

/// The trace so far.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    hash: u64,
    lines: Option<Vec<String>>,
}

impl Trace {
    /// An empty trace that keeps its lines when `record` is set.
    pub(crate) fn new(record: bool) -> Trace {
        Trace { hash: 0, lines: record.then(Vec::new) }
    }

    /// Adds one operation.
    pub(crate) fn note(&mut self, thread: usize, thread_name: &str, now_nanos: u64, op: Op<'_>) {
        self.add(thread as u64);
        self.add_text(op.name);
        self.add_text(op.detail);
        self.add(op.a);
        self.add(op.b);
        if let Some(lines) = &mut self.lines {
            lines.push(format!("{now_nanos} {thread_name} {op}"));
        }
    }

    /// The hash of all operations so far.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// The recorded lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.clone().unwrap_or_default()
    }

    fn add(&mut self, word: u64) {
        self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn add_text(&mut self, text: &str) {
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
        self.add(text.len() as u64);
    }
}
