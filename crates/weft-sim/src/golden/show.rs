//! Commands that show the state: layers, locks, the log, the manifest, files, the trace.
//!
//! ```text
//!   layers t     t  active row table     1 parts     0 rows    0 dead      0 bytes
//!   log          log-0000000000000000 8192 bytes
//!                epoch 1 txn 2 commit 2: t1 10 inserts
//!   manifest     MANIFEST-1
//!                edit of t1, cut 2: adds 1 (10 rows); durable
//!   locks        t key 5: exclusive by 3, 4 waits
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use weft_env::{Env, OpenMode};
use weft_format::{Error, Lsn, Result, TableId, Value};
use weft_kernel::lock::{LockMode, LockName};
use weft_kernel::log::{Change, ChangeDecoder, LoggedChange, Record, read_log};
use weft_kernel::manifest::{Edit, LayoutSwitch, ManifestRecord, read_manifest};
use weft_kernel::table::LayerStatus;
use weft_kernel::{Engine, TableRef};
use weft_tables::column::payload::{Layer, Payload};

use super::command::Command;
use super::printed::{Printed, show_error};
use super::process::Process;
use super::trace;
use crate::tables::DIR;

/// Keys whose locks are named.
const NAMED_KEYS: i64 = 1000;
/// Where a segment's blocks begin (docs/format/log.md).
const SEGMENT_HEADER_BYTES: usize = 512;

/// A command that shows something.
pub(super) fn execute(process: &Process, command: &Command) -> Printed {
    let lines = match command.name.as_str() {
        "layers" => return layers(&process.engine()?, command.words.first()),
        "status" => return Ok(status(&*process.engine()?)),
        "locks" => return locks(&process.engine()?),
        "trace" => return Ok(trace_since(process, command)),
        "log" => log(&process.env),
        "manifest" => manifest(&process.env),
        _ => files(&process.env),
    };
    lines.map_err(show_error)
}

/// The tables that are alive, by id.
pub(super) fn tables(engine: &Arc<Engine>) -> std::result::Result<Vec<TableRef>, String> {
    let txn = engine.begin().map_err(show_error)?;
    txn.tables().iter().map(|def| txn.table(&def.name).map_err(show_error)).collect()
}

fn layers(engine: &Arc<Engine>, only: Option<&String>) -> Printed {
    let mut lines = Vec::new();
    for table in tables(engine)?.iter().filter(|table| only.is_none_or(|name| *name == table.def.name)) {
        for layer in table.table.layers() {
            lines.push(show_layer(table, &layer));
        }
    }
    Ok(lines)
}

/// `t  baseline 1            2 parts    70 rows    0 dead   1375 bytes  50..99`
fn show_layer(table: &TableRef, layer: &LayerStatus) -> String {
    let LayerStatus { parts, rows, dead_rows, bytes, .. } = layer;
    let name = layer.bucket.map_or_else(|| layer.layer.to_owned(), |bucket| format!("{} {bucket}", layer.layer));
    let table_name = &table.def.name;
    let line = format!("{table_name}  {name:<17} {parts:>3} parts {rows:>5} rows {dead_rows:>4} dead {bytes:>6} bytes");
    let key = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(|bytes| key_text(table, bytes));
    match (key(&layer.key_min), key(&layer.key_max)) {
        (Some(min), Some(max)) => format!("{line}  {min}..{max}"),
        _ => line,
    }
}

fn key_text(table: &TableRef, bytes: &[u8]) -> String {
    match table.keys.decode(bytes).as_deref() {
        Ok([Value::Int(key)]) => key.to_string(),
        _ => format!("{bytes:02x?}"),
    }
}

fn status(engine: &Engine) -> Vec<String> {
    let status = engine.status();
    let mut lines = vec![
        format!("row memory {} of {} bytes", status.row_memory_bytes, status.row_memory_limit_bytes),
        format!("log {} bytes, {} blocks, {} commits", status.log_bytes, status.log.blocks, status.log.commits),
        format!("published {}, horizon {}, {} snapshots", status.published, status.horizon, status.snapshot_count),
        format!("{} jobs run, {} failed", status.jobs_run, status.jobs_failed),
    ];
    lines.extend(status.poisoned.map(|cause| format!("poisoned: {cause}")));
    lines
}

