//! Two engines in one process, by the way that two processes take: files in one directory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weft_env::Env;
use weft_format::{Code, Column, DataType, Result, Schema, Timestamp, Value, ValueRef};
use weft_kernel::fault::{Fault, plant};
use weft_kernel::{Engine, EngineOptions, NewTable, TableRef, Transaction};
use weft_tables::{column_method, row_method};

use super::*;
use crate::place::Place;
use crate::registration::Registration;

mod succession;
mod survey;

/// How long a test waits for what must come.
const LIMIT: Duration = Duration::from_secs(20);

fn options() -> EngineOptions {
    EngineOptions {
        workers: 0,
        log_segment_bytes: 1 << 14,
        checkpoint_log_bytes: 1 << 15,
        row_table_bytes: 1 << 14,
        ..EngineOptions::default()
    }
}

struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench { dir: tempfile::tempdir().unwrap() }
    }

    /// A writer with the table t (k bigint primary key, v bigint).
    fn writer(&self, heralds: HeraldOptions) -> (Arc<Engine>, Herald) {
        let methods = vec![column_method(), row_method()];
        let engine = Engine::open(Env::real(), self.dir.path(), methods, options()).unwrap();
        let herald = Herald::start(&engine, heralds).unwrap();
        if engine.begin().unwrap().table("t").is_err() {
            let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: false };
            let schema = Schema::new(vec![column("k"), column("v")], vec![0]);
            let mut txn = engine.begin().unwrap();
            txn.create_table(NewTable::new("t", schema, "column")).unwrap();
            txn.commit().unwrap();
        }
        (engine, herald)
    }

    fn node(&self, name: &str) -> Result<Node> {
        self.node_with(name, Duration::from_secs(20), Box::new(|_, _| {}))
    }

    fn node_with(&self, name: &str, join_timeout: Duration, replaced: Replaced) -> Result<Node> {
        let options =
            NodeOptions { name: Some(name.into()), engine: options(), join_timeout, ..NodeOptions::default() };
        Node::start(&Env::real(), self.dir.path(), vec![column_method(), row_method()], options, replaced)
    }
}

fn quick() -> HeraldOptions {
    HeraldOptions { beat: Duration::from_millis(20), ..HeraldOptions::default() }
}

fn key(t: &TableRef, k: i64) -> Vec<u8> {
    t.keys.encode([ValueRef::Int(k)])
}

fn put(engine: &Arc<Engine>, k: i64, v: i64) -> Timestamp {
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    let row = t.codec.encode([ValueRef::Int(k), ValueRef::Int(v)]);
    match txn.get_for_upsert(&t, &key(&t, k)).unwrap() {
        Some(_) => txn.update(&t, &key(&t, k), &row).unwrap(),
        None => txn.insert(&t, &row).unwrap(),
    }
    txn.commit().unwrap()
}

fn get(txn: &Transaction, k: i64) -> Option<i64> {
    let t = txn.table("t").unwrap();
    let mut values = Vec::new();
    match (txn.get(&t, &key(&t, k), &[1], &mut values).unwrap(), &values[..]) {
        (true, [Value::Int(v)]) => Some(*v),
        (false, []) => None,
        other => panic!("{other:?}"),
    }
}

fn all(engine: &Arc<Engine>, keys: i64) -> Vec<Option<i64>> {
    let txn = engine.begin().unwrap();
    (0..keys).map(|k| get(&txn, k)).collect()
}

/// Carries everything to files and cuts the log, as jobs and the work between them do.
fn tidy(engine: &Arc<Engine>) {
    engine.freeze().unwrap();
    engine.run_jobs().unwrap();
    engine.checkpoint().unwrap();
}

