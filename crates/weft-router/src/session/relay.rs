//! A batch on its way: sent to a server, its answers handed on to the client.
//!
//! ```text
//!   to the server    all messages; a Flush behind them where no Sync is. What it answers meanwhile is taken in
//!   to the client    '1' '2' 'T' are held back until there is a row or an end: until then it may run elsewhere
//!   COPY             Execute d d c Sync: came with their end     Execute (Sync) ─▶ 'G' ─▶ the client is read from
//! ```
//!
//! 1. Whoever is sent something is read from until it is sent: a server while it is sent a long pipeline, a client
//!    while it is sent answers. So nobody waits for anybody in a circle.
//! 2. What a client is sent of an answer is from one server. When something was sent, the batch runs nowhere else.
//! 3. A server that waits for COPY's bytes, whose end was not sent, gets them from the client; otherwise the server is
//!    read from.
//! 4. A server whose answer is not used is read to its end, and left without a transaction, or not at all.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weft_sql::Notice;
use weft_wire::client::Report;
use weft_wire::net::Channel;

use super::backend::Backend;
use super::batch::{Batch, Expect, Message, Statement};

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
    /// The router ends: that statements are cancelled then is no answer, the client is told why its session ends.
    pub(super) closing: Option<&'a AtomicBool>,
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
        let (is_no_answer, notice, closing) = (None, None, None);
        Relay { client, backend, statements, batch, is_no_answer, notice, closing, queue, status, failed, sent }
    }

    /// Sends the batch and hands on what comes back.
    pub(super) fn run(mut self) -> Ran {
        // What waits is of batches before this: what is written from here on can be taken back (relay 2).
        if self.client.flush_both().is_err() {
            return Ran::Gone;
        }
        self.put_all();
        match self.answers() {
            Ok(()) => Ran::Done { status: self.status, failed: self.failed },
            Err(Stop::Again(why)) => {
                self.client.out.clear();
                self.drain();
                Ran::Again(why)
            }
            Err(Stop::Lost) => self.lost(),
            Err(Stop::Gone) => Ran::Gone,
        }
    }

    fn lost(self) -> Ran {
        self.backend.client.abandon();
        if !self.sent {
            self.client.out.clear();
        }
        Ran::Lost { sent: self.sent }
    }

    /// Reads what the server still says of a batch that failed and runs elsewhere: it is complete, so there is an end
    /// (relay 4).
    fn drain(&mut self) {
        let status = loop {
            match self.backend.receive() {
                Ok(Some(frame)) if frame.tag == b'Z' => {
                    break self.backend.client.channel().body(&frame).first().copied();
                }
                Ok(Some(_)) => {}
                _ => break None,
            }
        };
        self.forget_own();
        self.backend.settle(status);
    }

    /// What was put in and is not answered was passed over: what is there under its name is not known.
    fn forget_own(&mut self) {
        while let Some(expect) = self.queue.pop_front_if(|expect| !matches!(expect, Expect::Sync)) {
            match expect {
                Expect::OwnParse(statement) => self.backend.note_forgotten(Some(&statement.name)),
                Expect::OwnClose(name) => self.backend.note_forgotten(Some(&name)),
                _ => {}
            }
        }
    }

    /// Writes the messages, and what must be before them.
    fn put_all(&mut self) {
        let batch = self.batch;
        for message in &batch.messages {
            for own in &self.backend.before(message) {
                // What is put in is there for the messages behind it, too.
                match &own.expect {
                    Expect::OwnParse(statement) => self.backend.note(&statement.name, Some(statement.generation)),
                    Expect::OwnClose(name) => self.backend.note(name, None),
                    _ => {}
                }
                self.put(own);
            }
            self.put(message);
        }
        if batch.is_extended() && !batch.is_complete {
            self.backend.client.channel().out.empty(b'H');
        }
    }

    fn put(&mut self, message: &Message) {
        self.backend.client.channel().out.message(message.tag, |body| body.extend_from_slice(&message.body));
        if matches!(message.tag, b'c' | b'f') {
            self.note_fed();
        }
        if !matches!(message.expect, Expect::Nothing) {
            self.queue.push_back(message.expect.clone());
        }
    }

    /// The end of a COPY's bytes was sent: they are of the last Execute.
    fn note_fed(&mut self) {
        let last = self.queue.iter_mut().rev().find(|expect| matches!(expect, Expect::Execute { .. }));
        if let Some(Expect::Execute { fed }) = last {
            *fed = true;
        }
    }

    /// Hands on answers until all that was sent is answered.
    fn answers(&mut self) -> Result<(), Stop> {
        while !self.queue.is_empty() {
            let Ok(Some(frame)) = self.backend.receive() else { return Err(Stop::Lost) };
            let is_node = self.backend.is_node();
            let body = self.backend.client.channel().body(&frame);
            let is_own = matches!(
                (frame.tag, self.queue.front()),
                (b'1', Some(Expect::OwnParse(_))) | (b'3', Some(Expect::OwnClose(_)))
            );
            if frame.tag == b'E' {
                let report = Report::read(body);
                let closes = self.closing.is_some_and(|closing| closing.load(Ordering::SeqCst));
                if closes && report.sqlstate() == "57014" {
                    return Err(Stop::Lost);
                }
                return_if_no_answer(&report, self.is_no_answer.filter(|_| !self.sent))?;
                if report.severity() != "ERROR" && is_node {
                    return Err(Stop::Lost);
                }
            }
            if frame.tag == b'Z' {
                self.status = body.first().copied();
                if let Some(notice) = self.notice.take() {
                    self.client.out.notice(&notice);
                }
            }
            if !is_own {
                self.client.out.message(frame.tag, |out| out.extend_from_slice(body));
            }
            if let (b'Z', Some(status)) = (frame.tag, self.status) {
                self.backend.client.note_status(status);
            }
            let wants_bytes = frame.tag == b'G' && !matches!(self.queue.front(), Some(Expect::Execute { fed: true }));
            let has_more = self.backend.client.channel().next_tag().is_some();
            self.note(frame.tag);
            // Row, end, error, notice, COPY: from here on the answer is this server's.
            let is_answer = b"DCEIsdHGcN".contains(&frame.tag);
            let is_due = self.client.wants_flush() || (is_answer && !has_more);
            if (is_due && !self.queue.is_empty()) || frame.tag == b'G' {
                self.sent = true;
                self.client.flush_both().map_err(|_| Stop::Gone)?;
            }
            if wants_bytes {
                self.copy_in()?;
            }
        }
        // A Flush without anything to answer.
        self.backend.client.channel().flush_both().map_err(|_| Stop::Lost)
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
                self.forget_own();
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
            Some(Expect::Execute { .. }) => b"CIs".contains(&tag),
            Some(Expect::Nothing) | None => false,
        };
        if is_over {
            self.queue.pop_front();
        }
    }

    /// Hands on the client's bytes of COPY (relay 3). A Sync that came before them counts for nothing: the one behind
    /// them does.
    fn copy_in(&mut self) -> Result<(), Stop> {
        // The server has taken all that was sent before it answered: a Sync among it has no answer.
        let waits_for_sync = self.queue.iter().any(|expect| matches!(expect, Expect::Sync));
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
                channel.flush_both().map_err(|_| Stop::Lost)?;
            }
            ended |= is_end;
            if ended && (!waits_for_sync || frame.tag == b'S') {
                self.note_fed();
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
