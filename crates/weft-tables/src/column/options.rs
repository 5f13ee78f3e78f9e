//! The options of `CREATE TABLE ... USING column WITH (...)`.
//!
//! | option | meaning | default | allowed |
//! |---|---|---|---|
//! | `row_table_bytes` | a row table of this size is frozen | the engine's | 1 KiB to 1 GiB |
//! | `column_table_bytes` | about the size of a column table's file | 4 MiB | 4 KiB to 1 GiB, at most T |
//! | `bucket_bytes` | T: a bucket with more is merged into its baseline | 16 MiB | 4 KiB to 4 GiB, below G |
//! | `granularity_bytes` | G: the most bytes of one job's inputs | 64 MiB | 8 KiB to 16 GiB |
//! | `incremental_bytes` | so many bytes of incremental tables are collected into buckets | 32 MiB | 4 KiB to 16 GiB |
//! | `bulk_bytes` | statements with more, as row tables count, build column tables at once | 4 MiB | 1 KiB to 1 GiB |
//! | `bloom_columns` | columns that get a Bloom filter besides the key, separated by commas | none | names |
//! | `dead_percent` | a bucket or a baseline table with more dead rows is rewritten | 15 | 1 to 90 |
//! | `overlap_max` | more column tables of one layer than this over one key are merged | 12 | 2 to 1000 |
//! | `compaction` | `fine`: by buckets; `whole`: incremental tables go straight into all baseline under them | fine | |
//! | `conflict` | `mark`: a write ends what it replaces; `antimatter`: who reads or converts later does | mark | |
//! | `history` | how long what was is kept, from the opening on | `none` | `all`, `none`, an interval |
//! | `incremental` | row tables freeze at their size, `rows`: when memory asks; `columns`: are encoded | fine | |
//!
//! ```text
//!   column_table_bytes 4 KiB ≤ T 8 KiB, T + column_table_bytes ≤ G 32 KiB      G − T: the most baseline of a bucket
//! ```
//!
//! Sizes that are not given follow those that are: T is G / 4, G is 4 T and at least 64 MiB, a column
//! table at most T / 2.
//!
//! The default of `incremental_bytes` is G / 2: a table of 1 GiB has some 30 buckets, and a collection of 32 MiB leaves
//! 1 MiB in each; collected earlier, the pieces would be many small files, collected later, a lookup would ask more
//! tables that cover everything.

use std::collections::BTreeMap;

use weft_format::{Code, Error, Result, Schema};
use weft_kernel::History;

/// How incremental tables reach the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// Through the buckets of the transition layer.
    Fine,
    /// In one job, with all baseline tables that they overlap (the traditional way, to compare with).
    Whole,
}

/// When row tables become column tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incremental {
    /// At `row_table_bytes`.
    Fine,
    /// Only when memory or a checkpoint asks (to compare with).
    Rows,
    /// At `row_table_bytes`, and until then their rows are encoded in memory by every commit (to compare with).
    Columns,
}

/// When the version that a whole row replaces is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// When the row is written (merge on write).
    Mark,
    /// When it is read or converted (merge on read).
    Antimatter,
}

/// Parsed options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// A row table of about this size is frozen, bytes; none: as the engine was opened.
    pub row_table_bytes: Option<u64>,
    /// Files are cut at about this size, bytes.
    pub column_table_bytes: u64,
    /// T: a bucket with more in its transition tables is merged with the baseline under it, bytes.
    pub bucket_bytes: u64,
    /// G: the most that one job reads, bytes.
    pub granularity_bytes: u64,
    /// Incremental column tables of so many bytes are collected into buckets.
    pub incremental_bytes: u64,
    /// A statement with more, as row tables count it, builds column tables at once, bytes.
    pub bulk_bytes: u64,
    /// Names of columns with a Bloom filter of their own.
    pub bloom_columns: Vec<String>,
    /// A bucket or a baseline table with more dead rows is rewritten, percent of its rows.
    pub dead_percent: u64,
    /// More column tables of one layer than this over one key are merged.
    pub overlap_max: usize,
    /// How incremental tables reach the baseline.
    pub compaction: Compaction,
    /// When row tables become column tables.
    pub incremental: Incremental,
    /// When the version that a whole row replaces is looked for.
    pub conflict: Conflict,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            row_table_bytes: None,
            column_table_bytes: COLUMN_TABLE_BYTES,
            bucket_bytes: BUCKET_BYTES,
            granularity_bytes: GRANULARITY_BYTES,
            incremental_bytes: GRANULARITY_BYTES / 2,
            bulk_bytes: BULK_BYTES,
            bloom_columns: Vec::new(),
            dead_percent: 15,
            overlap_max: 12,
            compaction: Compaction::Fine,
            incremental: Incremental::Fine,
            conflict: Conflict::Mark,
        }
    }
}

