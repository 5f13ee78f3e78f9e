//! Who writes next: a node that is promoted, a writer that is overtaken, and those that look on.

use std::io;
use std::path::Path;

use weft_env::{DirLock, File, Fs, OpenMode};
use weft_format::Lsn;
use weft_kernel::Follower;

use super::*;

fn writing() -> EngineOptions {
    options()
}

fn overtaking() -> EngineOptions {
    EngineOptions { takes_over: true, notice: Duration::from_millis(20), ..options() }
}

/// The one before lives and is overtaken: what it acknowledged is there, and it acknowledges nothing more. Another node
/// goes on without joining anew.
#[test]
pub(crate) fn a_node_is_promoted_and_the_writer_before_acknowledges_nothing_more() {
    let bench = Bench::new();
    let (before, herald) = bench.writer(quick());
    (0..50).for_each(|k| assert!(put(&before, k, k) > Timestamp(0)));
    tidy(&before);
    let (one, two) = (bench.node("one").unwrap(), bench.node("two").unwrap());
    (50..100).for_each(|k| assert!(put(&before, k, k) > Timestamp(0)));
    // It lives, and keeps its directory; the node follows on.
    let refused = one.promote(writing()).err().unwrap();
    assert_eq!(refused.code(), Code::CannotConnectNow, "{refused}");
    assert!(refused.message().contains("is in use by"), "{refused}");
    let ts = put(&before, 100, 100);
    assert_eq!(one.wait_for(ts, LIMIT, None).unwrap(), Waited::Shown);
    let begun = Instant::now();
    let Promoted { engine: after, before: shown } = one.promote(overtaking()).unwrap();
    assert!(shown.is_follower() && shown.published() <= after.published());
    let again = one.promote(overtaking()).err().unwrap();
    assert_eq!((again.code(), again.message()), (Code::NotInPrerequisiteState, "this node has been promoted already"));
    println!("promoted after {:?}", begun.elapsed());
    let second = Herald::start(&after, quick()).unwrap();
    assert_eq!(all(&after, 101), (0..101).map(Some).collect::<Vec<_>>());
    // The one before notices at its next commit, or by itself.
    let mut txn = before.begin().unwrap();
    let t = txn.table("t").unwrap();
    let staged = txn.insert(&t, &t.codec.encode([ValueRef::Int(500), ValueRef::Int(1)]));
    let lost = staged.and_then(|()| txn.commit()).unwrap_err();
    assert_eq!(lost.code(), Code::Poisoned, "{lost}");
    assert!(lost.message().contains(&format!("is written by pid {}", std::process::id())), "{lost}");
    assert!(before.has_lost_directory() && before.check_writes().is_err());
    assert!(before.checkpoint().is_err() && before.close().is_err());
    herald.look();
    herald.farewell();
    drop((herald, before));
    // Who asks the node that was is told.
    let error = one.wait_latest(LIMIT, None).unwrap_err();
    assert_eq!(error.code(), Code::ShuttingDown);
    for k in 0..100 {
        let ts = put(&after, k, -k);
        assert_eq!(two.wait_for(ts, LIMIT, None).unwrap(), Waited::Shown);
    }
    tidy(&after);
    assert_eq!(two.wait_latest(LIMIT, None).unwrap(), Waited::Shown);
    assert_eq!((all(&two.engine(), 501), two.status().joins), (all(&after, 501), 1));
    assert_eq!((after.check().unwrap(), two.engine().check().unwrap()), (vec![], vec![]));
    let epoch = after.epoch();
    second.stop();
    after.close_and(|| second.farewell()).unwrap();
    drop((second, after, two, one));
    let (again, _herald) = bench.writer(quick());
    assert_eq!(
        (again.epoch(), get(&again.begin().unwrap(), 7), get(&again.begin().unwrap(), 500)),
        (epoch + 1, Some(-7), None)
    );
}

