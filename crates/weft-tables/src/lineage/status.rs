//! What lies in which layer, for people and for SQL's views.

use std::sync::Arc;

use weft_contract::LayerStatus;

use super::files::OpenFile;
use super::layout::Layout;
use super::store::Store;
use super::tails::Tails;

/// Tails, base pages, keys and history.
pub(super) fn layers(_store: &Store, layout: &Layout) -> Vec<LayerStatus> {
    let base = &layout.base;
    let mut pages = empty("base pages");
    for segment in base.segments.iter().flatten() {
        pages.parts += 1;
        pages.rows += u64::from(segment.rows);
        pages.dead_rows += u64::from(segment.rows - segment.alive);
        pages.bytes += segment.bytes();
    }
    let keys = files("keys", base.keys.iter().map(|run| &run.file));
    let history = files("history", base.past.iter().map(|past| &past.file));
    vec![
        tails("active tails", std::slice::from_ref(&layout.active)),
        tails("frozen tails", &layout.frozen),
        pages,
        keys,
        history,
    ]
}

fn empty(layer: &'static str) -> LayerStatus {
    LayerStatus { layer, bucket: None, parts: 0, rows: 0, dead_rows: 0, bytes: 0, key_min: None, key_max: None }
}

fn tails(layer: &'static str, all: &[Arc<Tails>]) -> LayerStatus {
    let mut status = empty(layer);
    for tails in all {
        status.parts += 1;
        status.rows += tails.record_count();
        status.bytes += tails.bytes();
    }
    status
}

fn files<'a>(layer: &'static str, all: impl Iterator<Item = &'a Arc<OpenFile>>) -> LayerStatus {
    let mut status = empty(layer);
    for file in all {
        status.parts += 1;
        status.rows += u64::from(file.table.row_count());
        status.bytes += file.table.file_bytes();
    }
    status
}
