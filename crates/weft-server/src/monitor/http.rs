//! As much of HTTP/1.1 as a probe needs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use weft::Database;
use weft_env::sync::Mutex;
use weft_format::{Error, Result};

use super::metrics;

const REQUEST_BYTES_MAX: usize = 8 << 10;
/// How long a request or its answer may take.
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// Where the server is in its life.
#[derive(Clone)]
enum Phase {
    Recovering,
    Serving(Database),
    Closing,
}

struct Shared {
    phase: Mutex<Phase>,
    begun: Instant,
    ended: AtomicBool,
}

/// A running responder. Dropping it ends it.
pub struct Monitor {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<thread::JoinHandle<()>>,
}

impl Monitor {
    /// Begins to answer, that the database recovers.
    pub fn start(address: SocketAddr) -> Result<Monitor> {
        let failed = |error: &std::io::Error| {
            Error::io(format!("could not listen for metrics on {address}"), error).hint("choose another with --metrics")
        };
        let listener = TcpListener::bind(address).map_err(|error| failed(&error))?;
        let address = listener.local_addr().map_err(|error| failed(&error))?;
        let (phase, ended) = (Mutex::new(Phase::Recovering), AtomicBool::new(false));
        let shared = Arc::new(Shared { phase, begun: Instant::now(), ended });
        let of_thread = Arc::clone(&shared);
        let body = move || {
            while !of_thread.ended.load(Ordering::Acquire) {
                match listener.accept() {
                    // A client that goes away in between is no concern of the server.
                    Ok((stream, _)) => drop(answer(&of_thread, stream)),
                    Err(_) => thread::sleep(Duration::from_millis(50)),
                }
            }
        };
        let made = thread::Builder::new().name("weft-metrics".into()).spawn(body);
        let thread = made.map_err(|error| Error::io("starting the thread for metrics", &error))?;
        Ok(Monitor { shared, address, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The database is open and clients are let in.
    pub fn serve(&self, database: &Database) {
        *self.shared.phase.lock() = Phase::Serving(database.clone());
    }

    /// The server ends.
    pub fn close(&self) {
        *self.shared.phase.lock() = Phase::Closing;
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(shared: &Shared, mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_write_timeout(Some(REQUEST_TIME))?;
    let Some(request) = read_request(&mut stream)? else { return Ok(()) };
    let mut words = request.lines().next().unwrap_or("").split(' ');
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let path = path.split('?').next().unwrap_or("");
    let phase = shared.phase.lock().clone();
    let (status, content, body) = match (method, path) {
        ("GET" | "HEAD", "/health") => match health(&phase) {
            Ok(()) => ("200 OK", "text/plain", "ok\n".to_owned()),
            Err(reason) => ("503 Service Unavailable", "text/plain", format!("{reason}\n")),
        },
        ("GET" | "HEAD", "/metrics") => {
            let database = if let Phase::Serving(database) = &phase { Some(database) } else { None };
            let body = metrics::render(database, shared.begun.elapsed(), health(&phase).is_ok());
            ("200 OK", "text/plain; version=0.0.4; charset=utf-8", body)
        }
        ("GET" | "HEAD", _) => ("404 Not Found", "text/plain", "there are /metrics and /health\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", "GET\n".to_owned()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    if method != "HEAD" {
        stream.write_all(body.as_bytes())?;
    }
    Ok(())
}

/// The head of a request; none when it is too long or too slow (monitor 1).
fn read_request(stream: &mut TcpStream) -> std::io::Result<Option<String>> {
    let deadline = Instant::now() + REQUEST_TIME;
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || request.len() > REQUEST_BYTES_MAX {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            count => request.extend_from_slice(&buffer[..count]),
        }
    }
    Ok(Some(String::from_utf8_lossy(&request).into_owned()))
}

/// Why the server cannot serve, if so.
fn health(phase: &Phase) -> std::result::Result<(), String> {
    match phase {
        Phase::Recovering => Err("recovering".into()),
        Phase::Closing => Err("shutting down".into()),
        Phase::Serving(database) => match database.status().poisoned {
            Some(cause) => Err(format!("stopped: {cause}")),
            None => Ok(()),
        },
    }
}
