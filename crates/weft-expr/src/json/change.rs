//! New canonical texts from old ones.

use weft_format::{Code, Error, Result};

use super::build::{array_text, object_text};
use super::query::{get_key, kind};
use super::scan::{items, members, unquoted};

type Members = Vec<(String, String)>;

fn owned_members(text: &str) -> Result<Members> {
    let found = members(text)?.unwrap_or_default();
    Ok(found.into_iter().map(|(key, value)| (key, value.to_owned())).collect())
}

/// `a || b`: objects are merged, anything else becomes arrays one after the other.
pub fn concat(a: &str, b: &str) -> Result<String> {
    if kind(a) == "object" && kind(b) == "object" {
        let mut all = owned_members(a)?;
        all.extend(owned_members(b)?);
        return Ok(object_text(all));
    }
    let elements = |text| -> Result<Vec<&str>> { Ok(items(text)?.unwrap_or_else(|| vec![text])) };
    let mut all = elements(a)?;
    all.extend(elements(b)?);
    Ok(array_text(all.into_iter()))
}

/// `value - 'key'`: without that key, or without the strings that are it.
pub fn delete_key(text: &str, key: &str) -> Result<String> {
    match kind(text) {
        "object" => Ok(object_text(owned_members(text)?.into_iter().filter(|(known, _)| known != key).collect())),
        "array" => {
            let is_key = |item: &&str| kind(item) == "string" && unquoted(item).is_ok_and(|item| item == key);
            Ok(array_text(items(text)?.unwrap_or_default().into_iter().filter(|item| !is_key(item))))
        }
        _ => Err(Error::new(Code::InvalidParameterValue, "cannot delete from scalar")),
    }
}

/// `value - n`: without that element.
pub fn delete_index(text: &str, index: i64) -> Result<String> {
    match kind(text) {
        "array" => {
            let mut all = items(text)?.unwrap_or_default();
            let at = if index < 0 { index + all.len() as i64 } else { index };
            if let Ok(at) = usize::try_from(at)
                && at < all.len()
            {
                all.remove(at);
            }
            Ok(array_text(all.into_iter()))
        }
        "object" => Err(Error::new(Code::InvalidParameterValue, "cannot delete from object using integer index")),
        _ => Err(Error::new(Code::InvalidParameterValue, "cannot delete from scalar")),
    }
}

/// `value #- path`
pub fn delete_path(text: &str, path: &[String]) -> Result<String> {
    if !matches!(kind(text), "object" | "array") {
        return Err(Error::new(Code::InvalidParameterValue, "cannot delete path in scalar"));
    }
    change(text, path, None, false)
}

/// `jsonb_set(value, path, new, create)`
pub fn set_path(text: &str, path: &[String], new: &str, create: bool) -> Result<String> {
    if !matches!(kind(text), "object" | "array") {
        return Err(Error::new(Code::InvalidParameterValue, "cannot set path in scalar"));
    }
    change(text, path, Some(new), create)
}

/// The text with what is at a path replaced, or removed when there is nothing new.
fn change(text: &str, path: &[String], new: Option<&str>, create: bool) -> Result<String> {
    let Some((step, rest)) = path.split_first() else { return Ok(text.to_owned()) };
    match kind(text) {
        "object" => {
            let changed = match (get_key(text, step)?, new) {
                (Some(_), None) if rest.is_empty() => return delete_key(text, step),
                (Some(_), Some(new)) if rest.is_empty() => new.to_owned(),
                (Some(found), _) => change(found, rest, new, create)?,
                (None, Some(new)) if create && rest.is_empty() => new.to_owned(),
                (None, _) => return Ok(text.to_owned()),
            };
            let mut all = owned_members(text)?;
            all.push((step.clone(), changed));
            Ok(object_text(all))
        }
        "array" => {
            let index: i64 = step
                .trim()
                .parse()
                .map_err(|_| Error::new(Code::InvalidText, format!("path element is not an integer: \"{step}\"")))?;
            let all = items(text)?.unwrap_or_default();
            let at = if index < 0 { index + all.len() as i64 } else { index };
            let mut all: Vec<String> = all.into_iter().map(str::to_owned).collect();
            match usize::try_from(at).ok().filter(|&at| at < all.len()) {
                Some(at) if !rest.is_empty() => all[at] = change(&all[at], rest, new, create)?,
                Some(at) => match new {
                    Some(new) => all[at] = new.to_owned(),
                    None => drop(all.remove(at)),
                },
                None => {
                    if let Some(new) = new.filter(|_| create && rest.is_empty()) {
                        let place = if at < 0 { 0 } else { all.len() };
                        all.insert(place, new.to_owned());
                    }
                }
            }
            Ok(array_text(all.iter().map(String::as_str)))
        }
        _ => Ok(text.to_owned()),
    }
}

/// `jsonb_strip_nulls(value)`: without the members of objects that are null.
pub fn strip_nulls(text: &str) -> Result<String> {
    if let Some(found) = members(text)? {
        let kept = found.into_iter().filter(|(_, value)| kind(value) != "null");
        let all = kept.map(|(key, value)| Ok((key, strip_nulls(value)?))).collect::<Result<Members>>()?;
        return Ok(object_text(all));
    }
    if let Some(found) = items(text)? {
        let all = found.into_iter().map(strip_nulls).collect::<Result<Vec<String>>>()?;
        return Ok(array_text(all.iter().map(String::as_str)));
    }
    Ok(text.to_owned())
}
