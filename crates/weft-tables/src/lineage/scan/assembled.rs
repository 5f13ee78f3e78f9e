//! Rows of one block with records, put together column by column: what their records have, and the page for the rest.
//!
//! ```text
//!   column b   row 4: record 'x' @ 47     row 9: page     row 12: record 'q' @ 51
//!              records ['x', 'q']   page, decoded once [.. 'u' ..]   ─▶ interleaved: 'x' 'u' 'q'
//! ```

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_select::interleave::interleave;
use weft_contract::LOCATION;
use weft_format::arrow_values::array_of;
use weft_format::{BLOCK_ROWS, Block, Error, Predicate, Result, ValueRef};

use super::super::read::locations;
use super::super::record::Kind;
use super::super::segment::Segment;
use super::plan::{Plan, RowIds};
use super::touched::Recorded;

/// Rows of a page are decoded one by one below this share of the block.
const DENSE_ONE_IN: usize = 8;

/// See the module.
struct Assembled<'a> {
    plan: &'a Plan,
    /// The row id of the block's first row.
    first: u64,
    page: Option<&'a Segment>,
    /// The number of the block in its page, and how many rows it has there.
    block: (usize, usize),
    rows: Vec<Recorded<'a>>,
}

impl Plan {
    /// The rows with records that are there and that satisfy the predicates.
    pub(super) fn read_recorded(&self, rows: &RowIds, recorded: Vec<Recorded<'_>>) -> Result<Option<RecordBatch>> {
        let is_shown =
            |row: &Recorded<'_>| row.record.kind != Kind::Delete && self.hidden.binary_search(&row.row_id).is_err();
        let mut shown = recorded;
        shown.retain(is_shown);
        if shown.is_empty() {
            return Ok(None);
        }
        let place = self.layout.base.place(rows.start);
        let block = place.map_or((0, 0), |(segment, slot)| {
            (slot as usize / BLOCK_ROWS, (segment.rows - slot).min(BLOCK_ROWS as u32) as usize)
        });
        let page = place.map(|(segment, _)| &**segment);
        Assembled { plan: self, first: rows.start, page, block, rows: shown }.read()
    }
}

impl<'a> Assembled<'a> {
    /// Those that satisfy the predicates, as a batch; none when there is none.
    fn read(mut self) -> Result<Option<RecordBatch>> {
        for predicate in &self.plan.request.predicates {
            let mut kept = self.test(predicate)?.into_iter();
            self.rows.retain(|_| kept.next().expect("each row was tested"));
        }
        if self.rows.is_empty() {
            return Ok(None);
        }
        let column = |&ordinal: &usize| match ordinal {
            LOCATION => Ok(locations(self.rows.iter().map(|row| row.row_id))),
            _ => self.column(ordinal),
        };
        let columns = self.plan.request.projection.iter().map(column).collect::<Result<Vec<ArrayRef>>>()?;
        self.plan.batch(columns, self.rows.len()).map(Some)
    }

    /// What records have of a column in each row; none: the page, or nobody.
    fn values(&self, ordinal: usize) -> Vec<Option<ValueRef<'_>>> {
        let plan = self.plan;
        let value = |row: &Recorded<'a>| {
            plan.layout.value_in_tails(&plan.codec, ordinal, row.row_id, (row.tails, row.record), &plan.hops)
        };
        self.rows.iter().map(value).collect()
    }

    /// The block of the page of a column, when some rows have their value there; none: it has what the schema says.
    fn block(&self, ordinal: usize, values: &[Option<ValueRef<'_>>]) -> Result<Option<Arc<Block>>> {
        let is_wanted =
            values.iter().zip(&self.rows).any(|(value, row)| value.is_none() && self.on_page(row).is_some());
        let page = self.page.filter(|_| is_wanted).and_then(|page| page.page(ordinal));
        page.map(|page| page.block(self.block.0, None)).transpose()
    }

    /// The place of a row in the block, when its page has it.
    fn on_page(&self, row: &Recorded<'_>) -> Option<u32> {
        let at = row.row_id - self.first;
        (at < self.block.1 as u64).then_some(at as u32)
    }

    /// Which rows satisfy a predicate.
    fn test(&self, predicate: &Predicate) -> Result<Vec<bool>> {
        let values = self.values(predicate.column());
        let block = self.block(predicate.column(), &values)?;
        let missing = predicate.matches(self.plan.codec.missing(predicate.column()));
        let test = |(value, row): (&Option<ValueRef<'_>>, &Recorded<'_>)| match (value, &block, self.on_page(row)) {
            (Some(value), ..) => predicate.matches(*value),
            (None, Some(block), Some(at)) => block.with_value(at as usize, |value| predicate.matches(value)),
            (None, ..) => missing,
        };
        Ok(values.iter().zip(&self.rows).map(test).collect())
    }

    /// The values of a column.
    fn column(&self, ordinal: usize) -> Result<ArrayRef> {
        let data_type = self.plan.schema.columns[ordinal].data_type;
        let missing = self.plan.codec.missing(ordinal);
        let values = self.values(ordinal);
        let Some(block) = self.block(ordinal, &values)? else {
            return Ok(array_of(data_type, values.into_iter().map(|value| value.unwrap_or(missing))));
        };
        let mut apart: Vec<ValueRef<'_>> = Vec::new();
        let mut on_page: Vec<u32> = Vec::new();
        // 0 is the page.
        let mut sources: Vec<(usize, usize)> = Vec::with_capacity(values.len());
        for (value, row) in values.into_iter().zip(&self.rows) {
            match (value, self.on_page(row)) {
                (None, Some(at)) => {
                    sources.push((0, on_page.len()));
                    on_page.push(at);
                }
                (value, _) => {
                    sources.push((1, apart.len()));
                    apart.push(value.unwrap_or(missing));
                }
            }
        }
        let apart = array_of(data_type, apart.into_iter());
        let page = if on_page.len() * DENSE_ONE_IN >= block.len() {
            let of_block = |(source, at): &mut (usize, usize)| {
                if *source == 0 {
                    *at = on_page[*at] as usize;
                }
            };
            sources.iter_mut().for_each(of_block);
            block.decode(data_type)
        } else {
            block.decode_selected(data_type, &on_page)
        };
        interleave(&[page.as_ref(), apart.as_ref()], &sources)
            .map_err(|error| Error::internal(format!("putting rows with records together: {error}")))
    }
}
