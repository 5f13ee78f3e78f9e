//! The steps that every job has, under the names of its kind.

use weft_contract::JobKind;
use weft_kernel::step::{Step, reached};

use super::job_kinds::{CONVERT, MERGE, MOVE, TO_BASELINE, TO_TRANSITION};

/// What is done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JobStep {
    InputsRead,
    FilesWritten,
    FilesSynced,
    EditDurable,
    MarksCarried,
    Switched,
}

/// Says that a step of a job of this kind is done. A move has no inputs, files and marks.
pub(crate) fn job_reached(kind: JobKind, step: JobStep) {
    let named = match (kind, step) {
        (CONVERT, JobStep::InputsRead) => Step::ConvertInputsRead,
        (CONVERT, JobStep::FilesWritten) => Step::ConvertFilesWritten,
        (CONVERT, JobStep::FilesSynced) => Step::ConvertFilesSynced,
        (CONVERT, JobStep::EditDurable) => Step::ConvertEditDurable,
        (CONVERT, JobStep::MarksCarried) => Step::ConvertMarksCarried,
        (CONVERT, JobStep::Switched) => Step::ConvertSwitched,
        (MOVE, JobStep::EditDurable) => Step::MoveEditDurable,
        (MOVE, JobStep::Switched) => Step::MoveSwitched,
        (MERGE, JobStep::InputsRead) => Step::MergeInputsRead,
        (MERGE, JobStep::FilesWritten) => Step::MergeFilesWritten,
        (MERGE, JobStep::FilesSynced) => Step::MergeFilesSynced,
        (MERGE, JobStep::EditDurable) => Step::MergeEditDurable,
        (MERGE, JobStep::MarksCarried) => Step::MergeMarksCarried,
        (MERGE, JobStep::Switched) => Step::MergeSwitched,
        (TO_TRANSITION, JobStep::InputsRead) => Step::ToTransitionInputsRead,
        (TO_TRANSITION, JobStep::FilesWritten) => Step::ToTransitionFilesWritten,
        (TO_TRANSITION, JobStep::FilesSynced) => Step::ToTransitionFilesSynced,
        (TO_TRANSITION, JobStep::EditDurable) => Step::ToTransitionEditDurable,
        (TO_TRANSITION, JobStep::MarksCarried) => Step::ToTransitionMarksCarried,
        (TO_TRANSITION, JobStep::Switched) => Step::ToTransitionSwitched,
        (TO_BASELINE, JobStep::InputsRead) => Step::ToBaselineInputsRead,
        (TO_BASELINE, JobStep::FilesWritten) => Step::ToBaselineFilesWritten,
        (TO_BASELINE, JobStep::FilesSynced) => Step::ToBaselineFilesSynced,
        (TO_BASELINE, JobStep::EditDurable) => Step::ToBaselineEditDurable,
        (TO_BASELINE, JobStep::MarksCarried) => Step::ToBaselineMarksCarried,
        (TO_BASELINE, JobStep::Switched) => Step::ToBaselineSwitched,
        _ => return,
    };
    reached(named);
}
