//! What the writer announces, as bytes.
//!
//! ```text
//!   offset 0   8        12       16        24        32         40         48         56      57     60        64
//!          WEFTANNC  version  crc32c  opening   beat      LSN        timestamp  wall µs  flags   machine epoch
//! ```
//!
//! Flags: 1 closed, 2 of who mirrors an archive. `opening` is a random number of one opening of the writer; `beat`
//! counts how often it has looked after its nodes.
//!
//! 1. An announcement counts only when its checksum fits: a torn one is none, and is read again.
//! 2. It counts while the writer of its epoch has the directory: nodes look after they have read it. One that was
//!    overtaken may write an announcement late, over that of its successor.

use weft_format::{Lsn, Timestamp};
use weft_kernel::fault::active;

use crate::faults;
use crate::sealed::{read_u64, sealed, unsealed};

/// The length of an announcement in its file.
pub(crate) const ANNOUNCEMENT_BYTES: usize = 64;
const MAGIC: [u8; 8] = *b"WEFTANNC";
const VERSION: u32 = 2;

/// How far the writer's log is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Announcement {
    /// One opening of the writer; random.
    pub opening: u64,
    /// Goes up while the writer lives, ten times a second or so.
    pub beat: u64,
    /// Everything before this is durable.
    pub lsn: Lsn,
    /// The last commit before it.
    pub last: Timestamp,
    /// The writer's clock at the beat, microseconds since 1970.
    pub wall_micros: i64,
    /// The writer has closed, or stopped: nothing comes until it opens again.
    pub is_closed: bool,
    /// It is of who mirrors an archive: everything that was durable at `wall_micros` (0: nobody knows when) is before
    /// the position, and more may be elsewhere.
    pub is_shipped: bool,
    /// The epoch of the writer's log.
    pub epoch: u32,
    /// Which machine it runs on, 24 bits; 0: it does not say.
    pub machine: u32,
}

impl Announcement {
    /// Everything that was acknowledged at this moment of the reader's own clock is before the position, when it was
    /// `read`, at `wall_micros` by the reader's other clock; none: nobody knows.
    pub(crate) fn vouches_for(&self, read: u64, wall_micros: i64) -> Option<u64> {
        if !self.is_shipped || active(faults::SHIPPED_IS_FRESH) {
            return (!self.is_closed).then_some(read);
        }
        let age = wall_micros.saturating_sub(self.wall_micros).max(0).unsigned_abs().saturating_mul(1000);
        read.checked_sub(age).filter(|_| self.wall_micros > 0)
    }

    /// Its bytes.
    pub(crate) fn encode(&self) -> [u8; ANNOUNCEMENT_BYTES] {
        let mut bytes = [0; ANNOUNCEMENT_BYTES];
        bytes[16..24].copy_from_slice(&self.opening.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.beat.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.lsn.0.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.last.0.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.wall_micros.to_le_bytes());
        bytes[56] = u8::from(self.is_closed) | u8::from(self.is_shipped) << 1;
        bytes[57..60].copy_from_slice(&self.machine.to_le_bytes()[..3]);
        bytes[60..64].copy_from_slice(&self.epoch.to_le_bytes());
        sealed(&mut bytes, MAGIC, VERSION);
        bytes
    }

    /// Takes it back from bytes; none when they are none (announcement 1).
    pub(crate) fn decode(bytes: &[u8]) -> Option<Announcement> {
        let bytes = unsealed(bytes.get(..ANNOUNCEMENT_BYTES)?, MAGIC, VERSION)?;
        Some(Announcement {
            opening: read_u64(bytes, 16),
            beat: read_u64(bytes, 24),
            lsn: Lsn(read_u64(bytes, 32)),
            last: Timestamp(read_u64(bytes, 40)),
            wall_micros: read_u64(bytes, 48) as i64,
            is_closed: bytes[56] & 1 != 0,
            is_shipped: bytes[56] & 2 != 0,
            epoch: u32::from_le_bytes(bytes[60..64].try_into().expect("four bytes")),
            machine: u32::from_le_bytes([bytes[57], bytes[58], bytes[59], 0]),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    pub(crate) fn bytes_come_back_and_every_damaged_one_is_noticed() {
        let announced = Announcement {
            opening: 0x1122_3344_5566_7788,
            beat: 7,
            lsn: Lsn(81_920),
            last: Timestamp(42),
            wall_micros: 1_790_000_000_000_000,
            is_closed: false,
            is_shipped: true,
            epoch: 7,
            machine: 0x00ab_cdef,
        };
        let bytes = announced.encode();
        assert_eq!((&bytes[..8], bytes[8], bytes[32]), (&b"WEFTANNC"[..], 2, 0));
        assert_eq!(&bytes[32..40], &81_920u64.to_le_bytes());
        assert_eq!(Announcement::decode(&bytes), Some(announced));
        for at in 0..bytes.len() {
            let mut damaged = bytes;
            damaged[at] ^= 0x10;
            assert_eq!(Announcement::decode(&damaged), None, "byte {at}");
        }
        assert_eq!(Announcement::decode(&bytes[..63]), None);
        assert_eq!(Announcement::decode(&[]), None);
    }
}
