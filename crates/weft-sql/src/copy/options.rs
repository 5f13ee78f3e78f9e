//! The options of COPY.

use sqlparser::ast::{CopyLegacyCsvOption, CopyLegacyOption, CopyOption};
use weft_format::{Code, Error, Result};

/// How a CSV file is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CsvOptions {
    pub(super) delimiter: u8,
    pub(super) quote: u8,
    pub(super) escape: u8,
    pub(super) null: String,
    pub(super) header: bool,
}

impl CsvOptions {
    /// Reads `WITH (FORMAT csv, ...)` and the older `CSV HEADER ...`.
    pub(super) fn read(options: &[CopyOption], legacy: &[CopyLegacyOption]) -> Result<CsvOptions> {
        let mut out = CsvOptions { delimiter: b',', quote: b'"', escape: 0, null: String::new(), header: false };
        let mut csv = false;
        for option in options {
            match option {
                CopyOption::Format(name) if name.value.eq_ignore_ascii_case("csv") => csv = true,
                CopyOption::Format(name) => return Err(only_csv(&name.value)),
                CopyOption::Delimiter(c) => out.delimiter = single("DELIMITER", *c)?,
                CopyOption::Null(text) => out.null = text.clone(),
                CopyOption::Header(on) => out.header = *on,
                CopyOption::Quote(c) => out.quote = single("QUOTE", *c)?,
                CopyOption::Escape(c) => out.escape = single("ESCAPE", *c)?,
                CopyOption::Encoding(name) if is_utf8(name) => {}
                CopyOption::Freeze(_) => {}
                other => return Err(unsupported(&other.to_string())),
            }
        }
        for option in legacy {
            match option {
                CopyLegacyOption::Csv(inner) => {
                    csv = true;
                    for option in inner {
                        match option {
                            CopyLegacyCsvOption::Header => out.header = true,
                            CopyLegacyCsvOption::Quote(c) => out.quote = single("QUOTE", *c)?,
                            CopyLegacyCsvOption::Escape(c) => out.escape = single("ESCAPE", *c)?,
                            other => return Err(unsupported(&other.to_string())),
                        }
                    }
                }
                CopyLegacyOption::Header => out.header = true,
                CopyLegacyOption::Delimiter(c) => out.delimiter = single("DELIMITER", *c)?,
                CopyLegacyOption::Null(text) => out.null = text.clone(),
                other => return Err(unsupported(&other.to_string())),
            }
        }
        if !csv {
            return Err(only_csv("text"));
        }
        if out.escape == 0 {
            out.escape = out.quote;
        }
        out.check()
    }

    fn check(self) -> Result<CsvOptions> {
        let wrong = |message: &str| {
            Err(Error::new(Code::InvalidParameterValue, message).hint("choose another character or text in WITH (...)"))
        };
        if self.delimiter == self.quote {
            return wrong("COPY delimiter and quote must be different");
        }
        if [self.delimiter, self.quote].iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return wrong("COPY delimiter and quote cannot be newline or carriage return");
        }
        if self.null.contains(['\n', '\r']) || self.null.bytes().any(|byte| byte == self.delimiter) {
            return wrong("COPY null representation cannot contain a line break or the delimiter");
        }
        Ok(self)
    }
}

fn is_utf8(name: &str) -> bool {
    name.eq_ignore_ascii_case("utf8") || name.eq_ignore_ascii_case("utf-8")
}

fn single(what: &str, c: char) -> Result<u8> {
    match u8::try_from(c) {
        Ok(byte) if byte.is_ascii() && byte != 0 => Ok(byte),
        _ => Err(Error::new(Code::InvalidParameterValue, format!("COPY {what} must be a single one-byte character"))),
    }
}

fn only_csv(format: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("COPY in format {format} is not supported"))
        .hint("write WITH (FORMAT csv)")
}

fn unsupported(option: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("COPY option {option} is not supported"))
        .hint("FORMAT csv, HEADER, DELIMITER, NULL, QUOTE, ESCAPE and ENCODING 'UTF8' are")
}
