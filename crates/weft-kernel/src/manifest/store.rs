//! The manifest file: open, apply, switch.
//!
//! ```text
//!   apply    flush the log ─▶ append the edit ─▶ fdatasync ─▶ it is the truth ─▶ append a mark (not synced)
//!                                                                            └▶ tell the log (not synced)
//!   switch   write MANIFEST-4 ─▶ fdatasync ─▶ sync directory ─▶ write CURRENT.tmp ─▶ fdatasync ─▶ rename to CURRENT
//!            ─▶ sync directory ─▶ remove MANIFEST-3
//! ```
//!
//! The mark costs no sync and usually reaches the disk soon; with it, damage in the last edit is told from a torn
//! write.
//!
//! Concurrency: one mutex, held across the edit's I/O; the log is flushed before it is taken. `fold` is called under it
//! and must not come back here.
//!
//! 1. Nothing is written before [`Manifest::settle`]: an opening first compares the ends of the log and the manifest.
//! 2. Each record names the position up to which the log was durable before it: what it says depends on that.
//! 3. The edits are counted. The count goes up when an edit is durable, and the log names it (tail 5); of an edit that
//!    drops files, before they go.
//!
//! Crash: before the fdatasync the edit may be found or not, whole either way; from then on it is found. At any moment
//! of a switch CURRENT names the old or the new file, and both say the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use weft_contract::RecoveredTable;
use weft_env::sync::Mutex;
use weft_env::{Env, File, OpenMode};
use weft_format::{Code, Error, FileId, Lsn, Result, TableId, Timestamp};

use super::edit::Edit;
use super::files::{
    Failure, Known, image, new_database, read_current, read_file, remove, remove_if_there, write_and_name,
};
use super::layout::{
    Before, CURRENT, CURRENT_TEMPORARY, FORMAT_VERSION, FileHeader, KIND_EDIT, KIND_FORGET, KIND_MARK, encode_current,
    manifest_name, manifest_number, push_record, record_bytes,
};
use super::replay::{Replayed, replay};
use super::tables::{TableState, Tables};
use super::told::LayoutSwitch;
use crate::account::{Account, Charge, Kept};
use crate::fault::{self, Fault};
use crate::step::{Step, reached};
use crate::term::Term;

/// Below this size the file is never rewritten.
const SWITCH_BYTES_MIN: u64 = 1 << 20;
/// The file is rewritten when it is this many times as long as its snapshot.
const SWITCH_GROWTH: u64 = 4;
/// Who takes a directory from a writer that may live numbers its manifests so far behind that one's.
const NUMBERS_APART: u64 = 1 << 16;
/// An edit's payload is at most this long.
const PAYLOAD_BYTES_MAX: usize = 1 << 30;

type Flush = Box<dyn Fn() -> Result<Lsn> + Send + Sync>;
type NameEdits = Box<dyn Fn() -> Result<()> + Send + Sync>;
type Tell = Box<dyn Fn(u64, &[u8]) + Send + Sync>;
type Fold = Box<dyn Fn(TableId, &[Vec<u8>]) -> Result<Vec<u8>> + Send + Sync>;

/// What the manifest needs of its surroundings.
pub struct Hooks {
    /// Makes everything that transactions have in the log durable; returns up to where. Called before each edit.
    pub flush: Flush,
    /// Makes the log name every durable edit. Called after an edit that drops files.
    pub name_edits: NameEdits,
    /// Tells the log of an edit: its number, and the bytes of the [`LayoutSwitch`]. Called for each that is durable, in
    /// their order, under the manifest's lock; never waits.
    pub tell: Tell,
    /// Folds a table's payloads, oldest first and at least two, into one that means the same. Table 0 is the catalog.
    pub fold: Fold,
}

/// What the manifest knew at open.
#[derive(Clone, Debug, Default)]
pub struct RecoveredManifest {
    /// Whether the directory had no manifest and got one.
    pub created: bool,
    /// Every table with an edit, the catalog (0) included.
    pub tables: BTreeMap<TableId, RecoveredTable>,
    /// The highest file number ever named; 0 when none was.
    pub file_max: FileId,
    /// The highest table ever named.
    pub table_max: TableId,
    /// The highest cut of any table: timestamps handed out must be higher.
    pub cut_max: Timestamp,
    /// The name of the file.
    pub name: String,
    /// It depends on everything in the log before this.
    pub log: Lsn,
    /// How many edits there were since the database was made.
    pub edits: u64,
}

