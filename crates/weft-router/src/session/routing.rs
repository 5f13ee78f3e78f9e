//! The session: reads messages, and sends each batch where it goes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use weft_format::{Code, Error};
use weft_kernel::fault;
use weft_sql::Notice;
use weft_sql::route::{Assignment, Kind, Routed, routed};
use weft_wire::client::{Client, ClientError, Report};
use weft_wire::net::{Channel, Frame};

use super::backend::Backend;
use super::batch::{Batch, Statement};
use super::decide::{Side, outside, refused_on_node};
use super::pauses::Pauses;
use super::relay::{Ran, Relay};
use super::settings::Known;
use super::{Who, report};
use crate::faults;
use crate::options::WhenLate;
use crate::servers::Attached;
use crate::shared::{Shared, Slot};

/// So much of a series of messages is kept until its Sync; one that is longer goes to the writer.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// Texts whose routes are remembered, and the longest of them, bytes.
const TEXTS_MAX: usize = 256;
const TEXT_BYTES_MAX: usize = 4096;
/// What waits for everything that a session wants to see, and for nothing else.
const SHOWN: &str = "SELECT weft_published_commit()";
const CANCELLED: &str = "canceling statement due to user request";
/// The isolation of transactions that do not say theirs: a node's are not serializable.
const ISOLATION: &str = "default_transaction_isolation";
/// What fails a transaction without doing anything else.
const FAILING: &str = "ROLLBACK TO SAVEPOINT \"weft route\"";

/// A client's session.
pub(crate) struct Session {
    shared: Arc<Shared>,
    slot: Slot,
    client: Channel,
    who: Who,
    writer: Backend,
    node: Option<Backend>,
    /// Where the transaction is that is open, and what the client knows of it: `I`, `T` or `E`.
    at: Side,
    status: u8,
    statements: HashMap<String, Arc<Statement>>,
    generation: u64,
    texts: HashMap<String, Arc<Vec<Routed>>>,
    /// Messages that have come since the last Sync, and where those before them went.
    open: Batch,
    pipe: Option<Side>,
    /// An error was told; everything up to Sync is passed over.
    skips: bool,
    known: Known,
    /// Whose settings count that the other has not been told.
    told: Option<Side>,
    /// The writer was used since its newest commit was asked for, or a node was left.
    stale: bool,
    /// The commit that nodes must show.
    token: u64,
    /// Something lives in the writer's connection.
    sticks: bool,
    /// Reads may be as old as the node.
    no_promise: bool,
    had_node: bool,
    pauses: Pauses,
    /// Something may live in the writer's connection that another one would not have: locks, the state of functions.
    is_bound: bool,
}

/// Why a session ends.
enum End {
    /// The client is gone.
    Gone,
    /// The client is told.
    Told {
        sqlstate: Cow<'static, str>,
        message: String,
    },
    Failed(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> End {
        match error.code() {
            Code::Io => End::Gone,
            _ => End::Failed(error),
        }
    }
}

impl Session {
    /// The session of a client that was let in.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        client: Channel,
        slot: Slot,
        who: Who,
        (writer, attached): (Client, Attached),
    ) -> Session {
        Session {
            shared: Arc::clone(shared),
            slot,
            client,
            no_promise: who.begins_stale,
            who,
            writer: Backend::new(writer, attached),
            node: None,
            at: Side::Writer,
            status: b'I',
            statements: HashMap::new(),
            generation: 0,
            texts: HashMap::new(),
            open: Batch::default(),
            pipe: None,
            skips: false,
            known: Known::default(),
            told: None,
            stale: false,
            token: 0,
            sticks: false,
            had_node: false,
            pauses: Pauses::default(),
            is_bound: false,
        }
    }

    /// Serves the client until it goes, or the session cannot go on.
    pub(crate) fn run(mut self) {
        // A client that is gone already is found gone by the first read.
        let _ = self.client.socket().write_in_rounds();
        match self.serve() {
            Ok(()) | Err(End::Gone) => return,
            Err(End::Told { sqlstate, message }) => {
                let hint = "connect again";
                report::error(&mut self.client.out, "FATAL", &sqlstate, &message, hint);
            }
            Err(End::Failed(error)) => self.client.out.fatal(&error),
        }
        // A client that is gone already is not told.
        let _ = self.client.flush_both();
    }

