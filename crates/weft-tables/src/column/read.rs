//! Reads of one row by its key; scans stand in `scan/`.
//!
//! ```text
//!   read_row(k1 @ 44)   row tables from the newest to the oldest, then the part whose keys cover k1: t12-9:4
//!   newest(k1)          the same at the end of time: the version that is alive, and where it lies
//! ```

use std::sync::Arc;

use weft_contract::{
    FieldTest, Fields, Newest, Paths, Read, Sample, ScanField, ScanOutput, ScanRequest, TableStatistics,
};
use weft_format::{Result, RowCodec, Schema, Timestamp, Value};

use super::layout::Site;
use super::store::Store;

impl Store {
    /// Adds the values of some columns of a version that was found.
    pub(super) fn put_values(
        &self,
        site: &Site<'_>,
        codec: &RowCodec,
        key: &[u8],
        columns: &[usize],
        values: &mut Vec<Value>,
    ) -> Result<()> {
        match site {
            Site::Row(_, place) => {
                let row = place.chunk.row(place.slot);
                values.extend(columns.iter().map(|&column| codec.get(row, column).to_value()));
            }
            Site::Column(part, position) => {
                for &column in columns {
                    values.push(match self.keys.integer_of(key, column) {
                        Some(value) => value,
                        None if column < part.table.column_count() => {
                            part.table.value(part.cache(), column, *position)?
                        }
                        None => codec.missing(column).to_value(),
                    });
                }
            }
        }
        Ok(())
    }
}

impl Read for Store {
    fn read(
        &self,
        codec: &RowCodec,
        key: &[u8],
        read_ts: Timestamp,
        columns: &[usize],
        values: &mut Vec<Value>,
    ) -> Result<bool> {
        values.clear();
        self.given_up.check(read_ts)?;
        let layout = self.layout();
        layout.check_snapshot(read_ts)?;
        let Some(site) = layout.find(key, read_ts)? else { return Ok(false) };
        self.put_values(&site, codec, key, columns, values)?;
        Ok(true)
    }

    fn read_row(&self, key: &[u8], read_ts: Timestamp) -> Result<Option<Arc<[u8]>>> {
        self.given_up.check(read_ts)?;
        let layout = self.layout();
        layout.check_snapshot(read_ts)?;
        layout.find(key, read_ts)?.map(|site| site.row()).transpose()
    }

    fn newest(&self, key: &[u8]) -> Result<Option<Newest>> {
        self.given_up.check(Timestamp::MAX)?;
        let layout = self.layout();
        layout.find(key, Timestamp::MAX)?.map(|site| site.newest()).transpose()
    }

    fn newest_row(&self, key: &[u8]) -> Result<Option<(Newest, Arc<[u8]>)>> {
        self.given_up.check(Timestamp::MAX)?;
        let layout = self.layout();
        let Some(site) = layout.find(key, Timestamp::MAX)? else { return Ok(None) };
        Ok(Some((site.newest()?, site.row()?)))
    }

    fn greatest_key(&self) -> Result<Option<Vec<u8>>> {
        let layout = self.layout();
        let in_files = layout.parts().iter().map(|part| part.key_max().to_vec()).max();
        let in_memory = layout.row_tables().filter_map(|table| table.greatest_key()).max();
        Ok(in_files.max(in_memory))
    }

    fn scan(&self, schema: &Arc<Schema>, request: ScanRequest) -> Result<ScanOutput> {
        self.start_scan(schema, request, (Vec::new(), Vec::new()))
    }

    fn sample(&self, schema: &Arc<Schema>, request: ScanRequest, stretches: usize) -> Result<Sample> {
        self.start_sample(schema, request, stretches)
    }

    fn statistics(&self) -> TableStatistics {
        self.estimates()
    }
}

impl Fields for Store {
    fn scan_fields(
        &self,
        schema: &Arc<Schema>,
        request: ScanRequest,
        fields: Vec<ScanField>,
        tests: Vec<FieldTest>,
    ) -> Result<ScanOutput> {
        self.start_scan(schema, request, (fields, tests))
    }

    fn paths(&self, column: usize, block_count_max: usize, row_count_max: usize) -> Result<Paths> {
        super::paths::paths(&self.layout().columns, column, block_count_max, row_count_max)
    }
}
