//! Where a sequence is, as the log says it.

/// Where a sequence is: the last number, and whether it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceValue {
    /// The number given last, or, when `is_called` is false, the one to give next.
    pub last: i64,
    /// Whether `last` was given.
    pub is_called: bool,
}
