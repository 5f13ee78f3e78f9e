//! `weft backup DIR DEST` and `weft restore DEST DIR`.
//!
//! ```text
//!   weft backup shop s3://bucket/shop       into a store of objects; file:///dir: a directory that behaves like one
//!   weft backup shop /backups/shop          of a directory that nobody has open, or through the server that has
//!   weft restore /backups/shop shop2        the newest; --backup 3: that one
//!   weft restore /backups/shop --list       which there are;  --check: every checksum of the newest, or of --backup N
//! ```

use std::path::{Path, PathBuf};

use weft::{Backup, BackupSummary, Code, Database, Options};
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
    let usage = |what: &str| Failure::Usage(format!("restore needs {what}"));
    let dest = place(&arguments.word().ok_or_else(|| usage("the place of the backups"))?);
    if list || check {
        arguments.finish()?;
        if list {
            weft::backups(&dest)?.iter().for_each(print_backup);
        } else {
            let backup = weft::check_backup(&dest, number)?;
            println!("backup {}: {} files, no damage found", backup.number, backup.file_count());
        }
        return Ok(());
    }
    let dir = absolute(&arguments.word().ok_or_else(|| usage("a new directory for the database"))?);
    arguments.finish()?;
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
