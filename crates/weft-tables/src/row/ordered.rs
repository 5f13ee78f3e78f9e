//! Rows by a range of keys, as many as are wanted: leaf by leaf from one end, each row taken as it lies.

use weft_contract::{Direction, Ordered, OrderedRows, Wanted};
use weft_format::{KeyRange, Result, RowCodec};

use super::pool::Page;
use super::store::Store;
use super::tree::Seek;
use crate::taking::Taking;

/// Leaves that are looked at as by points; those behind them go with what a scan reads.
const NEAR_LEAVES: usize = 4;

impl Ordered for Store {
    fn read_first(&self, codec: &RowCodec, wanted: Wanted<'_>, rows: &mut OrderedRows) -> Result<Option<Vec<u8>>> {
        self.given_up.check(wanted.read_ts)?;
        let mut rest = wanted.range.clone();
        let mut taking = Taking::new(&wanted, rows);
        let mut leaves = 0;
        while !rest.is_empty() {
            let seek = match (wanted.direction, &rest.to) {
                (Direction::Forward, _) => Seek::Key(&rest.from),
                (Direction::Backward, Some(to)) => Seek::Before(to),
                (Direction::Backward, None) => Seek::Last,
            };
            let take = |page: &Page| self.take_of_leaf(page, codec, &rest, &mut taking, rows);
            rest = match self.look_at_leaf(seek, leaves >= NEAR_LEAVES, take)? {
                Went::Far(key) => return Ok(Some(key)),
                Went::ToEnd => return Ok(None),
                Went::To(end) if wanted.direction == Direction::Forward => KeyRange { from: end, ..rest },
                Went::To(end) => KeyRange { to: Some(end), ..rest },
            };
            leaves += 1;
        }
        Ok(None)
    }
}

/// How far the rows of a leaf were taken.
enum Went {
    /// To this key: that is enough for one call.
    Far(Vec<u8>),
    /// To the end of the leaf, where the range goes on.
    To(Vec<u8>),
    /// To the end of the range.
    ToEnd,
}

impl Store {
    /// Takes what a leaf has of the rest of a range.
    fn take_of_leaf(
        &self,
        page: &Page,
        codec: &RowCodec,
        rest: &KeyRange,
        taking: &mut Taking<'_>,
        rows: &mut OrderedRows,
    ) -> Went {
        let (node, mut last) = (&page.node, None);
        let direction = taking.wanted.direction;
        let begin = node.first_from(&rest.from);
        let end = rest.to.as_ref().map_or(node.len(), |to| node.first_from(to));
        for step in 0..end.saturating_sub(begin) {
            let at = match direction {
                Direction::Forward => begin + step,
                Direction::Backward => end - 1 - step,
            };
            let cell = node.cell(at);
            let since = self.since_of(&cell, &mut last);
            if let Some(seen) = self.seen(&cell, since, || node.key(at), taking.wanted.read_ts) {
                rows.keys.push(node.key(at));
                let value = |&column: &usize| codec.get(seen.row(), column).to_value();
                rows.values.extend(taking.wanted.columns.iter().map(value));
            }
            if taking.is_enough(rows) {
                return Went::Far(node.key(at));
            }
        }
        let end = match direction {
            Direction::Forward => node.high.clone().filter(|high| rest.to.as_ref().is_none_or(|to| high < to)),
            Direction::Backward => Some(node.low.clone()).filter(|low| *low > rest.from),
        };
        end.map_or(Went::ToEnd, Went::To)
    }
}
