//! `SET column['a'][3] = value`: a value with a part assigned, what leads to the part made where it is missing.
//!
//! ```text
//!   {"a": 1}     ['b']['c'] = 2    {"a": 1, "b": {"c": 2}}
//!   [1]          [3] = 2           [1, null, null, 2]
//!   {"a": 1}     ['b'][1] = 2      {"a": 1, "b": [null, 2]}
//!   [1]          [-2] = 2          an error: nothing is put in front
//!   {"a": 1}     ['a']['b'] = 2    an error: 1 has no parts
//! ```

use weft_format::{Code, Error, Result};

use super::build::{array_text, object_text};
use super::scan::{items, members, validate};

/// The most elements that an array grows by.
const GAP_MAX: i64 = 8 << 20;
/// A gap in an array.
const NULL: &str = "null";

/// The canonical text with what is at the path replaced; a step of the path is a key or the place of an element.
pub fn assigned(text: &str, path: &[String], new: &str) -> Result<String> {
    let made = within(text, path, 0, new)?;
    // It may be nested too deeply now.
    validate(&made)?;
    Ok(made)
}

fn within(text: &str, path: &[String], level: usize, new: &str) -> Result<String> {
    if level == path.len() {
        return Ok(new.to_owned());
    }
    let step = &path[level];
    if let Some(known) = members(text)? {
        let old = known.iter().find(|(key, _)| key == step).map(|(_, value)| *value);
        let value = match old {
            Some(old) => within(old, path, level + 1, new)?,
            None => made(path, level + 1, new)?,
        };
        let mut all: Vec<(String, String)> = known.into_iter().map(|(key, value)| (key, value.to_owned())).collect();
        all.push((step.clone(), value));
        return Ok(object_text(all));
    }
    let Some(known) = items(text)? else {
        return Err(Error::new(Code::InvalidParameterValue, "cannot replace existing key")
            .detail("The path assumes key is a composite object, but it is a scalar value."));
    };
    let count = known.len() as i64;
    let Some(place) = place(step) else {
        let message = format!("path element at position {} is not an integer: \"{step}\"", level + 1);
        return Err(Error::new(Code::InvalidText, message));
    };
    if place < 0 && -place > count {
        let message = format!("path element at position {} is out of range: {place}", level + 1);
        return Err(Error::new(Code::InvalidParameterValue, message));
    }
    let place = if place < 0 { place + count } else { place };
    let mut all: Vec<String> = known.into_iter().map(str::to_owned).collect();
    match usize::try_from(place).ok().filter(|place| *place < all.len()) {
        Some(place) => all[place] = within(&all[place], path, level + 1, new)?,
        None => {
            fill(&mut all, place - count)?;
            all.push(made(path, level + 1, new)?);
        }
    }
    Ok(array_text(all.iter().map(String::as_str)))
}

/// What the rest of a path leads through, with the new value at its end: an array where the step is a number.
fn made(path: &[String], level: usize, new: &str) -> Result<String> {
    let Some(step) = path.get(level) else { return Ok(new.to_owned()) };
    let inner = made(path, level + 1, new)?;
    let Some(place) = place(step) else { return Ok(object_text(vec![(step.clone(), inner)])) };
    let mut all = Vec::new();
    fill(&mut all, place)?;
    all.push(inner);
    Ok(array_text(all.iter().map(String::as_str)))
}

fn fill(all: &mut Vec<String>, gap: i64) -> Result<()> {
    if gap > GAP_MAX {
        let message = format!("total size of jsonb array elements exceeds the maximum of {GAP_MAX} elements");
        return Err(Error::new(Code::ProgramLimit, message));
    }
    all.extend(std::iter::repeat_n(NULL.to_owned(), usize::try_from(gap).unwrap_or_default()));
    Ok(())
}

/// The place of an element, as C reads a number.
fn place(step: &str) -> Option<i64> {
    let digits = step.trim_start_matches(|c: char| c.is_ascii_whitespace());
    digits.parse::<i32>().ok().map(i64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_assigned_and_made() {
        let cases = [
            (r#"{"a": 1}"#, "b,c", r#"{"a": 1, "b": {"c": 9}}"#),
            (r#"{"a": {"b": [1, 2]}}"#, "a,b,-1", r#"{"a": {"b": [1, 9]}}"#),
            ("[1]", "3", "[1, null, null, 9]"),
            ("[]", "2", "[null, null, 9]"),
            ("[1]", "2,a,1", r#"[1, null, {"a": [null, 9]}]"#),
            ("{}", "a,-5", r#"{"a": [9]}"#),
        ];
        for (text, path, wanted) in cases {
            let path: Vec<String> = path.split(',').map(str::to_owned).collect();
            assert_eq!(assigned(text, &path, "9").unwrap(), wanted, "{text} {path:?}");
        }
        for (text, path) in [("1", "a"), (r#"{"a": 1}"#, "a,b"), ("[1]", "-2"), ("[1]", "x"), ("[1]", "99999999")] {
            let path: Vec<String> = path.split(',').map(str::to_owned).collect();
            assert!(assigned(text, &path, "9").is_err(), "{text} {path:?}");
        }
    }
}
