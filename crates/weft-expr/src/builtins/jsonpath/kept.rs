//! Paths that were parsed of late.
//!
//! 1. Threads share no paths: what is kept belongs to one.

use std::cell::RefCell;
use std::rc::Rc;

use weft_format::Result;

use super::parse::parse;
use super::path::Path;

/// How many paths a thread keeps, and the longest of them, bytes.
const KEPT_MAX: usize = 16;
const KEPT_BYTES_MAX: usize = 1 << 10;

type Kept = (String, Rc<Path>);

thread_local! {
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// The path of a text, a kept one if it is there.
pub(super) fn path_of(text: &str) -> Result<Rc<Path>> {
    let kept = KEPT.with_borrow_mut(|kept| {
        let at = kept.iter().position(|(known, _)| known == text)?;
        kept[..=at].rotate_right(1);
        Some(Rc::clone(&kept[0].1))
    });
    if let Some(kept) = kept {
        return Ok(kept);
    }
    let made = Rc::new(parse(text)?);
    if text.len() <= KEPT_BYTES_MAX {
        KEPT.with_borrow_mut(|kept| {
            kept.truncate(KEPT_MAX - 1);
            kept.insert(0, (text.to_owned(), Rc::clone(&made)));
        });
    }
    Ok(made)
}
