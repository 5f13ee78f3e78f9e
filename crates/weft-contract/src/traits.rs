//! The duties of a table: it is read, it is written to, it is kept up. What it may be able to do beside that stands in
//! `abilities.rs` and is asked for. What is derived from a table has the upkeep in common with it, and nothing else.
//!
//! ```text
//!   t.read_row(key, ts)     a duty: every table has rows
//!   t.blind() = Some(b)     an ability: a row may be written blindly, and b.may_have_changed(key, ts) is asked then
//!   t.bulk()  = None        t builds no files: the rows of a bulk statement are staged one by one
//!   d.feed(ts, writes)      a secondary index of t takes in what a commit does to t; nobody reads rows of it
//!   d.columns() = Some(c)   an ability of what is derived: c has some columns of each row of t, and is scanned for t
//! ```
//!
//! 1. No body stands in for what a method lacks: a duty is done, an ability is there or is answered with none.
//! 2. What a table is able to do never changes while it is open.
//! 3. What is derived follows from its table: its rows are the table's, no writer stages any for it, and beside its
//!    definition the log has only which files were built for it. Lost, it is made again.
//! 4. There is one way in for what is committed ([`Write::apply`], [`Derived::feed`], [`Derived::attach`]): a commit
//!    goes it, and so does recovery, which makes of the log's record the writes again that it was made of. What is at
//!    or below the cut of a table, or of what is derived from it, is in its files, and changes nothing there. What is
//!    beyond the cut is applied once, commit by commit in the order of the log where the log is read; a table whose
//!    pages may be ahead of its cut knows what it has ([`InPlace`]).
//! 5. A follower, which reads the log of another engine for ever, applies what that one committed, and follows what it
//!    did with its files. A switch comes when everything up to its cut was applied, in the order of the switches; what
//!    was applied beyond the cut stays, wherever the switch puts what it ended.

use std::sync::Arc;

use weft_format::{Error, FileId, Result, RowCodec, Schema, Timestamp, Value};

use crate::abilities::{Blind, Bulk, BulkReplace, Columns, Fields, InPlace, Summaries, Versions};
use crate::def::TableDef;
use crate::job::JobOffer;
use crate::location::Location;
use crate::ordered::Ordered;
use crate::scan::{Sample, ScanOutput, ScanRequest, TableStatistics};
use crate::status::{Damage, LayerStatus, PartStatus};
use crate::write_set::{Attachment, TableWrites};

/// The newest committed version of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newest {
    /// When it was inserted.
    pub insert_ts: Timestamp,
    /// Where it lies now, when that can be said.
    pub location: Option<Location>,
}

/// Reads of one row, and of many.
pub trait Read: Send + Sync {
    /// Reads some columns of the version of `key` visible at `read_ts` into `values` (cleared first; one value per
    /// ordinal in `columns`, which are those of the reader's `codec`). False: no version is visible. Own writes are the
    /// caller's business.
    fn read(
        &self,
        codec: &RowCodec,
        key: &[u8],
        read_ts: Timestamp,
        columns: &[usize],
        values: &mut Vec<Value>,
    ) -> Result<bool>;
    /// Reads the whole row (row codec, of any version of the schema) of `key` visible at `read_ts`; at
    /// [`Timestamp::MAX`] the one that is alive.
    fn read_row(&self, key: &[u8], read_ts: Timestamp) -> Result<Option<Arc<[u8]>>>;
    /// The newest committed version of `key` if it is alive, whatever any snapshot sees. The caller holds the key's
    /// lock, so the answer stays true until it lets go (invariant 6).
    fn newest(&self, key: &[u8]) -> Result<Option<Newest>>;
    /// The same and its row, looked for once: whoever updates a row asks for both.
    fn newest_row(&self, key: &[u8]) -> Result<Option<(Newest, Arc<[u8]>)>>;
    /// The greatest key of any version the table holds, dead or alive; none when it holds nothing. Asked once at open,
    /// after redo, to go on with the hidden row ids; the statistics of the parts and the ends of the row tables know
    /// it.
    fn greatest_key(&self) -> Result<Option<Vec<u8>>>;
    /// Starts a scan: pins the present layout and splits it. The view's timestamp is registered already (invariant 1).
    /// The ordinals of the request are columns of `schema`, the version of the table's schema that the reader knows.
    fn scan(&self, schema: &Arc<Schema>, request: ScanRequest) -> Result<ScanOutput>;
    /// The same of some rows: of at most so many stretches of rows, from all over the table, so that what is read first
    /// is from all over it, too. A partition goes on to the next stretch where its own has no row. Who knows no
    /// stretches gives all rows, and the caller reads as many as it likes.
    fn sample(&self, schema: &Arc<Schema>, request: ScanRequest, stretches: usize) -> Result<Sample> {
        assert!(stretches > 0, "a sample is of some rows");
        Ok(Sample { output: self.scan(schema, request)?, is_whole: true })
    }
    /// Estimates for the planner.
    fn statistics(&self) -> TableStatistics;
}

