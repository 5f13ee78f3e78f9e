//! Are the nodes there, and how old is what they show.
//!
//! ```text
//!   each 500 ms   SELECT state, age_ms FROM weft_replication     following, 1.6 ms     up
//!                 ... no answer, another state, older than 10 s                        down: sessions move off it
//! ```
//!
//! 1. What a probe says decides where reads go, never what they see: that is waited for on the node itself.
//! 2. A thread for each node, so that one that hangs delays no look at another.
//! 3. A password that is not taken is tried less and less often: nodes count failed logins by address.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_format::{Error, Result};
use weft_wire::client::{Client, ClientError};

use crate::nodes::Node;
use crate::options::{Door, Options};
use crate::shared::Shared;

const QUESTION: &str = "SELECT state, age_ms FROM weft_replication";
/// The longest pause after logins that were refused.
const REFUSED_PAUSE_MAX: Duration = Duration::from_secs(60);

/// Starts a thread for each node; they end with the router.
pub(crate) fn start(shared: &Arc<Shared>) -> Result<()> {
    for (at, node) in shared.nodes.all().iter().enumerate() {
        let (of_thread, node) = (Arc::clone(shared), Arc::clone(node));
        let body = move || watch(&of_thread, &node);
        let made = shared.env.spawn.spawn(&format!("weft-probe-{at}"), Box::new(body));
        drop(made.map_err(|error| Error::io("starting the thread that looks at a node", &error))?);
    }
    Ok(())
}

fn watch(shared: &Shared, node: &Node) {
    let (mut client, mut refusals) = (None, 0u32);
    while !shared.is_closing() {
        let begun = Instant::now();
        let found = look(&shared.options, node, &mut client);
        let (is_up, reason) = match &found {
            Ok(()) => (true, String::new()),
            Err(why) => (false, why.to_string()),
        };
        let is_refused = matches!(&found, Err(Wrong::Server(error)) if error.sqlstate().starts_with("28"));
        refusals = if is_refused { refusals + 1 } else { 0 };
        if !is_up {
            client = None;
        }
        if node.set_up(is_up) {
            let event = if is_up { "node_up" } else { "node_down" };
            shared.options.log.info(event, &[("node", &node.place), ("reason", &reason)]);
        }
        let rest = pause(shared.options.probe_every, refusals).saturating_sub(begun.elapsed());
        std::thread::sleep(rest.max(Duration::from_millis(1)));
    }
}

/// How long from one look to the next, after so many logins in a row that were refused (health 3).
fn pause(probe_every: Duration, refusals: u32) -> Duration {
    let longer = probe_every.saturating_mul(1 << refusals.min(16));
    longer.min(REFUSED_PAUSE_MAX.max(probe_every))
}

/// What is wrong with a node.
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

impl From<std::io::Error> for Wrong {
    fn from(error: std::io::Error) -> Wrong {
        Wrong::Found(error.to_string())
    }
}

impl From<&str> for Wrong {
    fn from(text: &str) -> Wrong {
        Wrong::Found(text.to_owned())
    }
}

/// Looks once; the error says what is wrong with the node.
fn look(options: &Options, node: &Node, client: &mut Option<Client>) -> std::result::Result<(), Wrong> {
    let (user, password) = &options.probe;
    if options.door == Door::Password && password.is_none() {
        let address = (node.place.host.as_str(), node.place.port);
        let mut addresses = std::net::ToSocketAddrs::to_socket_addrs(&address)?;
        let address = addresses.next().ok_or("its name has no address")?;
        return Ok(std::net::TcpStream::connect_timeout(&address, options.connect_timeout).map(drop)?);
    }
    let client = match client {
        Some(client) => client,
        empty => {
            let mut target = node.place.target(options, user);
            target.password = password.clone();
            target.settings.push(("application_name".into(), "weft route".into()));
            let limit = ("statement_timeout".to_owned(), format!("{}ms", options.connect_timeout.as_millis()));
            target.settings.push(limit);
            empty.insert(Client::connect(&target)?)
        }
    };
    // A node that hangs gives no answer at all.
    client.channel().socket().set_read_timeout(Some(options.connect_timeout))?;
    let results = client.query(QUESTION)?;
    let row = results.first().and_then(|result| result.rows.first()).ok_or("it follows nobody")?;
    let (state, age) = (row[0].as_deref().unwrap_or(""), row[1].as_deref());
    if state != "following" {
        return Err(Wrong::Found(format!("it is {state}")));
    }
    let age = age.and_then(|age| age.parse::<f64>().ok()).ok_or("it has not heard of the writer")?;
    match age > options.age_max.as_secs_f64() * 1000.0 {
        true => Err(Wrong::Found(format!("what it shows is {age:.0} ms old"))),
        false => Ok(()),
    }
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
