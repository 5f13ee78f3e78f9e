//! The contract between the kernel and a table: duties, abilities, and the words they share.
//!
//! ```text
//!   duties       Read         one row by its key; a snapshot's rows as partitions of Arrow batches; estimates
//!                Write        install what a commit has staged; replay a logged change (crash recovery, read nodes)
//!                Upkeep       jobs, each priced; freeze, cut, evolve, drop, check
//!                Inspect      what lies where
//!   abilities    Bulk         many rows at once, as files of their own
//!                BulkReplace  the same of rows that replace others
//!                Blind        rows written without a look at what their keys have
//!                InPlace      pages changed where they lie, with records of the method's own in the log
//!                Versions     what rows were, from which commit until which
//!                Ordered      rows by their keys, from any key on, as many as are wanted
//!                Fields       values within documents, without the documents
//!                Summaries    what the values of columns are like, as files say
//!                Columns      of what is derived: some columns of each row, scanned instead of the table
//!   Table        the four duties, and which abilities it has
//!   Derived      Upkeep, and fed by its table: a secondary index, a column index
//! ```
//!
//! The kernel owns what is the same for every method: key locks, write sets, conflict checks, log records, timestamps,
//! publication. A method owns how committed versions are kept. DESIGN section 3.
//!
//! Nothing here knows the kernel: it asks tables through this crate, and the methods implement it. Who makes and opens
//! tables, and what the kernel gives them to work with, is the business of weft-kernel's `Method`. No code here runs
//! but constructors, accessors and searches in what a value holds.

mod abilities;
mod def;
mod job;
mod location;
mod ordered;
mod replaced;
mod scan;
mod status;
mod traits;
mod write_set;

pub use abilities::{
    Amendments, Blind, Bulk, BulkReplace, Columns, Fields, InPlace, Paths, Summaries, Versions, VisitRow,
};
pub use def::{Deferrable, FkAction, ForeignKey, NewTable, SchemaId, TableDef};
pub use job::{JobKind, JobOffer, Price};
pub use location::Location;
pub use ordered::{Direction, LOOKS_MAX, ORDERED_BYTES_MAX, Ordered, OrderedRows, Wanted};
pub use replaced::Replaced;
pub use scan::{
    ExprTest, FieldTest, LOCATION, LOCATION_NAME, LayerScan, NoteReads, Partition, Period, ReadView, SINCE, Sample,
    ScanField, ScanMetrics, ScanOutput, ScanRequest, TableStatistics, UNTIL, scan_schema, scan_schema_with,
};
pub use status::{Damage, LayerStatus, PartStatus, TakenOut};
pub use traits::{Derived, FileSwitch, Inspect, Newest, Read, RecoveredTable, Table, Upkeep, Write};
pub use write_set::{Attachment, Base, Staged, TableWrites};
