//! How a server is started.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weft_wire::Log;
use weft_wire::net::TlsIdentity;

/// How clients prove who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// Not at all: whoever reaches the server is who they say. Only for listeners on loopback.
    Trust,
    /// By a password, with SCRAM-SHA-256.
    Scram,
}

/// Where a server listens, whom it lets in, and its limits.
#[derive(Clone)]
pub struct ServerConfig {
    /// TCP address; none: no TCP. Port 0 takes a free one.
    pub listen: Option<SocketAddr>,
    /// The directory of the unix socket `.s.PGSQL.<port>`; none: no unix socket.
    pub socket_dir: Option<PathBuf>,
    /// The port in the name of the unix socket, when there is no TCP.
    pub socket_port: u16,
    /// Whether programs of the same operating system user come in by a socket in the database's directory, without a
    /// password, and others that find the directory in use are told where the server is.
    pub owner_socket: bool,
    /// How clients prove who they are.
    pub auth: Auth,
    /// The certificate for TLS; none: TLS is refused.
    pub tls: Option<TlsIdentity>,
    /// The name that clients connect to.
    pub database_name: String,
    /// The most connections at a time.
    pub connections_max: usize,
    /// How long a client may take to log in.
    pub authentication_timeout: Duration,
    /// Whether connections and their ends are logged.
    pub log_connections: bool,
    /// Where the server writes about itself.
    pub log: Arc<Log>,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 5432))),
            socket_dir: None,
            socket_port: 5432,
            owner_socket: true,
            auth: Auth::Scram,
            tls: None,
            database_name: "weft".into(),
            connections_max: 1000,
            authentication_timeout: Duration::from_secs(60),
            log_connections: false,
            log: Arc::default(),
        }
    }
}