/// What a writer has written that had lost its directory, and did not know, is not there for anybody.
#[test]
pub(crate) fn a_block_that_comes_late_is_nobodys() {
    let bench = Bench::new();
    let (before, herald) = bench.writer(quick());
    put(&before, 1, 1);
    let node = bench.node("one").unwrap();
    herald.stop();
    let after = Engine::open(Env::real(), bench.dir.path(), vec![column_method(), row_method()], overtaking()).unwrap();
    // It writes a block behind the end that the successor has found, and is told only then.
    let mut txn = before.begin().unwrap();
    let t = txn.table("t").unwrap();
    txn.insert(&t, &t.codec.encode([ValueRef::Int(9), ValueRef::Int(9)])).unwrap();
    assert_eq!(txn.commit().unwrap_err().code(), Code::Poisoned);
    let herald = Herald::start(&after, quick()).unwrap();
    let ts = put(&after, 2, 2);
    assert_eq!(node.wait_for(ts, LIMIT, None).unwrap(), Waited::Shown);
    let expected = vec![None, Some(1), Some(2), None];
    let shown =
        |engine: &Arc<Engine>| all(engine, 3).into_iter().chain([get(&engine.begin().unwrap(), 9)]).collect::<Vec<_>>();
    assert_eq!((shown(&node.engine()), shown(&after)), (expected.clone(), expected.clone()));
    drop((herald, after, before));
    let (again, _herald) = bench.writer(quick());
    assert_eq!(shown(&again), expected);
}

/// The first segment of an opening has its name late: where another opening began its log meanwhile it is none.
#[test]
pub(crate) fn a_segment_that_comes_late_is_nobodys() {
    let bench = Bench::new();
    let (writer, herald) = bench.writer(quick());
    put(&writer, 1, 1);
    drop((herald, writer));
    let opened =
        || Engine::open(Env::real(), bench.dir.path(), vec![column_method(), row_method()], options()).unwrap();
    let segment = |epoch: u32| {
        let names = Env::real().fs.list(bench.dir.path()).unwrap();
        let name = names.into_iter().find(|name| name.starts_with("log-") && name.ends_with(&format!("-{epoch:08x}")));
        bench.dir.path().join(name.unwrap())
    };
    drop(opened());
    let (late, bytes) = (segment(2), std::fs::read(segment(2)).unwrap());
    let writer = opened();
    assert!(!late.exists(), "what was empty has gone");
    (2..50).for_each(|k| assert!(put(&writer, k, k) > Timestamp(0)));
    std::fs::write(&late, bytes).unwrap();
    drop(writer);
    let writer = opened();
    assert_eq!(all(&writer, 51), [None].into_iter().chain((1..50).map(Some)).chain([None]).collect::<Vec<_>>());
    assert!(!late.exists());
}

/// A writer that is overtaken tells nodes nothing more, whoever wrote the announcement last.
#[test]
pub(crate) fn an_announcement_of_a_writer_that_lost_its_directory_is_none() {
    let bench = Bench::new();
    let (before, herald) = bench.writer(quick());
    put(&before, 1, 1);
    let node = bench.node("one").unwrap();
    assert_eq!(node.wait_latest(LIMIT, None).unwrap(), Waited::Shown);
    herald.stop();
    let after = Engine::open(Env::real(), bench.dir.path(), vec![column_method(), row_method()], overtaking()).unwrap();
    put(&after, 2, 2);
    // The file still says what the one before said.
    assert_eq!(node.wait_latest(Duration::from_millis(100), None).unwrap(), Waited::TimedOut);
    let _herald = Herald::start(&after, quick()).unwrap();
    assert_eq!(node.wait_latest(LIMIT, None).unwrap(), Waited::Shown);
    assert_eq!(get(&node.engine().begin().unwrap(), 2), Some(2));
}

