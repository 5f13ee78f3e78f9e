//! A flag that tells a running statement to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weft_format::{Code, Error, Result};

/// Shared between a statement and whoever may cancel it. Cheap to clone; every clone is the same flag.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A flag that is not set.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Asks the statement to stop; it does at its next [`CancelToken::check`].
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Clears the flag, for the next statement.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether the statement was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error with [`Code::QueryCanceled`] when the statement was asked to stop.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::new(Code::QueryCanceled, "the statement was cancelled on request"));
        }
        Ok(())
    }
}