fn until(what: &str, mut test: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !test() {
        assert!(Instant::now() < deadline, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_node_shows_what_was_committed_within_a_moment() {
    let bench = Bench::new();
    let (writer, herald) = bench.writer(quick());
    (0..100).for_each(|k| assert!(put(&writer, k, k) > Timestamp(0)));
    let node = bench.node("one").unwrap();
    assert_eq!(node.engine().published(), writer.published());
    let mut delays = Vec::new();
    for k in 0..200 {
        let ts = put(&writer, k % 120, -k);
        let committed = Instant::now();
        assert_eq!(node.wait_for(ts, LIMIT, None).unwrap(), Waited::Shown);
        delays.push(committed.elapsed());
        assert_eq!(get(&node.engine().begin().unwrap(), k % 120), Some(-k));
        if k % 50 == 0 {
            tidy(&writer);
        }
    }
    delays.sort();
    println!("shown after {:?} (half of them), {:?} (99 of 100)", delays[100], delays[198]);
    assert_eq!(node.wait_latest(LIMIT, None).unwrap(), Waited::Shown);
    assert_eq!(all(&node.engine(), 130), all(&writer, 130));
    assert_eq!(node.engine().check().unwrap(), Vec::<String>::new());
    // Both know of each other.
    until("the writer sees where the node is", || {
        herald.look();
        matches!(&herald.nodes()[..], [seen] if seen.name == "one" && seen.phase == Phase::Following
            && seen.published == writer.published() && seen.lag_bytes == 0 && !seen.is_left_behind)
    });
    let status = node.status();
    assert_eq!((status.phase, status.joins, status.published), (Phase::Following, 1, writer.published()));
    assert_eq!((status.position, status.last), (status.announced, writer.published()));
    assert!(status.age.unwrap() < LIMIT && status.writer_heard.unwrap() < LIMIT, "{status:?}");
    // One that leaves is kept nothing for.
    node.stop();
    herald.look();
    assert_eq!((herald.nodes(), herald.keeps_log_from()), (vec![], None));
    assert_eq!(herald.failures(), 0);
}

#[test]
fn a_node_waits_for_its_writer_and_says_so() {
    let bench = Bench::new();
    let short = || bench.node_with("early", Duration::from_millis(50), Box::new(|_, _| {}));
    let error = short().err().unwrap();
    assert_eq!(error.code(), Code::CannotConnectNow);
    assert!(error.message().contains("no server announces anything there"), "{error}");
    let (writer, herald) = bench.writer(quick());
    put(&writer, 1, 1);
    let node = bench.node("early").unwrap();
    let twin = bench.node_with("ea/rly", LIMIT, Box::new(|_, _| {})).err().unwrap();
    assert_eq!(twin.code(), Code::InvalidName);
    // A writer that announces nothing more takes back what was announced.
    herald.stop();
    writer.close().unwrap();
    herald.farewell();
    until("the node hears of the end", || node.status().writer_is_closed);
    let waited = node.wait_latest(Duration::from_millis(50), None).unwrap();
    assert_eq!(waited, Waited::TimedOut, "another may have opened its directory (standing 4)");
    node.stop();
    let late = bench.node("late").unwrap();
    let waited = late.wait_within(LIMIT, Duration::from_millis(50), None).unwrap();
    assert_eq!(waited, Waited::TimedOut, "who joins behind the end knows no more (standing 4)");
    late.stop();
    withdraw(&Env::real(), bench.dir.path());
    assert!(short().is_err());
}

#[test]
pub(crate) fn what_a_node_needs_is_kept_and_no_more() {
    let bench = Bench::new();
    let (writer, herald) = bench.writer(quick());
    (0..50).for_each(|k| assert!(put(&writer, k, k) > Timestamp(0)));
    tidy(&writer);
    let node = bench.node("slow").unwrap();
    until("it follows", || {
        herald.look();
        herald.nodes().iter().any(|seen| seen.phase == Phase::Following)
    });
    let at = node.status().position;
    node.stop();
    // It hangs where it is: its file says so.
    let place = Place::of(&Env::real(), bench.dir.path());
    let told = Registration {
        life: 1,
        beat: 1,
        needs_from: at,
        edits: writer.edits(),
        phase: Phase::Following,
        ..Registration::default()
    };
    let file = place.registered_to("slow").unwrap();
    file.write_at(&told.encode(), 0).unwrap();
    herald.look();
    assert_eq!(herald.keeps_log_from(), Some(at));
    let segments = || {
        let names = Env::real().fs.list(bench.dir.path()).unwrap();
        let aside = Env::real().fs.list(&bench.dir.path().join("followed")).unwrap_or_default();
        let all = names.iter().chain(&aside);
        all.filter(|name| name.starts_with("log-") && !name.contains("tmp")).count()
    };
    for round in 0..6 {
        (0..200).for_each(|k| assert!(put(&writer, k, round) > Timestamp(0)));
        tidy(&writer);
        herald.look();
    }
    assert!(segments() > 4 && writer.kept_bytes() > 0, "{} segments, {} bytes", segments(), writer.kept_bytes());
    // It goes on: what is behind it goes.
    until("what is behind it goes", || {
        let told = Registration { beat: 2, needs_from: writer.announced(), edits: writer.edits(), ..told.clone() };
        file.write_at(&told.encode(), 0).unwrap();
        herald.look();
        tidy(&writer);
        herald.look();
        (segments(), writer.kept_bytes()) == (1, 0)
    });
}

/// A node that is beyond the bounds is told so, and joins anew.
#[test]
pub(crate) fn a_node_that_is_left_behind_joins_anew() {
    let bench = Bench::new();
    let bounds = HeraldOptions { keep_bytes: 1 << 14, ..quick() };
    let (writer, herald) = bench.writer(bounds);
    put(&writer, 1, 0);
    let swaps = Arc::new(AtomicU64::new(0));
    let counted = swaps.clone();
    let replaced: Replaced = Box::new(move |_, before| {
        assert_eq!(before.is_some(), counted.fetch_add(1, Ordering::SeqCst) > 0);
    });
    // It looks so rarely that it falls behind.
    let poll = Duration::from_secs(8);
    let options = NodeOptions { name: Some("slow".into()), engine: options(), poll, ..NodeOptions::default() };
    let methods = vec![column_method(), row_method()];
    let node = Node::start(&Env::real(), bench.dir.path(), methods, options, replaced).unwrap();
    let first = node.engine();
    for round in 0..6 {
        (0..200).for_each(|k| assert!(put(&writer, k, round) > Timestamp(0)));
        herald.look();
        tidy(&writer);
    }
    until("the writer has left it behind", || {
        herald.look();
        herald.nodes().iter().any(|seen| seen.is_left_behind)
    });
    assert!(writer.kept_bytes() <= 1 << 14, "{} bytes of files", writer.kept_bytes());
    tidy(&writer);
    assert_eq!(node.wait_for(writer.published(), LIMIT, None).unwrap(), Waited::Shown);
    assert_eq!((node.status().joins, swaps.load(Ordering::SeqCst)), (2, 2));
    assert_eq!(node.status().lost.unwrap().code(), Code::UndefinedFile);
    assert!(!Arc::ptr_eq(&first, &node.engine()));
    assert_eq!(all(&node.engine(), 200), all(&writer, 200));
}

#[test]
fn a_writer_that_opens_again_is_followed() {
    let bench = Bench::new();
    let (mut writer, mut herald) = bench.writer(quick());
    put(&writer, 0, 0);
    let node = bench.node("faithful").unwrap();
    let mut openings = vec![node.status().opening];
    for round in 1..5 {
        (0..60).for_each(|k| assert!(put(&writer, k, round) > Timestamp(0)));
        if round % 2 == 0 {
            tidy(&writer);
        }
        herald.stop();
        if round < 3 {
            writer.close().unwrap();
            herald.farewell();
        }
        drop((writer, herald));
        (writer, herald) = bench.writer(quick());
        let ts = put(&writer, 100, round);
        assert_eq!(node.wait_for(ts, LIMIT, None).unwrap(), Waited::Shown);
        assert_eq!(all(&node.engine(), 101), all(&writer, 101));
        openings.push(node.status().opening);
    }
    openings.sort_unstable();
    openings.dedup();
    assert_eq!(openings.len(), 5, "each opening has a number of its own");
    drop(herald);
}

#[test]
pub(crate) fn the_latest_is_what_was_acknowledged_before_it_was_asked_for() {
    let bench = Bench::new();
    let (writer, _herald) = bench.writer(quick());
    put(&writer, 0, 0);
    // It looks rarely, so that what it shows is old.
    let options = NodeOptions { engine: options(), poll: Duration::from_millis(20), ..NodeOptions::default() };
    let methods = vec![column_method(), row_method()];
    let node = Node::start(&Env::real(), bench.dir.path(), methods, options, Box::new(|_, _| {})).unwrap();
    let stop = AtomicBool::new(false);
    let acknowledged = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while !stop.load(Ordering::SeqCst) {
                n += 1;
                acknowledged.store(put(&writer, 0, n).0, Ordering::SeqCst);
            }
        });
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..40 {
                std::thread::sleep(Duration::from_millis(3));
                let before = Timestamp(acknowledged.load(Ordering::SeqCst));
                assert_eq!(node.wait_latest(LIMIT, None).unwrap(), Waited::Shown);
                let shown = node.engine().published();
                assert!(shown >= before, "{shown} is shown, {before} was acknowledged");
            }
        }));
        stop.store(true, Ordering::SeqCst);
        looked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    assert_eq!(node.wait_within(Duration::from_secs(1), LIMIT, None).unwrap(), Waited::Shown);
    let never = Timestamp(writer.published().0 + 1000);
    assert_eq!(node.wait_for(never, Duration::from_millis(30), None).unwrap(), Waited::TimedOut);
}

