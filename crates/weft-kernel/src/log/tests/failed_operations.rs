//! Operations that fail, one or two in a row: the log goes on, or says that it cannot, and opens again with all that
//! was acknowledged.

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
            let _ = log.truncate_before(behind(cut));
        }
    }
    (acknowledged, cut)
}

#[test]
fn any_two_operations_in_a_row_may_fail() {
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
        failing(nth, 1);
        failing(nth, 2);
    }
}

/// A life in which so many operations fail from the `nth` on.
fn failing(nth: u64, count: u64) {
    let what: Arc<str> = format!("{count} from operation {nth} on").into();
    let simulation = Arc::new(simulation(3));
    let (outer, told) = (Arc::clone(&simulation), Arc::clone(&what));
    let (mut acknowledged, cut) = run(&simulation, move |env| {
        let log = open(&env);
        (nth..nth + count).for_each(|nth| outer.faults().fail_operation(nth));
        let worked = work(&log);
        outer.faults().clear();
        if log.poisoned().is_none() {
            commit(&log, 31, 500).unwrap_or_else(|error| panic!("{told}: {error}"));
            log.truncate_before(behind(worked.1)).unwrap_or_else(|error| panic!("{told}: {error}"));
            assert_eq!(log.check().unwrap(), Vec::<String>::new(), "{told}");
        }
        worked
    });
    if nth.is_multiple_of(2) {
        simulation.power_off();
    }
    acknowledged.retain(|&ts| ts > cut);
    run(&simulation, move |env| {
        let (records, _) = read_all(&env).unwrap_or_else(|error| panic!("{what}: {error}"));
        for ts in acknowledged {
            assert!(records.contains(&Owned::Commit(ts, ts, payload(ts, 500))), "{what}: commit {ts}");
        }
        commit(&open(&env), 40, 500).unwrap();
    });
}

#[test]
fn a_removal_that_failed_may_have_had_its_effect() {
    let simulation = simulation(3);
    run(&simulation, |env| {
        let log = open(&env);
        (1..=20).for_each(|ts| assert!(commit(&log, ts, 500).is_ok(), "commit {ts}"));
        env.fs.remove(&dir().join(segment_name(Lsn(0)))).unwrap();
        assert!(log.truncate_before(behind(9)).unwrap() > 1, "the others go, too");
        let (records, _) = read_all(&env).unwrap();
        assert!(records.contains(&Owned::Commit(10, 10, payload(10, 500))));
        assert_eq!(log.check().unwrap(), Vec::<String>::new());
    });
}
