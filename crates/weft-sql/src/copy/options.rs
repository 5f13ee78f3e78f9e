//! The options of COPY.

use sqlparser::ast::{CopyLegacyCsvOption, CopyLegacyOption, CopyOption, Ident};
use weft_format::{Code, Error, Result};

use crate::parse::{FORCE_ARRAY, NO_FORCE_ARRAY, fold};

/// How rows are written as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Lines of fields, with backslashes.
    Text,
    /// Comma-separated values, with quotes.
    Csv,
    /// PostgreSQL's binary form.
    Binary,
    /// An object of JSON for each row, with a member for each column.
    Json,
    /// A value of JSON for each row, which goes to one column.
    JsonDocument,
}

/// The options of a COPY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CopyOptions {
    pub(super) form: Form,
    pub(super) delimiter: u8,
    pub(super) quote: u8,
    pub(super) escape: u8,
    pub(super) null: String,
    pub(super) header: bool,
    /// CSV: columns whose values are always quoted.
    pub(super) force_quote: Vec<String>,
    /// CSV: columns whose unquoted null strings are text.
    pub(super) force_not_null: Vec<String>,
    /// CSV: columns whose quoted null strings are NULL, too.
    pub(super) force_null: Vec<String>,
    /// JSON: the rows are written as one array.
    pub(super) force_array: bool,
}

/// What was said, before the form's defaults fill the rest.
#[derive(Default)]
struct Given {
    form: Option<Form>,
    delimiter: Option<u8>,
    quote: Option<u8>,
    escape: Option<u8>,
    null: Option<String>,
    header: bool,
    force_quote: Vec<String>,
    force_not_null: Vec<String>,
    force_null: Vec<String>,
    force_array: bool,
}

impl CopyOptions {
    /// Reads `WITH (FORMAT csv, ...)` and the older `CSV HEADER ...`.
    pub(super) fn read(options: &[CopyOption], legacy: &[CopyLegacyOption]) -> Result<CopyOptions> {
        let mut given = Given::default();
        let names = |columns: &[Ident]| columns.iter().map(fold).collect();
        for option in options {
            match option {
                CopyOption::Format(name) => given.form = Some(form(&name.value)?),
                CopyOption::Delimiter(c) => given.delimiter = Some(single("DELIMITER", *c)?),
                CopyOption::Null(text) => given.null = Some(text.clone()),
                CopyOption::Header(on) => given.header = *on,
                CopyOption::Quote(c) => given.quote = Some(single("QUOTE", *c)?),
                CopyOption::Escape(c) => given.escape = Some(single("ESCAPE", *c)?),
                CopyOption::Encoding(name) if is_utf8(name) => {}
                CopyOption::Encoding(name) if name == FORCE_ARRAY => given.force_array = true,
                CopyOption::Encoding(name) if name == NO_FORCE_ARRAY => given.force_array = false,
                CopyOption::Freeze(_) => {}
                CopyOption::ForceQuote(columns) => given.force_quote = names(columns),
                CopyOption::ForceNotNull(columns) => given.force_not_null = names(columns),
                CopyOption::ForceNull(columns) => given.force_null = names(columns),
                other => return Err(unsupported(&other.to_string())),
            }
        }
        for option in legacy {
            match option {
                CopyLegacyOption::Csv(inner) => {
                    given.form = Some(Form::Csv);
                    for option in inner {
                        match option {
                            CopyLegacyCsvOption::Header => given.header = true,
                            CopyLegacyCsvOption::Quote(c) => given.quote = Some(single("QUOTE", *c)?),
                            CopyLegacyCsvOption::Escape(c) => given.escape = Some(single("ESCAPE", *c)?),
                            CopyLegacyCsvOption::ForceQuote(columns) => given.force_quote = names(columns),
                            CopyLegacyCsvOption::ForceNotNull(columns) => given.force_not_null = names(columns),
                        }
                    }
                }
                CopyLegacyOption::Binary => given.form = Some(Form::Binary),
                CopyLegacyOption::Header => given.header = true,
                CopyLegacyOption::Delimiter(c) => given.delimiter = Some(single("DELIMITER", *c)?),
                CopyLegacyOption::Null(text) => given.null = Some(text.clone()),
                other => return Err(unsupported(&other.to_string())),
            }
        }
        given.complete()?.check()
    }

    fn check(self) -> Result<CopyOptions> {
        let wrong = |message: &str| {
            Err(Error::new(Code::InvalidParameterValue, message).hint("choose another character or text in WITH (...)"))
        };
        if !matches!(self.form, Form::Text | Form::Csv) {
            return Ok(self);
        }
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'\\' | b'.');
        if self.form == Form::Text && is_letter(self.delimiter) {
            let shown = char::from(self.delimiter);
            return wrong(&format!("COPY delimiter cannot be \"{shown}\""));
        }
        if self.form == Form::Csv && self.delimiter == self.quote {
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

impl Given {
    fn complete(self) -> Result<CopyOptions> {
        let form = self.form.unwrap_or(Form::Text);
        let of_csv = self.quote.is_some()
            || self.escape.is_some()
            || !self.force_quote.is_empty()
            || !self.force_not_null.is_empty()
            || !self.force_null.is_empty();
        if of_csv && form != Form::Csv {
            let message = "QUOTE, ESCAPE, FORCE_QUOTE, FORCE_NOT_NULL and FORCE_NULL are for CSV only";
            return Err(Error::new(Code::FeatureNotSupported, message).hint("write WITH (FORMAT csv, ...)"));
        }
        let without_fields = match form {
            Form::Text | Form::Csv => None,
            Form::Binary => Some("BINARY"),
            Form::Json | Form::JsonDocument => Some("JSON"),
        };
        if let Some(mode) = without_fields.filter(|_| self.delimiter.is_some() || self.null.is_some() || self.header) {
            let message = format!("cannot specify DELIMITER, NULL or HEADER in {mode} mode");
            return Err(Error::new(Code::SyntaxError, message).hint("they are for text and csv: leave them out"));
        }
        if self.force_array && form != Form::Json {
            let error = Error::new(Code::InvalidParameterValue, "COPY FORCE_ARRAY can only be used with FORMAT json");
            return Err(error.hint("write WITH (FORMAT json, FORCE_ARRAY)"));
        }
        let is_csv = form == Form::Csv;
        let quote = self.quote.unwrap_or(b'"');
        Ok(CopyOptions {
            form,
            delimiter: self.delimiter.unwrap_or(if is_csv { b',' } else { b'\t' }),
            quote,
            escape: self.escape.unwrap_or(quote),
            null: self.null.unwrap_or_else(|| if is_csv { String::new() } else { "\\N".into() }),
            header: self.header,
            force_quote: self.force_quote,
            force_not_null: self.force_not_null,
            force_null: self.force_null,
            force_array: self.force_array,
        })
    }
}

fn form(name: &str) -> Result<Form> {
    match name.to_ascii_lowercase().as_str() {
        "text" => Ok(Form::Text),
        "csv" => Ok(Form::Csv),
        "binary" => Ok(Form::Binary),
        "json" => Ok(Form::Json),
        "json_document" => Ok(Form::JsonDocument),
        _ => {
            let message = format!("COPY format \"{name}\" not recognized");
            Err(Error::new(Code::InvalidParameterValue, message).hint("text, csv, binary, json and json_document are"))
        }
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

fn unsupported(option: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("COPY option {option} is not supported"))
        .hint("FORMAT, HEADER, DELIMITER, NULL, QUOTE, ESCAPE, FORCE_QUOTE, FORCE_NULL and ENCODING 'UTF8' are")
}
