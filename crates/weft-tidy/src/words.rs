//! Names, words and paths that do not belong here.
//!
//! ```text
//!   src/string_util.rs              → name the file after what it does
//!   pub use table::*;               → list what is re-exported
//!   the path of a home directory    → say where it is relative to the repository
//! ```

use crate::source::SourceFile;

/// Words in file names that say nothing.
const NAMES: &[&str] =
    &["util", "utils", "helper", "helpers", "common", "misc", "manager", "v2", "new", "old", "stuff"];

/// Words that say something was left undone; split here so that this file passes its own rule.
const UNFINISHED: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];

/// A file of this crate's users must not make this call: release 0.1.3 never frees what it visits.
const LEAKING: (&str, &str) = (concat!("crossbeam_", "skiplist"), concat!(".ran", "ge("));

/// Calls that belong to a debugging session.
const DEBUGGING: &str = concat!("db", "g!(");

/// Parts of paths and hosts that exist on one machine only.
const MACHINE: &[&str] = &[
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/tmp/", "weft/"),
    concat!("index.crates", ".io-"),
    concat!("local", "host:"),
];

/// File names that say nothing.
pub fn names(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        let words = file.path.split(['/', '_', '-', '.']);
        if let Some(word) = words.clone().find(|word| NAMES.contains(word)) {
            complaints.push(format!("{}: \"{word}\" says nothing; name the file after what it does", file.path));
        }
    }
    complaints
}

/// Words of unfinished work, debugging calls, and glob re-exports.
pub fn unfinished(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| !file.path.ends_with(".lock")) {
        for (number, line) in file.text.lines().enumerate() {
            let place = format!("{}:{}", file.path, number + 1);
            if let Some(word) = UNFINISHED.iter().find(|word| has_word(line, word)) {
                complaints.push(format!("{place}: {word}; do it, or write an issue"));
            }
            if file.is_rust() && line.contains(DEBUGGING) {
                complaints.push(format!("{place}: a debugging call; remove it"));
            }
            if file.is_rust() && line.contains(LEAKING.1) && file.text.contains(LEAKING.0) {
                complaints.push(format!("{place}: the skip list leaks what a range visits; use lower_bound or iter"));
            }
            let code = line.trim_start();
            if file.is_rust() && code.starts_with("pub") && code.contains(" use ") && code.contains("::*") {
                complaints.push(format!("{place}: a glob re-export; list the names"));
            }
        }
    }
    complaints
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let part = |c: char| c.is_alphanumeric() || c == '_';
        !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part)
    })
}

/// Paths and hosts of one machine.
pub fn machines(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(part) = MACHINE.iter().find(|part| line.contains(**part)) {
                let place = format!("{}:{}", file.path, number + 1);
                complaints.push(format!("{place}: {part} exists on one machine only; use a path of the repository"));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_are_found() {
        for path in ["a/string_util.rs", "a/common/x.rs", "a/table_v2.rs", "a/lock-manager.rs"] {
            assert_eq!(names(&[SourceFile::new(path, "")]).len(), 1, "{path}");
        }
        assert_eq!(names(&[SourceFile::new("a/utility.rs", "")]).len(), 0);
    }

    #[test]
    fn unfinished_work_is_found() {
        let found = |line: &str| unfinished(&[SourceFile::new("a.rs", line)]).len();
        for word in UNFINISHED {
            assert_eq!(found(&format!("// {word}: later")), 1);
            assert_eq!(found(&format!("let x{word} = 1;")), 0);
        }
        assert_eq!(found(&format!("    {DEBUGGING}x);")), 1);
        assert_eq!(found("pub use a::*;"), 1);
        assert_eq!(found("pub(crate) use a::{b::*, c};"), 1);
        assert_eq!(found("    use super::*;"), 0);
    }

    #[test]
    fn machine_paths_are_found() {
        for part in MACHINE {
            assert_eq!(machines(&[SourceFile::new("a.md", &format!("see {part}x"))]).len(), 1);
        }
        assert_eq!(machines(&[SourceFile::new("a.md", "see docs/format/log.md")]).len(), 0);
    }
}
