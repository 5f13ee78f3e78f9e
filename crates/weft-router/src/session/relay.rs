//! A batch on its way: sent to a server, its answers handed on to the client.
//!
//! ```text
//!   to the server    1 2 3 ... 64 KiB, Flush ─▶ answers of those ─▶ the next 64 KiB ... Sync ─▶ the last answers
//!   to the client    '1' '2' 'T' are held back until there is a row or an end: until then it may run elsewhere
//! ```
//!
//! 1. Never more is sent than the server takes without being read from: a long pipeline goes in pieces, with a Flush
//!    behind each. So one thread reads from one side at a time, and none waits for the other in a circle.
//! 2. What a client is sent of an answer is from one server. When something was sent, the batch runs nowhere else.
//! 3. While a server waits for COPY's bytes the client is read from; otherwise the server.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use weft_sql::Notice;
use weft_wire::client::Report;
use weft_wire::net::Channel;

use super::backend::Backend;
use super::batch::{Batch, Expect, Message, Statement};

/// How much is sent before answers are read.
const PIECE_BYTES: usize = 64 << 10;
const PIECE_MESSAGES: usize = 256;

/// How a batch ended.
pub(super) enum Ran {
    /// All answers were handed on. The status of the transaction, if it was told, and whether there was an error.
    Done { status: Option<u8>, failed: bool },
    /// Nothing was sent to the client, and what the server said is no answer: why.
    Again(String),
    /// The server is gone, or cannot go on; whether a part of its answer was sent to the client.
    Lost { sent: bool },
    /// The client is gone.
    Gone,
}

/// Why the relay of answers stops.
enum Stop {
    Again(String),
    Lost,
    Gone,
}

/// A batch on its way.
pub(super) struct Relay<'a> {
    pub(super) client: &'a mut Channel,
    pub(super) backend: &'a mut Backend,
    pub(super) statements: &'a mut HashMap<String, Arc<Statement>>,
    pub(super) batch: &'a Batch,
    /// Which errors are no answers: those that another server would not give. None: all are answers.
    pub(super) is_no_answer: Option<fn(&Report) -> bool>,
    /// What the client is told before the end.
    pub(super) notice: Option<Notice>,
    queue: VecDeque<Expect>,
    status: Option<u8>,
    failed: bool,
    /// Bytes of an answer were sent to the client.
    sent: bool,
}

