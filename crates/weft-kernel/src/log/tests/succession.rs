//! Openings that come after each other while the one before goes on: what is late is nobody's, and harms nobody.

use super::*;
#[cfg(feature = "faults")]
use crate::fault::Fault;
use crate::log::read_live_log;

fn names(env: &Env) -> Vec<String> {
    let names = env.fs.list(&dir()).unwrap();
    names.into_iter().filter(|name| name.starts_with("log-")).collect()
}

/// The first segment of an epoch.
fn first_of(env: &Env, epoch: u32) -> PathBuf {
    let name = names(env).into_iter().find(|name| name.ends_with(&format!("-{epoch:08x}")));
    dir().join(name.expect("the epoch has begun"))
}

fn timestamps(records: &[Owned]) -> Vec<u64> {
    records.iter().filter_map(|record| if let Owned::Commit(_, ts, _) = record { Some(*ts) } else { None }).collect()
}

/// An empty segment lies where an opening begins that was put off; it would be missed once its successor has gone.
fn put_off() -> RunEnd {
    let simulation = Arc::new(simulation(3));
    let outer = simulation.clone();
    simulation.run(move |env| {
        commit(&open(&env), 1, 10).unwrap();
        drop(open(&env));
        outer.faults().fill_disk();
        let log = open(&env);
        assert_eq!(commit(&log, 2, 10).unwrap_err().code(), Code::DiskFull);
        outer.faults().set_capacity(None);
        (2..=40).for_each(|ts| assert!(commit(&log, ts, 300).is_ok()));
        assert!(names(&env).iter().all(|name| !name.ends_with("-00000002")), "{:?}", names(&env));
        assert!(log.truncate_before(behind(38)).unwrap() > 3);
        drop(log);
        let log = open(&env);
        commit(&log, 41, 10).unwrap();
        assert_eq!(timestamps(&read_all(&env).unwrap().0).last(), Some(&41));
    })
}

#[test]
fn an_opening_that_was_put_off_leaves_no_empty_segment() {
    assert_eq!(put_off(), RunEnd::Finished);
}

/// A segment of the second opening gets its name, and perhaps a block, after the third has cut those of its place.
fn comes_late_at_the_front() -> RunEnd {
    simulation(4).run(|env| {
        for has_block in [false, true] {
            let log = open(&env);
            let ts = log.durable_lsn().0 + 1;
            commit(&log, ts, 300).unwrap();
            let end = log.durable_lsn();
            let mut follower = read_live_log(&env, &dir(), end).unwrap();
            while follower.next().unwrap().is_some() {}
            drop(log);
            let late = open(&env);
            let path = first_of(&env, read_all(&env).unwrap().1.epoch);
            commit(&late, ts + 1, 200).unwrap();
            let file = env.fs.open(&path, OpenMode::ReadWrite).unwrap();
            let mut bytes = vec![0; file.len().unwrap() as usize];
            file.read_exact_at(&mut bytes, 0).unwrap();
            file.write_at(&vec![0; bytes.len() - layout::SEGMENT_HEADER_BYTES], layout::SEGMENT_HEADER_BYTES as u64)
                .unwrap();
            if !has_block {
                bytes.truncate(layout::SEGMENT_HEADER_BYTES);
            }
            let log = open(&env);
            assert_eq!(log.durable_lsn(), end, "nothing of it was there");
            (ts + 2..ts + 40).for_each(|ts| assert!(commit(&log, ts, 300).is_ok()));
            assert!(log.truncate_before(behind(ts + 35)).unwrap() > 3);
            env.fs.open(&path, OpenMode::CreateNew).unwrap().write_at(&bytes, 0).unwrap();
            let durable = log.durable_lsn();
            let gone = follower.advance(durable).and_then(|()| follower.next().map(|entry| entry.is_some()));
            assert_eq!(gone.unwrap_err().code(), Code::UndefinedFile, "a follower joins anew");
            let mut joined = read_live_log(&env, &dir(), durable).unwrap();
            while joined.next().unwrap().is_some() {}
            drop(log);
            let found = timestamps(&read_all(&env).unwrap().0);
            assert!(!found.contains(&(ts + 1)) && found.last() == Some(&(ts + 39)), "{found:?}");
            commit(&open(&env), ts + 50, 10).unwrap();
            assert!(!env.fs.exists(&path).unwrap(), "{:?}", names(&env));
        }
    })
}

#[test]
fn a_segment_that_comes_late_at_the_front_is_none() {
    assert_eq!(comes_late_at_the_front(), RunEnd::Finished);
}

