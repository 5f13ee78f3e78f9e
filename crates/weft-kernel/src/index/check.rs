//! Reads everything an index has and tests what must hold; and what it looks like from outside.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_format::bloom::may_contain_in;
use weft_format::{Error, Result};

use super::block::BlockReader;
use super::entry::EntryBuffer;
use super::filter::{SEGMENT_BLOCKS, value_hash};
use super::run::Run;
use super::store::IndexStore;

/// How an index is doing; estimates where noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexStatistics {
    /// Entries in memories and runs; those that are in several count several times.
    pub entries: u64,
    /// Entries in memories.
    pub memory_entries: u64,
    /// Bytes of the memories, charged to the row budget.
    pub memory_bytes: u64,
    /// Bytes of what open runs keep in memory besides the cache pool: block indexes.
    pub open_bytes: u64,
    /// Bytes of the run files.
    pub disk_bytes: u64,
    /// Run files.
    pub runs: u64,
    /// The most runs that one range reads.
    pub runs_per_range_max: u64,
    /// Value ranges.
    pub ranges: u64,
    /// Frozen memories that wait to be written.
    pub frozen: u64,
    /// Since the index was opened: looked up values that a run did not have, as its filter or its blocks told.
    pub filter_misses: u64,
    /// Those of them that the filter let through.
    pub filter_false_positives: u64,
    /// Entries that were noted as outdated and no merge has looked for yet.
    pub stale_noted: u64,
}

impl IndexStore {
    /// Reads all files of the index and tests every checksum and invariant; returns what is wrong, one line each.
    pub fn check(&self) -> Result<Vec<String>> {
        let layout = self.layout();
        let mut wrong = Vec::new();
        for run in layout.runs().values() {
            if let Err(error) = check_run(run) {
                wrong.push(run.named(&error).message().to_owned());
            }
        }
        for (at, range) in layout.ranges.iter().enumerate() {
            for run in &range.runs {
                let (first, last) = (&run.footer.first.bytes, &run.footer.last.bytes);
                if last[..] < *range.low || layout.range_end(at).is_some_and(|high| &first[..] >= high) {
                    let name = &self.context.name;
                    wrong.push(format!("index \"{name}\": range {at} reads file {}, which lies elsewhere", run.file));
                }
            }
        }
        Ok(wrong)
    }

    /// Counts and sizes.
    pub fn statistics(&self) -> IndexStatistics {
        let layout = self.layout();
        let mut statistics = IndexStatistics {
            ranges: layout.ranges.len() as u64,
            frozen: layout.frozen.len() as u64,
            filter_misses: self.retired[0].load(Ordering::Relaxed),
            filter_false_positives: self.retired[1].load(Ordering::Relaxed),
            ..IndexStatistics::default()
        };
        for memory in layout.memories() {
            statistics.memory_entries += memory.entry_count();
            statistics.memory_bytes += memory.bytes();
        }
        statistics.entries = statistics.memory_entries;
        for range in &layout.ranges {
            statistics.runs_per_range_max = statistics.runs_per_range_max.max(range.runs.len() as u64);
            statistics.stale_noted += range.stale.noted();
        }
        for run in layout.runs().values() {
            let (misses, false_positives) = run.misses();
            statistics.runs += 1;
            statistics.entries += run.footer.entry_count;
            statistics.disk_bytes += run.file_bytes;
            statistics.open_bytes += run.footer.memory_bytes() as u64;
            statistics.filter_misses += misses;
            statistics.filter_false_positives += false_positives;
        }
        statistics
    }
}

/// Tests a run against docs/format/index-run.md, by the numbers of its invariants.
fn check_run(run: &Arc<Run>) -> Result<()> {
    let footer = &run.footer;
    let mut entry = EntryBuffer::default();
    let mut last: Option<Vec<u8>> = None;
    let mut value: Option<Vec<u8>> = None;
    let mut value_count = 0;
    let mut segment: Arc<[u8]> = Arc::default();
    for (number, place) in footer.blocks.iter().enumerate() {
        let wrong = |what: &str| Err(Error::corrupt(format!("block {number}: {what}")));
        if number.is_multiple_of(SEGMENT_BLOCKS) {
            segment = run.segment(number / SEGMENT_BLOCKS, false)?;
        }
        let block = run.block(number, false)?;
        let mut reader = BlockReader::new(&block)?;
        entry.bytes.clear();
        let mut count = 0;
        while reader.next(&block, &mut entry)? {
            if last.as_ref().is_some_and(|last| *last >= entry.bytes) {
                return wrong("its entries do not ascend (2)");
            }
            if count == 0 && (entry.bytes[..] < *footer.separator(number) || !above(footer.separator(number), &last)) {
                return wrong("its separator does not separate (3)");
            }
            if !(footer.ts_min..=footer.ts_max).contains(&entry.ts) {
                return wrong("an entry's timestamp is not between the footer's (6)");
            }
            let this = entry.entry().value;
            if !may_contain_in(&segment, footer.filter.hash(value_hash(this))) {
                return wrong("its filter denies a value that is there (4)");
            }
            if value.as_deref() != Some(this) {
                value = Some(this.to_vec());
                value_count += 1;
            }
            if last.is_none() && (entry.bytes != footer.first.bytes) {
                return wrong("the first entry is not the footer's (6)");
            }
            last = Some(entry.bytes.clone());
            count += 1;
        }
        if count != place.entries {
            return wrong("it has another number of entries than the footer says (6)");
        }
    }
    if last.as_ref() != Some(&footer.last.bytes) || value_count != footer.value_count {
        return Err(Error::corrupt("its last entry or number of values is not the footer's (6)"));
    }
    Ok(())
}

fn above(separator: &[u8], last: &Option<Vec<u8>>) -> bool {
    last.as_ref().is_none_or(|last| separator > &last[..])
}
