//! `weft check DIR`: every checksum and every invariant, and what is wrong where. With `--quarantine` what cannot
//! be read is taken out, and it is said which rows are lost.

use std::path::Path;

use weft::{Database, Quarantined};
use weft_bench::subcommand::Arguments;

use crate::failure::Failure;

/// Opens the database, which replays its log, and reads all its files.
pub(crate) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let takes_out = arguments.flag("--quarantine");
    let Some(dir) = arguments.word() else {
        return Err(Failure::Usage("check needs the directory of a database".to_owned()));
    };
    arguments.finish()?;
    if !Path::new(&dir).join("CURRENT").exists() {
        return Err(Failure::Other(format!("{dir} holds no database: it has no file CURRENT")));
    }
    if takes_out {
        return quarantine(&dir);
    }
    let database = Database::open(Path::new(&dir))?;
    let findings = database.check()?;
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        let tables = database.tables()?;
        println!("{dir}: {} tables, no damage found", tables.len());
        database.close()?;
        return Ok(());
    }
    eprintln!("weft: {} findings in {dir}", findings.len());
    Err(Failure::Reported)
}

/// Takes out what cannot be read, and says what is lost.
fn quarantine(dir: &str) -> Result<(), Failure> {
    let report = weft::quarantine(dir)?;
    report.taken.iter().for_each(|taken| println!("{}", line(dir, taken)));
    report.findings.iter().for_each(|finding| println!("{finding}"));
    if report.findings.is_empty() {
        println!("{dir}: {} files or indexes were damaged, no damage is left", report.taken.len());
        return Ok(());
    }
    eprintln!("weft: {} findings are left in {dir}; restore a backup", report.findings.len());
    Err(Failure::Reported)
}

/// What became of a file or an index.
fn line(dir: &str, taken: &Quarantined) -> String {
    let Quarantined { name, file, error, rows, keys } = taken;
    let Some(file) = file else {
        return format!("index {name:?} was made again, no row is lost ({error})");
    };
    let range = match keys {
        Some((low, high)) => format!("with keys from ({low}) to ({high})"),
        None => "with unknown keys".to_owned(),
    };
    format!("table {name:?} lost {rows} rows {range}: {error}; the file is kept as {dir}/quarantine/{file}")
}
