//! Bytes cut to a known length.

/// The first `N` bytes of a slice that is at least that long.
pub(crate) fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes[..N].try_into().expect("the slice was cut to N bytes")
}
