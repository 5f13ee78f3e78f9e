//! Listeners, and the life of a server.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use weft::Database;
use weft::configuration::Configuration;
use weft_env::Env;
use weft_format::{Code, Error, Result};
use weft_sql::activity::Observer;

use super::config::{Auth, ServerConfig};
use super::owner::{Alarm, OwnerSocket};
use super::shared::Shared;
use super::watch;
use crate::connection::{self, Entrance};
use weft_wire::net::Socket;
use weft_wire::{Fields, bounded};

/// Virtual memory for the stack of a connection's thread, bytes: planning nests deep, and what is not touched is free.
const STACK_BYTES: usize = 8 << 20;
/// How long statements may take to notice that they were cancelled when the server ends.
const DRAIN_TIME: Duration = Duration::from_secs(10);
/// How long a write waits for a client that reads nothing.
const WRITE_TIME: Duration = Duration::from_secs(600);
/// How long nothing may come from another machine before it is asked whether it is still there.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// A running server. Dropping it ends it, as [`Server::close`] does.
pub struct Server {
    shared: Arc<Shared>,
    address: Option<SocketAddr>,
    socket: Option<PathBuf>,
    /// Wakes the listener of `socket`.
    unix: Option<Alarm>,
    owner: Option<OwnerSocket>,
    listeners: Vec<thread::JoinHandle<()>>,
    watch: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Begins to listen, and serves a database from threads of its own.
    pub fn start(database: Database, config: ServerConfig) -> Result<Server> {
        check(&config)?;
        let tcp = config.listen.map(bind_tcp).transpose()?;
        let address = tcp.as_ref().and_then(|listener| listener.local_addr().ok());
        let port = address.map_or(config.socket_port, |address| address.port());
        let socket = config.socket_dir.as_ref().map(|dir| dir.join(format!(".s.PGSQL.{port}")));
        let unix = socket.as_deref().map(bind_unix).transpose()?;
        let alarm = unix.as_ref().map(Alarm::of).transpose()?;
        let owner = if config.owner_socket { Some(OwnerSocket::bind(database.dir())?) } else { None };
        let (owner, owners) = owner.unzip();
        let shared = Arc::new(Shared::new(database, config, Env::real())?);
        let watch = watch::start(&shared).map_err(|error| Error::io("starting the watching thread", &error))?;
        let mut server =
            Server { shared, address, socket, unix: alarm, owner, listeners: Vec::new(), watch: Some(watch) };
        server.shared.database().describe_owner(&server.description())?;
        let place = |text: Option<String>| text.unwrap_or_else(|| "none".into());
        let tcp_place = place(server.address.map(|address| address.to_string()));
        let unix_place = place(server.socket.as_ref().map(|socket| socket.display().to_string()));
        server.shared.log().info("listening", &[("tcp", &tcp_place), ("unix", &unix_place)]);
        server.shared.database().activities().observe(slow_statements(&server.shared));
        if let Some(listener) = tcp {
            server.listen("tcp", Entrance::Public, move || accept_tcp(&listener))?;
        }
        if let Some(listener) = unix {
            server
                .listen("unix", Entrance::Public, move || listener.accept().map(|(stream, _)| Socket::from(stream)))?;
        }
        if let Some(listener) = owners {
            let next = move || listener.accept().map(|(stream, _)| Socket::from(stream));
            server.listen("owner", Entrance::Owner, next)?;
        }
        Ok(server)
    }

    /// What others are told who want to open the directory.
    fn description(&self) -> String {
        let pid = std::process::id();
        match (self.address.map(reachable), &self.socket) {
            (Some(address), _) => {
                let (host, port) = (address.ip(), address.port());
                format!(
                    "pid {pid}, a server at {address}\nconnect to it: psql -h {host} -p {port} -U weft, or \
                     weft postgres://weft@{address}"
                )
            }
            (None, Some(socket)) => {
                let (dir, port) = (socket.parent().unwrap_or(Path::new("/")), self.shared.config().socket_port);
                let (socket, dir) = (socket.display(), dir.display());
                format!("pid {pid}, a server at {socket}\nconnect to it: psql -h {dir} -p {port} -U weft")
            }
            (None, None) => format!("pid {pid}, a server"),
        }
    }

