//! The actions of a MERGE, planned.
//!
//! ```text
//!   WHEN MATCHED THEN UPDATE SET n = s.n      Update, writes {n}
//!   WHEN NOT MATCHED THEN INSERT (n) ...      Insert, numbered [id]: a serial column that is not given
//! ```

use weft_kernel::ColumnSet;

/// What an action does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Nothing,
    Delete,
    Update,
    Insert {
        /// Columns that take numbers from sequences.
        numbered: Vec<usize>,
    },
}

/// The actions of a MERGE, by their numbers less one.
pub(crate) struct MergePlan {
    pub(super) kinds: Vec<Kind>,
    /// The columns that each sets.
    pub(super) writes: Vec<ColumnSet>,
}