/// An opening writes nothing, and what lies before is cut; the next one takes its place and knows as much of the log.
#[test]
fn a_late_segment_is_told_from_the_log_of_an_opening_that_wrote_nothing() {
    run(&simulation(9), |env| {
        commit(&open(&env), 1, 300).unwrap();
        let late = open(&env);
        let path = first_of(&env, 2);
        let mut bytes = vec![0; layout::SEGMENT_HEADER_BYTES];
        env.fs.open(&path, OpenMode::Read).unwrap().read_exact_at(&mut bytes, 0).unwrap();
        drop(late);
        let log = open(&env);
        (3..40).for_each(|ts| assert!(commit(&log, ts, 300).is_ok()));
        drop(log);
        let idle = open(&env);
        assert!(idle.truncate_before(behind(40)).unwrap() > 0);
        drop(idle);
        drop(open(&env));
        assert_eq!(names(&env).len(), 1, "{:?}", names(&env));
        env.fs.open(&path, OpenMode::CreateNew).unwrap().write_at(&bytes, 0).unwrap();
        assert_eq!(timestamps(&read_all(&env).unwrap().0), [0; 0]);
        commit(&open(&env), 50, 10).unwrap();
        assert!(!env.fs.exists(&path).unwrap(), "{:?}", names(&env));
    });
}

/// The second opening has read the log when the first one's block comes, which the third finds; the second's segment
/// comes after that, at a place within the log.
#[test]
fn a_segment_that_comes_late_in_the_middle_is_none() {
    run(&simulation(5), |env| {
        let first = open(&env);
        commit(&first, 1, 100).unwrap();
        let (_, found) = read_all(&env).unwrap();
        commit(&first, 2, 100).unwrap();
        // Its epoch is two further: it has taken the directory after the second.
        let (_, mut end) = read_all(&env).unwrap();
        end.epoch += 1;
        let third = Log::create_or_continue(&env, &dir(), OPTIONS, end).unwrap();
        commit(&third, 3, 100).unwrap();
        let second = Log::create_or_continue(&env, &dir(), OPTIONS, found).unwrap();
        assert!(env.fs.exists(&first_of(&env, 2)).unwrap() && second.durable_lsn() < third.durable_lsn());
        assert_eq!(timestamps(&read_all(&env).unwrap().0), [1, 2, 3]);
        commit(&third, 4, 100).unwrap();
        drop((first, second, third));
        let log = open(&env);
        commit(&log, 5, 100).unwrap();
        assert_eq!(timestamps(&read_all(&env).unwrap().0), [1, 2, 3, 4, 5]);
        assert!(names(&env).iter().all(|name| !name.ends_with("-00000002")), "{:?}", names(&env));
        assert!(log.truncate_before(behind(4)).unwrap() > 0);
        assert_eq!(log.check().unwrap(), Vec::<String>::new());
    });
}

/// A segment that is missed is no late one.
#[test]
fn a_first_segment_of_an_epoch_that_is_missing_is_missed() {
    run(&simulation(6), |env| {
        let log = open(&env);
        (1..=3).for_each(|ts| assert!(commit(&log, ts, 100).is_ok()));
        drop(log);
        let log = open(&env);
        (4..=30).for_each(|ts| assert!(commit(&log, ts, 300).is_ok()));
        env.fs.remove(&first_of(&env, 2)).unwrap();
        assert_eq!(read_all(&env).unwrap_err().code(), Code::DataCorrupted);
    });
}

/// Who has lost the directory, and was stopped in the midst of a commit, writes its block into a file that its
/// successor does not need any more.
fn writes_late() -> RunEnd {
    simulation(7).run(|env| {
        let late = open(&env);
        commit(&late, 1, 1200).unwrap();
        let log = open(&env);
        (2..=8).for_each(|ts| assert!(commit(&log, ts, 300).is_ok()));
        assert!(log.truncate_before(behind(1)).unwrap() > 0);
        (9..=40).for_each(|ts| assert!(commit(&log, ts, 300).is_ok()));
        commit(&late, 2, 300).unwrap();
        assert_eq!(log.check().unwrap(), Vec::<String>::new());
        assert_eq!(timestamps(&read_all(&env).unwrap().0), (2..=40).collect::<Vec<_>>());
    })
}

#[test]
fn a_block_that_comes_late_is_in_no_segment_of_the_successor() {
    assert_eq!(writes_late(), RunEnd::Finished);
}

/// What an opening that was overtaken removes of segments under construction is not its successor's.
#[test]
fn temporary_segments_of_a_later_epoch_stay() {
    run(&simulation(8), |env| {
        commit(&open(&env), 1, 10).unwrap();
        let later = [dir().join("log-0000000000004000-00000003.tmp"), dir().join("log-0000000000004000-00000001.tmp")];
        later.iter().for_each(|path| drop(env.fs.open(path, OpenMode::CreateNew).unwrap()));
        super::super::writer::remove_temporary(&env, &dir(), 2, || Ok(())).unwrap();
        assert_eq!(later.map(|path| env.fs.exists(&path).unwrap()), [true, false]);
    });
}

#[cfg(feature = "faults")]
#[test]
#[ignore = "plants faults for the whole process: `planted_faults_are_caught_apart` runs it"]
fn planted_faults_are_caught() {
    let faults: [(Fault, fn() -> RunEnd); 3] = [
        (Fault::LEAVE_EMPTY_SEGMENT, put_off),
        (Fault::READ_STRAY_SEGMENT, comes_late_at_the_front),
        (Fault::RECYCLE_OF_OTHERS, writes_late),
    ];
    for (fault, body) in faults {
        must_catch(fault, body);
    }
}
