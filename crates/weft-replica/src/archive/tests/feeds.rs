//! Nodes that are fed: nothing between them and the writer but a connection, which a test may cut.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::mirrors::{far_is_as, node_at, work};
use super::*;
use crate::node::Node;

/// One end of a connection.
struct Wire {
    to: Sender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
    is_cut: Arc<AtomicBool>,
    /// Messages until it is cut; of both ends.
    left: Arc<AtomicU64>,
}

impl Link for Wire {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let left = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
        if left.is_err() || self.is_cut.load(Ordering::Acquire) {
            self.is_cut.store(true, Ordering::Release);
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.to.send(message.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.from.recv_timeout(Duration::from_millis(2)) {
                Ok(message) => return Ok(Some(message)),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return Ok(None),
                Err(_) if self.is_cut.load(Ordering::Acquire) => return Ok(None),
                Err(_) => {}
            }
        }
    }

    fn cutter(&self) -> Box<dyn Fn() + Send + Sync> {
        let is_cut = self.is_cut.clone();
        Box::new(move || is_cut.store(true, Ordering::Release))
    }
}

/// A server that feeds: an engine, until it is away.
#[derive(Default)]
struct Feeder {
    engine: Mutex<Option<Arc<Engine>>>,
    /// So many messages pass each connection; 0: any number.
    messages: AtomicU64,
    keep_bytes: AtomicU64,
    ends: AtomicBool,
    cut: Mutex<Option<Arc<AtomicBool>>>,
    threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

impl Feeder {
    fn of(engine: &Arc<Engine>) -> Arc<Feeder> {
        let feeder = Feeder::default();
        feeder.serves(Some(engine));
        feeder.keep_bytes.store(1 << 30, Ordering::Release);
        Arc::new(feeder)
    }

    fn serves(&self, engine: Option<&Arc<Engine>>) {
        *self.engine.lock() = engine.cloned();
    }

    fn cut(&self) {
        if let Some(cut) = &*self.cut.lock() {
            cut.store(true, Ordering::Release);
        }
    }

    /// Ends every feed, and waits for that.
    fn end(&self) {
        self.serves(None);
        self.ends.store(true, Ordering::Release);
        self.threads.lock().drain(..).for_each(|thread| thread.join().unwrap());
        self.ends.store(false, Ordering::Release);
    }
}

struct To(Arc<Feeder>);

impl Connect for To {
    fn connect(&self) -> weft_format::Result<Box<dyn Link>> {
        let feeder = self.0.clone();
        let away = || Error::new(Code::Io, "the server is away");
        let engine = feeder.engine.lock().clone().ok_or_else(away)?;
        let ((to, from), (to_back, from_back)) = (channel(), channel());
        let is_cut = Arc::new(AtomicBool::new(false));
        *feeder.cut.lock() = Some(is_cut.clone());
        let most = match feeder.messages.load(Ordering::Acquire) {
            0 => u64::MAX,
            most => most,
        };
        let left = Arc::new(AtomicU64::new(most));
        let there = Wire { to: to_back, from, is_cut: is_cut.clone(), left: left.clone() };
        let options = FeedOptions {
            name: "far".into(),
            address: "far:5432".into(),
            keep_bytes: feeder.keep_bytes.load(Ordering::Acquire),
        };
        let serving = feeder.clone();
        let thread = std::thread::spawn(move || {
            let _ = feed(&engine, Box::new(there), &options, &|| !serving.ends.load(Ordering::Acquire));
        });
        feeder.threads.lock().push(thread);
        Ok(Box::new(Wire { to, from: from_back, is_cut, left }))
    }

