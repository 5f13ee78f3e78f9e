//! Values of JSON, one a line or the elements of one array, read in large steps.
//!
//! ```text
//!   {"a": 1}⏎ ⏎ {"a": 2}⏎            lines 1 and 3; what is blank is passed over
//!   [⏎{"a": 1},⏎{⏎"a": 2}⏎]⏎         the elements at lines 2 and 3, where the input may be an array
//! ```
//!
//! 1. What comes out has no brackets around it, nor blanks; whether it is JSON the caller tests.
//! 2. Memory is that of one value and a step of the source: a value has at most [`VALUE_BYTES_MAX`].
//! 3. A line that is `\.` ends the input, as in the other forms.

use weft_format::{Code, Error, Result};

use super::source::{Source, Steps};

/// Bytes of one value. The rows of a batch, and their canonical form, take several times as many.
const VALUE_BYTES_MAX: usize = 16 << 20;

/// Where the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the first value; an array may begin here.
    Start,
    Lines,
    /// Behind the bracket of an array, where its end may follow, too.
    ArrayStart,
    /// Behind a comma.
    Array,
    End,
}

/// Reads values one after the other.
pub(super) struct JsonReader<'a> {
    steps: Steps<'a>,
    line: u64,
    place: Place,
    value_bytes_max: usize,
}