#[test]
fn a_writer_that_has_stopped_vouches_for_nothing() {
    let bench = Bench::new();
    let (writer, herald) = bench.writer(quick());
    put(&writer, 1, 1);
    let node = bench.node("one").unwrap();
    writer
        .close_and(|| {
            // Another could open only after this.
            let opened = Engine::open(Env::real(), bench.dir.path(), vec![column_method(), row_method()], options());
            assert_eq!(opened.err().unwrap().code(), Code::CannotConnectNow);
            herald.farewell();
        })
        .unwrap();
    until("the node hears of the end", || node.status().writer_is_closed);
    // The thread that beats does not take it back.
    herald.look();
    std::thread::sleep(Duration::from_millis(100));
    assert!(node.status().writer_is_closed);
}

#[test]
fn a_panic_of_the_thread_that_follows_is_told_and_it_joins_anew() {
    let bench = Bench::new();
    let (writer, _herald) = bench.writer(quick());
    put(&writer, 1, 1);
    let times = AtomicU64::new(0);
    let replaced: Replaced = Box::new(move |_, _| assert!(times.fetch_add(1, Ordering::SeqCst) > 0, "a bug"));
    let node = bench.node_with("unlucky", LIMIT, replaced).unwrap();
    let lost = node.status().lost.unwrap();
    assert!(lost.message().contains("panicked") && lost.message().contains("a bug"), "{lost}");
    let ts = put(&writer, 2, 2);
    assert_eq!(node.wait_for(ts, LIMIT, None).unwrap(), Waited::Shown);
}

#[test]
fn joining_ends_when_it_is_stopped() {
    let bench = Bench::new();
    let (writer, _herald) = bench.writer(quick());
    (0..100).for_each(|k| assert!(put(&writer, k, k) > Timestamp(0)));
    let asked = AtomicU64::new(0);
    let stop = || asked.fetch_add(1, Ordering::SeqCst) > 20;
    let (announced, methods) = (|| writer.announced(), vec![column_method(), row_method()]);
    let joined = Follower::join_unless((Env::real(), bench.dir.path()), methods, options(), &announced, &stop);
    assert_eq!(joined.err().unwrap().code(), Code::QueryCanceled);
    assert_eq!(asked.load(Ordering::SeqCst), 22);
}

/// What is kept for nodes is neither read by an opening nor counted for jobs.
#[test]
pub(crate) fn log_of_nodes_is_not_the_writers() {
    let bench = Bench::new();
    let (writer, herald) = bench.writer(quick());
    put(&writer, 0, 0);
    let told = Registration { life: 1, beat: 1, phase: Phase::Joining, ..Registration::default() };
    Place::of(&Env::real(), bench.dir.path()).registered_to("dead").unwrap().write_at(&told.encode(), 0).unwrap();
    herald.look();
    assert_eq!(herald.keeps_log_from(), Some(Lsn(0)));
    for round in 0..6 {
        (0..200).for_each(|k| assert!(put(&writer, k, round) > Timestamp(0)));
        tidy(&writer);
    }
    let limit = options().checkpoint_log_bytes;
    let (own, kept) = (writer.status().log_bytes, writer.followed_log_bytes());
    assert!(own < limit && kept > 2 * limit, "{own} bytes of log, and {kept} for the node");
    drop((herald, writer));
    let (writer, herald) = bench.writer(quick());
    assert!(writer.status().log_bytes < limit);
    assert!(writer.followed_log_bytes() > 2 * limit, "an opening keeps what the node needs");
    Place::of(&Env::real(), bench.dir.path()).leave("dead");
    herald.look();
    assert_eq!((writer.followed_log_bytes(), herald.keeps_log_from()), (0, None));
    assert_eq!(Env::real().fs.list(&bench.dir.path().join("followed")).unwrap(), Vec::<String>::new());
    assert_eq!(all(&writer, 200), vec![Some(5); 200]);
}

/// Files where a lock keeps nobody out, as between the machines of some shared file systems.
struct Unlocked(Arc<dyn Fs>);

struct NoLock;

impl DirLock for NoLock {
    fn describe(&self, _owner: &str) -> io::Result<()> {
        Ok(())
    }
}