fn locks(engine: &Arc<Engine>) -> Printed {
    let mut names = BTreeMap::new();
    for table in tables(engine)? {
        let name = &table.def.name;
        names.insert(LockName::table(table.id()), format!("table {name}"));
        names.insert(LockName::table_name(name), format!("the name {name}"));
        for key in 0..NAMED_KEYS {
            let lock = LockName::key(table.id(), &table.keys.encode([Value::Int(key).as_ref()]));
            names.insert(lock, format!("{name} key {key:>3}"));
        }
    }
    let show = |lock: weft_kernel::lock::LockState| {
        let name = names.get(&lock.name).map_or("something else", String::as_str);
        let mode = lock.holders.iter().fold(LockMode::default(), |all, (_, mode)| all.union(*mode));
        let mut holders: Vec<String> = lock.holders.iter().map(|(txn, _)| txn.to_string()).collect();
        holders.sort_unstable();
        let waiters: Vec<String> =
            lock.waiters.iter().map(|(txn, wanted)| format!(", {txn} waits ({wanted})")).collect();
        format!("{name}: {mode} by {}{}", holders.join(" "), waiters.concat())
    };
    let mut lines: Vec<String> = engine.locks().into_iter().map(show).collect();
    lines.sort_unstable();
    Ok(lines)
}

fn trace_since(process: &Process, command: &Command) -> Vec<String> {
    let trace = process.shared.simulation.trace();
    let seen = process.shared.with(|progress| std::mem::replace(&mut progress.trace_seen, trace.len()));
    if command.words.iter().any(|word| word == "skip") { Vec::new() } else { trace::shown(&trace, seen) }
}

fn log(env: &Env) -> Result<Vec<String>> {
    let mut lines: Vec<String> = files(env)?.into_iter().filter(|line| line.starts_with("log-")).collect();
    let mut reader = read_log(env, Path::new(DIR))?;
    while let Some(entry) = reader.next()? {
        let what = match entry.record {
            Record::Chunk { txn, changes } => format!("txn {txn} chunk: {}", changes_of(changes)?),
            Record::Commit { txn, ts, changes, .. } => format!("txn {txn} commit {ts}: {}", changes_of(changes)?),
            Record::Abort { txn } => format!("txn {txn} abort: "),
            Record::Layout { edit, switch } => format!("edit {edit}: {}", show_switch(switch)?),
            Record::Page { table, change } => format!("pages of table {table}: {} bytes", change.len()),
        };
        lines.push(format!("at {:>5} epoch {} {what}", entry.lsn, entry.epoch));
    }
    let end = reader.finish().next_lsn;
    let behind = bytes_behind(env, end)?;
    let torn = if behind > 0 { format!(", then {behind} torn bytes") } else { String::new() };
    lines.push(format!("end at {end}{torn}"));
    Ok(lines)
}

/// Bytes that are not zero behind a place in the last segment: what a torn write left.
fn bytes_behind(env: &Env, end: Lsn) -> Result<usize> {
    let failed = |error| Error::io("looking at the log", &error);
    let names = env.fs.list(Path::new(DIR)).map_err(failed)?;
    let Some(name) = names.iter().filter(|name| name.starts_with("log-") && !name.contains('.')).max() else {
        return Ok(0);
    };
    let start = name.split('-').nth(1).and_then(|start| u64::from_str_radix(start, 16).ok());
    let start = start.expect("a segment is named by its start");
    let file = env.fs.open(&Path::new(DIR).join(name), OpenMode::Read).map_err(failed)?;
    let mut bytes = vec![0; file.len().map_err(failed)? as usize];
    file.read_exact_at(&mut bytes, 0).map_err(failed)?;
    let rest = bytes.get(SEGMENT_HEADER_BYTES + (end.0 - start) as usize..).unwrap_or(&[]);
    Ok(rest.iter().filter(|byte| **byte != 0).count())
}

