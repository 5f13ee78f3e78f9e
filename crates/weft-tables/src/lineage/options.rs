//! The options of `CREATE TABLE ... USING lineage WITH (...)`.
//!
//! | option | meaning | default | allowed |
//! |---|---|---|---|
//! | `history` | how long what was is kept; `none`: as far as open snapshots see | all | `all`, `none`, an interval |
//! | `segment_rows` | rows whose pages are merged together | 65536 | 16 to 65536, a power of two |
//! | `bulk_bytes` | statements with more, as rows in memory count, build segments at once | 4 MiB | 1 KiB to 1 GiB |
//! | `tail_bytes` | tails of this size are frozen, and merged | 16 MiB, less in little memory | 1 KiB to 1 GiB |

use std::collections::BTreeMap;

use weft_format::{Code, Error, Result};
use weft_kernel::History;

/// Parsed options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What is kept of the past.
    pub history: History,
    /// Rows of a segment.
    pub segment_rows: u32,
    /// A statement whose rows take more, bytes, builds segments.
    pub bulk_bytes: u64,
    /// Tails of about this size are frozen, bytes; none: as the engine was opened.
    pub tail_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options { history: History::All, segment_rows: SEGMENT_ROWS, bulk_bytes: BULK_BYTES, tail_bytes: None }
    }
}

const NAMES: &str = "history, segment_rows, bulk_bytes, tail_bytes";
const BULK_BYTES: u64 = 4 << 20;
const SEGMENT_ROWS: u32 = 1 << 16;

impl Options {
    /// Reads the options of WITH; an unknown or bad one is named with what is allowed.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<Options> {
        let mut parsed = Options::default();
        for (name, text) in options {
            match name.as_str() {
                History::OPTION => parsed.history = History::parse(text)?,
                "segment_rows" => {
                    let rows = text.parse().ok().filter(|rows: &u32| (16..=SEGMENT_ROWS).contains(rows));
                    let rows = rows.filter(|rows| rows.is_power_of_two());
                    parsed.segment_rows = rows.ok_or_else(|| bad(name, text, "powers of two from 16 to 65536"))?;
                }
                "bulk_bytes" => parsed.bulk_bytes = bytes(name, text)?,
                "tail_bytes" => parsed.tail_bytes = Some(bytes(name, text)?),
                _ => {
                    let message = format!("method lineage has no option {name:?}");
                    return Err(Error::new(Code::InvalidParameterValue, message).hint(format!("options are: {NAMES}")));
                }
            }
        }
        Ok(parsed)
    }
}

fn bytes(name: &str, text: &str) -> Result<u64> {
    let bytes = text.parse().ok().filter(|bytes| (1 << 10..=1 << 30).contains(bytes));
    bytes.ok_or_else(|| bad(name, text, "1024 to 1073741824"))
}

fn bad(name: &str, text: &str, allowed: &str) -> Error {
    Error::new(Code::InvalidParameterValue, format!("invalid value for option {name:?}: {text:?}"))
        .hint(format!("allowed: {allowed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, text: &str) -> Result<Options> {
        Options::parse(&BTreeMap::from([(name.to_owned(), text.to_owned())]))
    }

    #[test]
    fn options_are_read_and_bad_ones_are_named() {
        assert_eq!(parse("history", "none").unwrap().history, History::None);
        assert_eq!(parse("segment_rows", "4096").unwrap().segment_rows, 4096);
        assert_eq!(parse("bulk_bytes", "1024").unwrap().bulk_bytes, 1024);
        assert_eq!(parse("tail_bytes", "65536").unwrap().tail_bytes, Some(65536));
        for (name, text) in [("history", "some"), ("segment_rows", "100"), ("segment_rows", "8"), ("tail_bytes", "1")] {
            let error = parse(name, text).unwrap_err();
            assert!(error.message().contains(name) && error.hint_text().is_some(), "{error}");
        }
        assert!(parse("tail_byte", "4096").unwrap_err().hint_text().unwrap().contains("tail_bytes"));
    }
}
