//! The options of `CREATE TABLE ... USING column WITH (...)`.
//!
//! | option | meaning | default | allowed |
//! |---|---|---|---|
//! | `row_table_bytes` | a row table of this size is frozen | the engine's | 1 KiB to 1 GiB |
//! | `column_table_bytes` | about the size of a column table's file | 4 MiB | 4 KiB to 1 GiB |
//! | `bloom_columns` | columns that get a Bloom filter besides the key, separated by commas | none | names |
//! | `dead_percent` | a column table with more dead rows is rewritten | 15 | 1 to 90 |
//! | `overlap_max` | more column tables than this over one key are merged | 12 | 2 to 1000 |

use std::collections::BTreeMap;

use weft_format::{Code, Error, Result, Schema};

/// Parsed options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// A row table of about this size is frozen, bytes; none: as the engine was opened.
    pub row_table_bytes: Option<u64>,
    /// Files are cut at about this size, bytes.
    pub column_table_bytes: u64,
    /// Names of columns with a Bloom filter of their own.
    pub bloom_columns: Vec<String>,
    /// A column table with more dead rows is rewritten, percent of its rows.
    pub dead_percent: u64,
    /// More column tables than this over one key are merged.
    pub overlap_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            row_table_bytes: None,
            column_table_bytes: 4 << 20,
            bloom_columns: Vec::new(),
            dead_percent: 15,
            overlap_max: 12,
        }
    }
}

const NAMES: &str = "row_table_bytes, column_table_bytes, bloom_columns, dead_percent, overlap_max";

impl Options {
    /// Reads the options of WITH; an unknown or bad one is named with what is allowed.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<Options> {
        let mut parsed = Options::default();
        for (name, text) in options {
            match name.as_str() {
                "row_table_bytes" => parsed.row_table_bytes = Some(number(name, text, 1 << 10, 1 << 30)?),
                "column_table_bytes" => parsed.column_table_bytes = number(name, text, 4 << 10, 1 << 30)?,
                "dead_percent" => parsed.dead_percent = number(name, text, 1, 90)?,
                "overlap_max" => parsed.overlap_max = number(name, text, 2, 1000)? as usize,
                "bloom_columns" => {
                    let names = text.split(',').map(|name| name.trim().to_owned());
                    parsed.bloom_columns = names.filter(|name| !name.is_empty()).collect();
                }
                _ => {
                    let message = format!("method column has no option \"{name}\"");
                    return Err(
                        Error::new(Code::InvalidParameterValue, message).hint(format!("the options are {NAMES}"))
                    );
                }
            }
        }
        Ok(parsed)
    }

    /// The ordinals of `bloom_columns` in a schema, ascending.
    pub fn bloom_ordinals(&self, schema: &Schema) -> Result<Vec<usize>> {
        let mut ordinals = Vec::with_capacity(self.bloom_columns.len());
        for name in &self.bloom_columns {
            let ordinal = schema.ordinal(name).ok_or_else(|| {
                let names: Vec<&str> = schema.visible().map(|(_, column)| column.name.as_str()).collect();
                Error::new(
                    Code::InvalidParameterValue,
                    format!("bloom_columns names \"{name}\", which is not a column"),
                )
                .hint(format!("the columns are {}", names.join(", ")))
            })?;
            ordinals.push(ordinal);
        }
        ordinals.sort_unstable();
        ordinals.dedup();
        Ok(ordinals)
    }
}

fn number(name: &str, text: &str, min: u64, max: u64) -> Result<u64> {
    text.trim().parse().ok().filter(|value| (min..=max).contains(value)).ok_or_else(|| {
        Error::new(Code::InvalidParameterValue, format!("option {name} cannot be \"{text}\""))
            .hint(format!("{name} takes a whole number from {min} to {max}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, text: &str) -> Result<Options> {
        Options::parse(&BTreeMap::from([(name.to_owned(), text.to_owned())]))
    }

    #[test]
    fn bad_options_are_named_with_what_is_allowed() {
        assert_eq!(parse("row_table_bytes", "65536").unwrap().row_table_bytes, Some(65536));
        assert_eq!(parse("bloom_columns", "a, b").unwrap().bloom_columns, ["a", "b"]);
        for (name, text) in [("row_table_bytes", "5"), ("row_table_bytes", "x"), ("overlap_max", "-1"), ("sorted", "1")]
        {
            let error = parse(name, text).unwrap_err();
            assert_eq!(error.code(), Code::InvalidParameterValue);
            assert!(error.message().contains(name) && error.hint_text().is_some(), "{error}");
        }
    }
}
