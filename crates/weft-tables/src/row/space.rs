//! Which pages of the file nobody uses.
//!
//! ```text
//!   pages 0 .. 9, free 3 4 7     take: 3, 4, 7, then 9, 10 ...      a merge lets 5 go: 5 is taken next
//! ```
//!
//! Crash: the edit of each job has it as it was then; what the log says of pages after that (a node on a page, a page
//! that was let go) is done to it again, and what comes last counts.

use std::collections::BTreeSet;

use weft_format::wire::{ByteReader, put_varint};
use weft_format::{Error, Result};

use super::loads::Loads;

/// The first byte of every payload.
pub(super) const PAYLOAD_VERSION: u8 = 2;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Space {
    /// No page from here on was ever used.
    end: u64,
    free: BTreeSet<u64>,
}

/// What the manifest says of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Payload {
    /// Pages that nobody uses.
    pub(super) space: Space,
    /// Rows, about.
    pub(super) rows: u64,
    /// What became of loads.
    pub(super) loads: Loads,
}

impl Space {
    /// The lowest page that nobody uses.
    pub(super) fn take(&mut self) -> u64 {
        self.free.pop_first().unwrap_or_else(|| {
            self.end += 1;
            self.end - 1
        })
    }

    /// No page below this one is free, and none from it on was ever used.
    pub(super) fn up_to(end: u64) -> Space {
        Space { end, free: BTreeSet::new() }
    }

    /// Nobody uses a page any more; whether somebody did.
    pub(super) fn free(&mut self, page: u64) -> bool {
        assert!(page != super::node::ROOT, "the root is always used");
        self.reach(page) | self.free.insert(page)
    }

    /// Somebody uses a page, as the log says; whether nobody did.
    pub(super) fn used(&mut self, page: u64) -> bool {
        self.reach(page) | self.free.remove(&page)
    }

    /// There are pages up to this one: those between that nobody has named nobody uses.
    fn reach(&mut self, page: u64) -> bool {
        let is_beyond = page >= self.end;
        self.free.extend(self.end..page);
        self.end = self.end.max(page + 1);
        is_beyond
    }

    /// Pages up to the last that was ever used.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// How many of them nobody uses.
    pub(super) fn free_count(&self) -> u64 {
        self.free.len() as u64
    }

    /// Whether nobody uses a page.
    pub(super) fn is_free(&self, page: u64) -> bool {
        page >= self.end || self.free.contains(&page)
    }
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("the manifest's payload of a table of method row is damaged: {what}"))
}

impl Payload {
    /// Its bytes: version, rows, end of the pages, stretches of free ones, each as a gap and a count; loads.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut stretches: Vec<(u64, u64)> = Vec::new();
        for &page in &self.space.free {
            match stretches.last_mut().filter(|(first, count)| first + count == page) {
                Some((_, count)) => *count += 1,
                None => stretches.push((page, 1)),
            }
        }
        let mut bytes = vec![PAYLOAD_VERSION];
        put_varint(&mut bytes, self.rows);
        put_varint(&mut bytes, self.space.end);
        put_varint(&mut bytes, stretches.len() as u64);
        let mut end = 0;
        for (first, count) in stretches {
            put_varint(&mut bytes, first - end);
            put_varint(&mut bytes, count);
            end = first + count;
        }
        self.loads.put(&mut bytes);
        bytes
    }

    /// What the bytes say.
    pub(super) fn decode(bytes: &[u8]) -> Result<Payload> {
        let mut reader = ByteReader::new(bytes, damaged);
        let version = reader.u8()?;
        if !(1..=PAYLOAD_VERSION).contains(&version) {
            return Err(damaged("its version is unknown"));
        }
        let (rows, end) = (reader.varint()?, reader.varint()?);
        let (mut free, mut at) = (BTreeSet::new(), 0u64);
        for _ in 0..reader.varint()? {
            let (gap, count) = (reader.varint()?, reader.varint()?);
            let first = at.checked_add(gap).ok_or_else(|| damaged("a stretch is beyond its end"))?;
            at = first.checked_add(count).filter(|at| *at <= end).ok_or_else(|| damaged("a stretch is too long"))?;
            free.extend(first..at);
        }
        // Before the second version there were no loads.
        let loads = if version == 1 { Loads::default() } else { Loads::read(&mut reader)? };
        reader.end()?;
        Ok(Payload { space: Space { end, free }, rows, loads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_used_again_and_payloads_say_which() {
        let mut space = Space::default();
        assert_eq!([0, 1, 2, 3, 4, 5].map(|_| space.take()), [0, 1, 2, 3, 4, 5]);
        assert!([4, 2, 3].iter().all(|&page| space.free(page)) && space.used(8) && !space.used(8));
        let payload = Payload { space: space.clone(), rows: 77, loads: Loads::default() };
        assert_eq!(payload.encode(), [2, 77, 9, 2, 2, 3, 1, 2, 0, 0, 0, 0, 0]);
        assert_eq!(Payload::decode(&[1, 77, 9, 2, 2, 3, 1, 2]).unwrap(), payload);
        assert_eq!(Payload::decode(&payload.encode()).unwrap(), payload);
        assert!(Payload::decode(&[1, 77, 2, 1, 2, 3]).is_err());
        assert_eq!([(); 6].map(|()| space.take()), [2, 3, 4, 6, 7, 9]);
    }
}