    fn place(&self) -> String {
        "the server".into()
    }
}

/// A node that is fed.
struct FedNode {
    node: Node,
    mirror: Mirror,
    fed: Fed,
    transit: Arc<Transit>,
}

impl Bench {
    fn fed(&self, name: &str, feeder: &Arc<Feeder>) -> weft_format::Result<FedNode> {
        let (env, dir) = (Env::real(), self.at(name));
        let store = Arc::new(FileStore::new(&env, &dir.join("incoming")));
        let transit = Arc::new(Transit::new(&env, &dir, store, "the server"));
        let fed = Fed::start(&env, Arc::new(To(feeder.clone())), &transit)?;
        let mirror = Mirror::start_fed(&env, &transit, &dir, Duration::from_secs(20))?;
        Ok(FedNode { node: node_at(&dir), mirror, fed, transit })
    }
}

impl FedNode {
    fn is_as(&self, engine: &Arc<Engine>) {
        far_is_as(&self.node, &self.mirror, engine);
    }

    fn stop(self) {
        self.node.stop();
        self.mirror.stop();
        self.fed.stop();
        self.node.engine().close().unwrap();
    }

    /// Bytes of objects that wait to be taken.
    fn waiting(&self) -> u64 {
        let mut names = Vec::new();
        super::super::names::each_name(&*self.transit, "", |name| names.push(name.to_owned())).unwrap();
        names.iter().filter_map(|name| self.transit.get(name).ok()).map(|bytes| bytes.len() as u64).sum()
    }
}

#[test]
fn a_node_is_fed_writes_loads_conversions_and_merges() {
    let bench = Bench::new();
    let engine = bench.open("db");
    (0..20).for_each(|k| put(&engine, k, k).unwrap());
    load(&engine, 1000..1400);
    let feeder = Feeder::of(&engine);
    let node = bench.fed("far", &feeder).unwrap();
    for round in 0..12 {
        work(&engine, round);
        if round % 4 != 2 {
            node.is_as(&engine);
        }
    }
    node.is_as(&engine);
    assert_eq!(node.node.status().joins, 1, "it was never lost: {:?}", node.node.status());
    assert!(node.mirror.status().error.is_none(), "{:?}", node.mirror.status());
    assert_eq!(feeder.threads.lock().len(), 1, "one connection was enough");
    // What was taken is not kept twice.
    until("what was taken has gone", || {
        put(&engine, 1, 1).unwrap();
        node.waiting() < 40_000
    });
    node.stop();
    feeder.end();
    assert_eq!(engine.followed_log_bytes(), 0, "nothing is kept for a connection that has ended");
}

/// Connections that end in the middle of whatever goes on.
#[test]
fn connections_that_end_anywhere_lose_nothing() {
    for messages in [7, 23, 61, 200] {
        let bench = Bench::new();
        let engine = bench.open("db");
        (0..20).for_each(|k| put(&engine, k, k).unwrap());
        let feeder = Feeder::of(&engine);
        let node = bench.fed("far", &feeder).unwrap();
        feeder.messages.store(messages, Ordering::Release);
        feeder.cut();
        for round in 0..6 {
            work(&engine, round);
            std::thread::sleep(Duration::from_millis(30));
        }
        feeder.messages.store(0, Ordering::Release);
        node.is_as(&engine);
        assert!(feeder.threads.lock().len() > 2, "connections were cut");
        node.stop();
        feeder.end();
    }
}

/// A node ends and begins again; what it missed is kept for it, as for one that sees the directory.
#[test]
fn a_fed_node_goes_on_from_its_directory() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let _herald = crate::Herald::start(&engine, crate::HeraldOptions::default()).unwrap();
    (0..20).for_each(|k| put(&engine, k, k).unwrap());
    let feeder = Feeder::of(&engine);
    for round in 0..5 {
        let node = bench.fed("far", &feeder).unwrap();
        node.is_as(&engine);
        work(&engine, round);
        if round % 2 == 0 {
            node.is_as(&engine);
        }
        let base = node.mirror.status().base;
        node.stop();
        feeder.end();
        feeder.serves(Some(&engine));
        work(&engine, round + 20);
        assert!(base.is_some());
    }
    let node = bench.fed("far", &feeder).unwrap();
    node.is_as(&engine);
    assert_eq!(node.mirror.status().base, Some(1), "it never began anew");
    let seen = crate::Company::of(&engine).unwrap().nodes();
    assert!(seen.iter().any(|node| node.name == "far" && node.address == "far:5432"), "{seen:?}");
    // Without its server it shows what it has.
    node.stop();
    feeder.end();
    let node = bench.fed("far", &feeder).unwrap();
    until("it says so", || node.mirror.status().error.is_some());
    assert_eq!(all(&node.node.engine()), all(&engine));
    node.stop();
}

