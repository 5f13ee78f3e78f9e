//! What an engine gives to who takes its log and its files elsewhere while it runs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use weft_env::ObjectStore;
use weft_format::{Code, Error, FileId, Lsn, Result, TableId};

use super::backup::{self, BackupPlace, BackupSummary, GoesOn, StoredFile};
use super::tested::test_data_file;
use crate::CancelToken;
use crate::log::{LogSpan, LogTap};
use crate::manifest::files_named;
use crate::txn::{Acknowledge, Engine};

impl Engine {
    /// Begins to read the log at a position, the end of a block, beside who writes it. It must be kept meanwhile
    /// ([`Engine::keep_log_from`]). [`weft_format::Code::UndefinedFile`]: it is not there from there on.
    pub fn tap_log(&self, from: Lsn) -> Result<LogTap> {
        LogTap::begin(&self.core.env, &self.core.dir, self.core.log.durable_lsn(), from)
    }

    /// The same as [`Engine::backup`]; also where what comes after it goes on.
    pub fn backup_to_go_on(
        &self,
        dest: impl Into<BackupPlace>,
        cancel: Option<&CancelToken>,
    ) -> Result<(BackupSummary, GoesOn)> {
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

    /// Puts a data file that an edit of the manifest has named, in the same way; none: it has pages, which who follows
    /// does not open. [`weft_format::Code::UndefinedFile`]: no edit names it any more.
    pub fn ship_named_file(
        &self,
        (table, file): (TableId, FileId),
        to: (&Arc<dyn ObjectStore>, &str),
        go_on: &(dyn Fn() -> Result<()> + Sync),
    ) -> Result<Option<StoredFile>> {
        let has_pages = self.core.catalog.table_by_id(table).is_some_and(|table| table.table.in_place().is_some());
        if has_pages {
            return Ok(None);
        }
        self.ship_file((table, file), to, go_on).map(Some).map_err(|error| {
            let is_of_its_table =
                error.code() != Code::DataCorrupted || self.core.manifest.files().contains(&(table, file));
            // Of what its table has let go nobody can say what it should be.
            if is_of_its_table { error } else { Error::new(Code::UndefinedFile, error.message()) }
        })
    }

    /// From here on no commit that is to be durable is acknowledged before this returns; once. It is published by then,
    /// so others may read it, and after an error it stays.
    pub fn acknowledge_by(&self, acknowledge: Acknowledge) {
        assert!(self.core.acknowledge.set(acknowledge).is_ok(), "commits wait for one who acknowledges them");
    }

    /// Nothing is committed any more, for this reason: who wrote last may be another by now.
    pub fn stop_writes(&self, cause: &str) {
        self.core.poison.set(cause);
    }
}

/// What a span of the log tells of edits of the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanFiles {
    /// The data files that they name, and by which edit.
    pub named: BTreeMap<(TableId, FileId), u64>,
    /// Of edits up to this one nothing was told: who follows has to read the manifest.
    pub anew: Option<u64>,
}

impl SpanFiles {
    /// Of a span.
    pub fn of(span: &LogSpan) -> Result<SpanFiles> {
        assert!(span.switches.is_sorted_by(|a, b| a.0 < b.0), "edits are told in their order (tap 3)");
        let mut files = SpanFiles::default();
        for (number, switch) in &span.switches {
            match files_named(*number, switch)? {
                Some(named) => files.named.extend(named.into_iter().map(|file| (file, *number))),
                None => files.anew = Some(*number),
            }
        }
        Ok(files)
    }
}