impl Fs for Unlocked {
    fn lock(&self, _path: &Path, _owner: &str) -> io::Result<Box<dyn DirLock>> {
        Ok(Box::new(NoLock))
    }
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.0.open(path, mode)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.0.list(dir)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.0.exists(path)
    }
    fn is_stream(&self, path: &Path) -> io::Result<bool> {
        self.0.is_stream(path)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename_new(from, to)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.0.create_dir_all(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.0.sync_dir(dir)
    }
}

/// A node over a directory without locks.
fn unlocked_node(bench: &Bench) -> Node {
    let env = Env { fs: Arc::new(Unlocked(Env::real().fs)), ..Env::real() };
    let options = NodeOptions { engine: options(), join_timeout: LIMIT, ..NodeOptions::default() };
    let methods = vec![column_method(), row_method()];
    Node::start(&env, bench.dir.path(), methods, options, Box::new(|_, _| {})).unwrap()
}

/// Whatever the lock says: a writer that is heard keeps its directory, one that is silent is followed.
#[test]
pub(crate) fn a_writer_that_is_heard_keeps_its_directory() {
    let bench = Bench::new();
    let (writer, herald) = bench.writer(quick());
    put(&writer, 1, 1);
    let node = unlocked_node(&bench);
    let refused = node.promote(writing()).err().unwrap();
    assert_eq!(refused.code(), Code::CannotConnectNow, "{refused}");
    assert!(refused.message().contains(&format!("is in use by pid {}", std::process::id())), "{refused}");
    let ts = put(&writer, 2, 2);
    assert_eq!(node.wait_for(ts, LIMIT, None).unwrap(), Waited::Shown);
    // It hangs, say: then its epoch keeps it from acknowledging more.
    herald.stop();
    let Promoted { engine, before } = node.promote(writing()).unwrap();
    assert!(Arc::ptr_eq(&before, &node.engine()));
    assert_eq!((all(&engine, 3), writer.check_writes().is_err()), (vec![None, Some(1), Some(2)], true));
    put(&engine, 3, 3);
}

/// Who opens a directory whose lock keeps nobody out listens first, unless the writer is of the same machine.
#[test]
fn an_opening_listens_for_writers_of_other_machines() {
    let bench = Bench::new();
    let (writer, herald) = bench.writer(HeraldOptions { machine: 7, ..quick() });
    put(&writer, 1, 1);
    let listens = |machine: u32| listen(&Env::real(), bench.dir.path(), machine).map_err(|error| error.code());
    assert_eq!((listens(8), listens(0)), (Err(Code::CannotConnectNow), Err(Code::CannotConnectNow)));
    assert_eq!(listens(7), Ok(false), "the lock knows");
    herald.stop();
    assert_eq!(listens(8), Ok(true), "it is silent, and may hang");
    drop((herald, writer));
    let (writer, herald) = bench.writer(HeraldOptions { machine: 7, ..quick() });
    writer.close_and(|| herald.farewell()).unwrap();
    assert_eq!(listens(8), Ok(false), "it has closed");
}

/// One promotion at a time, and none after it.
#[test]
fn a_second_promotion_is_refused() {
    let bench = Bench::new();
    let (writer, herald) = bench.writer(quick());
    put(&writer, 1, 1);
    let node = unlocked_node(&bench);
    herald.stop();
    let promoted = std::thread::scope(|scope| {
        let first = scope.spawn(|| node.promote(writing()));
        let mut error = None;
        // The first one listens for its writer for a while.
        until("the second one is refused", || {
            std::thread::sleep(Duration::from_millis(20));
            error = node.promote(overtaking()).err();
            error.as_ref().is_some_and(|error| error.message() == "this node is being promoted already")
        });
        assert_eq!(error.unwrap().code(), Code::NotInPrerequisiteState);
        first.join().unwrap()
    });
    let engine = promoted.unwrap().engine;
    put(&engine, 2, 2);
    assert_eq!(node.promote(writing()).err().unwrap().message(), "this node has been promoted already");
}
