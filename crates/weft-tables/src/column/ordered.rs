//! Rows by a range of keys, as many as are wanted: what the row tables and the column tables have is merged by key.
//!
//! ```text
//!   row table 9   d f'          heads  d           one version of d: is it seen?
//!   t12-5 [a..f]  e f                  e           two of f: looked for as a point read does
//!   t12-9 [g..z]                       not opened before the merge comes to g
//! ```
//!
//! 1. A part is opened when no head that was not given out comes before its first key (from the other end: its last).
//!    So of disjoint parts only those are read that have rows of the answer; and of one that is opened nothing is read
//!    before its first key comes, unless the range begins within it.
//! 2. A key of which one version is found here has no other that the snapshot could see: every row table and every part
//!    whose keys reach as far is among the heads, but for those that are newer than the snapshot.

use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use weft_contract::{Direction, Ordered, OrderedRows, Wanted};
use weft_format::{Error, KeyRange, Result, RowCodec, Timestamp};
use weft_kernel::fault::active;

use super::faults;
use super::layout::{Layout, Site};
use super::part::Part;
use super::row_table::{RowTable, Version};
use super::store::Store;
use crate::taking::Taking;

impl Ordered for Store {
    fn read_first(&self, codec: &RowCodec, wanted: Wanted<'_>, rows: &mut OrderedRows) -> Result<Option<Vec<u8>>> {
        self.given_up.check(wanted.read_ts)?;
        let layout = self.layout();
        layout.check_snapshot(wanted.read_ts)?;
        let mut taking = Taking::new(&wanted, rows);
        let mut walk = Walk::new(&layout, &wanted)?;
        while let Some((key, seen)) = walk.next()? {
            let seen = match seen {
                Some(site) => {
                    self.put_values(&site, codec, &key, wanted.columns, &mut rows.values)?;
                    true
                }
                None => false,
            };
            if seen {
                rows.keys.push(key.clone());
            }
            if taking.is_enough(rows) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }
}

/// Where the next version of a source lies.
enum Source<'a> {
    Rows {
        table: &'a Arc<RowTable>,
        version: Version<'a>,
    },
    /// The positions that are left, the next one at the end where the walk comes from.
    Part {
        part: &'a Arc<Part>,
        left: Range<u32>,
        position: u32,
    },
}

/// A source, and the key of its next version.
struct Head<'a> {
    key: Vec<u8>,
    source: Source<'a>,
}

/// The versions of a range by key.
struct Walk<'a> {
    layout: &'a Layout,
    range: &'a KeyRange,
    direction: Direction,
    read_ts: Timestamp,
    heads: Vec<Head<'a>>,
    /// Parts by lowest key that are not open and may have keys of the range (ordered 1).
    closed: Range<usize>,
    /// Of a walk backward: parts that were passed in `closed` because others there reach further, by their last key.
    passed: BinaryHeap<(&'a [u8], usize)>,
}

