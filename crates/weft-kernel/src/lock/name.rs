//! What a lock protects, as 64 bits.

use weft_expr::AdvisoryKey;
use weft_format::TableId;

/// The name of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockName(pub(super) u64);

impl std::fmt::Display for LockName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

const ROW: u64 = 0x9e37_79b9_7f4a_7c15;
const TABLE: u64 = 0xd1b5_4a32_d192_ed03;
const FILES: u64 = 0xa076_1d64_78bd_642f;
const TEXT: u64 = 0x8cb9_2ba7_2f3d_8dd7;

impl LockName {
    /// The lock of one key of a table.
    pub fn key(table: TableId, key: &[u8]) -> LockName {
        LockName(hash(ROW ^ u64::from(table.0).wrapping_mul(TABLE), key))
    }

    /// The lock of a whole table.
    pub fn table(table: TableId) -> LockName {
        LockName(hash(TABLE, &table.0.to_le_bytes()))
    }

    /// The lock of a table's list of indexes: shared by who builds files of rows for all of them.
    pub fn indexes(table: TableId) -> LockName {
        LockName(hash(FILES, &table.0.to_le_bytes()))
    }

    /// An advisory lock.
    pub fn advisory(key: AdvisoryKey) -> LockName {
        let mut bytes = [0; 9];
        bytes[..4].copy_from_slice(&key.class.to_le_bytes());
        bytes[4..8].copy_from_slice(&key.object.to_le_bytes());
        bytes[8] = key.kind;
        LockName(hash(TABLE ^ FILES, &bytes))
    }

    /// The lock of a table's name.
    pub fn table_name(name: &str) -> LockName {
        LockName(hash(TEXT, name.as_bytes()))
    }
}

/// Folded multiplication over 8-byte words, after wyhash (Wang Yi).
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut state = seed ^ (bytes.len() as u64);
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        state = fold(state ^ u64::from_le_bytes(word.try_into().expect("the chunk has 8 bytes")), ROW);
    }
    let mut last = [0; 8];
    let rest = words.remainder();
    last[..rest.len()].copy_from_slice(rest);
    fold(fold(state ^ u64::from_le_bytes(last), TABLE), TEXT)
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ() {
        let mut names = std::collections::HashSet::new();
        for table in 0..10u32 {
            names.insert(LockName::table(TableId(table)));
            names.insert(LockName::indexes(TableId(table)));
            for key in 0..10_000u64 {
                names.insert(LockName::key(TableId(table), &key.to_be_bytes()));
                names.insert(LockName::key(TableId(table), &key.to_be_bytes()[4..]));
            }
        }
        names.insert(LockName::table_name("a"));
        names.insert(LockName::table_name("a\0"));
        assert_eq!(names.len(), 20 + 2 * 100_000 + 2);
    }
}
