//! Random numbers of a client: splitmix64, one sequence per client, the same in every run.

/// A sequence of random numbers.
pub(super) struct Numbers {
    state: u64,
}

impl Numbers {
    /// The sequence of a client.
    pub(super) fn new(client: u64) -> Numbers {
        Numbers { state: client.wrapping_mul(0xD1B5_4A32_D192_ED03) }
    }

    /// A number in `0..bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.state;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ (x >> 31)) % bound
    }

    /// A number in `low..=high`.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}
