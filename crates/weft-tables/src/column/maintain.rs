//! Background work: what could run now, and running it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_contract::{Damage, FileSwitch, Inspect, JobOffer, LayerStatus, PartStatus, Price, Upkeep};
use weft_format::{Error, Result, Timestamp};
use weft_kernel::TableDef;

use super::claim::pick_number;
use super::job_kinds::{CONVERT, MERGE, MOVE, TO_BASELINE, TO_TRANSITION};
use super::layout::Layout;
use super::part::Part;
use super::pick::{Pick, Work};
use super::status;
use super::store::Store;

/// Bytes of rows that one core turns into columns in a microsecond, about.
const CONVERT_BYTES_PER_US: u64 = 60;
/// Bytes of column tables that one core merges in a microsecond, about.
const MERGE_BYTES_PER_US: u64 = 20;
/// What an edit alone costs, microseconds.
const MOVE_US: u64 = 200;

impl Upkeep for Store {
    fn jobs(&self) -> Vec<JobOffer> {
        if self.is_dropped() || self.unavailable().is_some() {
            return Vec::new();
        }
        let layout = self.layout();
        let mut offers: Vec<JobOffer> = self.conversion_offer(&layout).into_iter().collect();
        for pick in self.picks(&layout) {
            let price = price(&layout, &pick);
            let number = pick_number(&layout, &pick);
            offers.push(JobOffer { table: self.context.def.id, kind: pick.kind, number, price, reason: pick.reason });
        }
        offers
    }

    fn run(&self, offer: &JobOffer) -> Result<()> {
        match offer.kind {
            CONVERT => self.convert(offer.number),
            MOVE | MERGE | TO_TRANSITION | TO_BASELINE => self.run_task(offer.kind, offer.number),
            _ => return Ok(()),
        }?;
        self.renew_summaries();
        Ok(())
    }

    fn freeze(&self) {
        let _marking = self.marking.lock();
        let changed = self.last_change();
        let frozen = self.layout().frozen.last().and_then(|table| table.frozen_at());
        if changed > self.cut().max(frozen.unwrap_or_default()) {
            self.freeze_active(self.context.services.last_sequenced().max(changed));
        }
    }

    fn durable_cut(&self) -> Timestamp {
        // Under the mark lock: an installation is either noted or will be published later.
        let _marking = self.marking.lock();
        let cut = self.cut();
        if self.last_change() > cut && !self.is_dropped() { cut } else { Timestamp::MAX }
    }

    fn evolve(&self, def: &Arc<TableDef>) {
        self.set_definition(def);
    }

    fn drop_files(&self) {
        self.mark_dropped();
    }

    fn check(&self) -> Result<Vec<String>> {
        match self.unavailable() {
            None => self.check_all(),
            Some(error) => Ok(vec![error.to_string()]),
        }
    }

    fn damage(&self) -> Vec<Damage> {
        let layout = self.layout();
        let failed = |part: &Arc<Part>| part.table.failures().1.map(|error| Damage { file: Some(part.file), error });
        let of_all = self.unavailable().map(|error| Damage { file: None, error: error.clone() });
        of_all.into_iter().chain(layout.parts().iter().filter_map(failed)).collect()
    }

    fn unavailable(&self) -> Option<&Error> {
        self.given_up.error()
    }

    fn follow(&self, switch: &FileSwitch) -> Result<()> {
        self.follow_switch(switch)
    }
}

impl Inspect for Store {
    fn layers(&self) -> Vec<LayerStatus> {
        status::layers(&self.layout())
    }

    fn parts(&self) -> Vec<PartStatus> {
        status::parts(&self.layout())
    }
}

impl Store {
    fn conversion_offer(&self, layout: &Layout) -> Option<JobOffer> {
        if self.converting.load(Ordering::Acquire) {
            return None;
        }
        let table = self.convertible(layout)?;
        let (bytes, dead, rows) = (table.bytes(), table.dead_count(), table.row_count());
        let price = Price {
            cpu_us: bytes / CONVERT_BYTES_PER_US,
            write_bytes: bytes / 4,
            memory_freed_bytes: bytes,
            log_released_bytes: bytes,
            dead_rows: dead,
            ..Price::default()
        };
        let (number, waiting) = (table.number, layout.frozen.len());
        let reason = format!("row table {number} is frozen with {rows} versions, {waiting} wait");
        Some(JobOffer { table: self.context.def.id, kind: CONVERT, number, price, reason })
    }
}

/// What the job of a pick costs and brings.
fn price(layout: &Layout, pick: &Pick) -> Price {
    let inputs = pick.inputs.iter().map(|&at| &layout.parts()[at]);
    let (mut bytes, mut rows, mut dead) = (0, 0, 0);
    for part in inputs {
        bytes += part.table.file_bytes();
        rows += u64::from(part.row_count());
        dead += u64::from(part.marks.count());
    }
    match &pick.work {
        Work::Merge(_) => Price {
            cpu_us: bytes / MERGE_BYTES_PER_US,
            read_bytes: bytes,
            write_bytes: bytes * (rows - dead) / rows.max(1),
            dead_rows: dead,
            ..Price::default()
        },
        Work::Change { dropped, .. } => {
            let dead_rows = dropped.iter().map(|&at| u64::from(layout.parts()[at].row_count())).sum();
            Price { cpu_us: MOVE_US, dead_rows, ..Price::default() }
        }
    }
}
