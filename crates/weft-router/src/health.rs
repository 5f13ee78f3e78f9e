//! Are the servers there, who of them writes, and how old is what the nodes show.
//!
//! ```text
//!   each 500 ms   SELECT state, age_ms FROM weft_replication     following, 1.6 ms     a node, up
//!                 ... another state, older than 10 s                                   down: sessions move off it
//!                 ... no answer                                                        down; 10 s: its sessions end
//!                 no row: SELECT weft_writer_epoch(), ...        7, 1042               it writes (servers 2)
//!                 ... another weft_system_identifier()                                 down: of another database
//! ```
//!
//! 1. What a probe says decides where reads go, never what they see: that is waited for on the node itself.
//! 2. A thread for each server, so that one that hangs delays no look at another.
//! 3. A password that is not taken is tried less and less often: servers count failed logins by address.
//! 4. A node is silent when nothing of it was heard for [`Options::silence_max`]: an answer that says no is one. The
//!    writer is never silent: what it may have committed is not tried elsewhere.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_format::{Error, Result};
use weft_kernel::fault;
use weft_wire::client::{Client, ClientError, Target, answers};

use crate::faults;
use crate::options::{Door, Options};
use crate::servers::{Server, Whose, Wrote};
use crate::shared::Shared;

const QUESTION: &str = "SELECT state, age_ms, weft_writer_epoch(), weft_system_identifier() FROM weft_replication";
const EPOCH: &str = "SELECT weft_writer_epoch(), weft_published_commit(), weft_system_identifier()";
/// The longest pause after logins that were refused.
const REFUSED_PAUSE_MAX: Duration = Duration::from_secs(60);

/// Starts a thread for each server, which end with the router, and waits until each was looked at, as long as a
/// connection may take: the first sessions find the nodes, too.
pub(crate) fn start(shared: &Arc<Shared>) -> Result<()> {
    for (at, server) in shared.servers.all().iter().enumerate() {
        let (of_thread, server) = (Arc::clone(shared), Arc::clone(server));
        let body = move || watch(&of_thread, &server);
        let made = shared.env.spawn.spawn(&format!("weft-probe-{at}"), Box::new(body));
        drop(made.map_err(|error| Error::io("starting the thread that looks at a server", &error))?);
    }
    wait_for_looks(shared, || shared.servers.all().iter().all(|server| server.is_looked_at()));
    Ok(())
}

/// Waits for first looks, as long as a connection may take.
fn wait_for_looks(shared: &Shared, are_done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !are_done() && !shared.is_closing() && begun.elapsed() < shared.options.connect_timeout {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn watch(shared: &Shared, server: &Server) {
    // Whose nodes they are the writer tells (servers 4).
    wait_for_looks(shared, || server.number == 0 || shared.servers.all()[0].is_looked_at());
    let (mut client, mut refusals, mut heard) = (None, 0u32, Instant::now());
    while !shared.is_closing() {
        let begun = Instant::now();
        let found = look(shared, server, &mut client, &mut heard);
        let is_refused = matches!(&found, Err(Wrong::Server(error)) if error.sqlstate().starts_with("28"));
        refusals = if is_refused { refusals + 1 } else { 0 };
        if found.is_err() {
            client = None;
        }
        note(shared, server, found);
        server.set_looked_at();
        let is_silent = heard.elapsed() > shared.options.silence_max && !fault::active(faults::WAIT_FOR_SILENT);
        if is_silent && !shared.servers.is_writer(server.number) {
            let ended = server.shut();
            if ended > 0 {
                shared.options.log.warn("node_silent", &[("node", &server.place), ("sessions", &ended)]);
            }
        }
        let rest = pause(shared.options.probe_every, refusals).saturating_sub(begun.elapsed());
        std::thread::sleep(rest.max(Duration::from_millis(1)));
    }
}

/// What was found means for the server.
fn note(shared: &Shared, server: &Server, found: std::result::Result<Found, Wrong>) {
    let (log, servers) = (&shared.options.log, &shared.servers);
    let (is_up, reason) = match found {
        Ok(Found::Writes(epoch, commit)) => match servers.note_writes(server.number, (epoch, commit)) {
            Wrote::Known => return,
            Wrote::Changed { ended } => {
                shared.counters.writers.up();
                return log.warn("writer_changed", &[("writer", &server.place), ("epoch", &epoch), ("ended", &ended)]);
            }
            Wrote::Overtaken => (false, format!("it writes, in epoch {epoch}, and is not the writer")),
        },
        Ok(Found::Follows(epoch)) => {
            servers.note_follows(server.number, epoch);
            (true, String::new())
        }
        Ok(Found::Answers) => (true, String::new()),
        Ok(Found::Foreign) => {
            server.shut();
            (false, "it is of another database".to_owned())
        }
        Ok(Found::Unasked) => (false, "the writer has not said which database it is".to_owned()),
        Err(why) => (false, why.to_string()),
    };
    if !is_up {
        servers.note_writer_silent(server.number);
    }
    if server.set_up(is_up) && !servers.is_writer(server.number) {
        let event = if is_up { "node_up" } else { "node_down" };
        log.info(event, &[("node", &server.place), ("reason", &reason)]);
    }
}

/// How long from one look to the next, after so many logins in a row that were refused (health 3).
fn pause(probe_every: Duration, refusals: u32) -> Duration {
    let longer = probe_every.saturating_mul(1 << refusals.min(16));
    longer.min(REFUSED_PAUSE_MAX.max(probe_every))
}

/// What a server is.
enum Found {
    /// A node, which is well, of a writer in this epoch.
    Follows(u64),
    /// A writer, in this epoch, and its newest commit.
    Writes(u64, u64),
    /// It answers; more was not asked.
    Answers,
    /// It is of another database (servers 4).
    Foreign,
    /// A node, and the writer was not asked yet (servers 4).
    Unasked,
}

/// What is wrong with a server.
enum Wrong {
    Server(ClientError),
    Found(String),
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wrong::Server(error) => error.fmt(f),
            Wrong::Found(text) => f.write_str(text),
        }
    }
}

