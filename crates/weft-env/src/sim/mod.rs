//! A deterministic simulation of one machine: threads, virtual time and a disk that crashes, all decided by a seed.
//!
//! ```text
//!   let simulation = Simulation::new(SimOptions::seeded(7));
//!   simulation.crash_after(120);                         the 120th operation on the disk is the last
//!   simulation.run(|env| workload(env));                 Crashed { number: 120, operation: "write log/1 4096 512" }
//!   simulation.run(|env| check(env));                    Finished, on the disk that the crash left
//! ```
//!
//! **Fault model.** What a program may rely on, and what it must be ready for:
//!
//! 1. *Reads see all writes* of the same boot, synced or not.
//! 2. *Durable content.* `sync_data` makes durable all writes and lengths of the file from before it began. Writes that
//!    come while it runs are not covered by it.
//! 3. *Durable names.* A created, renamed or removed name, and a created directory, is durable after `sync_dir` of its
//!    parent began and returned (of a rename: the parent of the new name). `sync_data` makes no name durable.
//! 4. *Crash.* It happens in the n-th operation, before that returns. Of unsynced writes each is kept whole, torn (any
//!    subset of its 512-byte sectors) or lost, in any combination within and between files; an unsynced length is kept
//!    or lost, and a lost write may still have lengthened the file (with zeros). One sector holds one of the versions
//!    it had since the last sync: it never mixes a later write with the loss of an earlier one to the same sector.
//! 5. *Names in a crash.* Unsynced changes of names are kept or lost each for itself. A rename is atomic: both names
//!    are as before or as after. A file below a directory that was lost is lost.
//! 6. *Failed sync.* `sync_data` fails; of the writes it covered the seed keeps, tears or loses each, and a later sync
//!    that succeeds does not bring the lost ones back. Reads see them until the process ends with a crash.
//! 7. *Full disk.* A write that needs more pages of 4096 bytes than are free writes nothing or a prefix and fails with
//!    `StorageFull`. Allocated pages can always be written. `set_len` makes holes and allocates nothing. A removed
//!    file's pages are free once no handle is open on it.
//! 8. *Reads* may be given a flipped bit or an error, by path; `damage` changes a bit for good.
//! 9. *Process end.* When a run ends without a crash, the disk keeps all writes, synced or not (the machine lives on).
//!    After every run locks are free and handles answer with errors.
//! 10. *Threads.* One runs at a time; at each scheduling point (lock, wait, notify, join, spawn, sleep, every
//!     operation on files, [`yield_point`](crate::sync::yield_point)) the seed chooses who goes on. Weak memory is
//!     not modelled.
//! 11. *Time* is virtual: a scheduling point or a look at the clock takes one microsecond, a sync a random time around
//!     its average; when nobody can run, time jumps to the next deadline.
//! 12. *Stop.* After a crash, the first panic, a deadlock or a livelock all threads unwind at their next scheduling
//!     point without a message of the panic hook. Drops that run meanwhile may lock, notify and join; operations on
//!     files fail. A thread that cannot come to an end (it waits for what never happens) is abandoned.
//! 13. *Steps.* A program names what it has done ([`step`]); each name is counted, and the machine may crash right
//!     after the n-th time ([`Simulation::crash_at_step`]), without an operation on the disk.
//!
//! Not modelled: other processes, networks, files that are executed or mapped, removal of directories, clocks that
//! jump.
//!
//! Determinism: the same seed and the same program give the same trace. The program must do the same itself: no wall
//! time, no iteration order of randomly seeded hash maps, no addresses, no state shared between simulations.
//!
//! Source: FoundationDB's simulation (Zhou et al., SIGMOD 2021, section 4); failed syncs after Rebello et al., "Can
//! applications recover from fsync failures?", ATC 2020; torn and reordered writes after Pillai et al., "All file
//! systems are not created equal", OSDI 2014.

pub(crate) mod baton;
mod content;
mod cores;
pub(crate) mod current;
mod disk;
mod faults;
mod files;
mod machine;
mod names;
pub(crate) mod op;
pub(crate) mod random;
pub(crate) mod scheduler;
mod sim_faults;
mod simulation;
mod start;
mod steps;
mod survival;
mod threads;
mod trace;

pub use current::step;
pub use sim_faults::SimFaults;
pub use simulation::{RunEnd, SimOptions, Simulation};

#[cfg(test)]
mod tests;
