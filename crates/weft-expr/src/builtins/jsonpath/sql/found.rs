//! What a path finds.

use weft_format::Result;

use super::super::item::Item;
use super::super::kept::path_of;
use super::super::walk::{Outcome, Walk};
use crate::builtins::limits::{check_elements, check_pieces};
use crate::style::Local;

/// The texts of the items, canonical; errors of the path are told.
pub(super) fn items(document: &str, path: &str, vars: &str, local: &Local) -> Result<Vec<String>> {
    let path = path_of(path)?;
    let mut walk = Walk::new(&path, document, Some(vars))?;
    walk.session = Some(local);
    let mut found = Vec::new();
    walk.all(&path, Some(&mut found))?;
    check_elements(found.len())?;
    let texts: Vec<_> = found.iter().map(Item::json).collect();
    check_pieces(texts.iter().map(|text| text.len()))?;
    Ok(texts.into_iter().map(|text| text.into_owned()).collect())
}

/// Whether there is one.
pub(super) fn is_there(document: &str, path: &str, vars: &str, local: &Local) -> Result<bool> {
    let path = path_of(path)?;
    let mut walk = Walk::new(&path, document, Some(vars))?;
    walk.session = Some(local);
    Ok(walk.all(&path, None)? == Outcome::Found)
}
