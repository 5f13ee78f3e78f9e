//! `weft nodes DIR`: who writes the database in DIR, and who follows.
//!
//! ```text
//!    name   | role   | address       | state     | position | lag_bytes | commit | silent_ms
//!   --------+--------+---------------+-----------+----------+-----------+--------+-----------
//!    writer | writer | pid 4711, ... | heard     |    90112 |         0 |   1042 |        61
//!    berlin | node   | 10.0.0.2:5432 | following |    90112 |         0 |   1042 |        40
//!    oslo   | node   | 10.0.0.3:5432 | silent    |    81920 |      8192 |   1007 |     91022
//! ```
//!
//! It asks nobody, so it works when the writer is gone: then the node with the highest position is the one to promote.
//!
//! 1. It writes nothing, and locks nothing.
//! 2. With `--check` it ends with 1 unless a writer is heard and every node that has registered follows.

use std::path::Path;

use weft::{Phase, Survey, WriterSurveyed};
use weft_bench::subcommand::Arguments;

use crate::failure::Failure;
use crate::print::{Format, Kind, Printer};

const COLUMNS: [(&str, Kind); 8] = [
    ("name", Kind::Text),
    ("role", Kind::Text),
    ("address", Kind::Text),
    ("state", Kind::Text),
    ("position", Kind::Number),
    ("lag_bytes", Kind::Number),
    ("commit", Kind::Number),
    ("silent_ms", Kind::Number),
];

/// Runs `weft nodes DIR`.
pub(crate) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let is_check = arguments.flag("--check");
    let format = arguments.option("--format")?.map_or(Ok(Format::Table), |word| Format::parse(&word))?;
    let dir = arguments.word().ok_or_else(|| Failure::Usage("nodes needs the directory of a database".into()))?;
    arguments.finish()?;
    let dir = Path::new(&dir);
    if !dir.join("CURRENT").exists() {
        return Err(Failure::Other(format!("{} holds no database: it has no file CURRENT", dir.display())));
    }
    let survey = weft::survey(dir)?;
    print(&survey, format).map_err(|error| Failure::io("cannot print", &error))?;
    let troubles = troubles(&survey);
    if is_check && !troubles.is_empty() {
        return Err(Failure::Other(troubles.join("; ")));
    }
    Ok(())
}

fn print(survey: &Survey, format: Format) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let columns = COLUMNS.iter().map(|&(name, kind)| (name.to_owned(), kind)).collect();
    let mut printer = Printer::new(format, columns);
    if let Some(writer) = &survey.writer {
        let row = [
            "writer".to_owned(),
            "writer".to_owned(),
            writer.by.clone(),
            writer_state(writer).to_owned(),
            writer.durable.0.to_string(),
            "0".to_owned(),
            writer.last.0.to_string(),
            writer.silent.as_millis().to_string(),
        ];
        printer.row(&mut out, row.map(Some).to_vec())?;
    }
    for node in &survey.nodes {
        let row = [
            node.name.clone(),
            "node".to_owned(),
            node.address.clone(),
            if node.is_heard { node.phase.name() } else { "silent" }.to_owned(),
            node.position.0.to_string(),
            node.lag_bytes.to_string(),
            node.published.0.to_string(),
            node.silent.as_millis().to_string(),
        ];
        printer.row(&mut out, row.map(Some).to_vec())?;
    }
    printer.end(&mut out)
}

fn writer_state(writer: &WriterSurveyed) -> &'static str {
    match (writer.is_heard, writer.is_closed) {
        (true, _) => "heard",
        (false, true) => "closed",
        (false, false) => "silent",
    }
}

/// What `--check` complains of.
fn troubles(survey: &Survey) -> Vec<String> {
    let mut troubles = Vec::new();
    match &survey.writer {
        None => troubles.push("no writer has announced anything".to_owned()),
        Some(writer) if !writer.is_heard => troubles.push(format!("the writer is {}", writer_state(writer))),
        Some(_) => {}
    }
    for node in &survey.nodes {
        if !node.is_heard {
            troubles.push(format!("node {} is silent for {} ms", node.name, node.silent.as_millis()));
        } else if node.phase != Phase::Following {
            troubles.push(format!("node {} is {}", node.name, node.phase.name()));
        }
    }
    troubles
}
