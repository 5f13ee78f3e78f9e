//! Nodes as bytes: on pages of a file, and in records of the log.
//!
//! ```text
//!   page       hash u64 | record u64 | page u64 | next u64 | left u32 | bytes of a node | zeros
//!              a node that is longer goes on on page `next` (0: it does not); `left` counts its bytes from here on;
//!              where it goes on the number of the page has its highest bit set
//!   node       number u64 | level u8 | low | has high u8, high | count | cells
//!   cell       of a leaf: since u64 | 0 | key behind the prefix | row      dead: since u64 | 1 | key behind the prefix
//!              above: key behind the prefix | child u64
//!   record     01 | pages let go | further pages | node       the node as it is about to be written
//!              02 | count | steps                             a change of the tree, whole or not at all
//!   record     03 | load u64 | count | key and row of each     rows of a load; load 0: it begins with this record
//!              04 | load u64           no commit will attach the load
//!   step       01 | node               this node is there, or is like this
//!              02 | number | key       what it has from the key on is gone
//!              03 | number | key | child u64      the child has the keys from this one on
//!              04 | number | key       no child begins there
//!              05 | number             nobody uses the page
//! ```
//!
//! Lengths and counts are varints. Documented in docs/format/row-table.md.

use std::sync::Arc;

use weft_format::bloom::hash_bytes;
use weft_format::wire::{ByteReader, put_varint};
use weft_format::{Error, RecordNo, Result, Timestamp};
use weft_kernel::fault::active;

use super::faults;
use super::node::Node;

/// A key and its row (row codec).
pub(super) type LoadedRow = (Arc<[u8]>, Arc<[u8]>);

/// Bytes of a page before those of its node.
pub(super) const HEADER_BYTES: usize = 36;

/// What the four hashes of a page begin with, and multiply by: odd numbers whose bits are spread.
const LANE_KEYS: [u64; 4] =
    [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xd6e8_feb8_6659_fd93];

/// A cell has at least so many bytes.
const CELL_BYTES_MIN: usize = 9;

/// In the number of a page on which a node goes on.
pub(super) const FURTHER: u64 = 1 << 63;

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("a page of method row is damaged: {what}")).hint("restore the file from a backup")
}

fn put_length(bytes: &mut Vec<u8>, length: usize) {
    put_varint(bytes, length as u64);
}

fn put_string(bytes: &mut Vec<u8>, string: &[u8]) {
    put_length(bytes, string.len());
    bytes.extend_from_slice(string);
}

fn read_length(reader: &mut ByteReader<'_>) -> Result<usize> {
    usize::try_from(reader.varint()?).map_err(|_| damaged("a length is too large"))
}

fn read_string<'a>(reader: &mut ByteReader<'a>) -> Result<&'a [u8]> {
    let length = read_length(reader)?;
    reader.take(length)
}

/// One step of a change of the tree.
#[derive(Clone, Debug)]
pub(super) enum TreeStep {
    /// This node is there, or is like this.
    New(Node),
    /// What a node has from a key on is gone.
    Cut(u64, Vec<u8>),
    /// A child has the keys from this one on.
    Link(u64, Vec<u8>, u64),
    /// No child begins at the key.
    Unlink(u64, Vec<u8>),
    /// Nobody uses the page.
    Free(u64),
}

/// What a record says.
#[derive(Clone, Debug)]
pub(super) enum PageChange {
    /// A node as it was when it was about to be written.
    Image {
        /// Pages that it went on on and does not any more.
        freed: Vec<u64>,
        /// Pages that it goes on on.
        further: Vec<u64>,
        /// The node.
        node: Node,
    },
    /// Steps that belong together.
    Tree(Vec<TreeStep>),
    /// Rows of a load; none: it begins with this record.
    Rows(Option<RecordNo>, Vec<LoadedRow>),
    /// No commit will attach the load.
    Gone(RecordNo),
}

/// The bytes of a node.
pub(super) fn body_of(node: &Node) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(node.body_bytes());
    bytes.extend(node.number.to_le_bytes());
    bytes.push(node.level);
    put_string(&mut bytes, &node.low);
    bytes.push(u8::from(node.high.is_some()));
    put_string(&mut bytes, node.high.as_deref().unwrap_or_default());
    put_length(&mut bytes, node.len());
    for cell in node.cells() {
        if node.is_leaf() {
            bytes.extend(cell.since.0.to_le_bytes());
            bytes.push(u8::from(cell.is_dead));
            put_string(&mut bytes, cell.suffix);
            if !cell.is_dead {
                put_string(&mut bytes, cell.value);
            }
        } else {
            put_string(&mut bytes, cell.suffix);
            bytes.extend(cell.value);
        }
    }
    assert_eq!(bytes.len(), node.body_bytes(), "a node knows how long it is (node 3)");
    bytes
}

