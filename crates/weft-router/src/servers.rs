//! The servers: who writes, which nodes are well, and which has the fewest sessions.
//!
//! ```text
//!   0  10.0.0.1  epoch 6             the writer, until ...
//!   1  10.0.0.2  up    12 sessions   ... it is promoted and says epoch 7: the writer from then on
//!   2  10.0.0.3  up    11 sessions   attach() ─▶ 2: 12 sessions
//! ```
//!
//! 1. A node is down when it lets nobody connect, or its probe says so. What one session meets there (it was ended, its
//!    password is not taken) says nothing to the others.
//! 2. The writer is who says that it writes, with the highest epoch. One that was overtaken says a lower one, however
//!    late it wakes up: nobody goes back to it. A server that was not seen to follow the writer takes its place only
//!    when that one does not write, and none does whose newest commit is before one that was seen here: it is of
//!    another database, or of an old copy.
//! 3. Connections to a writer that was overtaken, and to a node that is silent, are ended: who waits there goes on
//!    elsewhere. One that is registered is met by that; later ones are refused until the server is well.
//! 4. Each database has a number. Nobody reads on a node before the writer has told its number, or was asked and told
//!    none, and servers of another database count for nothing from then on. Who finds no writer that answers takes
//!    nobody for it while servers tell of different databases.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use weft_env::sync::Mutex;
use weft_kernel::fault;
use weft_wire::net::Socket;

use crate::faults;
use crate::options::Place;

/// A server.
pub(crate) struct Server {
    pub(crate) place: Place,
    /// Its place among the servers.
    pub(crate) number: usize,
    is_up: AtomicBool,
    /// It was seen to follow the writer.
    has_followed: AtomicBool,
    /// The number of its database, as it told last; 0: it told none.
    told: AtomicU64,
    /// It was looked at once, whatever was found.
    is_looked_at: AtomicBool,
    /// Sessions that read there.
    sessions: AtomicUsize,
    connections: Mutex<Connections>,
}

/// The connections of sessions to a server.
#[derive(Default)]
struct Connections {
    is_shut: bool,
    last: u64,
    sockets: BTreeMap<u64, Socket>,
}

impl Server {
    fn new(number: usize, place: &Place) -> Arc<Server> {
        // Of the others nobody knows yet whose nodes they are (servers 4).
        let is_up = AtomicBool::new(number == 0);
        let (has_followed, told, is_looked_at, sessions, connections) = Default::default();
        let place = place.clone();
        Arc::new(Server { place, number, is_up, has_followed, told, is_looked_at, sessions, connections })
    }

    /// Notes that it was looked at.
    pub(crate) fn set_looked_at(&self) {
        self.is_looked_at.store(true, Ordering::SeqCst);
    }

    /// Whether it was looked at once.
    pub(crate) fn is_looked_at(&self) -> bool {
        self.is_looked_at.load(Ordering::SeqCst)
    }

    pub(crate) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::SeqCst)
    }

    /// Notes whether it is well; true when that is new.
    pub(crate) fn set_up(&self, is_up: bool) -> bool {
        if is_up {
            self.connections.lock().is_shut = false;
        }
        self.is_up.swap(is_up, Ordering::SeqCst) != is_up
    }

    /// Whether it is shut.
    pub(crate) fn is_shut(&self) -> bool {
        self.connections.lock().is_shut
    }

    /// Connections of sessions to it.
    pub(crate) fn connections(&self) -> usize {
        self.connections.lock().sockets.len()
    }

    /// Ends the connections there, and refuses others until it is well (servers 3); how many there were.
    pub(crate) fn shut(&self) -> usize {
        let mut connections = self.connections.lock();
        connections.is_shut = true;
        connections.sockets.values().for_each(Socket::shutdown);
        connections.sockets.len()
    }
}

/// A session's place at a server; dropping it frees the place.
pub(crate) struct Attached {
    server: Arc<Server>,
    is_node: bool,
    connection: Option<u64>,
}