    fn serve(&mut self) -> Result<(), End> {
        loop {
            if self.client.next_tag().is_none() {
                self.client.flush_both()?;
            }
            let read = self.client.read();
            if self.shared.is_closing() {
                return Err(closing());
            }
            let Some(frame) = read? else { return Ok(()) };
            if !self.take(&frame)? {
                return Ok(());
            }
        }
    }

    /// Takes a message; false at the client's farewell.
    fn take(&mut self, frame: &Frame) -> Result<bool, End> {
        let body = self.client.body(frame).to_vec();
        match frame.tag {
            b'X' => return Ok(false),
            b'Q' if self.skips => {}
            b'Q' => {
                if !self.open.messages.is_empty() {
                    self.part()?;
                }
                let text = body.strip_suffix(&[0]).and_then(|text| std::str::from_utf8(text).ok());
                if text.is_some_and(feeds) {
                    let (message, hint) =
                        ("nodes are not fed through the router", "name the writer's own address behind --follow");
                    report::error(&mut self.client.out, "ERROR", "0A000", message, hint);
                    self.end_batch(&Batch::query(body, Vec::new()));
                    return Ok(true);
                }
                let runs = text.map(|text| self.route(text));
                let unread = || vec![Routed { kind: Kind::Write, reason: "it is no text", binds: true }];
                let runs = runs.map_or_else(unread, |runs| runs.to_vec());
                self.run_batch(&Batch::query(body, runs))?;
            }
            b'P' | b'B' | b'D' | b'E' | b'C' | b'S' | b'H' | b'd' | b'c' | b'f' => {
                if self.skips && frame.tag != b'S' {
                    return Ok(true);
                }
                let is_copy = matches!(frame.tag, b'd' | b'c' | b'f');
                if is_copy && self.open.messages.is_empty() {
                    // What a client still sends of a COPY that failed.
                    return Ok(true);
                }
                self.add(frame.tag, body)?;
            }
            tag => {
                let message = format!("invalid frontend message type {tag}");
                return Err(End::Failed(Error::new(Code::ProtocolViolation, message)));
            }
        }
        Ok(true)
    }

    fn add(&mut self, tag: u8, body: Vec<u8>) -> Result<(), End> {
        let mut open = std::mem::take(&mut self.open);
        let known = std::mem::take(&mut self.statements);
        open.push((tag, body), &known, |_, sql| {
            self.generation += 1;
            (self.generation, self.route(sql))
        });
        (self.open, self.statements) = (open, known);
        match tag {
            b'S' => {
                let batch = std::mem::take(&mut self.open);
                self.skips = false;
                self.run_batch(&batch)?;
                self.pipe = None;
            }
            b'H' => {
                self.part()?;
                self.client.flush_both()?;
            }
            _ if self.open.bytes > KEPT_BYTES_MAX => self.part()?,
            _ => {}
        }
        Ok(())
    }

    /// Runs what has come, before its Sync: whatever comes behind it goes to the same server, so that is the writer
    /// unless a transaction is open.
    fn part(&mut self) -> Result<(), End> {
        let batch = std::mem::take(&mut self.open);
        self.pipe.get_or_insert(if self.status == b'I' { Side::Writer } else { self.at });
        self.run_batch(&batch)
    }

