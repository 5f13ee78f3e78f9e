//! The named steps of everything that writes: where a crash must be survived, one by one.
//!
//! ```text
//!   convert: files written ── convert: files synced ── convert: edit durable ── convert: marks carried ── ...
//!                           ▲ the simulation crashes right after each of these, in every kind of job
//! ```
//!
//! [`reached`] costs one thread-local load outside of a simulation. weft-sim's tests assert that each step of the
//! kernel and of the methods was reached and that the machine crashed right after it.
//!
//! A [`Moment`] is what others may run into and the disk knows nothing of: the middle of an installation, a way taken
//! under a lock. Only tests count moments, or do something in one (`on_moment`), and in a simulation others come
//! then; in the program [`passed`] is nothing.

macro_rules! steps {
    ($(#[$doc:meta])* $steps:ident: $($name:ident $text:literal;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the text of each is its documentation")]
        pub enum $steps { $($name,)* }

        impl $steps {
            /// Every step.
            pub const ALL: &[$steps] = &[$($steps::$name,)*];
            /// What is done, as traces and tests name it.
            pub const fn name(self) -> &'static str { match self { $($steps::$name => $text,)* } }
        }
    };
}

/// A step that is done: of the kernel ([`Step::KERNEL`]), or of a method, which declares its own
/// ([`Method::steps`](crate::method::Method::steps)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step(&'static str);

impl Step {
    /// A step of this name.
    pub const fn new(name: &'static str) -> Step {
        Step(name)
    }

    /// What is done, as traces and tests name it.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

macro_rules! kernel_steps {
    ($($name:ident $text:literal;)*) => {
        #[allow(missing_docs, reason = "the text of each is its documentation")]
        impl Step {
            $(pub const $name: Step = Step::new($text);)*
            /// Every step of the kernel.
            pub const KERNEL: &[Step] = &[$(Step::$name,)*];
        }
    };
}

kernel_steps! {
    WRITER_TAKEN "open: the directory taken from its writer";
    LOG_BLOCK_WRITTEN "log: block written";
    LOG_BLOCK_SYNCED "log: block synced";
    LOG_SEGMENT_SYNCED "log: segment synced";
    LOG_SEGMENT_CREATED "log: segment created";
    LOG_SEGMENT_REMOVED "log: segment removed";
    LOG_CHUNK_APPENDED "log: chunk appended";
    COMMIT_SEQUENCED "commit: sequenced";
    COMMIT_DURABLE "commit: durable";
    COMMIT_INSTALLED "commit: installed";
    COMMIT_PUBLISHED "commit: published";
    INDEX_FLUSH_FILES_WRITTEN "index flush: files written";
    INDEX_FLUSH_FILES_SYNCED "index flush: files synced";
    INDEX_FLUSH_EDIT_DURABLE "index flush: edit durable";
    INDEX_FLUSH_SWITCHED "index flush: switched";
    INDEX_MERGE_FILES_WRITTEN "index merge: files written";
    INDEX_MERGE_FILES_SYNCED "index merge: files synced";
    INDEX_MERGE_EDIT_DURABLE "index merge: edit durable";
    INDEX_MERGE_SWITCHED "index merge: switched";
    INDEX_BUILD_FILES_SYNCED "index build: files synced";
    MANIFEST_EDIT_WRITTEN "manifest: edit written";
    MANIFEST_EDIT_SYNCED "manifest: edit synced";
    MANIFEST_SNAPSHOT_WRITTEN "manifest: snapshot written";
    MANIFEST_SNAPSHOT_SYNCED "manifest: snapshot synced";
    MANIFEST_RENAMED "manifest: renamed";
    MANIFEST_DIR_SYNCED "manifest: directory synced";
    CHECKPOINT_FROZEN "checkpoint: frozen";
    CHECKPOINT_CONVERTED "checkpoint: converted";
    CHECKPOINT_CATALOG_DURABLE "checkpoint: catalog durable";
    CHECKPOINT_LOG_CUT "checkpoint: log cut";
    DROP_FORGOTTEN "drop: forgotten";
    RECOVERY_MANIFEST_READ "recovery: manifest read";
    RECOVERY_LOG_REPLAYED "recovery: log replayed";
    RECOVERY_ORPHANS_REMOVED "recovery: orphans removed";
    RECOVERY_LOG_CONTINUED "recovery: log continued";
}

steps! {
    /// A step of a backup or of a restore that is done.
    BackupStep:
    Begun "backup: begun";
    LogCopied "backup: log copied";
    FilesCopied "backup: files copied";
    ListSynced "backup: list synced";
    ListNamed "backup: list named";
    Done "backup: done";
    FileRestored "restore: file restored";
    FilesRestored "restore: files restored";
    Restored "restore: restored";
}

steps! {
    /// A moment between the steps.
    Moment:
    VersionsEnded "install: old versions ended, new ones not there";
    UniqueCandidate "unique: another row had the value once";
    UniqueWaited "unique: the row that has the value was locked";
    UniqueGone "unique: it had lost the value when it was locked";
    UniqueRefused "unique: refused";
    UniqueFollowed "unique: waited for the commit that was followed";
    Followed "follow: a row of a commit that is not published";
    Rebased "commit: columns of others taken over";
    TableLocked "replace: the table locked in place of rows";
    KeepAsked "index merge: the horizon read, the row not yet";
}

impl BackupStep {
    /// Says that the step is done.
    pub fn reached(self) {
        weft_env::sim::step(self.name());
    }
}

/// Says that a step is done.
#[inline]
pub fn reached(step: Step) {
    #[cfg(feature = "faults")]
    hook::run(step);
    weft_env::sim::step(step.name());
}

/// Says that a moment is there.
#[cfg(feature = "faults")]
pub fn passed(moment: Moment) {
    hook::pass(moment);
}

/// Says that a moment is there: nothing, without the feature `faults`.
#[cfg(not(feature = "faults"))]
#[inline(always)]
pub const fn passed(_moment: Moment) {}

#[cfg(feature = "faults")]
pub use hook::{moments_passed, on_moment, on_step};

/// What a test does in the middle of a job or of a moment.
#[cfg(feature = "faults")]
mod hook {
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::{Moment, Step};

    /// How often others may come in the middle of an installation.
    const YIELDS: usize = 16;

    type Hook<T> = Box<dyn FnMut(T)>;

    thread_local! {
        static HOOK: RefCell<Option<Hook<Step>>> = const { RefCell::new(None) };
        static MOMENT_HOOK: RefCell<Option<Hook<Moment>>> = const { RefCell::new(None) };
    }

    static PASSED: [AtomicU64; Moment::ALL.len()] = [const { AtomicU64::new(0) }; Moment::ALL.len()];

    /// Lets this thread call `hook` after each step that it does; none: no more.
    pub fn on_step(hook: Option<Hook<Step>>) {
        HOOK.set(hook);
    }

    /// Lets this thread call `hook` in each moment that it passes; none: no more.
    pub fn on_moment(hook: Option<Hook<Moment>>) {
        MOMENT_HOOK.set(hook);
    }

    /// How often each moment was passed in this process, in the order of [`Moment::ALL`].
    pub fn moments_passed() -> Vec<(Moment, u64)> {
        Moment::ALL.iter().map(|&moment| (moment, PASSED[moment as usize].load(Ordering::Relaxed))).collect()
    }

    pub(super) fn run(step: Step) {
        // Taken out, or a step that the hook itself does would come back here.
        let Some(mut hook) = HOOK.take() else { return };
        hook(step);
        HOOK.set(Some(hook));
    }

    pub(super) fn pass(moment: Moment) {
        PASSED[moment as usize].fetch_add(1, Ordering::Relaxed);
        if moment == Moment::VersionsEnded {
            // Nothing is waited for here, so in a simulation hardly anybody would come between.
            (0..YIELDS).for_each(|_| weft_env::sync::yield_point());
        }
        let Some(mut hook) = MOMENT_HOOK.take() else { return };
        hook(moment);
        MOMENT_HOOK.set(Some(hook));
    }
}
