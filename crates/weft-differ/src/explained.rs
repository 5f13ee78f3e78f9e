//! Differences that are known and have a reason: each is a line of docs/differences.md, or of its section on errors.

use crate::case::Case;
use crate::compare::Answer;

/// A known difference.
pub struct Explained {
    /// In a few words.
    pub name: &'static str,
    /// Where docs/differences.md tells it.
    pub told: &'static str,
    /// Whether it explains why Weft's answer (the second) is another.
    pub applies: fn(&Case, &Answer, &Answer) -> bool,
}

/// Every known difference that random statements meet.
pub const EXPLAINED: &[Explained] = &[];

/// What explains a difference; none is a failure.
pub fn explanation(case: &Case, expected: &Answer, found: &Answer) -> Option<&'static Explained> {
    EXPLAINED.iter().find(|explained| (explained.applies)(case, expected, found))
}
