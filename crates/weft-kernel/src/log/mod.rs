//! The log: every durable change, in commit order, checksummed. The log is the truth; files are a cache of it.
//!
//! ```text
//!   log-0000000000000000   [header][block][block]...
//!   log-0000000000fff818   [header][block]00000000    the last one is written; its space was written before
//!
//!   LSN = byte position in the endless log. A block is what one flush wrote: header + records of many transactions.
//! ```
//!
//! | module | what |
//! |---|---|
//! | `layout` | bytes of segments and blocks |
//! | `record`, `changes`, `before` | bytes of records, and of the changes in them; those of the release before |
//! | `batch`, `fate`, `gather`, `writer` | group commit |
//! | `tail`, `segments`, `spares` | the files: writing, rolling over, which are needed, those to come |
//! | `durable` | how far it is on disk, and who is told |
//! | `reader` | recovery |
//! | `tap` | who takes it elsewhere |
//!
//! 1. What was acknowledged as durable is delivered after every crash, in order, unchanged.
//! 2. What is delivered was appended.
//! 3. Damage is reported, never skipped, wherever it can be told from an unfinished write.
//!
//! The bytes, and what is assumed of the disk: docs/format/log.md.

mod batch;
mod before;
mod changes;
mod durable;
mod fate;
mod gather;
mod layout;
mod options;
mod reader;
mod record;
mod segments;
mod sequence;
mod spares;
mod tail;
mod tap;
mod writer;

pub use changes::{Change, ChangeDecoder, ChangeEncoder, LoggedChange};
pub use durable::{Announce, Durable};
pub(crate) use fate::Fate;
pub(crate) use layout::{SEGMENT_HEADER_BYTES, SegmentHeader, SegmentName, segment_name, segment_start};
pub use options::LogOptions;
pub use reader::{Entry, LogEnd, LogReader, read_log};
pub(crate) use reader::{last_epoch, read_live_log, read_live_log_from, read_log_from};
pub use record::{RECORD_BYTES_MAX, Record};
pub use segments::{LogKeeper, NeededFrom};
pub use sequence::SequenceValue;
pub use tap::{LogPart, LogSpan, LogTap};
pub(crate) use tap::{attached_files, segment_path};
pub(crate) use writer::KeptLog;
pub use writer::{Log, LogCounters, Ticket, WRITE_TIMES};

#[cfg(test)]
mod tests;
