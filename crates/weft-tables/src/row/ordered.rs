//! Rows by a range of keys, as many as are wanted: leaf by leaf from one end, each row taken as it lies.

use weft_contract::{Direction, Ordered, OrderedRows, Wanted};
use weft_format::{KeyRange, Result, RowCodec};

use super::pool::Page;
use super::store::Store;
use super::tree::Seek;

/// Leaves that are looked at as by points; those behind them go with what a scan reads.
const NEAR_LEAVES: usize = 4;

impl Ordered for Store {
    fn read_first(&self, codec: &RowCodec, wanted: Wanted<'_>, rows: &mut OrderedRows) -> Result<bool> {
        self.given_up.check(wanted.read_ts)?;
        let mut rest = wanted.range.clone();
        let mut leaves = 0;
        let target = rows.len() + wanted.limit;
        while !rest.is_empty() {
            let seek = match (wanted.direction, &rest.to) {
                (Direction::Forward, _) => Seek::Key(&rest.from),
                (Direction::Backward, Some(to)) => Seek::Before(to),
                (Direction::Backward, None) => Seek::Last,
            };
            let take = |page: &Page| self.take_of_leaf(page, codec, (&wanted, &rest), target, rows);
            let Some(behind) = self.look_at_leaf(seek, leaves >= NEAR_LEAVES, take)? else { return Ok(true) };
            rest = match behind {
                None => return Ok(false),
                Some(end) if wanted.direction == Direction::Forward => KeyRange { from: end, ..rest },
                Some(end) => KeyRange { to: Some(end), ..rest },
            };
            leaves += 1;
        }
        Ok(false)
    }
}

impl Store {
    /// Takes what a leaf has of the rest of a range. None: there are as many rows as are wanted. Else where the range
    /// goes on behind the leaf, if it does.
    fn take_of_leaf(
        &self,
        page: &Page,
        codec: &RowCodec,
        (wanted, rest): (&Wanted<'_>, &KeyRange),
        target: usize,
        rows: &mut OrderedRows,
    ) -> Option<Option<Vec<u8>>> {
        let (node, mut last) = (&page.node, None);
        let begin = node.first_from(&rest.from);
        let end = rest.to.as_ref().map_or(node.len(), |to| node.first_from(to));
        for step in 0..end.saturating_sub(begin) {
            let at = match wanted.direction {
                Direction::Forward => begin + step,
                Direction::Backward => end - 1 - step,
            };
            if rows.len() >= target {
                return None;
            }
            let cell = node.cell(at);
            let since = self.since_of(&cell, &mut last);
            let Some(seen) = self.seen(&cell, since, || node.key(at), wanted.read_ts) else { continue };
            rows.keys.push(node.key(at));
            let value = |&column: &usize| codec.get(seen.row(), column).to_value();
            rows.values.extend(wanted.columns.iter().map(value));
        }
        Some(match wanted.direction {
            Direction::Forward => node.high.clone().filter(|high| rest.to.as_ref().is_none_or(|to| high < to)),
            Direction::Backward => Some(node.low.clone()).filter(|low| *low > rest.from),
        })
    }
}
