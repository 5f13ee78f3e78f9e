//! The data: five CSV files of flights from New York in 2013, read into typed rows.
//!
//! ```text
//!   airlines.csv   9E,Endeavor Air Inc.                              2 columns, key carrier
//!   flights.csv.gz 2013,1,1,517,515,2,830,819,11,UA,1545,...         19 columns, key of seven of them; NA is NULL
//! ```

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringViewArray, TimestampMicrosecondArray};
use arrow::datatypes::{Field, Schema};
use flate2::read::GzDecoder;
use weft::{DataType, Value};

use crate::subcommand::Failure;

/// One file and the table it becomes.
pub(super) struct TableSpec {
    /// Name of the table.
    pub(super) name: &'static str,
    file: &'static str,
    /// Columns in the order of the file.
    pub(super) columns: &'static [(&'static str, DataType)],
    /// Key columns.
    pub(super) key: &'static [&'static str],
}

const I: DataType = DataType::Integer;
const F: DataType = DataType::DoublePrecision;
const T: DataType = DataType::Text;
const Z: DataType = DataType::TimestampTz;

/// The columns of `flights` and `live_flights`.
pub(super) const FLIGHT_COLUMNS: &[(&str, DataType)] = &[
    ("year", I),
    ("month", I),
    ("day", I),
    ("dep_time", I),
    ("sched_dep_time", I),
    ("dep_delay", I),
    ("arr_time", I),
    ("sched_arr_time", I),
    ("arr_delay", I),
    ("carrier", T),
    ("flight", I),
    ("tailnum", T),
    ("origin", T),
    ("dest", T),
    ("air_time", I),
    ("distance", I),
    ("hour", I),
    ("minute", I),
    ("time_hour", Z),
];

/// The key of `flights` and `live_flights`.
pub(super) const FLIGHT_KEY: &[&str] = &["year", "month", "day", "carrier", "flight", "origin", "sched_dep_time"];

/// All tables that are loaded before the replay; flights last.
pub(super) const TABLES: &[TableSpec] = &[
    TableSpec { name: "airlines", file: "airlines.csv", columns: &[("carrier", T), ("name", T)], key: &["carrier"] },
    TableSpec {
        name: "airports",
        file: "airports.csv",
        columns: &[("faa", T), ("name", T), ("lat", F), ("lon", F), ("alt", I), ("tz", I), ("dst", T), ("tzone", T)],
        key: &["faa"],
    },
    TableSpec {
        name: "planes",
        file: "planes.csv",
        columns: &[
            ("tailnum", T),
            ("year", I),
            ("type", T),
            ("manufacturer", T),
            ("model", T),
            ("engines", I),
            ("seats", I),
            ("speed", I),
            ("engine", T),
        ],
        key: &["tailnum"],
    },
    TableSpec {
        name: "weather",
        file: "weather.csv.gz",
        columns: &[
            ("origin", T),
            ("year", I),
            ("month", I),
            ("day", I),
            ("hour", I),
            ("temp", F),
            ("dewp", F),
            ("humid", F),
            ("wind_dir", I),
            ("wind_speed", F),
            ("wind_gust", F),
            ("precip", F),
            ("pressure", F),
            ("visib", F),
            ("time_hour", Z),
        ],
        key: &["origin", "time_hour"],
    },
    TableSpec { name: "flights", file: "flights.csv.gz", columns: FLIGHT_COLUMNS, key: FLIGHT_KEY },
];

/// Where a column of `flights` stands.
pub(super) fn flight_column(name: &str) -> usize {
    FLIGHT_COLUMNS.iter().position(|column| column.0 == name).expect("only columns of FLIGHT_COLUMNS are asked for")
}

impl TableSpec {
    /// The statement that makes the table, or one like it under another name.
    pub(super) fn create(&self, name: &str) -> String {
        let columns: Vec<String> = self.columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
        format!("CREATE TABLE {name} ({}, PRIMARY KEY ({}))", columns.join(", "), self.key.join(", "))
    }

