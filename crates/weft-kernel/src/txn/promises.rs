//! What tables promise to keep of their past ([`History`]), as the clock goes on.

use weft_format::Timestamp;

use super::core::Core;
use crate::catalog::{Relation, TableRef};
use crate::history::History;

impl Core {
    /// Tables that say how long they keep their past promise it, as of now; what nobody can read any more is forgotten.
    pub(crate) fn keep_promises(&self) {
        let now = self.env.clock.wall_micros();
        let tables: Vec<TableRef> = self.catalog.all().into_iter().filter_map(Relation::into_table).collect();
        for table in tables.iter().filter(|table| table.drop_ts() == Timestamp::MAX) {
            let horizon = table.horizon();
            let from = match History::of(&table.def) {
                Some(History::All) => horizon.promised().min(horizon.floor()),
                Some(History::Micros(micros)) => self.timeline.walls.before(now.saturating_sub(micros)),
                Some(History::None) => Timestamp::MAX,
                None => continue,
            };
            if from != horizon.promised() {
                horizon.keep_from(from);
            }
        }
        // What is dropped keeps its past for the snapshots that are open, and promises nothing any more.
        let is_bound =
            |table: &&TableRef| table.drop_ts() != Timestamp::MAX && table.horizon().promised() != Timestamp::MAX;
        for table in tables.iter().filter(is_bound) {
            table.horizon().keep_from(Timestamp::MAX);
        }
        let floors = tables.iter().map(|table| table.horizon().floor());
        let oldest = floors.chain([self.catalog.floor()]).min().unwrap_or_default();
        self.timeline.walls.forget_before(oldest);
    }
}
