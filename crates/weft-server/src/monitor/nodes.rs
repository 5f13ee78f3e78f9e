//! Who writes, who follows, and how far behind.
//!
//! ```text
//!   a writer   weft_node_lag_bytes{node="berlin"} 4096         for each node that follows
//!   archived   weft_archive_age_seconds 0.7
//!   a node     weft_replication_age_seconds 0.0016             of itself
//! ```

use weft::{ArchiveStatus, Database, NodeSeen, NodeStatus};
use weft_wire::monitor::Page;

/// A family of samples, one for each node.
type OfNodes = (&'static str, &'static str, fn(&NodeSeen, u64) -> f64);

/// What this server knows of nodes, and of itself as one.
pub(super) fn render(page: &mut Page, database: &Database) {
    let node = database.node();
    let help = "Whether the server follows another: then it only reads.";
    page.single("weft_follows", "gauge", help, u8::from(node.is_some()));
    let epoch = node.as_ref().map_or_else(|| database.engine().epoch(), |node| node.epoch);
    page.single("weft_writer_epoch", "gauge", "The epoch of the log: goes up with each writer.", epoch);
    match node {
        Some(node) => itself(page, &node),
        None => followers(page, database),
    }
    if let Some(status) = database.archive() {
        archive(page, &status);
    }
}

fn archive(page: &mut Page, status: &ArchiveStatus) {
    page.family("weft_archive_state", "gauge", "1: what the archive does.");
    page.sample("weft_archive_state", &[("state", status.phase.name())], 1);
    page.single("weft_archive_lag_bytes", "gauge", "Durable log that the archive lacks.", status.lag_bytes);
    if let Some(age) = status.age {
        let help = "The archive had everything that was durable so long ago.";
        page.single("weft_archive_age_seconds", "gauge", help, age.as_secs_f64());
    }
    let help = "The backup that the archive's log goes on from; 0: it cannot be restored yet.";
    page.single("weft_archive_base", "gauge", help, status.base.unwrap_or(0));
    page.single("weft_archive_bytes_total", "counter", "Bytes of log that were shipped.", status.bytes);
    page.single("weft_archive_failures_total", "counter", "Rounds that failed.", status.failures);
}

fn itself(page: &mut Page, node: &NodeStatus) {
    let name = "weft_replication_state";
    page.family(name, "gauge", "1: what the node does.");
    page.sample(name, &[("state", node.phase.name())], 1);
    let lag = node.announced.0.saturating_sub(node.position.0);
    page.single("weft_replication_lag_bytes", "gauge", "Log that is durable, and not read yet.", lag);
    let help = "Bytes of the log that were read, from its beginning: grows as fast as the node replays.";
    page.single("weft_replication_position_bytes_total", "counter", help, node.position.0);
    page.single("weft_replication_commit", "gauge", "The last commit that the node shows.", node.published.0);
    let behind = node.last.0.saturating_sub(node.published.0);
    page.single("weft_replication_lag_commits", "gauge", "Commits that the writer has, and the node not yet.", behind);
    if let Some(age) = node.age {
        let help = "What the node shows was everything so long ago.";
        page.single("weft_replication_age_seconds", "gauge", help, age.as_secs_f64());
    }
    if let Some(heard) = node.writer_heard {
        page.single(
            "weft_replication_writer_heard_seconds",
            "gauge",
            "Since the last sign of the writer.",
            heard.as_secs_f64(),
        );
    }
    page.single("weft_replication_joins_total", "counter", "How often the node has joined.", node.joins);
}

fn followers(page: &mut Page, database: &Database) {
    let (nodes, engine) = (database.nodes(), database.engine());
    let last = engine.published().0;
    page.single("weft_nodes", "gauge", "Nodes that have registered.", nodes.len());
    let families: [OfNodes; 4] = [
        ("weft_node_lag_bytes", "Log that is durable, and that the node has not read.", |node, _| {
            node.lag_bytes as f64
        }),
        ("weft_node_lag_commits", "Commits that the node does not show yet.", |node, last| {
            last.saturating_sub(node.published.0) as f64
        }),
        ("weft_node_heard_seconds", "Since the node told where it is.", |node, _| node.heard.as_secs_f64()),
        ("weft_node_left_behind", "1: the node needs what is not kept any more, and joins anew.", |node, _| {
            f64::from(u8::from(node.is_left_behind))
        }),
    ];
    for (name, help, value) in families {
        page.family(name, "gauge", help);
        for node in &nodes {
            page.sample(name, &[("node", &node.name)], value(node, last));
        }
    }
    let help = "Log that is kept for nodes alone.";
    page.single("weft_nodes_log_bytes", "gauge", help, engine.followed_log_bytes());
    let help = "Files that are kept for nodes alone.";
    page.single("weft_nodes_file_bytes", "gauge", help, engine.kept_bytes());
}
