//! What a node tells its writer, as bytes.
//!
//! ```text
//!   offset 0         8        12      16    24    32          40     48        56         64       72     73
//!          WEFTNODE  version  crc32c  life  beat  needs from  edits  position  published  wall µs  phase  address
//! ```
//!
//! `life` is a random number of one start of the node; `beat` counts how often it has told.

use weft_format::{Lsn, Timestamp};

use crate::sealed::{read_u64, sealed, unsealed};
use crate::standing::Phase;

/// The length of a registration in its file.
pub(crate) const REGISTRATION_BYTES: usize = 192;
const MAGIC: [u8; 8] = *b"WEFTNODE";
const VERSION: u32 = 1;
/// Where the address begins: its length, then its bytes.
const ADDRESS: usize = 73;
/// The longest address that is told, bytes.
const ADDRESS_BYTES_MAX: usize = REGISTRATION_BYTES - ADDRESS - 1;

/// What a node says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registration {
    /// One start of the node; random.
    pub(crate) life: u64,
    /// Goes up while the node lives, ten times a second or so.
    pub(crate) beat: u64,
    /// It needs the log from here on.
    pub(crate) needs_from: Lsn,
    /// It has followed the manifest to this edit.
    pub(crate) edits: u64,
    /// How far it has read the log.
    pub(crate) position: Lsn,
    /// The last commit that it shows.
    pub(crate) published: Timestamp,
    /// The node's clock, microseconds since 1970.
    pub(crate) wall_micros: i64,
    /// What it does.
    pub(crate) phase: Phase,
    /// Where it listens.
    pub(crate) address: String,
}

impl Registration {
    /// Its bytes; an address that is too long is left out.
    pub(crate) fn encode(&self) -> [u8; REGISTRATION_BYTES] {
        let mut bytes = [0; REGISTRATION_BYTES];
        let numbers = [
            self.life,
            self.beat,
            self.needs_from.0,
            self.edits,
            self.position.0,
            self.published.0,
            self.wall_micros as u64,
        ];
        for (at, number) in (16..).step_by(8).zip(numbers) {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes[72] = self.phase.number();
        let address = self.address.as_bytes();
        if address.len() <= ADDRESS_BYTES_MAX {
            bytes[ADDRESS] = address.len() as u8;
            bytes[ADDRESS + 1..ADDRESS + 1 + address.len()].copy_from_slice(address);
        }
        sealed(&mut bytes, MAGIC, VERSION);
        bytes
    }

    /// Takes it back from bytes; none when they are none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Registration> {
        let bytes = unsealed(bytes.get(..REGISTRATION_BYTES)?, MAGIC, VERSION)?;
        let address = bytes.get(ADDRESS + 1..ADDRESS + 1 + usize::from(bytes[ADDRESS]))?;
        Some(Registration {
            life: read_u64(bytes, 16),
            beat: read_u64(bytes, 24),
            needs_from: Lsn(read_u64(bytes, 32)),
            edits: read_u64(bytes, 40),
            position: Lsn(read_u64(bytes, 48)),
            published: Timestamp(read_u64(bytes, 56)),
            wall_micros: read_u64(bytes, 64) as i64,
            phase: Phase::from_number(bytes[72])?,
            address: String::from_utf8(address.to_vec()).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_every_damaged_one_is_noticed() {
        let told = Registration {
            life: 3,
            beat: 9,
            needs_from: Lsn(4096),
            edits: 41,
            position: Lsn(8192),
            published: Timestamp(77),
            wall_micros: -5,
            phase: Phase::Following,
            address: "127.0.0.1:5433".into(),
        };
        let bytes = told.encode();
        assert_eq!(Registration::decode(&bytes), Some(told.clone()));
        for at in 0..bytes.len() {
            let mut damaged = bytes;
            damaged[at] ^= 0x10;
            assert_eq!(Registration::decode(&damaged), None, "byte {at}");
        }
        let long = Registration { address: "x".repeat(ADDRESS_BYTES_MAX + 1), ..told.clone() };
        assert_eq!(Registration::decode(&long.encode()), Some(Registration { address: String::new(), ..told }));
    }
}
