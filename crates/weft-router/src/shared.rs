//! What all sessions share: options, servers, and who is there.
//!
//! ```text
//!   7: secret 5f3a9c01, runs on 127.0.0.1:5433     CancelRequest 7 5f3a9c01 ─▶ a cancel request there, with its key
//!   8: secret 77b01d42, between two servers        CancelRequest 8 77b01d42 ─▶ noted: it runs nowhere else
//!   9: secret 0b1e4a77, runs nothing               CancelRequest 9 0b1e4a77 ─▶ nothing
//! ```
//!
//! 1. A cancel request is handed on only while the session's statement runs on the server that it is sent to: the
//!    session cannot go on until the server has dealt with it, so it stops nothing that comes later.
//! 2. A statement that was cancelled is not begun again on another server.
//! 3. A node that does not deal with a cancel request loses the connection. The writer is waited for: what it was asked
//!    it may do, and a request that it deals with late must not meet what comes next.
//! 4. Who has not logged in holds no place: such clients have a number and a time of their own, and when they are too
//!    many the one goes that has been there longest.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use weft_env::sync::Mutex;
use weft_env::{Env, have_ended};
use weft_format::{Code, Error, Result};
use weft_kernel::fault;
use weft_wire::auth::Attempts;
use weft_wire::client::{Canceller, Client, ClientError};
use weft_wire::net::Socket;

use crate::counters::Counters;
use crate::faults;
use crate::options::{Door, Options, Place};
use crate::servers::{Attached, Server, Servers};
use crate::session::Who;

/// Bytes of the secret with which a client may cancel; version 3.0 of the protocol has four.
const SECRET_BYTES: usize = 4;
/// So many servers are sent cancel requests at a time when the router ends.
const CANCELS_AT_ONCE: usize = 32;
/// How long that may take.
const CANCELS_TIME: Duration = Duration::from_secs(5);
/// How often a writer that is not there is tried again.
const WRITER_PAUSE: Duration = Duration::from_millis(100);

/// Options, servers, and who is there.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) servers: Servers,
    pub(crate) env: Env,
    pub(crate) tls: Option<Arc<rustls::ServerConfig>>,
    pub(crate) counters: Counters,
    attempts: Attempts,
    newcomers: Mutex<Newcomers>,
    entries: Mutex<(u32, BTreeMap<u32, Arc<Entry>>)>,
    pub(crate) closing: AtomicBool,
}

/// Clients that have not logged in, in the order in which they came, and when their time ends.
#[derive(Default)]
struct Newcomers {
    last: u64,
    waiting: BTreeMap<u64, (u64, Socket)>,
}

/// A client that has not logged in; dropping it says that it has, or is gone.
pub(crate) struct Newcomer {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.shared.newcomers.lock().waiting.remove(&self.number);
    }
}

/// What stops what runs on a connection.
pub(crate) struct Way {
    pub(crate) canceller: Canceller,
    pub(crate) socket: Socket,
    pub(crate) server: Arc<Server>,
    pub(crate) is_node: bool,
}

/// A session.
pub(crate) struct Entry {
    pub(crate) id: u32,
    pub(crate) secret: [u8; SECRET_BYTES],
    socket: Socket,
    running: Mutex<Running>,
    /// The last look found that its client has ended.
    has_ended: AtomicBool,
}

/// What a session does.
#[derive(Default)]
struct Running {
    /// It runs something, wherever that is.
    is_busy: bool,
    /// That was cancelled.
    is_cancelled: bool,
    /// Where it is.
    way: Option<Arc<Way>>,
}

impl Entry {
    /// Statements begin: cancel requests from here on are for them.
    pub(crate) fn begin(&self) {
        *self.running.lock() = Running { is_busy: true, ..Running::default() };
    }

    /// They go to a server. False when they were cancelled (shared 2).
    pub(crate) fn goes(&self, way: &Arc<Way>) -> bool {
        let mut running = self.running.lock();
        running.way = Some(Arc::clone(way));
        !running.is_cancelled || fault::active(faults::FORGET_CANCEL)
    }

    /// They run on no server; waits until a cancel request that was on its way has been dealt with (shared 1).
    pub(crate) fn leaves(&self) {
        self.running.lock().way = None;
    }

