//! The end of a transaction that wrote: encode, validate, sequence, log, install, publish.
//!
//! ```text
//!   900 KB of writes → Chunk 256 K, 256 K, … | latch { validate, ts = 42, Commit 42 + 132 K } | fdatasync | install
//!
//!   fails before the latch     rolled back; an Abort record voids the chunks
//!   fails in the log           rolled back; 42 is void
//!   fails at install           a file cannot be read: that table is given up until the next open, which finds it
//!                              else: in the log but not in memory: the engine stops, reopening finds it
//! ```

use std::sync::atomic::AtomicBool;

use weft_contract::Base;
use weft_format::{Code, Error, Result, TableId, Timestamp};

use super::apply::{apply_ddl, apply_writes};
use super::core::Core;
use super::journal::{TableState, discard};
use super::own_ddl::OwnDdl;
use super::recent::{Behind, COMMIT_BYTES, CommittedWrites, TableCommit};
use super::transaction::Transaction;
use crate::catalog::{Relation, TableRef, encode_def, encode_object};
use crate::fault::{self, Fault};
use crate::log::{ChangeEncoder, Record};
use crate::method::told_at_commit;
use crate::options::Durability;
use crate::read_again::{concerns_files, read_again};
use crate::step::{Step, reached};

/// How often validation starts again outside of the latch for the commits that came meanwhile.
const VALIDATION_ROUNDS: usize = 4;

impl Transaction {
    /// Makes everything staged durable (as the session asked) and visible; returns the timestamp from which it is seen.
    /// After an error nothing of it is seen and nothing is left, except when the error is [`Code::Poisoned`]: then the
    /// outcome is known after the database was opened again; and when it is of who acknowledges commits
    /// ([`acknowledge_by`](crate::Engine::acknowledge_by)): then the commit is made, and says so.
    pub fn commit(mut self) -> Result<Timestamp> {
        if !fault::active(Fault::SKIP_SPECULATIVE_VALIDATION) {
            self.settle_reads()?;
        }
        if self.is_read_only() {
            self.finish();
            return Ok(self.read_ts);
        }
        let result = self.commit_writes();
        match &result {
            Ok(_) => {}
            // The commit record may be on disk: the files it names must stay.
            Err(error) if error.code() == Code::Poisoned => {}
            Err(_) => self.undo(),
        }
        self.finish();
        let (ts, is_logged) = result?;
        let (engine, durability) = (self.engine.clone(), self.durability);
        // Whoever acknowledges it may take long, and fail: nothing is held meanwhile, and nothing is undone.
        drop(self);
        if is_logged && durability == Durability::Full {
            engine.core.acknowledge.get().map_or(Ok(()), |acknowledge| acknowledge(ts))?;
        }
        Ok(ts)
    }

    /// The timestamp, and whether the log has a record of it.
    fn commit_writes(&mut self) -> Result<(Timestamp, bool)> {
        self.core().check_writable()?;
        if self.durability != Durability::Full {
            // It could not be taken back with what it builds on.
            self.settle_followed()?;
        }
        self.check_at_commit()?;
        self.check_usable()?;
        self.charge(1)?;
        self.check();
        let engine = self.engine.clone();
        let core = &engine.core;
        let mut encoder = ChangeEncoder::new();
        let validated = self.validate_early(core);
        let sequenced = validated.and_then(|validated| {
            self.encode(&mut encoder)?;
            // Before the latch: whoever holds it makes all others wait (log 7).
            core.log.wait_for_room()?;
            self.sequence(core, &encoder, validated)
        });
        let (ts, ticket) = match sequenced {
            Ok(sequenced) => sequenced,
            Err(error) => {
                self.abort_chunks(core);
                return Err(core.poison_if_stopped(error));
            }
        };
        // From here on the timestamp must end published or void, or the engine must stop: others wait for it.
        let pending = Pending { core, ts, settled: false };
        reached(Step::COMMIT_SEQUENCED);
        let is_logged = ticket.is_some();
        if let Some(ticket) = ticket {
            self.hand_on(core, ts, &ticket);
            if let Err(error) = core.log.wait_durable(ticket) {
                pending.void();
                self.abort_chunks(core);
                return Err(core.poison_if_stopped(error));
            }
        }
        reached(Step::COMMIT_DURABLE);
        if fault::active(Fault::FORGET_KEY_LOCK) {
            core.locks.release(self.id, &mut self.locks);
        }
        match self.join_others(core, ts).and_then(|()| self.install(ts)) {
            Ok(()) => {
                reached(Step::COMMIT_INSTALLED);
                pending.publish()?;
            }
            Err(error) => return Err(pending.stop(&error)),
        }
        reached(Step::COMMIT_PUBLISHED);
        self.after_publication(core);
        Ok((ts, is_logged))
    }

