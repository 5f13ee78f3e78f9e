//! Functions that look for patterns in texts: POSIX regular expressions, SIMILAR TO and LIKE (PostgreSQL 9.7).
//!
//! ```text
//!   pattern ──are──▶ tree ──program──▶ states ──sweep──▶ where a match ends ──dissect──▶ what its groups took
//!                      └──compiled──▶ regex crate ──▶ whether there is a match, and where the leftmost begins
//!
//!   regexp_match('abcd', '(a|ab)(c|bcd)')     {a,bcd}
//! ```
//!
//! 1. Every pattern is run in time by the text and the pattern; so back references and lookaround are refused.

mod are;
mod brackets;
mod calls;
mod charset;
mod compiled;
mod counted;
mod dissect;
mod matcher;
mod options;
mod program;
mod replace;
mod similar;
mod sweep;
mod tokens;

pub(super) use calls::{ROWS, quantified};
pub(super) use matcher::{Matcher, MatcherOptions};

#[cfg(test)]
mod tests;
