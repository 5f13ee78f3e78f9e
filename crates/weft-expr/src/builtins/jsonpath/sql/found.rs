//! What a path finds.

use weft_format::Result;

use super::super::item::Item;
use super::super::path::Path;
use super::super::walk::{Outcome, Walk};
use crate::builtins::limits::{check_elements, check_pieces};
use crate::style::Local;

/// What the paths of one call are given, and what they may still look at together.
pub(super) struct Asking<'a> {
    pub(super) vars: &'a str,
    pub(super) local: &'a Local,
    /// None before the first path.
    pub(super) work_left: Option<usize>,
}

impl Asking<'_> {
    /// The texts of the items, canonical; errors of the path are told.
    pub(super) fn items(&mut self, document: &str, path: &Path) -> Result<Vec<String>> {
        let mut walk = Walk::new(path, document, Some(self.vars))?;
        walk.session = Some(self.local);
        walk.work_left = self.work_left.unwrap_or(walk.work_left);
        let mut found = Vec::new();
        let outcome = walk.all(path, Some(&mut found));
        self.work_left = Some(walk.work_left);
        outcome?;
        check_elements(found.len())?;
        let texts: Vec<_> = found.iter().map(Item::json).collect();
        check_pieces(texts.iter().map(|text| text.len()))?;
        Ok(texts.into_iter().map(|text| text.into_owned()).collect())
    }

    /// Whether there is one.
    pub(super) fn is_there(&mut self, document: &str, path: &Path) -> Result<bool> {
        let mut walk = Walk::new(path, document, Some(self.vars))?;
        walk.session = Some(self.local);
        walk.work_left = self.work_left.unwrap_or(walk.work_left);
        let outcome = walk.all(path, None);
        self.work_left = Some(walk.work_left);
        Ok(outcome? == Outcome::Found)
    }
}
