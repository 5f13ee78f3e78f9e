//! The page of known differences from PostgreSQL, made from the tests that show them.
//!
//! ```text
//!   tests/slt/differences.slt              docs/differences.md
//!   # differs: `UPDATE t SET key = key + 1`
//!   # postgresql: may fail with 23505      | `UPDATE t ...` | may fail with 23505 | succeeds | keys are compared ... |
//!   # weft: succeeds
//!   # why: keys are compared ...
//!   onlyif postgresql
//!   statement error (23505) ...
//!   onlyif weft
//!   statement count 3 ...
//! ```
//!
//! 1. A difference is shown: by records of which one is under `onlyif postgresql` and one under `onlyif weft`, by a
//!    test that `shown in` names, or `not shown` says why there is none.
//! 2. What is said to differ does: no record of Weft is the same as PostgreSQL's.
//! 3. The page says what the file says, and nothing else.

use std::collections::BTreeSet;

/// The file that the page is made from.
pub const SOURCE: &str = "tests/slt/differences.slt";
/// The page.
pub const PAGE: &str = "docs/differences.md";

/// What the comments and the records of one difference say.
#[derive(Debug, Default)]
pub struct Difference {
    /// `differs` or `refused`, and what.
    pub is_refused: bool,
    /// The statement or feature.
    pub about: String,
    postgresql: String,
    weft: String,
    why: String,
    instead: String,
    error: String,
    shown_in: String,
    not_shown: String,
    on_postgresql: Vec<String>,
    on_weft: Vec<String>,
}

impl Difference {
    /// The SQLSTATEs of Weft's records, or what `error` says.
    fn errors(&self) -> String {
        if !self.error.is_empty() {
            return self.error.clone();
        }
        let states =
            self.on_weft.iter().filter_map(|record| record.split("statement error (").nth(1)?.split(')').next());
        let states: BTreeSet<&str> = states.collect();
        states.into_iter().collect::<Vec<_>>().join(" or ")
    }

    /// What is wrong with it.
    fn complaint(&self, exists: &impl Fn(&str, &str) -> bool) -> Option<String> {
        let shown = !self.on_postgresql.is_empty() && !self.on_weft.is_empty();
        let places = [shown, !self.shown_in.is_empty(), !self.not_shown.is_empty()];
        if places.iter().filter(|is_there| **is_there).count() != 1 {
            return Some(
                "show it by statements, or name its test (shown in), or say why there is none (not shown)".into(),
            );
        }
        if let Some(same) = self.on_weft.iter().find(|record| self.on_postgresql.contains(record)) {
            return Some(format!("both give the same answer: {same:?}"));
        }
        let (file, test) = self.shown_in.split_once('#').unwrap_or((&self.shown_in, ""));
        if !file.is_empty() && !exists(file, test) {
            return Some(format!("there is no {test} in {file}"));
        }
        if self.is_refused && self.errors().is_empty() {
            return Some("it is refused without an error; add one".into());
        }
        None
    }
}

/// Reads the file.
pub fn read(text: &str) -> Vec<Difference> {
    let mut found: Vec<Difference> = Vec::new();
    for block in text.split("\n\n") {
        for line in block.lines().filter_map(|line| line.strip_prefix("# ")) {
            let Some((name, value)) = line.split_once(": ") else { continue };
            let value = value.to_owned();
            if let "differs" | "refused" = name {
                found.push(Difference { is_refused: name == "refused", about: value, ..Difference::default() });
                continue;
            }
            let Some(last) = found.last_mut() else { continue };
            match name {
                "postgresql" => last.postgresql = value,
                "weft" => last.weft = value,
                "why" => last.why = value,
                "instead" => last.instead = value,
                "error" => last.error = value,
                "shown in" => last.shown_in = value,
                "not shown" => last.not_shown = value,
                _ => {}
            }
        }
        let records: Vec<&str> = block.lines().filter(|line| !line.starts_with('#')).collect();
        if let (Some(last), [label, record @ ..]) = (found.last_mut(), records.as_slice()) {
            match *label {
                "onlyif postgresql" => last.on_postgresql.push(record.join("\n")),
                "onlyif weft" => last.on_weft.push(record.join("\n")),
                _ => {}
            }
        }
    }
    found
}

/// What is wrong with the file. `exists` tells whether a file has a test of that name.
pub fn complaints(differences: &[Difference], exists: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let complaint = |difference: &Difference| {
        difference.complaint(&exists).map(|complaint| format!("{SOURCE}: {}: {complaint}", difference.about))
    };
    differences.iter().filter_map(complaint).collect()
}

/// The page.
pub fn page(differences: &[Difference]) -> String {
    let mut page = String::from(
        "# Known differences from PostgreSQL\n\n\
         Weft means to answer what it accepts as PostgreSQL 15 does, and to refuse the rest with an error (mostly\n\
         0A000). What is known to differ is listed here. The page is made from\n\
         [tests/slt/differences.slt](../tests/slt/differences.slt), which shows each of them on both and is run\n\
         with the SQL suite (`WEFT_DOCS=rewrite cargo test -p weft-tidy` makes it anew).\n\n\
         ## Other results\n\n\
         | statement | PostgreSQL | Weft | why |\n|---|---|---|---|\n",
    );
    for one in differences.iter().filter(|one| !one.is_refused) {
        page += &format!("| {} | {} | {} | {} |\n", one.about, one.postgresql, one.weft, one.why);
    }
    page += "\nHow concurrent transactions differ is the last section of [isolation.md](isolation.md).\n\n\
             ## Refused\n\n\
             | statement | error | instead |\n|---|---|---|\n";
    for one in differences.iter().filter(|one| one.is_refused) {
        page += &format!("| {} | {} | {} |\n", one.about, one.errors(), one.instead);
    }
    page.replace("|  |", "| |")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# differs: a\n# postgresql: p\n# weft: w\n\nstatement ok\nCREATE TABLE a ()\n\n\
                        onlyif postgresql\nstatement ok\nX\n\nonlyif weft\nstatement error (0A000)\nX\n\n\
                        # refused: b\n# instead: c\n# error: 53200\n# shown in: tests/b.rs#shows\n";

    #[test]
    fn the_page_says_what_the_file_says() {
        let read = read(TEXT);
        assert_eq!(complaints(&read, |file, test| (file, test) == ("tests/b.rs", "shows")), Vec::<String>::new());
        let page = page(&read);
        assert!(page.contains("| a | p | w | |\n") && page.contains("| b | 53200 | c |\n"), "{page}");
    }

    #[test]
    fn what_is_not_shown_or_the_same_is_told() {
        assert_eq!(complaints(&read(TEXT), |_, _| false).len(), 1);
        let same = TEXT.replace("statement error (0A000)", "statement ok");
        assert!(complaints(&read(&same), |_, _| true)[0].contains("both give the same answer"));
        let unshown = TEXT.replace("# shown in: tests/b.rs#shows\n", "");
        assert!(complaints(&read(&unshown), |_, _| true)[0].contains("name its test"));
    }
}
