//! A log that is read while somebody writes and cuts it.

use super::*;
use crate::log::LogKeeper;
use crate::log::{LogReader, read_live_log, read_live_log_from};

/// The commits from where the reader is to what was announced.
fn commits(reader: &mut LogReader) -> Result<Vec<u64>> {
    let mut found = Vec::new();
    while let Some(entry) = reader.next()? {
        if let Record::Commit { ts, .. } = entry.record {
            found.push(ts.0);
        }
    }
    Ok(found)
}

#[test]
fn what_is_announced_is_read_and_no_more() {
    let simulation = simulation(6);
    run(&simulation, |env| {
        let log = open(&env);
        commit(&log, 1, 200).unwrap();
        let first = log.durable_lsn();
        commit(&log, 2, 200).unwrap();
        let mut reader = read_live_log(&env, &dir(), first).unwrap();
        assert_eq!(commits(&mut reader).unwrap(), [1]);
        // Over segments, and over an opening that begins one where the last one is empty.
        (3..=40).for_each(|ts| assert!(commit(&log, ts, 300).is_ok()));
        reader.advance(log.durable_lsn()).unwrap();
        assert_eq!(commits(&mut reader).unwrap(), (2..=40).collect::<Vec<_>>());
        let end = log.durable_lsn();
        drop(log);
        drop(open(&env));
        let log = open(&env);
        assert_eq!(log.durable_lsn(), end);
        reader.advance(end).unwrap();
        assert!(commits(&mut reader).unwrap().is_empty());
        commit(&log, 41, 10).unwrap();
        reader.advance(log.durable_lsn()).unwrap();
        assert_eq!(commits(&mut reader).unwrap(), [41]);
        assert_eq!(reader.position(), log.durable_lsn());
    });
}

#[test]
fn a_log_that_is_cut_while_it_is_read_is_gone_and_not_damaged() {
    let simulation = simulation(7);
    run(&simulation, |env| {
        let log = open(&env);
        commit(&log, 1, 200).unwrap();
        let mut readers = [0; 2].map(|_| read_live_log(&env, &dir(), log.durable_lsn()).unwrap());
        readers.iter_mut().for_each(|reader| assert_eq!(commits(reader).unwrap(), [1]));
        (2..=40).for_each(|ts| assert!(commit(&log, ts, 300).is_ok()));
        // One reader has its segment in memory when that and the next ones go, the other has not.
        readers[0].advance(log.durable_lsn()).unwrap();
        assert!(log.truncate_before(behind(38)).unwrap() > 2);
        assert_eq!(commits(&mut readers[0]).unwrap_err().code(), Code::UndefinedFile);
        assert_eq!(readers[1].advance(log.durable_lsn()).unwrap_err().code(), Code::UndefinedFile);
    });
}

/// Who has read a segment to its end looks there first whether it goes on: it stays for who needs what comes behind it.
#[test]
fn who_is_at_the_end_of_a_segment_reads_on_though_the_log_is_cut() {
    run(&simulation(11), |env| {
        let log = open(&env);
        commit(&log, 1, 200).unwrap();
        let mut reader = read_live_log(&env, &dir(), log.durable_lsn()).unwrap();
        let mut next = 1;
        for ts in 2..=60 {
            log.keep_from(LogKeeper::Nodes, Some(reader.position()));
            commit(&log, ts, 300).unwrap();
            log.truncate_before(behind(ts - 1)).unwrap();
            reader.advance(log.durable_lsn()).unwrap();
            assert_eq!(commits(&mut reader).unwrap(), (next..=ts).collect::<Vec<_>>());
            next = ts + 1;
        }
        assert!(log.followed_bytes() < 3 * 3000, "no more than that stays");
    });
}

/// One is put aside for who followed from there; the next is not needed by then, and has gone before the first one has.
#[test]
fn what_was_put_aside_may_outlive_what_lies_behind_it() {
    run(&simulation(9), |env| {
        for (is_cut, code) in [(true, Code::UndefinedFile), (false, Code::DataCorrupted)] {
            let log = open(&env);
            let ts = log.durable_lsn().0 + 1;
            (ts..ts + 40).for_each(|ts| assert!(commit(&log, ts, 300).is_ok()));
            log.keep_from(LogKeeper::Nodes, Some(Lsn(0)));
            if is_cut {
                assert!(log.truncate_before(behind(ts + 38)).unwrap() > 3);
            }
            let dir = if is_cut { dir().join("followed") } else { dir() };
            let mut names = env.fs.list(&dir).unwrap();
            names.retain(|name| name.starts_with("log-"));
            names.sort();
            let read = || read_live_log_from(&env, &super::dir(), log.durable_lsn(), Lsn(0)).unwrap();
            let begun = is_cut.then(read);
            env.fs.remove(&dir.join(&names[2])).unwrap();
            let error = commits(&mut begun.unwrap_or_else(read)).unwrap_err();
            assert_eq!(error.code(), code, "{error}");
            log.keep_from(LogKeeper::Nodes, None);
        }
    });
}

/// A crash may bring a segment back whose removal was not durable, when that of a younger one was. How it ends.
fn joins_behind_a_gap() -> RunEnd {
    simulation(10).run(|env| {
        let log = open(&env);
        (1..=40).for_each(|ts| assert!(commit(&log, ts, 300).is_ok()));
        log.keep_from(LogKeeper::Nodes, Some(Lsn(0)));
        assert!(log.truncate_before(behind(38)).unwrap() > 4);
        let aside = || {
            let mut names = env.fs.list(&dir().join("followed")).unwrap();
            names.sort();
            names
        };
        let names = aside();
        env.fs.remove(&dir().join("followed").join(&names[2])).unwrap();
        let mut reader = read_live_log_from(&env, &dir(), log.durable_lsn(), Lsn(0)).unwrap();
        let (name, before) = reader.begins().unwrap();
        assert_eq!(name, names[3], "behind the gap");
        assert_eq!(commits(&mut reader).unwrap(), (before.0 + 1..=40).collect::<Vec<_>>());
        drop(log);
        let log = open(&env);
        assert_eq!(aside(), names[3..], "the next opening removes what nobody can follow from");
        log.keep_from(LogKeeper::Nodes, Some(Lsn(0)));
        let first = segment_start(&names[3]).unwrap();
        assert!(log.followed_bytes() < log.durable_lsn().0 - first.0, "and counts it no more");
    })
}

#[test]
fn who_joins_begins_behind_the_last_gap_of_what_was_put_aside() {
    assert_eq!(joins_behind_a_gap(), RunEnd::Finished);
}

#[cfg(feature = "faults")]
#[test]
#[ignore = "plants faults for the whole process: `planted_faults_are_caught_apart` runs it"]
fn planted_faults_of_a_live_log_are_caught() {
    must_catch(crate::fault::Fault::FOLLOW_ACROSS_GAP, joins_behind_a_gap);
}

#[test]
fn a_block_that_was_announced_and_cannot_be_read_is_damage() {
    let simulation = simulation(8);
    run(&simulation, |env| {
        let log = open(&env);
        (1..=2).for_each(|ts| assert!(commit(&log, ts, 200).is_ok()));
        let at = layout::SEGMENT_HEADER_BYTES as u64 + log.durable_lsn().0 - 20;
        let path = dir().join(segment_name(Lsn(0)));
        env.fs.open(&path, OpenMode::ReadWrite).unwrap().write_at(&[0xff; 8], at).unwrap();
        let error = commits(&mut read_live_log(&env, &dir(), log.durable_lsn()).unwrap()).unwrap_err();
        assert_eq!(error.code(), Code::DataCorrupted, "{error}");
    });
}
