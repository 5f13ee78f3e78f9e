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
            JobStep::FilesWritten if flush => Step::INDEX_FLUSH_FILES_WRITTEN,
            JobStep::FilesWritten => Step::INDEX_MERGE_FILES_WRITTEN,
            JobStep::FilesSynced if flush => Step::INDEX_FLUSH_FILES_SYNCED,
            JobStep::FilesSynced => Step::INDEX_MERGE_FILES_SYNCED,
            JobStep::EditDurable if flush => Step::INDEX_FLUSH_EDIT_DURABLE,
            JobStep::EditDurable => Step::INDEX_MERGE_EDIT_DURABLE,
            JobStep::Switched if flush => Step::INDEX_FLUSH_SWITCHED,
            JobStep::Switched => Step::INDEX_MERGE_SWITCHED,
        });
    }
}
