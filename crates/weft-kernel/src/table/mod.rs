//! The contract between the kernel and a table method: four small traits, and the words they share.
//!
//! ```text
//!   Scan      a snapshot's rows as partitions of Arrow batches
//!   Write     point reads, and the installation of committed writes
//!   Maintain  what background jobs there are, each priced; run one
//!   Replay    apply one logged change (crash recovery, read nodes)
//! ```
//!
//! The kernel owns what is the same for every method: key locks, write sets, conflict checks, log records, timestamps,
//! publication. A method owns how committed versions are kept. DESIGN section 3.

mod job;
mod method;
mod scan;
mod status;
mod write_set;

pub use job::{JobKind, JobOffer, Price};
pub use method::{Maintain, Method, Newest, RecoveredTable, Replay, Scan, Table, TableContext, Write};
pub use scan::{ExprTest, LayerScan, Partition, ReadView, ScanMetrics, ScanOutput, ScanRequest, TableStatistics};
pub use status::{LayerStatus, PartStatus};
pub use write_set::{Attachment, Base, Change, Location, Staged, TableWrites};
