//! Which file of a crate imports what another one defines, re-exports followed.
//!
//! ```text
//!   log/mod.rs      mod writer;  pub use writer::Log;             hands Log on: no arrow
//!   txn/commit.rs   use crate::log::Log;                          txn/commit.rs ─▶ log/writer.rs: Log
//!   txn/commit.rs   crate::timeline::Timeline::new()              txn/commit.rs ─▶ timeline.rs: Timeline
//!   log/writer.rs   use super::KINDS;      defined in mod.rs      log/writer.rs ─▶ log/mod.rs: KINDS
//! ```
//!
//! 1. An arrow leads to the file that defines the name, through however many re-exports.
//! 2. A `use` is an arrow. A `pub use` (of any visibility) hands a name on: it is an arrow only when its own file
//!    names what it hands on, too. A `mod` and the import of a module as such are no arrows: what is used through them
//!    is a path, and that is one. So a front page that lists its modules and their names imports nothing, and a child
//!    may use what is defined on it.
//! 3. Paths in code count as imports do: `crate::a::B`, `super::B`, `self::a::B`, and `a::B` where `a` is imported or
//!    is a child. Calls by method, and what a macro of another crate makes, are not seen.
//! 4. What is only compiled for tests or for documentation does not count: test files, `#[cfg(test)]`, `#[cfg(doc)]`.

mod module;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use crate::source::SourceFile;
use module::Module;

/// Arrows between the files of one crate: from, to, and the names that are taken.
pub type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// Re-exports that a name may pass through: more are a circle of their own.
const STEPS_MAX: usize = 40;

/// The modules of a crate by their path: `["log", "writer"]`.
type Modules = BTreeMap<Vec<String>, Module>;

/// What a path leads to.
enum Target {
    /// A module.
    Module(Vec<String>),
    /// Something that the module of this path defines.
    Item(Vec<String>),
}

/// The arrows within each crate that has any file.
pub fn arrows(files: &[SourceFile]) -> BTreeMap<String, Arrows> {
    let mut crates = BTreeMap::new();
    for file in files {
        let Some(name) = file.path.strip_prefix("crates/").and_then(|path| path.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        crates.insert(name.to_owned(), of_crate(files, name));
    }
    crates
}

/// The arrows within one crate.
pub fn of_crate(files: &[SourceFile], name: &str) -> Arrows {
    let by_path: BTreeMap<&str, &SourceFile> = files.iter().map(|file| (file.path.as_str(), file)).collect();
    let folder = format!("crates/{name}/src");
    let root = ["lib.rs", "main.rs"].map(|root| format!("{folder}/{root}"));
    let Some(root) = root.into_iter().find(|path| by_path.contains_key(path.as_str())) else { return Arrows::new() };
    let mut modules = Modules::new();
    let mut open = vec![(Vec::new(), root)];
    while let Some((path, file)) = open.pop() {
        let module = Module::read(by_path[file.as_str()]);
        for child in &module.children {
            let mut path: Vec<String> = path.clone();
            path.push(child.clone());
            let base = format!("{folder}/{}", path.join("/"));
            let places = [format!("{base}.rs"), format!("{base}/mod.rs")];
            if let Some(file) = places.into_iter().find(|place| by_path.contains_key(place.as_str())) {
                open.push((path, file));
            }
        }
        modules.insert(path, module);
    }
    let mut arrows = Arrows::new();
    for (path, module) in &modules {
        for used in module.used() {
            if let Some(Target::Item(at)) = resolve(&modules, path, used, 0)
                && at != *path
            {
                let name = used.last().cloned().unwrap_or_default();
                arrows.entry((module.file.clone(), modules[&at].file.clone())).or_default().insert(name);
            }
        }
    }
    arrows
}

/// What a path means in a module; none when it leads out of the crate or names something of the module itself.
fn resolve(modules: &Modules, from: &[String], path: &[String], steps: usize) -> Option<Target> {
    let (first, rest) = path.split_first()?;
    let module = match first.as_str() {
        "crate" => Vec::new(),
        "self" => from.to_vec(),
        "super" => from.split_last()?.1.to_vec(),
        name => match lookup(modules, from, name, rest.is_empty(), steps)? {
            Target::Module(module) => module,
            item => return Some(item),
        },
    };
    walk(modules, module, rest, steps)
}

/// Goes on from a module: into its children, through its imports, to what it defines.
fn walk(modules: &Modules, mut at: Vec<String>, path: &[String], steps: usize) -> Option<Target> {
    for (number, name) in path.iter().enumerate() {
        if name == "super" {
            at.pop()?;
            continue;
        }
        match lookup(modules, &at, name, number + 1 == path.len(), steps) {
            Some(Target::Module(module)) => at = module,
            Some(item) => return Some(item),
            None => return Some(Target::Item(at)),
        }
    }
    Some(Target::Module(at))
}

/// A name that is a module's child or that it imports. An item and a module may bear one name: the end of a path means
/// the item, what goes on means the module.
fn lookup(modules: &Modules, at: &[String], name: &str, is_last: bool, steps: usize) -> Option<Target> {
    let module = modules.get(at)?;
    let child = || {
        let path: Vec<String> = at.iter().cloned().chain([name.to_owned()]).collect();
        modules.contains_key(&path).then_some(Target::Module(path))
    };
    let imported = || {
        let mut imports = module.imports.iter().filter(|import| import.name == name);
        imports.find_map(|import| (steps < STEPS_MAX).then(|| resolve(modules, at, &import.path, steps + 1)).flatten())
    };
    let from_glob = || {
        if module.defines.contains(name) {
            return None;
        }
        module.imports.iter().filter(|import| import.is_glob).find_map(|import| {
            let Some(Target::Module(of)) =
                (steps < STEPS_MAX).then(|| resolve(modules, at, &import.path, steps + 1))?
            else {
                return None;
            };
            let found = lookup(modules, &of, name, is_last, steps + 1);
            found.or_else(|| modules[&of].defines.contains(name).then_some(Target::Item(of)))
        })
    };
    let found = if is_last { imported().or_else(child) } else { child().or_else(imported) };
    found.or_else(from_glob)
}

#[cfg(test)]
mod tests;