impl Attached {
    fn to(server: &Arc<Server>, is_node: bool) -> Attached {
        if is_node {
            server.sessions.fetch_add(1, Ordering::SeqCst);
        }
        Attached { server: Arc::clone(server), is_node, connection: None }
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Whether it is a node's.
    pub(crate) fn is_node(&self) -> bool {
        self.is_node
    }

    /// Notes its connection; false when the server was shut meanwhile.
    pub(crate) fn register(&mut self, socket: &Socket) -> bool {
        let mut connections = self.server.connections.lock();
        if connections.is_shut {
            return false;
        }
        connections.last += 1;
        let number = connections.last;
        connections.sockets.insert(number, socket.clone());
        self.connection = Some(number);
        true
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if self.is_node {
            self.server.sessions.fetch_sub(1, Ordering::SeqCst);
        }
        if let Some(number) = self.connection {
            self.server.connections.lock().sockets.remove(&number);
        }
    }
}

/// What it means that a server says it writes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrote {
    /// It is the one that is known.
    Known,
    /// It has taken that one's place, which had so many connections.
    Changed {
        /// Those that were ended.
        ended: usize,
    },
    /// Another has taken its place, or it is of another database, or an old copy.
    Overtaken,
}

/// All of them.
pub(crate) struct Servers {
    all: Vec<Arc<Server>>,
    /// The number of the writer, the epoch that it has told (0: none yet), and whether it wrote when it was asked last.
    writer: Mutex<Writes>,
    /// The newest commit that anybody was told of.
    seen: AtomicU64,
}

#[derive(Clone, Copy)]
struct Writes {
    number: usize,
    epoch: u64,
    answers: bool,
    /// The number of its database; 0: it told none. None: it was not asked yet.
    database: Option<u64>,
}

/// Of which database a server is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The writer's, as far as both have told.
    Ours,
    /// It is the writer, and was of another one before.
    Changed,
    /// Another one.
    Foreign,
    /// The writer was not asked yet.
    Unknown,
}

impl Servers {
    /// The writer, taken to be well until it is found not to be, and its nodes, which are not before they are found.
    pub(crate) fn new(writer: &Place, nodes: &[Place]) -> Servers {
        let places = std::iter::once(writer).chain(nodes).enumerate();
        let all = places.map(|(number, place)| Server::new(number, place)).collect();
        let writer = Mutex::new(Writes { number: 0, epoch: 0, answers: true, database: None });
        Servers { all, writer, seen: AtomicU64::new(0) }
    }

    pub(crate) fn all(&self) -> &[Arc<Server>] {
        &self.all
    }

    /// Whether a server is the writer.
    pub(crate) fn is_writer(&self, number: usize) -> bool {
        self.writer.lock().number == number
    }

    /// The epoch that the writer has told; 0: none yet.
    pub(crate) fn epoch(&self) -> u64 {
        self.writer.lock().epoch
    }

    /// A place at the writer.
    pub(crate) fn attach_writer(&self) -> Attached {
        Attached::to(&self.all[self.writer.lock().number], false)
    }

    /// A place at the node with the fewest sessions among those that are well and `wanted`; none when none is.
    pub(crate) fn attach(&self, wanted: impl Fn(&Server) -> bool) -> Option<Attached> {
        let writer = self.writer.lock().number;
        let up = self.all.iter().filter(|server| server.number != writer && server.is_up() && wanted(server));
        let server = up.min_by_key(|server| server.sessions.load(Ordering::SeqCst))?;
        Some(Attached::to(server, true))
    }

    /// The writer has told of a commit.
    pub(crate) fn note_commit(&self, commit: u64) {
        self.seen.fetch_max(commit, Ordering::SeqCst);
    }

    /// A server says of which database it is, or nothing: whose that is (servers 4).
    pub(crate) fn note_database(&self, server: usize, number: Option<u64>) -> Whose {
        let number = number.unwrap_or(0);
        let mut writer = self.writer.lock();
        self.all[server].told.store(number, Ordering::SeqCst);
        if writer.number == server {
            let before = writer.database.replace(number).unwrap_or(0);
            // It may have been restored.
            return if before > 0 && number > 0 && before != number { Whose::Changed } else { Whose::Ours };
        }
        match writer.database {
            None => Whose::Unknown,
            Some(known) if known > 0 && number > 0 && known != number => Whose::Foreign,
            Some(_) => Whose::Ours,
        }
    }