impl<'a> Relay<'a> {
    pub(super) fn new(
        client: &'a mut Channel,
        backend: &'a mut Backend,
        statements: &'a mut HashMap<String, Arc<Statement>>,
        batch: &'a Batch,
    ) -> Relay<'a> {
        let queue = VecDeque::new();
        let (status, failed, sent) = (None, false, false);
        Relay { client, backend, statements, batch, is_no_answer: None, notice: None, queue, status, failed, sent }
    }

    /// Sends the batch and hands on what comes back.
    pub(super) fn run(mut self) -> Ran {
        // What waits is of batches before this: what is written from here on can be taken back (relay 2).
        if self.client.flush().is_err() {
            return Ran::Gone;
        }
        let mut next = 0;
        while next < self.batch.messages.len() {
            next = match self.send(next) {
                Ok(next) => next,
                Err(_) => return self.lost(),
            };
            match self.answers() {
                Ok(()) => {}
                Err(Stop::Again(why)) => {
                    self.client.out.clear();
                    self.drain();
                    return Ran::Again(why);
                }
                Err(Stop::Lost) => return self.lost(),
                Err(Stop::Gone) => return Ran::Gone,
            }
            if self.failed {
                // Up to Sync the server passes over everything.
                next = next.max(self.batch.messages.len() - usize::from(self.batch.is_complete));
            }
        }
        Ran::Done { status: self.status, failed: self.failed }
    }

    fn lost(self) -> Ran {
        self.backend.client.abandon();
        if !self.sent {
            self.client.out.clear();
        }
        Ran::Lost { sent: self.sent }
    }

    /// Reads what the server still says of a batch that failed.
    fn drain(&mut self) {
        let channel = self.backend.client.channel();
        if !self.queue.iter().any(|expect| matches!(expect, Expect::Query | Expect::Sync)) {
            channel.out.empty(b'S');
        }
        let mut is_over = channel.flush().is_err();
        let mut is_lost = is_over;
        while !is_over {
            match channel.read() {
                Ok(Some(frame)) => is_over = frame.tag == b'Z',
                _ => (is_over, is_lost) = (true, true),
            }
        }
        if is_lost {
            self.backend.client.abandon();
        }
        for expect in std::mem::take(&mut self.queue) {
            if let Expect::OwnParse(statement) = expect {
                self.backend.note(&statement.name, None);
            }
        }
    }

    /// Sends the messages from `next` on, so many as fit; the first that was not sent.
    fn send(&mut self, next: usize) -> weft_format::Result<usize> {
        let (mut at, begin) = (next, self.backend.client.channel().out.len());
        let messages = &self.batch.messages;
        while at < messages.len() && at - next < PIECE_MESSAGES {
            if at > next && self.backend.client.channel().out.len() - begin > PIECE_BYTES {
                break;
            }
            let before = if self.failed { Vec::new() } else { self.backend.before(&messages[at]) };
            for own in &before {
                // What is put in is there for the messages behind it in this piece, too.
                match &own.expect {
                    Expect::OwnParse(statement) => self.backend.note(&statement.name, Some(statement.generation)),
                    Expect::OwnClose(name) => self.backend.note(name, None),
                    _ => {}
                }
                self.put(own);
            }
            self.put(&messages[at]);
            at += 1;
        }
        let channel = self.backend.client.channel();
        if self.batch.is_extended() && !(at == messages.len() && self.batch.is_complete) {
            channel.out.empty(b'H');
        }
        channel.flush()?;
        Ok(at)
    }

    fn put(&mut self, message: &Message) {
        self.backend.client.channel().out.message(message.tag, |body| body.extend_from_slice(&message.body));
        if !matches!(message.expect, Expect::Nothing) {
            self.queue.push_back(message.expect.clone());
        }
    }

    /// Hands on answers until all that was sent is answered.
    fn answers(&mut self) -> Result<(), Stop> {
        while !self.queue.is_empty() {
            let channel = self.backend.client.channel();
            let Ok(Some(frame)) = channel.read() else { return Err(Stop::Lost) };
            let body = channel.body(&frame);
            let first = self.queue.front();
            let is_own = match (frame.tag, first) {
                (b'1', Some(Expect::OwnParse(_))) | (b'3', Some(Expect::OwnClose(_))) => true,
                (b'E', _) => {
                    let report = Report::read(body);
                    return_if_no_answer(&report, self.is_no_answer.filter(|_| !self.sent))?;
                    let ends = report.severity() != "ERROR";
                    if ends && self.backend.attached.is_some() {
                        return Err(Stop::Lost);
                    }
                    false
                }
                _ => false,
            };
            if frame.tag == b'Z'
                && let Some(notice) = self.notice.take()
            {
                self.client.out.notice(&notice);
            }
            if !is_own {
                self.client.out.message(frame.tag, |out| out.extend_from_slice(body));
            }
            if frame.tag == b'Z' {
                self.status = body.first().copied();
            }
            let has_more = self.backend.client.channel().next_tag().is_some();
            self.note(frame.tag);
            // Row, end, error, notice, COPY: from here on the answer is this server's.
            let is_answer = b"DCEIsdHGcN".contains(&frame.tag);
            let is_due = self.client.wants_flush() || (is_answer && !has_more);
            if (is_due && !self.queue.is_empty()) || frame.tag == b'G' {
                self.sent = true;
                self.client.flush().map_err(|_| Stop::Gone)?;
            }
            if frame.tag == b'G' && !self.batch.has_copy_data {
                self.copy_in()?;
            }
        }
        Ok(())
    }

    /// What an answer means for what is still to come, and for names.
    fn note(&mut self, tag: u8) {
        match (tag, self.queue.front()) {
            (b'1', Some(Expect::Parse(statement))) => {
                self.statements.insert(statement.name.clone(), Arc::clone(statement));
                self.backend.note(&statement.name, Some(statement.generation));
            }
            (b'3', Some(Expect::Close(Some(name)))) => {
                self.statements.remove(name);
                self.backend.note(name, None);
            }
            (b'E', Some(Expect::Query)) => {
                self.failed = true;
                return;
            }
            (b'E', _) => {
                self.failed = true;
                // What was put in and is not answered is not there.
                while let Some(expect) = self.queue.pop_front_if(|expect| !matches!(expect, Expect::Sync)) {
                    if let Expect::OwnParse(statement) = expect {
                        self.backend.note(&statement.name, None);
                    }
                }
                return;
            }
            _ => {}
        }
        let is_over = match self.queue.front() {
            Some(Expect::Query | Expect::Sync) => tag == b'Z',
            Some(Expect::Parse(_) | Expect::OwnParse(_)) => tag == b'1',
            Some(Expect::Bind) => tag == b'2',
            Some(Expect::Close(_) | Expect::OwnClose(_)) => tag == b'3',
            Some(Expect::Describe) => tag == b'T' || tag == b'n',
            Some(Expect::Execute) => b"CIs".contains(&tag),
            Some(Expect::Nothing) | None => false,
        };
        if is_over {
            self.queue.pop_front();
        }
    }

    /// Hands on the client's bytes of COPY (relay 3). A Sync that came before them counts for nothing: the one behind
    /// them does.
    fn copy_in(&mut self) -> Result<(), Stop> {
        let mut ended = false;
        loop {
            let Ok(Some(frame)) = self.client.read() else { return Err(Stop::Gone) };
            let body = self.client.body(&frame);
            let channel = self.backend.client.channel();
            match frame.tag {
                b'd' | b'c' | b'f' => channel.out.message(frame.tag, |out| out.extend_from_slice(body)),
                b'S' if ended => channel.out.empty(b'S'),
                // As the server: a Flush or a Sync in the midst of it is nothing.
                b'S' | b'H' => {}
                _ => return Err(Stop::Gone),
            }
            let is_end = matches!(frame.tag, b'c' | b'f');
            if is_end || ended || channel.wants_flush() || self.client.next_tag().is_none() {
                channel.flush().map_err(|_| Stop::Lost)?;
            }
            ended |= is_end;
            let waits_for_sync = self.queue.iter().any(|expect| matches!(expect, Expect::Sync));
            if ended && (!waits_for_sync || frame.tag == b'S') {
                return Ok(());
            }
        }
    }
}

fn return_if_no_answer(report: &Report, is_no_answer: Option<fn(&Report) -> bool>) -> Result<(), Stop> {
    match is_no_answer {
        Some(is) if is(report) => Err(Stop::Again(report.to_string())),
        _ => Ok(()),
    }
}
