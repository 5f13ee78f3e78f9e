//! What a scan reads: the pinned layout cut into units, and what its own transaction hides of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_schema::SchemaRef;
use weft_contract::{
    FieldTest, LayerScan, ScanField, ScanMetrics, ScanRequest, TableStatistics, TableWrites, scan_schema_with,
};
use weft_format::summary::spread;
use weft_format::{BLOCK_ROWS, ColumnStats, FileId, Predicate, Result, RowCodec, Schema, Timestamp};
use weft_kernel::fault::active;

use super::super::chunk::Chunk;
use super::super::faults;
use super::super::key_probe::KeyProbe;
use super::super::layout::{Layout, Site};
use super::super::part::Part;
use super::super::payload::Layer;
use super::super::row_table::RowTable;
use super::super::runs::Run;
use super::super::seen::Seen;
use super::super::store::Store;

/// What row tables are called among the layers of a scan.
const ROW_TABLES: &str = "row tables";
/// The same of parts that the transaction built itself.
const OWN_PARTS: &str = "own parts";

/// Positions hidden by own writes, ascending: of a part by row, of a row table by slot ordinal.
type Hidden = Vec<u32>;

/// A stretch of rows that one partition reads at once.
pub(super) enum Unit {
    /// A block of a part (its place in [`Plan::parts`]).
    Block(usize, usize),
    /// A chunk of a row table (its place in [`Plan::chunks`]), without the rows that are in runs.
    Chunk(usize),
    /// An encoded run of a chunk.
    Run(usize, Arc<Run>),
    /// The transaction's own rows.
    Own,
}

/// A part of the scan.
pub(super) struct PartScan {
    pub(super) part: Arc<Part>,
    /// Built by the own transaction: every row is visible, though it was not inserted yet for anybody else.
    pub(super) own: bool,
    pub(super) hidden: Hidden,
    /// Those on columns that the part has; all its rows satisfy the others.
    pub(super) predicates: Vec<Predicate>,
    /// The marks as of the snapshot, copied once.
    pub(super) dead: OnceLock<Option<Vec<u64>>>,
}

/// A chunk of a row table of the scan.
pub(super) struct ChunkScan {
    pub(super) table: Arc<RowTable>,
    pub(super) chunk: Arc<Chunk>,
    pub(super) len: usize,
    /// The slots before this one are in runs.
    pub(super) from: usize,
    /// No row can be added any more: columns may be kept.
    pub(super) complete: bool,
    pub(super) hidden: Arc<Hidden>,
}

/// Everything that the partitions of a scan share.
pub(super) struct Plan {
    pub(super) request: ScanRequest,
    pub(super) fields: Vec<ScanField>,
    /// Rows without such fields are not wanted.
    pub(super) tests: Vec<FieldTest>,
    pub(super) schema: Arc<Schema>,
    pub(super) codec: RowCodec,
    pub(super) arrow: SchemaRef,
    pub(super) parts: Vec<PartScan>,
    pub(super) chunks: Vec<ChunkScan>,
    units: Vec<Unit>,
    cursor: AtomicUsize,
    pub(super) metrics: Arc<ScanMetrics>,
}

