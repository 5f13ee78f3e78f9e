//! Numbers of records: each has its own, they ascend, and the log goes before the page.

use super::layout::{BlockHeader, SegmentHeader};
use super::*;

/// The numbers in the log, in its order.
fn numbers(env: &Env) -> Vec<u64> {
    let mut reader = read_log(env, &dir()).unwrap();
    let mut numbers = Vec::new();
    while let Some(entry) = reader.next().unwrap() {
        numbers.push(entry.number.0);
    }
    assert_eq!(reader.finish().last_number.0, numbers.last().copied().unwrap_or(0));
    numbers
}

#[test]
fn numbers_go_on_over_segments_and_openings() {
    let simulation = simulation(1);
    run(&simulation, |env| {
        let mut last = 0;
        for opening in 0..4_u64 {
            let log = open(&env);
            for i in 1..=30 {
                let given = log.append(&Owned::Chunk(i, payload(i, 50)).record()).unwrap();
                assert_eq!(given, RecordNo(last + 1));
                let ts = opening * 30 + i;
                let ticket = log.append_waited(&Owned::Commit(i, ts, payload(ts, 300)).record()).unwrap();
                assert_eq!(ticket.number(), RecordNo(last + 2));
                log.wait_durable(ticket).unwrap();
                last += 2;
            }
            assert_eq!(numbers(&env), (1..=last).collect::<Vec<_>>());
        }
        // Of a log that was cut to nothing, the header of its only segment knows where numbers go on.
        let log = open(&env);
        log.truncate_before(behind(120)).unwrap();
        drop(log);
        let (records, end) = read_all(&env).unwrap();
        assert_eq!((records.len(), end.last_number), (0, RecordNo(last)));
        let log = open(&env);
        assert_eq!(log.append(&Owned::Abort(1).record()).unwrap(), RecordNo(last + 1));
    });
}

#[test]
fn what_a_full_disk_takes_leaves_its_number_unused() {
    let simulation = Arc::new(simulation(2));
    let outer = simulation.clone();
    run(&simulation, move |env| {
        let log = open(&env);
        commit(&log, 1, 10).unwrap();
        outer.faults().fill_disk();
        let chunk = log.append(&Owned::Chunk(7, payload(7, 20_000)).record()).unwrap();
        let dropped = log.append_waited(&Owned::Commit(7, 2, payload(2, 10)).record()).unwrap();
        let kept = log.append(&Owned::Commit(8, 3, payload(3, 10)).record()).unwrap();
        assert_eq!([chunk, dropped.number(), kept], [2, 3, 4].map(RecordNo));
        assert_eq!(log.wait_durable(dropped).unwrap_err().code(), Code::DiskFull);
        // It is at the front of the next batch, and not on disk: a page with this number must wait.
        assert_eq!(log.flush_to(chunk).unwrap_err().code(), Code::DiskFull);
        outer.faults().set_capacity(None);
        assert_eq!(log.append(&Owned::Abort(7).record()).unwrap(), RecordNo(5));
        log.flush_to(chunk).unwrap();
        assert_eq!(numbers(&env), [1, 2, 4, 5]);
    });
}

/// What is on disk after the power went when a page with the number of a record could have been written.
pub(super) fn page_behind_log(seed: u64) -> std::result::Result<(), String> {
    let simulation = simulation(seed);
    let number = run(&simulation, |env| {
        let log = open(&env);
        commit(&log, 1, 10).unwrap();
        let number = log.append(&Owned::Chunk(5, payload(5, 100)).record()).unwrap();
        log.flush_to(number).unwrap();
        number
    });
    simulation.power_off();
    let found = run(&simulation, |env| numbers(&env));
    if found.contains(&number.0) { Ok(()) } else { Err(format!("record {number} is not among {found:?}, seed {seed}")) }
}

#[test]
fn the_log_goes_before_the_page() {
    (0..20).try_for_each(page_behind_log).unwrap();
    // What is on disk is not waited for.
    let simulation = simulation(1);
    run(&simulation, |env| {
        let log = open(&env);
        commit(&log, 1, 10).unwrap();
        let blocks = log.counters().blocks;
        log.append(&Owned::Chunk(5, payload(5, 100)).record()).unwrap();
        log.flush_to(RecordNo(1)).unwrap();
        assert_eq!(log.counters().blocks, blocks);
        log.flush_to(RecordNo(2)).unwrap();
        assert_eq!(log.counters().blocks, blocks + 1);
    });
}

#[test]
fn a_number_out_of_order_is_damage() {
    let simulation = simulation(3);
    run(&simulation, |env| {
        let log = open(&env);
        (1..=3).for_each(|ts| assert!(commit(&log, ts, 8).is_ok()));
        drop(log);
        let path = dir().join(segment_name(Lsn(0)));
        let file = env.fs.open(&path, OpenMode::ReadWrite).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        let header = SegmentHeader::decode(&bytes, "log").unwrap();
        let (mut at, mut lsn) = (layout::SEGMENT_HEADER_BYTES, Lsn(0));
        // The third block gets the number of the second, with a checksum that fits.
        for number in [1_u64, 2, 2] {
            let block = BlockHeader::decode(&bytes[at..], &header, lsn).expect("three blocks");
            let size = layout::block_bytes(block.payload_bytes as usize);
            let place = at + layout::BLOCK_HEADER_BYTES + 1;
            bytes[place..place + 8].copy_from_slice(&number.to_le_bytes());
            block.encode(header.salt, &mut bytes[at..at + size]);
            (at, lsn) = (at + size, Lsn(lsn.0 + size as u64));
        }
        file.write_at(&bytes, 0).unwrap();
        let error = read_all(&env).unwrap_err();
        assert_eq!(error.code(), Code::DataCorrupted);
        assert!(error.message().contains("record 2 follows record 2"), "{error}");
    });
}