/// What the manifest knew at one moment.
pub(crate) struct ManifestSnapshot {
    tables: Tables,
    log: Lsn,
    edits: u64,
}

/// The number of the manifest in a copy of a database.
const COPY_NUMBER: u64 = 1;

impl ManifestSnapshot {
    /// What the manifest of a copy of a database says, also before something names it.
    pub(crate) fn of_copy(env: &Env, dir: &Path) -> Result<ManifestSnapshot> {
        ManifestSnapshot::of_bytes(&read_file(env, &dir.join(manifest_name(COPY_NUMBER)))?)
    }

    /// The data files that it names.
    pub(crate) fn files(&self) -> impl Iterator<Item = (TableId, FileId)> {
        self.tables.by_id.iter().flat_map(|(id, table)| table.files.iter().map(|file| (*id, *file)))
    }

    /// So many edits there were at this moment.
    pub(crate) fn edits(&self) -> u64 {
        self.edits
    }

    /// As the manifest of a directory that follows: it has these edits, and the log tells of later ones.
    pub(crate) fn at_edits(mut self, edits: u64) -> Result<ManifestSnapshot> {
        if edits > self.edits {
            let what = format!("a copy of the manifest has {} edits, and was said to have {edits}", self.edits);
            return Err(Error::corrupt(what));
        }
        self.edits = edits;
        Ok(self)
    }

    /// Makes it the manifest of a directory that nobody writes but who calls this, in place of the one that is there.
    pub(crate) fn install(&self, env: &Env, dir: &Path) -> Result<()> {
        let names = env.fs.list(dir).map_err(|error| Error::io(format!("listing {}", dir.display()), &error))?;
        let numbers: Vec<u64> = names.iter().filter_map(|name| manifest_number(name)).collect();
        let number = numbers.iter().max().map_or(COPY_NUMBER, |last| last + 1);
        let known = Known { tables: &self.tables, log: self.log, edits: self.edits };
        write_and_name(env, dir, (number, None), known).map_err(|failure| match failure {
            Failure::Clean(error) | Failure::Fatal(error) => error,
        })?;
        numbers.into_iter().try_for_each(|before| remove_if_there(env, &dir.join(manifest_name(before))))
    }

    /// What the manifest of a copy says, from its bytes.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<ManifestSnapshot> {
        let Replayed { tables, log, edits, .. } = replay(bytes, COPY_NUMBER)?;
        Ok(ManifestSnapshot { tables, log, edits })
    }

    /// A copy of the log may name edits up to here, which came after this moment.
    pub(crate) fn raise_edits(&mut self, edits: u64) {
        self.edits = self.edits.max(edits);
    }

    /// The cut of a table; 0 when it has no edit.
    pub(crate) fn cut(&self, table: TableId) -> Timestamp {
        self.tables.by_id.get(&table).map_or(Timestamp(0), |table| table.cut)
    }

    /// The payloads of a table's edits, oldest first.
    pub(crate) fn payloads(&self, table: TableId) -> &[Vec<u8>] {
        self.tables.by_id.get(&table).map_or(&[], |table| &table.payloads)
    }

    /// The highest cut of any table.
    pub(crate) fn cut_max(&self) -> Timestamp {
        self.tables.by_id.values().map(|table| table.cut).max().unwrap_or_default()
    }

    /// The newest image of the catalog, if there is one.
    pub(crate) fn catalog(&self) -> Option<&[u8]> {
        self.tables.by_id.get(&TableId(0))?.payloads.last().map(Vec::as_slice)
    }

    /// The name and the bytes of a manifest file that says the same.
    pub(crate) fn file(&self, env: &Env) -> (String, Vec<u8>) {
        let known = Known { tables: &self.tables, log: self.log, edits: self.edits };
        (manifest_name(COPY_NUMBER), image(env.rng.next_u64() as u32, COPY_NUMBER, known).1)
    }

    /// The name and the bytes of the file that names it: the last one that a copy gets.
    pub(crate) fn current() -> (&'static str, String) {
        (CURRENT, encode_current(COPY_NUMBER))
    }
}