/// What is committed comes in.
pub trait Write: Send + Sync {
    /// Makes the writes of a commit part of the table at `ts`, before `ts` is published: of one commit all at once, for
    /// one key in timestamp order. Nothing happens when `ts` is at or below the cut of the table (traits 4).
    ///
    /// Where a version lies, and which versions an attachment replaces, are hints of who staged: recovery has the first
    /// as of now and the second not at all, and the method looks for them by key. A file that an attachment names may
    /// be open since it was built, or not yet. Must not fail (what can fail was done before the commit record), but for
    /// an error of a file that has to be read; then a commit calls [`Write::give_up`], and recovery leaves the table
    /// out.
    fn apply(&self, ts: Timestamp, writes: &TableWrites) -> Result<()>;
    /// From here on the table answers with this error whoever reads as of `ts` or later, or writes: its files could not
    /// be read when the commit of `ts` was installed. Called before that is published, and after it for later commits
    /// that meet the same. Nothing of `ts` or later goes to files any more; [`Upkeep::durable_cut`] keeps the log,
    /// and the next open redoes it. False when the method knows no such thing: then the engine stops.
    fn give_up(&self, ts: Timestamp, error: &Error) -> bool;
}

/// Background work, files and definition: the duties of a table, and of what is derived from one ("table" here stands
/// for either).
pub trait Upkeep: Send + Sync {
    /// The jobs that could run now. A pure look at the layout: quick, no I/O.
    fn jobs(&self) -> Vec<JobOffer>;
    /// Runs an offered job to its end, in the caller's thread. Ok when the job is no longer needed, too.
    fn run(&self, offer: &JobOffer) -> Result<()>;
    /// Freezes what is in memory, so that jobs can carry it to files. Quick.
    fn freeze(&self);
    /// Every change with a timestamp up to this one is in files named by a durable manifest; [`Timestamp::MAX`] when
    /// nothing is waiting. The log before the lowest of these can go.
    fn durable_cut(&self) -> Timestamp;
    /// From now on the table has this definition: a later version of the schema with the same key (ALTER TABLE, called
    /// before its commit is published, and by redo). What is written from here on has its columns; what is there stays.
    fn evolve(&self, def: &Arc<TableDef>);
    /// Marks the table dropped: its files go when the last reader lets go.
    fn drop_files(&self);
    /// Reads all files of the table and tests every checksum and invariant; returns what is wrong, one line each.
    fn check(&self) -> Result<Vec<String>>;
    /// The data files that could not be read when they were needed last.
    fn damage(&self) -> Vec<Damage>;
    /// Why no statement can use the table, when a file of it could not be opened, or when it was given up.
    fn unavailable(&self) -> Option<&Error>;
    /// Who writes this database has given the table other files; a follower's table does as that one did (traits 5).
    /// Snapshots at or above the cut see what they saw; below it they are refused from here on. After an error the
    /// table is as before.
    fn follow(&self, switch: &FileSwitch) -> Result<()>;
}

/// What lies where, for people and for SQL's views.
pub trait Inspect: Send + Sync {
    /// What lies in which layer now, from the newest to the oldest data.
    fn layers(&self) -> Vec<LayerStatus>;
    /// The data files that have delete marks beside them, by lowest key.
    fn parts(&self) -> Vec<PartStatus>;
}

/// A table of some method: its duties, and the abilities that it has (traits 2).
pub trait Table: Read + Write + Upkeep + Inspect {
    /// Builds files of many rows.
    fn bulk(&self) -> Option<&dyn Bulk>;
    /// Builds files of rows that replace others.
    fn bulk_replace(&self) -> Option<&dyn BulkReplace>;
    /// Takes rows without a look at what their keys have.
    fn blind(&self) -> Option<&dyn Blind>;
    /// Changes pages where they lie, with records of its own in the log.
    fn in_place(&self) -> Option<&dyn InPlace>;
    /// Gives out what rows were.
    fn versions(&self) -> Option<&dyn Versions>;
    /// Gives out rows in the order of their keys.
    fn ordered(&self) -> Option<&dyn Ordered> {
        None
    }
    /// Reads fields of documents alone.
    fn fields(&self) -> Option<&dyn Fields> {
        None
    }
    /// Tells what the values of its columns are like.
    fn summaries(&self) -> Option<&dyn Summaries> {
        None
    }
}

/// What is derived from a table, which feeds it: a secondary index, a column index (traits 3).
pub trait Derived: Upkeep {
    /// Takes in what the commit of `ts` does to the table: called where the commit is applied there, before it is
    /// published. Rows that the commit adds as files come as files, too, by [`Derived::attach`]. Doing it again is
    /// harmless.
    fn feed(&self, ts: Timestamp, writes: &TableWrites);
    /// Files that were built for it become part of it, with the commit that names them. Doing it again is harmless.
    fn attach(&self, ts: Timestamp, files: &[FileId]) -> Result<()>;
    /// Takes back files that were built for it and that no commit record names.
    fn discard(&self, attachment: &Attachment);
    /// Has rows of some columns of the table, which are scanned instead of the table's.
    fn columns(&self) -> Option<&dyn Columns>;
}

/// One change of the files of a table, or of what is derived from one: an edit of the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSwitch {
    /// The cut: all changes up to here are in the files from now on; never lower than before.
    pub cut: Timestamp,
    /// Files that become part of the table.
    pub added: Vec<FileId>,
    /// Files that are no longer part of it.
    pub removed: Vec<FileId>,
    /// What the method says of it, and wants to know again at open.
    pub payload: Vec<u8>,
}

/// What the manifest knows of a table, or of what is derived from one, at open.
#[derive(Clone, Debug, Default)]
pub struct RecoveredTable {
    /// The cut: all changes up to here are in the files.
    pub cut: Timestamp,
    /// The files of the table.
    pub files: Vec<FileId>,
    /// The payloads of the table's manifest edits, oldest first.
    pub payloads: Vec<Vec<u8>>,
}
