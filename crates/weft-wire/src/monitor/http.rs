//! As much of HTTP/1.1 as a probe needs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use weft_format::{Error, Result};

const REQUEST_BYTES_MAX: usize = 8 << 10;
/// How long a request or its answer may take.
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// What is answered.
pub enum Answer {
    /// To `/metrics`: a page.
    Page(String),
    /// To `/health`: well, or why not.
    Health(std::result::Result<(), String>),
}

/// A running responder. Dropping it ends it.
pub struct Responder {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Responder {
    /// Begins to answer with what `says` says to a path; none: there is no such path.
    pub fn start(address: SocketAddr, says: impl Fn(&str) -> Option<Answer> + Send + 'static) -> Result<Responder> {
        let failed = |error: &std::io::Error| {
            Error::io(format!("could not listen for metrics on {address}"), error).hint("choose another with --metrics")
        };
        let listener = TcpListener::bind(address).map_err(|error| failed(&error))?;
        let address = listener.local_addr().map_err(|error| failed(&error))?;
        let ended = Arc::<AtomicBool>::default();
        let of_thread = Arc::clone(&ended);
        let body = move || {
            while !of_thread.load(Ordering::Acquire) {
                match listener.accept() {
                    // A client that goes away in between is no concern of the program.
                    Ok((stream, _)) => drop(answer(&says, stream)),
                    Err(_) => thread::sleep(Duration::from_millis(50)),
                }
            }
        };
        let made = thread::Builder::new().name("weft-metrics".into()).spawn(body);
        let thread = made.map_err(|error| Error::io("starting the thread for metrics", &error))?;
        Ok(Responder { address, ended, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(says: &dyn Fn(&str) -> Option<Answer>, mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_write_timeout(Some(REQUEST_TIME))?;
    let Some(request) = read_request(&mut stream)? else { return Ok(()) };
    let mut words = request.lines().next().unwrap_or("").split(' ');
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let path = path.split('?').next().unwrap_or("");
    let (status, content, body) = match method {
        "GET" | "HEAD" => match says(path) {
            Some(Answer::Health(Ok(()))) => ("200 OK", "text/plain", "ok\n".to_owned()),
            Some(Answer::Health(Err(reason))) => ("503 Service Unavailable", "text/plain", format!("{reason}\n")),
            Some(Answer::Page(page)) => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", page),
            None => ("404 Not Found", "text/plain", "there are /metrics and /health\n".to_owned()),
        },
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
