//! The kinds of jobs that tables of this method have.

use weft_contract::JobKind;

/// Changed pages → the file; older versions that nobody sees are forgotten.
pub const WRITE_BACK: JobKind = JobKind::freeing("write pages");

/// Leaves are looked at for rows of loads that were given up, which go.
pub const FIND_LOADED: JobKind = JobKind::tidying("find rows of loads");

/// All of them.
pub const ALL: [JobKind; 2] = [WRITE_BACK, FIND_LOADED];
