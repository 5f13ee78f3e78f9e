//! The views of who follows, of what a node that follows knows, and of the archive.

use std::time::Duration;

use weft_format::Value;
use weft_kernel::Engine;
use weft_replica::{Archive, Company};

use super::values::{int, text};

fn ms(time: Duration) -> Value {
    Value::Float(time.as_secs_f64() * 1000.0)
}

/// The nodes that follow this engine.
pub(super) fn nodes(engine: &Engine) -> Vec<Vec<Value>> {
    let seen = Company::of(engine).map(Company::nodes).unwrap_or_default();
    let last = engine.published().0;
    let row = |node: weft_replica::NodeSeen| {
        vec![
            text(node.name),
            text(node.address),
            text(node.phase.name()),
            int(node.position.0),
            int(node.lag_bytes),
            int(node.published.0),
            int(last.saturating_sub(node.published.0)),
            ms(node.heard),
            Value::Bool(node.is_left_behind),
        ]
    };
    seen.into_iter().map(row).collect()
}

/// This engine as a node: one row, or none when it follows nobody.
pub(super) fn replication(engine: &Engine) -> Vec<Vec<Value>> {
    let Some(node) = Company::of(engine).and_then(Company::standing) else { return Vec::new() };
    let row = vec![
        text(node.name),
        text(node.phase.name()),
        int(node.joins),
        int(node.position.0),
        int(node.announced.0.saturating_sub(node.position.0)),
        int(node.published.0),
        int(node.last.0),
        node.age.map_or(Value::Null, ms),
        node.writer_heard.map_or(Value::Null, ms),
        Value::Bool(node.writer_is_closed),
        node.lost.map_or(Value::Null, |error| text(error.message())),
    ];
    vec![row]
}

/// The archive of this engine: one row, or none when it has none.
pub(super) fn archive(engine: &Engine) -> Vec<Vec<Value>> {
    let Some(archive) = Archive::status_of(engine) else { return Vec::new() };
    let row = vec![
        text(archive.place),
        text(archive.phase.name()),
        int(archive.fence),
        int(archive.shipped.0),
        int(archive.lag_bytes),
        archive.age.map_or(Value::Null, ms),
        int(archive.commit.0),
        archive.base.map_or(Value::Null, int),
        int(archive.pieces),
        int(archive.bytes),
        int(archive.failures),
        archive.error.map_or(Value::Null, |error| text(error.message())),
    ];
    vec![row]
}
