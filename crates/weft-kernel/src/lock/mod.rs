//! Locks of transactions: keys of rows, tables, names of tables; first come, first served; deadlocks found.
//!
//! ```text
//!   txn 7 holds key (t3, 42)                    waits-for graph:   9 → 7
//!   txn 9 wants key (t3, 42): waits behind 7
//!   txn 7 wants key (t3, 50), held by 9         7 → 9 → 7: a cycle; 7 gets "deadlock" at once, 9 goes on
//! ```
//!
//! A lock is named by 64 bits of hash of what it protects: two keys with one hash share a lock, which makes
//! transactions wait for no good reason (about never) but never lets two in.
//!
//! 1. The holders of a lock are compatible: none writes a column that another reads or writes, unless it follows (5).
//! 2. Nobody overtakes a waiter it is not compatible with; an upgrade of a held lock goes to the front.
//! 3. A transaction that starts to wait puts itself into queue and graph first and looks for a circle then: the last
//!    member of a circle to come sees all of it, and exactly one of those who see it leaves it. Who is in nobody's way
//!    does not look.
//! 4. Locks are released when their transaction is published or rolled back, all at once.
//! 5. A transaction whose commit has its place in the log may hand its locks on: to those who ask to follow it is no
//!    longer in the way, for all others it holds them until 4. It waits for nobody, so no cycle goes through it.
//!
//! 6. Who waits is woken when the lock is its own, when it is asked to stop, or when its time is over; not for others.
//!
//! Concurrency: verdict → shard → sleeper, verdict → a part of the graph; whoever waits holds none of them. No mutex is
//! common to all who wait. Crash: nothing of this outlives the process.
//!
//! Source: DESIGN section 4; the graph walk is the textbook's (Gray and Reuter, section 7.11).

mod graph;
mod mode;
mod name;
mod queue;
mod table;

pub use mode::{ColumnSet, LockMode};
pub use name::LockName;
pub(crate) use queue::Handed;
pub use table::{HeldLocks, LockRequest, LockState, LockTable, Wait};
