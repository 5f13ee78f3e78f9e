//! Checkpoints, and the housekeeping between them: freeze, convert, write the catalog, drop what was dropped, cut the
//! log.

use std::sync::atomic::Ordering;
use std::time::Duration;

use weft_contract::InPlace;
use weft_format::{Code, Error, Result, TableId, Timestamp};

use crate::catalog::Relation;
use crate::fault::{Fault, active};
use crate::jobs::{Failed, Ran};
use crate::log::NeededFrom;
use crate::manifest::Edit;
use crate::step::{Step, reached};
use crate::txn::Core;

/// How often a checkpoint looks for a conversion that is not offered yet, with a millisecond between.
const TRIES_MAX: u32 = 10_000;
/// Tables freeze again when row memory has grown by this part of its limit since they did.
const GROWN_PART: u64 = 16;

impl Core {
    /// Carries everything published so far to files and cuts the log.
    pub(super) fn checkpoint(&self) -> Result<()> {
        assert!(!self.follows, "only who writes the directory carries something to files (follow 5)");
        let _urgent = self.services.load.urgent();
        let _one = self.checkpointing.lock();
        self.poison.check()?;
        self.log.flush().map_err(|error| self.poison_if_stopped(error))?;
        let target = self.timeline.published();
        self.freeze_all();
        // A frozen row table can be converted once everything sequenced before the freeze is installed.
        self.timeline.settle()?;
        reached(Step::CHECKPOINT_FROZEN);
        // Tables whose jobs fail stay behind and hold the log; the others get their checkpoint.
        let failed = self.convert_up_to(target)?;
        reached(Step::CHECKPOINT_CONVERTED);
        self.write_catalog()?;
        self.remove_dropped()?;
        self.cut_log()?;
        failed.result()
    }

    fn convert_up_to(&self, target: Timestamp) -> Result<Failed> {
        assert!(target <= self.timeline.published(), "what is carried to files is published");
        let (mut tries, mut failed) = (0, Failed::default());
        while let Some(behind) = self.table_behind(target, &failed) {
            match self.runner.run_conversion(&mut failed)? {
                Ran::Job => {}
                Ran::Busy | Ran::Waits(_) => self.runner.wait_for_end(),
                Ran::Nothing => {
                    tries += 1;
                    if tries == TRIES_MAX {
                        return Err(Error::internal(format!(
                            "table {behind} is behind {target} and offers no conversion"
                        )));
                    }
                    // What was frozen before with a lower cut kept this freeze from happening.
                    self.freeze_where(|cut| cut < target);
                    self.timeline.settle()?;
                    self.env.clock.sleep(Duration::from_millis(1));
                }
            }
        }
        Ok(failed)
    }

    /// A table with changes up to `target` that are not in files, and could be.
    fn table_behind(&self, target: Timestamp, failed: &Failed) -> Option<TableId> {
        let relations = self.catalog.maintained();
        let is_behind = |it: &&Relation| !self.catalog.is_unavailable(it) && it.upkeep().durable_cut() < target;
        let behind = relations.iter().filter(is_behind).find(|it| !failed.has_table(it.id()));
        behind.map(Relation::id)
    }

    /// Makes the catalog durable in the manifest when DDL came since it was. The caller holds `checkpointing`.
    fn write_catalog(&self) -> Result<()> {
        if self.catalog.last_ddl() <= self.catalog.durable_cut() {
            return Ok(());
        }
        self.write_catalog_image()
    }

    fn write_catalog_image(&self) -> Result<()> {
        let cut = self.timeline.published();
        assert!(cut >= self.catalog.durable_cut(), "the catalog in the manifest does not go back (engine 2)");
        let payload = crate::catalog::encode_image(&self.catalog.image(cut));
        let edit = Edit { table: TableId(0), cut, added: Vec::new(), removed: Vec::new(), payload };
        self.manifest.apply(edit).map_err(|error| self.poison_if_stopped(error))?;
        reached(Step::CHECKPOINT_CATALOG_DURABLE);
        self.catalog.set_durable_cut(cut);
        Ok(())
    }

    /// Removes dropped tables that nobody can see (catalog 4). The caller holds `checkpointing`.
    fn remove_dropped(&self) -> Result<()> {
        self.forget_given_up()?;
        self.catalog.prune_versions();
        let unseen = self.catalog.unseen();
        if unseen.iter().any(|relation| relation.drop_ts() > self.catalog.durable_cut()) {
            self.write_catalog()?;
        }
        for relation in unseen {
            let id = relation.id();
            if self.runner.is_running(id) {
                continue;
            }
            assert!(
                relation.drop_ts() <= self.catalog.durable_cut(),
                "relation {id} is still in the catalog (catalog 4)"
            );
            self.manifest.forget(id).map_err(|error| self.poison_if_stopped(error))?;
            reached(Step::DROP_FORGOTTEN);
            relation.upkeep().drop_files();
            self.catalog.remove(id);
        }
        Ok(())
    }

    /// Lets the manifest forget the indexes whose making was given up. The caller holds `checkpointing`.
    fn forget_given_up(&self) -> Result<()> {
        for id in self.catalog.buildings.given_up() {
            if self.runner.is_running(id) {
                continue;
            }
            self.manifest.forget(id).map_err(|error| self.poison_if_stopped(error))?;
            self.catalog.buildings.leave(id);
        }
        Ok(())
    }

