//! The only door to the outside: files, time, randomness and threads.
//!
//! Every crate above reaches the machine through an [`Env`]. [`real`](Env::real) is the operating system; the `sim`
//! module is a deterministic simulation in which a seed decides the schedule, the crash points, the torn and reordered
//! writes, the full disk and the failed fsync. Blocking goes through [`sync`] for the same reason.
//!
//! ```text
//!   Env ── fs     files: positioned reads and writes, sync_data, directories, an exclusive lock
//!       ├─ clock  wall time (microseconds since 1970), monotonic time (nanoseconds), sleep
//!       ├─ rng    64-bit random numbers
//!       └─ spawn  named threads
//! ```
//!
//! Source: DESIGN section 3 (Environment).

// This crate is the door: what clippy.toml bans everywhere else is what it is made of.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod clock;
mod freed;
mod fs;
mod handles;
mod limits;
mod machine;
mod objects;
mod real;
mod rng;
pub mod sim;
mod socket;
mod spawn;
pub mod sync;
mod traffic;

pub use clock::Clock;
pub use freed::{FreedMemory, keep_little_freed_memory, return_freed_memory};
pub use fs::{DirLock, File, Fs, OpenMode, absolute};
pub use handles::{GivingWay, HandleCounters, Handles, is_out_of_handles};
pub use limits::raise_open_files;
pub use machine::machine;
pub use objects::{Created, OBJECT_BYTES_MAX, ObjectStore};
pub use rng::Rng;
pub use socket::{has_ended_silently, have_ended, keep_asking, receive_arrived};
pub use spawn::{JoinHandle, Spawn, catch_panic};
pub use traffic::{Traffic, thread_traffic};

use std::sync::Arc;

/// The environment a database runs in. Cheap to clone.
#[derive(Clone)]
pub struct Env {
    /// Files and directories.
    pub fs: Arc<dyn Fs>,
    /// Wall and monotonic time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
    /// Threads.
    pub spawn: Arc<dyn Spawn>,
}
