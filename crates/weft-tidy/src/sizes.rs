//! Lines, functions and files stay small.
//!
//! ```text
//!   exceptions.txt     file crates/weft-sql/src/big.rs 912
//!                      function crates/weft-sql/src/big.rs plan 88
//!   today 913 lines →  "grew from 912 to 913: split it"
//!   today 900 lines →  "shrank: write 900 into exceptions.txt"      (a ratchet: it may shrink, never grow)
//! ```
//!
//! Files and functions: tests do not count (files of tests, and `#[cfg(test)]` items). Lines: everywhere.

use std::collections::BTreeMap;

use crate::source::{SourceFile, blanked, lines_with_test};

/// The most lines of a file.
pub const FILE_LINES_MAX: usize = 800;
/// The most lines of a function.
pub const FUNCTION_LINES_MAX: usize = 70;
/// The most characters of a line.
pub const LINE_CHARS_MAX: usize = 120;

/// Everything above a limit, under the words by which `exceptions.txt` names it.
pub fn oversized(files: &[SourceFile]) -> BTreeMap<String, usize> {
    let mut sizes = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let long = file.text.lines().filter(|line| line.chars().count() > LINE_CHARS_MAX).count();
        if long > 0 {
            sizes.insert(format!("lines {}", file.path), long);
        }
        if file.is_test() {
            continue;
        }
        let code = blanked(&file.text);
        let lines = lines_with_test(&code);
        let count = lines.iter().filter(|line| !line.1).count();
        if count > FILE_LINES_MAX {
            sizes.insert(format!("file {}", file.path), count);
        }
        for (name, count) in functions(&lines) {
            if count > FUNCTION_LINES_MAX {
                let size = sizes.entry(format!("function {} {name}", file.path)).or_insert(count);
                *size = count.max(*size);
            }
        }
    }
    sizes
}

/// Names and lengths of the functions outside tests, signature and body.
fn functions(lines: &[(&str, bool)]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    // Functions that are open: name, first line, depth of braces before the body; the last is the innermost.
    let mut open: Vec<(String, usize, i64, bool)> = Vec::new();
    let mut depth = 0;
    for (number, (line, test)) in lines.iter().enumerate() {
        if let Some(name) = function_name(line).filter(|_| !test) {
            open.push((name, number, depth, false));
        }
        for c in line.chars() {
            match c {
                '{' => {
                    depth += 1;
                    if let Some(function) = open.last_mut() {
                        function.3 = true;
                    }
                }
                '}' => depth -= 1,
                // A declaration without a body.
                ';' if open.last().is_some_and(|function| !function.3 && depth == function.2) => drop(open.pop()),
                _ => continue,
            }
            if c == '}' && open.last().is_some_and(|function| function.3 && depth <= function.2) {
                let (name, first, ..) = open.pop().expect("it was looked at just now");
                found.push((name, number - first + 1));
            }
        }
    }
    found
}

fn function_name(line: &str) -> Option<String> {
    let at = if line.starts_with("fn ") { 0 } else { line.find(" fn ")? + 1 };
    let name: String = line[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// Compares what is oversized with the list of exceptions.
pub fn ratchet(oversized: &BTreeMap<String, usize>, exceptions: &str) -> Vec<String> {
    let allowed = parse(exceptions);
    let mut complaints = Vec::new();
    for (what, &size) in oversized {
        match allowed.get(what.as_str()) {
            None => complaints.push(format!("{what} {size}: {}", remedy(what))),
            Some(&old) if size > old => complaints.push(format!("{what} grew from {old} to {size}: {}", remedy(what))),
            Some(&old) if size < old => {
                complaints.push(format!("{what} shrank from {old} to {size}: write {size} into exceptions.txt"));
            }
            Some(_) => {}
        }
    }
    for what in allowed.keys().filter(|what| !oversized.contains_key(**what)) {
        complaints.push(format!("{what} is within its limit: remove it from exceptions.txt"));
    }
    complaints
}

fn remedy(what: &str) -> String {
    match what.split(' ').next() {
        Some("lines") => format!("lines are longer than {LINE_CHARS_MAX} characters; break them"),
        Some("file") => format!("lines are more than {FILE_LINES_MAX}; split the file"),
        _ => format!("lines are more than {FUNCTION_LINES_MAX}; split the function"),
    }
}

fn parse(exceptions: &str) -> BTreeMap<&str, usize> {
    let lines = exceptions.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.filter_map(|line| line.rsplit_once(' ')).map(|(what, size)| (what, size.parse().unwrap_or(0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lines: usize) -> String {
        format!(
            "    pub fn big(\n        &self,\n    ) -> u8 {{\n{}        1\n    }}\n",
            "        // x\n".repeat(lines - 5)
        )
    }

    #[test]
    fn functions_are_measured() {
        let text =
            format!("impl A {{\n    fn small(&self);\n{}    fn tiny() {{ let s = \"}}\"; }}\n}}\n", function(71));
        let code = blanked(&text);
        let sizes = functions(&lines_with_test(&code));
        assert_eq!(sizes, [("big".to_owned(), 71), ("tiny".to_owned(), 1)]);
        let file = SourceFile::new("crates/a/src/a.rs", &text);
        assert_eq!(oversized(&[file]).keys().collect::<Vec<_>>(), ["function crates/a/src/a.rs big"]);
        let file = SourceFile::new("crates/a/src/a.rs", &format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(100)));
        assert_eq!(oversized(&[file]).len(), 0);
    }

    #[test]
    fn nested_functions_and_closures_end_where_they_end() {
        let text = "fn a() {\n    let f = |x| {\n        x\n    };\n    fn b() {\n        g();\n    }\n}\nfn c() {}\n";
        let code = blanked(text);
        let sizes = functions(&lines_with_test(&code));
        assert_eq!(sizes, [("b".to_owned(), 3), ("a".to_owned(), 8), ("c".to_owned(), 1)]);
    }

    #[test]
    fn files_are_measured_without_tests() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "// x\n".repeat(900));
        let file = |lines: usize| SourceFile::new("crates/a/src/a.rs", &("// x\n".repeat(lines) + &tests));
        assert_eq!(oversized(&[file(800)]).len(), 0);
        assert_eq!(oversized(&[file(801)]).into_values().collect::<Vec<_>>(), [801]);
        assert_eq!(oversized(&[SourceFile::new("crates/a/tests/a.rs", &"// x\n".repeat(900))]).len(), 0);
    }

    #[test]
    fn the_ratchet_turns_one_way() {
        let sizes = |size: usize| BTreeMap::from([("file a.rs".to_owned(), size)]);
        let list = "# comment\nfile a.rs 900\n";
        assert_eq!(ratchet(&sizes(900), list), Vec::<String>::new());
        assert!(ratchet(&sizes(901), list)[0].contains("grew"));
        assert!(ratchet(&sizes(899), list)[0].contains("shrank"));
        assert!(ratchet(&BTreeMap::new(), list)[0].contains("remove"));
        assert!(ratchet(&sizes(900), "")[0].contains("split"));
    }

    #[test]
    fn long_lines_are_found() {
        let file = SourceFile::new("a.rs", &format!("{}\n{}\n", "ü".repeat(120), "x".repeat(121)));
        let found = oversized(&[file]);
        assert_eq!(found, BTreeMap::from([("lines a.rs".to_owned(), 1)]));
        assert!(ratchet(&found, "")[0].contains("break them"));
    }
}
