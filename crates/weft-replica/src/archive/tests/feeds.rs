//! Nodes that are fed: nothing between them and the writer but a connection, which a test may cut.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::super::mirror_note::Mirrored;
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
    base_log_bytes: AtomicU64,
    serves_no_nodes: AtomicBool,
    ends: AtomicBool,
    cut: Mutex<Option<Arc<AtomicBool>>>,
    threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

impl Feeder {
    fn of(engine: &Arc<Engine>) -> Arc<Feeder> {
        let feeder = Feeder::default();
        feeder.serves(Some(engine));
        feeder.base_log_bytes.store(1 << 30, Ordering::Release);
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
            keep_bytes: (!feeder.serves_no_nodes.load(Ordering::Acquire)).then_some(1 << 30),
            base_log_bytes: feeder.base_log_bytes.load(Ordering::Acquire),
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
    dir: PathBuf,
}

impl Bench {
    fn fed(&self, name: &str, feeder: &Arc<Feeder>) -> weft_format::Result<FedNode> {
        let (env, dir) = (Env::real(), self.at(name));
        let store = Arc::new(FileStore::new(&env, &dir.join("incoming")));
        let transit = Arc::new(Transit::new(&env, &dir, store, "the server"));
        let connect = Arc::new(To(feeder.clone()));
        let mirror = Mirror::start_fed(&env, (&transit, connect), &dir, Duration::from_secs(20))?;
        Ok(FedNode { node: node_at(&dir), mirror, dir })
    }
}

/// Bytes and names of what is in a folder and those below.
fn content(dir: &Path) -> (u64, usize) {
    let (mut bytes, mut names) = (0, 0);
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let inside = if entry.path().is_dir() {
            content(&entry.path())
        } else {
            (entry.metadata().map_or(0, |data| data.len()), 0)
        };
        (bytes, names) = (bytes + inside.0, names + inside.1 + 1);
    }
    (bytes, names)
}

impl FedNode {
    fn is_as(&self, engine: &Arc<Engine>) {
        far_is_as(&self.node, &self.mirror, engine);
    }

    fn stop(self) {
        self.node.stop();
        self.mirror.stop();
        self.node.engine().close().unwrap();
    }

    /// Of which base it is made: another one each time that it begins anew.
    fn begun_with(&self) -> (u64, i64) {
        let base = Mirrored::read(&Env::real(), &self.dir).unwrap().unwrap().base;
        (base.backup, base.wall)
    }
}

#[test]
pub(super) fn a_node_is_fed_writes_loads_conversions_and_merges() {
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
    node.stop();
    feeder.end();
    // Nothing is kept for a connection that has ended.
    for round in 12..16 {
        work(&engine, round);
    }
    assert_eq!(engine.followed_log_bytes(), 0);
}

/// Bases that a later one takes the place of, and what was taken goes.
#[test]
fn bases_take_the_place_of_earlier_ones_and_what_was_taken_goes() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let feeder = Feeder::of(&engine);
    feeder.base_log_bytes.store(1 << 15, Ordering::Release);
    let node = bench.fed("far", &feeder).unwrap();
    for round in 0..16 {
        work(&engine, round);
        node.is_as(&engine);
    }
    until("newer bases are adopted", || {
        put(&engine, 1, 1).unwrap();
        node.begun_with().0 > 3
    });
    node.is_as(&engine);
    assert_eq!(node.node.status().joins, 1, "{:?} {:?}", node.node.status(), node.mirror.status());
    assert_eq!(feeder.threads.lock().len(), 1, "one connection was enough");
    // A base that is on its way may be there.
    until("what was taken has gone", || {
        put(&engine, 1, 1).unwrap();
        let (bytes, names) = content(&bench.at("far").join("incoming"));
        bytes < 200_000 && names < 400
    });
    node.stop();
    feeder.end();
}

/// Connections that end in the middle of whatever goes on, the first base among it.
#[test]
fn connections_that_end_anywhere_lose_nothing() {
    for messages in [11, 24, 40, 61, 200] {
        let bench = Bench::new();
        let engine = bench.open("db");
        let _herald = crate::Herald::start(&engine, crate::HeraldOptions::default()).unwrap();
        (0..20).for_each(|k| put(&engine, k, k).unwrap());
        load(&engine, 1000..1400);
        let feeder = Feeder::of(&engine);
        feeder.base_log_bytes.store(1 << 15, Ordering::Release);
        feeder.messages.store(messages, Ordering::Release);
        let free = feeder.clone();
        let freeing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(400));
            free.messages.store(0, Ordering::Release);
        });
        let node = bench.fed("far", &feeder).unwrap();
        freeing.join().unwrap();
        feeder.messages.store(messages, Ordering::Release);
        feeder.cut();
        for round in 0..6 {
            work(&engine, round);
            std::thread::sleep(Duration::from_millis(30));
        }
        feeder.messages.store(0, Ordering::Release);
        node.is_as(&engine);
        assert!(feeder.threads.lock().len() > 1, "connections were cut");
        assert_eq!(node.node.status().joins, 1, "{messages}: {:?} {:?}", node.node.status(), node.mirror.status());
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
    let mut begun = None;
    for round in 0..5 {
        let node = bench.fed("far", &feeder).unwrap();
        node.is_as(&engine);
        assert_eq!(*begun.get_or_insert(node.begun_with()), node.begun_with(), "round {round}: it began anew");
        work(&engine, round);
        tidy_up(&engine);
        put(&engine, 7, round).unwrap();
        if round % 2 == 0 {
            node.is_as(&engine);
        }
        node.stop();
        feeder.end();
        if round % 3 == 1 {
            super::mirrors::leave_torn(&bench.at("far"));
        }
        feeder.serves(Some(&engine));
        work(&engine, round + 20);
    }
    let node = bench.fed("far", &feeder).unwrap();
    node.is_as(&engine);
    assert_eq!(begun, Some(node.begun_with()), "it never began anew");
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

