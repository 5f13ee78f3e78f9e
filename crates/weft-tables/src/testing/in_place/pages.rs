//! The pages of a table: found by key, split, brought back from disk and log.
//!
//! ```text
//!   disk   page 0 torn · page 1 whole, record 812          found(..) of each
//!   log    #812 split of 0 · #814 image of 0               recover(..) of each: #812 is in page 1, #814 makes page 0
//!   end    pages 0, 1 meet: the table is whole             settle()
//! ```
//!
//! 1. The keys of all pages are all keys, each in one page: each page ends where the next one begins.
//! 2. A page is made by a split, which the log has; so each is on disk, or comes out of the log.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use weft_format::{Error, RecordNo, Result};

use super::bytes::{PageChange, is_long, split_record};
use super::page::{Page, Slot};

/// See above.
#[derive(Default)]
pub(super) struct Pages {
    by_number: BTreeMap<u64, Page>,
    /// By lowest key; the first one begins at "".
    by_key: BTreeMap<Vec<u8>, u64>,
    torn: BTreeSet<u64>,
    /// The last record that one of them had, as it lay on disk.
    pub(super) last_found: RecordNo,
    /// All that the log has of them was done.
    is_settled: bool,
}

impl Pages {
    /// One page for all keys.
    pub(super) fn new() -> Pages {
        let mut pages = Pages::default();
        pages.by_number.insert(0, Page::default());
        pages.by_key.insert(Vec::new(), 0);
        pages
    }

    /// What lies on disk, in the order of numbers; none: it is torn.
    pub(super) fn of_disk(found: Vec<Option<Page>>) -> Pages {
        let mut pages = Pages::default();
        for (number, page) in (0..).zip(found) {
            match page.filter(|page| page.number == number) {
                Some(page) => {
                    pages.last_found = pages.last_found.max(page.record);
                    pages.by_number.insert(number, page);
                }
                None => drop(pages.torn.insert(number)),
            }
        }
        pages
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Page> {
        self.by_number.values()
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Page> {
        self.by_number.values_mut()
    }

    /// The rows in the order of their keys.
    pub(super) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.by_key.values().flat_map(|number| self.by_number[number].slots())
    }

    fn number_of(&self, key: &[u8]) -> u64 {
        let below = self.by_key.range::<[u8], _>((Bound::Unbounded, Bound::Included(key)));
        *below.last().expect("the first page begins at the lowest key (pages 1)").1
    }

    pub(super) fn of_key(&self, key: &[u8]) -> &Page {
        &self.by_number[&self.number_of(key)]
    }

    pub(super) fn of_key_mut(&mut self, key: &[u8]) -> &mut Page {
        let number = self.number_of(key);
        self.of_number(number)
    }

    fn of_number(&mut self, number: u64) -> &mut Page {
        self.by_number.get_mut(&number).expect("a page that keys are in is there (pages 1)")
    }

    /// Splits the page of a key until it is no longer too large. `log` appends the record of a split (pages 2).
    pub(super) fn split(&mut self, key: &[u8], log: &dyn Fn(&[u8]) -> Result<RecordNo>) -> Result<()> {
        self.split_page(self.number_of(key), log).map(drop)
    }

    /// Splits a page until neither it nor what is split off is too large; the page.
    pub(super) fn split_page(&mut self, number: u64, log: &dyn Fn(&[u8]) -> Result<RecordNo>) -> Result<&mut Page> {
        let page = self.of_number(number);
        if let Some(low) = page.split_key(is_long(page)) {
            let new = self.by_number.keys().next_back().map_or(0, |last| last + 1);
            let upper = self.of_number(number).upper(new, &low);
            let record = log(&split_record(number, &upper))?;
            self.move_up(number, upper, record);
            self.split_page(new, log)?;
            self.split_page(number, log)?;
        }
        Ok(self.of_number(number))
    }

    /// What page `number` has from the lowest key of `upper` on is that page from now on.
    fn move_up(&mut self, number: u64, mut upper: Page, record: RecordNo) {
        self.of_number(number).cut_at(&upper.low, record);
        upper.changed_by(record);
        self.by_key.insert(upper.low.clone(), upper.number);
        let before = self.by_number.insert(upper.number, upper);
        assert!(before.is_none(), "a split makes a page that was not there (pages 2)");
    }

    /// Does what record `number` says.
    pub(super) fn redo(&mut self, number: RecordNo, change: PageChange) {
        if self.is_settled {
            return self.follow(number, change);
        }
        match change {
            PageChange::Image(page) => self.recover(number, page),
            PageChange::Split(lower, upper) => {
                // One that is torn comes out of the log as it was later.
                if let Some(page) = self.by_number.get_mut(&lower).filter(|page| page.record < number) {
                    page.cut_at(&upper.low, number);
                }
                self.recover(number, upper);
            }
        }
    }

    fn recover(&mut self, number: RecordNo, mut page: Page) {
        let found = self.by_number.get(&page.number);
        if found.is_some_and(|found| found.record >= number) {
            return;
        }
        page.needs = found.and_then(|found| found.needs);
        page.changed_by(number);
        self.torn.remove(&page.number);
        self.by_number.insert(page.number, page);
    }

    /// As the log goes on: the pages have all commits before the record.
    fn follow(&mut self, number: RecordNo, change: PageChange) {
        let PageChange::Split(lower, upper) = change else { return };
        if self.of_number(lower).record < number {
            let upper = self.of_number(lower).upper(upper.number, &upper.low);
            self.move_up(lower, upper, number);
        }
    }

    /// The log has no more of them.
    pub(super) fn settle(&mut self) -> Result<()> {
        let not_whole = |what: String| Error::corrupt(what).hint("restore the database from a backup");
        if let Some(torn) = self.torn.first() {
            return Err(not_whole(format!("page {torn} is torn or damaged, and the log does not have it")));
        }
        self.by_key = self.by_number.values().map(|page| (page.low.clone(), page.number)).collect();
        let mut from = Some(Vec::new());
        for (low, number) in &self.by_key {
            if from.as_ref() != Some(low) {
                return Err(not_whole(format!("the pages before page {number} do not reach up to it")));
            }
            from.clone_from(&self.by_number[number].high);
        }
        let is_whole = from.is_none() && self.by_key.len() == self.by_number.len();
        if !is_whole {
            return Err(not_whole("the pages do not reach up to the last key".to_owned()));
        }
        self.is_settled = true;
        Ok(())
    }

    /// What is wrong with them, one line each.
    pub(super) fn check(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let keys: Vec<&Arc<[u8]>> = self.slots().map(|slot| &slot.key).collect();
        if !keys.is_sorted_by(|a, b| a < b) {
            wrong.push("keys are out of order".to_owned());
        }
        for page in self.all() {
            let is_inside =
                |slot: &Slot| *slot.key >= *page.low && page.high.as_deref().is_none_or(|high| *slot.key < *high);
            if !page.slots().iter().all(is_inside) {
                wrong.push(format!("page {} has keys of others", page.number));
            }
        }
        wrong
    }
}
