//! Documents have one title, and their links lead somewhere.
//!
//! ```text
//!   [the log](docs/format/log.md#block)   → docs/format/log.md must exist, from the document's own folder
//! ```

use std::collections::BTreeSet;

use crate::files::normal;
use crate::source::SourceFile;

/// Documents without a title, or with several.
pub fn titles(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in documents(files) {
        let count = prose(&file.text).filter(|line| line.1.starts_with("# ")).count();
        if count != 1 {
            complaints.push(format!("{}: {count} titles; give it exactly one line that begins with \"# \"", file.path));
        }
    }
    complaints
}

/// Links to files that are not there. `exists` answers for files that are not among the text files.
pub fn links(files: &[SourceFile], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let known: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut complaints = Vec::new();
    for file in documents(files) {
        let folder = file.path.rsplit_once('/').map_or("", |split| split.0);
        for (number, line) in prose(&file.text) {
            for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let path = target.split('#').next().unwrap_or_default();
                if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
                    continue;
                }
                let path = normal(&format!("{folder}/{path}"));
                if !known.contains(path.as_str()) && !exists(&path) {
                    let place = format!("{}:{number}", file.path);
                    complaints.push(format!("{place}: there is no {path}; link to what there is"));
                }
            }
        }
    }
    complaints
}

fn documents(files: &[SourceFile]) -> impl Iterator<Item = &SourceFile> {
    files.iter().filter(|file| file.path.ends_with(".md"))
}

/// The lines outside code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        (!code && !fence).then_some((number + 1, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_counted_outside_code() {
        let count = |text: &str| titles(&[SourceFile::new("a.md", text)]).len();
        assert_eq!(count("# One\n```sh\n# comment\n```\n## Part\n"), 0);
        assert_eq!(count("# One\n# Two\n"), 1);
        assert_eq!(count("no title\n"), 1);
    }

    #[test]
    fn broken_links_are_found() {
        let files = |text: &str| [SourceFile::new("docs/a.md", text), SourceFile::new("README.md", "# R\n")];
        let count = |text: &str| links(&files(text), |path| path == "data/x.gz").len();
        assert_eq!(count("[a](../README.md#top) [b](https://example.org) [c](#part) [d](../data/x.gz)"), 0);
        assert_eq!(count("[a](README.md) and [b](../nowhere.md)"), 2);
        assert_eq!(count("```\n[a](nowhere.md)\n```"), 0);
    }
}
