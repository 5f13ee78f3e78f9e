//! Backups beside the workload: each restores to a state that the model had while it was made.
//!
//! ```text
//!   round    clients and readers ─ backup 3 ─ restore it elsewhere, open, read ─ equal to the model at its timestamp
//!   crash    anywhere in that
//!   after    each backup that counts restores again to what it was; those that were acknowledged count
//! ```
//!
//! Concurrency: the ledger's mutex is never held across a scheduling point.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_env::Env;
use weft_format::{Code, Error, Result};
use weft_kernel::{Backup, BackupPlace, Engine, EngineOptions, backups, check_backup, restore};
use weft_store::FileStore;

use crate::history::History;
use crate::model::{State, differences};
use crate::random::Random;
use crate::reader::{check_total, read_state};
use crate::scenario::Scenario;

/// Where the backups go.
pub const COPIES: &str = "copies";

/// What is known of the backups of one seed.
#[derive(Default)]
pub struct BackupLedger {
    inner: Mutex<Inner>,
    /// They go into a store of objects.
    is_store: bool,
}

#[derive(Default)]
struct Inner {
    /// By number: the state, once it was read and compared with the model.
    states: BTreeMap<u64, State>,
    /// Numbers whose backup returned well.
    acknowledged: Vec<u64>,
    /// What was acknowledged when the last backup began.
    before: Vec<u64>,
    restored: u64,
    counts: BackupCounts,
}

/// Totals of a seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackupCounts {
    /// Backups that returned well.
    pub made: u64,
    /// Of these, such that shared files with an earlier one.
    pub shared: u64,
    /// Backups that an injected fault ended.
    pub failed: u64,
    /// Restored states compared with the model.
    pub compared: u64,
    /// Restored states compared with what was restored earlier.
    pub compared_again: u64,
}

impl BackupLedger {
    /// One whose backups go into a store of objects, which is a directory.
    pub fn in_store() -> BackupLedger {
        BackupLedger { inner: Mutex::default(), is_store: true }
    }

    fn place(&self, env: &Env) -> BackupPlace {
        let dir = Path::new(COPIES);
        if self.is_store { BackupPlace::Objects(Arc::new(FileStore::new(env, dir))) } else { dir.into() }
    }

