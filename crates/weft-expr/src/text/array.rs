//! Arrays: braces around elements.
//!
//! ```text
//!   {1,2,NULL}     {a,"b c","say \"hi\"","NULL",""}     [1:2]={7,8} (the bounds must start at 1)
//! ```

use weft_format::{ArrayValue, Code, DataType, Error, Result, Value};

use super::messages::shorten;
use super::read_scalar::read_scalar;
use super::write_scalar::write_scalar;
use crate::style::{Local, Style};

/// Reads an array whose elements are of a type.
pub fn parse_array(text: &str, element: DataType, local: &Local) -> Result<ArrayValue> {
    let values = Reader { text, rest: text.trim(), local }.array(element)?;
    Ok(ArrayValue::new(element, values.iter().map(Value::as_ref)))
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    local: &'a Local,
}

impl Reader<'_> {
    fn malformed(&self, why: &str) -> Error {
        Error::new(Code::InvalidText, format!("malformed array literal: \"{}\"", shorten(self.text))).hint(why)
    }

    fn array(&mut self, element: DataType) -> Result<Vec<Value>> {
        self.bounds()?;
        let Some(inside) = self.rest.strip_prefix('{') else {
            return Err(self.malformed("an array begins with {"));
        };
        self.rest = inside.trim_start();
        let mut values = Vec::new();
        if let Some(behind) = self.rest.strip_prefix('}') {
            self.rest = behind;
        } else {
            loop {
                values.push(self.element(element)?);
                self.rest = self.rest.trim_start();
                if let Some(behind) = self.rest.strip_prefix('}') {
                    self.rest = behind;
                    break;
                }
                let Some(behind) = self.rest.strip_prefix(',') else {
                    return Err(self.malformed("elements are separated by commas, and } ends the array"));
                };
                self.rest = behind.trim_start();
            }
        }
        if self.rest.trim().is_empty() { Ok(values) } else { Err(self.malformed("there is junk after the closing }")) }
    }

    /// `[1:n]=`, which says nothing that the elements do not.
    fn bounds(&mut self) -> Result<()> {
        let Some(inside) = self.rest.strip_prefix('[') else { return Ok(()) };
        let Some((bounds, behind)) = inside.split_once("]=") else {
            return Err(self.malformed("write [1:n]={...}"));
        };
        if !bounds.starts_with("1:") || bounds.contains(']') {
            return Err(Error::new(Code::FeatureNotSupported, "arrays have one dimension, and its lower bound is 1"));
        }
        self.rest = behind.trim_start();
        Ok(())
    }

    fn element(&mut self, element: DataType) -> Result<Value> {
        let mut word = String::new();
        if let Some(inside) = self.rest.strip_prefix('"') {
            let mut chars = inside.char_indices();
            loop {
                match chars.next() {
                    None => return Err(self.malformed("a quoted element does not end")),
                    Some((at, '"')) => {
                        self.rest = &inside[at + 1..];
                        return read_scalar(&word, element, self.local);
                    }
                    Some((_, '\\')) => {
                        let (_, escaped) = chars.next().ok_or_else(|| self.malformed("nothing follows a backslash"))?;
                        word.push(escaped);
                    }
                    Some((_, other)) => word.push(other),
                }
            }
        }
        let (mut chars, mut kept, mut is_escaped) = (self.rest.char_indices(), 0, false);
        let end = loop {
            match chars.next() {
                None => return Err(self.malformed("the array does not end")),
                Some((at, ',' | '}')) => break at,
                Some((_, '{')) => {
                    return Err(Error::new(Code::FeatureNotSupported, "arrays have one dimension")
                        .hint("keep inner arrays as jsonb"));
                }
                Some((_, '"')) => return Err(self.malformed("a quote stands within an element")),
                Some((_, '\\')) => {
                    let (_, escaped) = chars.next().ok_or_else(|| self.malformed("nothing follows a backslash"))?;
                    word.push(escaped);
                    (kept, is_escaped) = (word.len(), true);
                }
                Some((_, other)) => {
                    word.push(other);
                    if !other.is_whitespace() {
                        kept = word.len();
                    }
                }
            }
        };
        self.rest = &self.rest[end..];
        word.truncate(kept);
        if word.is_empty() {
            return Err(self.malformed("an element is missing; write \"\" for an empty text"));
        }
        if word.eq_ignore_ascii_case("null") && !is_escaped {
            return Ok(Value::Null);
        }
        read_scalar(&word, element, self.local)
    }
}

/// Appends the text of an array.
pub fn write_array(out: &mut String, values: &[Value], element: DataType, style: &Style) {
    out.push('{');
    let mut word = String::new();
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        if value.is_null() {
            out.push_str("NULL");
            continue;
        }
        word.clear();
        write_scalar(&mut word, value.as_ref(), element, style);
        if !needs_quotes(&word) {
            out.push_str(&word);
            continue;
        }
        out.push('"');
        for c in word.chars() {
            if matches!(c, '"' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
        out.push('"');
    }
    out.push('}');
}

fn needs_quotes(word: &str) -> bool {
    let special = |c: char| matches!(c, '"' | '\\' | '{' | '}' | ',') || c.is_ascii_whitespace() || c == '\u{b}';
    word.is_empty() || word.eq_ignore_ascii_case("null") || word.contains(special)
}
