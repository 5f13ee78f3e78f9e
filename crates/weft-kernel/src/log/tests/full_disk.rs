//! A full disk: commits fail cleanly, and go on when space is back.

use super::*;

#[test]
fn a_failed_commit_is_gone_and_later_ones_succeed() {
    for seed in 0..30 {
        let simulation = Arc::new(simulation(seed));
        let outer = simulation.clone();
        run(&simulation, move |env| {
            let log = open(&env);
            let mut wanted = Vec::new();
            let mut failed = 0;
            for ts in 1..=60 {
                match ts % 20 {
                    5 => outer.faults().fill_disk(),
                    12 => outer.faults().set_capacity(None),
                    _ => {}
                }
                let length = 100 + (seed as usize * 97 + ts as usize * 61) % 3000;
                let record = Owned::Commit(ts, ts, payload(ts, length));
                match log.append_waited(&record.record()).and_then(|ticket| log.wait_durable(ticket)) {
                    Ok(_) => wanted.push(record),
                    Err(error) => {
                        assert_eq!(error.code(), Code::DiskFull, "{error}");
                        assert!(!(12..20).contains(&(ts % 20)), "space is back");
                        failed += 1;
                    }
                }
            }
            assert!(failed > 3, "the disk was full: {failed}");
            assert!(log.poisoned().is_none());
            assert_eq!(read_all(&env).unwrap().0, wanted);
        });
        simulation.power_off();
        let records = run(&simulation, |env| read_all(&env).unwrap().0);
        assert!(records.last().is_some());
    }
}

#[test]
fn kept_records_wait_for_space_and_waited_ones_do_not() {
    let simulation = Arc::new(simulation(2));
    let outer = simulation.clone();
    run(&simulation, move |env| {
        let log = open(&env);
        commit(&log, 1, 10).unwrap();
        outer.faults().fill_disk();
        let big = 20_000;
        let chunk = Owned::Chunk(7, payload(7, big));
        log.append(&chunk.record()).unwrap();
        let dropped = Owned::Commit(7, 2, payload(2, 10));
        let ticket = log.append_waited(&dropped.record()).unwrap();
        let kept = Owned::Commit(8, 3, payload(3, 10));
        log.append(&kept.record()).unwrap();
        assert_eq!(log.wait_durable(ticket).unwrap_err().code(), Code::DiskFull);
        assert_eq!(log.flush().unwrap_err().code(), Code::DiskFull);
        let abort = Owned::Abort(7);
        log.append(&abort.record()).unwrap();
        assert_eq!(read_all(&env).unwrap().0.len(), 1);
        outer.faults().set_capacity(None);
        log.flush().unwrap();
        let (records, _) = read_all(&env).unwrap();
        assert_eq!(records[1..], [chunk, kept, abort]);
        assert_eq!(log.pending_bytes(), 0);
    });
}

#[test]
fn opening_on_a_full_disk_works_and_writing_waits_for_space() {
    let simulation = Arc::new(simulation(2));
    run(&simulation, |env| {
        commit(&open(&env), 1, 10).unwrap();
    });
    let outer = simulation.clone();
    run(&simulation, move |env| {
        outer.faults().fill_disk();
        let log = open(&env);
        assert_eq!(commit(&log, 2, 10).unwrap_err().code(), Code::DiskFull);
        outer.faults().set_capacity(None);
        commit(&log, 3, 10).unwrap();
        assert_eq!(read_all(&env).unwrap().0.len(), 2);
    });
}