    /// Where the server listens; none without TCP.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The unix socket.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.shared.connections()
    }

    /// Takes what may change while the server runs: levels and forms of the log, times.
    pub fn apply(&self, configuration: &Configuration) {
        self.shared.apply(configuration);
    }

    /// The same from any thread, for as long as the server runs.
    pub fn applier(&self) -> impl Fn(&Configuration) + Send + Sync + 'static {
        let shared = Arc::downgrade(&self.shared);
        move |configuration| {
            if let Some(shared) = shared.upgrade() {
                shared.apply(configuration);
            }
        }
    }

    /// Ends the server: nobody new is let in, running statements are cancelled and their transactions rolled back,
    /// every client is told. The database stays open.
    pub fn close(mut self) {
        self.end();
    }

    fn listen(
        &mut self,
        name: &str,
        entrance: Entrance,
        mut next: impl FnMut() -> io::Result<Socket> + Send + 'static,
    ) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let body = move || {
            while !shared.is_closing() {
                match next() {
                    Ok(_) if shared.is_closing() => return,
                    Ok(socket) => serve(&shared, socket, entrance),
                    Err(_) if shared.is_closing() => return,
                    Err(error) => {
                        shared.log().error("accept", &[("message", &error)]);
                        // Without file descriptors there is nothing to do but wait for some connection to end.
                        thread::sleep(Duration::from_millis(50));
                    }
                }
            }
        };
        let made = thread::Builder::new().name(format!("weft-listen-{name}")).spawn(body);
        self.listeners.push(made.map_err(|error| Error::io("starting the listener's thread", &error))?);
        Ok(())
    }

    fn end(&mut self) {
        if self.listeners.is_empty() {
            return;
        }
        self.shared.log().info("closing", &[("connections", &self.shared.connections())]);
        self.shared.close();
        // A connection wakes the listener of an address.
        if let Some(address) = self.address {
            let _ = TcpStream::connect_timeout(&reachable(address), Duration::from_secs(1));
        }
        if let Some(alarm) = &self.unix {
            alarm.ring();
        }
        if let Some(socket) = &self.socket {
            let _ = std::fs::remove_file(socket);
        }
        if let Some(owner) = &self.owner {
            owner.end();
        }
        for listener in self.listeners.drain(..) {
            let _ = listener.join();
        }
        if let Some(watch) = self.watch.take() {
            watch.thread().unpark();
            let _ = watch.join();
        }
        let deadline = Instant::now() + DRAIN_TIME;
        while self.shared.connections() > 0 {
            if Instant::now() > deadline {
                self.shared.drop_all();
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Writes statements that took long.
fn slow_statements(shared: &Arc<Shared>) -> Observer {
    let log = Arc::clone(&shared.config().log);
    Box::new(move |ended| {
        let (text, origin) = (ended.activity.text(), ended.activity.origin());
        let fields: Fields<'_> = &[
            ("pid", &ended.activity.pid()),
            ("user", &origin.user),
            ("duration_ms", &format!("{:.3}", ended.nanos as f64 / 1e6)),
            ("rows", &ended.rows),
            ("engine", &ended.engine.name()),
            ("ok", &ended.succeeded),
            ("statement", &bounded(&text)),
        ];
        log.info("slow_statement", fields);
    })
}

fn check(config: &ServerConfig) -> Result<()> {
    let wrong = |message: String, hint: &str| Err(Error::new(Code::InvalidParameterValue, message).hint(hint));
    if config.listen.is_none() && config.socket_dir.is_none() && !config.owner_socket {
        return wrong("the server would listen nowhere".into(), "give an address or the directory of a unix socket");
    }
    match config.listen {
        Some(address) if config.auth == Auth::Trust && !address.ip().is_loopback() => {
            let message = format!("trust is for loopback only: {address} can be reached from other machines");
            wrong(message, "use --auth scram")
        }
        _ => Ok(()),
    }
}

fn bind_tcp(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| {
        let error = Error::io(format!("could not listen on {address}"), &error);
        error.hint("another server may have the port: choose another with --listen")
    })
}

/// Binds a unix socket; one that a server left behind, which nobody answers on, is replaced.
fn bind_unix(path: &Path) -> Result<UnixListener> {
    if path.exists() && UnixStream::connect(path).is_err() {
        let _ = std::fs::remove_file(path);
    }
    UnixListener::bind(path).map_err(|error| {
        let error = Error::io(format!("could not listen on the unix socket {path:?}"), &error);
        error.hint("another server may have it: choose another directory with --socket-dir")
    })
}

fn accept_tcp(listener: &TcpListener) -> io::Result<Socket> {
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok(Socket::from(stream))
}

fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => SocketAddr::from(([127, 0, 0, 1], v4.port())),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => SocketAddr::from(([0u16, 0, 0, 0, 0, 0, 0, 1], v6.port())),
        other => other,
    }
}

/// A thread for a new connection.
fn serve(shared: &Arc<Shared>, socket: Socket, entrance: Entrance) {
    // Without these a client that has gone would hold its thread for ever.
    let _ = socket.set_write_timeout(Some(WRITE_TIME));
    let _ = socket.keep_asking(IDLE_TIME);
    let peer = socket.peer();
    let of_thread = Arc::clone(shared);
    let body = move || connection::begin(&of_thread, socket, entrance);
    let made = thread::Builder::new().name("weft-connection".into()).stack_size(STACK_BYTES).spawn(body);
    if let Err(error) = made {
        shared.log().error("thread", &[("client", &peer), ("message", &error)]);
    }
}
