//! Going on without files that cannot be read: parts are taken out of their tables, indexes are made again.
//!
//! ```text
//!   open ─ test every data file ─ t12-7.data: block 4 fails its checksum
//!     rename t12-7.data → quarantine/t12-7.data, directories synced               kept for whoever can read more of it
//!     manifest edit {table 12, removed [7]}                                       the table is what the others say
//!   a file that only the log names: redo goes on without it, and the checkpoint leaves that part of the log behind
//!   open again: redo finds the rows of other parts; what changed lost rows has nothing to change
//!     DROP and CREATE of each index with a run that cannot be read, in one transaction      no row is lost by it
//!     checkpoint, check
//! ```
//!
//! 1. Nobody else has the directory: it is opened, and no job runs until the end.
//! 2. The file is renamed before the edit: a crash between the two leaves a table that misses a file, which the next
//!    call takes out; after the edit an unnamed file would be removed by the next open.
//! 3. Entries of lost rows in indexes are outdated ones, as those of deleted rows: readers look at the row, merges drop
//!    them.
//! 4. A file is taken out when it is damaged or gone, or when the disk does not give it for half a second. When rights,
//!    handles or memory are missing, all files stay where they are and the call says so.
//!
//! Crash: at any moment; the call is made again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use weft_contract::Table;
use weft_env::Env;
use weft_expr::text;
use weft_format::{Error, FileId, Result, TableId, Value};

use super::tested::test_again;
use crate::catalog::{Relation, TableDef};
use crate::manifest::Edit;
use crate::method::{Method, method};
use crate::options::EngineOptions;
use crate::read_again::concerns_files;
use crate::txn::{Core, Engine};

/// The directory, in that of the database, where files are kept that were taken out.
pub const QUARANTINE: &str = "quarantine";

/// What was taken out.
#[derive(Clone, Debug, PartialEq)]
pub struct Quarantined {
    /// The table, or index.
    pub name: String,
    /// The file's name; none: an index, which was made again.
    pub file: Option<String>,
    /// What is wrong with it.
    pub error: String,
    /// Rows that were alive in it at the table's last job.
    pub rows: u64,
    /// The lowest and the highest key in it, when its footer can be read.
    pub keys: Option<(String, String)>,
}

/// What was done, and what is wrong still.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuarantineReport {
    /// Files that were taken out, and indexes that were made again.
    pub taken: Vec<Quarantined>,
    /// What a check finds afterwards, one line each.
    pub findings: Vec<String>,
}

/// Takes the files that cannot be read out of a database that nobody has open, and checks what is left.
pub fn quarantine(
    env: &Env,
    dir: &Path,
    methods: &[Arc<dyn Method>],
    options: &EngineOptions,
) -> Result<QuarantineReport> {
    let options = EngineOptions { workers: 0, repairing: true, ..options.clone() };
    let open = || Engine::open(env.clone(), dir, methods.to_vec(), options.clone());
    let mut report = QuarantineReport::default();
    let mut engine = open()?;
    // All of them, before the first is taken out: when something else than a file is to blame nothing is.
    let found = unreadable(&engine.core)?;
    let (of_indexes, of_tables): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(relation, ..)| relation.owner().is_some());
    for (relation, file, error) in of_tables {
        report.taken.push(take_out(&engine.core, &relation, file, &error)?);
    }
    if !report.taken.is_empty()
        || engine.core.catalog.all().iter().any(|relation| engine.core.catalog.is_unavailable(relation))
    {
        // What is in memory is not what the manifest says any more, or what could be read when it was opened.
        drop(engine);
        engine = open()?;
    }
    let mut broken: BTreeMap<TableId, Error> = BTreeMap::new();
    for (relation, _, error) in of_indexes {
        broken.entry(relation.id()).or_insert(error);
    }
    for (id, error) in broken {
        let Some(relation) = engine.core.catalog.by_id(id) else { continue };
        let def = relation.def();
        let mut txn = engine.begin()?;
        match relation.columns() {
            Some(_) => txn.rebuild_column_index(def.namespace, &def.name)?,
            None => txn.rebuild_index(def.namespace, &def.name)?,
        }
        txn.commit()?;
        let (name, error) = (def.name.clone(), error.message().to_owned());
        report.taken.push(Quarantined { name, file: None, error, rows: 0, keys: None });
    }
    engine.checkpoint()?;
    report.findings = engine.check()?;
    engine.close()?;
    Ok(report)
}