/// What an opening has read and not made its own.
struct Unsettled {
    /// The file's bytes from the last offset proved durable up to the end of the last record.
    tail: Vec<u8>,
    /// The file is longer than its records.
    is_torn: bool,
    /// Files that an unfinished switch left.
    stale: Vec<String>,
}

struct State {
    file: Arc<dyn File>,
    header: FileHeader,
    /// Where the next record goes.
    end: u64,
    /// Everything before this is known durable: all but the last mark.
    durable: u64,
    tables: Tables,
    /// It depends on everything in the log before this.
    log: Lsn,
    unsettled: Option<Unsettled>,
    poisoned: Option<Error>,
}

/// The manifest of an open database. Shared by all threads.
pub struct Manifest {
    env: Env,
    dir: PathBuf,
    hooks: OnceLock<Hooks>,
    /// The right to write; none: nobody else can come.
    term: OnceLock<Arc<Term>>,
    switch_bytes_min: u64,
    /// The highest number of a file that was there at the opening. A new one gets a higher one: who opened before and
    /// is slow may still remove those that it found.
    seen: u64,
    state: Mutex<State>,
    /// How many edits are durable since the database was made (store 3). Changes under `state`.
    edits: Arc<AtomicU64>,
    /// What the payloads take.
    charge: OnceLock<Charge>,
}

impl Manifest {
    /// Opens the manifest of a directory, or makes one when the directory holds no database. Otherwise nothing is
    /// written before [`Manifest::settle`].
    pub fn open(env: &Env, dir: &Path) -> Result<(Manifest, RecoveredManifest)> {
        let names = env.fs.list(dir).map_err(|error| Error::io(format!("listing {}", dir.display()), &error))?;
        let created = !names.iter().any(|name| name == CURRENT);
        if created {
            refuse_remains(&names)?;
        }
        let (mut state, edits) = if created { (create(env, dir, &names)?, 0) } else { load(env, dir)? };
        let current = manifest_name(state.header.number);
        let seen = names.iter().filter_map(|name| manifest_number(name)).max().unwrap_or(0);
        if let Some(unsettled) = &mut state.unsettled {
            unsettled.stale = names;
            unsettled
                .stale
                .retain(|name| manifest_number(name).is_some() && *name != current || name == CURRENT_TEMPORARY);
        }
        let recovered = RecoveredManifest {
            created,
            tables: state.tables.recovered(),
            file_max: state.tables.file_max,
            table_max: state.tables.table_max,
            cut_max: state.tables.by_id.values().map(|table| table.cut).max().unwrap_or_default(),
            name: current,
            log: state.log,
            edits,
        };
        let manifest = Manifest {
            env: env.clone(),
            dir: dir.to_owned(),
            hooks: OnceLock::new(),
            term: OnceLock::new(),
            switch_bytes_min: SWITCH_BYTES_MIN,
            seen,
            state: Mutex::new(state),
            edits: Arc::new(AtomicU64::new(edits)),
            charge: OnceLock::new(),
        };
        Ok((manifest, recovered))
    }

    /// Whether the directory has a manifest.
    pub(crate) fn exists(env: &Env, dir: &Path) -> Result<bool> {
        let path = dir.join(CURRENT);
        env.fs.exists(&path).map_err(|error| Error::io(format!("looking for {}", path.display()), &error))
    }

