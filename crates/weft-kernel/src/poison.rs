//! Why the engine takes no more writes.

use std::sync::OnceLock;

use weft_format::{Code, Error, Result};

/// The first cause, once there is one.
#[derive(Debug, Default)]
pub(crate) struct Poison(OnceLock<String>);

impl Poison {
    /// Stops writes for a reason, unless an earlier one did; returns what writers are told.
    pub(crate) fn set(&self, cause: &str) -> Error {
        let cause = self.0.get_or_init(|| cause.to_owned());
        error(cause)
    }

    /// The reason.
    pub(crate) fn cause(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// Fails when the engine takes no more writes.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.get() {
            None => Ok(()),
            Some(cause) => Err(error(cause)),
        }
    }
}

fn error(cause: &str) -> Error {
    let message = format!("the engine stopped accepting writes: {cause}");
    Error::new(Code::Poisoned, message).hint("close the database and open it again; reads go on until then")
}
