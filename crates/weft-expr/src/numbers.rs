//! The numbers of sequences that a statement takes for each of its rows.
//!
//! ```text
//!   INSERT INTO t SELECT nextval('s'), x FROM u     the session looks up s, tests the rights, and writes
//!   INSERT INTO t SELECT weft_next_number(71..), x  71.. is s in this statement alone; called for each row
//! ```

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use weft_format::{Code, Error, Result};

/// A sequence that gives numbers.
pub trait NextNumber: Send + Sync {
    /// The next one, which no one else gets.
    fn next_number(&self) -> Result<i64>;
}

/// The sequences of one statement by what they are called in it, which nobody can know who wrote a view or a default.
/// All are equal: a plan does not depend on them.
#[derive(Clone, Default)]
pub struct Numbers(Option<Arc<HashMap<i64, Box<dyn NextNumber>>>>);

impl Numbers {
    /// Those that the statement names.
    pub fn of(sequences: HashMap<i64, Box<dyn NextNumber>>) -> Numbers {
        Numbers(Some(Arc::new(sequences)))
    }

    /// The next number of a sequence.
    pub(crate) fn next(&self, which: i64) -> Result<i64> {
        let sequence = self.0.as_ref().and_then(|all| all.get(&which));
        let sequence =
            sequence.ok_or_else(|| Error::new(Code::FeatureNotSupported, "nextval() is not supported here"))?;
        sequence.next_number()
    }
}

impl PartialEq for Numbers {
    fn eq(&self, _: &Numbers) -> bool {
        true
    }
}

impl Eq for Numbers {}

impl fmt::Debug for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sequences", self.0.as_ref().map_or(0, |all| all.len()))
    }
}