    /// Removes the log that redo would not read (engine 2). The caller holds `checkpointing`.
    fn cut_log(&self) -> Result<()> {
        // First: what is published is installed, so the tables' cuts that are read after it account for it.
        let mut cut = self.timeline.published();
        // What is appended from here on is needed by whoever has not written it yet.
        let mut page = self.log.last_number().next();
        let catalog_cut = self.catalog.durable_cut();
        assert!(catalog_cut <= cut, "the catalog in the manifest has nothing that is not published (engine 2)");
        if self.catalog.last_ddl() > catalog_cut {
            cut = cut.min(catalog_cut);
        }
        // Those under construction first: one that leaves meanwhile is in the catalog by then (buildings 1).
        for building in self.catalog.buildings.alive() {
            if !active(Fault::FORGET_BUILDING_CUT) {
                cut = cut.min(building.upkeep().durable_cut());
            }
        }
        for relation in self.catalog.all() {
            if relation.drop_ts() > catalog_cut {
                cut = cut.min(relation.upkeep().durable_cut());
                let pages = relation.table().and_then(|table| table.table.in_place());
                page = page.min(pages.and_then(InPlace::needs_from).unwrap_or(page));
            }
        }
        // The catalog's cut bounds where the log may begin: so a later opening misses segments that somebody else
        // removed.
        if cut > catalog_cut && self.log.can_truncate(NeededFrom { cut, page }) {
            self.write_catalog_image()?;
        }
        // What kept the log a moment ago, a backup or a follower, may have gone since: no image was written then.
        let from = NeededFrom { cut: cut.min(self.catalog.durable_cut()), page };
        let cut = || self.log.truncate_before(from).map_err(|error| self.poison_if_stopped(error));
        self.services.files.while_ours(cut)?;
        reached(Step::CHECKPOINT_LOG_CUT);
        Ok(())
    }

    /// What is due between jobs; true when there may be more jobs now.
    pub(super) fn keep_house(&self, ran: Ran) -> bool {
        assert!(!self.follows, "who follows removes nothing in the directory of another engine (follow 5)");
        let Some(_one) = self.checkpointing.try_lock() else { return false };
        if self.poison.check().is_err() {
            return false;
        }
        self.keep_promises_now_and_then();
        if !self.runner.house_rests() {
            let tidied = self.tidy(ran);
            let error = tidied.err();
            if error.as_ref().is_some_and(|error| error.code() == Code::Poisoned) {
                return false;
            }
            self.runner.note_house(error.as_ref());
        }
        // Memory is given back whatever the disk refuses beside it: else nobody could write any more.
        if matches!(ran, Ran::Job | Ran::Busy) || self.runner.house_rests() && active(Fault::HOUSE_STOPS_AT_ERROR) {
            return false;
        }
        // What was told to wait is looked at when there is room, or when a freeze rings.
        self.freeze_due() && ran == Ran::Nothing && self.runner.has_work()
    }

    /// What the manifest and the log no longer need goes.
    fn tidy(&self, ran: Ran) -> Result<()> {
        self.remove_dropped()?;
        let log_limit = self.options.checkpoint_log_bytes;
        if ran != Ran::Busy && self.log.bytes() > log_limit / 2 {
            self.cut_log()?;
        }
        if !matches!(ran, Ran::Job | Ran::Busy) && self.log.bytes() > log_limit {
            self.write_catalog()?;
        }
        Ok(())
    }

    /// The same of tables that hold the beginning of the log by changes of pages that are not on disk.
    fn freeze_under_pages(&self, published: Timestamp) {
        for table in self.catalog.all().iter().filter_map(Relation::table) {
            let needed = table.table.in_place().and_then(InPlace::needs_from);
            if needed.is_some_and(|page| !self.log.can_truncate(NeededFrom { cut: published, page })) {
                table.table.freeze();
            }
        }
    }

    /// Freezes what holds the log beyond its limit, or everything when memory is short; whether it did.
    fn freeze_due(&self) -> bool {
        let is_short = self.is_memory_short_again();
        if self.log.bytes() > self.options.checkpoint_log_bytes {
            // Row tables that fill slowly hold the whole log: make those convert that hold its beginning. When it would
            // not go with everything in files, something else has it: a backup, a transaction that is not decided.
            let published = self.timeline.published();
            let can_truncate = |cut| self.log.can_truncate(NeededFrom::commits_behind(cut));
            let is_held = !can_truncate(published);
            if active(Fault::FREEZE_ALWAYS) {
                self.freeze_where(|cut| cut < published);
            } else if !is_held {
                self.freeze_where(|cut| cut < published && !can_truncate(cut));
                self.freeze_under_pages(published);
            }
            // A log that cannot be cut says nothing of memory.
            if is_short {
                self.freeze_all();
            }
            return true;
        }
        if is_short {
            self.freeze_all();
        }
        is_short
    }
}

impl Core {
    /// Whether row memory is used beyond three quarters, and a freeze could give some of it back: as long as what is
    /// used has not grown since the last one, something else than tables has it, and their few rows are left to
    /// gather. The caller holds `checkpointing`.
    fn is_memory_short_again(&self) -> bool {
        let budget = &self.services.row_budget;
        let (used, limit) = (budget.used_bytes(), budget.limit_bytes());
        if used <= limit / 4 * 3 {
            self.least_since_freeze.store(0, Ordering::Relaxed);
            return false;
        }
        let least = self.least_since_freeze.load(Ordering::Relaxed).min(used);
        let is_due = least == 0 || used - least >= limit / GROWN_PART || active(Fault::FREEZE_AGAIN);
        self.least_since_freeze.store(if is_due { used } else { least }, Ordering::Relaxed);
        is_due
    }
}

#[cfg(test)]
impl Core {
    /// Writes the image of the catalog, as before the log is cut.
    pub(super) fn write_catalog_now(&self) {
        self.write_catalog_image().expect("the disk takes it");
    }

    /// Cuts the log, as between jobs.
    pub(super) fn cut_log_now(&self) {
        self.cut_log().expect("the disk does it");
    }
}
