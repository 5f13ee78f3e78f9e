//! Files of settings, in PostgreSQL's form.
//!
//! ```text
//!   # a comment
//!   max_connections = 200
//!   log_file 'it''s here.log'      # the = may be left out; a quote is doubled
//! ```

use weft_format::{Code, Error, Result};

/// The assignments of a file: line, name, value.
pub fn read_assignments(file: &str, text: &str) -> Result<Vec<(usize, String, String)>> {
    let mut read = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |what: &str| {
            Error::new(Code::SyntaxError, format!("{file}, line {}: {what}", index + 1))
                .hint("a line is name = value, # begins a comment, a value with blanks stands in single quotes")
        };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        if name.is_empty() {
            return Err(wrong("a name of a setting is missing"));
        }
        let rest = rest.trim_start();
        let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
        let value = value_of(rest).ok_or_else(|| wrong(&format!("the value of \"{name}\" cannot be read")))?;
        read.push((index + 1, name.to_lowercase(), value));
    }
    Ok(read)
}

fn value_of(rest: &str) -> Option<String> {
    let Some(mut rest) = rest.strip_prefix('\'') else {
        let value = rest.split('#').next().unwrap_or("").trim();
        return (!value.is_empty() && !value.contains(char::is_whitespace) && !value.contains('\''))
            .then(|| value.to_owned());
    };
    let mut value = String::new();
    loop {
        let end = rest.find('\'')?;
        value.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('\'') {
            Some(more) => {
                value.push('\'');
                rest = more;
            }
            None => break,
        }
    }
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with('#')).then_some(value)
}
