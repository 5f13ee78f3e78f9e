//! `jsonb_insert(value, path, new [, after])`: a new member of an object, or a new element beside one of an array.
//!
//! ```text
//!   [1, 2, 3]   {1}    before   [1, 9, 2, 3]      {-4}   in front of all: [9, 1, 2, 3]
//!               {1}    after    [1, 2, 9, 3]      {7}    behind all:      [1, 2, 3, 9]
//!   {"a": [1]}  {b}             {"a": [1], "b": 9}
//!               {b,0}           as it was: nothing is at b
//!               {a}             an error: there is an a
//! ```

use weft_format::{Code, Error, Result, Value};

use super::super::builtin::Call;
use super::texts::texts;
use crate::json;

pub(super) fn jsonb_insert(call: &Call<'_>) -> Result<Value> {
    let target = call.text(0);
    if !matches!(json::kind(target), "object" | "array") {
        return Err(Error::new(Code::InvalidParameterValue, "cannot set path in scalar"));
    }
    let path = texts(call, 1);
    if path.is_empty() {
        return Ok(call.args[0].clone());
    }
    let insertion = Insertion { path: &path, new: call.text(2), is_after: call.count() > 3 && call.bool(3) };
    let made = insertion.within(target, 0)?;
    // It may be nested too deeply now.
    json::validate(&made)?;
    Ok(Value::Text(made.into()))
}

struct Insertion<'a> {
    path: &'a [Option<String>],
    new: &'a str,
    is_after: bool,
}

impl Insertion<'_> {
    /// The value that so many steps of the path lead to, changed.
    fn within(&self, text: &str, level: usize) -> Result<String> {
        let Some(step) = &self.path[level] else {
            let message = format!("path element at position {} is null", level + 1);
            return Err(Error::new(Code::InvalidParameterValue, message));
        };
        if let Some(members) = json::members(text)? {
            return self.within_object(members, step, level);
        }
        match json::items(text)? {
            Some(items) => self.within_array(items, step, level),
            None => Ok(text.to_owned()),
        }
    }

    fn is_last(&self, level: usize) -> bool {
        level + 1 == self.path.len()
    }

    fn within_object(&self, members: Vec<(String, &str)>, step: &str, level: usize) -> Result<String> {
        let mut all: Vec<(String, String)> = members.into_iter().map(|(key, text)| (key, text.to_owned())).collect();
        match all.iter().position(|(key, _)| key == step) {
            Some(_) if self.is_last(level) => {
                return Err(Error::new(Code::InvalidParameterValue, "cannot replace existing key")
                    .hint("Try using the function jsonb_set to replace key value."));
            }
            Some(at) => all[at].1 = self.within(&all[at].1, level + 1)?,
            None if self.is_last(level) => all.push((step.to_owned(), self.new.to_owned())),
            None => {}
        }
        Ok(json::object_text(all))
    }

    fn within_array(&self, items: Vec<&str>, step: &str, level: usize) -> Result<String> {
        let mut all: Vec<String> = items.into_iter().map(str::to_owned).collect();
        let (index, count) = (self.index(step, level)?, all.len() as i64);
        let at = if index < 0 { index + count } else { index };
        let place = usize::try_from(at).ok().filter(|place| *place < all.len());
        match place {
            Some(place) if self.is_last(level) => all.insert(place + usize::from(self.is_after), self.new.to_owned()),
            Some(place) => all[place] = self.within(&all[place], level + 1)?,
            None if self.is_last(level) => all.insert(if at < 0 { 0 } else { all.len() }, self.new.to_owned()),
            None => {}
        }
        Ok(json::array_text(all.iter().map(String::as_str)))
    }

    /// A step into an array: blanks may stand before it, as C reads numbers.
    fn index(&self, step: &str, level: usize) -> Result<i64> {
        let number = step.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']).parse::<i32>();
        number.map(i64::from).map_err(|_| {
            let message = format!("path element at position {} is not an integer: \"{step}\"", level + 1);
            Error::new(Code::InvalidText, message)
        })
    }
}
