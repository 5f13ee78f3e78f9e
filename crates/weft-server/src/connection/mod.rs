//! One connection: a thread that reads messages, runs them in a session, and answers.
//!
//! ```text
//!   startup ── TLS, user, password, settings ── loop { read a message, answer } ── end
//!     simple     Query                            rows and tags, ReadyForQuery
//!     extended   Parse Bind Describe Execute      answers are sent at Flush, at Sync, and when 64 KiB wait
//!     COPY       CopyData ... CopyDone            read while the statement runs
//!     feed       CopyData both ways, to the end   a node of this database, elsewhere
//! ```
//!
//! 1. An error in the extended protocol is told once; what follows it up to Sync is passed over.
//! 2. The messages up to a Sync are one transaction, unless the client says BEGIN. A single Execute whose Sync has
//!    arrived already is a transaction of its own, which may be run again after a conflict.
//! 3. However a connection ends, its transaction is rolled back and its slot is free (the session is dropped).
//! 4. A client that goes while a statement runs ends that (server::watch), and nothing that it sent ahead is run.

mod asked;
mod copy;
mod extended;
mod feed;
mod link;
mod portal;
mod rows;
mod simple;
mod startup;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weft::Session;
use weft_format::{Code, Error, ErrorKind, Result};
use weft_sql::activity::{HIDDEN, hides};

use crate::server::{Shared, Slot};
use portal::{Portal, Statement};
use weft_wire::Level;
use weft_wire::net::{Channel, Frame};
use weft_wire::protocol::{Frontend, TransactionStatus, decode, is_fatal, is_known, violation};

pub(crate) use link::{cutter, receive, send};
pub(crate) use startup::{Entrance, begin};

/// A connection whose client was let in.
pub(crate) struct Connection {
    shared: Arc<Shared>,
    /// Its place among the server's connections, free when this goes.
    slot: Slot,
    channel: Channel,
    session: Session,
    statements: HashMap<String, Arc<Statement>>,
    portals: HashMap<String, Portal>,
    /// An error was told; everything up to Sync is passed over.
    skips: bool,
    /// The values of settings that the client was told.
    told: Vec<(&'static str, String)>,
    /// The time limit that reads have at present.
    read_timeout: Option<Duration>,
    /// The node that it is to feed from now on, and nothing else.
    feeds: Option<asked::Asked>,
}

/// Settings that clients are told of when they change, by the names that drivers look for.
const TOLD: &[&str] = &[
    "server_version",
    "server_encoding",
    "client_encoding",
    "application_name",
    "default_transaction_read_only",
    "DateStyle",
    "IntervalStyle",
    "TimeZone",
    "integer_datetimes",
    "standard_conforming_strings",
];

impl Connection {
    /// Answers messages until the client goes, or an error ends the connection.
    pub(crate) fn run(mut self) {
        let begun = Instant::now();
        let ended = self.serve();
        if let Some(asked) = self.feeds.take() {
            return self.feed(asked);
        }
        if self.shared.logs_connections() {
            let seconds = format!("{:.3}", begun.elapsed().as_secs_f64());
            let reason = ended.as_ref().err().map_or("farewell", |error| error.message());
            let pid = self.session.activity().pid();
            self.shared.log().info("disconnected", &[("pid", &pid), ("seconds", &seconds), ("reason", &reason)]);
        }
        if let Err(error) = ended
            && error.code() != Code::Io
        {
            // A client that is gone already is not told.
            self.channel.out.error("FATAL", &error);
            let _ = self.channel.flush();
        }
    }

    fn serve(&mut self) -> Result<()> {
        loop {
            self.channel.flush()?;
            // It holds what another has taken the place of: who waits here for its client ends now.
            self.check_goes_on()?;
            self.set_read_timeout()?;
            let read = self.channel.read();
            self.check_goes_on()?;
            let frame = match read {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(()),
                Err(error) => return Err(self.read_error(error)),
            };
            if !self.answer(&frame)? {
                return Ok(());
            }
            while self.channel.next_tag().is_some() && !self.channel.wants_flush() {
                let Some(frame) = self.channel.read()? else { return Ok(()) };
                if !self.answer(&frame)? {
                    return Ok(());
                }
            }
        }
    }

    /// An error when the server or this connection is to end, or the client has gone while a statement ran.
    fn check_goes_on(&self) -> Result<()> {
        if self.slot.is_gone() {
            return Err(Error::new(Code::Io, "the client has gone while a statement ran"));
        }
        if self.shared.is_closing() || self.session.activity().is_terminated() {
            return Err(Error::new(Code::ShuttingDown, "terminating connection due to administrator command"));
        }
        // A transaction that is open reads on in what the node had.
        if self.session.is_over() && !self.session.in_transaction() {
            let message = "terminating connection: this node has joined its writer anew";
            return Err(Error::new(Code::ShuttingDown, message).hint("connect again"));
        }
        Ok(())
    }