    /// They have ended.
    pub(crate) fn end(&self) {
        *self.running.lock() = Running::default();
    }

    /// Whether they were cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.running.lock().is_cancelled
    }

    /// Stops what it runs. The writer is waited for however long it takes, as its session does (shared 1), unless the
    /// router `closes`.
    fn cancel(&self, closes: &dyn Fn() -> bool) {
        let mut running = self.running.lock();
        running.is_cancelled = running.is_busy;
        let Some(way) = &running.way else { return };
        let stopped = match way.is_node {
            true => way.canceller.cancel(),
            false => way.canceller.cancel_unless(&|| closes() || way.server.is_shut()),
        };
        if stopped.is_err() && way.is_node {
            // Shared 3.
            way.socket.shutdown();
        }
    }

    /// The client has gone.
    fn note_gone(&self) {
        self.socket.shutdown();
        let Some(mut running) = self.running.try_lock() else { return };
        running.is_cancelled = running.is_busy;
        if let Some(way) = &running.way {
            // A server stops what it runs for a client that has gone: nobody must wait for it here.
            way.socket.shutdown();
        }
    }
}

/// A session's place among those there; dropping it frees the place.
pub(crate) struct Slot {
    shared: Arc<Shared>,
    pub(crate) entry: Arc<Entry>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.entries.lock().1.remove(&self.entry.id);
    }
}

