//! A store of objects at the other end of a connection: one request, one answer.
//!
//! ```text
//!   request   [op][length of a name, u32][name][the rest: bytes of an object, or names]
//!   answer    [what][position of the node's log, u64][its last commit, u64][bytes of an object, names, or why not]
//!   farewell  [END][how][why]                  from who asks; nothing is answered
//! ```
//!
//! 1. Requests are answered one at a time. Objects are put when nobody asks for anything else: a base that travels does
//!    not keep the log from travelling.
//! 2. A connection that failed is not used again: what became of the last request nobody knows.
//!
//! All numbers are little-endian.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use weft_env::sync::{Condvar, Mutex};
use weft_env::{Created, Env, OBJECT_BYTES_MAX, ObjectStore};
use weft_format::{Code, Error, Lsn, Timestamp};

use super::transit::Transit;

/// The version of these messages, which both sides say before the first.
pub const FEED_VERSION: u32 = 1;

const GET: u8 = 1;
const PUT: u8 = 2;
const CREATE: u8 = 3;
const LIST: u8 = 4;
const DELETE: u8 = 5;
const END: u8 = 6;

const DONE: u8 = 0;
const MADE: u8 = 1;
const EXISTS: u8 = 2;
const NOT_FOUND: u8 = 3;
const FAILED: u8 = 4;

/// What an answer has before its bytes.
const ANSWER_HEAD: usize = 17;
/// The longest text of an error that travels, bytes.
const REASON_BYTES_MAX: usize = 4096;

/// A connection that carries messages both ways, in order, each whole.
pub trait Link: Send {
    /// Sends a message.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;
    /// Waits for the next one, for a limited time; none: the other side has ended.
    fn receive(&mut self) -> io::Result<Option<Vec<u8>>>;
    /// What ends the connection from any thread: who waits for a message finds the end.
    fn cutter(&self) -> Box<dyn Fn() + Send + Sync>;
}

/// Who asks, and who waits for that.
#[derive(Default)]
struct Turns {
    is_busy: bool,
    /// Those who ask for something else than to put an object: they go first (remote 1).
    first: usize,
    /// When the present exchange began.
    since: Option<u64>,
}

/// The store at the other end.
pub(super) struct RemoteStore {
    env: Env,
    turns: Mutex<Turns>,
    freed: Condvar,
    link: Mutex<Box<dyn Link>>,
    cut: Box<dyn Fn() + Send + Sync>,
    place: String,
    has_failed: AtomicBool,
    position: AtomicU64,
    last: AtomicU64,
}

impl RemoteStore {
    /// Over a connection to the node of this name.
    pub(super) fn new(env: &Env, link: Box<dyn Link>, name: &str) -> RemoteStore {
        RemoteStore {
            env: env.clone(),
            turns: Mutex::default(),
            freed: Condvar::new(),
            cut: link.cutter(),
            link: Mutex::new(link),
            place: format!("node {name}"),
            has_failed: AtomicBool::new(false),
            position: AtomicU64::new(0),
            last: AtomicU64::new(0),
        }
    }

    /// Whether the connection can be used no more.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Ends the connection, whoever waits for an answer.
    pub(super) fn cut(&self) {
        self.has_failed.store(true, Ordering::Release);
        (self.cut)();
    }

    /// For how long the present exchange has gone on.
    pub(super) fn busy_for(&self) -> Duration {
        let since = self.turns.lock().since;
        let now = self.env.clock.monotonic_nanos();
        since.map_or(Duration::ZERO, |since| Duration::from_nanos(now.saturating_sub(since)))
    }

    /// How far the node's log is, and its last commit, as it said last.
    pub(super) fn told(&self) -> (Lsn, Timestamp) {
        (Lsn(self.position.load(Ordering::Acquire)), Timestamp(self.last.load(Ordering::Acquire)))
    }

    /// Says farewell, and what the node has to do.
    pub(super) fn end(&self, farewell: Farewell, why: &Error) {
        let mut message = vec![END, farewell as u8];
        message.extend_from_slice(reason(why.message()));
        if !self.has_failed() {
            let _ = self.link.lock().send(&message);
        }
        self.has_failed.store(true, Ordering::Release);
    }

    /// Asks, and the answer: what, and its bytes.
    fn ask(&self, op: u8, name: &str, rest: &[u8]) -> io::Result<(u8, Vec<u8>)> {
        // The objects of a base begin with its number.
        let goes_first = op != PUT || !name.starts_with(|first: char| first.is_ascii_digit());
        let mut turns = self.turns.lock();
        turns.first += usize::from(goes_first);
        while turns.is_busy || !goes_first && turns.first > 0 {
            self.freed.wait(&mut turns);
        }
        turns.first -= usize::from(goes_first);
        (turns.is_busy, turns.since) = (true, Some(self.env.clock.monotonic_nanos()));
        drop(turns);
        let answered = self.exchange(op, name, rest);
        let mut turns = self.turns.lock();
        (turns.is_busy, turns.since) = (false, None);
        self.freed.notify_all();
        answered
    }

