//! The named steps of everything that writes: where a crash must be survived, one by one.
//!
//! ```text
//!   convert: files written ── convert: files synced ── convert: edit durable ── convert: marks carried ── ...
//!                           ▲ the simulation crashes right after each of these, in every kind of job
//! ```
//!
//! [`reached`] costs one thread-local load outside of a simulation. weft-sim's tests assert that each step of
//! [`Step::ALL`] was reached and that the machine crashed right after it.
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

steps! {
    /// A step that is done.
    Step:
    LogBlockWritten "log: block written";
    LogBlockSynced "log: block synced";
    LogSegmentSynced "log: segment synced";
    LogSegmentCreated "log: segment created";
    LogSegmentRemoved "log: segment removed";
    LogChunkAppended "log: chunk appended";
    CommitSequenced "commit: sequenced";
    CommitDurable "commit: durable";
    CommitInstalled "commit: installed";
    CommitPublished "commit: published";
    Reconciled "reconcile: marks set";
    ConvertInputsRead "convert: inputs read";
    ConvertFilesWritten "convert: files written";
    ConvertFilesSynced "convert: files synced";
    ConvertEditDurable "convert: edit durable";
    ConvertMarksCarried "convert: marks carried";
    ConvertSwitched "convert: switched";
    MoveEditDurable "move: edit durable";
    MoveSwitched "move: switched";
    MergeInputsRead "merge: inputs read";
    MergeFilesWritten "merge: files written";
    MergeFilesSynced "merge: files synced";
    MergeEditDurable "merge: edit durable";
    MergeMarksCarried "merge: marks carried";
    MergeSwitched "merge: switched";
    ToTransitionInputsRead "to transition: inputs read";
    ToTransitionFilesWritten "to transition: files written";
    ToTransitionFilesSynced "to transition: files synced";
    ToTransitionEditDurable "to transition: edit durable";
    ToTransitionMarksCarried "to transition: marks carried";
    ToTransitionSwitched "to transition: switched";
    ToBaselineInputsRead "to baseline: inputs read";
    ToBaselineFilesWritten "to baseline: files written";
    ToBaselineFilesSynced "to baseline: files synced";
    ToBaselineEditDurable "to baseline: edit durable";
    ToBaselineMarksCarried "to baseline: marks carried";
    ToBaselineSwitched "to baseline: switched";
    BuildFilesSynced "build: files synced";
    IndexFlushFilesWritten "index flush: files written";
    IndexFlushFilesSynced "index flush: files synced";
    IndexFlushEditDurable "index flush: edit durable";
    IndexFlushSwitched "index flush: switched";
    IndexMergeFilesWritten "index merge: files written";
    IndexMergeFilesSynced "index merge: files synced";
    IndexMergeEditDurable "index merge: edit durable";
    IndexMergeSwitched "index merge: switched";
    IndexBuildFilesSynced "index build: files synced";
    ManifestEditWritten "manifest: edit written";
    ManifestEditSynced "manifest: edit synced";
    ManifestSnapshotWritten "manifest: snapshot written";
    ManifestSnapshotSynced "manifest: snapshot synced";
    ManifestRenamed "manifest: renamed";
    ManifestDirSynced "manifest: directory synced";
    CheckpointFrozen "checkpoint: frozen";
    CheckpointConverted "checkpoint: converted";
    CheckpointCatalogDurable "checkpoint: catalog durable";
    CheckpointLogCut "checkpoint: log cut";
    DropForgotten "drop: forgotten";
    RecoveryManifestRead "recovery: manifest read";
    RecoveryLogReplayed "recovery: log replayed";
    RecoveryOrphansRemoved "recovery: orphans removed";
    RecoveryLogContinued "recovery: log continued";
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
