//! What an engine gives to who takes its log and its files elsewhere while it runs.

use std::path::PathBuf;
use std::sync::Arc;

use weft_env::ObjectStore;
use weft_format::{FileId, Lsn, Result, TableId};

use super::backup::{self, BackupPlace, BackupSummary, StoredFile};
use super::tested::test_data_file;
use crate::CancelToken;
use crate::log::LogTap;
use crate::txn::Engine;

impl Engine {
    /// Begins to read the log at a position, the end of a block, beside who writes it. It must be kept meanwhile
    /// ([`Engine::keep_log_from`]). [`weft_format::Code::UndefinedFile`]: it is not there from there on.
    pub fn tap_log(&self, from: Lsn) -> Result<LogTap> {
        LogTap::begin(&self.core.env, &self.core.dir, self.core.log.durable_lsn(), from)
    }

    /// The same as [`Engine::backup`]; also up to where the backup has the log: what comes after it goes on there.
    pub fn backup_to_go_on(
        &self,
        dest: impl Into<BackupPlace>,
        cancel: Option<&CancelToken>,
    ) -> Result<(BackupSummary, Lsn)> {
        backup::backup(&self.core, dest.into(), cancel)
    }

    /// Puts a data file that a commit has attached into a store, in pieces under `folder`, and tests it. `go_on` is
    /// asked between pieces. [`weft_format::Code::UndefinedFile`]: a merge has taken its place.
    pub fn ship_file(
        &self,
        (table, file): (TableId, FileId),
        (store, folder): (&Arc<dyn ObjectStore>, &str),
        go_on: &(dyn Fn() -> Result<()> + Sync),
    ) -> Result<StoredFile> {
        let path: PathBuf = self.core.services.files.path(table, file);
        let shipped = backup::put_data_file(&self.core.env, &path, (store, folder), go_on)?;
        if let Some(owner) = self.core.catalog.by_id(table) {
            let payloads = self.core.manifest.payloads(table);
            test_data_file((&self.core.env, &self.core.methods), &owner, &payloads, &path, file)?;
        }
        Ok(shipped)
    }

    /// Nothing is committed any more, for this reason: who wrote last may be another by now.
    pub fn stop_writes(&self, cause: &str) {
        self.core.poison.set(cause);
    }
}
