//! What the disk keeps of changes that were not synced.
//!
//! Worked example: the file durably holds `aaaa bbbb` (two sectors); unsynced are write 1 `AAAA BBBB` and write 2
//! `--XX` over the first sector. A crash may leave each sector at any version it had:
//!
//! ```text
//!   sector 0   aaaa | AAAA | AAXX        sector 1   bbbb | BBBB        any combination of the two
//! ```
//!
//! 1. A sector holds one version it had since the last sync: a write that reached a sector brings along the earlier
//!    unsynced writes to the same sector, as one page cache has them all.
//! 2. The length is that of a kept change or of a kept sector's end, whichever came last; bytes that were not kept
//!    below it are zero where the file had none.

use std::collections::BTreeMap;

use super::content::Content;
use super::random::Prng;

/// Bytes that reach the disk together.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// A change of a file's content that was not synced.
#[derive(Debug)]
pub(crate) enum Change {
    Write { offset: u64, bytes: Box<[u8]> },
    SetLen(u64),
}

/// How likely changes survive one crash; drawn per crash so that all, none and everything between happen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate {
    /// How many of a thousand changes are kept whole.
    pub(crate) keep_permille: u32,
    /// How many of a thousand writes that are not kept whole are torn.
    pub(crate) torn_permille: u32,
}

impl Fate {
    /// The fate of one crash or failed sync.
    pub(crate) fn draw(prng: &mut Prng) -> Fate {
        Fate {
            keep_permille: prng.pick(&[0, 100, 300, 500, 700, 900, 1000]),
            torn_permille: prng.pick(&[0, 300, 700, 1000]),
        }
    }
}

impl Change {
    /// Applies the whole change.
    pub(crate) fn apply(&self, content: &mut Content) {
        match self {
            Change::Write { offset, bytes } => {
                content.write(bytes, *offset);
            }
            Change::SetLen(len) => {
                content.set_len(*len);
            }
        }
    }
}

/// Applies to `content` what survives of `changes`.
pub(crate) fn survive(content: &mut Content, changes: &[Change], fate: Fate, prng: &mut Prng) {
    // How many of the changes reached each sector, and whether each change's length was kept.
    let mut reached: BTreeMap<u64, usize> = BTreeMap::new();
    let mut length_kept = Vec::with_capacity(changes.len());
    for (i, change) in changes.iter().enumerate() {
        let whole = prng.chance(fate.keep_permille);
        let Change::Write { offset, bytes } = change else {
            length_kept.push(whole);
            continue;
        };
        let torn = !whole && prng.chance(fate.torn_permille);
        length_kept.push(whole || (torn && prng.chance(500)));
        if whole || torn {
            // Zero is a write of which only the length arrived.
            let sector_permille = if whole { 1000 } else { prng.pick(&[0, 200, 500, 800]) };
            for (sector, _, _) in sectors(*offset, bytes) {
                if prng.chance(sector_permille) {
                    reached.insert(sector, i + 1);
                }
            }
        }
    }
    for (i, change) in changes.iter().enumerate() {
        match change {
            Change::Write { offset, bytes } => {
                for (sector, at, part) in sectors(*offset, bytes) {
                    if reached.get(&sector).is_some_and(|count| i < *count) {
                        content.write(part, at);
                    }
                }
                let end = offset + bytes.len() as u64;
                if length_kept[i] && end > content.len() {
                    content.set_len(end);
                }
            }
            Change::SetLen(len) if length_kept[i] => {
                content.set_len(*len);
            }
            Change::SetLen(_) => {}
        }
    }
}

/// The sectors of a write: number, offset of the part in it, the part.
fn sectors(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, u64, &[u8])> {
    let end = offset + bytes.len() as u64;
    let first = offset / SECTOR_BYTES;
    let last = end.div_ceil(SECTOR_BYTES);
    (first..last).map(move |sector| {
        let from = offset.max(sector * SECTOR_BYTES);
        let to = end.min((sector + 1) * SECTOR_BYTES);
        (sector, from, &bytes[(from - offset) as usize..(to - offset) as usize])
    })
}
