//! The traits that a table implements.

use std::sync::Arc;

use weft_format::{Error, FileId, Result, RowCodec, Schema, Timestamp, Value};

use crate::def::TableDef;
use crate::job::JobOffer;
use crate::location::Location;
use crate::scan::{ScanOutput, ScanRequest, TableStatistics};
use crate::status::{Damage, LayerStatus, PartStatus};
use crate::write_set::{Attachment, Change, TableWrites};

/// Reads for statements that look at many rows.
pub trait Scan: Send + Sync {
    /// Starts a scan: pins the present layout and splits it. The view's timestamp is registered already (invariant 1).
    /// The ordinals of the request are columns of `schema`, the version of the table's schema that the reader knows.
    fn scan(&self, schema: &Arc<Schema>, request: ScanRequest) -> Result<ScanOutput>;
    /// Estimates for the planner.
    fn statistics(&self) -> TableStatistics;
}

/// The newest committed version of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newest {
    /// When it was inserted.
    pub insert_ts: Timestamp,
    /// Where it lies now.
    pub location: Location,
}

/// Point reads, and the installation of committed writes.
pub trait Write: Send + Sync {
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
    /// Whether a row may be written without a look at what its key has ([`Base::Unseen`](crate::Base::Unseen)).
    fn takes_blind_writes(&self) -> bool;
    /// Whether `key` may have got or lost a row after `ts`: false is certain, true is said rather than looked for. The
    /// caller holds the key's lock. Asked of tables that take blind writes.
    fn may_have_changed(&self, key: &[u8], ts: Timestamp) -> Result<bool>;
    /// The greatest key of any version the table holds, dead or alive; none when it holds nothing. Asked once at open,
    /// after redo, to go on with the hidden row ids; the statistics of the parts and the ends of the row tables know
    /// it.
    fn greatest_key(&self) -> Result<Option<Vec<u8>>>;
    /// Builds files from rows that arrive in batches (storage columns in schema order). The files are durable when this
    /// returns. The keys are distinct, free at `newest`, and in no file that was built and is not installed yet: this
    /// checks it and fails with a unique violation, leaving nothing behind. The caller keeps all other writers off the
    /// table until commit.
    fn build(&self, batches: &[arrow_array::RecordBatch]) -> Result<Attachment>;
    /// Takes back files that [`Write::build`] made and no commit record names.
    fn discard(&self, attachment: &Attachment);
    /// Makes the writes part of the table at `ts`; called once per committing transaction, for one key in timestamp
    /// order, before `ts` is published. Must not fail (what can fail was done before the commit record), but for an
    /// error of a file in which the old version is looked for again, after which [`Maintain::give_up`] is called.
    fn install(&self, ts: Timestamp, writes: &TableWrites) -> Result<()>;
}

/// Takes the key and the row (row codec) of each of some rows.
pub type VisitRow<'a> = dyn FnMut(&[u8], Arc<[u8]>) -> Result<()> + 'a;

/// Rows replaced in bulk: the new versions are files of their own, the old ones end where they lie.
///
/// Installation of an attachment with [`Replaced`](crate::Replaced) versions ends these, too, and replay of its record
/// ends the versions that the files' keys have then: the log says nothing of them but that the rows replace others.
pub trait Replace: Send + Sync {
    /// A statement whose rows take more than this in a row table, bytes, builds files.
    fn bulk_bytes(&self) -> u64;
    /// Which of the versions that were seen there lie there still and have not ended: no lookup by key. The caller
    /// holds the locks of their keys.
    fn still_there(&self, places: &[Option<Location>]) -> Vec<bool>;
    /// As [`Write::build`], of rows that replace those of their keys, which the caller has locked. The keys are
    /// distinct: this checks it.
    fn build_replacing(&self, batches: &[arrow_array::RecordBatch]) -> Result<Attachment>;
    /// The row (row codec) of a key in files that were built and are not installed yet.
    fn built_row(&self, attachment: &Attachment, key: &[u8]) -> Result<Option<Arc<[u8]>>>;
    /// All such rows, each with its key.
    fn built_rows(&self, attachment: &Attachment, visit: &mut VisitRow<'_>) -> Result<()>;
}

/// Background work.
pub trait Maintain: Send + Sync {
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
    /// What lies in which layer now, from the newest to the oldest data.
    fn layers(&self) -> Vec<LayerStatus>;
    /// The data files that could not be read when they were needed last.
    fn damage(&self) -> Vec<Damage> {
        Vec::new()
    }
    /// From here on the table answers with this error whoever reads as of `ts` or later, or writes: its files could not
    /// be read when the commit of `ts` was installed. Called before that is published, and after it for later commits
    /// that meet the same. Nothing of `ts` or later goes to files any more; [`Maintain::durable_cut`] keeps the log,
    /// and the next open redoes it. False when the method knows no such thing: then the engine stops.
    fn give_up(&self, _ts: Timestamp, _error: &Error) -> bool {
        false
    }
    /// Why no statement can use the table, when a file of it could not be opened, or when it was given up.
    fn unavailable(&self) -> Option<&Error> {
        None
    }
    /// The data files that have delete marks beside them, by lowest key.
    fn parts(&self) -> Vec<PartStatus>;
}

/// Redo.
pub trait Replay: Send + Sync {
    /// Applies a logged change. Changes come in log order; those at or below the table's recovered cut are ignored
    /// here, so replaying twice is harmless.
    fn replay(&self, ts: Timestamp, change: &Change) -> Result<()>;
}

/// A table of some method.
pub trait Table: Scan + Write + Replace + Maintain + Replay {}

impl<T: Scan + Write + Replace + Maintain + Replay> Table for T {}

/// What the manifest knows of a table at open.
#[derive(Clone, Debug, Default)]
pub struct RecoveredTable {
    /// The cut: all changes up to here are in the files.
    pub cut: Timestamp,
    /// The files of the table.
    pub files: Vec<FileId>,
    /// The payloads of the table's manifest edits, oldest first.
    pub payloads: Vec<Vec<u8>>,
}
