//! What a campaign found, in numbers and scripts.

use std::collections::BTreeMap;
use std::fmt;

use weft_differ::compare::{Answer, Verdict};
use weft_differ::open::OPEN;

use crate::campaign::text;
use crate::weft_engines::Way;

/// How many scripts are shown of differences that are told in the same words.
const SHOWN: u64 = 2;
/// How many of those are told only as other rows, which may have many reasons.
const SHOWN_ROWS: u64 = 12;

/// A difference, made small.
pub(crate) struct Failure {
    pub(crate) what: String,
    pub(crate) way: Way,
    pub(crate) place: (u64, usize),
    pub(crate) statement: String,
    pub(crate) script: String,
    pub(crate) expected: Answer,
    pub(crate) found: Answer,
}

/// What was found.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) seconds: f64,
    pub(crate) failures: Vec<Failure>,
    statements: u64,
    answers: u64,
    equal: u64,
    errors: u64,
    slow: u64,
    /// How often for a reason, and where first.
    refused: BTreeMap<String, (u64, (u64, usize))>,
    explained: BTreeMap<&'static str, u64>,
    open: BTreeMap<&'static str, u64>,
    differs: BTreeMap<String, u64>,
    errors_expected: BTreeMap<String, u64>,
}

impl Report {
    /// Notes an answer to a statement of a seed.
    pub(crate) fn count(&mut self, way: Way, verdict: &Verdict, expected: &Answer, place: (u64, usize)) {
        if way == Way::Text {
            self.statements += 1;
            if let Answer::Error { code, message } = expected {
                let message = weft_differ::compare::summary(message);
                *self.errors_expected.entry(format!("{code} {message}")).or_default() += 1;
            }
        }
        self.answers += 1;
        match verdict {
            Verdict::Equal => self.equal += 1,
            Verdict::EqualError => self.errors += 1,
            Verdict::Slow => self.slow += 1,
            // A forced engine says so of what is not its own.
            Verdict::Refused(_) if way == Way::PointEngine => self.answers -= 1,
            Verdict::Refused(reason) => self.refused.entry(reason.clone()).or_insert((0, place)).0 += 1,
            // Where it belongs is seen later.
            Verdict::Differs(_) => {}
        }
    }

    /// Notes a difference that has a reason.
    pub(crate) fn count_explained(&mut self, name: &'static str) {
        *self.explained.entry(name).or_default() += 1;
    }

    /// Notes a difference of an open class.
    pub(crate) fn count_open(&mut self, name: &'static str) {
        *self.open.entry(name).or_default() += 1;
    }

    /// Notes a difference that is on no list; whether it ought to be shown.
    pub(crate) fn count_new(&mut self, what: &str) -> bool {
        let count = self.differs.entry(what.to_owned()).or_default();
        *count += 1;
        *count <= if what.starts_with("other rows") { SHOWN_ROWS } else { SHOWN }
    }

    /// The open classes of which nothing was met.
    pub(crate) fn never_met(&self) -> Vec<&'static str> {
        OPEN.iter().map(|open| open.name).filter(|name| !self.open.contains_key(name)).collect()
    }

    /// How many answers differ.
    pub(crate) fn differences(&self) -> u64 {
        self.differs.values().sum()
    }

    /// Whether nothing differs.
    pub(crate) fn is_clean(&self) -> bool {
        self.differs.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.failures {
            let (seed, number) = failure.place;
            writeln!(f, "---- {} (seed {seed}, statement {number}, {:?})", failure.what, failure.way)?;
            writeln!(f, "{}    PostgreSQL: {}", failure.script, text(&failure.expected))?;
            writeln!(f, "    Weft:       {}", text(&failure.found))?;
        }
        let per_second = self.statements as f64 / self.seconds.max(0.001);
        writeln!(
            f,
            "{} statements in {:.0} s ({per_second:.0}/s), {} answers:",
            self.statements, self.seconds, self.answers
        )?;
        let refused: u64 = self.refused.values().map(|(count, _)| count).sum();
        let explained: u64 = self.explained.values().sum();
        let open: u64 = self.open.values().sum();
        writeln!(
            f,
            "  equal {}, equal errors {}, refused {refused}, explained {explained}, open {open}, slow {}, different {}",
            self.equal,
            self.errors,
            self.slow,
            self.differences()
        )?;
        let shown =
            self.refused.iter().map(|(why, (count, (seed, number)))| (format!("{why} ({seed}:{number})"), *count));
        for (title, counts) in [
            ("refused", counts(&shown.collect())),
            ("explained", counts(&self.explained)),
            ("open", counts(&self.open)),
            ("errors of PostgreSQL", counts(&self.errors_expected)),
            ("different", counts(&self.differs)),
        ] {
            for (what, count) in counts {
                writeln!(f, "  {title}: {count:6} {what}")?;
            }
        }
        Ok(())
    }
}

fn counts<K: ToString>(of: &BTreeMap<K, u64>) -> Vec<(String, u64)> {
    let mut counts: Vec<(String, u64)> = of.iter().map(|(what, count)| (what.to_string(), *count)).collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}
