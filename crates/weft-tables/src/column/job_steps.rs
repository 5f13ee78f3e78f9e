//! The steps that every job has, under the names of its kind.

use weft_contract::JobKind;
use weft_kernel::step::{Step, reached};

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
    use JobKind::{Convert, Merge, Move, ToBaseline, ToTransition};
    let named = match (kind, step) {
        (Convert, JobStep::InputsRead) => Step::ConvertInputsRead,
        (Convert, JobStep::FilesWritten) => Step::ConvertFilesWritten,
        (Convert, JobStep::FilesSynced) => Step::ConvertFilesSynced,
        (Convert, JobStep::EditDurable) => Step::ConvertEditDurable,
        (Convert, JobStep::MarksCarried) => Step::ConvertMarksCarried,
        (Convert, JobStep::Switched) => Step::ConvertSwitched,
        (Move, JobStep::EditDurable) => Step::MoveEditDurable,
        (Move, JobStep::Switched) => Step::MoveSwitched,
        (Merge, JobStep::InputsRead) => Step::MergeInputsRead,
        (Merge, JobStep::FilesWritten) => Step::MergeFilesWritten,
        (Merge, JobStep::FilesSynced) => Step::MergeFilesSynced,
        (Merge, JobStep::EditDurable) => Step::MergeEditDurable,
        (Merge, JobStep::MarksCarried) => Step::MergeMarksCarried,
        (Merge, JobStep::Switched) => Step::MergeSwitched,
        (ToTransition, JobStep::InputsRead) => Step::ToTransitionInputsRead,
        (ToTransition, JobStep::FilesWritten) => Step::ToTransitionFilesWritten,
        (ToTransition, JobStep::FilesSynced) => Step::ToTransitionFilesSynced,
        (ToTransition, JobStep::EditDurable) => Step::ToTransitionEditDurable,
        (ToTransition, JobStep::MarksCarried) => Step::ToTransitionMarksCarried,
        (ToTransition, JobStep::Switched) => Step::ToTransitionSwitched,
        (ToBaseline, JobStep::InputsRead) => Step::ToBaselineInputsRead,
        (ToBaseline, JobStep::FilesWritten) => Step::ToBaselineFilesWritten,
        (ToBaseline, JobStep::FilesSynced) => Step::ToBaselineFilesSynced,
        (ToBaseline, JobStep::EditDurable) => Step::ToBaselineEditDurable,
        (ToBaseline, JobStep::MarksCarried) => Step::ToBaselineMarksCarried,
        (ToBaseline, JobStep::Switched) => Step::ToBaselineSwitched,
        _ => return,
    };
    reached(named);
}