/// The files of tables and indexes that cannot be read, however often it is tried, and why. An error when it is not the
/// file that keeps it from being read (quarantine 4).
fn unreadable(core: &Arc<Core>) -> Result<Vec<(Relation, FileId, Error)>> {
    let alive = core.catalog.all().into_iter().filter(Relation::is_alive);
    let relations: BTreeMap<TableId, Relation> = alive.map(|relation| (relation.id(), relation)).collect();
    let mut found = Vec::new();
    for (id, file) in core.manifest.files() {
        let Some(relation) = relations.get(&id) else { continue };
        if relation.table().is_some_and(|table| has_pages(&table.table)) {
            continue;
        }
        let path = core.services.files.path(id, file);
        let Err(error) = test_again((&core.env, &core.methods), relation, &path, file) else {
            continue;
        };
        if !concerns_files(&error) {
            return Err(error);
        }
        found.push((relation.clone(), file, error));
    }
    // Those that no edit names yet.
    let lost =
        core.lost.iter().filter_map(|lost| Some((relations.get(&lost.relation)?.clone(), lost.file, &lost.error)));
    found.extend(lost.map(|(relation, file, error)| (relation, file, error.clone())));
    Ok(found)
}

/// Whether pages of the table may wait, torn by a crash, for their next write: it was opened, so it has them.
fn has_pages(table: &Arc<dyn Table>) -> bool {
    table.in_place().is_some() && table.unavailable().is_none()
}

/// Takes a part out of its table (quarantine 2).
fn take_out(core: &Core, relation: &Relation, file: FileId, error: &Error) -> Result<Quarantined> {
    assert!(core.options.repairing, "files are taken out of an engine that was opened for that");
    assert_eq!(core.options.workers, 0, "no job runs while files are taken out (quarantine 1)");
    assert!(relation.table().is_some(), "parts are taken out of tables; indexes are made again");
    let (id, def) = (relation.id(), relation.def());
    let name = core.services.files.name(id, file);
    let path = core.dir.join(&name);
    let payloads = core.manifest.payloads(id);
    let handle = core.env.fs.open(&path, weft_env::OpenMode::Read).ok();
    let out = method(&core.methods, &def.method)?.take_out(def, &payloads, file, handle)?;
    keep(core, &path, &core.dir.join(QUARANTINE).join(&name))?;
    let cut = core.manifest.cut(id);
    let is_listed = core.manifest.files().contains(&(id, file));
    // One that no edit names yet goes by an edit that says nothing, so that the log tells of it.
    let (removed, payload) = if is_listed { (vec![file], out.payload) } else { Default::default() };
    core.manifest.apply(Edit { table: id, cut, added: Vec::new(), removed, payload })?;
    let (table, error) = (def.name.clone(), error.message().to_owned());
    let keys = out.keys.map(|(low, high)| (key_text(def, &low), key_text(def, &high)));
    Ok(Quarantined { name: table, file: Some(name), error, rows: out.rows, keys })
}

/// The values of a key, as statements write them.
fn key_text(def: &TableDef, values: &[Value]) -> String {
    let types = def.schema.key.iter().map(|&ordinal| def.schema.columns[ordinal].data_type);
    let texts = values.iter().zip(types).map(|(value, data_type)| text::print(value.as_ref(), data_type));
    texts.collect::<Vec<_>>().join(", ")
}

/// Moves a file, if it is there, durably.
fn keep(core: &Core, from: &Path, to: &Path) -> Result<()> {
    let fs = &core.env.fs;
    let failed = |error| Error::io(format_args!("moving {} to {}", from.display(), to.display()), &error);
    if !fs.exists(from).map_err(failed)? {
        return Ok(());
    }
    let kept = core.dir.join(QUARANTINE);
    fs.create_dir_all(&kept).map_err(failed)?;
    fs.rename(from, to).map_err(failed)?;
    fs.sync_dir(&kept).and_then(|()| fs.sync_dir(&core.dir)).map_err(failed)
}
