//! `regexp_replace`.
//!
//! ```text
//!   regexp_replace('foobarbaz', 'b(..)', 'X\1Y', 'g')     fooXarYXazY
//!   regexp_replace('abcabc', 'b', '[\&]', 1, 2)           abca[b]c: the second match from character 1 on
//! ```

use weft_format::{Code, Error, Result, Value};

use super::compiled::Pattern;
use super::counted::{number, place};
use super::dissect::Groups;
use super::options::Options;
use crate::builtins::builtin::Call;

/// The most bytes of a result.
const TEXT_BYTES_MAX: usize = 256 << 20;

/// With or without options.
pub(super) fn regexp_replace(call: &Call<'_>) -> Result<Value> {
    replaced(call, Options::ADVANCED, 1, 1)
}

pub(super) fn regexp_replace_with(call: &Call<'_>) -> Result<Value> {
    let flags = call.text(3);
    let (options, is_global) = Options::parse(flags).map_err(|error| match flags.chars().next() {
        Some('0'..='9') => error.hint(
            "If you meant to use regexp_replace() with a start parameter, \
             cast the fourth argument to integer explicitly.",
        ),
        _ => error,
    })?;
    replaced(call, options, 1, if is_global { 0 } else { 1 })
}

/// From a character on, a match by its number, 0 being all.
pub(super) fn regexp_replace_from(call: &Call<'_>) -> Result<Value> {
    let start = number(call, 3, "start", 1, 1)?;
    let n = number(call, 4, "n", 0, 1)?;
    let options = if call.count() > 5 { Options::parse(call.text(5))?.0 } else { Options::ADVANCED };
    replaced(call, options, start, n)
}

fn replaced(call: &Call<'_>, options: Options, start: i64, n: i64) -> Result<Value> {
    let pattern = Pattern::of(call.text(1), options)?;
    let (text, template) = (call.text(0), Template::new(call.text(2)));
    let mut search = pattern.search(text);
    let mut out = String::new();
    let mut copied = 0;
    let mut count = 0;
    let mut from = place(text, start);
    while let Some(at) = from {
        let Some(found) = search.next(at)? else { break };
        from = search.behind(found);
        count += 1;
        if n > 0 && count < n {
            continue;
        }
        if copied == 0 && out.is_empty() {
            out.reserve(text.len() + template.text.len().min(text.len()));
        }
        push(&mut out, &text[copied..found.0])?;
        let groups = if template.has_groups { search.groups(found)? } else { Vec::new() };
        template.fill(&mut out, text, found, &groups)?;
        copied = found.1;
        if n > 0 {
            break;
        }
    }
    if out.is_empty() && copied == 0 {
        return Ok(call.args[0].clone());
    }
    push(&mut out, &text[copied..])?;
    Ok(Value::Text(out.into()))
}

fn push(out: &mut String, text: &str) -> Result<()> {
    if out.len() + text.len() > TEXT_BYTES_MAX {
        let message = format!("regexp_replace() would make more than {TEXT_BYTES_MAX} bytes of text");
        return Err(Error::new(Code::ProgramLimit, message).hint("ask for shorter text"));
    }
    out.push_str(text);
    Ok(())
}

/// What is put in a match's place.
struct Template<'a> {
    text: &'a str,
    is_plain: bool,
    has_groups: bool,
}

enum Part<'a> {
    Text(&'a str),
    Match,
    Group(usize),
}

impl<'a> Template<'a> {
    fn new(text: &'a str) -> Template<'a> {
        let mut template = Template { text, is_plain: !text.contains('\\'), has_groups: false };
        template.has_groups = !template.is_plain && template.parts().any(|part| matches!(part, Part::Group(_)));
        template
    }

    /// Its parts: a text up to a backslash, what stands behind that, and so on.
    fn parts(&self) -> impl Iterator<Item = Part<'a>> {
        let mut rest = self.text;
        std::iter::from_fn(move || {
            let text = &rest[..rest.find('\\').unwrap_or(rest.len())];
            if !text.is_empty() {
                rest = &rest[text.len()..];
                return Some(Part::Text(text));
            }
            let behind = rest.get(1..)?;
            let (part, taken) = match behind.as_bytes().first() {
                Some(digit @ b'1'..=b'9') => (Part::Group(usize::from(digit - b'0')), 1),
                Some(b'&') => (Part::Match, 1),
                Some(b'\\') => (Part::Text("\\"), 1),
                _ => (Part::Text("\\"), 0),
            };
            rest = &behind[taken..];
            Some(part)
        })
    }

    fn fill(&self, out: &mut String, text: &str, found: (usize, usize), groups: &Groups) -> Result<()> {
        if self.is_plain {
            return push(out, self.text);
        }
        for part in self.parts() {
            match part {
                Part::Text(part) => push(out, part)?,
                Part::Match => push(out, &text[found.0..found.1])?,
                Part::Group(number) => {
                    if let Some(Some((begin, end))) = groups.get(number - 1) {
                        push(out, &text[*begin..*end])?;
                    }
                }
            }
        }
        Ok(())
    }
}