    /// Validates what a serializable transaction read, without the latch, against the commits up to now; returns the
    /// last of them. Those that come in between are left for the latch.
    fn validate_early(&self, core: &Core) -> Result<Timestamp> {
        let mut validated = self.read_ts;
        if self.reads.is_some() && !fault::active(Fault::SKIP_VALIDATION) {
            for _ in 0..VALIDATION_ROUNDS {
                let before = validated;
                validated = self.validate(core, before)?;
                if validated == before {
                    break;
                }
            }
        }
        Ok(validated)
    }

    /// Fails when a commit after `from` changed what this transaction read; returns the last commit looked at.
    fn validate(&self, core: &Core, from: Timestamp) -> Result<Timestamp> {
        let Some(reads) = &self.reads else { return Ok(from) };
        let tables = reads.tables();
        let mut last = from;
        loop {
            let commits = match core.recent.behind(last, &tables) {
                Behind::Commits(commits) if commits.is_empty() => return Ok(last),
                Behind::Commits(commits) => commits,
                Behind::Forgotten(def) => {
                    let table = &def.name;
                    return Err(dependent(table).hint(format!(
                        "table {table:?} was changed since it began by more commits than are remembered row by row \
                         ({} bytes); run it again, end serializable transactions sooner, or give row memory more",
                        core.recent.memory_bytes().0
                    )));
                }
            };
            for commit in commits {
                if fault::active(Fault::VALIDATE_PUBLISHED_ONLY) && commit.ts > core.timeline.published() {
                    return Ok(last);
                }
                if let Some(table) = reads.changed_by(&commit, self.read_ts)? {
                    return Err(dependent(&table).hint(format!(
                        "commit {} changed what this one read of table {table:?}; run it again",
                        commit.ts
                    )));
                }
                assert!(commit.ts > last, "commits are validated in their order, each once (recent 3)");
                last = commit.ts;
            }
        }
    }

    /// Takes the timestamp and the place in the log under one latch (txn 2).
    fn sequence(
        &self,
        core: &Core,
        encoder: &ChangeEncoder,
        validated: Timestamp,
    ) -> Result<(Timestamp, Option<crate::log::Ticket>)> {
        let _latch = core.sequencer.lock();
        core.check_writable()?;
        if self.reads.is_some() && !fault::active(Fault::SKIP_VALIDATION) {
            self.validate(core, validated)?;
        }
        let ts = core.timeline.last_sequenced().next();
        assert!(ts > validated, "what is validated against is before the commit in the log (txn 2)");
        let is_behind = self.followed.iter().all(|followed| followed.ts < ts);
        assert!(is_behind, "who follows is behind the commits that it builds on (follow 2)");
        let wall = core.timeline.walls.next(core.env.clock.wall_micros());
        let record = Record::Commit { txn: self.id, ts, wall: Some(wall.micros()), changes: encoder.bytes() };
        let ticket = match self.durability {
            Durability::Full => Some(core.log.append_behind(&record, &self.followed_fates())?),
            Durability::Async => {
                core.log.append(&record)?;
                None
            }
        };
        core.recent.push(ts, &core.timeline, || self.committed_writes(ts));
        core.timeline.sequence(ts);
        wall.note(ts);
        if ticket.is_none() {
            core.async_commits.note();
        }
        Ok((ts, ticket))
    }

    /// What others must be validated against.
    fn committed_writes(&self, ts: Timestamp) -> CommittedWrites {
        let written = self.journal.tables.iter().filter(|state| !state.writes.is_empty());
        let tables = written.map(|state| TableCommit {
            table: state.table.clone(),
            has_files: !state.writes.attachments.is_empty(),
            writes: state.writes.clone(),
        });
        let tables: Vec<TableCommit> = tables.collect();
        CommittedWrites {
            ts,
            bytes: COMMIT_BYTES * (1 + tables.len() as u64) + self.journal.staged_bytes,
            tables,
            mixed: self.may_be_behind(),
            has_ddl: !self.ddl.is_empty(),
            void: AtomicBool::new(false),
        }
    }

