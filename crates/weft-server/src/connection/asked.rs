//! The statement by which a node asks to be fed.
//!
//! ```text
//!   START_REPLICATION WEFT 1 NODE 'berlin' ADDRESS '10.0.0.7:5432'
//! ```
//!
//! It is no SQL: it is known by its first words, in the simple protocol alone, as PostgreSQL's is.

use weft::FEED_VERSION;
use weft_format::{Code, Error, Result};

/// How the statement begins.
pub(super) const BEGINS: &str = "START_REPLICATION";

/// A node that wants to be fed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// What it is called.
    pub(super) name: String,
    /// Where it listens; may be empty.
    pub(super) address: String,
}

impl Asked {
    /// Reads the statement; none: it is SQL.
    pub(super) fn read(text: &str) -> Option<Result<Asked>> {
        let text = text.trim().trim_end_matches(';');
        let word = text.split_whitespace().next()?;
        if !word.eq_ignore_ascii_case(BEGINS) {
            return None;
        }
        Some(Asked::parse(&text[word.len()..]))
    }

    fn parse(text: &str) -> Result<Asked> {
        let wrong = || {
            let what = format!("{BEGINS} is for nodes of this database alone");
            Error::new(Code::FeatureNotSupported, what).hint("weft serve DIR --follow postgres://USER@HOST/")
        };
        // The texts are the odd ones between quotes; names and addresses have none.
        let parts: Vec<&str> = text.split('\'').collect();
        let [begin, name, between, address, end] = parts[..] else { return Err(wrong()) };
        let words: Vec<&str> = begin.split_whitespace().collect();
        let ["WEFT", version, "NODE"] = words[..] else { return Err(wrong()) };
        if between.trim() != "ADDRESS" || !end.trim().is_empty() {
            return Err(wrong());
        }
        if version.parse() != Ok(FEED_VERSION) {
            let what = format!(
                "a node that is fed by version {version} of the messages, and this server knows {FEED_VERSION}"
            );
            return Err(Error::new(Code::VersionMismatch, what).hint("use the same release for both"));
        }
        Ok(Asked { name: name.to_owned(), address: address.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_is_told_from_sql() {
        let read = |text| Asked::read(text);
        let good = read(" start_replication WEFT 1 NODE 'berlin' ADDRESS '10.0.0.7:5432' ;").unwrap().unwrap();
        assert_eq!(good, Asked { name: "berlin".into(), address: "10.0.0.7:5432".into() });
        assert!(read("SELECT 'START_REPLICATION'").is_none() && read("").is_none());
        for (wrong, code) in [
            ("START_REPLICATION SLOT x LOGICAL 0/0", Code::FeatureNotSupported),
            ("START_REPLICATION", Code::FeatureNotSupported),
            ("START_REPLICATION WEFT 1 NODE 'a' ADDRESS 'b' 'c'", Code::FeatureNotSupported),
            ("START_REPLICATION WEFT 99 NODE 'a' ADDRESS ''", Code::VersionMismatch),
        ] {
            assert_eq!(read(wrong).unwrap().unwrap_err().code(), code, "{wrong}");
        }
    }
}