    /// Makes what was read durable and cleans away what an unfinished edit or switch left; once, after an opening found
    /// the log and the manifest whole, before the first edit (store 1). A file of the release before is rewritten.
    /// With `apart` it is, too: the writer before may live, and write once more into its file.
    pub fn settle(&self, apart: bool) -> Result<()> {
        let mut state = self.state.lock();
        let Some(unsettled) = state.unsettled.take() else { return Ok(()) };
        self.check_ours()?;
        let is_unnamed = state.tables.database == 0;
        if is_unnamed {
            // A file of a version before.
            state.tables.database = new_database(&self.env);
        }
        if apart || is_unnamed || state.header.version != FORMAT_VERSION {
            let tables = state.tables.clone();
            self.rewrite(&mut state, tables, if apart { NUMBERS_APART } else { 1 })?;
        } else {
            self.settle_tail(&state, &unsettled)?;
            state.durable = state.end;
        }
        let current = manifest_name(state.header.number);
        let stale = unsettled.stale.iter().filter(|name| **name != current);
        stale.map(|name| self.dir.join(name)).try_for_each(|path| {
            self.check_ours()?;
            remove_if_there(&self.env, &path)
        })
    }

    fn settle_tail(&self, state: &State, unsettled: &Unsettled) -> Result<()> {
        assert!(
            state.durable + unsettled.tail.len() as u64 == state.end,
            "nothing was written since the opening read the file (store 1)"
        );
        let settled = || {
            if unsettled.is_torn {
                state.file.set_len(state.end)?;
            }
            // What was read may not be on disk (the process died, not the machine), and from now on it is acted upon. A
            // sync that failed then may have left it clean in memory and missing on disk: so it is written again.
            state.file.write_at(&unsettled.tail, state.end - unsettled.tail.len() as u64)?;
            state.file.sync_data()?;
            self.env.fs.sync_dir(&self.dir)
        };
        let name = manifest_name(state.header.number);
        settled().map_err(|error| Error::io(format!("settling {}", self.dir.join(name).display()), &error))
    }

    /// The count of durable edits, for the log.
    pub(crate) fn edit_count(&self) -> Arc<AtomicU64> {
        self.edits.clone()
    }

    /// Names the present end of the log, durably, when nothing has named it: from then on an opening misses any of it.
    pub(crate) fn name_log_end(&self, log: Lsn) -> Result<()> {
        let hooks = self.hooks.get().expect("the manifest is connected before the first edit");
        let mut state = self.state.lock();
        if let Some(error) = &state.poisoned {
            return Err(error.clone());
        }
        if log <= state.log {
            return Ok(());
        }
        self.check_ours()?;
        state.append(KIND_MARK, &[], log)?;
        self.switch_when_long(&mut state, &hooks.fold);
        Ok(())
    }

    /// Lets the file be switched from this size on.
    #[cfg(test)]
    pub(super) fn switch_after(&mut self, bytes: u64) {
        self.switch_bytes_min = bytes;
    }

    /// Sets the length below which the file is never rewritten, bytes.
    #[must_use]
    pub fn rewritten_above(mut self, bytes: u64) -> Manifest {
        self.switch_bytes_min = bytes;
        self
    }

    /// Charges what it keeps to an account; once.
    pub(crate) fn charge_to(&self, account: &Arc<Account>) {
        let bytes = self.state.lock().tables.memory_bytes();
        assert!(self.charge.set(account.charge(Kept::Manifest, bytes)).is_ok(), "a manifest is charged once");
    }

    /// From here on it is written only while the directory is this writer's; once.
    pub(crate) fn guard_by(&self, term: &Arc<Term>) {
        assert!(self.term.set(Arc::clone(term)).is_ok(), "a manifest has one writer");
    }

    /// Fails when another writer has the directory.
    fn check_ours(&self) -> Result<()> {
        self.term.get().map_or(Ok(()), |term| term.check())
    }

    /// Connects the manifest to the log and the methods; once, before the first edit.
    pub fn connect(&self, hooks: Hooks) {
        assert!(self.hooks.set(hooks).is_ok(), "a manifest is connected once");
    }

    /// Makes an edit durable. On return every crash finds it; after an error none does, unless the manifest is
    /// poisoned.
    pub fn apply(&self, edit: Edit) -> Result<()> {
        if edit.payload.len() > PAYLOAD_BYTES_MAX {
            return Err(Error::new(Code::ProgramLimit, format!("the payload of table {} is over 1 GB", edit.table)));
        }
        let mut payload = Vec::with_capacity(64 + edit.payload.len());
        edit.encode(&mut payload);
        self.write(KIND_EDIT, &payload, LayoutSwitch::encode_edit(&edit), Some(edit))
    }