impl<'a> Walk<'a> {
    fn new(layout: &'a Layout, wanted: &Wanted<'a>) -> Result<Walk<'a>> {
        let Wanted { range, direction, read_ts, .. } = *wanted;
        let parts = &layout.columns.parts;
        let below = |end: &Vec<u8>| parts.partition_point(|part| part.key_min() < end.as_slice());
        let end = range.to.as_ref().map_or(parts.len(), below);
        let closed = match direction {
            Direction::Forward => below(&range.from).min(end)..end,
            Direction::Backward => 0..end,
        };
        let (heads, passed) = (Vec::new(), BinaryHeap::new());
        let mut walk = Walk { layout, range, direction, read_ts, heads, closed, passed };
        for table in layout.row_tables().filter(|table| table.from <= read_ts) {
            walk.open_rows(table);
        }
        if direction == Direction::Forward && !active(faults::RANGE_LEAVES_COVERING) {
            for part in layout.columns.covering(&range.from).filter(|part| part.key_min() < range.from.as_slice()) {
                walk.open_part(part)?;
            }
        }
        Ok(walk)
    }

    fn open_rows(&mut self, table: &'a Arc<RowTable>) {
        let first = table.first_of(self.range, self.direction);
        if let Some(version) = within(first, self.direction, self.range) {
            let key = version.key().key().to_vec();
            self.heads.push(Head { key, source: Source::Rows { table, version } });
        }
    }

    fn open_part(&mut self, part: &'a Arc<Part>) -> Result<()> {
        if part.insert_ts_min() > self.read_ts || part.key_max() < self.range.from.as_slice() {
            return Ok(());
        }
        let first = match &self.range.from {
            from if part.key_min() >= from.as_slice() => 0,
            from => part.table.first_from(part.cache(), from)?,
        };
        let end = match &self.range.to {
            Some(to) if part.key_max() >= to.as_slice() => part.table.first_from(part.cache(), to)?,
            _ => part.row_count(),
        };
        let mut left = first..end;
        let next = match self.direction {
            Direction::Forward => left.next(),
            Direction::Backward => left.next_back(),
        };
        let Some(position) = next else { return Ok(()) };
        // The ends of a part are known without a look into it.
        let key = match position {
            0 => part.key_min().to_vec(),
            last if last + 1 == part.row_count() => part.key_max().to_vec(),
            _ => part.table.key(part.cache(), position)?,
        };
        if !self.range.has(&key) {
            return Err(Error::corrupt(format!("the rows of {} are not ordered by key", part.file)));
        }
        self.heads.push(Head { key, source: Source::Part { part, left, position } });
        Ok(())
    }

    /// The place of the head that comes first, after parts were opened that may come before it (ordered 1).
    fn first(&mut self) -> Result<Option<usize>> {
        loop {
            let is_before = |a: &Head<'_>, b: &Head<'_>| self.direction.is_before(&a.key, &b.key);
            let places = 0..self.heads.len();
            let first = places.reduce(|a, b| if is_before(&self.heads[b], &self.heads[a]) { b } else { a });
            let due = match self.direction {
                Direction::Forward => self.due_forward(first),
                Direction::Backward => self.due_backward(first),
            };
            match due {
                Some(part) => self.open_part(part)?,
                None => return Ok(first),
            }
        }
    }

    /// Takes a closed part whose first key comes before that of a head, or is it.
    fn due_forward(&mut self, first: Option<usize>) -> Option<&'a Arc<Part>> {
        let columns = &self.layout.columns;
        let at = self.closed.clone().next()?;
        let is_due = first.is_none_or(|first| columns.parts[at].key_min() <= self.heads[first].key.as_slice());
        is_due.then(|| {
            self.closed.start += 1;
            &columns.parts[at]
        })
    }

    /// The same from the other end, where parts are not ordered by the key that comes first.
    fn due_backward(&mut self, first: Option<usize>) -> Option<&'a Arc<Part>> {
        let columns = &self.layout.columns;
        loop {
            let key = first.map_or(self.range.from.as_slice(), |first| self.heads[first].key.as_slice());
            let next = self.closed.clone().next_back();
            // Without a head the one is opened that reaches furthest, once none that is closed may reach further.
            let reach = next.map(|at| columns.reach_of(at)).filter(|reach| *reach >= key);
            match self.passed.peek() {
                Some(&(last, at)) if last >= key && reach.is_none_or(|reach| last >= reach) => {
                    self.passed.pop();
                    return Some(&columns.parts[at]);
                }
                _ => {}
            }
            let (Some(at), Some(_)) = (next, reach) else { return None };
            self.closed.end -= 1;
            self.passed.push((columns.parts[at].key_max(), at));
        }
    }

    /// The next key of which there are versions, and what the snapshot sees of it.
    fn next(&mut self) -> Result<Option<(Vec<u8>, Option<Site<'a>>)>> {
        let Some(first) = self.first()? else { return Ok(None) };
        let (key, site) = self.take(first)?;
        let mut versions = 1;
        while let Some(again) = self.heads.iter().position(|head| head.key == key) {
            self.take(again)?;
            versions += 1;
        }
        let seen = match versions {
            _ if active(faults::RANGE_TRUSTS_FIRST) => is_seen(&site, self.read_ts)?.then_some(site),
            1 => is_seen(&site, self.read_ts)?.then_some(site),
            _ => self.layout.find(&key, self.read_ts)?,
        };
        Ok(Some((key, seen)))
    }

    /// Takes a head; its source goes on, or ends.
    fn take(&mut self, at: usize) -> Result<(Vec<u8>, Site<'a>)> {
        let head = &mut self.heads[at];
        let (site, next) = match &mut head.source {
            Source::Rows { table, version } => {
                let site = Site::Row(table, version.value().clone());
                let next = within(beside(version, self.direction), self.direction, self.range);
                let key = next.map(|next| {
                    let key = next.key().key().to_vec();
                    *version = next;
                    key
                });
                (site, key)
            }
            Source::Part { part, left, position } => {
                let (part, site) = (*part, Site::Column(part, *position));
                let next = match self.direction {
                    Direction::Forward => left.next(),
                    Direction::Backward => left.next_back(),
                };
                let key = next.map(|next| {
                    *position = next;
                    part.table.key(part.cache(), next)
                });
                (site, key.transpose()?)
            }
        };
        match next {
            Some(key) => {
                debug_assert!(!self.direction.is_before(&key, &head.key), "a source goes one way");
                Ok((std::mem::replace(&mut head.key, key), site))
            }
            None => Ok((self.heads.swap_remove(at).key, site)),
        }
    }
}

/// The version that comes behind one.
fn beside<'a>(version: &Version<'a>, direction: Direction) -> Option<Version<'a>> {
    match direction {
        Direction::Forward => version.next(),
        Direction::Backward => version.prev(),
    }
}

/// A version, or the first behind it, whose key is in a range; none: it has ended. The skip list is ordered by keys
/// with their timestamps, so a version may lie behind a bound that its key lies before.
fn within<'a>(mut version: Option<Version<'a>>, direction: Direction, range: &KeyRange) -> Option<Version<'a>> {
    loop {
        let here = version?;
        let key = here.key().key();
        if range.has(key) {
            return Some(here);
        }
        let has_ended = match direction {
            Direction::Forward => key > range.from.as_slice(),
            Direction::Backward => key < range.from.as_slice(),
        };
        if has_ended {
            return None;
        }
        version = beside(&here, direction);
    }
}

/// Whether a snapshot sees a version that is the only one of its key (ordered 2).
fn is_seen(site: &Site<'_>, read_ts: Timestamp) -> Result<bool> {
    match site {
        Site::Row(_, place) => {
            let (began, ended) = (place.chunk.insert_ts(place.slot), place.chunk.delete_ts(place.slot));
            Ok(began <= read_ts && (ended > read_ts || ended == Timestamp::MAX))
        }
        Site::Column(part, position) => {
            let is_there = part.insert_ts_max() <= read_ts || part.insert_ts(*position)? <= read_ts;
            Ok(is_there && !part.marks.is_dead_at(*position, read_ts))
        }
    }
}
