//! Where PostgreSQL's bytes of a jsonb have an object: `.keyvalue()` gives it as the object's id.
//!
//! ```text
//!   [{"a": 1}, {"b": 2}]     0 header, 4 and 8 the lengths of two elements, 12 the first object: header, two lengths,
//!                            "a", and at the next multiple of four the number
//! ```
//!
//! Source: PostgreSQL's `jsonb.h` and the short and long forms of `numeric.c`.

use weft_format::Result;

use crate::json;

const HEADER_BYTES: u64 = 4;
const ENTRY_BYTES: u64 = 4;

/// Where the array or object that begins at a place of a canonical text begins in PostgreSQL's bytes.
pub(super) fn offset(text: &str, start: usize) -> Result<u64> {
    let (mut container, mut at) = (text, 0);
    let place = |slice: &str| slice.as_ptr() as usize - text.as_ptr() as usize;
    while place(container) < start {
        let mut next = first_value(container, at)?;
        let mut found = None;
        for value in values(container)? {
            let begin = place(value);
            if begin <= start && start < begin + value.len() {
                found = Some((value, aligned(next)));
                break;
            }
            next = behind(value, next)?;
        }
        match found {
            Some(found) => (container, at) = found,
            None => break,
        }
    }
    Ok(at)
}

fn aligned(at: u64) -> u64 {
    at.next_multiple_of(4)
}

/// The elements, or the values of the members.
fn values(container: &str) -> Result<Vec<&str>> {
    if let Some(items) = json::items(container)? {
        return Ok(items);
    }
    Ok(json::members(container)?.unwrap_or_default().into_iter().map(|(_, value)| value).collect())
}

/// Where the first value of a container is that begins at `at`: behind the header, the lengths and the keys.
fn first_value(container: &str, at: u64) -> Result<u64> {
    Ok(match json::members(container)? {
        Some(members) => {
            let keys: usize = members.iter().map(|(key, _)| key.len()).sum();
            at + HEADER_BYTES + 2 * ENTRY_BYTES * members.len() as u64 + keys as u64
        }
        None => at + HEADER_BYTES + ENTRY_BYTES * json::items(container)?.map_or(0, |items| items.len() as u64),
    })
}

/// Where a value ends for which there is room from `at` on.
fn behind(value: &str, at: u64) -> Result<u64> {
    Ok(match value.as_bytes()[0] {
        b'"' => at + json::unquoted(value)?.len() as u64,
        b't' | b'f' | b'n' => at,
        b'{' | b'[' => {
            let at = aligned(at);
            values(value)?.into_iter().try_fold(first_value(value, at)?, |at, value| behind(value, at))?
        }
        _ => aligned(at) + number_bytes(value),
    })
}

/// The bytes of a number: its length, its header, and its digits in groups of four from the point on.
fn number_bytes(number: &str) -> u64 {
    let unsigned = number.strip_prefix('-').unwrap_or(number);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let significant = whole.trim_start_matches('0');
    let is_zero = |group: &[u8]| group.iter().all(|digit| *digit == b'0');
    let whole_groups: Vec<&[u8]> = significant.as_bytes().rchunks(4).rev().collect();
    let groups: Vec<&[u8]> = whole_groups.iter().copied().chain(fraction.as_bytes().chunks(4)).collect();
    let (first, last) =
        (groups.iter().position(|group| !is_zero(group)), groups.iter().rposition(|group| !is_zero(group)));
    let (Some(first), Some(last)) = (first, last) else { return 6 };
    let weight = whole_groups.len() as i64 - 1 - first as i64;
    let is_short = fraction.len() <= 63 && (-64..=63).contains(&weight);
    (if is_short { 6 } else { 8 }) + 2 * (last - first + 1) as u64
}
