//! Reads of one row by its key; scans stand in `scan/`.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use weft_contract::{Location, Newest, Read, Sample, ScanOutput, ScanRequest, TableStatistics};
use weft_format::{Result, RowCodec, Schema, Timestamp, Value};

use super::layout::Layout;
use super::store::Store;
use super::version::Version;

/// A row id as everybody else has it.
pub(super) fn location_of(row_id: u64) -> Option<Location> {
    Location::new(row_id + 1)
}

/// The row id that a location means.
pub(super) fn row_id_of(location: Location) -> u64 {
    location.bits() - 1
}

/// Row ids as a column of a scan has them.
pub(super) fn locations(row_ids: impl Iterator<Item = u64>) -> ArrayRef {
    let places: Int64Array = row_ids.map(|row_id| location_of(row_id).map(|location| location.number())).collect();
    Arc::new(places)
}

impl Layout {
    /// The version of a key that a snapshot sees, and its row id.
    pub(super) fn find(&self, key: &[u8], read_ts: Timestamp) -> Result<Option<(u64, Version<'_>)>> {
        let mut last = None;
        for row_id in self.row_ids(key) {
            let row_id = row_id?;
            if last.replace(row_id) == Some(row_id) {
                continue;
            }
            if let Some(version) = self.version(row_id, read_ts)? {
                return Ok(Some((row_id, version)));
            }
            // Those before the newest are gone.
            if read_ts == Timestamp::MAX {
                break;
            }
        }
        Ok(None)
    }
}

impl Store {
    /// Reads the newest version, whatever any snapshot sees. A record repeats what was unmerged when it came: who
    /// finds it must not have pinned a base from before. Snapshots do not: what they see came before they pinned.
    fn as_of_now<R>(&self, read: impl Fn(&Layout) -> Result<R>) -> Result<R> {
        loop {
            let layout = self.layout();
            let found = read(&layout)?;
            if self.cut() == layout.base.cut {
                return Ok(found);
            }
        }
    }
}

impl Read for Store {
    fn read(
        &self,
        codec: &RowCodec,
        key: &[u8],
        read_ts: Timestamp,
        columns: &[usize],
        values: &mut Vec<Value>,
    ) -> Result<bool> {
        values.clear();
        self.given_up.check(read_ts)?;
        let layout = self.layout();
        layout.check_snapshot(read_ts)?;
        let Some((_, version)) = layout.find(key, read_ts)? else { return Ok(false) };
        for &column in columns {
            values.push(match self.keys.integer_of(key, column) {
                Some(value) => value,
                None => version.value(codec, column, &self.hops)?,
            });
        }
        Ok(true)
    }

    fn read_row(&self, key: &[u8], read_ts: Timestamp) -> Result<Option<Arc<[u8]>>> {
        self.given_up.check(read_ts)?;
        let read = |layout: &Layout| {
            layout.check_snapshot(read_ts)?;
            let Some((_, version)) = layout.find(key, read_ts)? else { return Ok(None) };
            version.row(&self.shape().codec, &self.hops).map(Some)
        };
        if read_ts == Timestamp::MAX { self.as_of_now(read) } else { read(&self.layout()) }
    }

    fn newest(&self, key: &[u8]) -> Result<Option<Newest>> {
        self.given_up.check(Timestamp::MAX)?;
        self.as_of_now(|layout| {
            let found = layout.find(key, Timestamp::MAX)?;
            let newest = |(row_id, version): (u64, Version<'_>)| {
                Ok(Newest { insert_ts: version.since()?, location: location_of(row_id) })
            };
            found.map(newest).transpose()
        })
    }

    fn newest_row(&self, key: &[u8]) -> Result<Option<(Newest, Arc<[u8]>)>> {
        self.given_up.check(Timestamp::MAX)?;
        self.as_of_now(|layout| {
            let Some((row_id, version)) = layout.find(key, Timestamp::MAX)? else { return Ok(None) };
            let newest = Newest { insert_ts: version.since()?, location: location_of(row_id) };
            Ok(Some((newest, version.row(&self.shape().codec, &self.hops)?)))
        })
    }

    fn greatest_key(&self) -> Result<Option<Vec<u8>>> {
        let layout = self.layout();
        let in_files = layout.base.keys.iter().map(|run| run.file.table.max_key().to_vec()).max();
        let in_memory = layout.tails().filter_map(|tails| tails.keys.greatest()).max();
        Ok(in_files.max(in_memory))
    }

    fn scan(&self, schema: &Arc<Schema>, request: ScanRequest) -> Result<ScanOutput> {
        self.start_scan(schema, request)
    }

    fn sample(&self, schema: &Arc<Schema>, request: ScanRequest, stretches: usize) -> Result<Sample> {
        self.start_sample(schema, request, stretches)
    }

    fn statistics(&self) -> TableStatistics {
        self.estimates()
    }
}
