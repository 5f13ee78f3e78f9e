//! A node that is none: it says what a test wants.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_router::Place;
use weft_wire::net::{Channel, Socket, Transport};
use weft_wire::protocol::{Startup, TransactionStatus, decode_startup, text};

/// What it says to a text.
pub enum Said {
    /// One row.
    Row(&'static [&'static str]),
    /// An error; the connection goes on.
    Error(&'static str),
    /// An error in a transaction, which is open from then on, and has failed.
    Aborted(&'static str),
    /// An error that ends the connection.
    Fatal(&'static str),
}

/// What it is asked when somebody connects.
pub const CONNECTS: &str = "connects";

/// A server that answers each text with what a function says; to a probe it is well.
pub struct Fake {
    port: u16,
    connected: Arc<AtomicUsize>,
}

impl Fake {
    pub fn start(says: impl Fn(&str) -> Said + Send + Sync + 'static) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connected = Arc::new(AtomicUsize::new(0));
        let (says, count) = (Arc::new(says), Arc::clone(&connected));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (says, count) = (Arc::clone(&says), Arc::clone(&count));
                std::thread::spawn(move || serve(Channel::new(Transport::Plain(Socket::from(stream))), &*says, &count));
            }
        });
        Fake { port, connected }
    }

    pub fn place(&self) -> Place {
        Place { host: "127.0.0.1".into(), port: self.port }
    }

    /// How many sessions have tried to connect, probes apart.
    pub fn connected(&self) -> usize {
        self.connected.load(Ordering::SeqCst)
    }
}

fn serve(mut channel: Channel, says: &dyn Fn(&str) -> Said, count: &AtomicUsize) {
    loop {
        let Ok(Some(frame)) = channel.read_startup() else { return };
        match decode_startup(channel.body(&frame)).unwrap() {
            Startup::Ssl | Startup::Gss => {
                channel.out.plain_byte(b'N');
                channel.flush().unwrap();
            }
            Startup::Cancel { .. } => return,
            Startup::Session { parameters, .. } => {
                if !parameters.contains(&("application_name", "weft route")) {
                    count.fetch_add(1, Ordering::SeqCst);
                    if let Said::Fatal(code) = says(CONNECTS) {
                        error(&mut channel, "FATAL", code);
                        return drop(channel.flush());
                    }
                }
                break;
            }
        }
    }
    channel.out.authentication_ok();
    channel.out.key_data(7, &[1, 2, 3, 4]);
    channel.out.ready(TransactionStatus::Idle);
    let mut status = b'I';
    while channel.flush().is_ok() {
        let Ok(Some(frame)) = channel.read() else { return };
        let asked = String::from_utf8_lossy(channel.body(&frame)).trim_end_matches('\0').to_owned();
        if frame.tag != b'Q' {
            continue;
        }
        let said = match (status, &*asked) {
            (_, "ROLLBACK" | "COMMIT" | "BEGIN READ ONLY") => Said::Row(&[]),
            (b'E', _) => Said::Aborted("25P02"),
            (_, asked) if asked.contains("weft_replication") => Said::Row(&["following", "1.0"]),
            (_, asked) => says(asked),
        };
        status = match (&said, &*asked) {
            (Said::Aborted(_), _) => b'E',
            (_, "BEGIN READ ONLY") => b'T',
            (_, "ROLLBACK" | "COMMIT") => b'I',
            _ => status,
        };
        match said {
            Said::Row(values) => row(&mut channel, values),
            Said::Error(code) | Said::Aborted(code) => error(&mut channel, "ERROR", code),
            Said::Fatal(code) => {
                error(&mut channel, "FATAL", code);
                return drop(channel.flush());
            }
        }
        channel.out.message(b'Z', |body| body.push(status));
    }
}

fn row(channel: &mut Channel, values: &[&str]) {
    let count = (values.len() as u16).to_be_bytes();
    channel.out.message(b'T', |body| {
        body.extend_from_slice(&count);
        for _ in values {
            text(body, "said");
            // Table, column, type text, its length, modifier, text format.
            body.extend_from_slice(&[&[0; 6][..], &25u32.to_be_bytes(), &[0xff; 6], &[0; 2]].concat());
        }
    });
    channel.out.message(b'D', |body| {
        body.extend_from_slice(&count);
        for value in values {
            body.extend_from_slice(&(value.len() as u32).to_be_bytes());
            body.extend_from_slice(value.as_bytes());
        }
    });
    channel.out.message(b'C', |body| text(body, "SELECT 1"));
}

fn error(channel: &mut Channel, severity: &str, code: &str) {
    channel.out.message(b'E', |body| {
        for (tag, value) in [(b'S', severity), (b'V', severity), (b'C', code), (b'M', "said by no node")] {
            body.push(tag);
            text(body, value);
        }
        body.push(0);
    });
}