    /// Whether servers have told of different databases.
    fn are_several(&self) -> bool {
        let mut told = self.all.iter().map(|server| server.told.load(Ordering::SeqCst)).filter(|number| *number > 0);
        let first = told.next();
        told.any(|number| Some(number) != first)
    }

    /// A server follows a writer in an epoch.
    pub(crate) fn note_follows(&self, number: usize, epoch: u64) {
        let mut writer = self.writer.lock();
        if writer.number == number {
            writer.answers = false;
        } else if epoch > 0 && epoch == writer.epoch {
            self.all[number].has_followed.store(true, Ordering::SeqCst);
        }
    }

    /// A server says that it writes, in which epoch, and its newest commit (servers 2).
    pub(crate) fn note_writes(&self, number: usize, (epoch, commit): (u64, u64)) -> Wrote {
        let mut writer = self.writer.lock();
        if writer.number == number {
            // It may have been restored, and count anew.
            (writer.epoch, writer.answers) = (epoch, true);
            self.note_commit(commit);
            self.all[number].set_up(true);
            return Wrote::Known;
        }
        let is_known = self.all[number].has_followed.load(Ordering::SeqCst);
        let is_ours = is_known || !writer.answers && (writer.database.is_some() || !self.are_several());
        let is_later = epoch > writer.epoch || fault::active(faults::BELIEVE_OVERTAKEN);
        if !is_later || !is_ours || commit < self.seen.load(Ordering::SeqCst) {
            return Wrote::Overtaken;
        }
        let before = std::mem::replace(&mut writer.number, number);
        (writer.epoch, writer.answers) = (epoch, true);
        writer.database = Some(self.all[number].told.load(Ordering::SeqCst));
        self.all[number].set_up(true);
        self.all[before].set_up(false);
        Wrote::Changed { ended: self.all[before].shut() }
    }

