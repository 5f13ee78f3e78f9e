//! Simulated crashes of the whole kernel, checked against a plain model.
//!
//! ```text
//!   campaign   seeds × rounds; where to crash next: any disk operation, or right after a named step
//!    └─ round      open ─ check ─ verify against the model ─ 4 clients + readers ─ close or crash ─┐
//!        ▲ ├─ client    transactions over several tables; writes down what each changed            │
//!        │ ├─ reader    snapshots: whole, repeatable, equal to the model as of the ledger          │
//!        │ └─ history   what was begun, acknowledged, lost;  model: a BTreeMap and a replay        │
//!        └────────────────────────── the same disk, after the crash ───────────────────────────────┘
//! ```
//!
//! [`checker`] is apart from that: it finds isolation anomalies in what any clients did and saw.
//!
//! Every transaction inserts its number into a ledger table. After a crash the ledger says which survived; the model
//! replays exactly those, each of whose changes names the version it was made from, and must end in the state that the
//! database shows.
//!
//! Beside it, [`golden`]: short scripts whose transcripts fix what the engine does inside, step by step (the order of
//! writes and syncs, jobs picked, layers). `WEFT_GOLDEN=rewrite cargo test -p weft-sim --test golden` rewrites them.
//!
//! Nothing here is published; it is a test program with its parts in a library so that several tests share them.

// The history is shared by simulated threads and the test outside of the simulation, and never held across a scheduling
// point, so its mutex must not be one of the simulation.
#![allow(clippy::disallowed_types)]

mod archives;
mod arrays;
mod backups;
mod bounded;
mod building;
mod campaign;
pub mod checker;
mod client;
mod completeness;
mod damage;
mod far_node;
mod following;
mod following_builds;
pub mod golden;
mod history;
pub mod isolation;
mod members;
mod methods;
mod model;
mod moments;
mod nodes;
mod placed;
mod promises;
mod random;
mod reader;
mod replace;
mod round;
mod scan;
mod scenario;
mod succession;
mod tables;
mod wire;
mod work;

pub use archives::{ArchiveCounts, ArchiveLedger};
pub use backups::{BackupCounts, BackupLedger, COPIES, back_up_with_faults};
pub use building::build_beside_writers;
pub use campaign::{Campaign, Report, run_scenario, run_seed};
pub use completeness::completeness;
pub use damage::{Damaged, damage, names_the_damage};
pub use following::{Followed, follow};
pub use following_builds::follow_builds;
pub use history::{Counts, History};
pub use methods::{all_faults, all_steps, methods};
pub use model::{Effect, Effects, Place, Row, State, replay};
pub use nodes::{NodeCounts, run_nodes};
pub use promises::promises;
pub use random::Random;
pub use round::{faulted_round, open_engine, read_everything, round, verify};
pub use scenario::Scenario;
pub use succession::{OnStep, SuccessionCounts, run_succession};
pub use tables::DIR;