fn read_body(reader: &mut ByteReader<'_>) -> Result<Node> {
    let (number, level, low) = (reader.u64()?, reader.u8()?, read_string(reader)?.to_vec());
    let has_high = reader.flag()?;
    let high = Some(read_string(reader)?.to_vec()).filter(|_| has_high);
    if high.as_ref().is_some_and(|high| *high <= low) {
        return Err(damaged("it ends before it begins"));
    }
    let mut node = Node::new(number, level, low, high);
    let count = read_length(reader)?;
    node.reserve(count.min(reader.bytes.len() / CELL_BYTES_MIN), reader.bytes.len());
    for _ in 0..count {
        let (mut since, mut is_dead) = (Timestamp(0), false);
        if level == 0 {
            (since, is_dead) = (Timestamp(reader.u64()?), reader.flag()?);
        }
        let suffix = read_string(reader)?;
        let value = match level {
            0 if is_dead => &[],
            0 => read_string(reader)?,
            _ => reader.take(8)?,
        };
        if !node.take_cell(suffix, (since, is_dead), value) {
            return Err(damaged("its keys are out of order"));
        }
    }
    let is_whole = level == 0 || node.len() > 0 && node.key(0) == node.low;
    if !node.ends_in_bounds() {
        return Err(damaged("it has keys of others"));
    }
    if is_whole { Ok(node) } else { Err(damaged("its first child does not begin with it")) }
}

/// The node of some bytes.
pub(super) fn node_of(bytes: &[u8]) -> Result<Node> {
    let mut reader = ByteReader::new(bytes, damaged);
    let node = read_body(&mut reader)?;
    reader.end()?;
    Ok(node)
}

/// The hash of a page: that of four hashes, each of every fourth word, and of the bytes behind these. One word need not
/// wait for the one before it, so it takes a quarter of the time that one hash of all bytes does.
fn page_hash(bytes: &[u8]) -> u64 {
    let mut lanes = LANE_KEYS;
    let mut chunks = bytes.chunks_exact(8 * LANE_KEYS.len());
    for chunk in &mut chunks {
        for ((lane, word), key) in lanes.iter_mut().zip(chunk.as_chunks::<8>().0).zip(LANE_KEYS) {
            let product = u128::from(*lane ^ u64::from_le_bytes(*word)) * u128::from(key);
            *lane = product as u64 ^ (product >> 64) as u64;
        }
    }
    let mut ends = [0; 2 * 8 * LANE_KEYS.len()];
    let (hashes, rest) = ends.split_at_mut(8 * LANE_KEYS.len());
    hashes.as_chunks_mut::<8>().0.iter_mut().zip(lanes).for_each(|(end, lane)| *end = lane.to_le_bytes());
    rest[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    hash_bytes(&ends)
}

/// How many pages a node needs.
pub(super) fn pages_for(body_bytes: usize, page_bytes: usize) -> usize {
    body_bytes.div_ceil(page_bytes - HEADER_BYTES).max(1)
}

/// A node's bytes cut into pages with these numbers.
pub(super) fn pages_of(body: &[u8], record: RecordNo, numbers: &[u64], page_bytes: usize) -> Vec<(u64, Vec<u8>)> {
    let part_bytes = page_bytes - HEADER_BYTES;
    assert_eq!(numbers.len(), pages_for(body.len(), page_bytes), "a node has the pages that it needs");
    let page = |at: usize| {
        let rest = &body[at * part_bytes..];
        let mut bytes = vec![0; 8];
        bytes.extend(record.0.to_le_bytes());
        let mark = if at == 0 { 0 } else { FURTHER };
        bytes.extend((numbers[at] | mark).to_le_bytes());
        bytes.extend(numbers.get(at + 1).copied().unwrap_or(0).to_le_bytes());
        bytes.extend((rest.len() as u32).to_le_bytes());
        bytes.extend(&rest[..rest.len().min(part_bytes)]);
        bytes.resize(page_bytes, 0);
        let hash = page_hash(&bytes[8..]);
        bytes[..8].copy_from_slice(&hash.to_le_bytes());
        (numbers[at], bytes)
    };
    (0..numbers.len()).map(page).collect()
}

/// A page as it lies on disk.
pub(super) struct DiskPage<'a> {
    /// The record that it was written with.
    pub(super) record: RecordNo,
    /// Where its node goes on; 0: nowhere.
    pub(super) next: u64,
    /// Bytes of the node from here on.
    pub(super) left: usize,
    /// The part of them that is here.
    pub(super) part: &'a [u8],
}

