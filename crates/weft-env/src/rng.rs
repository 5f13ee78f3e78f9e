//! Randomness, as the layers above see it.

/// A source of random numbers that threads may share.
pub trait Rng: Send + Sync {
    /// The next 64 random bits.
    fn next_u64(&self) -> u64;
}
