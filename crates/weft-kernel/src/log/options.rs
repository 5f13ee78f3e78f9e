//! How large the log's files and buffers are.

/// Sizes of the log's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// A segment file grows to about this many bytes; one block may exceed it.
    pub segment_bytes: u64,
    /// This many bytes of zeros are written ahead of the blocks at a time.
    pub zero_ahead_bytes: u64,
    /// A batch that has grown to this is written before more is added; buffers up to half of it are used again.
    pub batch_bytes_max: usize,
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions { segment_bytes: 16 << 20, zero_ahead_bytes: 1 << 20, batch_bytes_max: 8 << 20 }
    }
}
