//! The contract between the kernel and a table: five small traits, and the words they share.
//!
//! ```text
//!   Scan      a snapshot's rows as partitions of Arrow batches
//!   Write     point reads, and the installation of committed writes
//!   Replace   many rows at once, by files of their own
//!   Maintain  what background jobs there are, each priced; run one
//!   Replay    apply one logged change (crash recovery, read nodes)
//! ```
//!
//! The kernel owns what is the same for every method: key locks, write sets, conflict checks, log records, timestamps,
//! publication. A method owns how committed versions are kept. DESIGN section 3.
//!
//! Nothing here knows the kernel: it asks tables through this crate, and the methods implement it. Who makes and opens
//! tables, and what the kernel gives them to work with, is the business of weft-kernel's `Method`. No code here runs
//! but constructors, accessors and searches in what a value holds.

mod def;
mod job;
mod location;
mod replaced;
mod scan;
mod status;
mod traits;
mod write_set;

pub use def::{Deferrable, FkAction, ForeignKey, NewTable, SchemaId, TableDef};
pub use job::{JobKind, JobOffer, Price};
pub use location::Location;
pub use replaced::Replaced;
pub use scan::{
    ExprTest, LOCATION, LOCATION_NAME, LayerScan, NoteReads, Partition, ReadView, ScanMetrics, ScanOutput, ScanRequest,
    TableStatistics, scan_schema,
};
pub use status::{Damage, LayerStatus, PartStatus, TakenOut};
pub use traits::{Maintain, Newest, RecoveredTable, Replace, Replay, Scan, Table, VisitRow, Write};
pub use write_set::{Attachment, Base, Change, Staged, TableWrites};
