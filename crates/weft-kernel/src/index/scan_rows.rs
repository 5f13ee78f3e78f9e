//! All rows of a table at a timestamp, for who builds or checks an index.

use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_format::{Result, Schema, Timestamp};

use weft_contract::{ReadView, ScanRequest, Table};

/// Rows of a batch.
const BATCH_ROWS: usize = 4096;

/// Calls `visit` with batches of all columns in order. The timestamp is registered by the caller.
pub(crate) fn for_each_row(
    table: &dyn Table,
    schema: &Arc<Schema>,
    read_ts: Timestamp,
    mut visit: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let request = ScanRequest {
        view: ReadView { read_ts, own: None, reads: None },
        projection: (0..schema.columns.len()).collect(),
        predicates: Vec::new(),
        partition_count: 1,
        batch_rows: BATCH_ROWS,
    };
    for partition in &mut table.scan(schema, request)?.partitions {
        while let Some(batch) = partition.next()? {
            visit(&batch)?;
        }
    }
    Ok(())
}
