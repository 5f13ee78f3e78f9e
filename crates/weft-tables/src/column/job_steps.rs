//! The steps that every job has, under the names of its kind.

use weft_kernel::step::{Step, reached};

/// What is done.
#[derive(Clone, Copy)]
pub(crate) enum JobStep {
    InputsRead,
    FilesWritten,
    FilesSynced,
    EditDurable,
    MarksCarried,
    Switched,
}

/// Whose steps they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobSteps {
    Convert,
    Compact,
}

impl JobSteps {
    /// Says that a step is done.
    pub(crate) fn reached(self, step: JobStep) {
        let convert = self == JobSteps::Convert;
        reached(match step {
            JobStep::InputsRead if convert => Step::ConvertInputsRead,
            JobStep::InputsRead => Step::CompactInputsRead,
            JobStep::FilesWritten if convert => Step::ConvertFilesWritten,
            JobStep::FilesWritten => Step::CompactFilesWritten,
            JobStep::FilesSynced if convert => Step::ConvertFilesSynced,
            JobStep::FilesSynced => Step::CompactFilesSynced,
            JobStep::EditDurable if convert => Step::ConvertEditDurable,
            JobStep::EditDurable => Step::CompactEditDurable,
            JobStep::MarksCarried if convert => Step::ConvertMarksCarried,
            JobStep::MarksCarried => Step::CompactMarksCarried,
            JobStep::Switched if convert => Step::ConvertSwitched,
            JobStep::Switched => Step::CompactSwitched,
        });
    }
}
