//! Operations that fail once: the log goes on, or says that it cannot, and opens again with all that was acknowledged.

use super::*;

/// Commits and truncates; the timestamps of what was acknowledged, and the last cut.
fn work(log: &Log) -> (Vec<u64>, u64) {
    let (mut acknowledged, mut cut) = (Vec::new(), 0);
    for ts in 1..=30 {
        if commit(log, ts, 500).is_ok() {
            acknowledged.push(ts);
        }
        if ts % 4 == 0 {
            cut = ts - 3;
            // What could not be removed now may be removed later.
            let _ = log.truncate_before(Timestamp(cut));
        }
    }
    (acknowledged, cut)
}

#[test]
fn any_operation_may_fail_once() {
    let operations = {
        let simulation = Arc::new(simulation(3));
        let outer = Arc::clone(&simulation);
        run(&simulation, move |env| {
            let log = open(&env);
            let before = outer.operation_count();
            assert_eq!(work(&log).0.len(), 30);
            outer.operation_count() - before
        })
    };
    assert!(operations > 60, "{operations} operations");
    for nth in 1..=operations {
        let simulation = Arc::new(simulation(3));
        let outer = Arc::clone(&simulation);
        let (mut acknowledged, cut) = run(&simulation, move |env| {
            let log = open(&env);
            outer.faults().fail_operation(nth);
            let worked = work(&log);
            outer.faults().clear();
            if log.poisoned().is_none() {
                commit(&log, 31, 500).unwrap();
                log.truncate_before(Timestamp(worked.1)).unwrap();
                assert_eq!(log.check().unwrap(), Vec::<String>::new(), "operation {nth}");
            }
            worked
        });
        if nth % 2 == 0 {
            simulation.power_off();
        }
        acknowledged.retain(|&ts| ts > cut);
        run(&simulation, move |env| {
            let (records, _) = read_all(&env).unwrap_or_else(|error| panic!("operation {nth}: {error}"));
            for ts in acknowledged {
                let wanted = Owned::Commit(ts, ts, payload(ts, 500));
                assert!(records.contains(&wanted), "operation {nth}: commit {ts}");
            }
            commit(&open(&env), 40, 500).unwrap();
        });
    }
}
