//! The borders of the buckets, and what they demand of the tables.
//!
//! ```text
//!   borders [g, p]      bucket 0  ..g      bucket 1  g..p      bucket 2  p..
//!   transition table [h..k]   lies in bucket 1          baseline [a..c] [d..f] [g..m] [n..o] [q..z]
//!   incremental table [b..q]  lies in none
//!
//!   split (formula 4): G − T − (30 + 20 MiB) < 0      files [g..h 12] [i..k 14] │ [m..n 13] [o..o 11]  new border m
//! ```
//!
//! The numbers are those of the layout's invariants (`layout.rs`):
//!
//! 3. Baseline tables are disjoint and each lies within one bucket.
//! 4. A transition table lies within one bucket.
//! 5. Borders ascend.
//!
//! Source: SynchroStore section 3.2 (management of column buckets).

use std::sync::Arc;

use super::payload::Layer;

/// A key as the key codec writes it.
pub(crate) type Key = Box<[u8]>;

/// Ascending keys: bucket `i` is from border `i - 1` on to before border `i`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Borders(Arc<[Key]>);

impl Borders {
    pub(crate) fn new(keys: Vec<Key>) -> Borders {
        Borders(keys.into())
    }

    pub(crate) fn keys(&self) -> &[Key] {
        &self.0
    }

    /// How many buckets there are.
    pub(crate) fn bucket_count(&self) -> usize {
        self.0.len() + 1
    }

    /// The bucket of a key.
    pub(crate) fn bucket_of(&self, key: &[u8]) -> usize {
        self.0.partition_point(|border| **border <= *key)
    }

    /// The bucket that a range of keys lies in, when it lies in one.
    pub(crate) fn bucket_of_range(&self, min: &[u8], max: &[u8]) -> Option<usize> {
        let bucket = self.bucket_of(min);
        self.0.get(bucket).is_none_or(|border| *max < **border).then_some(bucket)
    }

    /// The layer of a table that is meant for `wanted`: one that crosses a border stays incremental.
    pub(crate) fn settle(&self, wanted: Layer, min: &[u8], max: &[u8]) -> Layer {
        match wanted {
            Layer::Transition if self.bucket_of_range(min, max).is_none() => Layer::Incremental,
            _ => wanted,
        }
    }

    /// With some borders more and some fewer.
    pub(crate) fn changed(&self, added: &[Key], removed: &[Key]) -> Borders {
        let mut keys: Vec<Key> = self.0.iter().filter(|key| !removed.contains(key)).cloned().collect();
        keys.extend_from_slice(added);
        keys.sort_unstable();
        keys.dedup();
        Borders::new(keys)
    }

    /// What is wrong with tables (by lowest key) in their layers; none when the invariants hold.
    pub(crate) fn fault_of<'a>(
        &self,
        tables: impl Iterator<Item = (&'a [u8], &'a [u8], Layer)>,
    ) -> Option<&'static str> {
        if self.0.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Some("the borders of the buckets do not ascend (layout 5)");
        }
        let mut baseline_end: Option<&[u8]> = None;
        for (min, max, layer) in tables.filter(|table| table.2 != Layer::Incremental) {
            let within = self.bucket_of_range(min, max).is_some();
            if layer == Layer::Transition && !within {
                return Some("a transition table crosses a bucket's end (layout 4)");
            }
            if layer == Layer::Baseline {
                if !within {
                    return Some("a baseline table crosses a bucket's end (layout 3)");
                }
                if baseline_end.is_some_and(|end| end >= min) {
                    return Some("two baseline tables overlap (layout 3)");
                }
                baseline_end = Some(max);
            }
        }
        None
    }
}

/// Where to split a bucket whose baseline has more than `bytes_max` (formula 4: G − T): at file borders in about the
/// middle by bytes, until no piece has more. Files are lowest key and bytes, by key.
pub(crate) fn split_keys(files: &[(&[u8], u64)], bytes_max: u64) -> Vec<Key> {
    debug_assert!(files.is_sorted_by(|a, b| a.0 <= b.0), "a bucket is split by the order of its files' keys");
    let mut keys = Vec::new();
    split_between(files, bytes_max, &mut keys);
    assert!(keys.len() < files.len().max(1), "a border goes between two files, never through one");
    keys
}

fn split_between(files: &[(&[u8], u64)], bytes_max: u64, keys: &mut Vec<Key>) {
    let total: u64 = files.iter().map(|file| file.1).sum();
    if total <= bytes_max || files.len() < 2 {
        return;
    }
    let mut left = 0;
    let middle = (1..files.len()).min_by_key(|&at| {
        left += files[at - 1].1;
        left.abs_diff(total - left)
    });
    let middle = middle.expect("there are two files or more");
    split_between(&files[..middle], bytes_max, keys);
    keys.push(files[middle].0.into());
    split_between(&files[middle..], bytes_max, keys);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn borders(keys: &[&str]) -> Borders {
        Borders::new(keys.iter().map(|key| key.as_bytes().into()).collect())
    }

    #[test]
    fn a_range_lies_in_one_bucket_or_crosses_a_border() {
        let borders = borders(&["g", "p"]);
        assert_eq!((borders.bucket_of(b"a"), borders.bucket_of(b"g"), borders.bucket_of(b"z")), (0, 1, 2));
        assert_eq!(borders.bucket_of_range(b"a", b"fz"), Some(0));
        assert_eq!(borders.bucket_of_range(b"a", b"g"), None);
        assert_eq!(borders.settle(Layer::Transition, b"a", b"g"), Layer::Incremental);
        assert_eq!(borders.settle(Layer::Transition, b"g", b"o"), Layer::Transition);
        assert_eq!(borders.changed(&[Key::from(*b"k")], &[Key::from(*b"p")]), super::tests::borders(&["g", "k"]));
    }

    #[test]
    fn each_broken_invariant_is_named() {
        use Layer::{Baseline, Incremental, Transition};
        let two = borders(&["g"]);
        let fault = |tables: &[(&'static str, &'static str, Layer)]| {
            let tables: Vec<_> =
                tables.iter().map(|&(min, max, layer)| (min.as_bytes(), max.as_bytes(), layer)).collect();
            two.fault_of(tables.into_iter())
        };
        let fine = [("a", "z", Incremental), ("b", "c", Baseline), ("b", "f", Transition), ("g", "h", Baseline)];
        assert_eq!(fault(&fine), None);
        assert!(fault(&[("b", "g", Transition)]).unwrap().contains("layout 4"));
        assert!(fault(&[("b", "g", Baseline)]).unwrap().contains("layout 3"));
        assert!(
            fault(&[("b", "d", Baseline), ("c", "c", Transition), ("d", "e", Baseline)]).unwrap().contains("layout 3")
        );
        assert!(borders(&["g", "g"]).fault_of(std::iter::empty()).unwrap().contains("layout 5"));
    }

    #[test]
    fn splits_halve_at_file_borders_until_every_piece_fits() {
        let files: Vec<(&[u8], u64)> = vec![(b"a", 12), (b"c", 14), (b"m", 13), (b"o", 11)];
        assert_eq!(split_keys(&files, 50), Vec::<Key>::new());
        assert_eq!(split_keys(&files, 49), [Key::from(*b"m")]);
        assert_eq!(split_keys(&files, 14), [*b"c", *b"m", *b"o"].map(Key::from));
        assert_eq!(split_keys(&files[..1], 5), Vec::<Key>::new(), "one file is not cut");
        assert_eq!(split_keys(&[(b"a", 90), (b"b", 5), (b"c", 5)], 20), [Key::from(*b"b")]);
    }
}
