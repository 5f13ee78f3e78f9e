//! Background work: what could run now, and running it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_format::{Result, Timestamp};
use weft_kernel::TableDef;
use weft_kernel::table::{JobKind, JobOffer, Maintain, Price};

use super::layout::Layout;
use super::part::Part;
use super::pick::{Shape, pick};
use super::store::Store;

/// Bytes of rows that one core turns into columns in a microsecond, about.
const CONVERT_BYTES_PER_US: u64 = 60;
/// Bytes of column tables that one core merges in a microsecond, about.
const COMPACT_BYTES_PER_US: u64 = 20;

impl Maintain for Store {
    fn jobs(&self) -> Vec<JobOffer> {
        if self.is_dropped() {
            return Vec::new();
        }
        let layout = self.layout();
        let mut offers: Vec<JobOffer> = self.conversion_offer(&layout).into_iter().collect();
        for (inputs, reason) in self.picks(&layout) {
            let bytes: u64 = inputs.iter().map(|part| part.table.file_bytes()).sum();
            let dead: u64 = inputs.iter().map(|part| u64::from(part.marks.count())).sum();
            let rows: u64 = inputs.iter().map(|part| u64::from(part.row_count())).sum();
            let price = Price {
                cpu_us: bytes / COMPACT_BYTES_PER_US,
                read_bytes: bytes,
                write_bytes: bytes * (rows - dead) / rows.max(1),
                dead_rows: dead,
                ..Price::default()
            };
            let number = inputs[0].file.0;
            offers.push(JobOffer { table: self.context.def.id, kind: JobKind::Compact, number, price, reason });
        }
        offers
    }

    fn run(&self, offer: &JobOffer) -> Result<()> {
        match offer.kind {
            JobKind::Convert => self.convert(offer.number),
            JobKind::Compact => {
                let picks = self.picks(&self.layout());
                match picks.into_iter().find(|(inputs, _)| inputs[0].file.0 == offer.number) {
                    Some((inputs, _)) => self.compact(&inputs),
                    None => Ok(()),
                }
            }
            JobKind::IndexFlush | JobKind::IndexMerge => Ok(()),
        }
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
        self.check_all()
    }

    fn layers(&self) -> Vec<(String, u64, u64, u64, u64)> {
        let layout = self.layout();
        let active = &layout.active;
        let mut frozen = (0, 0, 0, 0);
        for table in &layout.frozen {
            frozen.0 += 1;
            frozen.1 += table.row_count();
            frozen.2 += table.dead_count();
            frozen.3 += table.bytes();
        }
        let mut parts = (0, 0, 0, 0);
        for part in &layout.parts {
            parts.0 += 1;
            parts.1 += u64::from(part.row_count());
            parts.2 += u64::from(part.marks.count());
            parts.3 += part.table.file_bytes();
        }
        vec![
            ("active row table".into(), 1, active.row_count(), active.dead_count(), active.bytes()),
            ("frozen row tables".into(), frozen.0, frozen.1, frozen.2, frozen.3),
            ("column tables".into(), parts.0, parts.1, parts.2, parts.3),
        ]
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
        Some(JobOffer { table: self.context.def.id, kind: JobKind::Convert, number, price, reason })
    }

    /// Merges worth running now: their inputs, and why.
    fn picks(&self, layout: &Layout) -> Vec<(Vec<Arc<Part>>, String)> {
        let limit = self.droppable(self.cut());
        let free: Vec<&Arc<Part>> = layout.parts.iter().filter(|part| part.is_listed() && !part.is_claimed()).collect();
        let shapes: Vec<Shape<'_>> = free
            .iter()
            .map(|part| Shape {
                key_min: part.key_min(),
                key_max: part.key_max(),
                rows: part.row_count().into(),
                dead: part.marks.count_at(limit).into(),
                bytes: part.table.file_bytes(),
                full: part.is_full(),
            })
            .collect();
        let inputs = |places: Vec<usize>| places.into_iter().map(|at| free[at].clone()).collect();
        pick(&shapes, &self.options).into_iter().map(|pick| (inputs(pick.inputs), pick.reason)).collect()
    }
}
