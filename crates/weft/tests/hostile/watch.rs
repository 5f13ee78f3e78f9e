//! Runs a case on a thread of its own: a hang, a panic anywhere in the process, and a case that kills the process (its
//! thread bears the case's name, which the message of a stack overflow then tells) are all found.

use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, Once};
use std::time::{Duration, Instant};

use weft::Error;

/// No case may take longer, on a machine that does other things as well.
const CASE_TIME_MAX: Duration = Duration::from_secs(30);
/// The stack of a thread that a program would start without thinking.
const STACK_BYTES: usize = 2 << 20;
/// Messages are read by people.
const MESSAGE_BYTES_MAX: usize = 8 << 10;

static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
static ONE_SUITE: Mutex<()> = Mutex::new(());

/// Waits until no other suite runs (panics are counted for the whole process) and starts to note panics.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static HOOK: Once = Once::new();
    let guard = ONE_SUITE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if let Ok(mut panics) = PANICS.lock() {
                panics.push(info.to_string());
            }
            usual(info);
        }));
    });
    guard
}

/// Runs `work` and gives its result, or what went wrong: a panic in any thread, or no end.
pub(crate) fn run<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    PANICS.lock().unwrap().clear();
    let (sender, receiver) = channel();
    let started = Instant::now();
    let thread = std::thread::Builder::new().name(name.into()).stack_size(STACK_BYTES);
    thread
        .spawn(move || {
            let result = std::panic::catch_unwind(AssertUnwindSafe(work));
            // Nobody listens any more when the case took too long.
            let _ = sender.send(result.ok());
        })
        .unwrap();
    let result = match receiver.recv_timeout(CASE_TIME_MAX) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => return Err(format!("no end after {:?}", started.elapsed())),
        Err(RecvTimeoutError::Disconnected) => None,
    };
    if std::env::var_os("WEFT_HOSTILE_TIMES").is_some() {
        eprintln!("{:>7.3} s  {name}", started.elapsed().as_secs_f64());
    }
    let panics = std::mem::take(&mut *PANICS.lock().unwrap());
    match result {
        Some(result) if panics.is_empty() => Ok(result),
        _ => Err(format!("panicked: {}", panics.join(" | "))),
    }
}

/// What is wrong with an error, whatever the case: its SQLSTATE, its length, no help for whoever reads it.
pub(crate) fn judge(error: &Error) -> Option<String> {
    let state = error.sqlstate();
    let is_state = state.len() == 5 && state.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    if !is_state {
        return Some(format!("{state:?} is no SQLSTATE"));
    }
    let length = error.to_string().len();
    if length > MESSAGE_BYTES_MAX {
        let start: String = error.message().chars().take(100).collect();
        return Some(format!("a message of {length} bytes: {start}..."));
    }
    if error.message().trim().is_empty() {
        return Some("an empty message".into());
    }
    None
}

/// Collects what is wrong and fails once, with all of it.
#[derive(Default)]
pub(crate) struct Report {
    wrong: Vec<String>,
    cases: usize,
}

impl Report {
    /// How many cases were noted.
    pub(crate) fn cases(&self) -> usize {
        self.cases
    }

    /// Notes how a case went.
    pub(crate) fn note(&mut self, name: &str, result: Result<(), String>) {
        self.cases += 1;
        if let Err(what) = result {
            eprintln!("wrong: {name}: {what}");
            self.wrong.push(format!("{name}: {what}"));
        }
    }

    /// Fails when anything was wrong.
    pub(crate) fn finish(self, what: &str) {
        println!("{what}: {} cases, {} wrong", self.cases, self.wrong.len());
        assert!(self.wrong.is_empty(), "{} of {} {what}:\n{}", self.wrong.len(), self.cases, self.wrong.join("\n"));
    }
}
