//! TPC-H at scale 0.1: all 22 queries give the reference answers, also after every row was updated once, and with
//! little memory.
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
//!
//! With little memory the same database is opened by processes of their own, one without a limit and one with: answers
//! are the same, and the peak of the second stays within 1.1 times its limit beside that of an empty database.
//! `WEFT_TEST_FULL=1` takes scale 1 (1 GB of text) and 256 MiB instead of scale 0.1 and 96 MiB.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test reads its files")]

mod process;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tpchgen::csv::{CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use weft::arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringViewArray,
};
use weft::{DataType, Database, Options, Session, TableDef, value_text};

/// Scale factor: 600,572 lines of orders.
const SCALE: f64 = 0.1;

/// Tables are loaded in pieces of about this part of scale 1.
const PIECE_SCALE: f64 = 0.1;

/// Rows of a batch that is appended.
const BATCH_ROWS: usize = 65_536;

#[test]
fn all_queries_before_and_after_updating_every_row() {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::open(dir.path().join("db")).unwrap();
    let mut session = database.session().unwrap();
    session.execute(&read("schema.sql")).unwrap();
    let counts = load(&database, &mut session, SCALE);
    assert_eq!(counts[7], ("lineitem", 600_572));
    check_answers(&mut session, "loaded");
    check_any_order(&mut session);
    update_every_row(&database, &mut session, &counts);
    check_answers(&mut session, "updated");
    database.checkpoint().unwrap();
    check_answers(&mut session, "updated and converted");
    assert_eq!(database.check().unwrap(), Vec::<String>::new());
    drop(session);
    database.close().unwrap();
}

/// The relations of each FROM in other orders: the same answers. What the slowest order takes beside the fastest is
/// said, not tested.
fn check_any_order(session: &mut Session) {
    for number in 1..=22_u64 {
        let name = format!("q{number:02}");
        let sql = read(&format!("{name}.sql"));
        let mut seconds = Vec::new();
        for seed in 0..5 {
            let shuffled = shuffled(&sql, 22 * seed + number);
            let begun = Instant::now();
            let answered = check_answer(session, &name, &shuffled);
            assert_eq!(answered, Ok(()), "{shuffled}");
            seconds.push(begun.elapsed().as_secs_f64());
        }
        let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let most = seconds.iter().copied().fold(0.0, f64::max);
        println!("{name}: {:.0} to {:.0} ms, {:.1} times", least * 1e3, most * 1e3, most / least);
    }
}

/// The lists behind FROM in an order by chance.
fn shuffled(sql: &str, seed: u64) -> String {
    let mut state = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let mut parts = sql.split("from ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let ends = [" where ", "\nwhere ", "\n  where ", "\n    where ", "\ngroup by ", " group by ", ")"];
        let end = ends.iter().filter_map(|end| part.find(end)).min().unwrap_or(part.len());
        let (list, rest) = part.split_at(end);
        let mut items: Vec<&str> = list.split(',').map(str::trim).collect();
        if !list.contains('(') && !list.contains("join") {
            for at in (1..items.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                items.swap(at, (state >> 33) as usize % (at + 1));
            }
            out.push_str(&format!("from {} {rest}", items.join(", ")));
        } else {
            out.push_str(&format!("from {part}"));
        }
    }
    out
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tpch")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

macro_rules! rows {
    ($generator:ident, $csv:ident) => {
        |scale, piece, pieces| {
            let mut text = format!("{}\n", $csv::header());
            for row in $generator::new(scale, piece, pieces).iter() {
                text.push_str(&$csv::new(row).to_string());
                text.push('\n');
            }
            text
        }
    };
}

/// A table's name, and what writes a piece of its rows as CSV, given the scale, the piece (from 1) and their number.
type Source = (&'static str, fn(f64, i32, i32) -> String);

/// Appends all tables; gives their names and row counts.
fn load(database: &Database, session: &mut Session, scale: f64) -> Vec<(&'static str, u64)> {
    let tables: [Source; 8] = [
        ("region", rows!(RegionGenerator, RegionCsv)),
        ("nation", rows!(NationGenerator, NationCsv)),
        ("part", rows!(PartGenerator, PartCsv)),
        ("supplier", rows!(SupplierGenerator, SupplierCsv)),
        ("partsupp", rows!(PartSuppGenerator, PartSuppCsv)),
        ("customer", rows!(CustomerGenerator, CustomerCsv)),
        ("orders", rows!(OrderGenerator, OrderCsv)),
        ("lineitem", rows!(LineItemGenerator, LineItemCsv)),
    ];
    let defs = database.tables().unwrap();
    let mut counts = Vec::new();
    for (name, generate) in tables {
        let def = defs.iter().find(|def| def.name == name).unwrap();
        let pieces = if ["region", "nation"].contains(&name) { 1 } else { (scale / PIECE_SCALE).ceil() as i32 };
        let mut count = 0;
        for piece in 1..=pieces {
            let text = generate(scale, piece, pieces);
            if let Some(dir) = std::env::var_os("WEFT_TPCH_CSV") {
                std::fs::write(Path::new(&dir).join(format!("{name}.{piece}.csv")), &text).unwrap();
            }
            let batches = batches(def, &text);
            let appended = session.append(name, &batches).unwrap();
            assert_eq!(appended, batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>());
            count += appended;
        }
        counts.push((name, count));
    }
    counts
}

/// CSV text as Arrow batches with the columns of a table.
fn batches(def: &TableDef, text: &str) -> Vec<RecordBatch> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let columns: Vec<_> = def.schema.visible().map(|(_, column)| column).collect();
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
        let last = def.schema.visible().next_back().unwrap().1.name.clone();
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
        if let Err(what) = check_answer(session, &name, &read(&format!("{name}.sql"))) {
            wrong.push(format!("{name}: {what}"));
        }
    }
    assert!(wrong.is_empty(), "{state}: {} of 22 queries fail\n{}", wrong.len(), wrong.join("\n"));
}