impl Plan {
    pub(super) fn new(
        store: &Store,
        schema: &Arc<Schema>,
        request: ScanRequest,
        (fields, tests): (Vec<ScanField>, Vec<FieldTest>),
    ) -> Result<Plan> {
        // Before the layout is pinned (reconcile 1).
        if !active(faults::SCAN_UNRECONCILED) {
            store.reconcile()?;
        }
        // Scan 1: whatever happens next happens in later layouts.
        let layout = store.layout_for_scan();
        let read_ts = request.view.read_ts;
        layout.check_snapshot(read_ts)?;
        let own = request.view.own.clone();
        let own_parts = own.as_deref().map_or(Ok(Vec::new()), |own| own_parts(store, own))?;
        let mut hidden = own
            .as_deref()
            .map_or(Ok(HiddenRows::default()), |own| HiddenRows::find(&layout, &own_parts, own, read_ts))?;
        let metrics = Arc::new(ScanMetrics::default());
        let mut plan = Plan {
            schema: schema.clone(),
            codec: RowCodec::new(schema),
            arrow: scan_schema_with(schema, &request.projection, &fields),
            fields,
            tests,
            parts: Vec::new(),
            chunks: Vec::new(),
            units: Vec::new(),
            cursor: AtomicUsize::new(0),
            metrics: metrics.clone(),
            request,
        };
        let count = layout.parts().len() + 1 + layout.frozen.len() + own_parts.len();
        metrics.parts.fetch_add(count as u64, Ordering::Relaxed);
        let mut layers = [ROW_TABLES, Layer::ALL[0].name(), Layer::ALL[1].name(), Layer::ALL[2].name(), OWN_PARTS]
            .map(LayerScan::new);
        for (part, layer) in layout.columns.placed() {
            let is_read = part.insert_ts_min() <= read_ts
                && plan.add_part(part.clone(), false, hidden.parts.remove(&part.file).unwrap_or_default());
            layers[1 + layer as usize].add(is_read);
        }
        for part in own_parts {
            let positions = hidden.parts.remove(&part.file).unwrap_or_default();
            layers[4].add(plan.add_part(part, true, positions));
        }
        let published = store.context.services.published();
        for table in layout.frozen.iter().chain([&layout.active]) {
            let is_read = table.from <= read_ts;
            layers[0].add(is_read);
            if is_read {
                let slots = Arc::new(hidden.slots.remove(&table.number).unwrap_or_default());
                plan.add_row_table(table, published, &slots);
            }
        }
        let is_shown = |layer: &LayerScan| layer.layer != OWN_PARTS || layer.read + layer.pruned > 0;
        *metrics.layers.lock() = layers.into_iter().filter(is_shown).collect();
        if own.is_some_and(|own| own.rows.values().any(|staged| staged.row.is_some())) {
            plan.units.push(Unit::Own);
        }
        Ok(plan)
    }