/// `t1 10 inserts, t1 2 deletes`
fn changes_of(bytes: &[u8]) -> Result<String> {
    let mut runs: Vec<(String, u64, &str)> = Vec::new();
    for change in ChangeDecoder::new(bytes) {
        let (table, what) = match change? {
            LoggedChange::CreateTable { .. } => ("a table".to_owned(), "create"),
            LoggedChange::DropTable { table } => (format!("t{table}"), "drop"),
            LoggedChange::AlterTable { .. } => ("a table".to_owned(), "alter"),
            LoggedChange::PutObject { .. } => ("an object".to_owned(), "put"),
            LoggedChange::DropObject { id } => (format!("o{id}"), "drop"),
            LoggedChange::SetSequence { id, .. } => (format!("s{id}"), "set"),
            LoggedChange::Table { table, change, .. } => (
                format!("t{table}"),
                match change {
                    Change::Insert { .. } => "insert",
                    Change::Update { .. } => "update",
                    Change::Delete { .. } => "delete",
                    Change::Put { .. } => "put",
                    Change::Clear { .. } => "clear",
                    Change::Attach(..) => "attach",
                },
            ),
        };
        match runs.last_mut() {
            Some((last, count, same)) if *last == table && *same == what => *count += 1,
            _ => runs.push((table, 1, what)),
        }
    }
    let runs: Vec<String> = runs.iter().map(|(table, count, what)| format!("{table} {count} {what}")).collect();
    Ok(runs.join(", "))
}

fn manifest(env: &Env) -> Result<Vec<String>> {
    let (name, records) = read_manifest(env, Path::new(DIR))?;
    let mut lines = vec![name];
    for record in records {
        match record {
            ManifestRecord::Edit(edit) if edit.table == TableId(0) => lines.push(format!("catalog, cut {}", edit.cut)),
            ManifestRecord::Edit(edit) => lines.push(show_edit(&edit)?),
            ManifestRecord::Forget(table) => lines.push(format!("forget t{table}")),
            ManifestRecord::Database(_) => {}
            ManifestRecord::Mark => lines.last_mut().expect("the name is there").push_str("; durable"),
        }
    }
    Ok(lines)
}

fn show_switch(bytes: &[u8]) -> Result<String> {
    match LayoutSwitch::decode(bytes) {
        Some(LayoutSwitch::Edit(edit)) if edit.table == TableId(0) => Ok(format!("catalog, cut {}", edit.cut)),
        Some(LayoutSwitch::Edit(edit)) => show_edit(&edit),
        Some(LayoutSwitch::Forget(table)) => Ok(format!("forget t{table}")),
        Some(LayoutSwitch::Anew) => Ok("read the manifest".to_owned()),
        None => Err(Error::corrupt("a switch of layout in the log cannot be read")),
    }
}

fn show_edit(edit: &Edit) -> Result<String> {
    let mut text = format!("t{}, cut {}", edit.table, edit.cut);
    let payload = Payload::decode(&edit.payload)?;
    for part in &payload.added {
        let layer = if part.layer == Layer::Incremental { "" } else { part.layer.name() };
        let space = if layer.is_empty() { "" } else { " " };
        text.push_str(&format!(", +{}{space}{layer} ({} rows)", part.file, part.row_count));
    }
    for (file, layer) in &payload.moved {
        text.push_str(&format!(", {file} to {}", layer.name()));
    }
    if let Some(borders) = &payload.borders {
        text.push_str(&format!(", {} borders", borders.len()));
    }
    for file in &payload.removed {
        text.push_str(&format!(", -{file}"));
    }
    for (file, positions) in &payload.marks {
        text.push_str(&format!(", marks of {file}: {positions:?}"));
    }
    Ok(text)
}

fn files(env: &Env) -> Result<Vec<String>> {
    let failed = |error| Error::io("looking at the files", &error);
    let mut names = env.fs.list(Path::new(DIR)).map_err(failed)?;
    names.sort_unstable();
    let mut lines = Vec::new();
    for name in names {
        let file = env.fs.open(&Path::new(DIR).join(&name), OpenMode::Read).map_err(failed)?;
        lines.push(format!("{name} {} bytes", file.len().map_err(failed)?));
    }
    Ok(lines)
}
