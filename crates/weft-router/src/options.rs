//! What a router is started with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weft_format::{Code, Error, Result};
use weft_wire::client::{Host, SslMode, Target};
use weft_wire::{Log, TlsIdentity};

/// A server's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// A name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Place {
    /// Reads `host:port`; an address of version 6 stands in brackets.
    pub fn parse(text: &str) -> Result<Place> {
        let wrong = || {
            let message = format!("{text:?} is no address of a server");
            Error::new(Code::InvalidParameterValue, message).hint("write host:port, or [address]:port")
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() {
            return Err(wrong());
        }
        Ok(Place { host: host.to_owned(), port })
    }

    /// A connection to it, as somebody.
    pub(crate) fn target(&self, options: &Options, user: &str) -> Target {
        let mut target = Target::new(Host::Tcp(self.host.clone()), self.port, user.to_owned());
        target.ssl_mode = options.server_tls;
        target.ssl_root = options.server_ca.clone();
        target.connect_timeout = options.connect_timeout;
        target
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// How clients come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Writer and nodes ask for no password (`weft serve --auth trust`); only for listeners on loopback.
    Trust,
    /// The router asks the client for its password, over TLS or from this machine, and shows it to the writer and the
    /// nodes by SCRAM.
    Password,
}

/// What happens to a read when its node does not show in time what it must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenLate {
    /// It runs on the writer.
    Writer,
    /// It waits as long as the session's `freshness_timeout` says, then it fails.
    Wait,
    /// It fails.
    Fail,
}

/// What a router is started with.
#[derive(Clone)]
pub struct Options {
    /// Who writes, until a node takes its place.
    pub writer: Place,
    /// Who reads.
    pub nodes: Vec<Place>,
    /// Where clients come in. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// How.
    pub door: Door,
    /// The certificate for clients; none: TLS is refused.
    pub tls: Option<TlsIdentity>,
    /// How much TLS is wanted of writer and nodes.
    pub server_tls: SslMode,
    /// The PEM file of who vouches for their certificates.
    pub server_ca: Option<PathBuf>,
    /// The setting `freshness` that sessions begin with.
    pub freshness: String,
    /// What happens to a read when its node is late.
    pub when_late: WhenLate,
    /// How long a read waits for its node before it is late.
    pub late_after: Duration,
    /// A node whose data is older than this gets no reads.
    pub age_max: Duration,
    /// Sessions leave a node of which nothing was heard for so long, also in the midst of a statement.
    pub silence_max: Duration,
    /// How long a session without a transaction, and one that begins, waits for a writer that is not there.
    pub writer_wait: Duration,
    /// Whether a notice tells where each statement ran.
    pub tell: bool,
    /// The most clients at a time.
    pub connections_max: usize,
    /// How long a client may take to log in, from its connection on.
    pub authentication_timeout: Duration,
    /// How long connecting to a server may take.
    pub connect_timeout: Duration,
    /// How often servers are looked at.
    pub probe_every: Duration,
    /// Who looks at the servers, and the password; without one a node that answers is taken to be well, and who writes
    /// stays who was named.
    pub probe: (String, Option<String>),
    /// Where `/metrics` and `/health` are; none: nowhere.
    pub metrics: Option<SocketAddr>,
    /// Where the router writes about itself.
    pub log: Arc<Log>,
}

impl Options {
    /// The usual ones.
    pub fn new(writer: Place, nodes: Vec<Place>) -> Options {
        Options {
            writer,
            nodes,
            listen: SocketAddr::from(([127, 0, 0, 1], 6432)),
            door: Door::Password,
            tls: None,
            server_tls: SslMode::Prefer,
            server_ca: None,
            freshness: "own writes".into(),
            when_late: WhenLate::Writer,
            late_after: Duration::from_millis(100),
            age_max: Duration::from_secs(10),
            silence_max: Duration::from_secs(10),
            writer_wait: Duration::from_secs(5),
            tell: false,
            connections_max: 1000,
            authentication_timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(3),
            probe_every: Duration::from_millis(500),
            probe: ("weft".into(), None),
            metrics: None,
            log: Arc::default(),
        }
    }

    /// How long sessions wait on a node, as the setting has it; none: as long as the servers' own setting says.
    pub(crate) fn freshness_timeout(&self) -> Option<String> {
        (self.when_late != WhenLate::Wait).then(|| format!("{}ms", self.late_after.as_millis()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        for (text, shown) in [("db:5432", "db:5432"), ("127.0.0.1:1", "127.0.0.1:1"), ("[::1]:5433", "[::1]:5433")] {
            assert_eq!(Place::parse(text).unwrap().to_string(), shown);
        }
        for text in ["", "db", ":5432", "db:x", "db:70000"] {
            assert!(Place::parse(text).is_err(), "{text}");
        }
    }
}