    /// Reads at most `rows_max` rows of the table's file.
    pub(super) fn read(&self, dir: &Path, rows_max: usize) -> Result<Vec<Vec<Value>>, Failure> {
        let path = dir.join(self.file);
        let wrong = |what: String| Failure::Other(format!("{}: {what}", path.display()));
        let file = File::open(&path).map_err(|error| wrong(error.to_string()))?;
        let bytes: Box<dyn Read> =
            if self.file.ends_with(".gz") { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
        let mut reader = csv::Reader::from_reader(bytes);
        let header = reader.headers().map_err(|error| wrong(error.to_string()))?;
        if !header.iter().eq(self.columns.iter().map(|column| column.0)) {
            return Err(wrong(format!("the columns {header:?} are not those of {}", self.name)));
        }
        let mut rows = Vec::new();
        for record in reader.records().take(rows_max) {
            let record = record.map_err(|error| wrong(error.to_string()))?;
            let values = record.iter().zip(self.columns).map(|(text, column)| value_of(text, column.1));
            rows.push(values.collect::<Result<Vec<_>, _>>().map_err(|text| wrong(format!("cannot read {text}")))?);
        }
        Ok(rows)
    }

    /// Rows as one Arrow batch with the table's columns.
    pub(super) fn batch(&self, rows: &[Vec<Value>]) -> RecordBatch {
        let fields: Vec<Field> =
            self.columns.iter().map(|(name, kind)| Field::new(*name, kind.arrow(), !self.key.contains(name))).collect();
        let arrays: Vec<ArrayRef> = (0..self.columns.len()).map(|at| array(rows, at, self.columns[at].1)).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("every array has the type of its field")
    }
}

fn value_of(text: &str, data_type: DataType) -> Result<Value, String> {
    if text == "NA" {
        return Ok(Value::Null);
    }
    match data_type {
        DataType::Text => Ok(Value::Text(text.into())),
        DataType::Integer => text.parse().map(Value::Int).map_err(|_| format!("{text} as an integer")),
        DataType::DoublePrecision => text.parse().map(Value::Float).map_err(|_| format!("{text} as a number")),
        _ => utc_micros(text).map(Value::Int).ok_or_else(|| format!("{text} as a time")),
    }
}

/// `2013-01-01T10:00:00Z` as microseconds since 1970.
fn utc_micros(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    if text.len() != 20 || !text.ends_with('Z') {
        return None;
    }
    let seconds = number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    Some((days_from_civil(number(0, 4)?, number(5, 7)?, number(8, 10)?) * 86_400 + seconds) * 1_000_000)
}

/// Days since 1970-01-01 of a date of the Gregorian calendar.
pub(super) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn array(rows: &[Vec<Value>], at: usize, data_type: DataType) -> ArrayRef {
    let integer = |row: &Vec<Value>| match &row[at] {
        Value::Int(v) => Some(*v),
        _ => None,
    };
    match data_type {
        DataType::Text => Arc::new(StringViewArray::from_iter(rows.iter().map(|row| match &row[at] {
            Value::Text(v) => Some(&**v),
            _ => None,
        }))),
        DataType::DoublePrecision => Arc::new(Float64Array::from_iter(rows.iter().map(|row| match row[at] {
            Value::Float(v) => Some(v),
            _ => None,
        }))),
        DataType::Integer => Arc::new(Int32Array::from_iter(rows.iter().map(|row| integer(row).map(|v| v as i32)))),
        _ => Arc::new(TimestampMicrosecondArray::from_iter(rows.iter().map(integer)).with_timezone("UTC")),
    }
}

/// The folder of the data: the one that was named, the one beside the sources, or the one beside the working directory.
pub(super) fn find_data(named: Option<String>) -> Result<PathBuf, Failure> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/nycflights13");
    let candidates = match named {
        Some(dir) => vec![PathBuf::from(dir)],
        None => vec![PathBuf::from("data/nycflights13"), sources],
    };
    match candidates.iter().find(|dir| dir.join("flights.csv.gz").is_file()) {
        Some(dir) => Ok(dir.clone()),
        None => Err(Failure::Other(format!(
            "flights.csv.gz is not in {}; name its folder with --data",
            candidates.last().expect("there is at least one candidate").display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_from_1970() {
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(days_from_civil(2000, 3, 1), 11_017);
        assert_eq!(days_from_civil(1969, 12, 31), -1);
        assert_eq!(utc_micros("2013-01-01T10:00:00Z"), Some(1_357_034_400_000_000));
        assert_eq!(utc_micros("2013-01-01 10:00:00Z"), Some(1_357_034_400_000_000));
        assert_eq!(utc_micros("2013-01-01"), None);
    }

    #[test]
    fn reads_the_files_of_the_project() {
        let dir = find_data(None).unwrap();
        let rows: Vec<usize> = TABLES.iter().map(|table| table.read(&dir, 5_000).unwrap().len()).collect();
        assert_eq!(rows, [16, 1_458, 3_322, 5_000, 5_000]);
        let flights = &TABLES[4];
        let rows = flights.read(&dir, 3).unwrap();
        assert_eq!(rows[0][flight_column("dep_delay")], Value::Int(2));
        let batch = flights.batch(&rows);
        assert_eq!((batch.num_rows(), batch.num_columns()), (3, 19));
    }
}
