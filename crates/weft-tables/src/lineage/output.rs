//! Files that a job has written and that no durable edit names yet.
//!
//! 1. Files of an output that is not published are removed.

use std::sync::Arc;

use super::files::OpenFile;
use super::payload::Entry;

/// See the module.
#[derive(Default)]
pub(super) struct Output {
    files: Vec<(Arc<OpenFile>, Entry)>,
    is_published: bool,
}

impl Output {
    /// Adds a file.
    pub(super) fn push(&mut self, file: Arc<OpenFile>, entry: Entry) {
        self.files.push((file, entry));
    }

    /// What there is.
    pub(super) fn files(&self) -> &[(Arc<OpenFile>, Entry)] {
        &self.files
    }

    /// The manifest names them, or may: nobody knows when it has stopped.
    pub(super) fn published(&mut self) {
        self.is_published = true;
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.is_published {
            self.files.iter().for_each(|(file, _)| file.retire());
        }
    }
}