impl From<ClientError> for Wrong {
    fn from(error: ClientError) -> Wrong {
        Wrong::Server(error)
    }
}

impl From<&str> for Wrong {
    fn from(text: &str) -> Wrong {
        Wrong::Found(text.to_owned())
    }
}

/// Looks once, and notes when it was `heard`; the error says what is wrong with the server.
fn look(
    shared: &Shared,
    server: &Server,
    client: &mut Option<Client>,
    heard: &mut Instant,
) -> std::result::Result<Found, Wrong> {
    let options = &shared.options;
    let (user, password) = &options.probe;
    if options.door == Door::Password && password.is_none() {
        answers(&server.place.target(options, user))?;
        *heard = Instant::now();
        return Ok(match shared.servers.note_database(server.number, None) {
            Whose::Unknown => Found::Unasked,
            _ => Found::Answers,
        });
    }
    let client = match client {
        Some(client) => client,
        empty => {
            let made = Client::connect(&target(options, server)).inspect_err(|error| note_heard(error, heard))?;
            *heard = Instant::now();
            shared.check_proof(&made, &server.place).map_err(|error| Wrong::Found(error.message().to_owned()))?;
            empty.insert(made)
        }
    };
    // A server that hangs gives no answer at all; one that is busy says so before.
    let limited = client.channel().socket().set_read_timeout(Some(options.connect_timeout * 2));
    limited.map_err(|error| ClientError::from(Error::io("setting a time limit for reads", &error)))?;
    let mut ask = |question| {
        let results = client.query(question).inspect_err(|error| note_heard(error, heard))?;
        *heard = Instant::now();
        let row = results.into_iter().next().and_then(|result| result.rows.into_iter().next());
        Ok::<_, Wrong>(row)
    };
    let number = |value: Option<&Option<String>>| value.and_then(Option::as_deref).and_then(|text| text.parse().ok());
    let whose = |row: &[Option<String>]| {
        let whose = shared.servers.note_database(server.number, number(row.last()));
        if whose == Whose::Changed {
            shared.options.log.warn("database_changed", &[("writer", &server.place)]);
        }
        whose
    };
    let Some(row) = ask(QUESTION)? else {
        let row = ask(EPOCH)?.unwrap_or_default();
        if whose(&row) == Whose::Foreign {
            return Ok(Found::Foreign);
        }
        let told = number(row.first()).zip(number(row.get(1)));
        let (epoch, commit) = told.ok_or("it follows nobody")?;
        return Ok(Found::Writes(epoch, commit));
    };
    match whose(&row) {
        Whose::Foreign => return Ok(Found::Foreign),
        Whose::Unknown => return Ok(Found::Unasked),
        Whose::Ours | Whose::Changed => {}
    }
    let (state, age) = (row[0].as_deref().unwrap_or(""), row[1].as_deref());
    if state != "following" {
        return Err(Wrong::Found(format!("it is {state}")));
    }
    let age = age.and_then(|age| age.parse::<f64>().ok()).ok_or("it has not heard of the writer")?;
    match age > options.age_max.as_secs_f64() * 1000.0 {
        true => Err(Wrong::Found(format!("what it shows is {age:.0} ms old"))),
        false => Ok(Found::Follows(number(row.get(2)).unwrap_or(0))),
    }
}

/// An answer that says no is one.
fn note_heard(error: &ClientError, heard: &mut Instant) {
    if matches!(error, ClientError::Server(_)) {
        *heard = Instant::now();
    }
}

fn target(options: &Options, server: &Server) -> Target {
    let (user, password) = &options.probe;
    let mut target = server.place.target(options, user);
    target.password = password.clone();
    target.settings.push(("application_name".into(), "weft route".into()));
    let limit = ("statement_timeout".to_owned(), format!("{}ms", options.connect_timeout.as_millis()));
    target.settings.push(limit);
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_that_is_refused_is_tried_less_and_less_often() {
        let every = Duration::from_millis(500);
        let pauses = [0, 1, 2, 6, 7, 1000].map(|refusals| pause(every, refusals).as_millis());
        assert_eq!(pauses, [500, 1000, 2000, 32_000, 60_000, 60_000]);
        assert_eq!(pause(Duration::from_secs(90), 3), Duration::from_secs(90));
    }
}
