//! What a table may be able to do. Each ability is a trait of its own, asked for once through [`Table`](crate::Table).
//!
//! ```text
//!   COPY of 300,000 rows     bulk() = Some      files, or pages, beside row memory, one record at commit
//!                            bulk() = None      300,000 staged rows
//!   UPDATE of as many        bulk_replace()     the same, and the old versions end where they were seen
//!   INSERT ... ON CONFLICT   blind() = Some     staged without a look; what was there is found when somebody reads
//!   opening after a crash    in_place() = Some  its changes of pages first, then the commits beyond its cut
//!   what a row was before    versions() = Some  each version once, with the commits that it began and ended with
//!                            versions() = None  the state at one moment, as far back as it is kept
//!   the next 20 from k on    ordered() = Some     20 rows are read; none: all of them behind k, and sorted
//!   doc->'a'->>'b'           fields() = Some    the values of the path, from its own columns where it has some
//!                            fields() = None    those of the documents' texts, which the kernel takes apart
//!   how many values has c?   summaries() = Some what its files say together; none: who asks looks at some rows
//!   sum(b) of a row table    columns() = Some   of what is derived from it: rows of k and b, stored as columns
//! ```
//!
//! 1. Who replaces in bulk builds in bulk: the types say so.
//! 2. Attachments of a write set are of tables that build in bulk: an attachment is applied to no other
//!    table. Files of entries stand beside them, each with its index.
//! 3. [`Base::Unseen`](crate::Base::Unseen) is staged for tables only that take blind writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_format::document::PathSummary;
use weft_format::{ColumnSummary, Error, RecordNo, Result, Schema, Timestamp};

use crate::location::Location;
use crate::scan::{FieldTest, Period, ScanField, ScanOutput, ScanRequest, TableStatistics};
use crate::status::{LayerStatus, PartStatus};
use crate::write_set::Attachment;

/// Many rows at once, as files of their own, or on the pages of the table, where nobody sees them.
pub trait Bulk: Send + Sync {
    /// A statement whose rows take more than this in a row table, bytes, builds files.
    fn bulk_bytes(&self) -> u64;
    /// Builds files from rows that arrive in batches (storage columns in schema order). They are durable when this
    /// returns; of a table that keeps its rows in place, the rows are, and the attachment names no files. The keys are
    /// distinct, free at `newest`, and in no file that was built and is not installed yet: this checks it and fails
    /// with a unique violation, leaving nothing behind. The caller keeps all other writers off the table until commit.
    fn build(&self, batches: &[RecordBatch]) -> Result<Attachment>;
    /// Takes back files that [`Bulk::build`] or [`BulkReplace::build_replacing`] made and no commit record names.
    fn discard(&self, attachment: &Attachment);
}

/// Takes the key and the row (row codec) of each of some rows.
pub type VisitRow<'a> = dyn FnMut(&[u8], Arc<[u8]>) -> Result<()> + 'a;

