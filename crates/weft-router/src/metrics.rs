//! What the router says to who watches it.
//!
//! ```text
//!   weft_route_statements_total{side="node"} 1817      weft_route_server_up{server="10.0.0.2:5432",role="node"} 1
//! ```

use std::sync::Arc;
use std::time::Instant;

use weft_format::Result;
use weft_wire::monitor::{Answer, Page, Responder};

use crate::counters::Count;
use crate::shared::Shared;

/// Answers who watches, if that is wanted.
pub(crate) fn start(shared: &Arc<Shared>) -> Result<Option<Responder>> {
    let Some(address) = shared.options.metrics else { return Ok(None) };
    let (shared, begun) = (Arc::clone(shared), Instant::now());
    let says = move |path: &str| match path {
        "/health" if shared.is_closing() => Some(Answer::Health(Err("shutting down".into()))),
        "/health" => Some(Answer::Health(Ok(()))),
        "/metrics" => Some(Answer::Page(render(&shared, begun))),
        _ => None,
    };
    Responder::start(address, says).map(Some)
}

fn render(shared: &Shared, begun: Instant) -> String {
    let (mut page, counters) = (Page::default(), &shared.counters);
    page.single("weft_route_uptime_seconds", "gauge", "Since the router began.", begun.elapsed().as_secs_f64());
    page.single("weft_route_sessions", "gauge", "Clients that are logged in.", shared.sessions());
    let help = "Clients that have not logged in yet.";
    page.single("weft_route_newcomers", "gauge", help, shared.newcomers());
    let counts: [(&str, &str, &Count); 6] = [
        ("weft_route_sessions_total", "Clients that were let in.", &counters.sessions),
        ("weft_route_refused_total", "Clients that were not let in.", &counters.refused),
        ("weft_route_again_total", "Reads that a node did not answer, and that ran on the writer.", &counters.again),
        ("weft_route_renewed_total", "Sessions that went on at another connection to the writer.", &counters.renewed),
        ("weft_route_cancels_total", "Cancel requests.", &counters.cancels),
        ("weft_route_writer_changes_total", "Nodes that took the writer's place.", &counters.writers),
    ];
    for (name, help, count) in counts {
        page.single(name, "counter", help, count.get());
    }
    let name = "weft_route_statements_total";
    page.family(name, "counter", "Texts and pipelines that ran, by where.");
    page.sample(name, &[("side", "writer")], counters.on_writer.get());
    page.sample(name, &[("side", "node")], counters.on_nodes.get());
    servers(&mut page, shared);
    page.finish()
}

fn servers(page: &mut Page, shared: &Shared) {
    let servers: Vec<_> = shared
        .servers
        .all()
        .iter()
        .map(|server| {
            let role = if shared.servers.is_writer(server.number) { "writer" } else { "node" };
            (server, server.place.to_string(), role)
        })
        .collect();
    let name = "weft_route_server_up";
    page.family(name, "gauge", "1: the server is well; a node gets reads.");
    for (server, place, role) in &servers {
        page.sample(name, &[("server", place), ("role", role)], u8::from(server.is_up()));
    }
    let name = "weft_route_server_connections";
    page.family(name, "gauge", "Connections of sessions to the server.");
    for (server, place, role) in &servers {
        page.sample(name, &[("server", place), ("role", role)], server.connections());
    }
    let epoch = shared.servers.epoch();
    page.single("weft_route_writer_epoch", "gauge", "The epoch that the writer has told; 0: none yet.", epoch);
}
