//! The connections there are: what each does, and what stops it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weft::CancelToken;
use weft_env::have_ended;
use weft_env::sync::Mutex;
use weft_format::{Code, Error, Result};

use weft_wire::net::Socket;

/// Bytes of the secret with which a client may cancel; version 3.0 of the protocol has four.
const SECRET_BYTES: usize = 4;

/// All connections, by number.
#[derive(Default)]
pub(super) struct Slots {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    last_id: u32,
    entries: BTreeMap<u32, Entry>,
}

struct Entry {
    socket: Socket,
    secret: [u8; SECRET_BYTES],
    cancel: Option<CancelToken>,
    /// The last look found that its client has ended.
    has_ended: bool,
    /// It was found so twice.
    is_gone: Arc<AtomicBool>,
    /// It looks by itself whether the server ends, and has something to send until then.
    ends_itself: bool,
}

/// A connection's place; dropping it frees the place.
pub(crate) struct Slot {
    slots: Arc<Slots>,
    is_gone: Arc<AtomicBool>,
    id: u32,
    secret: [u8; SECRET_BYTES],
}

impl Slots {
    /// A place for a connection; an error when all are taken.
    pub(super) fn enter(slots: &Arc<Slots>, socket: &Socket, most: usize, random: u64) -> Result<Slot> {
        let socket = socket.clone();
        let mut inner = slots.inner.lock();
        if inner.entries.len() >= most {
            let message = "sorry, too many clients already";
            return Err(Error::new(Code::TooManyTransactions, message).hint("raise max_connections, or use a pool"));
        }
        inner.last_id = inner.last_id.checked_add(1).unwrap_or(1);
        let (id, secret) = (inner.last_id, (random as u32).to_be_bytes());
        let is_gone = Arc::<AtomicBool>::default();
        let entry =
            Entry { socket, secret, cancel: None, has_ended: false, is_gone: Arc::clone(&is_gone), ends_itself: false };
        inner.entries.insert(id, entry);
        Ok(Slot { slots: Arc::clone(slots), is_gone, id, secret })
    }

    /// Cancels what a connection runs, if the secret is its own.
    pub(super) fn cancel(&self, id: u32, secret: &[u8]) {
        let inner = self.inner.lock();
        if let Some(entry) = inner.entries.get(&id)
            && entry.secret[..] == *secret
            && let Some(cancel) = &entry.cancel
        {
            cancel.cancel();
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.inner.lock().entries.len()
    }

    /// Ends the connections whose clients are gone, those that run a statement or write to a client that does not read:
    /// one that waits for a message finds the end by itself. Their numbers.
    pub(super) fn end_gone(&self) -> io::Result<Vec<u32>> {
        let mut inner = self.inner.lock();
        let runs = |entry: &Entry| entry.cancel.as_ref().is_some_and(CancelToken::is_attended);
        let mut running: Vec<(&u32, &mut Entry)> = inner.entries.iter_mut().filter(|(_, entry)| runs(entry)).collect();
        let sockets: Vec<_> = running.iter().map(|(_, entry)| entry.socket.as_fd()).collect();
        let ended = have_ended(&sockets)?;
        drop(sockets);
        let mut gone = Vec::new();
        for ((id, entry), ended) in running.iter_mut().zip(ended) {
            if ended && entry.has_ended && !entry.is_gone.swap(true, Ordering::SeqCst) {
                gone.push(**id);
            }
            entry.has_ended = ended;
            if entry.is_gone.load(Ordering::SeqCst) {
                entry.cancel.iter().for_each(CancelToken::cancel);
                // Also when it waits for the client to read.
                entry.socket.shutdown();
            }
        }
        Ok(gone)
    }

    /// Stops what all of them run, and ends their reads.
    pub(super) fn interrupt_all(&self) {
        for entry in self.inner.lock().entries.values() {
            if let Some(cancel) = &entry.cancel {
                cancel.cancel();
            }
            if !entry.ends_itself {
                entry.socket.end_reads();
            }
        }
    }

    /// Ends all of them at once.
    pub(super) fn drop_all(&self) {
        self.inner.lock().entries.values().for_each(|entry| entry.socket.shutdown());
    }
}

impl Slot {
    /// From now on the connection looks by itself whether the server ends: its reads go on until then.
    pub(crate) fn ends_itself(&self) {
        if let Some(entry) = self.slots.inner.lock().entries.get_mut(&self.id) {
            entry.ends_itself = true;
        }
    }

    /// The connection's number, which its client knows.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Whether the client went while a statement ran.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::SeqCst)
    }

    /// What a cancel request must repeat.
    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// What ends the connection's reads, from any thread.
    pub(crate) fn terminator(&self) -> impl Fn() + Send + Sync + 'static {
        let (slots, id) = (Arc::clone(&self.slots), self.id);
        move || {
            if let Some(entry) = slots.inner.lock().entries.get(&id) {
                entry.socket.end_reads();
            }
        }
    }

    /// What stops the connection's statements.
    pub(crate) fn serves(&self, cancel: CancelToken) {
        if let Some(entry) = self.slots.inner.lock().entries.get_mut(&self.id) {
            entry.cancel = Some(cancel);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.inner.lock().entries.remove(&self.id);
    }
}
