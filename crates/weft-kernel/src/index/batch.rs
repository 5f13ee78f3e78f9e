//! Some entries, copied out of a block or a skip list, to be walked in either direction.

use weft_format::Timestamp;

use super::entry::EntryBuffer;

/// Entries in ascending order, in buffers that are used again.
#[derive(Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    places: Vec<BatchPlace>,
}

#[derive(Clone, Copy)]
struct BatchPlace {
    start: u32,
    len: u32,
    value_len: u32,
    ts: Timestamp,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    pub(crate) fn push(&mut self, bytes: &[u8], value_len: usize, ts: Timestamp) {
        assert!(self.bytes.len() + bytes.len() <= u32::MAX as usize, "a batch is smaller than 4 GiB");
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        self.places.push(BatchPlace { start, len: bytes.len() as u32, value_len: value_len as u32, ts });
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of all entries.
    pub(crate) fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn bytes(&self, index: usize) -> &[u8] {
        let place = &self.places[index];
        &self.bytes[place.start as usize..(place.start + place.len) as usize]
    }

    /// Sorts entries that were pushed in any order.
    pub(crate) fn sort(&mut self) {
        let Batch { bytes, places } = self;
        let of = |place: &BatchPlace| &bytes[place.start as usize..(place.start + place.len) as usize];
        places.sort_unstable_by(|a, b| of(a).cmp(of(b)));
    }

    /// An entry's value and key.
    pub(crate) fn entry(&self, index: usize) -> (&[u8], &[u8]) {
        self.bytes(index).split_at(self.places[index].value_len as usize)
    }

    /// Copies an entry out.
    pub(crate) fn read(&self, index: usize, entry: &mut EntryBuffer) {
        let place = self.places[index];
        entry.set(self.bytes(index), place.value_len as usize, place.ts);
    }

    /// How many entries are below `target`.
    pub(crate) fn count_below(&self, target: &[u8]) -> usize {
        self.places.partition_point(|place| &self.bytes[place.start as usize..][..place.len as usize] < target)
    }
}
