//! A connection by which a node is fed: after one statement it carries nothing else.
//!
//! ```text
//!   START_REPLICATION WEFT 1 NODE 'berlin' ADDRESS '10.0.0.7:5432'      from a role with REPLICATION, or a superuser
//!   CopyBothResponse ─▶ CopyData: what is asked of the node;  CopyData ─▶ what it answers;  until one of the two ends
//! ```

use std::time::Duration;

use weft_format::{Code, Error, Result};

use super::Connection;
use super::asked::{Asked, BEGINS};
use super::link::Messages;

/// So long a node may take to answer, and to read what is sent: then it is given up, and connects again.
const ANSWER_TIME: Duration = Duration::from_secs(60);

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
        slot.ends_itself();
        let goes_on = || !slot.is_gone() && !shared.is_closing() && !session.activity().is_terminated();
        shared.log().info("feeds", &[("node", &name), ("address", &address)]);
        let fed = shared.database().feed(Box::new(Messages(channel)), &name, &address, &goes_on);
        let reason = fed.as_ref().err().map_or("ended", |error| error.message()).to_owned();
        shared.log().info("feeds_no_more", &[("node", &name), ("reason", &reason)]);
    }
}
