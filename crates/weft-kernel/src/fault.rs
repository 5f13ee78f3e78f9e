//! Deliberate bugs, compiled in by the feature `faults` and chosen at run time: each must be caught by a named test.
//!
//! ```text
//!   plant(Some(Fault::SkipLogSync))     the log no longer calls fdatasync; the crash tests must now fail
//! ```
//!
//! Without the feature [`active`] is the constant false, and nothing of this is in the program.

#[cfg(feature = "faults")]
use std::sync::atomic::{AtomicUsize, Ordering};

macro_rules! faults {
    ($($name:ident $doc:literal;)*) => {
        /// A deliberate bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $(#[doc = $doc] $name,)* }

        impl Fault {
            /// Every fault.
            pub const ALL: &[Fault] = &[$(Fault::$name,)*];
            /// The name, as the environment variable of a test run writes it.
            pub fn name(self) -> &'static str { match self { $(Fault::$name => stringify!($name),)* } }
            /// The fault of that name.
            pub fn from_name(name: &str) -> Option<Fault> {
                Fault::ALL.iter().copied().find(|fault| fault.name() == name)
            }
        }
    };
}

faults! {
    SkipLogSync "A log block is not synced before its commits are acknowledged.";
    AckBeforeDurable "A commit is acknowledged before its block is written.";
    SkipChecksum "Log blocks are read without testing their checksums.";
    PublishOutOfOrder "A timestamp is published while a lower one is still being installed.";
    LoseMarkAtConversion "A delete mark set while its table is converted is not carried over.";
    StaleLayout "A scan pins its layout before it registers its timestamp.";
    SkipDirSync "Directory entries are not synced.";
    ReplayTwiceApplies "Redo applies changes at or below a table's cut again.";
    SkipManifestSync "A manifest edit is not synced before it counts.";
    ForgetKeyLock "A key lock is released before publication.";
    DropDeadTooEarly "A job drops dead versions that a registered snapshot still sees.";
    ConvertTooEarly "A row table is converted before everything up to its F is installed.";
    SkipFileSync "A data file is not synced before the manifest names it.";
    StaleBorders "A job places its tables by the borders of before, which another job has changed meanwhile.";
    SplitThroughTables "A transition table that a new border goes through stays in its bucket.";
    ForgetLayers "A manifest edit names neither the tables that change their layer nor the borders of the buckets.";
    ForgetMarks "A manifest edit does not name the delete marks up to its cut.";
    ScanUnreconciled "A scan does not look for rows that blind writes have replaced.";
    ConvertUnreconciled "A row table is converted before the rows are marked that its blind writes have replaced.";
    ForgetReplaced "Redo of a large update does not end the rows that it replaced.";
    ForgetChunks "Redo applies a long transaction without its chunks.";
    SkipSpeculativeValidation "A transaction that has only read commits without waiting until that is durable.";
    SkipRowLock "The lock of a row is not taken.";
    ForgetWaiter "A lock that becomes free is not handed to who waits for it.";
    OverlookDeadlock "Nobody looks for a circle of waiting transactions.";
    OverlookQueue "The search for circles of waiting transactions looks at holders only, not at queues.";
    HoldSlotWhileWaiting "A statement of the column engine keeps its query slot while it waits for locks of rows.";
    ForgetRebase "Columns that another transaction wrote meanwhile are overwritten with what stood there before.";
    MissColumnConflict "A row changed since the snapshot is no conflict, whatever columns were changed.";
    InstallUnordered "Writers of different columns of a row install in any order.";
    SkipValidation "The reads of a serializable transaction are not validated.";
    ValidateKeysOnly "Ranges that a serializable transaction read are not validated.";
    ValidatePublishedOnly "Commits in the log that are not published are left out of validation.";
    ForgetBeforeImage "A row that left a range which was read is no conflict.";
    ForgetSavepoint "ROLLBACK TO leaves what was staged since the savepoint.";
    KeepStatementSnapshot "A READ COMMITTED statement reads the snapshot of the one before it.";
    ForgetCharge "Staged rows are not charged to the memory budget.";
    ForgetEntry "An update does not add the entry of its row to an index.";
    ForgetPredicateColumns "An update that brings a row into a partial index by its predicate alone adds no entry.";
    ForgetExpressionColumns "Writers of some columns of an index's expression let others write the rest.";
    CutUnfed "The log goes that an index was not fed from, as its table cannot be used.";
    ForgetUnopened "The log is not kept for an index that cannot be opened.";
    UniqueBeforeFollowed "Own rows are tested for a value before the commits that they follow are published.";
    QuarantineAtOnce "What cannot be read once, or for want of rights, is taken out of its table.";
    KeepIdleHandles "Who finds no handle left fails, while files are open that nobody reads.";
    ForgetRedoEntry "Redo does not add entries to indexes.";
    SkipValueLock "The lock of a value in a unique index is not taken.";
    UniqueLookAtMaximum "Rows with a value of a unique index are looked at while they are being installed.";
    SkipParentLock "The row that a foreign key refers to is not locked.";
    SkipForeignKeys "Rows that a statement staged are not tested against foreign keys.";
    SkipPendingConstraints "SET CONSTRAINTS ... IMMEDIATE does not test what was deferred until then.";
    ConstantForecast "The forecast says the same of every moment, whatever runs.";
    SkipLogEndCheck "An opening does not compare the end of the log with what the manifest depends on.";
    SkipManifestEndCheck "An opening does not compare the end of the manifest with the edits that the log names.";
    CutLogUnnamed "The log is cut before it names the edit of the manifest that allows it.";
    ForgetChunkedFailure "The chunks of a transaction that failed among them are not voided.";
    ForgetPanickedWriter "A panic of the thread that writes the log is told to nobody.";
    ForgetFooterCharge "What is known of data files is not charged to the account of memory.";
    ForgetCommits "Commits whose rows are not remembered are not validated against.";
    OverlookBuilding "Jobs and the log overlook indexes under construction.";
    ForgetBuildingCut "The log goes that an index under construction has not in files.";
    ListBuiltEarly "A job lists what an index was built from before the commit that names it.";
    FreezeAgain "Short row memory makes every table freeze at each look, whatever has the memory.";
    HouseStopsAtError "While the log cannot be cut no memory is given back.";
    FreezeAlways "A long log makes every table freeze, whatever holds it.";
    IndexCutTooHigh "An index freezes its memory for timestamps that are still being added.";
    IndexAddUnguarded "An index entry is added to a memory that was frozen and written meanwhile.";
    IndexAsksTooEarly "A merge of an index drops entries that a registered snapshot still needs.";
    IndexAsksOldHorizon "A merge of an index asks for rows at a horizon that has moved on since.";
    PoisonOnJobError "A job that fails stops the engine.";
    NoPause "A job that failed is tried again at once.";
    OfferDamaged "Jobs that read a damaged file are offered again at once.";
    StopAtInstall "A commit that cannot be installed for a file that cannot be read stops the engine.";
    ReadOnce "A read that fails while a commit is installed is not tried again.";
    ForgetGivenUp "A table that a commit could not be installed in is used as if nothing had been.";
    SwitchUnguarded "A panic between a durable edit and the switch to it stops nothing.";
    IndexFilterForgets "A filter of an index lacks a value.";
}

/// Which fault is planted: its place in [`Fault::ALL`] plus one, or 0.
#[cfg(feature = "faults")]
static PLANTED: AtomicUsize = AtomicUsize::new(0);

/// Plants a fault in this process, or takes the planted one out.
#[cfg(feature = "faults")]
pub fn plant(fault: Option<Fault>) {
    PLANTED.store(fault.map_or(0, |fault| fault as usize + 1), Ordering::SeqCst);
}

/// Whether this fault is planted.
#[cfg(feature = "faults")]
#[inline]
pub fn active(fault: Fault) -> bool {
    PLANTED.load(Ordering::Relaxed) == fault as usize + 1
}

/// Whether this fault is planted: never, without the feature `faults`.
#[cfg(not(feature = "faults"))]
#[inline(always)]
pub const fn active(_fault: Fault) -> bool {
    false
}
