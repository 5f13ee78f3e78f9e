//! `weft backup DIR DEST` and `weft restore DEST DIR`.
//!
//! ```text
//!   weft backup shop s3://bucket/shop       into a store of objects; file:///dir: a directory that behaves like one
//!   weft backup shop /backups/shop          of a directory that nobody has open, or through the server that has
//!   weft restore /backups/shop shop2        the newest; --backup 3: that one
//!   weft restore s3://bucket/shop shop2     an archive (weft serve --archive): all that was shipped
//!   ... --until 2026-11-29T10:00:00Z        or as it was at that moment
//!   weft restore /backups/shop --list       which there are;  --check: every checksum of the newest, or of --backup N
//! ```

use std::path::{Path, PathBuf};

use weft::{ArchiveRestored, Backup, BackupSummary, Code, DataType, Database, Options, Value};
use weft_bench::subcommand::Arguments;
use weft_server::client::Client;
use weft_server::connect_as_owner;

use crate::failure::Failure;

/// Runs `weft backup DIR DEST`.
pub(crate) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let usage = || Failure::Usage("backup needs the directory of a database and that of its backups".to_owned());
    let dir = absolute(&arguments.word().ok_or_else(usage)?);
    let dest = place(&arguments.word().ok_or_else(usage)?);
    arguments.finish()?;
    let summary = match open_or_connect(&dir)? {
        Opened::Here(database) => database.backup(&dest)?,
        Opened::Served(mut client) => through_server(&mut client, &dest)?,
    };
    let BackupSummary { number, timestamp, file_count, copied_bytes, reused_bytes } = summary;
    println!(
        "backup {number} in {}: {file_count} files, {copied_bytes} bytes copied, {reused_bytes} bytes shared with \
         earlier backups, all commits up to {timestamp}",
        dest.display()
    );
    Ok(())
}

/// Runs `weft restore DEST DIR`.
pub(crate) fn restore(mut arguments: Arguments) -> Result<(), Failure> {
    let number = match arguments.number("--backup", 0)? {
        0 => None,
        number => Some(number),
    };
    let (list, check) = (arguments.flag("--list"), arguments.flag("--check"));
    let until = arguments.option("--until")?.map(|text| moment(&text)).transpose()?;
    if until.is_some() && (number.is_some() || list || check) {
        let what = "--until is of an archive, and goes with none of --backup, --list and --check";
        return Err(Failure::Usage(what.to_owned()));
    }
    let usage = |what: &str| Failure::Usage(format!("restore needs {what}"));
    let dest = place(&arguments.word().ok_or_else(|| usage("the place of the backups"))?);
    if list || check {
        arguments.finish()?;
        if list {
            weft::backups(&dest)?.iter().for_each(print_backup);
            if weft::is_archive(&dest)? {
                print_archive(&dest)?;
            }
        } else {
            let backup = weft::check_backup(&dest, number)?;
            println!("backup {}: {} files, no damage found", backup.number, backup.file_count());
        }
        return Ok(());
    }
    let dir = absolute(&arguments.word().ok_or_else(|| usage("a new directory for the database"))?);
    arguments.finish()?;
    let is_archive = number.is_none() && weft::is_archive(&dest)?;
    if is_archive || until.is_some() {
        return restore_archive(&dest, &dir, until);
    }
    let backup = weft::restore(&dest, &dir, number)?;
    let (files, bytes) = (backup.file_count(), backup.bytes());
    println!(
        "{}: backup {}, {files} files, {bytes} bytes, all commits up to {}",
        dir.display(),
        backup.number,
        backup.timestamp
    );
    Ok(())
}

/// A moment as people write it, microseconds since 1970; without an offset it is UTC.
fn moment(text: &str) -> Result<i64, Failure> {
    let wrong = || Failure::Usage(format!("--until: {text:?} is no moment; write 2026-11-29T10:00:00Z"));
    match weft::read_value(text, DataType::TimestampTz) {
        Ok(Value::Int(micros)) => Ok(micros),
        _ => Err(wrong()),
    }
}

