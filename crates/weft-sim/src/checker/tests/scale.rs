//! Many transactions. WEFT_CHECKER_TXNS sets how many; the numbers are printed.

#![allow(clippy::disallowed_methods, reason = "measures the checker, not a database")]

use std::time::Instant;

use super::super::*;

#[test]
fn many_transactions_are_checked_in_seconds() {
    let transactions = std::env::var("WEFT_CHECKER_TXNS").ok().and_then(|count| count.parse().ok()).unwrap_or(30_000);
    for level in [Some(Level::Serializable), Some(Level::RepeatableRead), None] {
        let workload = Workload { clients: 16, ..Workload::default() };
        let reference = Reference { seed: 7, workload, level, flaw: Flaw::None, timestamps: true, transactions };
        let began = Instant::now();
        let history = reference.run();
        let ran = began.elapsed();
        let began = Instant::now();
        let report = check(&history, Rules::default()).unwrap();
        let checked = began.elapsed();
        println!("{level:?}: {} MB, ran {ran:?}, checked {checked:?}: {report}", history.bytes() >> 20);
        assert!(report.is_clean(), "{report}");
        assert!(checked.as_secs() < 60, "{transactions} transactions took {checked:?}");
    }
}