    /// The writer does not write, or does not answer.
    pub(crate) fn note_writer_silent(&self, number: usize) {
        let mut writer = self.writer.lock();
        writer.answers &= writer.number != number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn servers() -> Servers {
        let place = |text: &str| Place::parse(text).unwrap();
        let servers = Servers::new(&place("w:1"), &[place("a:1"), place("b:2")]);
        assert!(servers.attach(|_| true).is_none(), "nobody has asked them (servers 4)");
        for server in servers.all() {
            server.set_up(true);
        }
        servers
    }

    fn host(attached: &Attached) -> &str {
        &attached.server().place.host
    }

    #[test]
    fn the_node_with_the_fewest_sessions_is_taken() {
        let servers = servers();
        let first = servers.attach(|_| true).unwrap();
        let second = servers.attach(|_| true).unwrap();
        assert_ne!(host(&first), host(&second));
        let freed = host(&first).to_owned();
        drop(first);
        assert_eq!(host(&servers.attach(|_| true).unwrap()), freed);
        assert!(servers.all()[1].set_up(false) && !servers.all()[1].set_up(false));
        assert_eq!(host(&servers.attach(|_| true).unwrap()), "b");
        servers.all()[2].set_up(false);
        assert!(servers.attach(|_| true).is_none());
        servers.all()[1].set_up(true);
        assert_eq!(host(&servers.attach(|_| true).unwrap()), "a");
        assert!(servers.attach(|node| node.number > 1).is_none());
    }

    #[test]
    fn the_highest_epoch_writes() {
        let servers = servers();
        assert_eq!(servers.note_writes(0, (6, 100)), Wrote::Known);
        // It was never seen to follow this writer: it may be of another database.
        servers.note_follows(1, 3);
        assert_eq!(servers.note_writes(1, (40, 1000)), Wrote::Overtaken);
        servers.note_follows(1, 6);
        let (here, _there) = UnixStream::pair().unwrap();
        let mut of_old = servers.attach_writer();
        assert!(of_old.register(&Socket::from(here)));
        servers.note_commit(120);
        assert_eq!(servers.note_writes(1, (7, 119)), Wrote::Overtaken, "it is an old copy");
        assert_eq!(servers.note_writes(1, (7, 120)), Wrote::Changed { ended: 1 });
        assert_eq!((host(&servers.attach_writer()), host(&servers.attach(|_| true).unwrap())), ("a", "b"));
        // The one before wakes up.
        assert_eq!(servers.note_writes(0, (6, 130)), Wrote::Overtaken);
        assert!(servers.is_writer(1));
        let (here, _there) = UnixStream::pair().unwrap();
        let socket = Socket::from(here);
        let mut late = Attached::to(&servers.all()[0], true);
        assert!(!late.register(&socket), "it is shut");
        servers.all()[0].set_up(true);
        assert!(late.register(&socket), "it follows, and is well");
        servers.note_follows(0, 7);
        fault::plant(Some(faults::BELIEVE_OVERTAKEN));
        let believed = servers.note_writes(0, (6, 130));
        fault::plant(None);
        assert_eq!(believed, Wrote::Changed { ended: 0 }, "BELIEVE_OVERTAKEN is noticed");
    }

    #[test]
    fn servers_of_another_database_are_none_of_these() {
        let servers = servers();
        assert_eq!([1, 2].map(|node| servers.note_database(node, Some(77))), [Whose::Unknown, Whose::Unknown]);
        assert_eq!(servers.note_database(0, Some(5)), Whose::Ours, "the writer was named by who started the router");
        assert_eq!(servers.note_database(1, Some(77)), Whose::Foreign);
        assert_eq!(servers.note_database(2, None), Whose::Ours, "it says nothing: a node of an older writer");
        assert_eq!(servers.note_database(2, Some(5)), Whose::Ours);
        assert_eq!(servers.note_database(0, Some(8)), Whose::Changed, "another directory at the writer's address");
        assert_eq!(
            (servers.note_database(2, Some(5)), servers.note_database(0, Some(5))),
            (Whose::Foreign, Whose::Changed)
        );
        // Who takes the writer's place is of the same.
        assert_eq!(servers.note_database(2, Some(5)), Whose::Ours);
        assert_eq!(servers.note_writes(0, (6, 100)), Wrote::Known);
        servers.note_follows(2, 6);
        assert_eq!(servers.note_writes(2, (7, 100)), Wrote::Changed { ended: 0 });
        assert_eq!(servers.note_database(0, Some(77)), Whose::Foreign);
        assert_eq!(servers.note_database(0, Some(5)), Whose::Ours);
    }

    #[test]
    fn without_a_writer_servers_of_several_databases_are_not_chosen_from() {
        let servers = servers();
        servers.note_database(1, Some(77));
        servers.note_database(2, Some(5));
        servers.note_writer_silent(0);
        assert_eq!(servers.note_writes(1, (9, 1)), Wrote::Overtaken, "which of them is meant nobody knows");
        servers.note_database(1, Some(5));
        assert_eq!(servers.note_writes(1, (9, 1)), Wrote::Changed { ended: 0 });
        assert_eq!(
            (servers.note_database(2, Some(5)), servers.note_database(2, Some(77))),
            (Whose::Ours, Whose::Foreign)
        );
    }

    #[test]
    fn a_router_that_begins_late_finds_who_writes() {
        let servers = servers();
        assert_eq!(servers.note_writes(2, (9, 1)), Wrote::Overtaken);
        servers.note_writer_silent(1);
        assert_eq!(servers.note_writes(2, (9, 1)), Wrote::Overtaken);
        servers.note_writer_silent(0);
        assert_eq!(servers.note_writes(2, (9, 1)), Wrote::Changed { ended: 0 });
        assert_eq!(host(&servers.attach_writer()), "b");
        // Restored, it counts anew; who follows it then is known by that.
        assert_eq!(servers.note_writes(2, (2, 1)), Wrote::Known);
        servers.note_follows(1, 2);
        assert_eq!(servers.note_writes(1, (3, 1)), Wrote::Changed { ended: 0 });
    }
}