    /// Answers one message, which may be cancelled meanwhile; false at the client's farewell.
    fn answer(&mut self, frame: &Frame) -> Result<bool> {
        let _attended = self.session.attend();
        // An end that was asked for before this was attended to has cancelled nothing.
        self.check_goes_on()?;
        if !is_known(frame.tag) {
            return Err(violation(format!("invalid frontend message type {}", frame.tag)));
        }
        let is_sync = frame.tag == b'S';
        if self.skips && !is_sync && frame.tag != b'X' {
            return Ok(true);
        }
        let result = match self.handle(frame) {
            Ok(goes_on) => return Ok(goes_on),
            Err(error) => error,
        };
        if is_fatal(&result) {
            return Err(result);
        }
        // Parse has the text in its body, Execute has run it.
        let may_hide = hides(&String::from_utf8_lossy(self.channel.body(frame)));
        self.note_error(&result, may_hide || &*self.session.activity().text() == HIDDEN);
        self.channel.out.error("ERROR", &result);
        self.skips = !is_sync;
        if is_sync {
            self.ready();
        }
        Ok(true)
    }

    /// Counts and logs an error of a statement; of one that may have a password in it not even the message.
    fn note_error(&self, error: &Error, is_hidden: bool) {
        self.shared.database().activities().note_error(error.sqlstate());
        let level = if error.kind() == ErrorKind::Internal { Level::Error } else { Level::Warn };
        let message = if is_hidden { HIDDEN } else { error.message() };
        let user = &self.session.settings().user;
        let pid = self.session.activity().pid();
        let fields: &[(&str, &dyn std::fmt::Display)] =
            &[("pid", &pid), ("user", user), ("code", &error.sqlstate()), ("message", &message)];
        self.shared.log().line(level, "statement_failed", fields);
    }

    fn handle(&mut self, frame: &Frame) -> Result<bool> {
        if self.session.take_deallocated() {
            self.statements.retain(|name, _| name.is_empty() || self.session.has_statement(name));
        }
        let message = decode(frame.tag, self.channel.body(frame))?;
        match message {
            Frontend::Query(sql) => {
                let sql = sql.to_owned();
                match self.asks_for_feed(&sql) {
                    Ok(true) => return Ok(false),
                    Ok(false) => self.simple(&sql),
                    Err(error) => self.refuse(&error, &sql),
                }
            }
            Frontend::Parse { name, sql, types } => {
                let (name, sql) = (name.to_owned(), sql.to_owned());
                self.parse(name, &sql, types)?;
            }
            Frontend::Bind { portal, statement, formats, values, results } => {
                let made =
                    Portal::bind(&self.statements, statement, &formats, &values, &results, &self.session.local());
                let portal = portal.to_owned();
                self.bind(portal, made)?;
            }
            Frontend::Describe(target) => {
                let target = portal::Named::of(target);
                self.describe(&target)?;
            }
            Frontend::Execute { portal, rows_max } => {
                let portal = portal.to_owned();
                self.execute(&portal, rows_max)?;
            }
            Frontend::Close(target) => {
                let target = portal::Named::of(target);
                self.close(&target);
            }
            Frontend::Flush => self.channel.flush()?,
            Frontend::Sync => self.sync()?,
            Frontend::Terminate => return Ok(false),
            // What a client still sends of a COPY that failed.
            Frontend::CopyData(_) | Frontend::CopyDone | Frontend::CopyFail(_) => {}
            Frontend::Password(_) => return Err(violation("a password was not asked for")),
        }
        Ok(true)
    }

    /// Sync: ends the transaction that the messages made.
    fn sync(&mut self) -> Result<()> {
        self.skips = false;
        self.session.end_implicit()?;
        self.ready();
        Ok(())
    }

    /// Tells changed settings, and that the next message may come.
    fn ready(&mut self) {
        if !self.session.in_transaction() {
            self.portals.clear();
        }
        let status = self.status();
        self.channel.out.ready(status);
    }

    /// Tells the settings whose values differ from what the client knows.
    fn tell_settings(&mut self) {
        for (name, known) in &mut self.told {
            let value = self.session.settings().get(&name.to_lowercase());
            if let Ok(value) = value
                && value != *known
            {
                self.channel.out.parameter(name, &value);
                *known = value;
            }
        }
    }

    fn status(&self) -> TransactionStatus {
        match (self.session.in_transaction(), self.session.is_failed()) {
            (false, _) => TransactionStatus::Idle,
            (true, false) => TransactionStatus::Open,
            (true, true) => TransactionStatus::Failed,
        }
    }

    fn set_read_timeout(&mut self) -> Result<()> {
        let settings = self.session.settings();
        let ms = if self.session.in_transaction() {
            settings.idle_in_transaction_session_timeout_ms
        } else {
            settings.idle_session_timeout_ms
        };
        let timeout = (ms > 0).then(|| Duration::from_millis(ms));
        if timeout != self.read_timeout {
            let set = self.channel.socket().set_read_timeout(timeout);
            set.map_err(|error| Error::io("setting a time limit for reads", &error))?;
            self.read_timeout = timeout;
        }
        Ok(())
    }

    /// What an error of a read means: with a time limit, that it passed.
    fn read_error(&self, error: Error) -> Error {
        if error.code() != Code::Io || self.read_timeout.is_none() {
            return error;
        }
        let message = if self.session.in_transaction() {
            "terminating connection due to idle-in-transaction timeout"
        } else {
            "terminating connection due to idle-session timeout"
        };
        Error::new(Code::IdleInTransaction, message)
    }
}
