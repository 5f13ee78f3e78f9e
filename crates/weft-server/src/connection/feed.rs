//! A connection by which a node is fed: after one statement it carries nothing else.
//!
//! ```text
//!   START_REPLICATION WEFT 1 NODE 'berlin' ADDRESS '10.0.0.7:5432'      from a role with REPLICATION, or a superuser
//!   CopyBothResponse ─▶ CopyData: what is asked of the node;  CopyData ─▶ what it answers;  until one of the two ends
//! ```
//!
//! The statement is no SQL: it is known by its first words, in the simple protocol alone, as PostgreSQL's is.

use std::io;
use std::time::Duration;

use weft::{FEED_VERSION, Link};
use weft_env::OBJECT_BYTES_MAX;
use weft_format::{Code, Error, Result};

use super::Connection;
use weft_wire::net::{Channel, Socket};

/// How the statement begins.
const BEGINS: &str = "START_REPLICATION";
/// So long a node may take to answer, and to read what is sent: then it is given up, and connects again.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// The longest message: an object, its name, and what stands around them.
const MESSAGE_BYTES_MAX: usize = OBJECT_BYTES_MAX + (1 << 16);

/// A node that wants to be fed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// What it is called.
    name: String,
    /// Where it listens; may be empty.
    address: String,
}

impl Asked {
    /// Reads the statement; none: it is SQL.
    pub(super) fn read(text: &str) -> Option<Result<Asked>> {
        let text = text.trim().trim_end_matches(';');
        let word = text.split_whitespace().next()?;
        if !word.eq_ignore_ascii_case(BEGINS) {
            return None;
        }
        Some(Asked::parse(&text[word.len()..]))
    }

    fn parse(text: &str) -> Result<Asked> {
        let wrong = || {
            let what = format!("{BEGINS} is for nodes of this database alone");
            Error::new(Code::FeatureNotSupported, what).hint("weft serve DIR --follow postgres://USER@HOST/")
        };
        // The texts are the odd ones between quotes; names and addresses have none.
        let parts: Vec<&str> = text.split('\'').collect();
        let [begin, name, between, address, end] = parts[..] else { return Err(wrong()) };
        let words: Vec<&str> = begin.split_whitespace().collect();
        let ["WEFT", version, "NODE"] = words[..] else { return Err(wrong()) };
        if between.trim() != "ADDRESS" || !end.trim().is_empty() {
            return Err(wrong());
        }
        if version.parse() != Ok(FEED_VERSION) {
            let what = format!(
                "a node that is fed by version {version} of the messages, and this server knows {FEED_VERSION}"
            );
            return Err(Error::new(Code::VersionMismatch, what).hint("use the same release for both"));
        }
        Ok(Asked { name: name.to_owned(), address: address.to_owned() })
    }
}

/// The messages of a connection, as a node and its server exchange them.
struct Messages(Channel);

impl Link for Messages {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        send(&mut self.0, message)
    }

    fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        receive(&mut self.0)
    }

    fn cutter(&self) -> Box<dyn Fn() + Send + Sync> {
        cutter(&self.0)
    }
}

/// Sends a message of either side.
pub(crate) fn send(channel: &mut Channel, message: &[u8]) -> io::Result<()> {
    channel.out.copy_data(message);
    channel.flush().map_err(|error| io::Error::other(error.message().to_owned()))
}

/// The next message of the other side; none: it has ended.
pub(crate) fn receive(channel: &mut Channel) -> io::Result<Option<Vec<u8>>> {
    let read = channel.read_limited(MESSAGE_BYTES_MAX).map_err(|error| io::Error::other(error.message().to_owned()))?;
    let Some(frame) = read else { return Ok(None) };
    // CopyDone, CopyFail, Terminate, or an error that a server tells at its end.
    Ok((frame.tag == b'd').then(|| channel.body(&frame).to_vec()))
}

/// What ends a connection, from any thread.
pub(crate) fn cutter(channel: &Channel) -> Box<dyn Fn() + Send + Sync> {
    let socket: Socket = channel.socket().clone();
    Box::new(move || socket.shutdown())
}

impl Connection {
    /// Whether the text is no SQL but asks for the connection to feed a node; an error that it may not, or cannot.
    pub(super) fn asks_for_feed(&mut self, sql: &str) -> Result<bool> {
        let Some(asked) = Asked::read(sql) else { return Ok(false) };
        let asked = asked?;
        if self.session.in_transaction() {
            return Err(Error::new(Code::ActiveTransaction, format!("{BEGINS} cannot be in a transaction")));
        }
        let user = &self.session.settings().user;
        let login = self.shared.database().login(user)?;
        if !login.is_some_and(|login| login.superuser || login.replication) {
            let what = format!("permission denied to start {BEGINS}");
            let hint = "Only roles with the REPLICATION attribute may have the whole database";
            return Err(Error::new(Code::InsufficientPrivilege, what).hint(hint));
        }
        self.feeds = Some(asked);
        Ok(true)
    }

    /// Feeds the node that has asked, until its connection or the server ends.
    pub(super) fn feed(self, Asked { name, address }: Asked) {
        let Connection { shared, slot, mut channel, session, .. } = self;
        channel.out.copy_response(b'W', 1, 0);
        let socket = channel.socket().clone();
        let set = socket.set_read_timeout(Some(ANSWER_TIME)).and_then(|()| socket.set_write_timeout(Some(ANSWER_TIME)));
        if channel.flush().is_err() || set.is_err() {
            return;
        }
        let goes_on = || !slot.is_gone() && !shared.is_closing() && !session.activity().is_terminated();
        shared.log().info("feeds", &[("node", &name), ("address", &address)]);
        let fed = shared.database().feed(Box::new(Messages(channel)), &name, &address, &goes_on);
        let reason = fed.as_ref().err().map_or("ended", |error| error.message()).to_owned();
        shared.log().info("feeds_no_more", &[("node", &name), ("reason", &reason)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_is_told_from_sql() {
        let read = |text| Asked::read(text);
        let good = read(" start_replication WEFT 1 NODE 'berlin' ADDRESS '10.0.0.7:5432' ;").unwrap().unwrap();
        assert_eq!(good, Asked { name: "berlin".into(), address: "10.0.0.7:5432".into() });
        assert!(read("SELECT 'START_REPLICATION'").is_none() && read("").is_none());
        for (wrong, code) in [
            ("START_REPLICATION SLOT x LOGICAL 0/0", Code::FeatureNotSupported),
            ("START_REPLICATION", Code::FeatureNotSupported),
            ("START_REPLICATION WEFT 1 NODE 'a' ADDRESS 'b' 'c'", Code::FeatureNotSupported),
            ("START_REPLICATION WEFT 99 NODE 'a' ADDRESS ''", Code::VersionMismatch),
        ] {
            assert_eq!(read(wrong).unwrap().unwrap_err().code(), code, "{wrong}");
        }
    }
}
