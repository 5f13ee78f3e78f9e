//! What is said to nodes while nothing is committed: that nothing was.
//!
//! ```text
//!   beat-8     weft archive beat 1
//!              beat 8 41 made 1781000000100000
//!              end b17e55ed
//! ```
//!
//! 1. Everything that was durable when it was `made`, by the writer's clock, is in the piece that it names and those
//!    before; and nobody had claimed the archive by then. It is put again and again: an older one is true, too.

use weft_env::ObjectStore;
use weft_format::Result;

use super::chain::failed;
use super::names::{PieceName, beat_name, get};

/// A beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beat {
    /// The last piece.
    pub(super) head: PieceName,
    /// Microseconds since 1970.
    pub(super) made: i64,
}

impl Beat {
    fn encode(&self) -> Vec<u8> {
        let Beat { head: PieceName { fence, number }, made } = self;
        let text = format!("weft archive beat 1\nbeat {fence} {number} made {made}\nend");
        let checksum = crc32c::crc32c(text.as_bytes());
        format!("{text} {checksum:08x}\n").into_bytes()
    }

    fn decode(bytes: &[u8]) -> Option<Beat> {
        let words: Vec<&str> = std::str::from_utf8(bytes).ok()?.lines().nth(1)?.split(' ').collect();
        let ["beat", fence, number, "made", made] = words[..] else { return None };
        let head = PieceName { fence: fence.parse().ok()?, number: number.parse().ok()? };
        let beat = Beat { head, made: made.parse().ok()? };
        (beat.encode() == bytes).then_some(beat)
    }

    /// Puts it in place of the one before.
    pub(super) fn put(&self, store: &dyn ObjectStore) -> Result<()> {
        let name = beat_name(self.head.fence);
        store.put(&name, &self.encode()).map_err(|error| failed(store, &format!("putting {name}"), &error))
    }

    /// That of a fence; none when there is none that can be read.
    pub(super) fn read(store: &dyn ObjectStore, fence: u64) -> Result<Option<Beat>> {
        let name = beat_name(fence);
        let found = get(store, &name).map_err(|error| failed(store, &format!("reading {name}"), &error))?;
        Ok(found.and_then(|bytes| Beat::decode(&bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_are_read_as_they_were_put() {
        let beat = Beat { head: PieceName { fence: 8, number: 41 }, made: 1_781_000_000_100_000 };
        let bytes = beat.encode();
        assert_eq!(Beat::decode(&bytes), Some(beat));
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1;
            assert_eq!(Beat::decode(&wrong), None, "byte {at}");
        }
    }
}
