//! Imports point down only.
//!
//! ```text
//!   weft-cli ─▶ weft-server ─▶ weft ─▶ weft-query ─▶ weft-sql ─▶ weft-kernel ─▶ weft-contract
//!      ├──────▶ weft-router ─▶ weft-wire ─▶ weft-sql;   weft-server ─▶ weft-wire
//!      └──────▶ weft-bench ─────┘  └──▶ weft-tables ─▶ weft-kernel
//!                  └──▶ weft-rivals ──────▶ weft-tables
//!                                             weft-contract ─▶ weft-expr ─▶ weft-format ─▶ weft-env
//!   weft, weft-sql ─▶ weft-store ─▶ weft-format
//!   weft-joins, weft-walk: by what plans, and need nothing;   weft-sim, weft-differ, weft-tidy: used by nobody
//! ```

use crate::imports;
use crate::source::SourceFile;

/// The crates from the lowest to the highest.
pub const CRATES: &[&str] = &[
    "weft-env",
    "weft-format",
    "weft-store",
    "weft-expr",
    "weft-joins",
    "weft-walk",
    "weft-pgcatalog",
    "weft-contract",
    "weft-kernel",
    "weft-tables",
    "weft-replica",
    "weft-rivals",
    "weft-sim",
    "weft-sql",
    "weft-wire",
    "weft-router",
    "weft-query",
    "weft",
    "weft-server",
    "weft-bench",
    "weft-cli",
    "weft-differ",
    "weft-tidy",
];

/// Crates that no other crate may use.
const UNPUBLISHED: &[&str] = &["weft-sim", "weft-differ", "weft-tidy"];

/// Floors of the kernel from the lowest to the highest. A module uses modules of lower floors only, none of its own
/// floor; `use` and paths count, re-exports followed ([`imports`]).
///
/// The contract of a table is a crate of its own below (weft-contract); `table` hands it on and uses nothing here. What
/// is derived from a table (`index`) needs its definition, its rows and nothing of the catalog; the catalog knows
/// the tables and indexes that there are.
pub const KERNEL: &[&[&str]] = &[
    // Words that all share; counters and switches.
    &["table", "fault", "step", "cancel", "budget", "poison", "wanted"],
    // Who may write a directory: whoever writes into one asks.
    &["term"],
    &["account", "sleeper", "read_again", "files", "log", "sched"],
    &["admission", "cache", "lock", "timeline", "manifest", "options", "history"],
    // What table methods are given, and what they are.
    &["services"],
    &["method"],
    &["index"],
    &["catalog"],
    &["jobs"],
    &["txn"],
    &["engine"],
    &["testing"],
];

/// What stores tables and indexes.
const METHODS: &[&str] =
    &["crates/weft-tables/src/column/", "crates/weft-tables/src/testing/in_place/", "crates/weft-kernel/src/index/"];

/// Calls by which code comes to a file by its path.
const PATHS: &[&str] = &["std::path", "Path::new", ".fs.", ".fs;"];

/// Paths in what stores tables and indexes: files are known by number, so that something else than a directory can
/// have them.
pub fn paths_in_methods(files: &[SourceFile]) -> Vec<String> {
    let is_method = |path: &str| {
        METHODS.iter().any(|dir| path.starts_with(dir))
            && !path[..path.len() - 3].ends_with("tests")
            && !path.contains("/tests/")
    };
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && is_method(&file.path)) {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(call) = PATHS.iter().find(|call| line.contains(**call)) {
                let place = format!("{}:{}", file.path, number + 1);
                complaints
                    .push(format!("{place}: \"{call}\"; a method knows its files by number: use Services::files"));
            }
        }
    }
    complaints
}

/// Dependencies of the crates' manifests that point up, or at DataFusion from anywhere but weft-query.
pub fn crates(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        let Some(name) = file.path.strip_prefix("crates/").and_then(|path| path.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        let Some(level) = CRATES.iter().position(|known| *known == name) else {
            complaints.push(format!("{}: add the crate to the order in weft-tidy/src/layers.rs", file.path));
            continue;
        };
        for dependency in dependencies(&file.text) {
            let target = CRATES.iter().position(|known| *known == dependency);
            if target.is_some_and(|target| target >= level) || UNPUBLISHED.contains(&dependency.as_str()) {
                let path = &file.path;
                complaints
                    .push(format!("{path}: {name} must not use {dependency}; move what both need to a lower crate"));
            }
            if dependency.starts_with("datafusion") && name != "weft-query" {
                complaints.push(format!("{}: only weft-query knows DataFusion; ask weft-query for it", file.path));
            }
        }
    }
    complaints
}