    /// What the statements of a text are.
    fn route(&mut self, text: &str) -> Arc<Vec<Routed>> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let found = Arc::new(routed(text));
        if text.len() <= TEXT_BYTES_MAX {
            if self.texts.len() >= TEXTS_MAX {
                self.texts.clear();
            }
            self.texts.insert(text.to_owned(), Arc::clone(&found));
        }
        found
    }

    fn run_batch(&mut self, batch: &Batch) -> Result<(), End> {
        self.slot.entry.begin();
        let ran = self.place_batch(batch);
        self.slot.entry.end();
        ran
    }

    fn place_batch(&mut self, batch: &Batch) -> Result<(), End> {
        let side = match (self.status, self.pipe) {
            (b'I', None) if !self.sticks => outside(&batch.runs, &batch.prepares),
            (b'I', None) => Side::Writer,
            (b'I', Some(side)) => side,
            _ => self.at,
        };
        if side == Side::Node && self.status != b'I' {
            if let Some(reason) = refused_on_node(&batch.runs).filter(|_| self.status == b'T') {
                return self.refuse(batch, reason);
            }
            return self.run_on_node(batch);
        }
        if self.told == Some(Side::Node) && self.status == b'I' {
            self.tell_writer()?;
        }
        let begins = batch.runs.iter().any(|statement| matches!(statement.kind, Kind::Begin { .. }));
        if side == Side::Node && self.pipe.is_none() && self.ready_node(begins)? {
            return self.run_on_node(batch);
        }
        self.run_on_writer(batch)
    }

    /// Runs a batch on the writer.
    fn run_on_writer(&mut self, batch: &Batch) -> Result<(), End> {
        let was_idle = self.status == b'I';
        if was_idle && self.pipe.is_none() && self.writer.is_down(&self.shared.servers) {
            self.renew_writer()?;
        }
        if !self.slot.entry.goes(&self.writer.way) && was_idle && batch.is_complete {
            return self.cancelled(batch);
        }
        for statement in &batch.runs {
            self.is_bound |= statement.binds;
            match &statement.kind {
                Kind::Sticks => self.sticks = true,
                Kind::Prepared { forgets, .. } => self.sticks |= !forgets,
                Kind::Set(assignments) => self.note_set(assignments, Side::Writer),
                _ => {}
            }
        }
        self.prepare_named(batch, Side::Writer).map_err(|error| lost_writer(&error))?;
        self.stale = true;
        self.shared.counters.on_writer.up();
        let notice = self.notice(batch, Side::Writer);
        let mut relay = Relay::new(&mut self.client, &mut self.writer, &mut self.statements, batch);
        (relay.notice, relay.closing) = (notice, Some(&self.shared.closing));
        let ran = relay.run();
        self.slot.entry.leaves();
        match ran {
            Ran::Done { status, failed } => {
                self.note_done(batch, Side::Writer, status, failed, was_idle);
                Ok(())
            }
            Ran::Gone => {
                self.writer.client.abandon();
                Err(End::Gone)
            }
            Ran::Again(why) => Err(End::Told { sqlstate: "08006".into(), message: why }),
            Ran::Lost { .. } if self.shared.is_closing() => Err(closing()),
            Ran::Lost { .. } => Err(lost_writer(&self.writer.place())),
        }
    }

    /// Runs a batch on the node, which is ready or has the transaction; on the writer when the node cannot.
    fn run_on_node(&mut self, batch: &Batch) -> Result<(), End> {
        let was_idle = self.status == b'I';
        if self.prepare_named(batch, Side::Node).is_err() {
            self.lost_node();
        }
        let notice = self.notice(batch, Side::Node);
        let Some(node) = &mut self.node else { return self.lose(batch, was_idle) };
        let stopped = if fault::active(faults::CANCEL_ELSEWHERE) { &self.writer } else { &*node };
        if !self.slot.entry.goes(&stopped.way) && was_idle && batch.is_complete {
            return self.cancelled(batch);
        }
        let mut relay = Relay::new(&mut self.client, node, &mut self.statements, batch);
        (relay.notice, relay.closing) = (notice, Some(&self.shared.closing));
        if was_idle && batch.is_complete {
            relay.is_no_answer = Some(match self.shared.options.when_late {
                WhenLate::Writer => |report| is_no_answer(report) || is_late(report),
                WhenLate::Wait | WhenLate::Fail => is_no_answer,
            });
        }
        let ran = relay.run();
        self.slot.entry.leaves();
        match ran {
            Ran::Done { status, failed } => {
                self.shared.counters.on_nodes.up();
                for statement in &batch.runs {
                    if let Kind::Set(assignments) = &statement.kind {
                        self.note_set(assignments, Side::Node);
                    }
                }
                self.note_done(batch, Side::Node, status, failed, was_idle);
                if self.told == Some(Side::Node) && self.status == b'I' {
                    // Now, while the node is there.
                    self.tell_writer()?;
                }
                Ok(())
            }
            Ran::Gone => {
                node.client.abandon();
                Err(End::Gone)
            }
            Ran::Again(why) => {
                self.shared.counters.again.up();
                if node.client.is_broken() {
                    self.shared.options.log.info("node_left", &[("node", &node.place()), ("message", &why)]);
                    self.lost_node();
                }
                self.run_on_writer(batch)
            }
            Ran::Lost { .. } if self.shared.is_closing() => Err(closing()),
            Ran::Lost { sent } => {
                self.lost_node();
                match was_idle && batch.is_complete && !sent {
                    true => {
                        self.shared.counters.again.up();
                        self.run_on_writer(batch)
                    }
                    false => self.lose(batch, was_idle),
                }
            }
        }
    }

    /// What is so after a batch.
    fn note_done(&mut self, batch: &Batch, side: Side, status: Option<u8>, failed: bool, was_idle: bool) {
        self.skips = failed && !batch.is_complete;
        if let Some(status) = status {
            (self.status, self.at) = (status, side);
        }
        if let (Side::Node, Some(node)) = (side, &self.node) {
            self.pauses.served(node.number());
        }
        let is_idle = was_idle && self.status == b'I';
        for statement in &batch.runs {
            match &statement.kind {
                Kind::Prepared { name, forgets: true, .. } if !failed => match name {
                    Some(name) => drop(self.statements.remove(name)),
                    None => self.statements.clear(),
                },
                Kind::Discard if !failed => {
                    self.statements.clear();
                    self.writer.forget_all();
                    self.node = None;
                    (self.sticks, self.is_bound, self.told) = (false, false, Some(Side::Writer));
                    self.no_promise = self.who.begins_stale;
                }
                Kind::Set(assignments) => self.note_promise(assignments, is_idle && !failed && batch.runs.len() == 1),
                _ => {}
            }
        }
    }

    /// Makes a side have the statements that SQL names, and notes that it may have lost them.
    fn prepare_named(&mut self, batch: &Batch, side: Side) -> Result<(), ClientError> {
        if self.pipe.is_some() && batch.is_extended() {
            // A Sync here would end the transaction that the messages before this have made.
            return Ok(());
        }
        let backend = match (side, &mut self.node) {
            (Side::Node, Some(node)) => node,
            _ => &mut self.writer,
        };
        for statement in &batch.runs {
            let Kind::Prepared { name, forgets, .. } = &statement.kind else { continue };
            if let Some(statement) = name.as_ref().and_then(|name| self.statements.get(name)) {
                backend.prepare(statement)?;
            }
            if *forgets {
                // It may fail, and be there still: it is closed before it is made again.
                backend.note_forgotten(name.as_deref());
            }
        }
        Ok(())
    }

    /// What a notice tells of where a batch runs.
    fn notice(&self, batch: &Batch, side: Side) -> Option<Notice> {
        if !self.shared.options.tell || batch.runs.is_empty() {
            return None;
        }
        let place = match (side, &self.node) {
            (Side::Node, Some(node)) => node.place(),
            _ => self.writer.place(),
        };
        let why = batch.runs.iter().find(|statement| statement.kind != Kind::Read);
        let why = why.map_or("it only reads", |statement| statement.reason);
        Some(Notice::plain(format!("ran on {place}: {why}")))
    }

    /// Notes settings that a statement sets on a side.
    fn note_set(&mut self, assignments: &[Assignment], side: Side) {
        self.known.watch(assignments);
        if fault::active(faults::KEEP_ROLLED_BACK) {
            return self.known.believe(assignments);
        }
        self.told = Some(side);
    }

    /// `freshness = none` counts where it surely holds: `own writes` is told alike, so the text is what tells them
    /// apart, and one that may be rolled back is none. SET LOCAL ends with its transaction, which is at one place.
    fn note_promise(&mut self, assignments: &[Assignment], holds: bool) {
        for Assignment { name, value, is_local } in assignments {
            match name.as_deref() {
                _ if *is_local => {}
                Some("freshness") => {
                    let is_none = value.as_ref().is_some_and(|value| value.trim().eq_ignore_ascii_case("none"));
                    self.no_promise = holds && is_none;
                }
                None => self.no_promise = holds && self.who.begins_stale,
                _ => {}
            }
        }
    }

    /// Connects to a node: the one with the fewest sessions that is well and has not just refused this one. False when
    /// there is none.
    fn connect_node(&mut self) -> bool {
        loop {
            let (pauses, now) = (&self.pauses, self.shared.env.clock.monotonic_nanos());
            let attached = self.shared.servers.attach(|node| !pauses.rests(node.number, now));
            let Some(mut attached) = attached else { return false };
            match Client::connect(&self.who.target(&attached.server().place, &self.shared.options)) {
                Ok(mut client) => {
                    let is_ours = self.shared.check_proof(&client, &attached.server().place).is_ok();
                    if !is_ours || !attached.register(client.channel().socket()) {
                        self.pauses.refused(attached.server().number, now);
                        continue;
                    }
                    // The node before may have shown more.
                    self.stale |= self.had_node;
                    self.had_node = true;
                    self.node = Some(Backend::new(client, attached));
                    return true;
                }
                Err(error) => {
                    let (log, node) = (&self.shared.options.log, attached.server());
                    log.warn("node_refused", &[("node", &node.place), ("message", &error)]);
                    self.pauses.refused(node.number, now);
                    // Nodes 1: what a server says, it says to this session.
                    let is_silent = matches!(&error, ClientError::Local(local) if local.code() == Code::Io);
                    if is_silent && node.set_up(false) {
                        log.warn("node_down", &[("node", &node.place), ("reason", &error)]);
                    }
                }
            }
        }
    }

    /// Makes a node ready for a read: connected, told the settings, waiting for what the session must see. It shows
    /// that before a transaction `begins`, which cannot go elsewhere later. False when none can be.
    fn ready_node(&mut self, begins: bool) -> Result<bool, End> {
        if self.node.as_ref().is_some_and(|node| node.is_down(&self.shared.servers)) {
            self.node = None;
        }
        if self.node.is_none() && !self.connect_node() {
            return Ok(false);
        }
        if begins && self.known.watch_name(ISOLATION) {
            self.told = Some(Side::Writer);
        }
        if !self.ask_writer()? || (begins && self.known.value(ISOLATION) == Some("serializable")) {
            return Ok(false);
        }
        let token = if self.no_promise || fault::active(faults::FORGET_TOKEN) { 0 } else { self.token };
        let Some(node) = &mut self.node else { return Ok(false) };
        if !self.slot.entry.goes(&node.way) {
            return Ok(false);
        }
        let mut told = self.known.tell(node, token);
        let is_told = told.is_ok();
        if begins && is_told {
            told = show(node);
        }
        self.slot.entry.leaves();
        let is_settled = !node.client.in_transaction();
        match told {
            Ok(()) if is_settled => Ok(true),
            Err(ClientError::Server(_)) if is_settled && self.slot.entry.is_cancelled() => Ok(false),
            // Another node would be as late. Where what is late fails, the transaction's statements say so themselves.
            Err(ClientError::Server(report)) if is_settled && is_late(&report) => {
                Ok(is_told && self.shared.options.when_late != WhenLate::Writer)
            }
            told => {
                // It has settings that the writer's session has not got, or is gone.
                let why =
                    told.err().map_or_else(|| "a transaction is open there".to_owned(), |error| error.to_string());
                self.shared.options.log.warn("node_refused", &[("node", &node.place()), ("message", &why)]);
                self.lost_node();
                Ok(false)
            }
        }
    }

    /// Asks the writer for its newest commit and for the session's settings, where that is needed. False when it does
    /// not say.
    fn ask_writer(&mut self) -> Result<bool, End> {
        let asks_position = self.stale && !self.no_promise;
        let asks_settings = self.told == Some(Side::Writer);
        if !asks_position && !asks_settings {
            return Ok(true);
        }
        if self.writer.is_down(&self.shared.servers) {
            self.renew_writer()?;
        }
        match self.known.ask(&mut self.writer, asks_settings, asks_position) {
            Ok(None) if asks_position => Ok(false),
            Ok(commit) => {
                self.token = self.token.max(commit.unwrap_or(0));
                self.shared.servers.note_commit(self.token);
                self.stale &= !asks_position;
                self.told = self.told.filter(|_| !asks_settings);
                Ok(true)
            }
            Err(ClientError::Server(report)) if report.severity() == "ERROR" => Ok(false),
            // What the writer says before it goes is for the client.
            Err(ClientError::Server(report)) => {
                let (sqlstate, message) = (report.sqlstate().to_owned().into(), report.message().to_owned());
                Err(End::Told { sqlstate, message })
            }
            Err(error) => {
                // The same for the next one, if it can be.
                self.shared.options.log.info("writer_left", &[("writer", &self.writer.place()), ("message", &error)]);
                self.renew_writer()?;
                Ok(false)
            }
        }
    }

    /// Connects to the writer again, or to the one that has taken its place: outside of a transaction, when nothing is
    /// lost with the connection (session 6).
    fn renew_writer(&mut self) -> Result<(), End> {
        let lost = lost_writer(&self.writer.place());
        if self.sticks || self.is_bound || self.told == Some(Side::Writer) {
            return Err(lost);
        }
        let made = self.shared.connect_writer(&self.who);
        let (client, attached) = made.map_err(|error| lost_writer(&error))?;
        self.writer = Backend::new(client, attached);
        self.stale = true;
        self.shared.counters.renewed.up();
        self.known.tell(&mut self.writer, 0).map_err(|error| lost_writer(&error))
    }

    /// Tells the writer what was set on the node.
    fn tell_writer(&mut self) -> Result<(), End> {
        let lost = || End::Told {
            sqlstate: "08006".into(),
            message: "the node that knew the session's settings was lost".into(),
        };
        let node = self.node.as_mut().ok_or_else(lost)?;
        self.known.ask(node, true, false).map_err(|_| lost())?;
        self.told = None;
        if self.writer.is_down(&self.shared.servers) {
            return self.renew_writer();
        }
        self.known.tell(&mut self.writer, 0).map_err(|error| lost_writer(&error))
    }

    /// Leaves a node that ended the connection, or refused what it must be told, and leaves it alone for a while.
    /// Others go on there (nodes 1).
    fn lost_node(&mut self) {
        if let Some(number) = self.node.take().as_ref().map(Backend::number) {
            self.pauses.refused(number, self.shared.env.clock.monotonic_nanos());
            if fault::active(faults::TELL_OTHERS) {
                self.shared.servers.all()[number].set_up(false);
            }
        }
    }

    /// Tells that a node was lost in the midst of something that cannot run again unseen. A transaction that was there
    /// goes on as a failed one, on the writer.
    fn lose(&mut self, batch: &Batch, was_idle: bool) -> Result<(), End> {
        if self.shared.is_closing() {
            return Err(closing());
        }
        self.told = self.told.filter(|side| *side != Side::Node);
        if !was_idle {
            // The error is what is wanted.
            let _ = self.writer.query(&format!("BEGIN READ ONLY; {FAILING}"));
            if !self.writer.client.is_failed() {
                return Err(End::Told {
                    sqlstate: "08006".into(),
                    message: "the servers of the session were lost".into(),
                });
            }
            (self.at, self.status) = (Side::Writer, b'E');
        }
        let (code, message, hint) = match self.slot.entry.is_cancelled() {
            true => ("57014", CANCELLED, ""),
            false => ("40001", "the node that ran this was lost", "run it again: it will run elsewhere"),
        };
        report::error(&mut self.client.out, "ERROR", code, message, hint);
        self.end_batch(batch);
        Ok(())
    }

    /// Refuses what a node would do wrongly; its transaction has failed.
    fn refuse(&mut self, batch: &Batch, reason: &str) -> Result<(), End> {
        let failed = self.node.as_mut().is_some_and(|node| {
            let _ = node.query(FAILING);
            node.client.is_failed()
        });
        if !failed {
            self.lost_node();
            return self.lose(batch, false);
        }
        self.status = b'E';
        let message = format!("this cannot run in a READ ONLY transaction behind the router: {reason}");
        report::error(&mut self.client.out, "ERROR", "0A000", &message, "begin the transaction without READ ONLY");
        self.end_batch(batch);
        Ok(())
    }

    /// Tells that a batch was cancelled before it ran anywhere (shared 2).
    fn cancelled(&mut self, batch: &Batch) -> Result<(), End> {
        if self.shared.is_closing() {
            return Err(closing());
        }
        report::error(&mut self.client.out, "ERROR", "57014", CANCELLED, "");
        self.end_batch(batch);
        Ok(())
    }

    /// Behind an error of the router: the end of the batch, or everything up to it is passed over.
    fn end_batch(&mut self, batch: &Batch) {
        self.skips = !batch.is_complete;
        if batch.is_complete {
            let status = self.status;
            self.client.out.message(b'Z', |body| body.push(status));
        }
    }
}

/// Waits until a node shows what its session wants to see.
fn show(node: &mut Backend) -> Result<(), ClientError> {
    node.query(SHOWN).map(drop)
}

fn lost_writer(why: &impl std::fmt::Display) -> End {
    End::Told { sqlstate: "08006".into(), message: format!("the connection to the writer was lost: {why}") }
}

fn closing() -> End {
    End::Told { sqlstate: "57P01".into(), message: "terminating connection due to administrator command".to_owned() }
}

/// Errors that another server would not give: the node goes, has joined anew, has lost a file, or would have to write.
fn is_no_answer(report: &Report) -> bool {
    let code = report.sqlstate();
    matches!(code, "25006" | "40001" | "58P01") || code.starts_with("57P") || code.starts_with("08")
}

/// A node that does not show in time what it must says so (weft_sql's freshness).
fn is_late(report: &Report) -> bool {
    report.sqlstate() == "57014" && report.message().starts_with("this node does not show")
}

/// Whether a text asks for all that a server writes, for ever: no server answers it as a statement.
fn feeds(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("START_REPLICATION"))
}
