//! The options of `CREATE TABLE ... USING row WITH (...)`.
//!
//! | option | meaning | default | allowed |
//! |---|---|---|---|
//! | `page_bytes` | length of a page | 8192 | 512 to 65536, a power of two |
//! | `changed_bytes` | pages and versions of so much memory are written | 16 MiB or less | 1 KiB to 1 GiB |

use std::collections::BTreeMap;

use weft_format::{Code, Error, Result};

/// Parsed options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// The length of a page.
    pub(super) page_bytes: usize,
    /// Pages that have changed and older versions are written and forgotten when they have this size; none: as the
    /// engine was opened.
    pub(super) changed_bytes: Option<u64>,
}

const NAMES: &str = "page_bytes, changed_bytes";
const PAGE_BYTES: usize = 8 << 10;

impl Options {
    /// Reads the options of WITH; an unknown or bad one is named with what is allowed.
    pub(super) fn parse(options: &BTreeMap<String, String>) -> Result<Options> {
        let mut parsed = Options { page_bytes: PAGE_BYTES, changed_bytes: None };
        for (name, text) in options {
            match name.as_str() {
                "page_bytes" => {
                    let bytes = text.parse().ok().filter(|bytes: &usize| (512..=1 << 16).contains(bytes));
                    let bytes = bytes.filter(|bytes| bytes.is_power_of_two());
                    parsed.page_bytes = bytes.ok_or_else(|| bad(name, text, "powers of two from 512 to 65536"))?;
                }
                "changed_bytes" => {
                    let bytes = text.parse().ok().filter(|bytes| (1 << 10..=1 << 30).contains(bytes));
                    parsed.changed_bytes = Some(bytes.ok_or_else(|| bad(name, text, "1024 to 1073741824"))?);
                }
                _ => {
                    let message = format!("method row has no option {name:?}");
                    return Err(Error::new(Code::InvalidParameterValue, message).hint(format!("options are: {NAMES}")));
                }
            }
        }
        Ok(parsed)
    }
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
        assert_eq!(parse("page_bytes", "512").unwrap().page_bytes, 512);
        assert_eq!(parse("changed_bytes", "65536").unwrap().changed_bytes, Some(65536));
        for (name, text) in [("page_bytes", "1000"), ("page_bytes", "256"), ("changed_bytes", "1")] {
            let error = parse(name, text).unwrap_err();
            assert!(error.message().contains(name) && error.hint_text().is_some(), "{error}");
        }
        assert!(parse("page", "4096").unwrap_err().hint_text().unwrap().contains("page_bytes"));
    }
}