/// The names in the tables of dependencies of a manifest.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim_end().trim_end_matches(']').ends_with("dependencies");
        } else if inside && !line.trim_start().starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default().trim();
            if !name.is_empty() {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// Imports in the kernel that do not lead to a lower floor, and modules that have no floor.
pub fn kernel_modules(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| !file.is_test()) {
        if module(&file.path).is_some_and(|module| group(module).is_none()) {
            complaints.push(format!("{}: add the module to the floors in weft-tidy/src/layers.rs", file.path));
        }
    }
    for ((from, to), names) in &imports::of_crate(files, "weft-kernel") {
        let (Some(user), Some(used)) = (module(from), module(to)) else { continue };
        if user != used && group(user) <= group(used) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let names = names.join(", ");
            complaints.push(format!("{from}: {user} must not use {names} of {to}, which is no lower; pass it in"));
        }
    }
    complaints
}

/// The module of the kernel's crate that a file is part of; none: it is none, or the crate's front page.
fn module(path: &str) -> Option<&str> {
    let path = path.strip_prefix("crates/weft-kernel/src/")?;
    let module = path.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    (module != "lib").then_some(module)
}

fn group(module: &str) -> Option<usize> {
    KERNEL.iter().position(|group| group.contains(&module))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_that_point_up_are_found() {
        let manifest = "[package]\nname = \"weft-kernel\"\n[dependencies]\nweft-format.workspace = true\n";
        let good = SourceFile::new("crates/weft-kernel/Cargo.toml", manifest);
        assert_eq!(crates(std::slice::from_ref(&good)), Vec::<String>::new());
        for bad in ["weft-sql.workspace = true", "weft-sim = { path = \"x\" }", "datafusion = \"55\""] {
            let bad = SourceFile::new(&good.path, &format!("{manifest}[dev-dependencies]\n{bad}\n"));
            assert_eq!(crates(&[bad]).len(), 1);
        }
        assert_eq!(crates(&[SourceFile::new("crates/weft-core/Cargo.toml", "")]).len(), 1);
    }

    #[test]
    fn paths_in_methods_are_found() {
        let complaints = |path: &str, code: &str| paths_in_methods(&[SourceFile::new(path, code)]).len();
        let opening = "let handle = context.env.fs.open(&path, OpenMode::Read);\n";
        assert_eq!(complaints("crates/weft-tables/src/column/part.rs", opening), 1);
        assert_eq!(complaints("crates/weft-kernel/src/index/run.rs", "use std::path::PathBuf;"), 1);
        assert_eq!(complaints("crates/weft-tables/src/column/part.rs", "let now = context.env.clock.now();"), 0);
        assert_eq!(complaints("crates/weft-kernel/src/index/tests/files.rs", opening), 0, "a test may look at files");
        assert_eq!(complaints("crates/weft-kernel/src/engine/open.rs", opening), 0, "no method");
    }

    #[test]
    fn modules_that_use_higher_ones_are_found() {
        let complaints = |module: &str, code: &str| {
            let files = [
                ("lib.rs", "pub mod budget; pub mod cache; pub mod lock; pub mod engine; pub use engine::Engine;"),
                ("budget.rs", "pub struct RowBudget;"),
                ("cache.rs", "pub struct Cache; pub use crate::budget::RowBudget;"),
                ("engine.rs", "pub struct Engine;"),
                ("lock/mod.rs", "mod table; mod queue;"),
                ("lock/queue.rs", "pub struct Queue;"),
                ("lock/table.rs", ""),
            ];
            let text = |path: &str, text: &'static str| if path == module { code.to_owned() } else { text.to_owned() };
            let file = |(path, old): (&str, &'static str)| {
                SourceFile::new(&format!("crates/weft-kernel/src/{path}"), &text(path, old))
            };
            kernel_modules(&files.map(file)).len()
        };
        let uses = |code: &str| complaints("lock/table.rs", code);
        assert_eq!(uses("use crate::budget::RowBudget; use super::queue::Queue;"), 0);
        assert_eq!(uses("use crate::engine::Engine;"), 1);
        assert_eq!(uses("fn f(t: &crate::Engine) {}"), 1, "by a re-export");
        assert_eq!(uses("use crate::cache::Cache;"), 1, "of the same floor");
        assert_eq!(uses("use crate::cache::RowBudget;"), 0, "handed on by a neighbour");
        assert_eq!(uses("// crate::engine::Engine\n#[cfg(test)]\nmod tests { use crate::engine::Engine; }"), 0);
        let new = SourceFile::new("crates/weft-kernel/src/new.rs", "");
        assert_eq!(kernel_modules(&[new]).len(), 1);
    }
}
