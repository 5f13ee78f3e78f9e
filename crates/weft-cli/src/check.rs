//! `weft check DIR`: every checksum and every invariant, and what is wrong where.

use std::path::Path;

use weft::Database;

use crate::args::Arguments;
use crate::failure::Failure;

/// Opens the database, which replays its log, and reads all its files.
pub(crate) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let Some(dir) = arguments.word() else {
        return Err(Failure::Usage("check needs the directory of a database".to_owned()));
    };
    arguments.finish()?;
    if !Path::new(&dir).join("CURRENT").exists() {
        return Err(Failure::Other(format!("{dir} holds no database: it has no file CURRENT")));
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