    /// Forgets a dropped table, its files and payloads, durably. Nothing happens when it has none.
    pub fn forget(&self, table: TableId) -> Result<()> {
        self.write(KIND_FORGET, &table.0.to_le_bytes(), LayoutSwitch::encode_forget(table), None)
    }

    /// What somebody else's manifest says from an edit on, which the log tells: memory follows, and nothing is written.
    /// False when it has said so before. Payloads are kept of tables only that are to be opened later.
    pub(crate) fn follow(&self, number: u64, switch: &LayoutSwitch, is_open: bool) -> Result<bool> {
        let mut state = self.state.lock();
        let known = self.edits.load(Ordering::Acquire);
        if number <= known {
            return Ok(false);
        }
        if number != known + 1 || *switch == LayoutSwitch::Anew {
            let what = format!("the log tells of edit {number} of the manifest, and of none behind {known}");
            return Err(Error::new(Code::UndefinedFile, what).hint("join anew: the manifest has them"));
        }
        match switch {
            LayoutSwitch::Edit(edit) => {
                state.tables.check(edit)?;
                let payload = if is_open { Vec::new() } else { edit.payload.clone() };
                state.tables.apply(Edit { payload, ..edit.clone() });
            }
            LayoutSwitch::Forget(table) => state.tables.forget(*table),
            LayoutSwitch::Anew => {}
        }
        self.edits.store(number, Ordering::Release);
        Ok(true)
    }

    /// Which database it is: a number that was drawn when it was made. None: no writer of this release has opened it.
    pub(crate) fn database(&self) -> Option<u64> {
        Some(self.state.lock().tables.database).filter(|number| *number > 0)
    }

    /// What it knows of a table; nothing when it has no edit.
    pub(crate) fn recovered(&self, table: TableId) -> RecoveredTable {
        self.state.lock().tables.by_id.get(&table).map_or_else(RecoveredTable::default, TableState::recovered)
    }

    /// The files that belong to tables.
    pub fn files(&self) -> Vec<(TableId, FileId)> {
        let state = self.state.lock();
        let files = state.tables.by_id.iter().flat_map(|(id, table)| table.files.iter().map(|file| (*id, *file)));
        files.collect()
    }

    /// What is known at this moment, for a copy of the database.
    pub(crate) fn snapshot(&self) -> Result<ManifestSnapshot> {
        let state = self.state.lock();
        if let Some(error) = &state.poisoned {
            return Err(error.clone());
        }
        Ok(ManifestSnapshot { tables: state.tables.clone(), log: state.log, edits: self.edits.load(Ordering::Acquire) })
    }

    /// The cut of a table; 0 when it has no edit.
    pub fn cut(&self, table: TableId) -> Timestamp {
        self.state.lock().tables.by_id.get(&table).map_or(Timestamp(0), |table| table.cut)
    }

    /// The payloads of a table's edits, oldest first.
    pub(crate) fn payloads(&self, table: TableId) -> Vec<Vec<u8>> {
        self.state.lock().tables.by_id.get(&table).map_or_else(Vec::new, |table| table.payloads.clone())
    }

    /// Why the manifest takes no more edits, if so.
    pub fn poisoned(&self) -> Option<Error> {
        self.state.lock().poisoned.clone()
    }

    /// Reads the file again and compares it with what is in memory; what is wrong, one line each.
    pub fn check(&self) -> Result<Vec<String>> {
        let state = self.state.lock();
        let name = manifest_name(state.header.number);
        let found = read_current(&self.env, &self.dir).and_then(|number| {
            let bytes = read_file(&self.env, &self.dir.join(manifest_name(number)))?;
            replay(&bytes, number)
        });
        match found {
            Ok(found) if found.tables == state.tables && found.end == state.end => Ok(Vec::new()),
            Ok(_) => Ok(vec![format!("{name} does not say what was written to it")]),
            Err(error) if error.code() == Code::DataCorrupted => Ok(vec![error.to_string()]),
            Err(error) => Err(error),
        }
    }

