//! Several sorted sources as one: each entry once, with its greatest timestamp.
//!
//! ```text
//!   memory 4   a1@41  c7@44
//!   run 9      a1@12         d2@30        →   a1@41  c7@44  d2@30  e5@3
//!   run 7             c7@9          e5@3
//! ```
//!
//! A source's head is compared with every other's: there are rarely more than ten.

use std::cmp::Ordering;

use weft_contract::Direction;
use weft_format::Result;

use super::entry::EntryBuffer;
use super::memory::MemoryScan;
use super::run_scan::RunScan;

/// One sorted source.
pub(crate) enum Source {
    Run(Box<RunScan>),
    Memory(Box<MemoryScan>),
}

impl Source {
    fn advance(&mut self) -> Result<bool> {
        match self {
            Source::Run(scan) => scan.advance(),
            Source::Memory(scan) => Ok(scan.advance()),
        }
    }

    fn current(&self) -> &EntryBuffer {
        match self {
            Source::Run(scan) => scan.current(),
            Source::Memory(scan) => scan.current(),
        }
    }
}

/// Sources merged.
pub(crate) struct Merged {
    sources: Vec<Source>,
    direction: Direction,
}

impl Merged {
    /// Sources that stand before their first entries.
    pub(crate) fn new(direction: Direction) -> Merged {
        Merged { sources: Vec::new(), direction }
    }

    /// Adds a source, if it has an entry; whether it has.
    pub(crate) fn add(&mut self, mut source: Source) -> Result<bool> {
        let some = source.advance()?;
        if some {
            self.sources.push(source);
        }
        Ok(some)
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Copies the next entry out; false at the end.
    pub(crate) fn next(&mut self, entry: &mut EntryBuffer) -> Result<bool> {
        let Some(first) = self.sources.first() else { return Ok(false) };
        let mut best = first.current();
        for source in &self.sources[1..] {
            let order = source.current().bytes.cmp(&best.bytes);
            let wanted = if self.direction == Direction::Forward { Ordering::Less } else { Ordering::Greater };
            if order == wanted {
                best = source.current();
            }
        }
        entry.set(&best.bytes, best.value_len, best.ts);
        let mut at = 0;
        while at < self.sources.len() {
            let current = self.sources[at].current();
            if current.bytes == entry.bytes {
                entry.ts = entry.ts.max(current.ts);
                if !self.sources[at].advance()? {
                    self.sources.swap_remove(at);
                    continue;
                }
            }
            at += 1;
        }
        Ok(true)
    }
}
