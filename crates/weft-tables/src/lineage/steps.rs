//! The named steps of this method's jobs.

use weft_kernel::step::Step;

/// What a job has done, in order.
pub struct JobSteps {
    /// All that it reads was read.
    pub inputs_read: Step,
    /// Its files are written, and durable.
    pub files_synced: Step,
    /// The manifest names them.
    pub edit_durable: Step,
    /// Readers see them.
    pub switched: Step,
}

macro_rules! steps_of {
    ($kind:literal) => {
        JobSteps {
            inputs_read: Step::new(concat!($kind, ": inputs read")),
            files_synced: Step::new(concat!($kind, ": files synced")),
            edit_durable: Step::new(concat!($kind, ": edit durable")),
            switched: Step::new(concat!($kind, ": switched")),
        }
    };
}

/// Of merges of tails.
pub const MERGE: JobSteps = steps_of!("merge tails");
/// Of merges of keys.
pub const MERGE_KEYS: JobSteps = steps_of!("merge keys");
/// Of merges of history.
pub const MERGE_HISTORY: JobSteps = steps_of!("merge history");

/// A file of a merge of tails is written.
pub const MERGE_FILE_WRITTEN: Step = Step::new("merge tails: file written");

/// The files of a bulk load are durable.
pub const BUILD_FILES_SYNCED: Step = Step::new("load: files synced");

/// All of them.
pub const ALL: [Step; 14] = {
    let jobs = [MERGE, MERGE_KEYS, MERGE_HISTORY];
    let mut all = [MERGE_FILE_WRITTEN; 14];
    let mut at = 0;
    while at < jobs.len() {
        all[at * 4 + 1] = jobs[at].inputs_read;
        all[at * 4 + 2] = jobs[at].files_synced;
        all[at * 4 + 3] = jobs[at].edit_durable;
        all[at * 4 + 4] = jobs[at].switched;
        at += 1;
    }
    all[13] = BUILD_FILES_SYNCED;
    all
};
