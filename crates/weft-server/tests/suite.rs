//! The SQL suite over the wire: the same files, the same answers, once as text and once as bytes.
//!
//! ```text
//!   text     Query, values as they come
//!   binary   Parse Bind Execute Sync, every column in its binary form, read back and printed in the style that
//!            ParameterStatus tells
//! ```

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test reads its files")]

mod wire;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqllogictest::{DB, DBOutput, DefaultColumnType, Record, Runner};
use weft::{DataType, Style, value_text_in};
use wire::{Message, TestServer, Wire, type_of};

#[test]
fn as_text() {
    run("wire", false);
}

#[test]
fn as_bytes() {
    run("wire_binary", true);
}

/// A connection of the suite.
struct Client {
    wire: Wire,
    binary: bool,
    /// What the server says of its session's style.
    style: Style,
}

/// What a server said: its SQLSTATE, and the text.
#[derive(Debug)]
struct Refused(String, String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.1, self.0)
    }
}

impl std::error::Error for Refused {}

impl Client {
    fn answers(&mut self, sql: &str) -> Vec<Message> {
        let messages = self.asked(sql);
        for message in messages.iter().filter(|message| message.tag == b'S') {
            let text = String::from_utf8(message.body.clone()).unwrap();
            let mut parts = text.split('\0');
            let (name, value) = (parts.next().unwrap(), parts.next().unwrap());
            match name {
                "TimeZone" => self.style.set_zone(value).unwrap(),
                "DateStyle" => self.style.set_date_style(value).unwrap(),
                "IntervalStyle" => self.style.set_interval_style(value).unwrap(),
                _ => {}
            }
        }
        messages
    }

    fn asked(&mut self, sql: &str) -> Vec<Message> {
        if self.binary {
            self.wire.parse("", sql, &[]).bind("", "", &[], 1).describe(b'P', "").execute("", 0).sync().answers()
        } else {
            self.wire.query(sql).answers()
        }
    }

    fn shown(&self, bytes: &[u8], data_type: DataType) -> String {
        if !self.binary {
            return String::from_utf8(bytes.to_vec()).unwrap();
        }
        value_text_in(&weft_sql::binary::read(bytes, data_type).unwrap(), data_type, &self.style).unwrap()
    }
}

impl DB for Client {
    type Error = Refused;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Refused> {
        let messages = self.answers(sql);
        if let Some(error) = messages.iter().find(|message| message.tag == b'E') {
            let more = |tag, name: &str| error.field(tag).map(|text| format!("; {name}: {text}")).unwrap_or_default();
            let text = error.field(b'M').unwrap() + &more(b'D', "detail") + &more(b'H', "hint");
            return Err(Refused(error.field(b'C').unwrap(), text));
        }
        let Some(columns) = messages.iter().rfind(|message| message.tag == b'T') else {
            let tag = messages.iter().rfind(|message| message.tag == b'C').map(|message| &message.body[..]);
            let words = String::from_utf8_lossy(tag.unwrap_or_default()).trim_end_matches('\0').to_owned();
            let count = words.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
            return Ok(DBOutput::StatementComplete(count));
        };
        let types: Vec<DataType> =
            columns.columns().iter().map(|(_, oid, modifier)| type_of(*oid, *modifier)).collect();
        let text = |(value, data_type): (Option<Vec<u8>>, &DataType)| match value {
            None => "NULL".to_owned(),
            Some(bytes) => match self.shown(&bytes, *data_type) {
                empty if empty.is_empty() => "(empty)".to_owned(),
                shown => shown,
            },
        };
        let rows = messages.iter().filter(|message| message.tag == b'D');
        let rows = rows.map(|row| row.values().into_iter().zip(&types).map(text).collect()).collect();
        Ok(DBOutput::Rows { types: types.iter().map(|data_type| column_type(*data_type)).collect(), rows })
    }

    fn engine_name(&self) -> &str {
        "weft"
    }

    fn error_sql_state(error: &Refused) -> Option<String> {
        Some(error.0.clone())
    }
}

fn column_type(data_type: DataType) -> DefaultColumnType {
    match data_type {
        DataType::SmallInt | DataType::Integer | DataType::BigInt => DefaultColumnType::Integer,
        DataType::Real | DataType::DoublePrecision | DataType::Numeric { .. } => DefaultColumnType::FloatingPoint,
        _ => DefaultColumnType::Text,
    }
}

fn suite() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/slt");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "slt"));
    files.sort();
    assert!(files.len() > 10, "the suite has more than {} files", files.len());
    files
}

fn run(label: &str, binary: bool) {
    let only = std::env::var("WEFT_SLT").ok();
    let (mut records, mut failures) = (0, Vec::new());
    for file in suite() {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let server = Arc::new(TestServer::start());
        let mut runner = Runner::new(|| {
            let client = Client { wire: server.connect(), binary, style: Style::default() };
            async move { Ok(client) }
        });
        runner.add_label(label);
        runner.set_var("DIR".to_owned(), server.dir.path().to_string_lossy().into_owned());
        for record in sqllogictest::parse_file::<DefaultColumnType>(&file).unwrap() {
            records += usize::from(matches!(record, Record::Statement { .. } | Record::Query { .. }));
            if let Err(error) = runner.run(record) {
                failures.push(error.display(false).to_string());
            }
        }
    }
    println!("{records} records as {label}");
    let count = failures.len();
    assert!(count == 0, "{count} of {records} records fail as {label}:\n{}", failures.join("\n"));
}
