//! What a checkpoint has of a table: all rows as of its cut, in one file, for the next opening alone.
//!
//! ```text
//!   file     hash u64 | count | count x (since u64, count, values)      a list of rows in no order
//!   freeze   needed from 52 ─▶ job: rows as of 52 written, synced, named by an edit {cut 52} ─▶ the file before goes
//! ```
//!
//! 1. Memory does not change with it: what is in the file is in memory, too.
//! 2. From a freeze to the end of its job the rows as of its timestamp are needed, and stay
//!    ([`Saved::needed_from`]).
//! 3. The file is the only one of the table.

use std::sync::atomic::{AtomicU64, Ordering};

use weft_contract::{FileSwitch, JobKind, JobOffer, Price, RecoveredTable};
use weft_env::File;
use weft_env::sync::Mutex;
use weft_format::bloom::hash_bytes;
use weft_format::wire::{ByteReader, put_count, put_value};
use weft_format::{Code, Error, FileId, Result, Timestamp, Value};
use weft_kernel::manifest::Edit;
use weft_kernel::method::TableContext;

/// Writes all rows to a file.
pub(crate) const SAVE: JobKind = JobKind::freeing("save");
const HASH_BYTES: usize = 8;

/// A row, and since when it is so. The file may know columns that the definition at an opening does not know yet.
pub(crate) type SavedRow = (Timestamp, Vec<Value>);

struct State {
    file: Option<FileId>,
    /// The next job writes the rows as of this timestamp.
    frozen: Option<Timestamp>,
    is_dropped: bool,
}

/// See the module.
pub(crate) struct Saved {
    cut: AtomicU64,
    /// [`State::frozen`], for who does not want the lock; [`Timestamp::MAX`]: none.
    needed_from: AtomicU64,
    state: Mutex<State>,
}

impl Saved {
    /// What the manifest knows, and the rows of the file.
    pub(crate) fn open(context: &TableContext, recovered: &RecoveredTable) -> Result<(Saved, Vec<SavedRow>)> {
        let file = match recovered.files.as_slice() {
            [] => None,
            [file] => Some(*file),
            _ => return Err(Error::corrupt(format!("table {:?} has more than one file", context.def.name))),
        };
        let rows = match file {
            None => Vec::new(),
            Some(file) => read(&*context.services.files().open(context.def.id, file)?.reader(), file)?,
        };
        let saved = Saved {
            cut: AtomicU64::new(recovered.cut.0),
            needed_from: AtomicU64::new(Timestamp::MAX.0),
            state: Mutex::new(State { file, frozen: None, is_dropped: false }),
        };
        Ok((saved, rows))
    }

    pub(crate) fn cut(&self) -> Timestamp {
        Timestamp(self.cut.load(Ordering::Acquire))
    }

    /// No version goes that was visible then or later.
    pub(crate) fn needed_from(&self) -> Timestamp {
        Timestamp(self.needed_from.load(Ordering::Acquire))
    }

    /// The next job takes everything up to the last timestamp that was handed out.
    pub(crate) fn freeze(&self, context: &TableContext, last_change: Timestamp) {
        let mut state = self.state.lock();
        if state.frozen.is_none() && last_change > self.cut() {
            let to = context.services.last_sequenced().max(last_change);
            state.frozen = Some(to);
            self.needed_from.store(to.0, Ordering::Release);
        }
    }

    /// The job, when everything that it writes is published.
    pub(crate) fn offer(&self, context: &TableContext) -> Option<JobOffer> {
        let state = self.state.lock();
        let frozen = state.frozen.filter(|to| *to <= context.services.published() && !state.is_dropped)?;
        let reason = format!("rows as of {frozen} are to be in a file");
        Some(JobOffer { table: context.def.id, kind: SAVE, number: frozen.0, price: Price::default(), reason })
    }

    /// Writes the rows as of a freeze.
    pub(crate) fn save(
        &self,
        context: &TableContext,
        to: Timestamp,
        rows: impl FnOnce() -> Vec<SavedRow>,
    ) -> Result<()> {
        // Another freeze is another offer: what it has may not be published yet.
        if self.state.lock().frozen != Some(to) {
            return Ok(());
        }
        let (files, table) = (context.services.files(), context.def.id);
        let failed = |error: std::io::Error| Error::io(format_args!("writing table {:?}", context.def.name), &error);
        let mut new = files.create(table)?;
        new.append(&encode(&rows())).map_err(failed)?;
        let new = new.seal().map_err(failed)?;
        files.sync_names().inspect_err(|_| new.retire())?;
        let before = self.state.lock().file;
        let removed = before.into_iter().collect();
        let edit = Edit { table, cut: to, added: vec![new.number()], removed, ..Edit::default() };
        let durable = context.services.apply_edit(edit).inspect_err(|error| {
            // The edit may be durable: the next opening knows.
            if error.code() != Code::Poisoned {
                new.retire();
            }
        })?;
        let mut state = self.state.lock();
        assert!(to >= self.cut(), "the cut never goes back (DESIGN invariant 7)");
        (state.file, state.frozen) = (Some(new.number()), None);
        self.cut.store(to.0, Ordering::Release);
        self.needed_from.store(Timestamp::MAX.0, Ordering::Release);
        drop(state);
        durable.followed();
        before.into_iter().for_each(|file| files.remove(table, file));
        Ok(())
    }

    /// The writer has saved; all rows are in memory here as there.
    pub(crate) fn follow(&self, switch: &FileSwitch) {
        let mut state = self.state.lock();
        state.file = switch.added.first().copied();
        self.cut.store(switch.cut.0, Ordering::Release);
    }

    /// The file goes with the table.
    pub(crate) fn drop_files(&self) {
        self.state.lock().is_dropped = true;
    }

    /// Nobody has the table any more.
    pub(crate) fn end(&mut self, context: &TableContext) {
        let state = self.state.get_mut();
        if state.is_dropped {
            state.file.into_iter().for_each(|file| context.services.files().remove(context.def.id, file));
        }
    }
}

fn encode(rows: &[SavedRow]) -> Vec<u8> {
    let mut bytes = vec![0; HASH_BYTES];
    put_count(&mut bytes, rows.len());
    for (since, values) in rows {
        bytes.extend(since.0.to_le_bytes());
        put_count(&mut bytes, values.len());
        values.iter().for_each(|value| put_value(&mut bytes, value.as_ref()));
    }
    let hash = hash_bytes(&bytes[HASH_BYTES..]);
    bytes[..HASH_BYTES].copy_from_slice(&hash.to_le_bytes());
    bytes
}

/// The rows of a file; an error when it is not whole.
pub(crate) fn read(file: &dyn File, number: FileId) -> Result<Vec<SavedRow>> {
    let failed = |error: std::io::Error| Error::io(format_args!("reading file {number}"), &error);
    let damaged = |what: &str| Error::corrupt(format!("a file of rows is damaged: {what}"));
    let mut bytes = vec![0; file.len().map_err(failed)? as usize];
    file.read_exact_at(&mut bytes, 0).map_err(failed)?;
    let whole = bytes.split_at_checked(HASH_BYTES).filter(|(hash, rest)| hash_bytes(rest).to_le_bytes() == **hash);
    let (_, rest) = whole.ok_or_else(|| damaged(&format!("file {number} is not what was written")))?;
    let mut reader = ByteReader::new(rest, damaged);
    let mut rows = Vec::new();
    for _ in 0..reader.count()? {
        let (since, count) = (Timestamp(reader.u64()?), reader.count()?);
        rows.push((since, (0..count).map(|_| reader.value()).collect::<Result<_>>()?));
    }
    reader.end()?;
    Ok(rows)
}
