//! A file of `tests/anomalies`: what the anomaly is, the steps, and a transcript for each level.
//!
//! ```text
//!   # Lost update ...                                 comment
//!   create table test (id integer primary key, ...)   setup, a statement per line
//!   a: begin                                          steps; "await a" waits until a has its answer
//!
//!   ---- read committed                               transcripts; levels that do the same share one
//!   ---- repeatable read, serializable
//! ```
//!
//! 1. Text before the first `----` is never changed. A comment in a transcript belongs to the step after it, a
//!    `PostgreSQL:` line to the step before it; both stay with their step when the transcript is rewritten.

use std::collections::HashMap;

/// The levels, weakest first.
pub(crate) const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

const POSTGRES: &str = "PostgreSQL:";

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// A session is given a statement.
    Send { session: char, sql: String },
    /// The script waits until a session has answered.
    Await { session: char },
}

/// A file.
pub(crate) struct Script {
    head: String,
    pub(crate) setup: Vec<String>,
    pub(crate) steps: Vec<Step>,
    /// What people and PostgreSQL say of a level's steps.
    notes: HashMap<(String, usize), Notes>,
    transcripts: HashMap<String, Vec<Vec<String>>>,
}

#[derive(Clone, Default)]
struct Notes {
    comments: Vec<String>,
    postgres: Vec<String>,
}

impl Script {
    pub(crate) fn parse(text: &str) -> Result<Script, String> {
        let (head, rest) = text.split_once("\n----").unwrap_or((text, ""));
        let mut script = Script {
            head: head.trim_end().to_owned(),
            setup: Vec::new(),
            steps: Vec::new(),
            notes: HashMap::new(),
            transcripts: HashMap::new(),
        };
        for line in head.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match step(line) {
                Some(step) => script.steps.push(step),
                None if script.steps.is_empty() => script.setup.push(line.trim_end_matches(';').to_owned()),
                None => return Err(format!("{line:?} is neither \"session: statement\" nor \"await session\"")),
            }
        }
        for section in rest.split("\n----").filter(|section| !section.is_empty()) {
            let (levels, body) = section.split_once('\n').unwrap_or((section, ""));
            let notes = script.section(body);
            for level in levels.split(',').map(str::trim) {
                if !LEVELS.contains(&level) {
                    return Err(format!("{level:?} is no isolation level"));
                }
                script.notes.extend(notes.iter().map(|(at, notes)| ((level.to_owned(), *at), notes.clone())));
            }
        }
        Ok(script)
    }

    /// The notes of a transcript, by step. Steps that are gone lose theirs.
    fn section(&self, body: &str) -> HashMap<usize, Notes> {
        let (mut notes, mut comments, mut last) = (HashMap::<usize, Notes>::new(), Vec::new(), None);
        let mut next = 0;
        for line in body.lines() {
            if line.starts_with('#') {
                comments.push(line.to_owned());
            } else if let Some(found) = step(line) {
                last = (next..self.steps.len()).find(|&at| self.steps[at] == found);
                if let Some(at) = last {
                    next = at + 1;
                    notes.entry(at).or_default().comments.append(&mut comments);
                }
            } else if let (Some(at), true) = (last, line.trim_start().starts_with(POSTGRES)) {
                notes.entry(at).or_default().postgres.push(line.trim_start().to_owned());
            }
        }
        if !comments.is_empty() {
            notes.entry(self.steps.len()).or_default().comments = comments;
        }
        notes
    }

    /// What a level's steps printed.
    pub(crate) fn set_transcript(&mut self, level: &str, outcomes: Vec<Vec<String>>) {
        assert_eq!(outcomes.len(), self.steps.len(), "each step has an outcome");
        self.transcripts.insert(level.to_owned(), outcomes);
    }

    /// The file as it should be.
    pub(crate) fn render(&self) -> String {
        let mut sections: Vec<(Vec<&str>, String)> = Vec::new();
        for level in LEVELS {
            let body = self.body(level);
            match sections.last_mut() {
                Some((levels, before)) if *before == body => levels.push(level),
                _ => sections.push((vec![level], body)),
            }
        }
        let mut text = format!("{}\n", self.head);
        for (levels, body) in sections {
            text.push_str(&format!("\n---- {}\n{body}", levels.join(", ")));
        }
        text
    }

    fn body(&self, level: &str) -> String {
        let mut lines = Vec::new();
        let none = Notes::default();
        let notes = |at: usize| self.notes.get(&(level.to_owned(), at)).unwrap_or(&none);
        for (at, (step, outcome)) in self.steps.iter().zip(&self.transcripts[level]).enumerate() {
            lines.extend(notes(at).comments.iter().cloned());
            lines.push(match step {
                Step::Send { session, sql } => format!("{session}: {sql}"),
                Step::Await { session } => format!("await {session}"),
            });
            lines.extend(outcome.iter().chain(&notes(at).postgres).map(|line| format!("  {line}")));
        }
        lines.extend(notes(self.steps.len()).comments.iter().cloned());
        lines.into_iter().map(|line| line + "\n").collect()
    }
}

fn step(line: &str) -> Option<Step> {
    let session = |text: &str| {
        let mut letters = text.chars();
        letters.next().filter(|letter| letter.is_ascii_lowercase() && letters.next().is_none())
    };
    if let Some(name) = line.strip_prefix("await ") {
        return Some(Step::Await { session: session(name)? });
    }
    let (name, sql) = line.split_once(": ")?;
    Some(Step::Send { session: session(name)?, sql: sql.to_owned() })
}
