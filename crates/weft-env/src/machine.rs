//! Which machine this is.

/// Where Linux says which start of which machine this is.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A number of 24 bits for this machine, until it starts again: processes that have the same one see each other's
/// locks. 0: nobody knows.
pub fn machine() -> u32 {
    std::fs::read(BOOT_ID).map_or(0, |id| (crc32c::crc32c(&id) & 0x00ff_ffff).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_the_same_one_twice() {
        assert_eq!(machine(), machine());
        assert!(machine() < 1 << 24);
    }
}
