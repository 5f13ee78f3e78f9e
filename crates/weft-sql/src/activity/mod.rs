//! What every session does now, and what all of them have done: `pg_stat_activity`, `pg_cancel_backend`, metrics.
//!
//! ```text
//!   Activities   17 ann active "SELECT ..." since 3 s     18 bob idle in transaction     ...
//!     Activity   one session's: text (a pointer), state, times, counters; written by its own thread only
//!     totals     what sessions that are gone had counted
//!   an observer  is told of statements that took long
//! ```
//!
//! 1. A statement costs two looks at the clock, one pointer and a few stores: nothing is allocated or formatted, and no
//!    lock is waited for but with somebody who looks at this very session.
//! 2. Counters are written by one thread each (a load and a store), and read by any; the sums are not of one moment.
//! 3. A text that may have a password in it is never kept here: [`HIDDEN`] stands in its place.

mod counters;
mod hidden;
mod registry;
mod session;

pub use counters::{Counters, EngineUsed, TIMES};
pub use hidden::{HIDDEN, hides};
pub use registry::{Activities, Ended, Observer};
pub use session::{Activity, Origin, Shown, State};

#[cfg(test)]
mod tests;