impl Shared {
    pub(crate) fn new(options: Options, env: Env) -> Result<Shared> {
        let tls = options.tls.as_ref().map(weft_wire::TlsIdentity::config).transpose()?;
        let servers = Servers::new(&options.writer, &options.nodes);
        let (attempts, entries, newcomers) = (Attempts::default(), Mutex::default(), Mutex::default());
        let (counters, closing) = (Counters::default(), AtomicBool::new(false));
        Ok(Shared { options, servers, env, tls, counters, attempts, newcomers, entries, closing })
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// A client has come (shared 4).
    pub(crate) fn arrive(self: &Arc<Shared>, socket: &Socket) -> Newcomer {
        let limit = u64::try_from(self.options.authentication_timeout.as_nanos()).unwrap_or(u64::MAX);
        let until = self.env.clock.monotonic_nanos().saturating_add(limit);
        let mut newcomers = self.newcomers.lock();
        if newcomers.waiting.len() >= self.options.connections_max.max(1)
            && let Some((_, (_, oldest))) = newcomers.waiting.pop_first()
        {
            oldest.shutdown();
        }
        newcomers.last += 1;
        let number = newcomers.last;
        newcomers.waiting.insert(number, (until, socket.clone()));
        Newcomer { shared: Arc::clone(self), number }
    }

    /// Ends clients whose time to log in has passed.
    pub(crate) fn end_late(&self) {
        let now = self.env.clock.monotonic_nanos();
        let mut newcomers = self.newcomers.lock();
        // They come in order, and have the same time.
        while newcomers.waiting.first_key_value().is_some_and(|(_, (until, _))| *until <= now) {
            let Some((_, (_, late))) = newcomers.waiting.pop_first() else { return };
            late.shutdown();
        }
    }

    /// A place for a client; an error when all are taken.
    pub(crate) fn enter(self: &Arc<Shared>, socket: &Socket) -> Result<Slot> {
        let secret = (self.env.rng.next_u64() as u32).to_be_bytes();
        let mut entries = self.entries.lock();
        if entries.1.len() >= self.options.connections_max {
            let message = "sorry, too many clients already";
            return Err(Error::new(Code::TooManyTransactions, message).hint("raise --max-connections of the router"));
        }
        entries.0 = entries.0.checked_add(1).unwrap_or(1);
        let (running, has_ended) = (Mutex::default(), AtomicBool::new(false));
        let entry = Arc::new(Entry { id: entries.0, secret, socket: socket.clone(), running, has_ended });
        let id = entry.id;
        entries.1.insert(id, Arc::clone(&entry));
        Ok(Slot { shared: Arc::clone(self), entry })
    }

    pub(crate) fn sessions(&self) -> usize {
        self.entries.lock().1.len()
    }

    /// A connection to the writer in a client's name. A writer that is not there is waited for: a node may take its
    /// place meanwhile.
    pub(crate) fn connect_writer(&self, who: &Who) -> std::result::Result<(Client, Attached), ClientError> {
        let deadline = Instant::now() + self.options.writer_wait;
        loop {
            let mut attached = self.servers.attach_writer();
            let server = Arc::clone(attached.server());
            let place = &server.place;
            let failed = match Client::connect(&who.target(place, &self.options)) {
                Ok(mut client) => {
                    self.check_proof(&client, place)?;
                    // One that was the writer may have come back as a node.
                    let writes = client.parameter("in_hot_standby") != Some("on");
                    if writes && attached.register(client.channel().socket()) {
                        return Ok((client, attached));
                    }
                    let message = format!("the server at {place} does not write any more");
                    Error::new(Code::CannotConnectNow, message).hint("promote a node, or wait until it is found").into()
                }
                Err(failed) => failed,
            };
            let passes = matches!(&failed, ClientError::Local(error) if !error.sqlstate().starts_with("28"))
                || matches!(failed.sqlstate(), "57P01" | "57P02" | "57P03");
            if !passes || self.is_closing() || Instant::now() >= deadline {
                return Err(match failed {
                    ClientError::Local(error) if passes => {
                        let message = format!("the writer at {place} cannot be reached: {}", error.message());
                        Error::new(Code::CannotConnectNow, message).hint("try again when it is there").into()
                    }
                    failed => failed,
                });
            }
            thread::sleep(WRITER_PAUSE);
        }
    }

    /// An error when a server has let somebody in without the password that it is to ask for: it may be none of ours.
    pub(crate) fn check_proof(&self, client: &Client, place: &Place) -> Result<()> {
        if self.options.door == Door::Trust || client.gave_password() {
            return Ok(());
        }
        let message = format!("the server at {place} trusts everybody: it asked for no password");
        let hint = "start it with --auth scram, or the router with --auth trust";
        Err(Error::new(Code::InvalidAuthorization, message).hint(hint))
    }

    /// How many clients have not logged in.
    pub(crate) fn newcomers(&self) -> usize {
        self.newcomers.lock().waiting.len()
    }

    /// Hands a cancel request on, if its secret is the session's.
    pub(crate) fn cancel(&self, id: u32, secret: &[u8]) {
        let entry = self.entries.lock().1.get(&id).cloned();
        if let Some(entry) = entry.filter(|entry| entry.secret[..] == *secret) {
            self.counters.cancels.up();
            entry.cancel(&|| self.is_closing());
        }
    }

    /// Stops the statements of clients that are gone. A session that runs nothing finds the end by itself.
    pub(crate) fn end_gone(&self) -> io::Result<()> {
        let entries: Vec<Arc<Entry>> = self.entries.lock().1.values().cloned().collect();
        // One whose cancel request is on its way is looked at next time.
        let runs = |entry: &Arc<Entry>| entry.running.try_lock().is_some_and(|running| running.way.is_some());
        let running: Vec<Arc<Entry>> = entries.into_iter().filter(runs).collect();
        let sockets: Vec<_> = running.iter().map(|entry| entry.socket.as_fd()).collect();
        for (entry, ended) in running.iter().zip(have_ended(&sockets)?) {
            if ended && entry.has_ended.swap(ended, Ordering::SeqCst) {
                entry.note_gone();
            }
        }
        Ok(())
    }

    /// No new clients; those there find the end.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        let entries: Vec<Arc<Entry>> = self.entries.lock().1.values().cloned().collect();
        entries.iter().for_each(|entry| entry.socket.end_reads());
        let begun = Instant::now();
        let late = || begun.elapsed() >= CANCELS_TIME;
        for some in entries.chunks(CANCELS_AT_ONCE).take_while(|_| begun.elapsed() < CANCELS_TIME) {
            thread::scope(|scope| some.iter().for_each(|entry| drop(scope.spawn(|| entry.cancel(&late)))));
        }
    }

    /// An error when an address has failed to log in too often.
    pub(crate) fn check_attempts(&self, address: IpAddr) -> Result<()> {
        self.attempts.check(address, self.env.clock.monotonic_nanos())
    }

    /// Notes how a login went.
    pub(crate) fn note_attempt(&self, address: IpAddr, succeeded: bool) {
        self.attempts.note(address, succeeded, self.env.clock.monotonic_nanos());
    }
}
