//! How old what a session reads may be, on a node that follows.
//!
//! ```text
//!   SET freshness = 'none'          what the node has
//!   SET freshness = 'own writes'    the commit that freshness_token names; without one everything, as latest does
//!   SET freshness = 'latest'        everything that was acknowledged anywhere before the statement began
//!   SET freshness = '50 ms'         everything that was acknowledged 50 ms before it began
//!   SET freshness_token = '1042'    the commit 1042, which weft_last_commit() told on the writer
//! ```
//!
//! 1. A statement that is to see something waits for it before its snapshot is taken, and fails when
//!    `freshness_timeout` has passed: it never answers from what is older.
//! 2. A node does not know what its client has written elsewhere. So own writes are what the token names, and without a
//!    token all that anybody has: never less than what was asked for.
//! 3. Who reads on the writer waits for nothing: there everything is, unless another has taken its place. So who asks
//!    for the latest, or for a commit that is not there, is told so; other reads are not fenced.

use std::time::Duration;

use weft_format::{Code, Error, Result, Timestamp};
use weft_kernel::{CancelToken, Engine};
use weft_replica::{Company, Waited};

use crate::configuration::{parse_ms, print_ms};

/// What a session wants to see at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Everything that was acknowledged so many milliseconds ago; none: it does not matter.
    pub within_ms: Option<u64>,
    /// What its client has written, on whichever connection (freshness 2).
    pub own_writes: bool,
    /// This commit; 0: none.
    pub token: u64,
    /// How long a statement waits for that, milliseconds.
    pub timeout_ms: u64,
}

impl Default for Freshness {
    fn default() -> Freshness {
        Freshness { within_ms: None, own_writes: false, token: 0, timeout_ms: 10_000 }
    }
}

/// What one of its settings may be.
pub(crate) fn allowed(name: &str) -> &'static str {
    match name {
        "freshness_token" => "the number of a commit, as weft_last_commit() tells it, or nothing",
        "freshness_timeout" => "milliseconds, or a number with ms, s, min or h",
        _ => "none, own writes, latest, milliseconds, or a number with ms, s, min or h",
    }
}

impl Freshness {
    /// The value of one of its settings.
    pub(crate) fn get(&self, name: &str) -> String {
        match (name, self.within_ms) {
            ("freshness_token", _) => self.token.to_string(),
            ("freshness_timeout", _) => print_ms(self.timeout_ms),
            (_, None) if self.own_writes => "own writes".into(),
            (_, None) => "none".into(),
            (_, Some(0)) => "latest".into(),
            (_, Some(ms)) => print_ms(ms),
        }
    }

    /// Sets one of them; none: the value is not allowed.
    pub(crate) fn set(&mut self, name: &str, word: &str) -> Option<()> {
        match name {
            "freshness_token" => self.token = if word.is_empty() { 0 } else { word.parse().ok()? },
            "freshness_timeout" => self.timeout_ms = parse_ms(word)?,
            _ => {
                self.within_ms = match word {
                    "none" | "own writes" => None,
                    "latest" => Some(0),
                    _ => Some(parse_ms(word)?),
                };
                self.own_writes = word == "own writes";
            }
        }
        Some(())
    }

    /// How old what is read may be, beside the token.
    fn within(&self) -> Option<u64> {
        if self.own_writes && self.token == 0 { Some(0) } else { self.within_ms }
    }

    /// Waits until an engine shows what is wanted (freshness 1).
    pub(crate) fn wait(&self, engine: &Engine, cancel: &CancelToken) -> Result<()> {
        let Some(company) = Company::of(engine).filter(|_| engine.is_follower()) else {
            let asks = self.within_ms.is_some() || self.token > engine.published().0;
            return if asks { engine.check_directory() } else { Ok(()) };
        };
        let limit = Duration::from_millis(self.timeout_ms);
        if self.token > engine.published().0 {
            let waited = company.wait_for(Timestamp(self.token), limit, Some(cancel))?;
            met(waited, company, self.timeout_ms, || format!("commit {}", self.token))?;
        }
        let Some(within_ms) = self.within() else { return Ok(()) };
        let waited = company.wait_within(Duration::from_millis(within_ms), limit, Some(cancel))?;
        met(waited, company, self.timeout_ms, || match within_ms {
            0 => "what was committed by now".to_owned(),
            ms => format!("what was committed {ms} ms ago"),
        })
    }
}

/// An error that names both positions when the time ran out.
pub(crate) fn met(waited: Waited, company: &Company, limit_ms: u64, what: impl FnOnce() -> String) -> Result<()> {
    if waited == Waited::Shown {
        return Ok(());
    }
    let place = company.standing().map_or_else(
        || "it follows no more".to_owned(),
        |node| {
            let (shown, last) = (node.published, node.last);
            let heard =
                node.writer_heard.map_or_else(|| "never".into(), |heard| format!("{} ms ago", heard.as_millis()));
            format!(
                "it is {} and shows commit {shown}, the writer was heard of {heard} at commit {last}",
                node.phase.name()
            )
        },
    );
    let message = format!("this node does not show {} within {limit_ms} ms: {place}", what());
    Err(Error::new(Code::QueryCanceled, message).hint("run it again, ask the writer, or raise freshness_timeout"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_told() {
        let mut wanted = Freshness::default();
        let names = ["freshness", "freshness_token", "freshness_timeout"];
        let texts = |wanted: &Freshness| names.map(|name| wanted.get(name));
        assert_eq!(texts(&wanted), ["none", "0", "10s"]);
        for (name, value) in [("freshness", "50 ms"), ("freshness_token", "1042"), ("freshness_timeout", "1s")] {
            wanted.set(name, value).unwrap();
        }
        assert_eq!((texts(&wanted), wanted.within_ms), (["50ms", "1042", "1s"].map(String::from), Some(50)));
        wanted.set("freshness", "latest").unwrap();
        assert_eq!((wanted.get("freshness"), wanted.within_ms), ("latest".into(), Some(0)));
        wanted.set("freshness", "own writes").unwrap();
        assert_eq!((texts(&wanted), wanted.within()), (["own writes", "1042", "1s"].map(String::from), None));
        wanted.set("freshness_token", "").unwrap();
        assert_eq!((texts(&wanted), wanted.within()), (["own writes", "0", "1s"].map(String::from), Some(0)));
        wanted.set("freshness", "none").unwrap();
        assert_eq!((texts(&wanted), wanted.within()), (["none", "0", "1s"].map(String::from), None));
        for (name, value) in [("freshness", "soon"), ("freshness_token", "x"), ("freshness_timeout", "long")] {
            assert!(wanted.set(name, value).is_none(), "{name} = {value}");
        }
    }
}