    fn write(&self, kind: u32, payload: &[u8], told: Vec<u8>, edit: Option<Edit>) -> Result<()> {
        let hooks = self.hooks.get().expect("the manifest is connected before the first edit");
        let log = (hooks.flush)()?;
        let drops_files = edit.as_ref().is_some_and(|edit| !edit.removed.is_empty());
        let mut state = self.state.lock();
        assert!(state.unsettled.is_none(), "nothing is written before what was read is settled (store 1)");
        if let Some(error) = &state.poisoned {
            return Err(error.clone());
        }
        match &edit {
            Some(edit) => state.tables.check(edit)?,
            None => {
                let id = TableId(u32::from_le_bytes(payload.try_into().expect("the payload is a table id")));
                if !state.tables.by_id.contains_key(&id) {
                    return Ok(());
                }
            }
        }
        self.check_ours()?;
        state.append(kind, payload, log)?;
        let number = self.edits.fetch_add(1, Ordering::AcqRel) + 1;
        if !fault::active(Fault::FORGET_LAYOUT_RECORD) {
            (hooks.tell)(number, &told);
        }
        match edit {
            Some(edit) => state.tables.apply(edit),
            None => state.tables.forget(TableId(u32::from_le_bytes(payload.try_into().expect("as above")))),
        }
        self.switch_when_long(&mut state, &hooks.fold);
        self.charge.get().inspect(|charge| charge.set(state.tables.memory_bytes()));
        drop(state);
        if drops_files {
            // The edit is durable, whatever becomes of this. Where it fails (a full disk), a manifest that loses the
            // edit names files that are gone, and does not open either.
            let _ = (hooks.name_edits)();
        }
        Ok(())
    }

    fn switch_when_long(&self, state: &mut State, fold: &Fold) {
        if state.end > self.switch_bytes_min && state.end > SWITCH_GROWTH * state.header.snapshot_end {
            // The edit is durable, whatever becomes of the switch: a full disk puts it off to the next edit, a failed
            // fsync has poisoned the manifest.
            let _ = self.switch(state, fold);
        }
    }

    /// Writes the state as a new file and makes CURRENT name it.
    fn switch(&self, state: &mut State, fold: &Fold) -> Result<()> {
        let mut folded = state.tables.clone();
        for (id, table) in &mut folded.by_id {
            if table.payloads.len() > 1 {
                let payload = fold(*id, &table.payloads)?;
                table.payloads.clear();
                table.payloads.extend((!payload.is_empty()).then_some(payload));
            }
        }
        self.rewrite(state, folded, 1)
    }

    /// Writes a new file with these tables, which mean what the present ones do, and makes CURRENT name it.
    fn rewrite(&self, state: &mut State, tables: Tables, further: u64) -> Result<()> {
        assert!(state.poisoned.is_none(), "a manifest that has stopped is not followed by another file");
        assert!(further > 0, "a new file has a number of its own");
        let number = state.header.number.max(self.seen) + further;
        let known = Known { tables: &tables, log: state.log, edits: self.edits.load(Ordering::Acquire) };
        assert!(tables.database > 0, "a file says of which database it is");
        assert!(number > self.seen, "no file that was found gives its number to another one (term 6)");
        match write_and_name(&self.env, &self.dir, (number, self.term.get()), known) {
            Ok((file, header)) => {
                let old = self.dir.join(manifest_name(state.header.number));
                let end = header.snapshot_end;
                let log = state.log;
                *state = State { file, header, end, durable: end, tables, log, unsettled: None, poisoned: None };
                // Left behind, it is removed at the next open. A successor may have begun to read it.
                if self.check_ours().is_ok() {
                    let _ = self.env.fs.remove(&old);
                }
                Ok(())
            }
            Err(Failure::Clean(error)) => Err(error),
            Err(Failure::Fatal(error)) => {
                state.poison(&error);
                Err(error)
            }
        }
    }
}

