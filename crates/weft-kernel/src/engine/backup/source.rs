//! Which files belong to a moment of a database, what they are called among backups, and what a log says of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_env::{Env, OpenMode};
use weft_format::{Error, FileId, Lsn, Result, TableId, Timestamp, TxnId};

use crate::catalog::decode_image;
use crate::log::{LogReader, Record, SEGMENT_HEADER_BYTES, SegmentHeader, SegmentName, attached_files};
use crate::manifest::{ManifestSnapshot, files_named};
use crate::txn::Core;

/// The end of a file of which the checksum is part of its name: it holds the checksums of the rest.
const MARK_BYTES: u64 = 4096;

/// Names of copied manifests begin with this, before the backup's number.
pub(super) const MANIFEST_PREFIX: &str = "manifest-";

/// A file to be copied.
pub(super) struct Wanted {
    /// Its name in the directory of a database.
    pub(super) name: String,
    /// Its name among the backups: the same name for the same bytes only.
    pub(super) stored: String,
    /// How many of its bytes.
    pub(super) bytes: u64,
}

/// A segment of the log up to `end`: it is known by its start, its random salt and its length.
pub(super) fn segment(env: &Env, dir: &Path, segment: SegmentName, end: Lsn) -> Result<Wanted> {
    let start = segment.start;
    assert!(start <= end, "segments of the log lie one behind the other");
    let name = segment.to_string();
    let path = dir.join(&name);
    let mut header = [0; SEGMENT_HEADER_BYTES];
    let read = env.fs.open(&path, OpenMode::Read).and_then(|file| file.read_exact_at(&mut header, 0));
    read.map_err(|error| Error::io(format!("reading {}", path.display()), &error))?;
    let salt = SegmentHeader::decode(&header, &name)?.salt;
    let bytes = SEGMENT_HEADER_BYTES as u64 + (end.0 - start.0);
    Ok(Wanted { stored: format!("{name}-{salt:08x}-{bytes}"), name, bytes })
}

/// A data file: it is known by its name, its length and its end, where the checksums of its blocks are. A file of pages
/// has no such end: each backup has a copy of its own.
pub(super) fn data_file(env: &Env, path: &Path, pages_of: Option<u64>) -> Result<Wanted> {
    let read = env.fs.open(path, OpenMode::Read).and_then(|handle| {
        let bytes = handle.len()?;
        let mut end = vec![0; bytes.min(MARK_BYTES) as usize];
        handle.read_exact_at(&mut end, bytes - bytes.min(MARK_BYTES)).map(|()| (bytes, end))
    });
    let (bytes, end) = read.map_err(|error| Error::io(format!("reading {}", path.display()), &error))?;
    let mark = pages_of.map_or(crc32c::crc32c(&end), |backup| backup as u32);
    let name = path.file_name().and_then(|name| name.to_str()).expect("a data file has a name");
    let (stem, suffix) = name.rsplit_once('.').expect("the name of a data file has a suffix");
    Ok(Wanted { name: name.to_owned(), stored: format!("{stem}-{bytes}-{mark:08x}.{suffix}"), bytes })
}

/// What a copy of the log says.
pub(super) struct LogContent {
    /// The last commit in it.
    pub(super) last_timestamp: Timestamp,
    /// Files that it attaches to tables, and that the manifest does not name yet.
    pub(super) attached: BTreeSet<(TableId, FileId)>,
    /// Files that later edits of the manifest name of which it tells: who follows the log opens them.
    pub(super) named: BTreeSet<(TableId, FileId)>,
}

/// Reads a copy of the log, whose checksums are tested by that, with the eyes of the recovery that will read it.
pub(super) fn read_log(
    env: &Env,
    dir: &Path,
    places: BTreeMap<Lsn, PathBuf>,
    end: Lsn,
    manifest: &ManifestSnapshot,
) -> Result<LogContent> {
    let (starts, places) = places.into_iter().unzip();
    let image = manifest.catalog().map(decode_image).transpose()?;
    let catalog_cut = manifest.cut(TableId(0));
    let known: BTreeSet<TableId> = image.iter().flat_map(|image| &image.tables).map(|(_, def)| def.id).collect();
    // A table that the catalog of that cut does not have was dropped before, and its files are gone.
    let is_missing =
        |table: TableId, ts: Timestamp| ts > manifest.cut(table) && (ts > catalog_cut || known.contains(&table));
    let mut reader = LogReader::of_files(env, dir, starts, places, end)?;
    let mut chunks: HashMap<TxnId, Vec<(TableId, FileId)>> = HashMap::new();
    let (mut attached, mut named) = (BTreeSet::new(), BTreeSet::new());
    let mut epoch = 0;
    while let Some(entry) = reader.next()? {
        if entry.epoch != epoch {
            epoch = entry.epoch;
            chunks.clear();
        }
        match entry.record {
            Record::Chunk { txn, changes } => attached_files(changes, chunks.entry(txn).or_default())?,
            Record::Abort { txn } => {
                chunks.remove(&txn);
            }
            Record::Commit { txn, ts, changes, .. } => {
                let mut files = chunks.remove(&txn).unwrap_or_default();
                attached_files(changes, &mut files)?;
                attached.extend(files.into_iter().filter(|&(table, _)| is_missing(table, ts)));
            }
            Record::Layout { edit, switch } if edit > manifest.edits() => {
                named.extend(files_named(edit, switch)?.unwrap_or_default());
            }
            Record::Layout { .. } | Record::Page { .. } => {}
        }
    }
    let found = reader.finish();
    if found.next_lsn != end {
        return Err(Error::corrupt(format!("the copy of the log ends at {} instead of {end}", found.next_lsn))
            .hint("run `weft check` on the database"));
    }
    Ok(LogContent { last_timestamp: found.last_timestamp, attached, named })
}

/// The path of a data file of the database.
pub(super) fn path_of(core: &Arc<Core>, table: TableId, file: FileId) -> PathBuf {
    core.services.files.path(table, file)
}
