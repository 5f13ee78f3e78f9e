//! The contract between the kernel and a table method: five small traits, and the words they share.
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

mod job;
mod method;
mod read_again;
mod replaced;
mod scan;
mod status;
mod unavailable;
mod write_set;

pub use job::{JobKind, JobOffer, Price};
pub use method::{
    Maintain, Method, Newest, RecoveredTable, Replace, Replay, Scan, Table, TableContext, VisitRow, Write,
};
pub(crate) use read_again::concerns_files;
pub use read_again::read_again;
pub use replaced::Replaced;
pub use scan::{
    ExprTest, LOCATION, LOCATION_NAME, LayerScan, Partition, ReadView, ScanMetrics, ScanOutput, ScanRequest,
    TableStatistics, scan_schema,
};
pub use status::{Damage, LayerStatus, PartStatus, TakenOut};
pub(crate) use unavailable::{Unavailable, told_at_commit};
pub use write_set::{Attachment, Base, Change, Location, Staged, TableWrites};
