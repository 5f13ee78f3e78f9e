//! Background jobs: which one next, and the threads that run them.
//!
//! ```text
//!   offers   convert t3 #2  frees 4 MB, releases 9 MB of log
//!            compact t3 #5  12,000 dead rows
//!            convert t7 #1  frees 1 MB
//!   running  convert t7
//!   pick  →  convert t3 #2   "conversion first; frees 4194304 bytes, releases 9437184 bytes of log for 2000 us"
//! ```
//!
//! 1. Of one table at most one conversion runs at a time; compactions may run beside it.
//! 2. A job that failed for lack of space is tried again after a pause; any other failure stops the engine.
//! 3. No lock is held while a job runs.
//! 4. Beside queries jobs work a part of the time, until memory is short or somebody waits for them ([`Load`]).
//!
//! Source: DESIGN section 7; the load prediction of the paper's formulas 5 to 7 is not here yet: jobs start when they
//! are offered.

mod load;
mod pick;
mod runner;
mod wake;

pub use load::{Counted, Load, Pacer};
pub use pick::{Choice, Running, pick};
pub use wake::Wake;

pub(crate) use runner::{Ran, Runner};