fn restore_archive(dest: &Path, dir: &Path, until: Option<i64>) -> Result<(), Failure> {
    let restored = weft::restore_archive(dest, dir, until)?;
    let ArchiveRestored { backup, pieces, timestamp, wall, has_gap } = restored;
    let made = wall.map_or_else(String::new, |wall| format!(", the last one made at {}", written(wall)));
    println!("{}: backup {backup} and {pieces} pieces of the log, all commits up to {timestamp}{made}", dir.display());
    if has_gap {
        println!("later pieces of the log are there, behind a gap: no backup that they go on from was made yet");
    }
    Ok(())
}

fn print_archive(dest: &Path) -> Result<(), Failure> {
    let Some(summary) = weft::survey_archive(dest)? else {
        println!("archive\tnothing was shipped yet");
        return Ok(());
    };
    let oldest = summary.bases.last().map_or_else(|| "none yet".to_owned(), |(_, wall)| written(*wall));
    let bases: Vec<String> = summary.bases.iter().map(|(backup, _)| backup.to_string()).collect();
    println!("archive\tcommits up to {}\tbackups {}\tany moment since {oldest}", summary.commit, bases.join(", "));
    Ok(())
}

fn written(micros: i64) -> String {
    weft::value_text(&Value::Int(micros), DataType::TimestampTz).unwrap_or_default()
}

fn print_backup(backup: &Backup) {
    let parent = backup.parent.map_or_else(|| "-".to_owned(), |parent| parent.to_string());
    let seconds = backup.begun_micros / 1_000_000;
    let (number, files, bytes) = (backup.number, backup.file_count(), backup.bytes());
    println!(
        "{number}\tafter {parent}\tbegun {seconds}\t{files} files\t{bytes} bytes\tcommits up to {}",
        backup.timestamp
    );
}

/// A database, wherever it is open.
pub(crate) enum Opened {
    /// In this process.
    Here(Database),
    /// In a server, of which this is the owner's connection.
    Served(Box<Client>),
}

/// Opens the database of a directory, or connects to the server that has it open.
pub(crate) fn open_or_connect(dir: &Path) -> Result<Opened, Failure> {
    if !dir.join("CURRENT").exists() {
        return Err(Failure::Other(format!("{} holds no database: it has no file CURRENT", dir.display())));
    }
    // Without jobs: nothing is changed but what recovery does.
    match Database::open_with(dir, Options { workers: 0, ..Options::default() }) {
        Ok(database) => Ok(Opened::Here(database)),
        Err(error) if error.code() == Code::CannotConnectNow => match connect_as_owner(dir)? {
            Some(client) => Ok(Opened::Served(Box::new(client))),
            None => Err(error.into()),
        },
        Err(error) => Err(error.into()),
    }
}

/// The directory in a server's words: it makes the backup itself.
fn through_server(client: &mut Client, dest: &Path) -> Result<BackupSummary, Failure> {
    let text = dest.to_str().ok_or_else(|| Failure::Other(format!("{} is not UTF-8", dest.display())))?;
    let results = client.query(&format!("BACKUP TO '{}'", text.replace('\'', "''")))?;
    let row = results.first().and_then(|result| result.rows.first());
    let numbers: Vec<u64> = row.into_iter().flatten().filter_map(|value| value.as_deref()?.parse().ok()).collect();
    let [number, timestamp, file_count, copied_bytes, reused_bytes] = numbers[..] else {
        return Err(Failure::Other("the server did not say what it had backed up".to_owned()));
    };
    Ok(BackupSummary { number, timestamp: weft::Timestamp(timestamp), file_count, copied_bytes, reused_bytes })
}

/// Where backups are: a URL as it is, a path made absolute.
fn place(word: &str) -> PathBuf {
    if weft::is_url(word) { word.into() } else { absolute(word) }
}

fn absolute(word: &str) -> PathBuf {
    std::path::absolute(word).unwrap_or_else(|_| word.into())
}
