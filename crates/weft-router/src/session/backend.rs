//! A connection of a session to a server: what the server knows of the session.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use weft_format::{Code, Error};
use weft_kernel::fault;
use weft_wire::client::{Client, Result, ResultSet};
use weft_wire::net::Frame;

use super::batch::{Expect, Message, Statement};
use crate::faults;
use crate::servers::{Attached, Servers};
use crate::shared::Way;

/// How long nothing may come from a server before it is asked whether it is still there.
const IDLE_TIME: Duration = Duration::from_secs(60);
/// So much of answers is taken in before it is handed on, while something is still being sent.
const TAKEN_BYTES: usize = 1 << 20;

/// A server, as one session knows it.
pub(super) struct Backend {
    pub(super) client: Client,
    /// The place at the server.
    attached: Attached,
    /// What stops what runs there.
    pub(super) way: Arc<Way>,
    /// Which statement it has under each name.
    prepared: HashMap<String, u64>,
    /// The settings that the router told it.
    pub(super) given: BTreeMap<String, Option<String>>,
    /// The commit that the router told it to wait for.
    pub(super) token: u64,
}

impl Backend {
    /// Of a connection that is registered.
    pub(super) fn new(mut client: Client, attached: Attached) -> Backend {
        let socket = client.channel().socket().clone();
        // A machine that is gone without a word is found out by the system.
        let _ = socket.keep_asking(IDLE_TIME);
        // A socket that has no time limits is one that is gone.
        let _ = socket.write_in_rounds();
        let (server, is_node) = (Arc::clone(attached.server()), attached.is_node());
        let way = Arc::new(Way { canceller: client.canceller(), socket, server, is_node });
        Backend { client, attached, way, prepared: HashMap::new(), given: BTreeMap::new(), token: 0 }
    }

    /// Whether it is not to be used any more: a node when it is not well or has become the writer, the writer when
    /// another has taken its place.
    pub(super) fn is_down(&self, servers: &Servers) -> bool {
        let server = self.attached.server();
        let is_writer = servers.is_writer(server.number);
        let is_gone = match self.is_node() {
            true => !server.is_up(),
            // What it says before it goes is for the client.
            false => self.way.socket.has_ended_silently(),
        };
        self.client.is_broken() || is_writer == self.is_node() || is_gone
    }

    pub(super) fn is_node(&self) -> bool {
        self.attached.is_node()
    }

    /// Runs a text of the router's own. As any, it ends the statement without a name.
    pub(super) fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>> {
        self.prepared.remove("");
        self.client.query(sql)
    }

    /// The next message; none at the end. What waits is sent, or so much of it as the server takes before it speaks.
    pub(super) fn receive(&mut self) -> weft_format::Result<Option<Frame>> {
        let channel = self.client.channel();
        channel.flush_some(TAKEN_BYTES)?;
        channel.read()
    }

    /// Makes it idle: ends the transaction that is open there, or does not use it any more.
    pub(super) fn settle(&mut self, status: Option<u8>) {
        let is_idle = status == Some(b'I')
            || (status.is_some() && fault::active(faults::LEAVE_OPEN))
            || (status.is_some() && self.query("ROLLBACK").is_ok() && !self.client.in_transaction());
        if !is_idle {
            self.client.abandon();
        }
    }

    /// The server's place among the servers.
    pub(super) fn number(&self) -> usize {
        self.attached.server().number
    }

    /// Its place, for people.
    pub(super) fn place(&self) -> String {
        let what = if self.is_node() { "node" } else { "writer" };
        format!("the {what} {}", self.attached.server().place)
    }

    /// What must be sent before a message: a statement that it needs, a name that must be free.
    pub(super) fn before(&self, message: &Message) -> Vec<Message> {
        let mut before = Vec::new();
        if let Some(statement) = message.needs.as_ref().filter(|statement| !self.has(statement)) {
            if !statement.name.is_empty() {
                before.push(close(&statement.name));
            }
            let (tag, body) = (b'P', statement.parse.clone());
            let expect = Expect::OwnParse(Arc::clone(statement));
            before.push(Message { tag, body, expect, needs: None, frees: None });
        }
        if let Some(name) = message.frees.as_ref().filter(|name| self.prepared.contains_key(*name)) {
            before.push(close(name));
        }
        before
    }

    fn has(&self, statement: &Statement) -> bool {
        let known = self.prepared.get(&statement.name);
        known == Some(&statement.generation) || (known.is_some() && fault::active(faults::TRUST_OLD_NAME))
    }

    /// Notes what it has under a name.
    pub(super) fn note(&mut self, name: &str, generation: Option<u64>) {
        match generation {
            Some(generation) => self.prepared.insert(name.to_owned(), generation),
            None => self.prepared.remove(name),
        };
    }

    /// Notes that it has nothing under any name.
    pub(super) fn forget_all(&mut self) {
        self.prepared.clear();
    }

    /// Notes that it may have a statement no more; none: any.
    pub(super) fn note_forgotten(&mut self, name: Option<&str>) {
        match name {
            // As of another generation: it is closed, and made, before it is used.
            Some(name) => self.note(name, Some(0)),
            None => self.prepared.values_mut().for_each(|generation| *generation = 0),
        }
    }

    /// Makes it have a statement, outside of any batch; an error of the server says no more than that it has not.
    pub(super) fn prepare(&mut self, statement: &Arc<Statement>) -> Result<()> {
        if self.has(statement) {
            return Ok(());
        }
        let out = &mut self.client.channel().out;
        out.message(b'C', |body| body.extend_from_slice(&close(&statement.name).body));
        out.message(b'P', |body| body.extend_from_slice(&statement.parse));
        out.empty(b'S');
        let mut failed = false;
        loop {
            match self.receive() {
                Ok(Some(frame)) if frame.tag == b'E' => failed = true,
                Ok(Some(frame)) if frame.tag == b'Z' => break,
                Ok(Some(_)) => {}
                ended => {
                    self.client.abandon();
                    let gone = Error::new(Code::Io, "the server ended the connection");
                    return Err(ended.err().unwrap_or(gone).into());
                }
            }
        }
        self.note(&statement.name, (!failed).then_some(statement.generation));
        Ok(())
    }
}

/// Close of a statement.
fn close(name: &str) -> Message {
    let body = [b"S", name.as_bytes(), b"\0"].concat();
    Message { tag: b'C', body, expect: Expect::OwnClose(name.to_owned()), needs: None, frees: None }
}
