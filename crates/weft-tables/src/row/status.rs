//! What a table has where, for people.

use weft_contract::{Inspect, LayerStatus, PartStatus};

use std::sync::atomic::Ordering;

use super::store::Store;

impl Inspect for Store {
    fn layers(&self) -> Vec<LayerStatus> {
        let (end, free) = {
            let space = self.space.lock();
            (space.end(), space.free_count())
        };
        let changed = self.changes.lock().pages.len() as u64;
        let layer = |layer, parts, rows, bytes| LayerStatus {
            layer,
            bucket: None,
            parts,
            rows,
            dead_rows: 0,
            bytes,
            key_min: None,
            key_max: None,
        };
        let rows = self.rows.load(Ordering::Relaxed).max(0).cast_unsigned();
        let page_bytes = self.pool.page_bytes as u64;
        vec![
            layer("older versions", 1, self.undo.version_count(), self.undo.bytes()),
            layer("changed pages", changed, 0, self.pool.lent_bytes()),
            layer("pages in memory", self.pool.kept_count(), 0, self.pool.kept_bytes()),
            layer("pages", end - free, rows, (end - free) * page_bytes),
            layer("free pages", free, 0, free * page_bytes),
        ]
    }

    fn parts(&self) -> Vec<PartStatus> {
        Vec::new()
    }
}
