//! What the small files of writer and nodes begin with: who they are of, their version, a checksum of the rest.

use weft_kernel::fault::active;

use crate::faults;

/// Where the checksum lies; it is of what comes behind it.
const CRC: usize = 12;

/// Puts what all such files begin with before the bytes.
pub(crate) fn sealed(bytes: &mut [u8], magic: [u8; 8], version: u32) {
    bytes[..8].copy_from_slice(&magic);
    bytes[8..CRC].copy_from_slice(&version.to_le_bytes());
    let crc = crc32c::crc32c_append(version, &bytes[CRC + 4..]);
    bytes[CRC..CRC + 4].copy_from_slice(&crc.to_le_bytes());
}

/// The bytes, when they begin so and their checksum fits.
pub(crate) fn unsealed(bytes: &[u8], magic: [u8; 8], version: u32) -> Option<&[u8]> {
    let crc = crc32c::crc32c_append(version, &bytes[CRC + 4..]);
    let fits = bytes[CRC..CRC + 4] == crc.to_le_bytes() || active(faults::TRUST_TORN_NODE_FILE);
    (bytes[..8] == magic && bytes[8..CRC] == version.to_le_bytes() && fits).then_some(bytes)
}

/// Eight bytes at `offset`, little-endian; the caller has tested the length.
pub(crate) fn read_u64(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}
