//! The kinds of jobs that tables of this method have.

use weft_contract::JobKind;

/// Frozen row table → column tables.
pub const CONVERT: JobKind = JobKind::freeing("convert");
/// Tables change their layer, and buckets their borders, by an edit alone.
pub const MOVE: JobKind = JobKind::tidying("move");
/// Column tables of one layer → fewer of the same layer, without dead rows.
pub const MERGE: JobKind = JobKind::tidying("merge");
/// Incremental column tables → tables of buckets.
pub const TO_TRANSITION: JobKind = JobKind::tidying("to transition");
/// Tables of a bucket and the baseline under them → baseline.
pub const TO_BASELINE: JobKind = JobKind::tidying("to baseline");

/// All of them.
pub const ALL: [JobKind; 5] = [CONVERT, MOVE, MERGE, TO_TRANSITION, TO_BASELINE];
