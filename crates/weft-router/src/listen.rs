//! The listener, and the life of a router.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use weft_env::Env;
use weft_format::{Code, Error, Result};
use weft_wire::monitor::Responder;
use weft_wire::net::Socket;

use crate::options::{Door, Options};
use crate::shared::Shared;
use crate::{health, metrics, startup};

/// Virtual memory for the stack of a session's thread, bytes: statements nest deep, and what is not touched is free.
const STACK_BYTES: usize = 8 << 20;
/// How often a look is taken at clients whose statements run, and at those that have not logged in.
const GONE_PERIOD: Duration = Duration::from_millis(250);
/// How long sessions may take to end when the router does.
const DRAIN_TIME: Duration = Duration::from_secs(10);
/// How long a write waits for a client that reads nothing.
const WRITE_TIME: Duration = Duration::from_secs(600);
/// How long nothing may come from another machine before it is asked whether it is still there.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// A running router. Dropping it ends it.
pub struct Router {
    shared: Arc<Shared>,
    address: SocketAddr,
    listener: Option<thread::JoinHandle<()>>,
    responder: Option<Responder>,
}

impl Router {
    /// Begins to listen, and serves clients from threads of its own. The servers need not be there yet.
    pub fn start(options: Options) -> Result<Router> {
        if options.door == Door::Trust && !options.listen.ip().is_loopback() {
            let message = format!("trust is for loopback only: {} can be reached from other machines", options.listen);
            return Err(Error::new(Code::InvalidParameterValue, message).hint("use --auth password"));
        }
        let failed = |error| {
            let error = Error::io(format!("could not listen on {}", options.listen), &error);
            error.hint("another server may have the port: choose another with --listen")
        };
        let listener = TcpListener::bind(options.listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared::new(options, Env::real())?);
        shared.options.log.info("routing", &[("tcp", &address), ("writer", &shared.options.writer)]);
        let responder = metrics::start(&shared)?;
        health::start(&shared)?;
        let starting = |error| Error::io("starting the router's threads", &error);
        let looking = Arc::clone(&shared);
        let look = move || {
            while !looking.is_closing() {
                thread::sleep(GONE_PERIOD);
                looking.end_late();
                if let Err(error) = looking.end_gone() {
                    looking.options.log.error("sockets", &[("message", &error)]);
                }
            }
        };
        thread::Builder::new().name("weft-route-watch".into()).spawn(look).map_err(starting)?;
        let accepting = Arc::clone(&shared);
        let made = thread::Builder::new().name("weft-route".into()).spawn(move || accept(&accepting, &listener));
        Ok(Router { shared, address, listener: Some(made.map_err(starting)?), responder })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where `/metrics` and `/health` are.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.responder.as_ref().map(Responder::address)
    }

    /// How many clients there are.
    pub fn sessions(&self) -> usize {
        self.shared.sessions()
    }

    /// Ends the router: clients are told, their statements cancelled.
    pub fn close(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(listener) = self.listener.take() else { return };
        self.shared.close();
        let ip = match self.address.ip() {
            ip if ip.is_unspecified() && ip.is_ipv4() => std::net::Ipv4Addr::LOCALHOST.into(),
            ip if ip.is_unspecified() => std::net::Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        // A connection wakes the listener.
        let _ = TcpStream::connect_timeout(&SocketAddr::new(ip, self.address.port()), Duration::from_secs(1));
        let _ = listener.join();
        let deadline = Instant::now() + DRAIN_TIME;
        while self.shared.sessions() > 0 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.end();
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    loop {
        let accepted = listener.accept();
        if shared.is_closing() {
            return;
        }
        match accepted {
            Ok((stream, _)) => serve(shared, stream),
            Err(error) => {
                shared.options.log.error("accept", &[("message", &error)]);
                // Without file descriptors there is nothing to do but wait for some client to go.
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

fn serve(shared: &Arc<Shared>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let socket = Socket::from(stream);
    // Without these a client that has gone would hold its thread for ever.
    let _ = socket.set_write_timeout(Some(WRITE_TIME));
    let _ = socket.keep_asking(IDLE_TIME);
    let of_thread = Arc::clone(shared);
    let body = move || startup::begin(&of_thread, socket);
    let made = thread::Builder::new().name("weft-route-client".into()).stack_size(STACK_BYTES).spawn(body);
    if let Err(error) = made {
        shared.options.log.error("no_thread", &[("message", &error)]);
    }
}
