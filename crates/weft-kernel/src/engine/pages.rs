//! Redo of pages: what the log says of pages that tables change where they lie.
//!
//! ```text
//!   recovery, joining   all records of pages, then all commits           the log is read twice where a table has pages
//!   made by the log     its records of pages where the commit makes it   once more for each such table
//!   following           as they come, between the commits
//! ```
//!
//! 1. Rows are applied to pages that are whole. What an image of a page has says nothing of commits that were on their
//!    way when it was logged: so these come after it, and change nothing where the page has them (in place 2).
//!
//! Source: PolarDB-IMCI section 5.3 (pages first, then rows).

use std::collections::BTreeSet;

use weft_contract::InPlace;
use weft_format::{Code, Error, RecordNo, Result, TableId};

use super::redo::{Mode, Redo};
use crate::catalog::Relation;
use crate::fault::{Fault, active};
use crate::log::{Record, read_live_log, read_log};

fn again(what: &str) -> Error {
    Error::new(Code::CannotConnectNow, what).hint("join again in a moment")
}

impl Redo {
    /// Gives all tables that are there their changes of pages (pages 1).
    pub(super) fn redo_pages(&mut self) -> Result<()> {
        let all = self.catalog.all();
        let tables = all.iter().filter_map(Relation::table).filter(|table| table.table.in_place().is_some());
        self.redo_pages_of(&tables.map(|table| table.id()).collect())
    }

    /// The same of a table that the log has just made.
    pub(super) fn redo_pages_of_made(&mut self, id: TableId) -> Result<()> {
        let made = self.catalog.table_by_id(id).filter(|table| table.table.in_place().is_some());
        match made {
            None => Ok(()),
            // Its records come behind the commit that has made it.
            Some(_) if self.mode == Mode::Following => self.on_pages_of(id, |pages| pages.redone()),
            Some(_) => self.redo_pages_of(&BTreeSet::from([id])),
        }
    }

    fn redo_pages_of(&mut self, tables: &BTreeSet<TableId>) -> Result<()> {
        assert!(self.mode != Mode::Following, "who follows does them as they come");
        if tables.is_empty() {
            return Ok(());
        }
        let mut reader = match self.announced {
            None => read_log(&self.env, self.services.files.dir())?,
            Some(announced) => read_live_log(&self.env, self.services.files.dir(), announced)?,
        };
        if reader.begins() != self.begins {
            let what = "the log was cut while the records of pages were read";
            return Err(Error::new(Code::UndefinedFile, what).hint("join anew"));
        }
        while let Some(entry) = reader.next()? {
            if let Record::Page { table, change } = entry.record
                && tables.contains(&table)
            {
                self.redo_page(table, entry.number, change)?;
            }
        }
        let last = reader.last_number();
        for id in tables {
            self.check_found(*id, last)?;
            let redone = self.on_pages_of(*id, |pages| pages.redone());
            // Pages may have been written while they were read.
            redone.map_err(|error| if self.mode == Mode::Joining { again(error.message()) } else { error })?;
        }
        Ok(())
    }

    /// Fails when a page knows of more than the log does: the end of the log is missing, and numbers and timestamps
    /// would be given again that are in use.
    fn check_found(&self, id: TableId, last: RecordNo) -> Result<()> {
        let Some(table) = self.catalog.table_by_id(id) else { return Ok(()) };
        let found = table.table.in_place().map_or(RecordNo(0), InPlace::last_found);
        if found <= last {
            return Ok(());
        }
        let what = format!(
            "the log (files log-*) ends with change {last}, and a page of table {:?} has change {found}",
            table.def.name
        );
        if self.mode == Mode::Joining {
            return Err(again(&what));
        }
        Err(Error::corrupt(what)
            .hint("restore the log from a backup; opening without it would lose acknowledged commits"))
    }

    /// Does one record.
    pub(super) fn redo_page(&mut self, id: TableId, number: RecordNo, change: &[u8]) -> Result<()> {
        if active(Fault::FORGET_PAGE_RECORDS) {
            return Ok(());
        }
        self.on_pages_of(id, |pages| pages.redo(number, change))
    }

    /// A table of which redo cannot read what it needs is left out, and told the same: it keeps the log.
    fn on_pages_of(&mut self, id: TableId, act: impl Fn(&dyn InPlace) -> Result<()>) -> Result<()> {
        for _ in 0..2 {
            // Dropped, and so long ago that the manifest's catalog knows.
            let Some(table) = self.catalog.table_by_id(id) else { return Ok(()) };
            let pages = table.table.in_place().ok_or_else(|| {
                Error::corrupt(format!("the log changes pages of table {:?}, which has none", table.def.name))
                    .hint("the log and the table's files do not belong together: restore both from one copy")
            })?;
            match act(pages) {
                Err(error) if self.is_left_out(&error) => self.give_up(id, &error, true),
                done => return done,
            }
        }
        Ok(())
    }
}
