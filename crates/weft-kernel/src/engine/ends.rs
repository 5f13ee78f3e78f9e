//! An opening proves that it has everything: the log and the manifest name each other's ends.
//!
//! ```text
//!   log        ... [commit 60 | edits 11] [seal | edits 12]           ends at 9000
//!   manifest   ... [edit 12 | log 8800] [mark | log 9000]             12 edits
//!
//!   the newest segment is gone     the log ends at 4096 < 9000      "... the segment log-0000000000001000 is missing"
//!   the last records are gone      11 edits < 12                      "MANIFEST-3 ends after 11 edits ..."
//! ```
//!
//! 1. The log is durable up to the position that a record of the manifest names, before that record is written.
//! 2. An edit of the manifest is durable before something in the log names it; and it is named before the log is cut
//!    behind it, and before files go that it dropped.
//!
//! So where the log ends before what the manifest names, or the manifest before what the log names, something durable
//! is gone. Nothing is written or removed in the directory before this was tested. What nothing names cannot be told
//! from an unfinished write: docs/format/log.md.

use weft_format::{Error, Lsn, Result};

use crate::fault::{self, Fault};
use crate::log::{LogEnd, segment_name};
use crate::manifest::RecoveredManifest;

/// What the manifest says of the ends.
pub(super) struct Named {
    manifest: String,
    log: Lsn,
    edits: u64,
}

impl From<&RecoveredManifest> for Named {
    fn from(recovered: &RecoveredManifest) -> Named {
        Named { manifest: recovered.name.clone(), log: recovered.log, edits: recovered.edits }
    }
}

impl Named {
    /// Fails when the log or the manifest ends before what the other one names.
    pub(super) fn check(&self, end: &LogEnd) -> Result<()> {
        let Named { manifest, log, edits } = self;
        if end.next_lsn < *log && !fault::active(Fault::SKIP_LOG_END_CHECK) {
            let found = match end.last_place() {
                None => "there is no file log-*".to_owned(),
                Some((name, offset)) => format!(
                    "the log ends at offset {offset} of {name}: the blocks from there on are damaged, or the segment \
                     {} is missing",
                    segment_name(end.next_lsn)
                ),
            };
            let what = format!("{manifest} depends on the log up to position {:016x}, but {found}", log.0);
            return Err(Error::corrupt(what).hint(
                "restore the missing files of the log, or the whole directory from a backup; nothing in it was changed",
            ));
        }
        let named = end.manifest_edits.max(end.told_edit);
        if named > *edits && !fault::active(Fault::SKIP_MANIFEST_END_CHECK) {
            let what = format!(
                "{manifest} ends after {edits} edits, but when the log was written {named} were durable: its last \
                 records are damaged or missing"
            );
            return Err(Error::corrupt(what)
                .hint(format!("restore {manifest}, or the whole directory from a backup; nothing in it was changed")));
        }
        Ok(())
    }
}