/// Rows replaced in bulk: the new versions are files of their own, the old ones end where they lie.
///
/// Who applies an attachment with [`Replaced`](crate::Replaced) versions ends these, too; without them, in recovery,
/// the versions that the files' keys have then: the log says nothing of them but that the rows replace others.
pub trait BulkReplace: Bulk {
    /// Which of the versions that were seen there lie there still and have not ended: no lookup by key. The caller
    /// holds the locks of their keys.
    fn still_there(&self, places: &[Option<Location>]) -> Vec<bool>;
    /// As [`Bulk::build`], of rows that replace those of their keys, which the caller has locked. The keys are
    /// distinct: this checks it.
    fn build_replacing(&self, batches: &[RecordBatch]) -> Result<Attachment>;
    /// The row (row codec) of a key in files that were built and are not installed yet.
    fn built_row(&self, attachment: &Attachment, key: &[u8]) -> Result<Option<Arc<[u8]>>>;
    /// All such rows, each with its key.
    fn built_rows(&self, attachment: &Attachment, visit: &mut VisitRow<'_>) -> Result<()>;
}

/// Rows written without a look at what their keys have.
pub trait Blind: Send + Sync {
    /// Whether `key` may have got or lost a row after `ts`: false is certain, true is said rather than looked for. The
    /// caller holds the key's lock.
    fn may_have_changed(&self, key: &[u8], ts: Timestamp) -> Result<bool>;
}

/// Pages that are changed where they lie. What is done to them as a whole (a split, an image of a page that is about to
/// be written) the method says in records of its own, which belong to no transaction; rows come by commits, as in any
/// table.
///
/// ```text
///   log       commit 41 · split of page 3 (#812) · commit 42 · image of page 3 (#814)   ─▶ page 3 on disk: 814
///   recovery  #812, #814, then 41 and 42 where they are beyond the cut: page 3 may have them already
///   follower  41, #812, 42, #814, as they come
/// ```
///
/// 1. A page is written only when the log is durable up to the number of its last change, which it carries: so pages
///    never know of more than the log does.
/// 2. Pages may be ahead of the table's cut. A commit beyond the cut that a page has already changes nothing there: the
///    table knows by key and timestamp.
/// 3. Doing a record again, on a page that has it, changes nothing.
pub trait InPlace: Send + Sync {
    /// Does what a record says, which this table's method appended. Before [`InPlace::redone`]: all that the log has,
    /// in its order and before any commit of it, on pages as they were found on disk. After it, of a follower: between
    /// the commits, as the log has them; all commits before it were applied.
    fn redo(&self, number: RecordNo, change: &[u8]) -> Result<()>;
    /// All records were done that the log has. Fails when pages are not whole now.
    fn redone(&self) -> Result<()>;
    /// The log can be appended to from here on: all that it has was done, and no commit comes before this returns.
    fn opened(&self);
    /// The highest number that a page had as it was found on disk: the log had it when the page was written (in
    /// place 1).
    fn last_found(&self) -> RecordNo;
    /// The lowest number of a record that is needed: pages on disk lack what it says. None: none is. While there is
    /// one a freeze makes the table offer a job that ends it, and
    /// [`Upkeep::durable_cut`](crate::Upkeep::durable_cut) is not MAX.
    fn needs_from(&self) -> Option<RecordNo>;
}

/// The versions of rows, each with the commits that it began and ended with.
///
/// ```text
///   k   inserted 41, updated 44 and 47, deleted 50, inserted again 60      [41, 44) [44, 47) [47, 50) [60, ..)
/// ```
///
/// 1. The versions of a key are those that the commits have left, one for each that changed it: they do not overlap,
///    and while there is no row there is none.
pub trait Versions: Send + Sync {
    /// Starts a scan of the versions that a period has: pins the present layout and splits it. As
    /// [`Read::scan`](crate::Read::scan), but for this: of commits later than the view's nothing is seen, a version
    /// that one of them ended has not ended; own writes are no versions; the projection may have
    /// [`SINCE`](crate::SINCE) and [`UNTIL`](crate::UNTIL), and no [`LOCATION`](crate::LOCATION).
    ///
    /// The view's timestamp and the period's `after` are registered, and the table keeps what they see.
    fn scan_versions(&self, schema: &Arc<Schema>, request: ScanRequest, period: Period) -> Result<ScanOutput>;
}

/// Fields of documents, without the documents around them.
///
/// ```text
///   projection [0], fields [doc->'a'->>'b', (doc->>'n')::bigint]      batches of three columns: k, text, bigint
/// ```
///
/// 1. The answer is that of the documents' texts, value by value ([`FieldPath::of_texts`]): what a method has as
///    columns it reads there, and everything else from the texts.
///
/// [`FieldPath::of_texts`]: weft_format::document::FieldPath::of_texts
pub trait Fields: Send + Sync {
    /// As [`Read::scan`](crate::Read::scan); batches have the columns of the projection, then those of the fields. Rows
    /// that do not satisfy all `tests` are not wanted: the scan may leave them out, or not.
    fn scan_fields(
        &self,
        schema: &Arc<Schema>,
        request: ScanRequest,
        fields: Vec<ScanField>,
        tests: Vec<FieldTest>,
    ) -> Result<ScanOutput>;
    /// What files know of the paths of a column's documents, in all their versions; no document is read. Looked at are
    /// so many blocks at most, from all over the files. Of rows that are in no file nothing is known.
    fn paths(&self, column: usize, block_count_max: usize, row_count_max: usize) -> Result<Paths>;
}

/// The paths of a column's documents.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Of the blocks that were looked at.
    pub summary: PathSummary,
    /// Rows in the files of the table, dead versions among them.
    pub file_rows: u64,
}