fn check_answer(session: &mut Session, name: &str, sql: &str) -> Result<(), String> {
    let outcomes = session.execute(sql).map_err(|error| error.to_string())?;
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
fn all_queries_with_little_memory() {
    let full = std::env::var_os("WEFT_TEST_FULL").is_some();
    let (scale, limit_bytes) = if full { (1.0, 256 << 20) } else { (SCALE, 96 << 20) };
    let Some(role) = std::env::var_os("WEFT_TPCH_ROLE") else {
        let dir = tempfile::tempdir().unwrap();
        for role in ["load", "unlimited", "limited"] {
            let mut child = process::child("all_queries_with_little_memory");
            child.env("WEFT_TPCH_ROLE", role).current_dir(&dir);
            assert!(child.status().unwrap().success(), "{role}: the child says why");
        }
        return;
    };
    let limited = role == "limited";
    let options = if limited { Options::with_memory_limit(limit_bytes) } else { Options::default() };
    process::load_program();
    let empty = {
        let database = Database::open_with("empty", options.clone()).unwrap();
        let mut session = database.session().unwrap();
        session.execute("SELECT count(*), sum(g) FROM generate_series(1, 1000) t(g)").unwrap();
        drop(session);
        database.close().unwrap();
        process::peak_bytes()
    };
    let database = Database::open_with("db", options).unwrap();
    let mut session = database.session().unwrap();
    if role == "load" {
        session.execute(&read("schema.sql")).unwrap();
        load(&database, &mut session, scale);
        return;
    }
    let mut different = Vec::new();
    for state in ["loaded", "changed"] {
        for number in 1..=22 {
            let (name, file) = (format!("q{number:02}"), format!("{state}-{number}"));
            let begun = std::time::Instant::now();
            let answer = answer(&mut session, &name).unwrap_or_else(|error| {
                assert!(limited, "{name} fails without a limit: {error}");
                error.to_string()
            });
            let took = begun.elapsed().as_secs_f64();
            println!("{role:?} {state} {name}: {took:.2} s, peak {} MiB", (process::peak_bytes() - empty) >> 20);
            if limited {
                let expected = std::fs::read_to_string(&file).unwrap();
                if answer != expected {
                    let line = answer.lines().zip(expected.lines()).find(|(have, want)| have != want);
                    different.push(format!("{state} {name}: {line:?}"));
                }
            } else {
                std::fs::write(file, answer).unwrap();
            }
        }
        // The limited process finds the changes of the one before it, and changes the rows again: same answers.
        for part in 0..20 {
            let lines = format!("UPDATE lineitem SET l_tax = l_tax WHERE l_orderkey % 1000 = {part}");
            session.execute(&lines).unwrap();
            session.execute(&format!("UPDATE orders SET o_clerk = o_clerk WHERE o_orderkey % 1000 = {part}")).unwrap();
        }
    }
    assert!(different.is_empty(), "{} of 44 answers differ\n{}", different.len(), different.join("\n"));
    let used = process::peak_bytes() - empty;
    println!("{role:?}: peak {} MiB beside {} MiB of an empty database", used >> 20, empty >> 20);
    assert!(!limited || used * 10 <= limit_bytes * 11, "{used} bytes are more than 1.1 times {limit_bytes}");
}

/// A query's rows as text.
fn answer(session: &mut Session, name: &str) -> Result<String, weft::Error> {
    let outcomes = session.execute(&read(&format!("{name}.sql")))?;
    let columns = outcomes[0].columns.clone();
    let lines = outcomes[0].rows.iter().map(|row| {
        let values = row.iter().zip(columns.iter());
        let texts = values.map(|(value, column)| value_text(value, column.data_type).unwrap_or_default());
        texts.collect::<Vec<_>>().join("|")
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn different_answers_are_noticed() {
    assert!(same("25.537587", "25.537587116854997") && same("1995", "1995.0") && same("3774200.00", "3774200.00"));
    assert!(!same("25.537587", "25.537597") && !same("A", "B") && !same("", "0") && !same("147790", "147791"));
    assert!(!same("3774200.00", "3774200.01"));
    assert_eq!((days("1970-01-01"), days("1995-03-15")), (0, 9_204));
    assert_eq!((cents("-123.45"), cents("17")), (-12_345, 1_700));
}
