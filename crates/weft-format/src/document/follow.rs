//! Steps through the texts of documents.

use crate::document::path::FieldStep;
use crate::document::text::{Part, Walker, unescaped};

/// The value at the end of some steps through a text.
pub(crate) fn follow<'a>(text: &'a str, steps: &[FieldStep]) -> Option<&'a str> {
    let Some((step, after)) = steps.split_first() else { return Some(text) };
    let mut walker = Walker::new(text);
    let found = match (walker.part()?, step) {
        (Part::Object, FieldStep::Key(key) | FieldStep::Either(key)) => {
            let mut is_first = true;
            loop {
                let known = walker.key(std::mem::take(&mut is_first))??;
                let value = walker.skip()?;
                if unescaped(known)? == **key {
                    break value;
                }
            }
        }
        (Part::Array, FieldStep::Index(index)) => element_of(walker, *index)?,
        (Part::Array, FieldStep::Either(index)) => element_of(walker, index.trim().parse().ok()?)?,
        // A scalar is the only element of itself, for `->` and `->>`.
        (Part::Object, _) | (Part::Array, _) => return None,
        (_, FieldStep::Index(0 | -1)) => text,
        _ => return None,
    };
    follow(found, after)
}

fn element_of(mut walker: Walker<'_>, index: i64) -> Option<&str> {
    let mut elements = Vec::new();
    let mut is_first = true;
    while walker.element(std::mem::take(&mut is_first))? {
        let element = walker.skip()?;
        if i64::try_from(elements.len()).ok() == Some(index) {
            return Some(element);
        }
        elements.push(element);
    }
    let from_end = usize::try_from(index.checked_neg()?).ok()?;
    elements.len().checked_sub(from_end).and_then(|at| elements.get(at).copied())
}

/// What is at the end of steps of which one goes to all elements of an array.
pub(crate) enum Elements {
    /// There is nothing whose elements could be.
    Missing,
    /// There is something, but no array.
    Other { is_object: bool },
    /// They were given out.
    Given,
}

/// Calls `each` with the value of every element, None where it is not there; `others` counts what is no array below the
/// first one.
pub(crate) fn each_element<'a>(
    text: &'a str,
    steps: &[FieldStep],
    others: &mut usize,
    each: &mut dyn FnMut(Option<&'a str>),
) -> Elements {
    let at = steps.iter().position(FieldStep::is_elements).unwrap_or(steps.len());
    let (before, after) = (&steps[..at], steps.get(at + 1..).unwrap_or(&[]));
    let Some(array) = follow(text, before) else { return Elements::Missing };
    let mut walker = Walker::new(array);
    let part = walker.part();
    if part != Some(Part::Array) {
        return Elements::Other { is_object: part == Some(Part::Object) };
    }
    let is_last = !after.iter().any(FieldStep::is_elements);
    let mut is_first = true;
    while walker.element(std::mem::take(&mut is_first)) == Some(true) {
        let Some(element) = walker.skip() else { break };
        if is_last {
            each(follow(element, after));
        } else if matches!(each_element(element, after, others, each), Elements::Other { .. }) {
            *others += 1;
        }
    }
    Elements::Given
}