#[test]
fn a_silent_writer_is_not_taken_for_a_quiet_one() {
    let bench = Bench::new();
    let (writer, herald) = bench.writer(quick());
    put(&writer, 0, 0);
    let node = bench.node("alone").unwrap();
    assert_eq!(node.wait_latest(LIMIT, None).unwrap(), Waited::Shown);
    herald.stop();
    // It reads and reads the same.
    until("the node's age grows", || node.status().age.is_some_and(|age| age > Duration::from_secs(2)));
    assert_eq!(node.wait_latest(Duration::from_millis(50), None).unwrap(), Waited::TimedOut);
    assert_eq!(get(&node.engine().begin().unwrap(), 0), Some(0), "what it has is shown");
    herald.look();
    assert_eq!(node.wait_latest(LIMIT, None).unwrap(), Waited::Shown);
}

#[test]
#[ignore = "plants faults for the whole process: `planted_faults_are_caught_apart` runs it"]
fn planted_faults_are_caught() {
    let caught = |fault: Fault, body: fn()| {
        plant(Some(fault));
        let found = std::panic::catch_unwind(body).is_err();
        plant(None);
        println!("{}: {found}", fault.name());
        found
    };
    let faults: [(Fault, fn()); 9] = [
        (faults::PROMOTE_DEAF, succession::a_writer_that_is_heard_keeps_its_directory),
        (Fault::CUT_LOG_FOLLOWED, what_a_node_needs_is_kept_and_no_more),
        (Fault::SKIP_FENCE, succession::a_node_is_promoted_and_the_writer_before_acknowledges_nothing_more),
        (Fault::KEEP_LATE_SEGMENT, succession::a_segment_that_comes_late_is_nobodys),
        (faults::HEAR_OVERTAKEN, succession::an_announcement_of_a_writer_that_lost_its_directory_is_none),
        (faults::FORGET_NODE, what_a_node_needs_is_kept_and_no_more),
        (faults::KEEP_FOR_EVER, a_node_that_is_left_behind_joins_anew),
        (faults::FRESH_BEFORE_READ, the_latest_is_what_was_acknowledged_before_it_was_asked_for),
        (faults::TRUST_TORN_NODE_FILE, crate::announcement::tests::bytes_come_back_and_every_damaged_one_is_noticed),
    ];
    let missed: Vec<&str> =
        faults.into_iter().filter(|(fault, body)| !caught(*fault, *body)).map(|(fault, _)| fault.name()).collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

#[test]
fn planted_faults_are_caught_apart() {
    weft_kernel::fault::catch_apart();
}