impl<'a> DiskPage<'a> {
    /// The page of this number (with [`FURTHER`]: on which a node goes on); none when it is torn, was never written,
    /// or is another.
    pub(super) fn read(bytes: &'a [u8], number: u64) -> Option<DiskPage<'a>> {
        let (hash, behind) = bytes.split_at_checked(8)?;
        // Pages of before have one hash of all bytes.
        let is_whole = || page_hash(behind).to_le_bytes() == *hash || hash_bytes(behind).to_le_bytes() == *hash;
        if !active(faults::ACCEPT_TORN_PAGES) && !is_whole() {
            return None;
        }
        let mut reader = ByteReader::new(behind, damaged);
        let record = RecordNo(reader.u64().ok()?);
        if reader.u64().ok()? != number {
            return None;
        }
        let (next, left) = (reader.u64().ok()?, reader.u32().ok()? as usize);
        let room = bytes.len() - HEADER_BYTES;
        let part = reader.take(left.min(room)).ok()?;
        (left > room || next == 0).then_some(DiskPage { record, next, left, part })
    }
}

fn put_numbers(bytes: &mut Vec<u8>, numbers: &[u64]) {
    put_length(bytes, numbers.len());
    numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
}

fn read_numbers(reader: &mut ByteReader<'_>) -> Result<Vec<u64>> {
    (0..read_length(reader)?).map(|_| reader.u64()).collect()
}

/// The record of a node that is about to be written.
pub(super) fn image_record(body: &[u8], freed: &[u64], further: &[u64]) -> Vec<u8> {
    let mut bytes = vec![1];
    put_numbers(&mut bytes, freed);
    put_numbers(&mut bytes, further);
    bytes.extend(body);
    bytes
}

/// The record of a change of the tree.
pub(super) fn tree_record(steps: &[TreeStep]) -> Vec<u8> {
    let mut bytes = vec![2];
    put_length(&mut bytes, steps.len());
    for step in steps {
        match step {
            TreeStep::New(node) => {
                bytes.push(1);
                bytes.extend(body_of(node));
            }
            TreeStep::Cut(number, key) => put_step(&mut bytes, 2, *number, key),
            TreeStep::Link(number, key, child) => {
                put_step(&mut bytes, 3, *number, key);
                bytes.extend(child.to_le_bytes());
            }
            TreeStep::Unlink(number, key) => put_step(&mut bytes, 4, *number, key),
            TreeStep::Free(number) => {
                bytes.push(5);
                bytes.extend(number.to_le_bytes());
            }
        }
    }
    bytes
}

/// The record of some rows of a load; none: the load begins with it.
pub(super) fn rows_record(load: Option<RecordNo>, rows: &[LoadedRow]) -> Vec<u8> {
    let mut bytes = vec![3];
    bytes.extend(load.unwrap_or(RecordNo(0)).0.to_le_bytes());
    put_length(&mut bytes, rows.len());
    for (key, row) in rows {
        put_string(&mut bytes, key);
        put_string(&mut bytes, row);
    }
    bytes
}

/// The record that no commit will attach a load.
pub(super) fn gone_record(load: RecordNo) -> Vec<u8> {
    let mut bytes = vec![4];
    bytes.extend(load.0.to_le_bytes());
    bytes
}

fn put_step(bytes: &mut Vec<u8>, kind: u8, number: u64, key: &[u8]) {
    bytes.push(kind);
    bytes.extend(number.to_le_bytes());
    put_string(bytes, key);
}

/// A record, read.
pub(super) fn read_record(bytes: &[u8]) -> Result<PageChange> {
    let mut reader = ByteReader::new(bytes, damaged);
    let change = match reader.u8()? {
        1 => PageChange::Image {
            freed: read_numbers(&mut reader)?,
            further: read_numbers(&mut reader)?,
            node: read_body(&mut reader)?,
        },
        2 => PageChange::Tree((0..read_length(&mut reader)?).map(|_| read_step(&mut reader)).collect::<Result<_>>()?),
        3 => {
            let load = Some(RecordNo(reader.u64()?)).filter(|load| load.0 > 0);
            let row = |reader: &mut ByteReader<'_>| Ok((read_string(reader)?.into(), read_string(reader)?.into()));
            PageChange::Rows(load, (0..read_length(&mut reader)?).map(|_| row(&mut reader)).collect::<Result<_>>()?)
        }
        4 => PageChange::Gone(RecordNo(reader.u64()?)),
        _ => return Err(damaged("the log has an unknown change of it")),
    };
    reader.end()?;
    Ok(change)
}

fn read_step(reader: &mut ByteReader<'_>) -> Result<TreeStep> {
    Ok(match reader.u8()? {
        1 => TreeStep::New(read_body(reader)?),
        2 => TreeStep::Cut(reader.u64()?, read_string(reader)?.to_vec()),
        3 => TreeStep::Link(reader.u64()?, read_string(reader)?.to_vec(), reader.u64()?),
        4 => TreeStep::Unlink(reader.u64()?, read_string(reader)?.to_vec()),
        5 => TreeStep::Free(reader.u64()?),
        _ => return Err(damaged("the log has an unknown change of the tree")),
    })
}

#[cfg(test)]
mod tests;
