//! The plain model: every version of every key in a map.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_format::Timestamp;

/// From when on a key has which row, or none.
type Version = (Timestamp, Option<Arc<[u8]>>);

/// What a table holds, as simply as it can be said.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// By key: from when on which row is there (none: no row), ascending.
    versions: BTreeMap<Vec<u8>, Vec<Version>>,
}

impl Model {
    /// An empty table.
    pub fn new() -> Model {
        Model::default()
    }

    /// From `ts` on the key has this row, or none.
    pub fn set(&mut self, ts: Timestamp, key: &[u8], row: Option<Arc<[u8]>>) {
        let versions = self.versions.entry(key.to_vec()).or_default();
        let at = versions.partition_point(|version| version.0 < ts);
        versions.insert(at, (ts, row));
    }

    /// The row of a key at a snapshot.
    pub fn get(&self, ts: Timestamp, key: &[u8]) -> Option<&Arc<[u8]>> {
        let versions = self.versions.get(key)?;
        let seen = versions.iter().rev().find(|version| version.0 <= ts)?;
        seen.1.as_ref()
    }

    /// All rows at a snapshot, by key.
    pub fn rows(&self, ts: Timestamp) -> BTreeMap<Vec<u8>, Arc<[u8]>> {
        let row = |key: &Vec<u8>| self.get(ts, key).map(|row| (key.clone(), row.clone()));
        self.versions.keys().filter_map(row).collect()
    }

    /// All versions: the row, from when on it was there, and until when; MAX: it is there.
    pub fn versions(&self) -> impl Iterator<Item = (&Arc<[u8]>, Timestamp, Timestamp)> {
        self.versions.values().flat_map(|versions| {
            versions.iter().enumerate().filter_map(move |(at, (since, row))| {
                let until = versions.get(at + 1).map_or(Timestamp::MAX, |next| next.0);
                Some((row.as_ref()?, *since, until))
            })
        })
    }

    /// When the table changed last.
    pub fn changed_last(&self) -> Option<Timestamp> {
        self.versions.values().filter_map(|versions| versions.last()).map(|version| version.0).max()
    }

    /// Every key that ever had a row.
    pub fn keys(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.versions.keys()
    }
}
