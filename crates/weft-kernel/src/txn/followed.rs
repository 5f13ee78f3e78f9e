//! A commit that another transaction builds on before it is published.

use std::sync::Arc;

use weft_format::Timestamp;

use crate::log::Fate;

/// A commit that a transaction builds on.
pub(super) struct Followed {
    pub(super) ts: Timestamp,
    pub(super) fate: Arc<Fate>,
}
