//! What all sessions share: options, nodes, and who is there.
//!
//! ```text
//!   7: secret 5f3a9c01, runs on 127.0.0.1:5433     CancelRequest 7 5f3a9c01 ─▶ a cancel request there, with its key
//!   8: secret 77b01d42, runs nothing               CancelRequest 8 77b01d42 ─▶ nothing
//! ```
//!
//! 1. A cancel request is handed on only while the session's statement runs on the server that it is sent to: the
//!    session cannot go on until the server has dealt with it, so it stops nothing that comes later.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weft_env::sync::Mutex;
use weft_env::{Env, have_ended};
use weft_format::{Code, Error, Result};
use weft_wire::auth::Attempts;
use weft_wire::client::Canceller;
use weft_wire::net::Socket;

use crate::nodes::Nodes;
use crate::options::Options;

/// Bytes of the secret with which a client may cancel; version 3.0 of the protocol has four.
const SECRET_BYTES: usize = 4;

/// Options, nodes, and who is there.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) nodes: Nodes,
    pub(crate) env: Env,
    pub(crate) tls: Option<Arc<rustls::ServerConfig>>,
    attempts: Attempts,
    entries: Mutex<(u32, BTreeMap<u32, Arc<Entry>>)>,
    closing: AtomicBool,
}

/// A session.
pub(crate) struct Entry {
    pub(crate) id: u32,
    pub(crate) secret: [u8; SECRET_BYTES],
    socket: Socket,
    /// What stops the statement that runs.
    running: Mutex<Option<Canceller>>,
    /// The last look found that its client has ended.
    has_ended: AtomicBool,
}

impl Entry {
    /// A statement begins on a server.
    pub(crate) fn begin(&self, canceller: Canceller) {
        *self.running.lock() = Some(canceller);
    }

    /// It has ended; waits until a cancel request that was on its way has been dealt with (shared 1).
    pub(crate) fn end(&self) {
        *self.running.lock() = None;
    }

    fn cancel(&self) {
        let running = self.running.lock();
        if let Some(canceller) = &*running {
            // A server that is gone runs nothing.
            let _ = canceller.cancel();
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
        let nodes = Nodes::new(&options.nodes);
        let (attempts, entries) = (Attempts::default(), Mutex::default());
        Ok(Shared { options, nodes, env, tls, attempts, entries, closing: AtomicBool::new(false) })
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// A place for a client; an error when all are taken.
    pub(crate) fn enter(self: &Arc<Shared>, socket: &Socket) -> Result<Slot> {
        let socket = socket.duplicate().map_err(|error| Error::io("keeping a connection's socket", &error))?;
        let secret = (self.env.rng.next_u64() as u32).to_be_bytes();
        let mut entries = self.entries.lock();
        if entries.1.len() >= self.options.connections_max {
            let message = "sorry, too many clients already";
            return Err(Error::new(Code::TooManyTransactions, message).hint("raise --max-connections of the router"));
        }
        entries.0 = entries.0.checked_add(1).unwrap_or(1);
        let (running, has_ended) = (Mutex::default(), AtomicBool::new(false));
        let entry = Arc::new(Entry { id: entries.0, secret, socket, running, has_ended });
        let id = entry.id;
        entries.1.insert(id, Arc::clone(&entry));
        Ok(Slot { shared: Arc::clone(self), entry })
    }

    pub(crate) fn sessions(&self) -> usize {
        self.entries.lock().1.len()
    }

    /// Hands a cancel request on, if its secret is the session's.
    pub(crate) fn cancel(&self, id: u32, secret: &[u8]) {
        let entry = self.entries.lock().1.get(&id).cloned();
        if let Some(entry) = entry.filter(|entry| entry.secret[..] == *secret) {
            entry.cancel();
        }
    }

    /// Stops the statements of clients that are gone. A session that runs nothing finds the end by itself.
    pub(crate) fn end_gone(&self) -> io::Result<()> {
        let entries: Vec<Arc<Entry>> = self.entries.lock().1.values().cloned().collect();
        // One whose cancel request is on its way is looked at next time.
        let runs = |entry: &Arc<Entry>| entry.running.try_lock().is_some_and(|running| running.is_some());
        let running: Vec<Arc<Entry>> = entries.into_iter().filter(runs).collect();
        let sockets: Vec<_> = running.iter().map(|entry| entry.socket.as_fd()).collect();
        for (entry, ended) in running.iter().zip(have_ended(&sockets)?) {
            if ended && entry.has_ended.swap(ended, Ordering::SeqCst) {
                entry.socket.shutdown();
                entry.cancel();
            }
        }
        Ok(())
    }

    /// No new clients; those there find the end.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        let entries: Vec<Arc<Entry>> = self.entries.lock().1.values().cloned().collect();
        for entry in entries {
            entry.socket.end_reads();
            entry.cancel();
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