    fn exchange(&self, op: u8, name: &str, rest: &[u8]) -> io::Result<(u8, Vec<u8>)> {
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the connection to the node has ended");
        if self.has_failed() {
            return Err(gone());
        }
        let mut link = self.link.lock();
        let answer = link.send(&request(op, name, rest)).and_then(|()| link.receive()?.ok_or_else(gone));
        let read = answer.and_then(|answer| {
            let (head, bytes) = answer.split_at_checked(ANSWER_HEAD).ok_or_else(damaged)?;
            self.position.store(number(&head[1..9])?, Ordering::Release);
            self.last.store(number(&head[9..17])?, Ordering::Release);
            Ok((head[0], bytes.to_vec()))
        });
        match read.inspect_err(|_| self.has_failed.store(true, Ordering::Release))? {
            (NOT_FOUND, bytes) => Err(io::Error::new(io::ErrorKind::NotFound, text(&bytes))),
            (FAILED, bytes) => Err(io::Error::other(text(&bytes))),
            done => Ok(done),
        }
    }
}

impl ObjectStore for RemoteStore {
    fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(self.ask(GET, name, &[])?.1)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.ask(PUT, name, bytes).map(drop)
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<Created> {
        match self.ask(CREATE, name, bytes)?.0 {
            MADE => Ok(Created::Made),
            EXISTS => Ok(Created::Exists),
            _ => Err(damaged()),
        }
    }

    fn list(&self, prefix: &str, after: &str) -> io::Result<Vec<String>> {
        let names = self.ask(LIST, prefix, after.as_bytes())?.1;
        let names: Vec<String> = text(&names).lines().map(str::to_owned).collect();
        let is_list = names.iter().all(|name| name.starts_with(prefix) && name.as_str() > after && name.len() < 1024);
        // One that does not go on would never end.
        if is_list && names.is_sorted_by(|a, b| a < b) { Ok(names) } else { Err(damaged()) }
    }

    fn delete(&self, names: &[String]) -> io::Result<()> {
        self.ask(DELETE, "", names.join("\n").as_bytes()).map(drop)
    }

    fn place(&self) -> &str {
        &self.place
    }
}

/// What became of a request at the node.
pub(super) enum Answered {
    /// To be sent back.
    Answer(Vec<u8>),
    /// To be sent back: it could not be done, and why.
    Failed(Vec<u8>, Error),
    /// Who asks ends, for this reason.
    Ended(Farewell, Error),
}

/// What a node has to do when who feeds it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Farewell {
    /// Come again.
    Again = 0,
    /// Begin anew: whether the log goes on from what it has nobody knows any more.
    Anew = 1,
    /// Keep what it has, which the log of this server has not.
    Keep = 2,
}

/// Answers a request.
pub(super) fn answer(store: &Arc<Transit>, message: &[u8]) -> io::Result<Answered> {
    let (op, rest) = message.split_first().ok_or_else(damaged)?;
    if *op == END {
        let (how, why) = rest.split_first().ok_or_else(damaged)?;
        let farewell = match how {
            0 => Farewell::Again,
            1 => Farewell::Anew,
            _ => Farewell::Keep,
        };
        return Ok(Answered::Ended(farewell, Error::new(Code::CannotConnectNow, text(why))));
    }
    let (length, rest) = rest.split_at_checked(4).ok_or_else(damaged)?;
    let length = u32::from_le_bytes(length.try_into().map_err(|_| damaged())?) as usize;
    let (name, rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
    let name = std::str::from_utf8(name).map_err(|_| damaged())?;
    let words = || std::str::from_utf8(rest).map_err(|_| damaged());
    let done = |bytes| (DONE, bytes);
    if rest.len() > OBJECT_BYTES_MAX {
        return Err(damaged());
    }
    let answered = match *op {
        GET => store.get(name).map(done),
        PUT => store.put(name, rest).map(|()| done(Vec::new())),
        CREATE => store.create(name, rest).map(|created| match created {
            Created::Made => (MADE, Vec::new()),
            Created::Exists => (EXISTS, Vec::new()),
        }),
        LIST => store.list(name, words()?).map(|names| done(names.join("\n").into_bytes())),
        DELETE => {
            let names: Vec<String> = words()?.lines().map(str::to_owned).collect();
            store.delete(&names).map(|()| done(Vec::new()))
        }
        _ => return Err(damaged()),
    };
    let mut failure = None;
    let (what, bytes) = answered.unwrap_or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => (NOT_FOUND, reason(&error.to_string()).to_vec()),
        _ => {
            failure = Some(Error::io(format!("taking {name}"), &error));
            (FAILED, reason(&error.to_string()).to_vec())
        }
    });
    let (position, last) = store.told();
    let mut answer = vec![what];
    answer.extend_from_slice(&position.0.to_le_bytes());
    answer.extend_from_slice(&last.0.to_le_bytes());
    answer.extend_from_slice(&bytes);
    Ok(match failure {
        Some(failure) => Answered::Failed(answer, failure),
        None => Answered::Answer(answer),
    })
}

fn request(op: u8, name: &str, rest: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(5 + name.len() + rest.len());
    message.push(op);
    message.extend_from_slice(&(name.len() as u32).to_le_bytes());
    message.extend_from_slice(name.as_bytes());
    message.extend_from_slice(rest);
    message
}

fn number(bytes: &[u8]) -> io::Result<u64> {
    Ok(u64::from_le_bytes(bytes.try_into().map_err(|_| damaged())?))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn reason(text: &str) -> &[u8] {
    &text.as_bytes()[..text.len().min(REASON_BYTES_MAX)]
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the message is none that this release knows")
}
