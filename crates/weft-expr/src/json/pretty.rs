//! `jsonb_pretty`: four blanks a level.

use weft_format::Result;

use super::build::quote;
use super::scan::{items, members};

/// The text of a canonical value over several lines.
pub fn pretty(text: &str) -> Result<String> {
    let mut out = String::new();
    put(text, 0, &mut out)?;
    Ok(out)
}

fn put(text: &str, level: usize, out: &mut String) -> Result<()> {
    if let Some(found) = members(text)? {
        out.push('{');
        for (at, (key, value)) in found.iter().enumerate() {
            new_line(at > 0, level + 1, out);
            quote(key, out);
            out.push_str(": ");
            put(value, level + 1, out)?;
        }
        new_line(false, level, out);
        out.push('}');
    } else if let Some(found) = items(text)? {
        out.push('[');
        for (at, value) in found.iter().enumerate() {
            new_line(at > 0, level + 1, out);
            put(value, level + 1, out)?;
        }
        new_line(false, level, out);
        out.push(']');
    } else {
        out.push_str(text);
    }
    Ok(())
}

fn new_line(comma: bool, level: usize, out: &mut String) {
    if comma {
        out.push(',');
    }
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', level * 4));
}
