//! Every .rs file is part of a crate, and begins by saying what it is (tests may let their names speak).
//!
//! ```text
//!   src/lib.rs   mod log;  ──▶ src/log.rs or src/log/mod.rs  ──▶ mod writer;  ──▶ src/log/writer.rs
//!   src/log/old_writer.rs  ◀── nobody: dead
//! ```

use std::collections::BTreeSet;

use crate::source::{SourceFile, blanked};

/// Files that no `mod` leads to.
pub fn dead(files: &[SourceFile]) -> Vec<String> {
    let rust: Vec<&SourceFile> = files.iter().filter(|file| file.is_rust()).collect();
    let mut reached = BTreeSet::new();
    let mut open: Vec<String> = rust.iter().map(|file| file.path.clone()).filter(|path| is_root(path)).collect();
    while let Some(path) = open.pop() {
        let Some(file) = rust.iter().find(|file| file.path == path) else { continue };
        if reached.insert(path) {
            open.extend(modules(file));
        }
    }
    let dead = rust.iter().filter(|file| !reached.contains(&file.path));
    dead.map(|file| format!("{}: no mod leads here; declare it or delete it", file.path)).collect()
}

/// Whether cargo compiles the file by itself.
fn is_root(path: &str) -> bool {
    let Some(inside) = path.strip_prefix("crates/").and_then(|path| path.split_once('/')).map(|split| split.1) else {
        return true;
    };
    let parts: Vec<&str> = inside.split('/').collect();
    matches!(inside, "src/lib.rs" | "src/main.rs" | "build.rs")
        || (parts.len() == 2 && matches!(parts[0], "tests" | "examples" | "benches"))
        || (parts.len() == 3 && matches!(parts[0], "tests" | "examples" | "benches") && parts[2] == "main.rs")
        || (parts.len() == 3 && parts[..2] == ["src", "bin"])
}

/// Where the modules that a file declares may lie.
fn modules(file: &SourceFile) -> Vec<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let owns_folder = matches!(name, "mod.rs" | "lib.rs" | "main.rs") || is_root(&file.path);
    let inner = if owns_folder { folder.to_owned() } else { format!("{folder}/{}", name.trim_end_matches(".rs")) };
    let code = blanked(&file.text);
    let mut paths = Vec::new();
    let mut explicit: Option<String> = None;
    for (line, original) in code.lines().zip(file.text.lines()) {
        if let Some(path) = original.trim_start().strip_prefix("#[path = \"") {
            explicit = path.split('"').next().map(str::to_owned);
        }
        let line = line.trim();
        let Some(at) = line.find("mod ").filter(|_| line.ends_with(';')) else { continue };
        let before = line[..at].trim();
        if !(before.is_empty() || before.ends_with(']') || before.starts_with("pub")) {
            continue;
        }
        let module = line[at + 4..].trim_end_matches(';').trim();
        match explicit.take() {
            Some(path) => paths.push(normal(&format!("{folder}/{path}"))),
            None => paths.extend([format!("{inner}/{module}.rs"), format!("{inner}/{module}/mod.rs")]),
        }
    }
    paths
}

/// A path without `..`.
pub(crate) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Files of crates that do not begin with what they are.
pub fn first_comments(files: &[SourceFile]) -> Vec<String> {
    let silent = |file: &&SourceFile| file.is_rust() && !file.is_test() && !file.text.trim_start().starts_with("//!");
    let silent = files.iter().filter(silent);
    silent.map(|file| format!("{}: begin with //! and one sentence of what this is", file.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(extra: &[(&str, &str)]) -> Vec<SourceFile> {
        let files = [
            ("crates/a/src/lib.rs", "pub mod log;\n#[cfg(test)] mod tests;\n"),
            ("crates/a/src/tests.rs", ""),
            ("crates/a/src/log/mod.rs", "mod writer;\n"),
            ("crates/a/src/log/writer.rs", "#[cfg(test)]\nmod cases;\n"),
            ("crates/a/src/log/writer/cases.rs", "// mod ghost;"),
            ("crates/a/tests/all.rs", "#[path = \"../examples/one.rs\"]\n#[allow(dead_code)]\nmod one;\n"),
            ("crates/a/examples/one.rs", ""),
        ];
        files.iter().chain(extra).map(|(path, text)| SourceFile::new(path, text)).collect()
    }

    #[test]
    fn dead_files_are_found() {
        assert_eq!(dead(&tree(&[])), Vec::<String>::new());
        for path in ["crates/a/src/log/ghost.rs", "crates/a/src/writer.rs", "crates/a/tests/all/part.rs"] {
            assert_eq!(dead(&tree(&[(path, "")])).len(), 1, "{path}");
        }
    }

    #[test]
    fn silent_files_are_found() {
        let file = |text: &str| [SourceFile::new("crates/a/src/lib.rs", text)];
        assert_eq!(first_comments(&file("//! A log.\n")).len(), 0);
        assert_eq!(first_comments(&file("use std::io;\n")).len(), 1);
    }
}
