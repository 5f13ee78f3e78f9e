//! Are the nodes there, and how old is what they show.
//!
//! ```text
//!   each 500 ms   SELECT state, age_ms FROM weft_replication     following, 1.6 ms     up
//!                 ... no answer, another state, older than 10 s                        down: sessions move off it
//! ```
//!
//! 1. What a probe says decides where reads go, never what they see: that is waited for on the node itself.
//! 2. A thread for each node, so that one that hangs delays no look at another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_format::{Error, Result};
use weft_wire::client::{Client, ClientError};

use crate::nodes::Node;
use crate::options::{Door, Options};
use crate::shared::Shared;

const QUESTION: &str = "SELECT state, age_ms FROM weft_replication";

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
    let mut client = None;
    while !shared.is_closing() {
        let begun = Instant::now();
        let found = look(&shared.options, node, &mut client);
        let (is_up, reason) = match &found {
            Ok(()) => (true, String::new()),
            Err(reason) => (false, reason.clone()),
        };
        if !is_up {
            client = None;
        }
        if node.set_up(is_up) {
            let event = if is_up { "node_up" } else { "node_down" };
            shared.options.log.info(event, &[("node", &node.place), ("reason", &reason)]);
        }
        let rest = shared.options.probe_every.saturating_sub(begun.elapsed());
        std::thread::sleep(rest.max(Duration::from_millis(1)));
    }
}

/// Looks once; the error says what is wrong with the node.
fn look(options: &Options, node: &Node, client: &mut Option<Client>) -> std::result::Result<(), String> {
    let (user, password) = &options.probe;
    if options.door == Door::Password && password.is_none() {
        let address = (node.place.host.as_str(), node.place.port);
        let mut addresses = std::net::ToSocketAddrs::to_socket_addrs(&address).map_err(|error| error.to_string())?;
        let address = addresses.next().ok_or("its name has no address")?;
        let made = std::net::TcpStream::connect_timeout(&address, options.connect_timeout);
        return made.map(drop).map_err(|error| error.to_string());
    }
    let told = |error: ClientError| error.to_string();
    let client = match client {
        Some(client) => client,
        empty => {
            let mut target = node.place.target(options, user);
            target.password = password.clone();
            target.settings.push(("application_name".into(), "weft route".into()));
            let limit = ("statement_timeout".to_owned(), format!("{}ms", options.connect_timeout.as_millis()));
            target.settings.push(limit);
            empty.insert(Client::connect(&target).map_err(told)?)
        }
    };
    // A node that hangs gives no answer at all.
    let limited = client.channel().socket().set_read_timeout(Some(options.connect_timeout));
    limited.map_err(|error| error.to_string())?;
    let results = client.query(QUESTION).map_err(told)?;
    let row = results.first().and_then(|result| result.rows.first()).ok_or("it follows nobody")?;
    let (state, age) = (row[0].as_deref().unwrap_or(""), row[1].as_deref());
    if state != "following" {
        return Err(format!("it is {state}"));
    }
    let age = age.and_then(|age| age.parse::<f64>().ok()).ok_or("it has not heard of the writer")?;
    match age > options.age_max.as_secs_f64() * 1000.0 {
        true => Err(format!("what it shows is {age:.0} ms old")),
        false => Ok(()),
    }
}
