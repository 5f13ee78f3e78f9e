//! BACKUP TO: a copy of the whole database into a directory of the machine that it is on, or a store of objects.
//!
//! ```text
//!   BACKUP TO 's3://bucket/shop'
//!   BACKUP TO '/backups/shop'   →   backup 2, timestamp 4711, files 31, copied_bytes 5242880, reused_bytes 73400320
//! ```

use std::path::Path;
use std::sync::Arc;

use weft_format::{Code, DataType, Error, Result, Value};
use weft_kernel::BackupPlace;

use super::Session;
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};

/// What the statement returns.
pub(super) fn columns() -> Arc<[OutputColumn]> {
    ["backup", "timestamp", "files", "copied_bytes", "reused_bytes"]
        .map(|name| OutputColumn::new(name, DataType::BigInt))
        .into()
}

/// Runs the statement.
pub(super) fn run(session: &mut Session, dest: &str) -> Result<Outcome> {
    if session.in_transaction() {
        let message = "BACKUP cannot run inside a transaction block";
        return Err(session.fail(Error::new(Code::ActiveTransaction, message)));
    }
    check_right(session)?;
    let place = weft_store::is_url(dest)
        .then(|| weft_store::open_to_put(session.db.kernel().env(), dest, weft_store::PATIENCE));
    let place = place.transpose().map_err(|error| session.fail(error))?.map(BackupPlace::Objects);
    if place.is_none() && !Path::new(dest).is_absolute() {
        let message = format!("relative path not allowed for BACKUP: {dest:?}");
        let error = Error::new(Code::InvalidParameterValue, message);
        return Err(session.fail(
            error.hint("write the whole path, as the database's machine knows it, or a URL: s3://BUCKET/PREFIX"),
        ));
    }
    let cancel = session.cancel_token().kernel();
    let summary = session.db.kernel().backup(place.unwrap_or_else(|| Path::new(dest).into()), Some(&cancel));
    let summary = summary.map_err(|error| session.fail(error))?;
    let number = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    let values = vec![
        number(summary.number),
        number(summary.timestamp.0),
        number(summary.file_count),
        number(summary.copied_bytes),
        number(summary.reused_bytes),
    ];
    let columns = columns();
    Ok(Outcome { tag: Tag::Select(1), rows: Rows::from_values(columns.len(), values), columns })
}

/// Who may have the whole database, passwords included, written to files: superusers.
fn check_right(session: &mut Session) -> Result<()> {
    if session.in_statement(|work| Ok(work.permit.is_superuser()))? {
        return Ok(());
    }
    let error = Error::new(Code::InsufficientPrivilege, "must be superuser to do BACKUP");
    Err(session.fail(error))
}
