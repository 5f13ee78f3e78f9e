//! What is done with the pieces of documents as a whole: assembling, saying what is known of each path.

use crate::document::assemble::Assembler;
use crate::document::cursor::Documents;
use crate::document::front::{Bounds, damaged};
use crate::document::levels::Tag;
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
    /// Bounds of its numbers, and of its strings.
    pub bounds: [Bounds; 2],
}

/// What is known of every path that has levels of its own, without reading any of them.
pub(crate) fn statistics(documents: &Documents<'_>) -> Vec<PathStatistics> {
    let mut found = Vec::new();
    let mut path = Vec::new();
    collect(&documents.front.schema.root, &mut path, &mut documents.front.streams.iter(), &mut found);
    found
}

fn collect(
    node: &Node,
    path: &mut Vec<Option<Box<str>>>,
    streams: &mut std::slice::Iter<'_, super::front::StreamFront>,
    found: &mut Vec<PathStatistics>,
) {
    if node.has_stream()
        && let Some(stream) = streams.next()
    {
        let bounds = [0, 2].map(|at: usize| match &stream.columns[at] {
            Some(column) => column.bounds.clone(),
            None => Bounds::Unknown,
        });
        found.push(PathStatistics { path: path.clone(), counts: stream.counts.map(u64::from), bounds });
    }
    for (name, member) in &node.members {
        path.push(Some(name.clone()));
        collect(member, path, streams, found);
        path.pop();
    }
    if node.has_rest {
        // The rest is no path.
        streams.next();
    }
    if let Some(element) = &node.element {
        path.push(None);
        collect(element, path, streams, found);
        path.pop();
    }
}
