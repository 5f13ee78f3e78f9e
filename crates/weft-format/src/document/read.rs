//! What is done with the pieces of documents as a whole: assembling, saying what is known of each path.

use std::collections::BTreeSet;

use crate::document::assemble::Assembler;
use crate::document::cursor::Documents;
use crate::document::front::{Bounds, StreamFront, damaged};
use crate::document::levels::Tag;
use crate::document::plan::StreamPlan;
use crate::document::schema::Node;
use crate::encoding::{Block, Kind, plain_block};
use crate::error::Result;
use crate::mask::Mask;

/// The documents of the rows that are wanted, as a block of texts; other rows read as NULL.
pub(crate) fn assemble(documents: &Documents<'_>, wanted: Option<&Mask>) -> Result<Block> {
    let mut assembler = Assembler::new(documents, &documents.plan.root);
    let rows = documents.front.rows;
    let (mut ends, mut bytes) = (Vec::with_capacity(rows), Vec::new());
    let mut validity = vec![0_u64; rows.div_ceil(64)];
    for row in 0..rows {
        if wanted.is_none_or(|mask| mask.get(row)) && assembler.read(row, &mut bytes)?.is_some() {
            validity[row / 64] |= 1 << (row % 64);
        }
        ends.push(u32::try_from(bytes.len()).map_err(|_| damaged("its documents have 4 GiB and more"))?);
    }
    plain_block(Kind::Text, &ends, &bytes, &validity)
}

/// One document, as a block of one row.
pub(crate) fn assemble_row(documents: &Documents<'_>, row: usize) -> Result<Block> {
    let mut bytes = Vec::new();
    let found = Assembler::new(documents, &documents.plan.root).read(row, &mut bytes)?;
    let end = u32::try_from(bytes.len()).map_err(|_| damaged("a document has 4 GiB and more"))?;
    plain_block(Kind::Text, &[end], &bytes, &[u64::from(found.is_some())])
}

/// What the front knows of one path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathStatistics {
    /// The steps from the document: names, and none for the elements of an array.
    pub path: Vec<Option<Box<str>>>,
    /// How many values there are of each kind, in the order of [`Tag::ALL`].
    pub counts: [u64; Tag::ALL.len()],
    /// In how many rows there is none; of a path below an array, 0.
    pub missing: u64,
    /// Bounds of its numbers, and of its strings.
    pub bounds: [Bounds; 2],
    /// Bytes of its pieces as they are stored; of levels that several paths share, the first has them.
    pub bytes: u64,
}

/// What is known of every path that has levels of its own, without reading any of them; pieces have so many bytes.
pub(crate) fn statistics(documents: &Documents<'_>, piece_bytes: &dyn Fn(usize) -> u64) -> Vec<PathStatistics> {
    let streams = documents.front.streams.iter().zip(&documents.plan.streams);
    let mut collector = Collector { path: Vec::new(), streams, piece_bytes, seen: BTreeSet::new(), found: Vec::new() };
    collector.collect(&documents.front.schema.root);
    collector.found
}

/// Walks the schema with the streams beside it.
struct Collector<'a, S> {
    path: Vec<Option<Box<str>>>,
    streams: S,
    piece_bytes: &'a dyn Fn(usize) -> u64,
    /// The first pieces of levels that were counted.
    seen: BTreeSet<u32>,
    found: Vec<PathStatistics>,
}

impl<'a, S: Iterator<Item = (&'a StreamFront, &'a StreamPlan)>> Collector<'a, S> {
    fn collect(&mut self, node: &Node) {
        if node.has_stream()
            && let Some((stream, plan)) = self.streams.next()
        {
            self.note(stream, plan);
        }
        for (name, member) in &node.members {
            self.path.push(Some(name.clone()));
            self.collect(member);
            self.path.pop();
        }
        if node.has_rest {
            // The rest is no path.
            self.streams.next();
        }
        if let Some(element) = &node.element {
            self.path.push(None);
            self.collect(element);
            self.path.pop();
        }
    }

    fn note(&mut self, stream: &StreamFront, plan: &StreamPlan) {
        let bounds = [0, 2].map(|at: usize| match &stream.columns[at] {
            Some(column) => column.bounds.clone(),
            None => Bounds::Unknown,
        });
        let is_new = stream.constant.is_none() && self.seen.insert(stream.first_piece);
        let bytes = stream.pieces(is_new).map(self.piece_bytes).sum();
        let counts = stream.counts.map(u64::from);
        let is_once_a_row = plan.first_array.is_none();
        let missing = if is_once_a_row { stream.level_count as u64 - counts.iter().sum::<u64>() } else { 0 };
        self.found.push(PathStatistics { path: self.path.clone(), counts, missing, bounds, bytes });
    }
}
