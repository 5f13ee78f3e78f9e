//! The contract of a table ([`weft_contract`]), for the layers above.
//!
//! ```text
//!   weft-tables   implements it      weft_contract::Table
//!   weft-kernel   asks it            weft_contract::Table
//!   weft-sql      scans, looks       weft_kernel::table::ScanRequest
//! ```

pub use weft_contract::{
    Attachment, Base, Blind, Bulk, BulkReplace, Damage, ExprTest, FieldTest, InPlace, JobKind, JobOffer, LOCATION,
    LOCATION_NAME, LayerScan, LayerStatus, Location, NoteReads, OrderedRows, PartStatus, Partition, Period, Price,
    ReadView, Replaced, SINCE, ScanField, ScanMetrics, ScanOutput, ScanRequest, Staged, Table, TableStatistics,
    TableWrites, UNTIL, Versions, scan_schema, scan_schema_with,
};
