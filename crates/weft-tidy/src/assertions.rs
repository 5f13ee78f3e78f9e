//! The kernel and the table methods test what they rely on.
//!
//! ```text
//!   crates/weft-kernel   20,897 lines of code, 370 assertions → 17.7 for 1,000      15 at least
//! ```
//!
//! Lines of code are those that are not blank, no comment and in no test. `assert!`, `assert_eq!`, `assert_ne!` and the
//! `debug_` forms of these count; `expect` and `unreachable!`, which a branch needs in any case, do not.

use crate::source::{SourceFile, blanked, lines_with_test};

/// The fewest assertions for 1,000 lines of code.
pub const ASSERTIONS_MIN: f64 = 15.0;

/// Where that is asked for.
const FOLDERS: &[&str] = &["crates/weft-kernel/src/", "crates/weft-tables/src/column/"];

/// A complaint for each of the folders with too few.
pub fn few(files: &[SourceFile]) -> Vec<String> {
    let told = FOLDERS.iter().filter_map(|folder| {
        let (lines, assertions) = counts(files, folder);
        let density = assertions as f64 * 1000.0 / lines.max(1) as f64;
        (lines > 0 && density < ASSERTIONS_MIN).then(|| {
            format!(
                "{folder}: {assertions} assertions in {lines} lines, {density:.1} for 1,000; name what it relies on"
            )
        })
    });
    told.collect()
}

fn counts(files: &[SourceFile], folder: &str) -> (usize, usize) {
    let (mut lines, mut assertions) = (0, 0);
    for file in files.iter().filter(|file| file.path.starts_with(folder) && file.is_rust() && !file.is_test()) {
        let code = blanked(&file.text);
        for (line, _) in lines_with_test(&code).into_iter().filter(|(line, is_test)| !is_test && is_code(line)) {
            lines += 1;
            assertions += usize::from(is_assertion(line));
        }
    }
    (lines, assertions)
}

fn is_code(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("//")
}

fn is_assertion(line: &str) -> bool {
    ["assert!(", "assert_eq!(", "assert_ne!("].iter().any(|form| line.contains(form))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_counted_and_tests_are_not() {
        let code = "//! A file.\n\nfn f(a: u32) {\n    assert!(a > 0, \"why\");\n    // assert!(a);\n    g(a);\n}\n";
        let tests = "\n#[cfg(test)]\nmod tests {\n    fn t() {\n        assert_eq!(1, 1);\n    }\n}\n";
        let text = format!("{code}{tests}");
        let files = [SourceFile::new("crates/weft-kernel/src/a.rs", &text)];
        assert_eq!(counts(&files, FOLDERS[0]), (4, 1));
        assert_eq!(few(&files), Vec::<String>::new());
        let bare = SourceFile::new("crates/weft-kernel/src/b.rs", &"f();\n".repeat(100));
        assert_eq!(few(&[files[0].clone(), bare]).len(), 1, "one in 104 lines");
        let of_tests = SourceFile::new("crates/weft-kernel/src/tests.rs", "f();\n");
        assert_eq!(counts(&[of_tests], FOLDERS[0]), (0, 0));
    }
}
