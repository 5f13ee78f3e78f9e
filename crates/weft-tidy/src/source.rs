//! The files of the repository, and what is code in a Rust file.
//!
//! ```text
//!   let a = "fn }"; // {          →   let a = "    ";
//! ```
//!
//! [`blanked`] keeps every line and column: only the inside of strings, characters and comments becomes blanks.

#![allow(clippy::disallowed_methods, reason = "reads the repository, not a database")]

use std::path::Path;

/// A text file of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Path from the repository's root, with `/`.
    pub path: String,
    /// All of it.
    pub text: String,
}

impl SourceFile {
    /// A file.
    pub fn new(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: text.to_owned() }
    }

    /// Whether the file is Rust.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the file is only compiled for tests: in a `tests` folder, or named `tests.rs` or `*_tests.rs`.
    pub fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        self.path.split('/').any(|part| part == "tests" || part == "benches" || part == "examples")
            || name == "tests.rs"
            || name.ends_with("_tests.rs")
    }
}

/// Folders that hold nothing of ours.
const SKIPPED: &[&str] = &["target", ".git", ".venv", "data", "out", "__pycache__"];

/// Extensions of text files.
const TEXT: &[&str] = &["rs", "md", "toml", "lock", "py", "sql", "slt", "txt", "sh"];

/// All text files below `root`, sorted by path.
pub fn repository(root: &Path) -> Vec<SourceFile> {
    let mut files = Vec::new();
    collect(root, "", &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn collect(dir: &Path, prefix: &str, files: &mut Vec<SourceFile>) {
    for entry in std::fs::read_dir(dir).expect("the repository's folders can be read") {
        let entry = entry.expect("the repository's folders can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        if entry.path().is_dir() {
            if !SKIPPED.contains(&name.as_str()) && !name.ends_with(".weft") {
                collect(&entry.path(), &path, files);
            }
        } else if TEXT.contains(&name.rsplit('.').next().unwrap_or_default()) || prefix == ".ci" {
            // A file that another process removes or that is not text is not a source file.
            if let Ok(text) = std::fs::read_to_string(entry.path()) {
                files.push(SourceFile { path, text });
            }
        }
    }
}

/// The text with the inside of comments, strings and character literals replaced by blanks.
pub fn blanked(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = hidden_end(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(chars[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// The end of the comment or literal that begins at `at`; `at` itself when none does.
fn hidden_end(chars: &[char], at: usize) -> usize {
    let next = |offset: usize| chars.get(at + offset).copied().unwrap_or(' ');
    let word_before = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match chars[at] {
        '/' if next(1) == '/' => (at..chars.len()).find(|&i| chars[i] == '\n').unwrap_or(chars.len()),
        '/' if next(1) == '*' => block_comment_end(chars, at),
        '"' => string_end(chars, at),
        'r' if !word_before && matches!(next(1), '"' | '#') => raw_string_end(chars, at, at + 1),
        'b' if !word_before && next(1) == 'r' && matches!(next(2), '"' | '#') => raw_string_end(chars, at, at + 2),
        '\'' if next(1) == '\\' => (at + 3..chars.len()).find(|&i| chars[i] == '\'').map_or(chars.len(), |i| i + 1),
        '\'' if next(2) == '\'' => at + 3,
        _ => at,
    }
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let (mut i, mut depth) = (at, 0);
    while i + 1 < chars.len() {
        match (chars[i], chars[i + 1]) {
            ('/', '*') => (i, depth) = (i + 2, depth + 1),
            ('*', '/') => (i, depth) = (i + 2, depth - 1),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    chars.len()
}

fn string_end(chars: &[char], at: usize) -> usize {
    let mut i = at + 1;
    while i < chars.len() {
        match chars[i] {
            '\\' => i += 2,
            '"' => return i + 1,
            _ => i += 1,
        }
    }
    chars.len()
}

fn raw_string_end(chars: &[char], at: usize, hashes_at: usize) -> usize {
    let hashes = chars[hashes_at..].iter().take_while(|&&c| c == '#').count();
    if chars.get(hashes_at + hashes) != Some(&'"') {
        return at; // r#name
    }
    let mut i = hashes_at + hashes + 1;
    while i < chars.len() {
        if chars[i] == '"' && chars[i + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes {
            return i + 1 + hashes;
        }
        i += 1;
    }
    chars.len()
}

/// The lines of a blanked text, each with whether it belongs to a `#[cfg(test)]` item.
pub fn lines_with_test(blanked: &str) -> Vec<(&str, bool)> {
    let mut lines = Vec::new();
    let mut pending = false;
    let mut depth: Option<i64> = None;
    for line in blanked.lines() {
        pending |= line.trim_start().starts_with("#[cfg(test)]") || line.trim_start().starts_with("#[cfg(all(test");
        let braces = line.matches('{').count() as i64 - line.matches('}').count() as i64;
        let inside = pending || depth.is_some();
        if let Some(open) = &mut depth {
            *open += braces;
        } else if pending && line.contains('{') {
            depth = Some(braces);
            pending = false;
        } else if pending && line.contains(';') {
            pending = false;
        }
        if depth.is_some_and(|open| open <= 0) {
            depth = None;
        }
        lines.push((line, inside));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_become_blanks() {
        let cases = [
            ("a \"}\" b", "a     b"),
            ("a // }\nb", "a     \nb"),
            ("a /* { /* } */ { */ b", "a                   b"),
            ("r#\"}\"}\"# b", "         b"),
            ("'{' '\\'' 'a", "         'a"),
            ("\"\\\"}\" b", "      b"),
            ("r#match b", "r#match b"),
        ];
        for (text, expected) in cases {
            assert_eq!(blanked(text), expected, "{text}");
        }
    }

    #[test]
    fn test_modules_are_marked() {
        let text = "fn a() {\n}\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\n#[cfg(test)]\nmod other;\nfn c() {}";
        let marks: Vec<bool> = lines_with_test(text).iter().map(|line| line.1).collect();
        assert_eq!(marks, [false, false, true, true, true, true, true, true, false]);
    }
}
