//! Transactions of a session: one per statement, or one from BEGIN to COMMIT.

use std::sync::Arc;
use std::time::Duration;

use weft_expr::Local;
use weft_format::{Code, Error, Result, Timestamp};
use weft_kernel::{Engine, IsolationLevel, SessionLocks, Transaction};

use super::Session;
use super::block::{Block, Savepoint};
use super::modes::{Modes, put_at_setting, read_only};
use super::schemas::set_search_path;
use super::temporary::at_commit;
use super::work::Work;
use crate::binding::CancelToken;
use crate::engine::SqlEngine;
use crate::notice::Notice;
use crate::settings::Settings;

/// How often a statement outside of BEGIN is run again after a conflict, and how long it waits: 2^n of these, at most
/// 2^7.
const RETRIES_MAX: u32 = 20;
/// How often a statement at READ COMMITTED is run again on a new snapshot.
const RESTARTS_MAX: u32 = 10_000;
const BACKOFF: Duration = Duration::from_micros(50);

/// A statement's work and the test of its constraints, with the restarts of READ COMMITTED.
struct Restarted<'a, F> {
    work: &'a mut F,
    restarts: u32,
}

impl<T, F: FnMut(&mut Work<'_>) -> Result<T>> Restarted<'_, F> {
    fn run(&mut self, given: &mut Work<'_>) -> Result<T> {
        let mark = given.txn.mark();
        let told = given.notices.len();
        let locked = given.locks.lasting_count();
        loop {
            given.notices.truncate(told);
            let before = given.txn.ddl_count();
            let ready = given.permit.refresh(given.db, given.txn, given.settings);
            set_search_path(given.txn, given.settings, given.permit, given.temporary);
            let result = ready.and_then(|()| (self.work)(given)).and_then(|done| given.finish(before).map(|()| done));
            match result {
                Err(error)
                    if error.code() == Code::SerializationFailure
                        && given.txn.level() == IsolationLevel::ReadCommitted
                        && !given.is_final
                        && given.locks.lasting_count() == locked
                        && self.restarts < RESTARTS_MAX =>
                {
                    given.cancel.check()?;
                    given.txn.rollback_to(mark);
                    given.txn.refresh_snapshot()?;
                    self.restarts += 1;
                }
                result => {
                    let warnings = given.locks.take_warnings();
                    given.notices.extend(warnings.into_iter().map(|text| Notice::warning("01000", text)));
                    return result;
                }
            }
        }
    }
}

impl Session {
    /// Runs a statement's work in the open transaction, or in one of its own, which is committed. Work is run again
    /// when a concurrent transaction got in its way: outside of BEGIN, and at READ COMMITTED, where it then keeps its
    /// locks, so that it comes further each time.
    pub(super) fn in_statement<T>(&mut self, work: impl FnMut(&mut Work<'_>) -> Result<T>) -> Result<T> {
        self.in_statement_following(false, work)
    }

    /// As [`Session::in_statement`]; `may_follow`: [`Transaction::begin_statement`].
    pub(super) fn in_statement_following<T>(
        &mut self,
        may_follow: bool,
        mut work: impl FnMut(&mut Work<'_>) -> Result<T>,
    ) -> Result<T> {
        if self.block.is_some() {
            return self.in_block(may_follow, &mut work);
        }
        let mut tries = 0;
        loop {
            let mut is_final = false;
            let locked = self.locks.lasting_count();
            let result = self.in_own_transaction(may_follow, &mut work, &mut is_final);
            self.locks.release_since(0);
            is_final |= self.locks.lasting_count() > locked;
            match result {
                Err(error) if tries < RETRIES_MAX && !is_final && is_worth_retrying(&error) => {
                    self.cancel.check()?;
                    self.back_off(tries);
                    tries += 1;
                }
                result => return result,
            }
        }
    }

    fn in_own_transaction<T>(
        &mut self,
        may_follow: bool,
        work: &mut impl FnMut(&mut Work<'_>) -> Result<T>,
        is_final: &mut bool,
    ) -> Result<T> {
        self.settings.freshness.wait(self.db.kernel(), &self.cancel.kernel())?;
        let mut txn = self.begin_kernel(self.settings.isolation)?;
        let txn_is_past = txn.is_past();
        txn.begin_statement(may_follow)?;
        self.enter(&txn);
        let mut work = Restarted { work, restarts: 0 };
        let mut given = Work {
            db: &self.db,
            settings: &self.settings,
            cancel: &self.cancel,
            txn: &mut txn,
            local: local_of(&self.settings, self.now_micros(), &self.db, (&self.cancel, &self.locks)),
            read_only: self.settings.read_only || txn_is_past || self.db.kernel().is_follower(),
            is_final: false,
            notices: &mut self.notices,
            numbers: &mut self.numbers,
            permit: &mut self.permit,
            activity: &self.activity,
            views: None,
            temporary: &mut self.temporary,
            changes: &mut self.changes,
            locks: &self.locks,
        };
        let result = work.run(&mut given);
        *is_final = given.is_final;
        let result = result.map_err(|error| gone_here(self.db.kernel(), error));
        self.numbers.note(&txn);
        let result = result.inspect_err(|_| self.activity.note_transaction(false))?;
        // What was read speculatively counts only when it can be committed.
        if txn.is_read_only() && !txn.is_speculative() {
            txn.rollback();
            self.activity.note_transaction(true);
            return Ok(result);
        }
        at_commit(&self.temporary, &mut txn).inspect_err(|_| self.activity.note_transaction(false))?;
        let had_ddl = txn.catalog_version().is_none();
        let committed = txn.commit();
        self.activity.note_transaction(committed.is_ok());
        if had_ddl {
            self.db.forget();
        }
        committed.map(|ts| {
            self.numbers.last_commit = Some(ts);
            result
        })
    }

    fn in_block<T>(&mut self, may_follow: bool, work: &mut impl FnMut(&mut Work<'_>) -> Result<T>) -> Result<T> {
        let Some(block) = &mut self.block else { unreachable!("the caller has tested that a block is open") };
        let (Some(txn), false) = (&mut block.txn, block.failed) else { return Err(failed_transaction()) };
        let lock_timeout = Duration::from_millis(self.settings.lock_timeout_ms);
        txn.set_lock_timeout(lock_timeout);
        self.locks.enter(txn.id(), lock_timeout);
        if !block.started || txn.level() == IsolationLevel::ReadCommitted {
            // SET speculative_reads inside the block counts from the next snapshot on.
            let begun = speculate(txn, self.settings.speculative_reads).and_then(|()| txn.begin_statement(may_follow));
            let begun = begun.and_then(|()| self.settings.freshness.wait(self.db.kernel(), &self.cancel.kernel()));
            if let Err(error) = begun.and_then(|()| txn.refresh_snapshot()) {
                self.fail_block();
                return Err(error);
            }
        }
        block.started = true;
        let mark = txn.mark();
        let result = Restarted { work, restarts: 0 }.run(&mut Work {
            db: &self.db,
            settings: &self.settings,
            cancel: &self.cancel,
            txn,
            local: local_of(&self.settings, block.now_micros, &self.db, (&self.cancel, &self.locks)),
            read_only: block.read_only,
            is_final: false,
            notices: &mut self.notices,
            numbers: &mut self.numbers,
            permit: &mut self.permit,
            activity: &self.activity,
            views: None,
            temporary: &mut self.temporary,
            changes: &mut self.changes,
            locks: &self.locks,
        });
        let result = result.map_err(|error| gone_here(self.db.kernel(), error));
        self.numbers.note(txn);
        if result.is_err() {
            txn.rollback_to(mark);
            self.fail_block();
        }
        result
    }

    /// An error that is not a statement's work fails an open transaction, too.
    pub(super) fn fail(&mut self, error: Error) -> Error {
        self.fail_block();
        error
    }

    fn fail_block(&mut self) {
        let Some(block) = &mut self.block else { return };
        block.failed = true;
        if block.savepoints.is_empty()
            && let Some(txn) = block.txn.take()
        {
            let had_ddl = txn.catalog_version().is_none();
            txn.rollback();
            self.locks.release_since(0);
            if had_ddl {
                self.db.forget();
            }
        }
    }

    /// BEGIN; inside a transaction it does nothing and warns, as in PostgreSQL.
    pub(super) fn begin(&mut self, modes: Modes) -> Result<()> {
        if let Some(block) = &mut self.block {
            if block.failed {
                return Err(failed_transaction());
            }
            // In a text of several statements BEGIN makes what ran before it part of its transaction.
            if std::mem::take(&mut block.implicit) {
                return self.set_transaction(modes);
            }
            self.notices.push(Notice::warning("25001", "there is already a transaction in progress"));
            return Ok(());
        }
        self.open_block(modes, false)
    }

    /// Opens the transaction of a text of several statements, or of a series of messages, unless one is open.
    pub fn begin_implicit(&mut self) -> Result<()> {
        if self.block.is_some() {
            return Ok(());
        }
        self.open_block(Modes::default(), true)
    }

    /// Ends the transaction that [`Session::begin_implicit`] opened: commits it, unless a statement failed. One that
    /// BEGIN took over stays open.
    pub fn end_implicit(&mut self) -> Result<()> {
        let ended = match &self.block {
            Some(block) if block.implicit && block.failed => self.rollback(),
            Some(block) if block.implicit => self.commit().map(|_| ()),
            _ => return Ok(()),
        };
        self.note_state();
        ended
    }

    fn open_block(&mut self, modes: Modes, implicit: bool) -> Result<()> {
        let follows = self.check_modes(&modes)?;
        let txn = self.begin_kernel(modes.level.unwrap_or(self.settings.isolation))?;
        self.enter(&txn);
        let level = txn.level();
        let as_of = txn.is_past();
        self.block = Some(Block {
            txn: Some(txn),
            failed: false,
            level,
            read_only: as_of || follows || modes.read_only.unwrap_or(self.settings.read_only),
            as_of,
            implicit,
            // Its snapshot was chosen.
            started: as_of,
            now_micros: self.now_micros(),
            savepoints: Vec::new(),
            before: Arc::clone(&self.settings),
            after: None,
        });
        Ok(())
    }

    /// Whether the engine follows another one: then nobody may write.
    fn check_modes(&self, modes: &Modes) -> Result<bool> {
        let follows = self.db.kernel().is_follower();
        if follows && modes.read_only == Some(false) {
            let message = "cannot set transaction read-write mode during recovery";
            return Err(Error::new(Code::FeatureNotSupported, message).hint("this node follows: write where it does"));
        }
        Ok(follows)
    }

    /// SET TRANSACTION; outside of a transaction it does nothing and warns, as in PostgreSQL.
    pub(super) fn set_transaction(&mut self, modes: Modes) -> Result<()> {
        self.check_modes(&modes)?;
        let Some(block) = &mut self.block else {
            self.notices.push(Notice::warning("25P01", "SET TRANSACTION can only be used in transaction blocks"));
            return Ok(());
        };
        if block.as_of && modes.read_only == Some(false) {
            return Err(read_only());
        }
        if let Some(level) = modes.level
            && let Some(txn) = &mut block.txn
            && txn.level() != level
        {
            if block.started {
                let message = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
                return Err(Error::new(Code::ActiveTransaction, message).hint("name the level in BEGIN"));
            }
            txn.set_level(level)?;
            block.level = level;
        }
        block.read_only = modes.read_only.unwrap_or(block.read_only);
        Ok(())
    }

    /// Whether the open transaction may still choose what it reads. Outside of a transaction a warning says that there
    /// is nothing to choose.
    pub(super) fn may_choose_snapshot(&mut self, what: &str) -> Result<bool> {
        let Some(block) = &mut self.block else {
            self.notices.push(Notice::warning("25P01", "SET TRANSACTION can only be used in transaction blocks"));
            return Ok(false);
        };
        if !block.savepoints.is_empty() {
            let message = format!("{what} must not be called in a subtransaction");
            return Err(Error::new(Code::ActiveTransaction, message));
        }
        if block.started {
            let message = format!("{what} must be called before any query");
            return Err(Error::new(Code::ActiveTransaction, message));
        }
        Ok(true)
    }

    /// The open transaction, which has read nothing yet, reads from now on what was there at a commit.
    pub(super) fn put_at(&mut self, ts: Timestamp) -> Result<()> {
        let Some(block) = &mut self.block else { return Err(Error::internal("a transaction is put at a moment")) };
        let Some(txn) = &mut block.txn else { return Err(failed_transaction()) };
        if txn.level() == IsolationLevel::Serializable {
            let message = "a serializable transaction AS OF is not supported";
            return Err(Error::new(Code::FeatureNotSupported, message).hint("use REPEATABLE READ"));
        }
        txn.set_speculative_reads(false)?;
        txn.set_level(IsolationLevel::RepeatableRead)?;
        txn.set_snapshot(ts)?;
        (block.read_only, block.started, block.as_of) = (true, true, true);
        block.level = IsolationLevel::RepeatableRead;
        Ok(())
    }

    /// SET TRANSACTION SNAPSHOT: reads what a transaction reads that has exported its snapshot, and is open.
    pub(super) fn set_snapshot(&mut self, id: &str) -> Result<()> {
        if !self.may_choose_snapshot("SET TRANSACTION SNAPSHOT")? {
            return Ok(());
        }
        let Some(block) = &mut self.block else { return Err(failed_transaction()) };
        let Some(txn) = &mut block.txn else { return Err(failed_transaction()) };
        match txn.level() {
            IsolationLevel::RepeatableRead => {}
            IsolationLevel::Serializable => {
                let message = "a serializable transaction cannot import a snapshot";
                return Err(Error::new(Code::FeatureNotSupported, message).hint("use REPEATABLE READ"));
            }
            IsolationLevel::ReadCommitted => {
                let message = "a snapshot-importing transaction must have isolation level REPEATABLE READ";
                return Err(Error::new(Code::FeatureNotSupported, message).hint("name the level in BEGIN"));
            }
        }
        let read_ts = id.parse().map_err(|_| {
            let error = Error::new(Code::InvalidParameterValue, format!("invalid snapshot identifier: {id:?}"));
            error.hint("name what pg_export_snapshot() has returned")
        })?;
        txn.import_snapshot(Timestamp(read_ts))?;
        block.started = true;
        Ok(())
    }

    /// The isolation level of the open transaction, or of the next one.
    pub(super) fn isolation(&self) -> IsolationLevel {
        self.block.as_ref().map_or(self.settings.isolation, |block| block.level)
    }

    /// The session is in a transaction.
    fn enter(&self, txn: &Transaction) {
        self.activity.is_in(txn.id().0);
        self.locks.enter(txn.id(), Duration::from_millis(self.settings.lock_timeout_ms));
    }

    fn begin_kernel(&mut self, level: IsolationLevel) -> Result<Transaction> {
        if self.settings.speculative_reads != self.pending.is_some() {
            self.pending = self.settings.speculative_reads.then(|| self.db.kernel().watch_pending());
        }
        let is_past = !self.settings.system_time.is_empty();
        let level = if is_past { IsolationLevel::RepeatableRead } else { level };
        let mut txn = self.db.kernel().begin_stoppable(level, self.cancel.kernel())?;
        txn.set_durability(self.settings.durability);
        txn.set_lock_timeout(Duration::from_millis(self.settings.lock_timeout_ms));
        speculate(&mut txn, self.settings.speculative_reads)?;
        if is_past {
            put_at_setting(&mut txn, &self.settings.system_time, &self.settings.local(self.now_micros()))?;
        }
        Ok(txn)
    }

    /// The zone and styles of the session, and the time of its transaction.
    pub fn local(&self) -> Local {
        let now_micros = self.block.as_ref().map_or_else(|| self.now_micros(), |block| block.now_micros);
        local_of(&self.settings, now_micros, &self.db, (&self.cancel, &self.locks))
    }

    fn now_micros(&self) -> i64 {
        self.db.kernel().env().clock.wall_micros()
    }

    /// COMMIT; false when the transaction had failed and was rolled back instead. Outside of a transaction it does
    /// nothing, as in PostgreSQL and warns.
    pub(super) fn commit(&mut self) -> Result<bool> {
        let committed = self.commit_block();
        self.locks.release_since(0);
        committed
    }

    fn commit_block(&mut self) -> Result<bool> {
        let Some(block) = self.block.take() else {
            self.notices.push(no_transaction());
            return Ok(true);
        };
        let (Some(mut txn), false) = (block.txn, block.failed) else {
            self.settings = block.before;
            self.activity.note_transaction(false);
            self.end_cursors(false);
            self.db.forget();
            return Ok(false);
        };
        let ready = at_commit(&self.temporary, &mut txn);
        let had_ddl = txn.catalog_version().is_none();
        let writes = !txn.is_read_only();
        // SET durability inside the block counts.
        txn.set_durability(self.settings.durability);
        let committed = ready.and_then(|()| txn.commit());
        if had_ddl {
            self.db.forget();
        }
        self.activity.note_transaction(committed.is_ok());
        if let (Ok(ts), true) = (&committed, writes) {
            self.numbers.last_commit = Some(*ts);
        }
        match (&committed, block.after) {
            (Err(_), _) => self.settings = block.before,
            (Ok(_), Some(after)) => self.settings = after,
            (Ok(_), None) => {}
        }
        self.end_cursors(committed.is_ok());
        committed.map(|_| true)
    }

    /// ROLLBACK; outside of a transaction it does nothing and warns, as in PostgreSQL.
    pub(super) fn rollback(&mut self) -> Result<()> {
        let Some(block) = self.block.take() else {
            self.notices.push(no_transaction());
            return Ok(());
        };
        self.settings = block.before;
        self.activity.note_transaction(false);
        self.end_cursors(false);
        if let Some(txn) = block.txn {
            let had_ddl = txn.catalog_version().is_none();
            txn.rollback();
            if had_ddl {
                self.db.forget();
            }
        }
        self.locks.release_since(0);
        Ok(())
    }

    /// COMMIT or ROLLBACK, perhaps AND CHAIN: then another transaction with the same characteristics begins. False when
    /// it was rolled back. A commit that fails begins none.
    pub(super) fn end(&mut self, commits: bool, chain: bool) -> Result<bool> {
        let modes = match (&self.block, chain) {
            (Some(block), true) if !block.implicit => {
                Some(Modes { read_only: Some(block.read_only), level: Some(block.level) })
            }
            (_, true) => {
                let what = if commits { "COMMIT AND CHAIN" } else { "ROLLBACK AND CHAIN" };
                return Err(self.fail(only_in_block(what)));
            }
            (_, false) => None,
        };
        let committed = if commits { self.commit()? } else { self.rollback().map(|()| false)? };
        match modes {
            Some(modes) => self.open_block(modes, false).map(|()| committed),
            None => Ok(committed),
        }
    }

    /// SAVEPOINT
    pub(super) fn savepoint(&mut self, name: String) -> Result<()> {
        let Some(block) = &mut self.block else { return Err(only_in_block("SAVEPOINT")) };
        let (Some(txn), false) = (&block.txn, block.failed) else { return Err(failed_transaction()) };
        let (settings, after) = (Arc::clone(&self.settings), block.after.clone());
        let (mark, lock_mark) = (txn.mark(), self.locks.mark());
        block.savepoints.push(Savepoint { name, mark, lock_mark, settings, after });
        Ok(())
    }

    /// RELEASE SAVEPOINT
    pub(super) fn release_savepoint(&mut self, name: &str) -> Result<()> {
        let Some(block) = &mut self.block else { return Err(only_in_block("RELEASE SAVEPOINT")) };
        if block.failed {
            return Err(failed_transaction());
        }
        match block.savepoints.iter().rposition(|known| known.name == name) {
            Some(at) => {
                block.savepoints.truncate(at);
                Ok(())
            }
            None => Err(self.fail(no_savepoint(name))),
        }
    }

    /// ROLLBACK TO SAVEPOINT
    pub(super) fn rollback_to_savepoint(&mut self, name: &str) -> Result<()> {
        let Some(block) = &mut self.block else { return Err(only_in_block("ROLLBACK TO SAVEPOINT")) };
        let found = block.savepoints.iter().rposition(|known| known.name == name);
        match (found, &mut block.txn) {
            (Some(at), Some(txn)) => {
                block.savepoints.truncate(at + 1);
                let savepoint = &block.savepoints[at];
                txn.rollback_to(savepoint.mark);
                self.locks.release_since(savepoint.lock_mark);
                // SET is taken back as rows are.
                self.settings = Arc::clone(&savepoint.settings);
                block.after = savepoint.after.clone();
                block.failed = false;
                Ok(())
            }
            _ => Err(self.fail(no_savepoint(name))),
        }
    }

    fn back_off(&self, tries: u32) {
        let env = self.db.kernel().env();
        let longest = BACKOFF.as_nanos() as u64 * (1 << tries.min(7));
        env.clock.sleep(Duration::from_nanos(longest / 2 + env.rng.next_u64() % (longest / 2)));
    }
}

/// On a node that follows a file that is gone is one that its writer has dropped, and a newer snapshot needs none such.
fn gone_here(engine: &Engine, error: Error) -> Error {
    let is_ours = error.message().contains(&*engine.dir().to_string_lossy());
    if !engine.is_follower() || error.code() != Code::UndefinedFile || !is_ours {
        return error;
    }
    let message = format!("this node was too far behind: {}", error.message());
    Error::new(Code::SerializationFailure, message).hint("run the transaction again")
}

fn no_transaction() -> Notice {
    Notice::warning("25P01", "there is no transaction in progress")
}

/// The zone and styles of a session, a time, and what tells the time and may stop the statement.
fn local_of(
    settings: &Settings,
    now_micros: i64,
    db: &SqlEngine,
    (cancel, locks): (&CancelToken, &Arc<SessionLocks>),
) -> Local {
    let (cancel, locks) = (cancel.clone(), Arc::clone(locks));
    settings.local(now_micros).ticking(&db.kernel().env().clock, move || cancel.check()).locking(locks)
}

/// Turns speculative reads on or off where that is still possible.
fn speculate(txn: &mut Transaction, on: bool) -> Result<()> {
    if txn.is_read_only() { txn.set_speculative_reads(on) } else { Ok(()) }
}

fn is_worth_retrying(error: &Error) -> bool {
    matches!(error.code(), Code::SerializationFailure | Code::DeadlockDetected)
}

pub(super) fn failed_transaction() -> Error {
    Error::new(
        Code::FailedTransaction,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
    .hint("ROLLBACK it")
}

fn only_in_block(what: &str) -> Error {
    Error::new(Code::NoActiveTransaction, format!("{what} can only be used in transaction blocks"))
        .hint("BEGIN starts one")
}

fn no_savepoint(name: &str) -> Error {
    Error::new(Code::UndefinedObject, format!("savepoint \"{name}\" does not exist"))
}
