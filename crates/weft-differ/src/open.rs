//! Differences that are known and have no reason but that nobody has mended them yet.
//!
//! ```text
//!   a difference ─ explained? ─▶ counted           docs/differences.md tells it, and it stays
//!        └─ its words open here? ─▶ shrunk ─ its statement has the construct? ─▶ counted, by class
//!                    └─ no ─────────────────────────────┴─ no ─▶ the test fails
//! ```
//!
//! 1. A class is told by the words of the difference and by a construct in the shrunk statement, never by one alone.
//! 2. No class is of other rows, of another order, of an answer where PostgreSQL has an error, or of an internal error:
//!    these are mended or refused, not listed.
//! 3. A class that the full run never meets is taken off the list; that run fails until it is.

/// A class of differences that is not mended yet.
#[derive(Debug)]
pub struct Open {
    /// In a few words.
    pub name: &'static str,
    /// How the words of its differences begin, as `compare` tells them.
    pub words: &'static str,
    /// What its shrunk statements have, all of them.
    pub constructs: &'static [&'static str],
    /// A small one.
    pub example: &'static str,
    /// What PostgreSQL answers to it.
    pub postgres: &'static str,
    /// What Weft answers.
    pub weft: &'static str,
    /// Why it is open.
    pub why: &'static str,
}

/// Every open class.
pub const OPEN: &[Open] = &[];

/// The class of a difference told in these words whose shrunk statement is this.
pub fn class(words: &str, statement: &str) -> Option<&'static Open> {
    OPEN.iter().find(|open| open.is_told_by(words) && open.constructs.iter().all(|part| statement.contains(part)))
}

/// Whether a difference in these words can be of a class, so that shrinking it decides.
pub fn may_be_open(words: &str) -> bool {
    OPEN.iter().any(|open| open.is_told_by(words))
}

impl Open {
    fn is_told_by(&self, words: &str) -> bool {
        words.starts_with(self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Invariants 1 and 2.
    #[test]
    fn classes_are_narrow() {
        for open in OPEN {
            assert!(open.words.len() >= 6, "{}: {:?} says little", open.name, open.words);
            assert!(open.constructs.iter().any(|part| part.trim().len() > 3), "{} has no construct", open.name);
            for never in ["other rows", "another order", "an answer", "tables are missing", "slow", "XX"] {
                assert!(!open.words.starts_with(never), "{} hides {never}", open.name);
            }
        }
        for words in ["other rows", "another order", "an answer, expected 22012", "XX000 a panic"] {
            for open in OPEN {
                assert!(class(words, open.example).is_none(), "{} takes {words:?}", open.name);
            }
            assert!(!may_be_open(words), "{words:?}");
        }
    }

    #[test]
    fn an_example_is_of_its_class_alone() {
        for (place, open) in OPEN.iter().enumerate() {
            let of: Vec<&str> = OPEN
                .iter()
                .filter(|other| open.words.starts_with(other.words))
                .filter(|other| other.constructs.iter().all(|part| open.example.contains(part)))
                .map(|other| other.name)
                .collect();
            assert_eq!(of, [open.name]);
            assert!(OPEN[..place].iter().all(|other| other.name != open.name), "{} is there twice", open.name);
            assert_ne!(open.postgres, open.weft, "{}", open.name);
            assert!(!open.why.is_empty(), "{}", open.name);
        }
    }

    #[test]
    fn words_or_a_construct_alone_are_not_enough() {
        for open in OPEN {
            assert_eq!(class(open.words, "SELECT 1").map(|found| found.name), None);
            assert_eq!(class("22012 division by zero", open.example).map(|found| found.name), None);
        }
    }
}