impl<'a> JsonReader<'a> {
    /// A reader at the start of its source, past a byte order mark. Of an array the elements are read, if one is
    /// allowed; else it is a value of its line.
    pub(super) fn new(source: Source<'a>, may_be_array: bool) -> Result<JsonReader<'a>> {
        let place = if may_be_array { Place::Start } else { Place::Lines };
        let value_bytes_max = VALUE_BYTES_MAX;
        Ok(JsonReader { steps: Steps::new(source)?, line: 1, place, value_bytes_max })
    }

    /// Reads the next value into `value`, and the line of the input at which it starts; false at the end.
    pub(super) fn next(&mut self, value: &mut Vec<u8>, line: &mut u64) -> Result<bool> {
        value.clear();
        if self.place == Place::Start {
            self.blanks()?;
            self.place = Place::Lines;
            if self.steps.peek()? == Some(b'[') {
                self.steps.at += 1;
                self.place = Place::ArrayStart;
            }
        }
        match self.place {
            Place::Start | Place::Lines => self.next_line(value, line),
            Place::ArrayStart | Place::Array => self.next_element(value, line),
            Place::End => Ok(false),
        }
    }

    fn next_line(&mut self, value: &mut Vec<u8>, line: &mut u64) -> Result<bool> {
        self.blanks()?;
        *line = self.line;
        while self.steps.peek()?.is_some() {
            let rest = &self.steps.buffer[self.steps.at..];
            let end = rest.iter().position(|&byte| byte == b'\n');
            value.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
            self.steps.at += end.unwrap_or(rest.len());
            self.limit(value, *line)?;
            if end.is_some() {
                break;
            }
        }
        trim_end(value);
        if value == b"\\." {
            self.place = Place::End;
            // A client's messages are taken to their end.
            while self.steps.fill()? {}
            return Ok(false);
        }
        Ok(!value.is_empty())
    }

    fn next_element(&mut self, value: &mut Vec<u8>, line: &mut u64) -> Result<bool> {
        self.blanks()?;
        *line = self.line;
        let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
        let end = loop {
            let Some(byte) = self.steps.peek()? else {
                return Err(self.bad(
                    "the array does not end",
                    "it ends with a bracket behind its last element",
                    *line,
                ));
            };
            self.steps.at += 1;
            match byte {
                b'\n' => self.line += 1,
                _ if escaped => escaped = false,
                b'\\' => escaped = in_string,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b',' | b']' if depth == 0 => break byte,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            value.push(byte);
            self.limit(value, *line)?;
        };
        trim_end(value);
        let is_empty = value.is_empty() && end == b']' && self.place == Place::ArrayStart;
        if value.is_empty() && !is_empty {
            return Err(self.bad("an element of the array is missing", "there is one comma between two", *line));
        }
        self.place = Place::Array;
        if end == b']' {
            self.place = Place::End;
            // Only a line that ends the input may follow it (json lines 3).
            let (mut rest, mut at) = (Vec::new(), self.line);
            if self.next_line(&mut rest, &mut at)? {
                let hint = "write one array, or one object a line";
                return Err(self.bad("something follows the array", hint, at));
            }
            self.place = Place::End;
        }
        Ok(!is_empty)
    }

    /// Passes over what is blank in JSON.
    fn blanks(&mut self) -> Result<()> {
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) = self.steps.peek()? {
            self.line += u64::from(byte == b'\n');
            self.steps.at += 1;
        }
        Ok(())
    }

    fn limit(&self, value: &[u8], line: u64) -> Result<()> {
        if value.len() <= self.value_bytes_max {
            return Ok(());
        }
        let most = self.value_bytes_max >> 20;
        let message = format!("the value at line {line} of {} is larger than {most} MiB", self.steps.source.name());
        Err(Error::new(Code::ProgramLimit, message).hint("write one value a line, and its parts as rows of their own"))
    }

    fn bad(&self, what: &str, hint: &str, line: u64) -> Error {
        Error::new(Code::BadCopyFormat, format!("{what} ({}, line {line})", self.steps.source.name())).hint(hint)
    }
}

fn trim_end(value: &mut Vec<u8>) {
    while matches!(value.last(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        value.pop();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weft_expr::Style;

    use super::*;
    use crate::notice::Notice;
    use crate::outcome::{Outcome, OutputColumn, Rows};
    use crate::session::{Client, CopyFormat};

    /// Sends one message after the other.
    struct Sent<'a>(Vec<&'a [u8]>);

    impl Client for Sent<'_> {
        fn takes_rows(&self) -> bool {
            false
        }
        fn begin(&mut self, _: &Style) {}
        fn rows(&mut self, _: &Arc<[OutputColumn]>, _: &Rows) -> Result<()> {
            Ok(())
        }
        fn finish(&mut self, _: &Outcome) -> Result<()> {
            Ok(())
        }
        fn notice(&mut self, _: &Notice) -> Result<()> {
            Ok(())
        }
        fn begin_copy_in(&mut self, _: CopyFormat, _: usize) -> Result<()> {
            Ok(())
        }
        fn copy_in(&mut self, bytes: &mut Vec<u8>) -> Result<bool> {
            bytes.extend_from_slice(self.0.pop().unwrap_or_default());
            Ok(!self.0.is_empty())
        }
        fn begin_copy_out(&mut self, _: CopyFormat, _: usize) -> Result<()> {
            Ok(())
        }
        fn copy_out(&mut self, _: &[u8]) -> Result<()> {
            Ok(())
        }
        fn end_copy_out(&mut self) -> Result<()> {
            Ok(())
        }
    }

    /// Lines and values, or an error, with so many bytes read at a time.
    fn values(
        text: &str,
        may_be_array: bool,
        value_bytes_max: usize,
    ) -> std::result::Result<Vec<(u64, String)>, String> {
        let mut client = Sent(text.as_bytes().chunks(60_000).rev().collect());
        let mut reader = JsonReader::new(Source::Client(&mut client, false), may_be_array).unwrap();
        reader.value_bytes_max = value_bytes_max;
        let (mut found, mut value, mut line) = (Vec::new(), Vec::new(), 0);
        loop {
            match reader.next(&mut value, &mut line) {
                Ok(true) => found.push((line, String::from_utf8(value.clone()).unwrap())),
                Ok(false) => return Ok(found),
                Err(error) => return Err(error.message().to_owned()),
            }
        }
    }

    fn shown(text: &str, may_be_array: bool) -> String {
        match values(text, may_be_array, 1_000) {
            Ok(found) => found.iter().map(|(line, value)| format!("{line}:{value} ")).collect(),
            Err(message) => message,
        }
    }

    #[test]
    fn lines_are_values() {
        assert_eq!(shown("{\"a\": 1}\n\n  {}\r\n \t\r\n3", true), "1:{\"a\": 1} 3:{} 5:3 ");
        assert_eq!(shown("\u{feff}{}\n\\.\n{}", true), "1:{} ");
        assert_eq!([shown("", true), shown("\n \n", false)], ["", ""]);
        assert_eq!(shown("[1, 2]\n[3]", false), "1:[1, 2] 2:[3] ");
    }

    #[test]
    fn an_array_has_elements() {
        assert_eq!(
            shown("\n[\n{\"a\": \"],\\\"\"}\n ,{\n\"b\": [1, 2]}, 3\n]\n", true),
            "3:{\"a\": \"],\\\"\"} 4:{\n\"b\": [1, 2]} 5:3 "
        );
        assert_eq!([shown("[]", true), shown("[ \n ]", true)], ["", ""]);
        assert_eq!(shown("[1,]", true), "an element of the array is missing (STDIN, line 1)");
        assert_eq!(shown("[1,\n,2]", true), "an element of the array is missing (STDIN, line 2)");
        assert_eq!(shown("[1\n,2", true), "the array does not end (STDIN, line 2)");
        assert_eq!(shown("[1]\n[2]", true), "something follows the array (STDIN, line 2)");
        assert_eq!(shown("[1]\n\\.\n[2]", true), "1:1 ");
    }

    #[test]
    fn a_value_has_a_limit() {
        let long = format!("1\n{}\n2", "x".repeat(1_001));
        assert_eq!(shown(&long, false), "the value at line 2 of STDIN is larger than 0 MiB");
        assert_eq!(shown(&format!("[1,\"{long}"), true), "the value at line 1 of STDIN is larger than 0 MiB");
        // Values and messages do not begin together.
        let many: String = (0..20_000).map(|n| format!("{{\"n\": {n}}}\n")).collect();
        let found = values(&many, true, 1_000).unwrap();
        assert_eq!((found.len(), &found[19_999]), (20_000, &(20_000, "{\"n\": 19999}".to_owned())));
    }
}