/// What the values of each column are like, as the files of a table say.
///
/// 1. What is told is of rows in files, each counted once, of which a fifth at most may have gone since it was
///    complete.
/// 2. Who plans asks for what is known already: files are read by [`Summaries::catch_up`], some each time, and by
///    [`Summaries::renew`].
/// 3. Of each column all rows are told of: in files that lack a column it has what such rows have there.
pub trait Summaries: Send + Sync {
    /// By ordinal, as far as it is known. Reads no file.
    fn summaries(&self) -> Arc<Vec<ColumnSummary>>;
    /// About how many rows of the files are alive.
    fn alive_rows(&self) -> u64;
    /// Whether some files are not told of, or too many that have gone. Quick.
    fn is_behind(&self) -> bool;
    /// Takes in some of them: a bounded number of files and bytes. Nothing happens while somebody else does.
    fn catch_up(&self);
    /// Takes in all files as they are now, however many; asks after each few whether to go on.
    fn renew(&self, goes_on: &mut dyn FnMut() -> Result<()>) -> Result<()>;
}

/// What the log has changed of each key while what is derived was not fed: when last, and the row that there is now
/// (row codec of its own schema); none: there is none.
pub type Amendments = BTreeMap<Arc<[u8]>, (Timestamp, Option<Arc<[u8]>>)>;

/// Rows of some columns of a table, its key among them, kept for scans. The ordinals and the rows that it knows are
/// those of its own schema; its keys are the table's, byte for byte.
///
/// ```text
///   t (k, a, b, c)  row pages            feed @44  { k5: (k 5, b 'x'), k9: none }      of each row what concerns it
///   x (k, b)        columns by key       scan @44  the rows of t @44, without a and c
/// ```
///
/// 1. A snapshot that it shows sees of it the rows of the table, no more and no fewer.
/// 2. What it cannot be sure of it does not show: it gives itself up, and scans go to the table.
/// 3. A row that is fed ends the one of its key, whether the table has said that there is one or not: recovery feeds
///    what the log has, on a state that may lack what the table has in its pages already (in place 2).
pub trait Columns: Send + Sync {
    /// The cut: all changes up to here are in files.
    fn cut(&self) -> Timestamp;
    /// Builds files of rows as of the snapshot that it is made from: they are durable when this returns, and attached
    /// by the commit that makes it. The rows of one call, and of all calls, have different keys.
    fn build(&self, batches: &[RecordBatch]) -> Result<Attachment>;
    /// Recovery has fed all that the log has. These keys changed where it was not: in what the table has on disk beyond
    /// the cut of the index. From here on it is fed all that happens. Called before anybody reads; after an error it is
    /// given up.
    fn amend(&self, changes: &Amendments);
    /// A follower has fed all that the log has, and of what changed up to `ts` it could not feed all: the index shows
    /// itself when a switch has brought that ([`Upkeep::follow`](crate::Upkeep::follow)).
    fn lacks_up_to(&self, ts: Timestamp);
    /// From `ts` on it is not what the table is (columns 2); its cut stays, so the log does.
    fn give_up(&self, ts: Timestamp, error: &Error);
    /// Whether a registered snapshot sees it whole.
    fn shows(&self, read_ts: Timestamp) -> bool;
    /// The row (row codec) of a key as a snapshot sees it.
    fn read_row(&self, key: &[u8], read_ts: Timestamp) -> Result<Option<Arc<[u8]>>>;
    /// As [`Fields::scan_fields`], over its own columns; `schema` is its own, perhaps under other names. Own writes
    /// are the caller's business.
    fn scan(&self, schema: &Arc<Schema>, request: ScanRequest, fields: Vec<ScanField>) -> Result<ScanOutput>;
    /// Estimates for the planner.
    fn statistics(&self) -> TableStatistics;
    /// Tells what the values of its columns are like.
    fn summaries(&self) -> Option<&dyn Summaries> {
        None
    }
    /// See [`Inspect::layers`](crate::Inspect::layers).
    fn layers(&self) -> Vec<LayerStatus>;
    /// See [`Inspect::parts`](crate::Inspect::parts).
    fn parts(&self) -> Vec<PartStatus>;
}
