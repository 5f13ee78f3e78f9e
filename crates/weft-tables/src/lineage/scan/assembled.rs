//! Versions of rows of one block, put together column by column: what records and history have, and the page for the
//! rest.
//!
//! ```text
//!   column b   row 4: record 'x' @ 47     row 9: page     row 12: history 'q'
//!              records and history ['x', 'q']   page, decoded once [.. 'u' ..]   ─▶ interleaved: 'x' 'u' 'q'
//! ```

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_select::interleave::interleave;
use weft_contract::LOCATION;
use weft_format::arrow_values::array_of;
use weft_format::{BLOCK_ROWS, Block, Error, Predicate, Result, ValueRef};

use super::super::read::locations;
use super::super::version::{Place, Version};
use super::plan::Plan;

/// Rows of a page are decoded one by one below this share of the block.
const DENSE_ONE_IN: usize = 8;

/// See the module.
pub(super) struct Assembled<'a> {
    plan: &'a Plan,
    /// By row id, ascending.
    versions: Vec<Version<'a>>,
}

impl<'a> Assembled<'a> {
    /// Versions of rows of one block.
    pub(super) fn new(plan: &'a Plan, versions: Vec<Version<'a>>) -> Assembled<'a> {
        debug_assert!(versions.is_sorted_by(|a, b| a.row_id < b.row_id), "a block's rows come in order, once each");
        Assembled { plan, versions }
    }

    /// Those that satisfy the predicates, as a batch; none when there is none.
    pub(super) fn read(mut self) -> Result<Option<RecordBatch>> {
        for predicate in &self.plan.request.predicates {
            let mut kept = self.test(predicate)?.into_iter();
            self.versions.retain(|_| kept.next().expect("each version was tested"));
        }
        if self.versions.is_empty() {
            return Ok(None);
        }
        let column = |&ordinal: &usize| match ordinal {
            LOCATION => Ok(locations(self.versions.iter().map(|version| version.row_id))),
            _ => self.column(ordinal),
        };
        let columns = self.plan.request.projection.iter().map(column).collect::<Result<Vec<ArrayRef>>>()?;
        self.plan.batch(columns, self.versions.len()).map(Some)
    }

    /// Where each version has the value of a column.
    fn places(&self, ordinal: usize) -> Result<Vec<Place<'_>>> {
        self.versions.iter().map(|version| version.place(&self.plan.codec, ordinal, &self.plan.hops)).collect()
    }

    /// The block of the page of a column; none: there is none.
    fn block(&self, ordinal: usize) -> Result<Option<Arc<Block>>> {
        let Some((segment, slot)) = self.versions.iter().find_map(|version| version.page) else { return Ok(None) };
        let page = segment.page(ordinal).map(|page| page.block(slot as usize / BLOCK_ROWS, None));
        page.transpose()
    }

    /// Which versions satisfy a predicate.
    fn test(&self, predicate: &Predicate) -> Result<Vec<bool>> {
        let places = self.places(predicate.column())?;
        let is_on_page = |place: &Place<'_>| matches!(place, Place::Page);
        let block = if places.iter().any(is_on_page) { self.block(predicate.column())? } else { None };
        let missing = predicate.matches(self.plan.codec.missing(predicate.column()));
        let test = |(place, version): (&Place<'_>, &Version<'_>)| match (place, &block, version.page) {
            (Place::Record(value), ..) => predicate.matches(*value),
            (Place::Replaced(value), ..) => predicate.matches(value.as_ref()),
            (Place::Page, Some(block), Some((_, slot))) => {
                block.with_value(slot as usize % BLOCK_ROWS, |value| predicate.matches(value))
            }
            (Place::Page, ..) => missing,
        };
        Ok(places.iter().zip(&self.versions).map(test).collect())
    }

    /// The values of a column.
    fn column(&self, ordinal: usize) -> Result<ArrayRef> {
        let places = self.places(ordinal)?;
        let is_on_page = |place: &Place<'_>| matches!(place, Place::Page);
        let block = if places.iter().any(is_on_page) { self.block(ordinal)? } else { None };
        let data_type = self.plan.schema.columns[ordinal].data_type;
        let missing = self.plan.codec.missing(ordinal);
        let mut values: Vec<ValueRef<'_>> = Vec::new();
        let mut on_page: Vec<u32> = Vec::new();
        let mut sources: Vec<(usize, usize)> = Vec::with_capacity(places.len());
        for (place, version) in places.iter().zip(&self.versions) {
            let value = match (place, version.page) {
                (Place::Record(value), _) => *value,
                (Place::Replaced(value), _) => value.as_ref(),
                (Place::Page, Some((_, slot))) if block.is_some() => {
                    sources.push((0, on_page.len()));
                    on_page.push(slot % BLOCK_ROWS as u32);
                    continue;
                }
                (Place::Page, _) => missing,
            };
            sources.push((1, values.len()));
            values.push(value);
        }
        let apart = array_of(data_type, values.into_iter());
        let Some(block) = block else { return Ok(apart) };
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
            .map_err(|error| Error::internal(format!("putting versions of rows together: {error}")))
    }
}
