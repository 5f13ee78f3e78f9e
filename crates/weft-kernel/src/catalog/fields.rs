//! Fields of documents, taken from the texts of documents: for methods that know no others, and rows found by an index.
//!
//! ```text
//!   projection [0], fields [doc->>'a']  ──▶  projection [0, doc]  ──▶  batches k, doc  ──▶  batches k, text
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use weft_contract::{Partition, ScanField, ScanMetrics, ScanOutput, ScanRequest, scan_schema_with};
use weft_format::{Error, Result, Schema};

/// The request with a column of documents behind the projection for each field.
pub(super) fn with_documents(request: &ScanRequest, fields: &[ScanField]) -> ScanRequest {
    let mut request = request.clone();
    request.projection.extend(fields.iter().map(|field| field.column));
    request
}

/// The answer to that request with the fields in place of their documents.
pub(super) fn take_fields(
    output: ScanOutput,
    schema: &Schema,
    projection: &[usize],
    fields: Vec<ScanField>,
) -> ScanOutput {
    let arrow = scan_schema_with(schema, projection, &fields);
    let fields: Arc<[ScanField]> = fields.into();
    let ScanOutput { partitions, metrics } = output;
    let take = |inner| {
        let (fields, arrow, metrics) = (fields.clone(), arrow.clone(), metrics.clone());
        Box::new(OfTexts { inner, fields, arrow, metrics }) as Box<dyn Partition>
    };
    ScanOutput { partitions: partitions.into_iter().map(take).collect(), metrics: metrics.clone() }
}

/// A partition whose last columns are documents.
struct OfTexts {
    inner: Box<dyn Partition>,
    fields: Arc<[ScanField]>,
    arrow: SchemaRef,
    metrics: Arc<ScanMetrics>,
}

impl Partition for OfTexts {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.inner.next()? else { return Ok(None) };
        let mut columns = batch.columns().to_vec();
        let first = columns.len() - self.fields.len();
        for (field, column) in self.fields.iter().zip(&mut columns[first..]) {
            *column = field.path.of_array(column)?.array;
            self.metrics.field_texts.fetch_add(1, Ordering::Relaxed);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let taken = RecordBatch::try_new_with_options(self.arrow.clone(), columns, &options);
        taken.map(Some).map_err(|error| Error::internal(format!("fields do not fit their schema: {error}")))
    }
}