    /// What this commit builds on is published first. When rows have other writers beside this one, of other columns,
    /// waits for the commits before this one and puts its columns onto their rows: installation is per row in timestamp
    /// order.
    fn join_others(&mut self, core: &Core, ts: Timestamp) -> Result<()> {
        self.wait_for_followed()?;
        if !self.may_be_behind() {
            return Ok(());
        }
        if self.has_mixed() && !fault::active(Fault::INSTALL_UNORDERED) {
            core.timeline.wait_published(Timestamp(ts.0 - 1))?;
        }
        for state in &mut self.journal.tables {
            let rebased = read_again(&*core.env.clock, || Transaction::rebase_table(state, Timestamp::MAX));
            rebased.or_else(|error| give_up(&state.table, ts, error))?;
        }
        Ok(())
    }

    /// Fails when a table that was written to was given up since: who has held a row of the commit that could not be
    /// installed has released it after that.
    fn check_usable(&self) -> Result<()> {
        let written = self.journal.tables.iter().filter(|state| !state.writes.is_empty());
        written.filter_map(|state| state.table.table.unavailable()).next().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Encodes the write set; all but the last piece go to the log as chunks.
    fn encode(&mut self, encoder: &mut ChangeEncoder) -> Result<()> {
        let mut definition = Vec::new();
        for ddl in self.ddl.iter().filter(|ddl| !ddl.is_never_there(&self.ddl)) {
            definition.clear();
            match ddl {
                OwnDdl::Create(made) => {
                    encode_def(made.def(), &mut definition);
                    encoder.create_table(&definition);
                }
                OwnDdl::Alter(_, altered) => {
                    encode_def(altered.def(), &mut definition);
                    encoder.alter_table(&definition);
                }
                OwnDdl::Drop(dropped) => encoder.drop_table(dropped.id()),
                OwnDdl::Object(_, Some(object)) => {
                    encode_object(object, &mut definition);
                    encoder.put_object(&definition);
                }
                OwnDdl::Object(Some(object), None) => encoder.drop_object(object.id),
                OwnDdl::Object(None, None) => {}
            }
        }
        for (index, attachment) in self.journal.entries().filter(|(index, _)| !OwnDdl::drops(&self.ddl, index.id())) {
            let (id, version) = (index.id(), index.def().schema.version);
            encoder.attach(id, version, &attachment.files, &attachment.payload);
        }
        let mut chunked = false;
        let tables = self.journal.tables.iter().filter(|state| !OwnDdl::drops(&self.ddl, state.table.def.id));
        let mut tables = tables.map(|state| self.encode_table(state, encoder, &mut chunked));
        let encoded = tables.find(Result::is_err).unwrap_or(Ok(()));
        // Also when the log took only some of the chunks: an abort record must let go of those.
        self.chunked |= chunked && !(encoded.is_err() && fault::active(Fault::FORGET_CHUNKED_FAILURE));
        encoded
    }

    /// Sets `chunked` when a chunk was appended, also when another one failed after it.
    fn encode_table(&self, state: &TableState, encoder: &mut ChangeEncoder, chunked: &mut bool) -> Result<()> {
        let core = self.core();
        let (id, version) = (state.table.def.id, state.table.def.schema.version);
        let codec = &state.table.codec;
        let chunk_bytes = core.options.log_chunk_bytes.min(core.options.log_segment_bytes as usize / 4);
        for attachment in &state.writes.attachments {
            encoder.attach(id, version, &attachment.files, &attachment.payload);
        }
        for (key, staged) in &state.writes.rows {
            debug_assert!(
                staged.columns.iter().all(|&column| column < codec.column_count()),
                "the log gets values of columns that the table has"
            );
            match (&staged.base, &staged.row) {
                (Base::Free, Some(row)) => encoder.insert(id, version, key, row),
                (Base::Version(..), Some(row)) => {
                    encoder.update(id, version, key, staged.columns.len());
                    for &column in &staged.columns {
                        encoder.value(column, codec.get(row, column));
                    }
                }
                (Base::Version(..), None) => encoder.delete(id, version, key),
                (Base::Unseen, Some(row)) => encoder.put(id, version, key, row),
                (Base::Unseen, None) => encoder.clear_key(id, version, key),
                (Base::Free, None) => {}
            }
            if encoder.bytes().len() > chunk_bytes {
                core.log.wait_for_room()?;
                core.log.append(&Record::Chunk { txn: self.id, changes: encoder.bytes() })?;
                encoder.clear();
                *chunked = true;
                reached(Step::LOG_CHUNK_APPENDED);
            }
        }
        Ok(())
    }

    /// Voids the chunks of a commit that failed, so that the log before them can go. The record waits in memory while
    /// the disk is full; where the log has stopped, the missing commit record says the same.
    fn abort_chunks(&mut self, core: &Core) {
        if std::mem::take(&mut self.chunked) && core.log.append(&Record::Abort { txn: self.id }).is_ok() {
            core.async_commits.note();
        }
    }

    /// Makes all staged writes part of their tables (txn 3).
    fn install(&mut self, ts: Timestamp) -> Result<()> {
        assert!(ts > self.read_ts, "a commit is behind the snapshot that it was made from (txn 2)");
        let published = self.core().timeline.published();
        assert!(ts > published, "nobody sees a commit before all its writes are installed (txn 3)");
        let is_ready = self.followed.iter().all(|followed| followed.ts <= published);
        assert!(is_ready, "a commit is installed after those that it builds on were published (follow 2)");
        let is_locked = self.journal.tables.iter().all(|state| state.writes.is_empty() || state.locked);
        assert!(is_locked, "what is installed was written under the lock of its table");
        let catalog = &self.engine.core.catalog;
        let there = self.ddl.iter().filter(|ddl| !ddl.is_never_there(&self.ddl));
        there.for_each(|ddl| apply_ddl(catalog, ts, ddl));
        apply_writes(ts, &self.ddl, &self.journal, &mut |relation, error| match relation {
            Relation::Table(table) => give_up(table, ts, error),
            Relation::Index(_) | Relation::Columns(_) => Err(error),
        })
    }

    /// What need not be finished before others see the commit.
    fn after_publication(&mut self, core: &Core) {
        if self.ddl.is_empty() {
            return;
        }
        let never_there: Vec<TableId> = self.own_tables_dropped();
        for state in &self.journal.tables {
            if OwnDdl::drops(&self.ddl, state.table.def.id) {
                state.writes.attachments.iter().for_each(|attachment| state.table.discard(attachment));
            }
        }
        for (index, attachment) in self.journal.entries().filter(|(index, _)| OwnDdl::drops(&self.ddl, index.id())) {
            discard(index, attachment);
        }
        for ddl in &self.ddl {
            if let OwnDdl::Create(made) = ddl
                && never_there.contains(&made.id())
            {
                core.give_up(made);
            }
        }
        core.keep_promises();
        core.services.wake_jobs();
    }

    fn own_tables_dropped(&self) -> Vec<TableId> {
        let drops = self.ddl.iter().filter_map(|ddl| match ddl {
            OwnDdl::Drop(dropped) if OwnDdl::creates(&self.ddl, dropped.id()) => Some(dropped.id()),
            _ => None,
        });
        drops.collect()
    }
}

/// A commit that is in the log cannot become part of a table, whose files cannot be read: that is the trouble of this
/// table, which is left out from here on, with the log for the next open. Anything else stops the engine.
fn give_up(table: &TableRef, ts: Timestamp, error: Error) -> Result<()> {
    let stays = concerns_files(&error) && !fault::active(Fault::STOP_AT_INSTALL);
    if !stays {
        return Err(error);
    }
    // What indexes get from here on may not be all, of rows that are put together from several commits.
    table.indexes().iter().for_each(|index| index.index.store().hold_cut_before(ts));
    let columns = table.column_indexes();
    columns.iter().filter_map(|columns| columns.index.as_ref()).for_each(|index| index.give_up(ts, &error));
    if table.table.give_up(ts, &told_at_commit(&table.def, ts, &error)) { Ok(()) } else { Err(error) }
}

/// A serializable transaction cannot stand behind those that committed beside it.
fn dependent(table: &str) -> Error {
    let message = "could not serialize access due to read/write dependencies among transactions";
    Error::new(Code::SerializationFailure, message).about(table, None, None)
}

/// A timestamp that was handed out and is neither published nor void. Dropped as such (a panic), it stops the engine.
struct Pending<'a> {
    core: &'a Core,
    ts: Timestamp,
    settled: bool,
}

impl Pending<'_> {
    fn void(mut self) {
        assert!(self.ts > self.core.timeline.published(), "what failed in the log was never seen (txn 4)");
        self.settled = true;
        self.core.recent.void(self.ts);
        self.core.timeline.void(self.ts);
    }

    fn publish(mut self) -> Result<()> {
        self.settled = true;
        self.core.timeline.publish(self.ts)
    }

    /// The commit is in the log and cannot be installed.
    fn stop(mut self, cause: &Error) -> Error {
        self.settled = true;
        let what = format!("commit {} is in the log but could not be installed: {}", self.ts, cause.message());
        let error = self.core.poison.set(&what);
        self.core.timeline.halt();
        error
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.core.poison.set(&format!("a panic while commit {} was installed", self.ts));
            self.core.timeline.halt();
        }
    }
}