impl State {
    /// Appends a record and makes it durable. The log is durable up to `log`.
    fn append(&mut self, kind: u32, payload: &[u8], log: Lsn) -> Result<()> {
        assert!(self.unsettled.is_none(), "nothing is written before what was read is settled (store 1)");
        assert!(self.poisoned.is_none(), "a manifest that has stopped is not written to");
        let log = self.log.max(log);
        let mut bytes = Vec::with_capacity(record_bytes(payload.len()));
        push_record(&mut bytes, self.end, Before { durable: self.durable, log }, self.header.salt, kind, payload);
        let name = manifest_name(self.header.number);
        if let Err(error) = self.file.write_at(&bytes, self.end) {
            let cleaned = self.file.set_len(self.end).and_then(|()| self.file.sync_data());
            if let Err(error) = cleaned {
                return Err(self.poison(&Error::io(format!("taking back a failed write to {name}"), &error)));
            }
            return Err(
                Error::io(format!("writing {name}"), &error).hint("free space on the device; it is tried again")
            );
        }
        reached(Step::MANIFEST_EDIT_WRITTEN);
        if !fault::active(Fault::SKIP_MANIFEST_SYNC)
            && let Err(error) = self.file.sync_data()
        {
            return Err(self.poison(&Error::io(format!("syncing {name}"), &error)));
        }
        reached(Step::MANIFEST_EDIT_SYNCED);
        self.end += bytes.len() as u64;
        self.durable = self.end;
        self.log = log;
        bytes.clear();
        push_record(&mut bytes, self.end, Before { durable: self.durable, log }, self.header.salt, KIND_MARK, &[]);
        if self.file.write_at(&bytes, self.end).is_ok() {
            self.end += bytes.len() as u64;
        }
        self.check();
        Ok(())
    }

    fn check(&self) {
        let snapshot_end = self.header.snapshot_end;
        assert!(snapshot_end <= self.durable, "the snapshot was durable before CURRENT named its file (manifest 3)");
        assert!(self.durable <= self.end, "what is durable was written");
        assert!(self.end - self.durable <= record_bytes(0) as u64, "just the last mark may be lost");
    }

    fn poison(&mut self, cause: &Error) -> Error {
        let what = format!("the manifest stopped after a failed fsync ({})", cause.message());
        let error = Error::new(Code::Poisoned, what).hint("close the database and open it again");
        self.poisoned = Some(error.clone());
        error
    }
}

/// Without CURRENT a directory may hold what an interrupted creation left, but no data.
fn refuse_remains(names: &[String]) -> Result<()> {
    let data = |name: &&String| {
        name.starts_with("log-")
            || name.ends_with(".data")
            || name.ends_with(".col")
            || manifest_number(name).is_some_and(|number| number > 1)
    };
    match names.iter().find(data) {
        None => Ok(()),
        Some(name) => Err(Error::corrupt(format!("the file CURRENT is missing, but {name} is there"))
            .hint("restore CURRENT from a backup, or use an empty directory")),
    }
}

fn create(env: &Env, dir: &Path, names: &[String]) -> Result<State> {
    for name in names.iter().filter(|name| manifest_number(name).is_some() || *name == CURRENT_TEMPORARY) {
        remove(env, &dir.join(name))?;
    }
    let tables = Tables { database: new_database(env), ..Tables::default() };
    match write_and_name(env, dir, (1, None), Known { tables: &tables, log: Lsn(0), edits: 0 }) {
        Ok((file, header)) => {
            let end = header.snapshot_end;
            Ok(State { file, header, end, durable: end, tables, log: Lsn(0), unsettled: None, poisoned: None })
        }
        Err(Failure::Clean(error) | Failure::Fatal(error)) => Err(error),
    }
}

/// What is there, and how many edits there were.
fn load(env: &Env, dir: &Path) -> Result<(State, u64)> {
    let number = read_current(env, dir)?;
    let path = dir.join(manifest_name(number));
    let bytes = read_file(env, &path)?;
    let Replayed { header, tables, end, durable, log, edits } = replay(&bytes, number)?;
    let opened = env.fs.open(&path, OpenMode::ReadWrite);
    let file = opened.map_err(|error| Error::io(format!("opening {}", path.display()), &error))?;
    let unsettled = Unsettled {
        tail: bytes[durable as usize..end as usize].to_vec(),
        is_torn: bytes.len() as u64 > end,
        stale: Vec::new(),
    };
    let state = State { file, header, end, durable, tables, log, unsettled: Some(unsettled), poisoned: None };
    Ok((state, edits))
}
