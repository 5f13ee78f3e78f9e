//! Bases: backups that the pieces go on from, and what goes when it is not needed any more.
//!
//! ```text
//!   backup-2 (yesterday)    backup-3 (this morning)    backup-4 (now)       keep a day: backup-2 is what a restore to
//!   pieces 7-11 ...         7-30 ...                   8-3 ...              this time yesterday begins with
//! ```
//!
//! 1. A base of which nobody restores a moment that is kept goes, with the pieces before the oldest one that stays:
//!    first its list, so that what is left names nothing that is gone. Its files go with the next backup.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft_env::sync::Mutex;
use weft_env::{JoinHandle, ObjectStore};
use weft_format::{Error, Lsn, Result};
use weft_kernel::{BackupPlace, CancelToken, Engine, GoesOn};

use super::chain::{bases, failed, read_head};
use super::names::before;
use super::piece::Base;

/// A base that was made: its number, up to where it has the log, and up to which edit the manifest, when it had been
/// made, its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    pub(super) backup: u64,
    pub(super) end: Lsn,
    pub(super) edits: u64,
    pub(super) wall: i64,
    pub(super) bytes: u64,
}

/// What became of the thread that makes a base.
#[derive(Default)]
struct Outcome {
    made: Mutex<Option<Result<Made>>>,
    has_ended: AtomicBool,
}

/// Says that a thread has ended, however it did.
struct Ending(Arc<Outcome>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.has_ended.store(true, Ordering::Release);
    }
}

/// Makes bases, one at a time.
pub(super) struct Bases {
    engine: Arc<Engine>,
    store: Arc<dyn ObjectStore>,
    under_way: Option<(JoinHandle, Arc<Outcome>)>,
    cancel: CancelToken,
}

impl Bases {
    pub(super) fn new(engine: &Arc<Engine>, store: &Arc<dyn ObjectStore>) -> Bases {
        let (engine, store) = (engine.clone(), store.clone());
        Bases { engine, store, under_way: None, cancel: CancelToken::new() }
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Begins to make one.
    pub(super) fn begin(&mut self) -> Result<()> {
        assert!(self.under_way.is_none(), "one base is made at a time");
        let outcome: Arc<Outcome> = Arc::default();
        let (engine, store) = (self.engine.clone(), self.store.clone());
        let (told, cancel) = (outcome.clone(), self.cancel.clone());
        let make = move || {
            let ending = Ending(told);
            let made = make(&engine, store, &cancel);
            *ending.0.made.lock() = Some(made);
        };
        let thread = self.engine.env().spawn.spawn("weft-base", Box::new(make));
        let thread = thread.map_err(|error| Error::io("starting the thread that makes a base", &error))?;
        self.under_way = Some((thread, outcome));
        Ok(())
    }

    /// What became of the one that was under way; none: it is still, or there is none.
    pub(super) fn take(&mut self) -> Option<Result<Made>> {
        let (_, outcome) = self.under_way.as_ref()?;
        if !outcome.has_ended.load(Ordering::Acquire) {
            return None;
        }
        let made = outcome.made.lock().take();
        self.join();
        Some(made.unwrap_or_else(|| Err(Error::internal("the thread that makes a base panicked"))))
    }

    /// Ends the one that is under way, soon.
    pub(super) fn end(&mut self) {
        self.cancel.cancel();
        self.join();
    }

    fn join(&mut self) {
        if let Some((thread, _)) = self.under_way.take() {
            let _ = thread.join();
        }
    }
}

fn make(engine: &Engine, store: Arc<dyn ObjectStore>, cancel: &CancelToken) -> Result<Made> {
    let (summary, GoesOn { log: end, edits }) = engine.backup_to_go_on(BackupPlace::Objects(store), Some(cancel))?;
    let wall = engine.env().clock.wall_micros();
    let bytes = summary.copied_bytes + summary.reused_bytes;
    Ok(Made { backup: summary.number, end, edits, wall, bytes })
}

/// Removes what no restore to a moment within `keep` needs (base 1). Only who has the newest fence may.
pub(super) fn tidy(store: &dyn ObjectStore, now_micros: i64, keep: Duration) -> Result<()> {
    let Some(head) = read_head(store)? else { return Ok(()) };
    let known = bases(store, &head)?;
    let oldest = now_micros.saturating_sub(i64::try_from(keep.as_micros()).unwrap_or(i64::MAX));
    // The newest that was made before that moment is needed, and those after it.
    let Some(at) = known.iter().position(|base| base.wall <= oldest) else { return Ok(()) };
    let (kept, gone): (&[Base], &[Base]) = known.split_at(at + 1);
    let first = kept.last().expect("one is kept").from;
    let lists: Vec<String> = gone.iter().map(|base| format!("backup-{}", base.backup)).collect();
    let listing = |error: &std::io::Error| failed(store, "removing what is not needed", error);
    if !lists.is_empty() {
        store.delete(&lists).map_err(|error| listing(&error))?;
    }
    let mut names = before(store, first).map_err(|error| listing(&error))?;
    // The first piece of each fence says what that goes on from.
    names.retain(|name| !name.ends_with("-00000001") || name.starts_with("files-"));
    if names.is_empty() { Ok(()) } else { store.delete(&names).map_err(|error| listing(&error)) }
}
