//! Imports point down only.
//!
//! ```text
//!   weft-cli ─▶ weft-server ─▶ weft ─▶ weft-sql ─▶ weft-tables ─▶ weft-kernel ─▶ weft-expr ─▶ weft-format ─▶ weft-env
//!      └──────▶ weft-bench ─────┘
//!   weft-sim, weft-differ, weft-tidy: used by nobody
//! ```

use crate::source::{SourceFile, blanked, lines_with_test};

/// The crates from the lowest to the highest.
pub const CRATES: &[&str] = &[
    "weft-env",
    "weft-format",
    "weft-expr",
    "weft-pgcatalog",
    "weft-kernel",
    "weft-tables",
    "weft-sim",
    "weft-sql",
    "weft",
    "weft-server",
    "weft-bench",
    "weft-cli",
    "weft-differ",
    "weft-tidy",
];

/// Crates that no other crate may use.
const UNPUBLISHED: &[&str] = &["weft-sim", "weft-differ", "weft-tidy"];

/// Groups of the kernel's modules from the lowest to the highest; within a group modules may use each other.
pub const KERNEL: &[&[&str]] = &[
    &["account", "fault", "step", "cancel", "budget"],
    &["sleeper"],
    &["admission", "cache", "lock"],
    &["catalog", "index", "log", "manifest", "services", "table", "txn", "sched", "engine", "testing"],
];

/// Dependencies of the crates' manifests that point up, or at DataFusion from anywhere but weft-sql.
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
            if dependency.starts_with("datafusion") && name != "weft-sql" {
                complaints.push(format!("{}: only weft-sql knows DataFusion; ask weft-sql for it", file.path));
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

/// `crate::module` in the kernel where the module lies above the file's own.
pub fn kernel_modules(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| !file.is_test()) {
        let Some(path) = file.path.strip_prefix("crates/weft-kernel/src/") else { continue };
        let module = path.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let Some(level) = group(module) else {
            complaints.push(format!("{}: add the module to the order in weft-tidy/src/layers.rs", file.path));
            continue;
        };
        let code = blanked(&file.text);
        for (number, (line, test)) in lines_with_test(&code).iter().enumerate() {
            for used in line.split("crate::").skip(1) {
                let used: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if !test && group(&used).is_some_and(|target| target > level) {
                    let place = format!("{}:{}", file.path, number + 1);
                    complaints.push(format!("{place}: {module} must not use {used}, which lies above it; pass it in"));
                }
            }
        }
    }
    complaints
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
    fn modules_that_use_higher_ones_are_found() {
        let path = "crates/weft-kernel/src/lock/table.rs";
        let uses = |line: &str| kernel_modules(&[SourceFile::new(path, line)]).len();
        assert_eq!(uses("use crate::budget::RowBudget;"), 0);
        assert_eq!(uses("use crate::engine::Engine;"), 1);
        assert_eq!(uses("fn f(t: &crate::txn::Timeline) {}"), 1);
        assert_eq!(uses("// crate::txn is told\n#[cfg(test)]\nmod tests { use crate::engine::Engine; }"), 0);
        assert_eq!(kernel_modules(&[SourceFile::new("crates/weft-kernel/src/new.rs", "")]).len(), 1);
    }
}
