//! TPC-H at scale 0.1: all 22 queries give the reference answers, also after every row was updated once.
//!
//! ```text
//!   tpchgen ── text ──▶ Arrow batches ── append ──▶ 8 tables ── q01.sql .. q22.sql ──▶ = answers/q01.csv ..
//!                                             └── UPDATE every row of every table ──▶ the same again, before and
//!                                                                                     after a checkpoint
//! ```
//!
//! The answers were computed by DuckDB on the same data (`tests/tpch/answers.py`). Averages are decimals here and
//! floats there, so fractions are compared up to the last digit that both have. Order is compared where the query
//! orders all rows; the queries do.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test reads its files")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tpchgen::csv::{CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use weft::arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringViewArray,
};
use weft::{DataType, Database, Session, TableDef, value_text};

/// Scale factor: 600,572 lines of orders.
const SCALE: f64 = 0.1;

/// Rows of a batch that is appended.
const BATCH_ROWS: usize = 65_536;

#[test]
fn all_queries_before_and_after_updating_every_row() {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::open(dir.path().join("db")).unwrap();
    let mut session = database.session().unwrap();
    session.execute(&read("schema.sql")).unwrap();
    let counts = load(&database, &mut session);
    check_answers(&mut session, "loaded");
    update_every_row(&database, &mut session, &counts);
    check_answers(&mut session, "updated");
    database.checkpoint().unwrap();
    check_answers(&mut session, "updated and converted");
    assert_eq!(database.check().unwrap(), Vec::<String>::new());
    drop(session);
    database.close().unwrap();
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tpch")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

macro_rules! rows {
    ($generator:ident, $csv:ident) => {{
        let generator = $generator::new(SCALE, 1, 1);
        let mut text = format!("{}\n", $csv::header());
        for row in generator.iter() {
            text.push_str(&$csv::new(row).to_string());
            text.push('\n');
        }
        text
    }};
}

/// A table's name, and what writes all its rows as CSV.
type Source = (&'static str, fn() -> String);

/// Appends all tables; gives their names and row counts.
fn load(database: &Database, session: &mut Session) -> Vec<(&'static str, u64)> {
    let tables: [Source; 8] = [
        ("region", || rows!(RegionGenerator, RegionCsv)),
        ("nation", || rows!(NationGenerator, NationCsv)),
        ("part", || rows!(PartGenerator, PartCsv)),
        ("supplier", || rows!(SupplierGenerator, SupplierCsv)),
        ("partsupp", || rows!(PartSuppGenerator, PartSuppCsv)),
        ("customer", || rows!(CustomerGenerator, CustomerCsv)),
        ("orders", || rows!(OrderGenerator, OrderCsv)),
        ("lineitem", || rows!(LineItemGenerator, LineItemCsv)),
    ];
    let defs = database.tables().unwrap();
    let mut counts = Vec::new();
    for (name, generate) in tables {
        let text = generate();
        if let Some(dir) = std::env::var_os("WEFT_TPCH_CSV") {
            std::fs::write(Path::new(&dir).join(format!("{name}.csv")), &text).unwrap();
        }
        let def = defs.iter().find(|def| def.name == name).unwrap();
        let batches = batches(def, &text);
        let count = session.append(name, &batches).unwrap();
        assert_eq!(count, batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>());
        counts.push((name, count));
    }
    assert_eq!(counts[7].1, 600_572, "lines of orders at scale 0.1");
    counts
}

/// CSV text as Arrow batches with the columns of a table.
fn batches(def: &TableDef, text: &str) -> Vec<RecordBatch> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let columns = def.schema.visible();
    let batch = |records: &[csv::StringRecord]| {
        let arrays = columns.iter().enumerate().map(|(at, c)| (c.name.as_str(), array(records, at, c.data_type)));
        RecordBatch::try_from_iter(arrays).unwrap()
    };
    records.chunks(BATCH_ROWS).map(batch).collect()
}

fn array(records: &[csv::StringRecord], at: usize, data_type: DataType) -> ArrayRef {
    let texts = records.iter().map(|record| &record[at]);
    match data_type {
        DataType::Integer => Arc::new(Int32Array::from_iter_values(texts.map(|text| text.parse::<i32>().unwrap()))),
        DataType::BigInt => Arc::new(Int64Array::from_iter_values(texts.map(|text| text.parse::<i64>().unwrap()))),
        DataType::Text => Arc::new(StringViewArray::from_iter_values(texts)),
        DataType::Date => Arc::new(Date32Array::from_iter_values(texts.map(days))),
        DataType::Numeric { precision, scale: 2 } => {
            let cents = Decimal128Array::from_iter_values(texts.map(cents));
            Arc::new(cents.with_precision_and_scale(precision, 2).unwrap())
        }
        other => panic!("TPC-H has no column of type {other}"),
    }
}

/// `12.34` as 1234, `12` as 1200: the generator writes two digits after the point or none.
fn cents(text: &str) -> i128 {
    let (digits, scale) = if text.contains('.') { (text.replace('.', ""), 1) } else { (text.to_owned(), 100) };
    digits.parse::<i128>().unwrap() * scale
}

/// `1995-03-15` as days since 1970.
fn days(text: &str) -> i32 {
    let part = |from: usize, to: usize| text[from..to].parse::<i32>().unwrap();
    let (year, month, day) = (part(0, 4), part(5, 7), part(8, 10));
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

/// Rewrites every row with itself: new versions of all rows, the same answers.
fn update_every_row(database: &Database, session: &mut Session, counts: &[(&str, u64)]) {
    for def in database.tables().unwrap() {
        let last = def.schema.visible().last().unwrap().name.clone();
        let outcome = session.execute(&format!("UPDATE {} SET {last} = {last}", def.name)).unwrap();
        let count = counts.iter().find(|(name, _)| *name == def.name).unwrap().1;
        assert_eq!(outcome[0].tag.row_count(), count, "{}", def.name);
        let left = session.execute(&format!("SELECT count(*) FROM {}", def.name)).unwrap()[0].single();
        assert_eq!(left, Some(weft::Value::Int(count as i64)), "{}", def.name);
    }
}

fn check_answers(session: &mut Session, state: &str) {
    let mut wrong = Vec::new();
    for number in 1..=22 {
        let name = format!("q{number:02}");
        if let Err(what) = check_answer(session, &name) {
            wrong.push(format!("{name}: {what}"));
        }
    }
    assert!(wrong.is_empty(), "{state}: {} of 22 queries fail\n{}", wrong.len(), wrong.join("\n"));
}

fn check_answer(session: &mut Session, name: &str) -> Result<(), String> {
    let outcomes = session.execute(&read(&format!("{name}.sql"))).map_err(|error| error.to_string())?;
    let text = read(&format!("answers/{name}.csv"));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let expected: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let found = &outcomes[0];
    if expected.len() != found.rows.len() {
        return Err(format!("{} rows, expected {}", found.rows.len(), expected.len()));
    }
    for (at, (row, want)) in found.rows.iter().zip(&expected).enumerate() {
        for (value, (column, want)) in row.iter().zip(found.columns.iter().zip(want)) {
            let have = value_text(value, column.data_type).unwrap_or_default();
            if !same(&have, want) {
                return Err(format!("row {at}, {}: {have}, expected {want}", column.name));
            }
        }
    }
    Ok(())
}

/// Equal as text, or as fractions up to the last digit that both have: averages are decimals here and floats there.
fn same(have: &str, want: &str) -> bool {
    let fraction = |text: &str| text.split_once('.').map_or(0, |(_, digits)| digits.len() as i32);
    let last_digit = 10f64.powi(-fraction(have).min(fraction(want)));
    match (have.parse::<f64>(), want.parse::<f64>()) {
        (Ok(number), Ok(wanted)) if have != want && last_digit < 1e-3 => (number - wanted).abs() <= last_digit,
        (Ok(number), Ok(wanted)) => number == wanted,
        _ => have == want,
    }
}

#[test]
fn different_answers_are_noticed() {
    assert!(same("25.537587", "25.537587116854997") && same("1995", "1995.0") && same("3774200.00", "3774200.00"));
    assert!(!same("25.537587", "25.537597") && !same("A", "B") && !same("", "0") && !same("147790", "147791"));
    assert!(!same("3774200.00", "3774200.01"));
    assert_eq!((days("1970-01-01"), days("1995-03-15")), (0, 9_204));
    assert_eq!((cents("-123.45"), cents("17")), (-12_345, 1_700));
}