/// What it missed is not kept: it begins anew, beside a transaction that reads on.
#[test]
pub(super) fn a_fed_node_that_missed_too_much_begins_anew() {
    let bench = Bench::new();
    let engine = bench.open("db");
    (0..20).for_each(|k| put(&engine, k, k).unwrap());
    let feeder = Feeder::of(&engine);
    let node = bench.fed("far", &feeder).unwrap();
    node.is_as(&engine);
    let before = node.node.engine();
    let reading = before.begin().unwrap();
    let seen = get(&reading, "column", 3);
    // Nobody keeps anything for it, for there is no herald.
    feeder.end();
    for round in 0..6 {
        work(&engine, round);
        tidy_up(&engine);
    }
    feeder.serves(Some(&engine));
    node.is_as(&engine);
    assert!(node.node.status().joins >= 2, "{:?}", node.node.status());
    assert_eq!(get(&reading, "column", 3), seen, "who reads reads on");
    // The same while it is connected: the bound is small, and its disk is away.
    feeder.end();
    feeder.keep_bytes.store(20_000, Ordering::Release);
    feeder.serves(Some(&engine));
    node.is_as(&engine);
    node.stop();
    feeder.end();
}

/// Another line of the same database: what the node has is not in its log.
#[test]
pub(super) fn a_node_takes_nothing_that_its_log_does_not_go_on_with() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, quick());
    (0..20).for_each(|k| put(&engine, k, k).unwrap());
    shipped(&engine, &archive);
    let feeder = Feeder::of(&engine);
    let node = bench.fed("far", &feeder).unwrap();
    node.is_as(&engine);
    // The archive ends here; the node has more.
    archive.stop();
    let (_, other) = bench.restored("other");
    (0..5).for_each(|k| put(&engine, k, -1).unwrap());
    node.is_as(&engine);
    feeder.end();
    (0..200).for_each(|k| put(&other, k % 30, k + 100).unwrap());
    assert!(other.durable().lsn > engine.durable().lsn);
    feeder.serves(Some(&other));
    node.is_as(&other);
    assert!(node.node.status().joins >= 2, "{:?}", node.node.status());
    node.stop();
    feeder.end();
}

#[test]
fn another_database_is_refused_and_said() {
    let bench = Bench::new();
    let engine = bench.open("db");
    put(&engine, 1, 1).unwrap();
    let feeder = Feeder::of(&engine);
    let node = bench.fed("far", &feeder).unwrap();
    node.is_as(&engine);
    feeder.end();
    let stranger = bench.open("stranger");
    (0..50).for_each(|k| put(&stranger, k, k).unwrap());
    feeder.serves(Some(&stranger));
    until("it says so", || {
        node.mirror.status().error.is_some_and(|error| error.message().contains("of another database"))
    });
    assert_eq!(all(&node.node.engine()), all(&engine), "it shows what it has");
    node.stop();
    feeder.end();
    // A server that follows feeds nobody, and a node waits no longer than it may.
    feeder.serves(None);
    let (env, dir) = (Env::real(), bench.at("new"));
    let transit = Arc::new(Transit::new(&env, &dir, Arc::new(FileStore::new(&env, &dir.join("incoming"))), "nowhere"));
    let fed = Fed::start(&env, Arc::new(To(feeder)), &transit).unwrap();
    let error = Mirror::start_fed(&env, &transit, &dir, Duration::from_millis(300)).err().unwrap();
    assert!(error.message().contains("away"), "{error}");
    fed.stop();
}
