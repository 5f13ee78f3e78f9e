//! The versions that rows built in bulk replace: keys in order, and where each old version was seen.
//!
//! ```text
//!   UPDATE t SET v = 0      keys    k1           k2           k5
//!                           places  t12-7:0      t12-7:1      none      (k5 was in a row table: found by its key)
//!                           columns {v}
//! ```
//!
//! 1. Keys ascend; each is there once.

use crate::location::Location;

/// Versions that end when an attachment becomes part of the table.
#[derive(Debug, Default)]
pub struct Replaced {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    places: Vec<Option<Location>>,
    /// The columns that the statement set, ascending.
    columns: Vec<usize>,
}

impl Replaced {
    /// None so far, of a statement that sets some columns.
    pub fn new(mut columns: Vec<usize>) -> Replaced {
        columns.sort_unstable();
        Replaced { columns, ..Replaced::default() }
    }

    /// Adds a version whose key is beyond those before (replaced 1).
    pub fn push(&mut self, key: &[u8], place: Option<Location>) {
        assert!(self.ends.is_empty() || self.key(self.len() - 1) < key, "replaced keys ascend (replaced 1)");
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.places.push(place);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The columns that the statement set, ascending.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Keys and places, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<Location>)> {
        (0..self.len()).map(|at| (self.key(at), self.places[at]))
    }

    /// Where the version of a key was seen; none when it is not replaced.
    pub fn find(&self, key: &[u8]) -> Option<Option<Location>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) < key { low = middle + 1 } else { high = middle }
        }
        (low < self.len() && self.key(low) == key).then(|| self.places[low])
    }

    /// Memory, about.
    pub fn memory_bytes(&self) -> u64 {
        let per_row = size_of::<usize>() + size_of::<Option<Location>>();
        (self.bytes.len() + self.len() * per_row) as u64
    }

    fn key(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_with_their_places() {
        let mut replaced = Replaced::new(vec![3, 1]);
        let place = |n| Location::new(7 << 32 | u64::from(n));
        for (n, key) in [&b"a"[..], b"ab", b"c"].iter().enumerate() {
            replaced.push(key, place(n as u32).filter(|_| n != 1));
        }
        assert_eq!(replaced.columns(), [1, 3]);
        assert_eq!(replaced.find(b"a"), Some(place(0)));
        assert_eq!(replaced.find(b"ab"), Some(None));
        assert_eq!(replaced.find(b"c"), Some(place(2)));
        for absent in [&b""[..], b"aa", b"b", b"d"] {
            assert_eq!(replaced.find(absent), None);
        }
        assert_eq!(Replaced::default().find(b"a"), None);
    }
}
