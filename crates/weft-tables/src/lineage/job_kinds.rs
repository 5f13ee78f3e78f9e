//! The kinds of jobs that tables of this method have.

use weft_contract::JobKind;

/// Frozen tails → base pages, keys and history.
pub const MERGE: JobKind = JobKind::freeing("merge tails");
/// Files of keys → fewer.
pub const MERGE_KEYS: JobKind = JobKind::tidying("merge keys");
/// Files of history → fewer, without what nobody asks for.
pub const MERGE_HISTORY: JobKind = JobKind::tidying("merge history");

/// All of them.
pub const ALL: [JobKind; 3] = [MERGE, MERGE_KEYS, MERGE_HISTORY];