/// The server is opened again, with and without a farewell.
#[test]
fn servers_that_come_and_go_feed_on() {
    let bench = Bench::new();
    let mut engine = bench.open("db");
    (0..20).for_each(|k| put(&engine, k, k).unwrap());
    let feeder = Feeder::of(&engine);
    let node = bench.fed("far", &feeder).unwrap();
    for round in 0..4 {
        work(&engine, round);
        feeder.end();
        put(&engine, 3, round).unwrap();
        if round % 2 == 0 {
            engine.close().unwrap();
        }
        drop(engine);
        engine = bench.open("db");
        feeder.serves(Some(&engine));
        work(&engine, round + 30);
        node.is_as(&engine);
    }
    node.stop();
    feeder.end();
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
    node.stop();
    feeder.end();
}

/// A table that nobody changes once it is loaded: its file is in each base.
fn load_still(engine: &Arc<Engine>) {
    let mut txn = engine.begin().unwrap();
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: false };
    txn.create_table(NewTable::new("still", Schema::new(vec![column("k")], vec![0]), "column")).unwrap();
    let t = txn.table("still").unwrap();
    let rows: Vec<Vec<u8>> = (0..500).map(|k| t.codec.encode([ValueRef::Int(k)])).collect();
    let batch = rows_to_batch(&t.def.schema, &t.codec, rows.iter().map(|row| &**row)).unwrap();
    txn.build(&t, &[batch]).unwrap();
    txn.commit().unwrap();
}

/// Files that edits name have gone while nobody was connected: the node is lost, and begins anew.
#[test]
pub(super) fn a_fed_node_that_lacks_files_begins_anew() {
    let bench = Bench::new();
    let engine = bench.open("db");
    (0..20).for_each(|k| put(&engine, k, k).unwrap());
    load_still(&engine);
    tidy_up(&engine);
    let feeder = Feeder::of(&engine);
    let node = bench.fed("far", &feeder).unwrap();
    node.is_as(&engine);
    feeder.end();
    // The log stays, files do not.
    engine.keep_log_from(weft_kernel::log::LogKeeper::Nodes, Some(weft_format::Lsn(0)));
    for round in 0..3 {
        (0..60).for_each(|k| put(&engine, k, round * 1000 + k).unwrap());
        tidy_up(&engine);
    }
    feeder.serves(Some(&engine));
    node.is_as(&engine);
    assert!(node.node.status().joins >= 2, "{:?}", node.node.status());
    assert_eq!(feeder.threads.lock().len(), 1, "what it has need not come again");
    node.stop();
    feeder.end();
}

/// What has come and is damaged comes again.
#[test]
pub(super) fn what_has_come_and_is_damaged_comes_again() {
    let bench = Bench::new();
    let engine = bench.open("db");
    (0..20).for_each(|k| put(&engine, k, k).unwrap());
    load_still(&engine);
    let feeder = Feeder::of(&engine);
    let node = bench.fed("far", &feeder).unwrap();
    node.is_as(&engine);
    let next = Mirrored::read(&Env::real(), &node.dir).unwrap().unwrap().next;
    node.stop();
    feeder.end();
    std::fs::write(bench.at("far").join("incoming").join(next.to_string()), b"no piece").unwrap();
    work(&engine, 1);
    feeder.serves(Some(&engine));
    let node = bench.fed("far", &feeder).unwrap();
    node.is_as(&engine);
    node.stop();
    feeder.end();
}

/// Another line of the same database: what the node has is not in its log. It may be the last that has it.
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
    let refused = |node: &FedNode| {
        until("it says so", || {
            node.mirror.status().error.is_some_and(|error| error.message().contains("the log of this server has not"))
        });
        assert_eq!(all(&node.node.engine()), all(&engine), "what it has stays");
    };
    // Behind it, and beyond it.
    feeder.serves(Some(&other));
    refused(&node);
    node.stop();
    (0..200).for_each(|k| put(&other, k % 30, k + 100).unwrap());
    assert!(other.durable().lsn > engine.durable().lsn);
    let node = bench.fed("far", &feeder).unwrap();
    refused(&node);
    // Its log does not even tell any more that it has something else.
    node.stop();
    for round in 12..18 {
        work(&other, round);
        tidy_up(&other);
    }
    let node = bench.fed("far", &feeder).unwrap();
    until("it says so", || {
        node.mirror.status().error.is_some_and(|error| error.message().contains("not known any more"))
    });
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(all(&node.node.engine()), all(&engine), "what it has stays");
    feeder.end();
    feeder.serves(Some(&engine));
    put(&engine, 9, 9).unwrap();
    node.is_as(&engine);
    node.stop();
    feeder.end();
}

