//! The check, step by step.
//!
//! ```text
//!   history ─ facts ─ versions ─ reads ─┬─ realtime ─┐
//!             (who wrote what)          └─ graph ─ cycles ─▶ report
//! ```

use super::anomaly::{Report, Rules};
use super::cycles::Cycles;
use super::facts::Facts;
use super::graph::Graph;
use super::history::History;
use super::reads::Observer;
use super::realtime;
use super::versions::Versions;

/// Finds the anomalies of a history. An error when the history cannot be judged because a value was written twice to
/// one list or register.
pub fn check(history: &History, rules: Rules) -> Result<Report, String> {
    let mut report = Report::default();
    let mut facts = Facts::new(history)?;
    let versions = Versions::recover(&mut facts, &mut report);
    let reads = Observer::observe(&facts, &versions, &mut report);
    if rules.real_time {
        realtime::check(&facts, &versions, &reads, &mut report);
    }
    let graph = Graph::build(&facts, &versions, &reads);
    report.committed = facts.committed.iter().filter(|committed| **committed).count() as u64;
    report.edges = graph.len() as u64;
    Cycles::check(&facts, &graph, rules, &mut report);
    Ok(report)
}
