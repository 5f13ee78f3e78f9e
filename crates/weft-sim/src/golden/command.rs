//! A command line of a script, taken apart.
//!
//! ```text
//!   background a: update t 1-5,9 value=3     background, session a, "update", ["t", "1-5,9"], {value: 3}
//! ```

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::methods::all_steps;

/// One command.
#[derive(Clone, Debug, Default)]
pub(super) struct Command {
    pub(super) line: String,
    pub(super) background: bool,
    pub(super) session: Option<String>,
    pub(super) name: String,
    pub(super) words: Vec<String>,
    pub(super) options: BTreeMap<String, String>,
}

impl Command {
    pub(super) fn parse(line: &str) -> Command {
        let mut command = Command { line: line.to_owned(), ..Command::default() };
        let mut words = line.split_whitespace().peekable();
        command.background = words.next_if_eq(&"background").is_some();
        command.session = words.next_if(|word| word.ends_with(':')).map(|word| word.trim_end_matches(':').to_owned());
        command.name = words.next().unwrap_or_default().to_owned();
        for word in words {
            match word.split_once('=') {
                Some((name, value)) => drop(command.options.insert(name.to_owned(), value.to_owned())),
                None => command.words.push(word.to_owned()),
            }
        }
        command
    }

    /// The word at a place, or what is missing.
    pub(super) fn word(&self, at: usize, what: &str) -> Result<&str, String> {
        self.words.get(at).map(String::as_str).ok_or_else(|| format!("bad command: {what} is missing: {}", self.line))
    }

    /// The words together as the name of a step.
    pub(super) fn step(&self) -> Result<&'static str, String> {
        let name = self.words.join(" ");
        let known = all_steps().into_iter().find(|step| step.name() == name);
        known.map(|step| step.name()).ok_or_else(|| format!("bad command: there is no step {name:?}"))
    }

    /// A number among the options.
    pub(super) fn number<T: FromStr>(&self, name: &str, default: T) -> Result<T, String> {
        match self.options.get(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| format!("bad command: {name}={text} is no number")),
        }
    }

    /// The keys of `1-5,9`.
    pub(super) fn keys(&self, at: usize) -> Result<Vec<i64>, String> {
        let text = self.word(at, "the range of keys")?;
        let bad = |_| format!("bad command: {text} is no range of keys");
        let mut keys = Vec::new();
        for range in text.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            keys.extend(first.parse::<i64>().map_err(bad)?..=last.parse().map_err(bad)?);
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let command = Command::parse("background a: update t 1-3,9 value=3");
        assert!(command.background && command.session.as_deref() == Some("a") && command.name == "update");
        assert_eq!(command.keys(1), Ok(vec![1, 2, 3, 9]));
        assert_eq!(command.number("value", 0), Ok(3));
        assert_eq!(command.number("note", 5), Ok(5));
        let command = Command::parse("crash-at log: block written nth=2");
        assert_eq!((command.name.as_str(), command.words.join(" ")), ("crash-at", "log: block written".into()));
        assert_eq!(command.step(), Ok("log: block written"));
        assert!(command.keys(0).is_err() && command.word(3, "it").is_err());
    }
}
