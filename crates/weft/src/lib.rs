//! Weft: one database for transactions and analytics on the same, always fresh data. This is the library to embed.
//!
//! ```no_run
//! use weft::{Database, Value};
//!
//! # fn main() -> weft::Result<()> {
//! let database = Database::open("flights.weft")?;
//! let mut session = database.session()?;
//! session.execute("CREATE TABLE airlines (carrier text PRIMARY KEY, name text NOT NULL)")?;
//! session.execute("INSERT INTO airlines VALUES ('UA', 'United Air Lines Inc.'), ('AA', 'American Airlines Inc.')")?;
//!
//! let find = session.prepare("SELECT name FROM airlines WHERE carrier = $1")?;
//! let found = session.execute_prepared(&find, &[Value::Text("UA".into())])?;
//! assert_eq!(found.single(), Some(Value::Text("United Air Lines Inc.".into())));
//! database.close()
//! # }
//! ```
//!
//! ```text
//!   Database   one directory, opened once per process at most; shared between threads
//!      └─ Session   one user's settings and transaction; used by one thread at a time
//!            ├─ execute            statements as text
//!            ├─ prepare            a statement with parameters, planned once
//!            └─ append             Arrow batches in bulk
//! ```

mod database;
mod options;

pub use database::{
    Database, Layer, backups, check_backup, is_archive, quarantine, restore, restore_archive, survey, survey_archive,
};
pub use options::{Archiving, Feeder, Follow, Nodes, Options};
pub use weft_format::{Code, Column, DataType, Error, ErrorKind, Result, Schema, Timestamp, Value, ValueRef};
pub use weft_kernel::admission::PoolStatus;
pub use weft_kernel::sched::JobTotal;
pub use weft_kernel::sched::SchedulerMode;
pub use weft_kernel::{
    Backup, BackupSummary, DamagedFile, Durability, EngineStatus, QuarantineReport, Quarantined, TableDef,
};
pub use weft_replica::{ArchivePhase, ArchiveRestored, ArchiveStatus, ArchiveSummary, Connect, FEED_VERSION, Link};
pub use weft_replica::{NODES_DIR, NodeSeen, NodeStatus, NodeSurveyed, Phase, Survey, WriterSurveyed};
pub use weft_sql::configuration;
pub use weft_sql::{CancelToken, Outcome, OutputColumn, Prepared, Rows, Session, Tag};
pub use weft_sql::{Client as SessionClient, CopyFormat, Notice, Severity, Style};
pub use weft_store::is_url;

/// The Arrow crate whose batches [`Session::append`] takes and [`Rows`] gives.
pub use arrow;

/// The text of a value in a session's style ([`Session::settings`]); `None` for NULL.
pub fn value_text_in(value: &Value, data_type: DataType, style: &Style) -> Option<String> {
    (!value.is_null()).then(|| weft_sql::text::print_as(value.as_ref(), data_type, style))
}

/// The value that a text is of, as PostgreSQL reads it in ISO style and UTC.
pub fn read_value(text: &str, data_type: DataType) -> Result<Value> {
    weft_sql::text::parse(text, data_type, &weft_sql::Local::new(Style::default(), 0))
}

/// The text of a value as PostgreSQL writes it in ISO style and UTC; `None` for NULL.
pub fn value_text(value: &Value, data_type: DataType) -> Option<String> {
    (!value.is_null()).then(|| weft_sql::text::print(value.as_ref(), data_type))
}
