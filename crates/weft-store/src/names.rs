//! Names of objects: words of ASCII letters, digits and `-_.`, with `/` between them.

use std::io;

/// An error when an object cannot be called so. A word does not begin with a point: so a store has names of its own,
/// and no path leads out of it.
pub(crate) fn check(name: &str) -> io::Result<()> {
    let is_word = |word: &str| {
        let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !word.is_empty() && !word.starts_with('.') && word.chars().all(is_good)
    };
    if name.split('/').all(is_word) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no name of an object")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        for good in ["a", "t5-12-4194304-5e0a21bc.data/0", "a/b_c"] {
            check(good).unwrap();
        }
        for bad in ["", "/a", "a/", "a//b", "..", "a/../b", ".aside", "a b", "ä", "a\n"] {
            assert_eq!(check(bad).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{bad:?}");
        }
    }
}