    /// The totals.
    pub fn counts(&self) -> BackupCounts {
        self.inner().counts
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a backup while the workload runs, and restores it. Panics when a promise is broken.
    pub fn back_up(
        &self,
        env: &Env,
        engine: &Arc<Engine>,
        history: &History,
        scenario: &Scenario,
        random: &mut Random,
    ) {
        let before = history.acknowledged_now();
        self.inner().before.clone_from(&before);
        let summary = match engine.backup(self.place(env), None) {
            Ok(summary) => summary,
            Err(error) if scenario.tolerated.contains(&error.code()) => {
                self.inner().counts.failed += 1;
                return;
            }
            Err(error) => panic!("violation: the backup failed: {error}"),
        };
        let mut inner = self.inner();
        inner.acknowledged.push(summary.number);
        inner.counts.made += 1;
        inner.counts.shared += u64::from(summary.reused_bytes > 0);
        drop(inner);
        if scenario.tolerated.is_empty() {
            if !self.is_store {
                check_tidy(env);
            }
            self.compare(env, history, scenario, summary.number, random);
        }
    }

    /// Before the first reopening after a crash: what counts is whole, and what was acknowledged counts.
    pub fn check_after_crash(&self, env: &Env, history: &History, scenario: &Scenario, random: &mut Random) {
        if !env.fs.exists(Path::new(COPIES)).expect("the disk answers") {
            assert!(self.inner().acknowledged.is_empty(), "violation: the directory of the backups is gone");
            return;
        }
        let good = backups(env, self.place(env)).unwrap_or_else(|e| panic!("violation: a backup is damaged: {e}"));
        for number in self.inner().acknowledged.clone() {
            assert!(good.iter().any(|backup| backup.number == number), "violation: backup {number} is gone");
        }
        for Backup { number, .. } in good {
            check_backup(env, self.place(env), Some(number))
                .unwrap_or_else(|error| panic!("violation: a backup that counts is damaged: {error}"));
            let known = self.inner().states.get(&number).cloned();
            match known {
                // Those of the last few are enough: each costs an opening.
                Some(_) if random.chance(70) => {}
                Some(known) => {
                    let (_, state) = self.restored(env, scenario, number, random);
                    let differences = differences(&known, &state);
                    assert!(
                        differences.is_empty(),
                        "violation: backup {number} changed:\n {}",
                        differences.join("\n ")
                    );
                    self.inner().counts.compared_again += 1;
                }
                None => self.compare(env, history, scenario, number, random),
            }
        }
    }

    /// Restores a backup and compares it with the model at its timestamp.
    fn compare(&self, env: &Env, history: &History, scenario: &Scenario, number: u64, random: &mut Random) {
        let (backup, state) = self.restored(env, scenario, number, random);
        let before = self.inner().before.clone();
        if let Err(violation) = history.check_snapshot(backup.timestamp.0, &before, &state) {
            panic!("violation: backup {number}: {violation}");
        }
        let mut inner = self.inner();
        inner.states.insert(number, state);
        inner.counts.compared += 1;
    }

    fn restored(&self, env: &Env, scenario: &Scenario, number: u64, random: &mut Random) -> (Backup, State) {
        let dir = {
            let mut inner = self.inner();
            inner.restored += 1;
            PathBuf::from(format!("restored-{}", inner.restored))
        };
        let mut open = || -> Result<(Backup, State)> {
            let backup = restore(env, self.place(env), &dir, Some(number))?;
            let options = EngineOptions { workers: 0, ..scenario.options.clone() };
            let engine = Engine::open(env.clone(), &dir, crate::methods(), options)?;
            if engine.published() != backup.timestamp {
                let (found, said) = (engine.published(), backup.timestamp);
                return Err(Error::internal(format!("it holds commits up to {found}, its list says {said}")));
            }
            let findings = engine.check()?;
            if !findings.is_empty() {
                return Err(Error::internal(format!("check found {findings:?}")));
            }
            let state = read_state(&engine.begin()?, random)?;
            Ok((backup, state))
        };
        let (backup, state) = open().unwrap_or_else(|error| panic!("violation: restoring backup {number}: {error}"));
        if !state.is_empty() {
            check_total(&state);
        }
        let _ = env.fs.list(&dir).map(|names| names.iter().for_each(|name| drop(env.fs.remove(&dir.join(name)))));
        (backup, state)
    }
}

/// After a backup nothing is there that no backup names.
fn check_tidy(env: &Env) {
    let good = backups(env, Path::new(COPIES)).expect("every backup can be read");
    for name in env.fs.list(Path::new(COPIES)).expect("the directory is there") {
        let named = good.iter().any(|backup| {
            backup.stored_names().any(|stored| stored == name) || name == format!("backup-{}", backup.number)
        });
        assert!(named || name == "LOCK", "violation: {name} was left behind");
    }
}

/// Backs up a database in which nobody works, with faults that the caller has set: it fails, or it is right.
pub fn back_up_with_faults(
    env: &Env,
    engine: &Arc<Engine>,
    ledger: &BackupLedger,
    expected: &State,
    clear: impl FnOnce(),
) -> Option<Error> {
    let result = engine.backup(ledger.place(env), None);
    clear();
    let error = match result {
        Err(error) => Some(error),
        Ok(summary) => {
            let dir = PathBuf::from(format!("restored-{}", summary.number));
            restore(env, ledger.place(env), &dir, None).expect("what was acknowledged can be restored");
            let options = EngineOptions { workers: 0, ..EngineOptions::default() };
            let methods = crate::methods();
            let restored = Engine::open(env.clone(), &dir, methods, options).expect("it opens");
            let found = read_state(&restored.begin().expect("it begins"), &mut Random::new(1, 1)).expect("it reads");
            assert!(&found == expected, "violation: a fault became a wrong backup");
            None
        }
    };
    assert!(
        error.as_ref().is_none_or(|error| matches!(error.code(), Code::DataCorrupted | Code::Io | Code::DiskFull)),
        "violation: {error:?}"
    );
    error
}