    /// Whether it has to be read.
    fn add_part(&mut self, part: Arc<Part>, own: bool, hidden: Hidden) -> bool {
        debug_assert!(hidden.is_sorted(), "hidden rows of a part ascend: a block's are looked for by bisection");
        let stored = part.table.column_count();
        let (missing, predicates): (Vec<_>, Vec<_>) =
            self.request.predicates.iter().cloned().partition(|predicate| predicate.column() >= stored);
        let is_missing_matched = |predicate: &Predicate| predicate.matches(self.codec.missing(predicate.column()));
        if !missing.iter().all(is_missing_matched) || !part.table.may_match(&predicates) {
            self.metrics.parts_pruned.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        let place = self.parts.len();
        self.units.extend((0..part.table.block_count()).map(|block| Unit::Block(place, block)));
        self.parts.push(PartScan { part, own, hidden, predicates, dead: OnceLock::new() });
        true
    }

    fn add_row_table(&mut self, table: &Arc<RowTable>, published: Timestamp, hidden: &Arc<Hidden>) {
        debug_assert!(hidden.is_sorted(), "hidden slots ascend: a chunk's are looked for by bisection");
        // F is looked at before the lengths: once it is published no length changes (row table 2).
        let complete = table.frozen_at().is_some_and(|to| to <= published);
        for chunk in table.chunks() {
            // Runs are looked at before the length: they never reach beyond it (runs 1).
            let runs = chunk.runs.get();
            let full = chunk.is_full();
            let len = chunk.len();
            if len > 0 {
                let place = self.chunks.len();
                let from = runs.last().map_or(0, |run| run.start + run.len);
                assert!(from <= len, "runs that were looked at first do not reach beyond the length (runs 1)");
                self.units.extend(runs.iter().map(|run| Unit::Run(place, run.clone())));
                if from < len {
                    self.units.push(Unit::Chunk(place));
                }
                let (table, hidden) = (table.clone(), hidden.clone());
                self.chunks.push(ChunkScan { table, chunk, len, from, complete: complete || full, hidden });
            }
        }
    }

    /// Leaves units out, so that so many are left at most, from all over the rows. True: none was.
    pub(super) fn keep_spread(&mut self, most: usize) -> bool {
        let rows = |unit: &Unit| match unit {
            Unit::Block(place, block) => self.parts[*place].part.table.block_rows(*block),
            Unit::Chunk(place) => self.chunks[*place].len - self.chunks[*place].from,
            Unit::Run(_, run) => run.len,
            Unit::Own => 1,
        };
        let places = if active(faults::SAMPLE_BEGINNING) {
            (0..self.units.len().min(most)).collect()
        } else {
            spread(self.units.iter().map(|unit| rows(unit) as u64), most)
        };
        let mut units: Vec<Option<Unit>> = std::mem::take(&mut self.units).into_iter().map(Some).collect();
        let is_whole = places.len() == units.len();
        self.units = places.into_iter().filter_map(|place| units[place].take()).collect();
        is_whole
    }

    /// The next unit that nobody took.
    pub(super) fn next_unit(&self) -> Option<&Unit> {
        self.units.get(self.cursor.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn read_ts(&self) -> Timestamp {
        self.request.view.read_ts
    }
}

/// Where the committed versions lie that own writes replace.
#[derive(Default)]
struct HiddenRows {
    parts: HashMap<FileId, Hidden>,
    slots: HashMap<u64, Hidden>,
}

impl HiddenRows {
    fn find(layout: &Layout, own_parts: &[Arc<Part>], own: &TableWrites, read_ts: Timestamp) -> Result<HiddenRows> {
        let mut hidden = HiddenRows::default();
        for replaced in own.attachments.iter().filter_map(|attachment| attachment.replaced.as_ref()) {
            for (key, place) in replaced.iter() {
                match place.map(Seen::of) {
                    Some(Seen::ColumnTable(file, position)) if layout.part(file).is_some() => {
                        hidden.parts.entry(file).or_default().push(position);
                    }
                    _ => hidden.hide(layout, key, read_ts)?,
                }
            }
        }
        for key in own.rows.keys() {
            hidden.hide(layout, key, read_ts)?;
            let probe = KeyProbe::new(key);
            for part in own_parts {
                if let Some(position) = part.find(&probe, Timestamp::MAX)? {
                    hidden.parts.entry(part.file).or_default().push(position);
                }
            }
        }
        hidden.parts.values_mut().chain(hidden.slots.values_mut()).for_each(|positions| positions.sort_unstable());
        Ok(hidden)
    }

    fn hide(&mut self, layout: &Layout, key: &[u8], read_ts: Timestamp) -> Result<()> {
        match layout.find(key, read_ts)? {
            Some(Site::Row(table, place)) => {
                self.slots.entry(table.number).or_default().push(place.chunk.first + place.slot);
            }
            Some(Site::Column(part, position)) => self.parts.entry(part.file).or_default().push(position),
            None => {}
        }
        Ok(())
    }
}

fn own_parts(store: &Store, own: &TableWrites) -> Result<Vec<Arc<Part>>> {
    let files = own.attachments.iter().flat_map(|attachment| attachment.files.iter().copied());
    store.built_parts(&files.collect::<Vec<_>>())
}

/// See [`Read::statistics`](weft_contract::Read::statistics). Takes no longer with more files (summaries 2).
pub(super) fn statistics(store: &Store) -> TableStatistics {
    let layout = store.layout();
    let (row_count, bytes) = (layout.alive_in_files(), layout.columns.bytes);
    let mut statistics = TableStatistics { row_count, bytes, ranges: Vec::new() };
    for table in layout.row_tables() {
        statistics.row_count += table.row_count().saturating_sub(table.dead_count());
        statistics.bytes += table.bytes();
    }
    let ranges = store.together.ranges();
    let range = |stats: &ColumnStats| {
        (!stats.min.is_null() && !stats.max.is_null()).then(|| (stats.min.clone(), stats.max.clone()))
    };
    statistics.ranges = (0..store.schema().columns.len()).map(|ordinal| range(ranges.of(ordinal)?)).collect();
    statistics
}

/// The hidden positions among `count` rows from `first` on, counted from it.
pub(super) fn hidden_between(hidden: &[u32], first: u32, count: usize) -> impl Iterator<Item = usize> + '_ {
    let start = hidden.partition_point(|&position| position < first);
    hidden[start..].iter().map(move |&position| (position - first) as usize).take_while(move |&at| at < count)
}

/// Words of 64 rows per block.
pub(super) const BLOCK_WORDS: usize = BLOCK_ROWS / 64;