const NAMES: &str = "row_table_bytes, column_table_bytes, bucket_bytes, granularity_bytes, incremental_bytes, \
                     bulk_bytes, bloom_columns, dead_percent, overlap_max, compaction, incremental, conflict, history";

const BULK_BYTES: u64 = 4 << 20;
const COLUMN_TABLE_BYTES: u64 = 4 << 20;
const BUCKET_BYTES: u64 = 16 << 20;
const GRANULARITY_BYTES: u64 = 64 << 20;

/// The sizes that were given.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    column_table: Option<u64>,
    bucket: Option<u64>,
    granularity: Option<u64>,
    incremental: Option<u64>,
}

impl Options {
    /// Reads the options of WITH; an unknown or bad one is named with what is allowed.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<Options> {
        let mut parsed = Options::default();
        let mut sizes = Sizes::default();
        for (name, text) in options {
            match name.as_str() {
                "row_table_bytes" => parsed.row_table_bytes = Some(number(name, text, 1 << 10, 1 << 30)?),
                "column_table_bytes" => sizes.column_table = Some(number(name, text, 4 << 10, 1 << 30)?),
                "bucket_bytes" => sizes.bucket = Some(number(name, text, 4 << 10, 4 << 30)?),
                "granularity_bytes" => sizes.granularity = Some(number(name, text, 8 << 10, 16 << 30)?),
                "incremental_bytes" => sizes.incremental = Some(number(name, text, 4 << 10, 16 << 30)?),
                "bulk_bytes" => parsed.bulk_bytes = number(name, text, 1 << 10, 1 << 30)?,
                History::OPTION => drop(History::parse(text)?),
                "dead_percent" => parsed.dead_percent = number(name, text, 1, 90)?,
                "overlap_max" => parsed.overlap_max = number(name, text, 2, 1000)? as usize,
                "compaction" => {
                    parsed.compaction = word(name, text, [("fine", Compaction::Fine), ("whole", Compaction::Whole)])?;
                }
                "incremental" => {
                    parsed.incremental = word(
                        name,
                        text,
                        [("fine", Incremental::Fine), ("rows", Incremental::Rows), ("columns", Incremental::Columns)],
                    )?;
                }
                "conflict" => {
                    let words = [("mark", Conflict::Mark), ("antimatter", Conflict::Antimatter)];
                    parsed.conflict = word(name, text, words)?;
                }
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
        parsed.set_sizes(sizes)?;
        Ok(parsed)
    }

    /// Derives the sizes that were not given from those that were, and tests how they stand to each other.
    fn set_sizes(&mut self, sizes: Sizes) -> Result<()> {
        let small_bucket = sizes.bucket.or(sizes.granularity.map(|granularity| granularity / 4));
        let column_table = sizes.column_table.unwrap_or_else(|| {
            small_bucket.map_or(COLUMN_TABLE_BYTES, |bucket| (bucket / 2).clamp(2 << 10, COLUMN_TABLE_BYTES))
        });
        let bucket = sizes.bucket.unwrap_or_else(|| {
            let bucket = sizes.granularity.map_or(BUCKET_BYTES, |granularity| (granularity / 4).min(BUCKET_BYTES));
            bucket.max(column_table)
        });
        let granularity = sizes.granularity.unwrap_or_else(|| (bucket * 4).max(GRANULARITY_BYTES));
        let small_incremental = granularity.min(bucket * 4) / 2;
        self.column_table_bytes = column_table;
        self.bucket_bytes = bucket;
        self.granularity_bytes = granularity;
        self.incremental_bytes = sizes.incremental.unwrap_or(small_incremental);
        if column_table > bucket {
            return Err(unfit(
                format!("bucket_bytes ({bucket}) is less than column_table_bytes ({column_table})"),
                format!("raise bucket_bytes to at least {column_table}, or lower column_table_bytes"),
            ));
        }
        if bucket + column_table > granularity {
            return Err(unfit(
                format!(
                    "granularity_bytes ({granularity}) is less than bucket_bytes ({bucket}) and column_table_bytes \
                     ({column_table}) together"
                ),
                format!("raise granularity_bytes to four times bucket_bytes ({}), or lower bucket_bytes", bucket * 4),
            ));
        }
        Ok(())
    }

    /// Smaller files have no summaries of their columns: where most rows are in such files, whoever plans has some of
    /// the rows looked at. A whole number of 4 KiB: where files are made tiny all have them.
    pub(crate) fn summaries_from_bytes(&self) -> usize {
        (self.column_table_bytes / 16) as usize & !0xfff
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

fn word<T: Copy, const N: usize>(name: &str, text: &str, words: [(&str, T); N]) -> Result<T> {
    let known = words.iter().find(|(known, _)| known.eq_ignore_ascii_case(text.trim()));
    known.map(|&(_, value)| value).ok_or_else(|| {
        Error::new(Code::InvalidParameterValue, format!("option {name} cannot be \"{text}\""))
            .hint(format!("{name} is one of {}", words.map(|(known, _)| known).join(", ")))
    })
}

fn unfit(message: String, hint: String) -> Error {
    Error::new(Code::InvalidParameterValue, message).hint(hint)
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

    fn all(options: &[(&str, &str)]) -> Result<Options> {
        Options::parse(&options.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn sizes_follow_each_other_and_must_fit() {
        let sizes = |options: &[(&str, &str)]| {
            let o = all(options).unwrap();
            [o.column_table_bytes, o.bucket_bytes, o.granularity_bytes, o.incremental_bytes].map(|bytes| bytes >> 10)
        };
        assert_eq!(sizes(&[]), [4096, 16384, 65536, 32768]);
        assert_eq!(Options::default().summaries_from_bytes(), 256 << 10);
        assert_eq!(sizes(&[("granularity_bytes", "32768")]), [4, 8, 32, 16]);
        assert_eq!(sizes(&[("bucket_bytes", "8192")]), [4, 8, 65536, 16]);
        assert_eq!(sizes(&[("column_table_bytes", "67108864")]), [65536, 65536, 262_144, 131_072]);
        assert_eq!(sizes(&[("column_table_bytes", "4096")]), [4, 16384, 65536, 32768]);
        for (options, named) in [
            (&[("column_table_bytes", "65536"), ("bucket_bytes", "8192")][..], "bucket_bytes"),
            (&[("bucket_bytes", "65536"), ("granularity_bytes", "65536")], "granularity_bytes"),
        ] {
            let error = all(options).unwrap_err();
            assert!(error.message().contains(named) && error.hint_text().is_some_and(|hint| hint.contains(named)));
        }
        assert_eq!(all(&[("compaction", "whole")]).unwrap().compaction, Compaction::Whole);
        assert_eq!(all(&[("conflict", "antimatter")]).unwrap().conflict, Conflict::Antimatter);
        assert!(all(&[("conflict", "blind")]).unwrap_err().hint_text().unwrap().contains("mark, antimatter"));
        assert_eq!(all(&[("incremental", "columns")]).unwrap().incremental, Incremental::Columns);
        assert!(all(&[("incremental", "tall")]).unwrap_err().hint_text().unwrap().contains("fine, rows, columns"));
    }
}
