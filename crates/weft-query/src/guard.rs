//! Work of the query engine, kept from taking the process with it.

use std::panic::AssertUnwindSafe;

use weft_format::{Error, Result};

/// Planning goes on on a stack of its own where less than this is left, bytes.
const STACK_NEEDED: usize = 6 << 20;

/// The size of that stack, bytes; memory is taken as it is touched.
const STACK_MADE: usize = 16 << 20;

/// Runs a piece of work; a panic in it becomes an error.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without text".into());
        Err(Error::internal(format!("the query engine panicked: {text}")).hint("please report this with the statement"))
    })
}

/// The same with room on the stack for the deepest tree that a statement may have: a thread of a program that embeds
/// Weft may have 2 MiB, and an overflow ends the process.
pub(super) fn guarded_deep<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    guarded(|| stacker::maybe_grow(STACK_NEEDED, STACK_MADE, work))
}
