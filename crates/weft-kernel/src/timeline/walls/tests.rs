use super::*;

/// Notes a commit by a clock; its wall.
fn commit(walls: &Walls, ts: u64, clock: i64) -> i64 {
    let next = walls.next(clock);
    let wall = next.micros();
    next.note(Timestamp(ts));
    wall
}

/// All pairs, oldest first.
fn known(walls: &Walls) -> Vec<Pair> {
    let mut image = walls.image(Timestamp::MAX);
    image.reverse();
    image.concat()
}

fn at(walls: &Walls, micros: i64) -> Result<u64, Code> {
    walls.at(micros, i64::MAX).map(|ts| ts.0).map_err(|error| error.code())
}

#[test]
fn walls_rise_when_the_clock_jumps_back_and_stands_still() {
    let walls = Walls::default();
    let mut given = vec![commit(&walls, 1, 10_000 * SECOND)];
    given.push(commit(&walls, 2, 10_000 * SECOND - 3600 * SECOND));
    (3..1003).for_each(|ts| given.push(commit(&walls, ts, 10_000 * SECOND)));
    given.push(commit(&walls, 1003, 10_001 * SECOND));
    assert!(given.is_sorted_by(|a, b| a < b));
    assert_eq!((given[0], given[1002]), (10_000 * SECOND, 10_001 * SECOND));
    for (wall, ts) in given.iter().zip(1..) {
        assert_eq!((walls.at_known(*wall).unwrap(), walls.of(Timestamp(ts))), (Timestamp(ts), Some(*wall)));
        assert_eq!(walls.at_known(*wall - 1).unwrap(), Timestamp(ts - 1));
    }
}

#[test]
fn a_moment_that_was_asked_for_has_one_answer() {
    let walls = Walls::default();
    commit(&walls, 1, 100);
    assert_eq!(at(&walls, 150), Ok(1));
    assert_eq!(commit(&walls, 2, 120), 151, "the clock was set back");
    assert_eq!(at(&walls, 150), Ok(1));
    assert_eq!(at(&walls, 151), Ok(2));
    assert_eq!(walls.at(161, 160).unwrap_err().code(), Code::InvalidParameterValue, "the future");
    assert_eq!(walls.at_known(152).unwrap_err().code(), Code::InvalidParameterValue, "a follower waits for it");
    let given = walls.next(400);
    drop(given);
    assert_eq!(commit(&walls, 3, 300), 300, "a wall that was not noted was not given");
}

#[test]
fn old_commits_are_told_apart_by_the_second_and_never_wrongly() {
    let walls = Walls::default();
    let count = 200_000;
    // A hundred in a second, from 0.005 s on.
    (0..count).for_each(|n| assert_eq!(commit(&walls, n as u64 + 1, n * 10_000 + 5000), n * 10_000 + 5000));
    assert!(known(&walls).len() < (1 << 16) + (count as usize / 100));
    let true_answer = |micros: i64| ((micros + 5000) / 10_000).min(count) as u64;
    let mut refused = 0;
    for step in 0..3000 {
        let micros = step * 677_777;
        match at(&walls, micros) {
            Ok(ts) => assert_eq!(ts, true_answer(micros), "at {micros}"),
            Err(code) => {
                assert_eq!(code, Code::SnapshotTooOld);
                refused += 1;
            }
        }
    }
    assert!((1000..2500).contains(&refused), "{refused}");
    for second in 0..2000 {
        assert_eq!(at(&walls, second * SECOND), Ok(true_answer(second * SECOND)), "full seconds are known");
    }
    let hint = walls.at(7 * SECOND + 300_000, i64::MAX).unwrap_err();
    assert_eq!(hint.hint_text().unwrap(), "ask for 1970-01-01 00:00:07+00 or 1970-01-01 00:00:07.995+00");
    assert_eq!(at(&walls, 7 * SECOND + 995_000), Ok(800));
}

#[test]
fn lonely_commits_are_known_for_ever() {
    let walls = Walls::default();
    (1..=80_000).for_each(|ts| {
        commit(&walls, ts, ts as i64 * 1_500_000 + 7);
    });
    for ts in (1..=80_000).step_by(7) {
        let wall = ts as i64 * 1_500_000 + 7;
        assert_eq!((at(&walls, wall), at(&walls, wall - 1)), (Ok(ts), Ok(ts - 1)));
    }
}

#[test]
fn what_is_forgotten_leaves_the_last_before_it() {
    let walls = Walls::default();
    (1..=100_000).for_each(|ts| {
        commit(&walls, ts, ts as i64 * 1000);
    });
    let all = known(&walls);
    walls.forget_before(Timestamp(10_500));
    let left = known(&walls);
    assert_eq!((left[0].0, left.len() < all.len()), (Timestamp(10_000), true));
    assert_eq!(walls.since(Timestamp(10_500)), Some(11_000_000));
    walls.forget_before(Timestamp(99_000));
    assert_eq!(known(&walls).len(), 1001);
    walls.forget_before(Timestamp(5));
    assert_eq!(walls.image(Timestamp(99_001)).concat().len(), 2);
}

#[test]
fn pairs_come_back_from_their_bytes() {
    let walls = Walls::default();
    (1..=100_000).for_each(|ts| {
        commit(&walls, ts * 2, 1_795_000_000 * SECOND + ts as i64 * 900);
    });
    let pairs = known(&walls);
    let mut bytes = Vec::new();
    put_walls(&mut bytes, &walls.image(Timestamp::MAX));
    assert!(bytes.len() < 4 * pairs.len(), "{} bytes", bytes.len());
    let damaged = |_: &str| Error::corrupt("a test");
    let mut input = weft_format::wire::ByteReader::new(&bytes, damaged);
    let read = read_walls(&mut input, || Error::corrupt("a test")).unwrap();
    assert_eq!(read, walls.image(Timestamp::MAX));
    let again = Walls::default();
    again.restore(read);
    again.recover((Timestamp(7), 3));
    assert_eq!(known(&again), pairs);
    assert_eq!(commit(&again, 300_000, 5), pairs.last().unwrap().1 + 1);
    let twice = [2, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut input = weft_format::wire::ByteReader::new(&twice, damaged);
    assert!(read_walls(&mut input, || Error::corrupt("a test")).is_err());
}
