//! Deliberate bugs, compiled in by the feature `faults` and chosen at run time: each must be caught by a named test.
//!
//! ```text
//!   plant(Some(Fault::SKIP_LOG_SYNC))     the log no longer calls fdatasync; the crash tests must now fail
//! ```
//!
//! Without the feature [`active`] is the constant false, and nothing of this is in the program. A method declares its
//! own ([`Method::faults`](crate::method::Method::faults)).

#[cfg(feature = "faults")]
use std::sync::atomic::{AtomicU64, Ordering};

/// A deliberate bug: of the kernel ([`Fault::KERNEL`]), or of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    name: &'static str,
    id: u64,
}

impl Fault {
    /// A fault of this name.
    pub const fn new(name: &'static str) -> Fault {
        // FNV-1a: told apart by one comparison. 0 is none.
        let (mut id, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
        while at < name.len() {
            id = (id ^ name.as_bytes()[at] as u64).wrapping_mul(0x0100_0000_01b3);
            at += 1;
        }
        assert!(id != 0);
        Fault { name, id }
    }

    /// The name, as the environment variable of a test run writes it.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl Fault {
    /// A look at rows panics: no bug to be caught, but what is to be borne.
    pub const PANIC_IN_LOOK: Fault = Fault::new("PANIC_IN_LOOK");
}

macro_rules! kernel_faults {
    ($($name:ident $doc:literal;)*) => {
        impl Fault {
            $(#[doc = $doc] pub const $name: Fault = Fault::new(stringify!($name));)*
            /// Every fault of the kernel.
            pub const KERNEL: &[Fault] = &[$(Fault::$name,)*];
        }
    };
}

kernel_faults! {
    CHARGE_SHARED_BUFFERS "A look counts what rows share anew for each batch of them, and ends early.";
    WAKE_WHILE_RESTING "Whoever plans wakes somebody to look at a table that was looked at a moment ago.";
    LOOK_AGAIN "A table is looked at again whenever somebody plans with it, however little has changed.";
    NONSENSE_COLUMNS "What is known of columns is nonsense.";
    SKIP_LOG_SYNC "A log block is not synced before its commits are acknowledged.";
    ACK_BEFORE_DURABLE "A commit is acknowledged before its block is written.";
    SKIP_CHECKSUM "Log blocks are read without testing their checksums.";
    PUBLISH_OUT_OF_ORDER "A timestamp is published while a lower one is still being installed.";
    REMOVE_AFTER_CLOSE "A file is removed although the directory may be another's.";
    SKIP_DIR_SYNC "Directory entries are not synced.";
    SKIP_MANIFEST_SYNC "A manifest edit is not synced before it counts.";
    FORGET_KEY_LOCK "A key lock is released before publication.";
    SKIP_FILE_SYNC "A data file is not synced before the manifest names it.";
    FORGET_CHUNKS "Redo applies a long transaction without its chunks.";
    FORGET_LEFT_CHUNKS "Redo applies a transaction without the chunks that it left in the log.";
    SKIP_SPECULATIVE_VALIDATION "A transaction that has only read commits without waiting until that is durable.";
    SKIP_ROW_LOCK "The lock of a row is not taken.";
    FORGET_WAITER "A lock that becomes free is not handed to who waits for it.";
    OVERLOOK_DEADLOCK "Nobody looks for a circle of waiting transactions.";
    OVERLOOK_QUEUE "The search for circles of waiting transactions looks at holders only, not at queues.";
    HOLD_SLOT_WHILE_WAITING "A statement of the query engine keeps its query slot while it waits for locks of rows.";
    FORGET_REBASE "Columns that another transaction wrote meanwhile are overwritten with what stood there before.";
    MISS_COLUMN_CONFLICT "A row changed since the snapshot is no conflict, whatever columns were changed.";
    INSTALL_UNORDERED "Writers of different columns of a row install in any order.";
    SKIP_VALIDATION "The reads of a serializable transaction are not validated.";
    VALIDATE_KEYS_ONLY "Ranges that a serializable transaction read are not validated.";
    VALIDATE_PUBLISHED_ONLY "Commits in the log that are not published are left out of validation.";
    FORGET_BEFORE_IMAGE "A row that left a range which was read is no conflict.";
    FORGET_SAVEPOINT "ROLLBACK TO leaves what was staged since the savepoint.";
    KEEP_STATEMENT_SNAPSHOT "A READ COMMITTED statement reads the snapshot of the one before it.";
    FORGET_CHARGE "Staged rows are not charged to the memory budget.";
    FORGET_ENTRY "An update does not add the entry of its row to an index.";
    FORGET_PREDICATE_COLUMNS "An update that brings a row into a partial index by its predicate alone adds no entry.";
    FORGET_EXPRESSION_COLUMNS "Writers of some columns of an index's expression let others write the rest.";
    CUT_UNFED "The log goes that an index was not fed from, as its table cannot be used.";
    FORGET_UNOPENED "The log is not kept for an index that cannot be opened.";
    UNIQUE_BEFORE_FOLLOWED "Own rows are tested for a value before the commits that they follow are published.";
    QUARANTINE_AT_ONCE "What cannot be read once, or for want of rights, is taken out of its table.";
    KEEP_IDLE_HANDLES "Who finds no handle left fails, while files are open that nobody reads.";
    FORGET_REDO_ENTRY "Redo does not add the entries that an index lacks of rows that its table has in files.";
    FORGET_MISSED_ROWS "Redo does not add the entries of rows that changed while an index was made.";
    SKIP_VALUE_LOCK "The lock of a value in a unique index is not taken.";
    UNIQUE_LOOK_AT_MAXIMUM "Rows with a value of a unique index are looked at while they are being installed.";
    SKIP_PARENT_LOCK "The row that a foreign key refers to is not locked.";
    SKIP_FOREIGN_KEYS "Rows that a statement staged are not tested against foreign keys.";
    SKIP_PENDING_CONSTRAINTS "SET CONSTRAINTS ... IMMEDIATE does not test what was deferred until then.";
    CONSTANT_FORECAST "The forecast says the same of every moment, whatever runs.";
    SKIP_LOG_END_CHECK "An opening does not compare the end of the log with what the manifest depends on.";
    SKIP_MANIFEST_END_CHECK "An opening does not compare the end of the manifest with the edits that the log names.";
    RECYCLE_UNSYNCED "A log segment becomes another one before it is durable that it has lost its name.";
    READ_RECYCLED "Who follows does not notice that the log segment it reads has become another one.";
    CUT_LOG_UNNAMED "The log is cut before it names the edit of the manifest that allows it.";
    FORGET_CHUNKED_FAILURE "The chunks of a transaction that failed among them are not voided.";
    GIVE_NUMBER_TWICE "Two records of the log get the same number.";
    PAGE_BEFORE_LOG "What a page needs of the log is not written before the page.";
    CHANGE_COPIED_PAGES "Pages change while a backup copies their file.";
    CUT_LOG_UNDER_PAGES "The log goes that pages need which are not written yet.";
    FORGET_PAGE_RECORDS "Redo leaves out what tables say of their pages.";
    CUT_LOG_FOLLOWED "The log goes that a follower has not read.";
    FOLLOW_ACROSS_GAP "Who joins begins with a segment that was put aside, behind which others have gone.";
    FOLLOW_LOST_EDIT "A follower goes on with an edit of the manifest that the writer may have lost in a crash.";
    PUBLISH_BEFORE_APPLIED "A follower publishes a commit before it has applied it.";
    FOLLOW_WITHOUT_FLOOR "Old snapshots of a follower read an index whose entries the writer has left out.";
    FORGET_LAYOUT_RECORD "The log is not told of an edit of the manifest.";
    FORGET_PANICKED_WRITER "A panic of the thread that writes the log is told to nobody.";
    FORGET_FOOTER_CHARGE "What is known of data files is not charged to the account of memory.";
    FORGET_COMMITS "Commits whose rows are not remembered are not validated against.";
    OVERLOOK_BUILDING "Jobs and the log overlook indexes under construction.";
    FORGET_BUILDING_CUT "The log goes that an index under construction has not in files.";
    LIST_BUILT_EARLY "A job lists what an index was built from before the commit that names it.";
    FREEZE_AGAIN "Short row memory makes every table freeze at each look, whatever has the memory.";
    HOUSE_STOPS_AT_ERROR "While the log cannot be cut no memory is given back.";
    FREEZE_ALWAYS "A long log makes every table freeze, whatever holds it.";
    INDEX_CUT_TOO_HIGH "An index freezes its memory for timestamps that are still being added.";
    INDEX_ADD_UNGUARDED "An index entry is added to a memory that was frozen and written meanwhile.";
    INDEX_ASKS_TOO_EARLY "A merge of an index drops entries that a registered snapshot still needs.";
    INDEX_ASKS_OLD_HORIZON "A merge of an index asks for rows at a horizon that has moved on since.";
    READ_BELOW_FLOOR "A snapshot of the past reads a table that has dropped what it shows.";
    FORGET_PROMISE "The horizon passes what was promised to be kept.";
    POISON_ON_JOB_ERROR "A job that fails stops the engine.";
    NO_PAUSE "A job that failed is tried again at once.";
    OFFER_DAMAGED "Jobs that read a damaged file are offered again at once.";
    STOP_AT_INSTALL "A commit that cannot be installed for a file that cannot be read stops the engine.";
    READ_ONCE "A read that fails while a commit is installed is not tried again.";
    SWITCH_UNGUARDED "A panic between a durable edit and the switch to it stops nothing.";
    COLUMNS_MISS_UPDATE "A column index is not fed an update of a column that it has.";
    COLUMNS_MISS_DELETE "A column index is not fed that a row was deleted.";
    COLUMNS_FORGET_REDO "Redo does not feed a column index what the log has.";
    COLUMNS_FORGET_AMENDMENTS "Redo does not give a column index what its table has in files already.";
    COLUMNS_OLD_SNAPSHOT "A column index is built from the transaction's own snapshot, without who committed since.";
    SKIP_FENCE "A writer does not look whether another has taken its place.";
    TAKE_AFTER_READ "An opening reads the log before it has taken the directory from the writer before it.";
    LEAVE_EMPTY_SEGMENT "An opening leaves empty segments where it begins its log.";
    READ_STRAY_SEGMENT "A segment that came late counts as the first of the log.";
    RECYCLE_OF_OTHERS "A segment of a writer before, which may write into it, becomes another one.";
    REMOVE_OF_SUCCESSOR "An opening that was overtaken removes what its successor has made.";
    KEEP_LATE_SEGMENT "Of two segments of the log that begin at one place that of the lower epoch counts.";
    INDEX_FILTER_FORGETS "A filter of an index lacks a value.";
}

/// Which fault is planted: its id, or 0.
#[cfg(feature = "faults")]
static PLANTED: AtomicU64 = AtomicU64::new(0);

/// Plants a fault in this process, or takes the planted one out.
#[cfg(feature = "faults")]
pub fn plant(fault: Option<Fault>) {
    PLANTED.store(fault.map_or(0, |fault| fault.id), Ordering::SeqCst);
}

/// Whether this fault is planted.
#[cfg(feature = "faults")]
#[inline]
pub fn active(fault: Fault) -> bool {
    PLANTED.load(Ordering::Relaxed) == fault.id
}

/// Whether this fault is planted: never, without the feature `faults`.
#[cfg(not(feature = "faults"))]
#[inline(always)]
pub const fn active(_fault: Fault) -> bool {
    false
}

/// Runs the tests with `planted` in their names, which are ignored since a fault is planted for a whole process: each
/// in a process of its own, some at a time. For tests, whose program this is.
///
/// # Panics
///
/// When one fails, or there is none.
#[cfg(feature = "faults")]
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts processes and waits for them")]
pub fn catch_apart() {
    let program = std::env::current_exe().expect("the program has a name");
    let told = |args: &[&str]| {
        let run = std::process::Command::new(&program).args(args).output().expect("the program can be started");
        (run.status.success(), String::from_utf8_lossy(&run.stdout).into_owned())
    };
    let (_, listed) = told(&["planted", "--ignored", "--list"]);
    let tests: Vec<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    assert!(!tests.is_empty(), "there are planted faults: {listed}");
    let next = std::sync::atomic::AtomicUsize::new(0);
    let try_some = || {
        while let Some(test) = tests.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            let (succeeded, text) = told(&[test, "--exact", "--ignored"]);
            assert!(succeeded && text.contains(" 1 passed"), "{text}");
        }
    };
    // Most of them wait for each other's turns: more of them than cores keep these busy.
    let count = std::thread::available_parallelism().map_or(2, std::num::NonZero::get) * 2;
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..count).map(|_| scope.spawn(try_some)).collect();
        let failed = all.into_iter().filter_map(|one| one.join().err()).count();
        assert_eq!(failed, 0, "what was not caught is told above");
    });
}

#[cfg(all(test, feature = "faults"))]
mod planted {
    #[test]
    fn planted_faults_are_caught_apart() {
        super::catch_apart();
    }
}
