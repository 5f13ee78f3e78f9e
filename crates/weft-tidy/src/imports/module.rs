//! What one file declares, imports and names.

use std::collections::BTreeSet;

use super::tokens::tokens;
use crate::source::SourceFile;

/// A file as a module of its crate.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Path of the file.
    pub(super) file: String,
    /// Modules that have files of their own.
    pub(super) children: Vec<String>,
    pub(super) imports: Vec<Import>,
    /// Names of its items, whatever they are.
    pub(super) defines: BTreeSet<String>,
    /// Paths of at least two parts in code.
    paths: BTreeSet<Vec<String>>,
    /// All words in code, imports left out.
    words: BTreeSet<String>,
}

/// One name that a `use` brings in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) path: Vec<String>,
    /// As what it is known here; empty for a glob.
    pub(super) name: String,
    /// Everything of a module.
    pub(super) is_glob: bool,
    /// Whether it is handed on by a `pub use`.
    is_handed_on: bool,
}

/// Where reading stands.
struct Reader<'a> {
    tokens: &'a [String],
    at: usize,
    /// Braces that are open, each with whether it is a module's.
    open: Vec<bool>,
    module: Module,
}

impl Module {
    pub(super) fn read(file: &SourceFile) -> Module {
        let tokens = tokens(&file.text);
        let module = Module { file: file.path.clone(), ..Module::default() };
        let mut reader = Reader { tokens: &tokens, at: 0, open: Vec::new(), module };
        while reader.at < tokens.len() {
            reader.step();
        }
        reader.module
    }

    /// The paths by which the file uses something (imports 2 and 3).
    pub(super) fn used(&self) -> impl Iterator<Item = &Vec<String>> {
        let imports = self.imports.iter().filter(|import| {
            // What the file defines itself is not what it hands on under the same name.
            !import.is_handed_on || (self.words.contains(&import.name) && !self.defines.contains(&import.name))
        });
        imports.map(|import| &import.path).chain(&self.paths)
    }
}

impl Reader<'_> {
    fn token(&self, offset: usize) -> &str {
        self.tokens.get(self.at + offset).map_or("", String::as_str)
    }

    fn before(&self, offset: usize) -> &str {
        self.at.checked_sub(offset).map_or("", |at| self.tokens[at].as_str())
    }

    fn step(&mut self) {
        match self.token(0) {
            "use" if matches!(self.before(1), "" | ";" | "{" | "}" | "pub" | ")") => self.read_use(),
            "mod" if self.token(2) == ";" => {
                let name = self.token(1).to_owned();
                self.module.children.push(name);
                self.at += 3;
            }
            "mod" if self.token(2) == "{" => {
                self.open.push(true);
                self.at += 3;
            }
            "{" => {
                self.open.push(false);
                self.at += 1;
            }
            "}" => {
                self.open.pop();
                self.at += 1;
            }
            "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" => self.read_definition(1),
            "macro_rules" => self.read_definition(2),
            token if is_word(token) => self.read_path(),
            _ => self.at += 1,
        }
    }

    /// An item's name, if it is one of the file itself and not of what stands inside it.
    fn read_definition(&mut self, offset: usize) {
        if self.open.iter().all(|is_module| *is_module) && is_word(self.token(offset)) {
            let name = self.token(offset).to_owned();
            self.module.defines.insert(name);
        }
        self.at += offset;
    }

    /// A word, with what follows it by `::`.
    fn read_path(&mut self) {
        let is_member = self.before(1) == "." && self.before(2) != ".";
        let is_rest = self.before(1) == "::";
        let mut path = vec![self.token(0).to_owned()];
        self.at += 1;
        while self.token(0) == "::" && is_word(self.token(1)) {
            path.push(self.token(1).to_owned());
            self.at += 2;
        }
        if is_member || is_rest {
            return;
        }
        self.module.words.insert(path[0].clone());
        if path.len() > 1 {
            let path = self.outside(path);
            self.module.paths.insert(path);
        }
    }

    fn read_use(&mut self) {
        let is_handed_on = self.before(1) == "pub" || (self.before(1) == ")" && self.is_visibility());
        self.at += 1;
        let mut imports = Vec::new();
        if self.token(0) == "::" {
            self.at += 1;
            self.read_tree(&[], &mut imports);
            return;
        }
        self.read_tree(&[], &mut imports);
        for (path, name) in imports {
            let path = self.outside(path);
            let is_glob = name == "*";
            let name = if is_glob { String::new() } else { name };
            self.module.imports.push(Import { path, name, is_glob, is_handed_on });
        }
    }

    /// Whether the parenthesis that ends just before belongs to `pub(…)`.
    fn is_visibility(&self) -> bool {
        let mut back = 1;
        while back <= 8 && self.before(back) != "(" {
            back += 1;
        }
        self.before(back + 1) == "pub"
    }

    /// A tree of imports: `a::b`, `a::{b, c::d}`, `a::*`, `a as b`; leaves behind it.
    fn read_tree(&mut self, prefix: &[String], imports: &mut Vec<(Vec<String>, String)>) {
        let mut path = prefix.to_vec();
        loop {
            match self.token(0) {
                "{" => {
                    self.at += 1;
                    while self.token(0) != "}" && !self.token(0).is_empty() {
                        self.read_tree(&path, imports);
                        if self.token(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "*" => {
                    self.at += 1;
                    imports.push((path, "*".to_owned()));
                    return;
                }
                word if is_word(word) => {
                    // `a::{self}` is `a`; `self::a` is what it says.
                    if word != "self" || path.is_empty() {
                        path.push(word.to_owned());
                    }
                    self.at += 1;
                }
                _ => return,
            }
            if self.token(0) == "::" {
                self.at += 1;
                continue;
            }
            let mut name = path.last().cloned().unwrap_or_default();
            if self.token(0) == "as" {
                name = self.token(1).to_owned();
                self.at += 2;
            }
            imports.push((path, name));
            return;
        }
    }

    /// A path as it reads outside the modules that are written within the file.
    fn outside(&self, mut path: Vec<String>) -> Vec<String> {
        let inner = self.open.iter().filter(|is_module| **is_module).count();
        for _ in 0..inner {
            if path[0] == "super" && path.get(1).is_some_and(|next| next == "super") {
                path.remove(0);
            } else if path[0] == "super" {
                path[0] = "self".to_owned();
                break;
            }
        }
        path
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}
