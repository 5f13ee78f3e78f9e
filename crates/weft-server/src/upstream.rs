//! The server that feeds a node: where it is, and how the node says who it is.
//!
//! ```text
//!   postgres://ann:secret@db.example/shop ─▶ connects, as any client ─▶ START_REPLICATION WEFT 1 ... ─▶ is asked
//! ```

use std::io;
use std::time::Duration;

use weft::{Connect, FEED_VERSION, Link};
use weft_format::{Code, Error, Result};

use crate::connection::{cutter, receive, send};
use weft_wire::client::{Client, ClientError, Target};

/// So long nothing may come from a server that lives: it may read much of its log before it asks for the first time.
const SILENCE_MAX: Duration = Duration::from_secs(300);
/// So long nothing may come before it is asked whether its machine is still there.
const IDLE_TIME: Duration = Duration::from_secs(10);
/// So long connecting may take.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// A server that feeds a node of this name.
pub struct Upstream {
    target: Target,
    name: String,
    address: String,
}

impl Upstream {
    /// Whether a text is for [`Upstream::new`].
    pub fn is_url(text: &str) -> bool {
        Target::is_url(text)
    }

    /// The server at a URL, for the node called `name`, which listens at `address`. The password may be in
    /// `PGPASSWORD`.
    ///
    /// # Errors
    ///
    /// 22023 when the URL, or the name, cannot be one.
    pub fn new(url: &str, name: &str, address: &str) -> Result<Upstream> {
        let mut target = Target::parse(url)?;
        if target.connect_timeout.is_zero() || target.connect_timeout > CONNECT_TIME {
            target.connect_timeout = CONNECT_TIME;
        }
        target.password = target.password.or_else(|| std::env::var("PGPASSWORD").ok());
        if name.contains('\'') || address.contains('\'') {
            let what = format!("{name:?} at {address:?} is no name of a node and its address");
            return Err(Error::new(Code::InvalidParameterValue, what).hint("name it without quotes"));
        }
        Ok(Upstream { target, name: name.to_owned(), address: address.to_owned() })
    }

    fn told(&self, error: ClientError) -> Error {
        match error {
            ClientError::Local(error) => error,
            ClientError::Server(report) => {
                // What does not go by waiting is told from what does.
                let code = [
                    Code::InvalidPassword,
                    Code::InvalidAuthorization,
                    Code::InsufficientPrivilege,
                    Code::UndefinedDatabase,
                    Code::VersionMismatch,
                    Code::SyntaxError,
                ];
                let code = code.into_iter().find(|code| code.sqlstate() == report.sqlstate());
                let what = format!("{}: {}", self.place(), report.message());
                let error = Error::new(code.unwrap_or(Code::CannotConnectNow), what);
                match report.hint() {
                    Some(hint) => error.hint(hint.to_owned()),
                    None => error,
                }
            }
        }
    }
}

impl Connect for Upstream {
    fn connect(&self) -> Result<Box<dyn Link>> {
        let mut client = Client::connect(&self.target).map_err(|error| self.told(error))?;
        let asked = format!("START_REPLICATION WEFT {FEED_VERSION} NODE '{}' ADDRESS '{}'", self.name, self.address);
        let socket = client.channel().socket();
        let set = socket.set_read_timeout(Some(SILENCE_MAX)).and_then(|()| socket.keep_asking(IDLE_TIME));
        set.map_err(|error| Error::io("setting a time limit for reads", &error))?;
        client.copy_both(&asked).map_err(|error| self.told(error))?;
        let cut = cutter(client.channel());
        Ok(Box::new(Upward { client, cut: std::sync::Arc::from(cut) }))
    }

    fn place(&self) -> String {
        self.target.place()
    }
}

/// A node's end of a connection.
struct Upward {
    client: Client,
    cut: std::sync::Arc<dyn Fn() + Send + Sync>,
}

impl Link for Upward {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        send(self.client.channel(), message)
    }

    fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        receive(self.client.channel())
    }

    fn cutter(&self) -> Box<dyn Fn() + Send + Sync> {
        let cut = self.cut.clone();
        Box::new(move || cut())
    }
}
