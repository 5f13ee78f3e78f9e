//! The kinds of jobs that tables of this method have.

use weft_contract::JobKind;

/// Changed pages → the file; older versions that nobody sees are forgotten.
pub const WRITE_BACK: JobKind = JobKind::freeing("write pages");

/// All of them.
pub const ALL: [JobKind; 1] = [WRITE_BACK];
