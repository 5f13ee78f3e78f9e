//! The connections there are: what each does, and what stops it.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft::CancelToken;
use weft_env::sync::Mutex;
use weft_format::{Code, Error, Result};

use crate::net::Socket;

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
}

/// A connection's place; dropping it frees the place.
pub(crate) struct Slot {
    slots: Arc<Slots>,
    id: u32,
    secret: [u8; SECRET_BYTES],
}

impl Slots {
    /// A place for a connection; an error when all are taken.
    pub(super) fn enter(slots: &Arc<Slots>, socket: &Socket, most: usize, random: u64) -> Result<Slot> {
        let socket = socket.duplicate().map_err(|error| Error::io("keeping a connection's socket", &error))?;
        let mut inner = slots.inner.lock();
        if inner.entries.len() >= most {
            let message = "sorry, too many clients already";
            return Err(Error::new(Code::TooManyTransactions, message).hint("raise max_connections, or use a pool"));
        }
        inner.last_id = inner.last_id.checked_add(1).unwrap_or(1);
        let (id, secret) = (inner.last_id, (random as u32).to_be_bytes());
        inner.entries.insert(id, Entry { socket, secret, cancel: None });
        Ok(Slot { slots: Arc::clone(slots), id, secret })
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

    /// Stops what all of them run, and ends their reads.
    pub(super) fn interrupt_all(&self) {
        for entry in self.inner.lock().entries.values() {
            if let Some(cancel) = &entry.cancel {
                cancel.cancel();
            }
            entry.socket.end_reads();
        }
    }

    /// Ends all of them at once.
    pub(super) fn drop_all(&self) {
        self.inner.lock().entries.values().for_each(|entry| entry.socket.shutdown());
    }
}

impl Slot {
    /// The connection's number, which its client knows.
    pub(crate) fn id(&self) -> u32 {
        self.id
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