/// The server was restored from its archive, and lacks nothing: the node goes on with what the restored manifest says.
#[test]
fn a_node_follows_its_server_that_was_restored() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, quick());
    let feeder = Feeder::of(&engine);
    let node = bench.fed("far", &feeder).unwrap();
    for round in 0..5 {
        work(&engine, round);
    }
    tidy_up(&engine);
    engine.flush().unwrap();
    shipped(&engine, &archive);
    node.is_as(&engine);
    feeder.end();
    archive.stop();
    let (_, other) = bench.restored("other");
    assert_eq!(all(&other), all(&engine));
    feeder.serves(Some(&other));
    for round in 12..16 {
        work(&other, round);
        node.is_as(&other);
    }
    assert!(node.node.engine().check().unwrap().is_empty());
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
    let connections = feeder.threads.lock().len();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(feeder.threads.lock().len() < connections + 6, "it asks less and less often");
    node.stop();
    feeder.end();
    // A node waits no longer than it may.
    feeder.serves(None);
    let (env, dir) = (Env::real(), bench.at("new"));
    let transit = Arc::new(Transit::new(&env, &dir, Arc::new(FileStore::new(&env, &dir.join("incoming"))), "nowhere"));
    let fed = (&transit, Arc::new(To(feeder)) as Arc<dyn Connect>);
    let error = Mirror::start_fed(&env, fed, &dir, Duration::from_millis(300)).err().unwrap();
    assert!(error.message().contains("away"), "{error}");
}

/// A server that feeds nobody for a while says nothing of what the node has: it may begin anew afterwards.
#[test]
fn a_node_that_was_turned_away_is_not_taken_for_one_that_is_ahead() {
    let bench = Bench::new();
    let engine = bench.open("db");
    (0..20).for_each(|k| put(&engine, k, k).unwrap());
    let feeder = Feeder::of(&engine);
    let node = bench.fed("far", &feeder).unwrap();
    node.is_as(&engine);
    feeder.end();
    feeder.serves_no_nodes.store(true, Ordering::Release);
    feeder.serves(Some(&engine));
    until("it says so", || {
        node.mirror.status().error.is_some_and(|error| error.message().contains("keeps nothing for nodes"))
    });
    // Nothing is kept for it meanwhile.
    for round in 0..6 {
        work(&engine, round);
        tidy_up(&engine);
    }
    feeder.serves_no_nodes.store(false, Ordering::Release);
    node.is_as(&engine);
    node.stop();
    feeder.end();
}

/// What a strange node answers to a request; none: it goes.
type AnswerTo = fn(&[u8]) -> Option<Vec<u8>>;

/// What no node of this release sends ends the connection, and nothing else.
#[test]
fn a_strange_node_is_given_up() {
    let bench = Bench::new();
    let engine = bench.open("db");
    put(&engine, 1, 1).unwrap();
    let answers: [AnswerTo; 5] = [
        |_| Some(Vec::new()),
        |_| Some(vec![200; 40]),
        |_| None,
        // Everything is there, whatever it is.
        |_| Some([&[0_u8; 17][..], b"strange"].concat()),
        // Names that do not end: the same ones again and again.
        |request| match request[0] {
            4 => Some([&[0_u8; 17][..], b"fence-18446744073709551615"].concat()),
            _ => Some([&[3_u8], &[0; 16][..], b"not there"].concat()),
        },
    ];
    for answer in answers {
        let ((to, from), (to_back, from_back)) = (channel::<Vec<u8>>(), channel());
        let (is_cut, left) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(10_000)));
        let there = Wire { to: to_back, from, is_cut: is_cut.clone(), left: left.clone() };
        let node = std::thread::spawn(move || {
            while let Ok(request) = from_back.recv() {
                let Some(answer) = answer(&request) else { return };
                if to.send(answer).is_err() {
                    return;
                }
            }
        });
        let options = FeedOptions { name: "strange".into(), ..FeedOptions::default() };
        let fed = feed(&engine, Box::new(there), &options, &|| true);
        node.join().unwrap();
        assert!(fed.is_err(), "it was no node");
        for round in 12..15 {
            work(&engine, round);
        }
        assert_eq!(engine.followed_log_bytes(), 0, "nothing is kept for it");
    }
    for name in ["", "../up", "a/b"] {
        let ((to, _from), (_to_back, from_back)) = (channel::<Vec<u8>>(), channel());
        let (is_cut, left) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(10)));
        let link = Wire { to, from: from_back, is_cut, left };
        let options = FeedOptions { name: name.into(), ..FeedOptions::default() };
        let error = feed(&engine, Box::new(link), &options, &|| true).unwrap_err();
        assert_eq!(error.code(), Code::InvalidName, "{error}");
    }
}
