//! What lies in which layer, for people and for SQL's views.

use std::sync::Arc;

use weft_contract::{LayerStatus, PartStatus};

use super::layout::Layout;
use super::part::Part;
use super::payload::Layer;
use super::row_table::RowTable;

/// The row tables, the incremental tables, and what each bucket has in its two layers, empty ones left out.
pub(super) fn layers(layout: &Layout) -> Vec<LayerStatus> {
    let columns = &layout.columns;
    let mut incremental = empty(Layer::Incremental.name(), None);
    let mut buckets: Vec<[LayerStatus; 2]> = (0..columns.borders.bucket_count())
        .map(|bucket| [Layer::Transition, Layer::Baseline].map(|layer| empty(layer.name(), Some(bucket as u32))))
        .collect();
    for (part, layer) in columns.placed() {
        let bucket = columns.borders.bucket_of(part.key_min());
        match layer {
            Layer::Incremental => add_part(&mut incremental, part),
            Layer::Transition => add_part(&mut buckets[bucket][0], part),
            Layer::Baseline => add_part(&mut buckets[bucket][1], part),
        }
    }
    let mut layers = vec![row_tables("active row table", std::slice::from_ref(&layout.active))];
    layers.push(row_tables("frozen row tables", &layout.frozen));
    layers.push(incremental);
    layers.extend(buckets.into_iter().flatten().filter(|layer| layer.parts > 0));
    layers
}

fn empty(layer: &'static str, bucket: Option<u32>) -> LayerStatus {
    LayerStatus { layer, bucket, parts: 0, rows: 0, dead_rows: 0, bytes: 0, key_min: None, key_max: None }
}

fn row_tables(layer: &'static str, tables: &[Arc<RowTable>]) -> LayerStatus {
    let mut status = empty(layer, None);
    for table in tables {
        status.parts += 1;
        status.rows += table.row_count();
        status.dead_rows += table.dead_count();
        status.bytes += table.bytes();
    }
    status.key_min = tables.iter().filter_map(|table| table.lowest_key()).min();
    status.key_max = tables.iter().filter_map(|table| table.greatest_key()).max();
    status
}

fn add_part(status: &mut LayerStatus, part: &Part) {
    status.parts += 1;
    status.rows += u64::from(part.row_count());
    status.dead_rows += u64::from(part.marks.count());
    status.bytes += part.table.file_bytes();
    if status.key_min.as_deref().is_none_or(|key| key > part.key_min()) {
        status.key_min = Some(part.key_min().to_vec());
    }
    if status.key_max.as_deref().is_none_or(|key| key < part.key_max()) {
        status.key_max = Some(part.key_max().to_vec());
    }
}

/// Every column table and its marks.
pub(super) fn parts(layout: &Layout) -> Vec<PartStatus> {
    let status = |(part, layer): (&Arc<Part>, Layer)| PartStatus {
        file: part.file,
        layer: layer.name(),
        rows: part.row_count().into(),
        bytes: part.table.file_bytes(),
        marks: part.marks.count().into(),
        young_marks: part.marks.young_count() as u64,
        marks_bytes: part.marks.memory_bytes(),
    };
    layout.columns.placed().map(status).collect()
}
