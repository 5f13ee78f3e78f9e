//! The column tables of a layout: by lowest key, each in its layer, and the borders of the buckets.
//!
//! ```text
//!   parts    t12-5 [a..f]   t12-9 [b..z]   t12-6 [g..z]      by lowest key
//!   layers   baseline       incremental    baseline
//!   reach    0              1              1                 which part so far reaches furthest
//!   borders  [g]                                             bucket 0: ..g   bucket 1: g..
//! ```
//!
//! A lookup of "h" starts at the last part whose lowest key is at or below it and walks back while one reaches as far:
//! over disjoint parts that is one step.
//!
//! Invariants 1 and 3 to 5 of `layout.rs` are asserted here.
//!
//! Concurrency: immutable; layouts that differ in their row tables only share one.

use std::collections::HashMap;
use std::sync::Arc;

use weft_format::FileId;

use super::borders::Borders;
use super::part::Part;
use super::payload::Layer;

/// A part and the layer it is in.
pub(crate) type Placed = (Arc<Part>, Layer);

/// The column tables of one layout version.
#[derive(Default)]
pub(crate) struct Columns {
    /// By lowest key.
    pub(crate) parts: Vec<Arc<Part>>,
    /// The layer of each part.
    pub(crate) layers: Vec<Layer>,
    pub(crate) borders: Borders,
    /// Rows of all parts, dead ones too.
    pub(crate) rows: u64,
    /// Bytes of all files.
    pub(crate) bytes: u64,
    reach: Vec<u32>,
    by_file: HashMap<FileId, u32>,
}

impl Columns {
    pub(crate) fn new(mut placed: Vec<Placed>, borders: Borders) -> Columns {
        placed.sort_by(|(a, _), (b, _)| a.key_min().cmp(b.key_min()).then(a.file.cmp(&b.file)));
        let (parts, layers): (Vec<Arc<Part>>, Vec<Layer>) = placed.into_iter().unzip();
        let mut reach: Vec<u32> = Vec::with_capacity(parts.len());
        let mut by_file = HashMap::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let furthest = match reach.last() {
                Some(&before) if parts[before as usize].key_max() >= part.key_max() => before,
                _ => index as u32,
            };
            reach.push(furthest);
            assert!(
                by_file.insert(part.file, index as u32).is_none(),
                "file {} is in a layout once (layout 1)",
                part.file
            );
        }
        let rows = parts.iter().map(|part| u64::from(part.row_count())).sum();
        let bytes = parts.iter().map(|part| part.table.file_bytes()).sum();
        let columns = Columns { parts, layers, borders, rows, bytes, reach, by_file };
        if let Some(fault) = columns.fault() {
            panic!("{fault}");
        }
        columns
    }

    fn fault(&self) -> Option<&'static str> {
        let tables = self.placed().map(|(part, layer)| (part.key_min(), part.key_max(), layer));
        self.borders.fault_of(tables)
    }

    /// The parts with their layers, by lowest key.
    pub(crate) fn placed(&self) -> impl Iterator<Item = (&Arc<Part>, Layer)> {
        self.parts.iter().zip(self.layers.iter().copied())
    }

    /// With incremental parts more.
    pub(crate) fn with(&self, attached: &[Arc<Part>]) -> Columns {
        let mut placed: Vec<Placed> = self.placed().map(|(part, layer)| (part.clone(), layer)).collect();
        placed.extend(attached.iter().map(|part| (part.clone(), Layer::Incremental)));
        Columns::new(placed, self.borders.clone())
    }

    /// The part of a file.
    pub(crate) fn part(&self, file: FileId) -> Option<&Arc<Part>> {
        self.by_file.get(&file).map(|&index| &self.parts[index as usize])
    }

    /// The greatest key of a part and of those whose lowest key comes before its own.
    pub(crate) fn reach_of(&self, at: usize) -> &[u8] {
        self.parts[self.reach[at] as usize].key_max()
    }

    /// The parts whose key range covers `key`.
    pub(crate) fn covering<'a, 'k>(&'a self, key: &'k [u8]) -> impl Iterator<Item = &'a Arc<Part>> + use<'a, 'k> {
        let end = self.parts.partition_point(|part| part.key_min() <= key);
        let reaches = move |&index: &usize| self.reach_of(index) >= key;
        (0..end).rev().take_while(reaches).map(|index| &self.parts[index]).filter(move |part| part.key_max() >= key)
    }
}

/// What is wrong with parts that a manifest lists, before they become a layout.
pub(crate) fn fault_of(placed: &[Placed], borders: &Borders) -> Option<&'static str> {
    let mut tables: Vec<(&[u8], &[u8], Layer)> =
        placed.iter().map(|(part, layer)| (part.key_min(), part.key_max(), *layer)).collect();
    tables.sort_unstable_by_key(|table| table.0);
    borders.fault_of(tables.into_iter())
}
