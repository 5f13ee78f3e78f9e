//! The steps that every job of an index has, under the names of its kind.

use crate::step::{Step, reached};

/// What is done.
#[derive(Clone, Copy)]
pub(super) enum JobStep {
    FilesWritten,
    FilesSynced,
    EditDurable,
    Switched,
}

/// Whose steps they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum JobSteps {
    Flush,
    Merge,
}

impl JobSteps {
    /// Says that a step is done.
    pub(super) fn reached(self, step: JobStep) {
        let flush = self == JobSteps::Flush;
        reached(match step {
            JobStep::FilesWritten if flush => Step::IndexFlushFilesWritten,
            JobStep::FilesWritten => Step::IndexMergeFilesWritten,
            JobStep::FilesSynced if flush => Step::IndexFlushFilesSynced,
            JobStep::FilesSynced => Step::IndexMergeFilesSynced,
            JobStep::EditDurable if flush => Step::IndexFlushEditDurable,
            JobStep::EditDurable => Step::IndexMergeEditDurable,
            JobStep::Switched if flush => Step::IndexFlushSwitched,
            JobStep::Switched => Step::IndexMergeSwitched,
        });
    }
}
