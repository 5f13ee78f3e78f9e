//! One shape measured: loading, bytes, queries, the same after a tenth of the documents was updated.
//!
//! ```text
//!   sensors.load 9.8 s · sensors.text 702 MB · sensors.database 70 MB · sensors.q2 31 ms · sensors.updated.q2 40 ms
//! ```

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use weft::{Database, Options, Rows, Value};
use weft_format::document::shapes::{Shape, Shapes};

use super::queries;
use crate::bench::line;
use crate::bench::median::median;
use crate::directory;
use crate::subcommand::Failure;

/// What is the same for all shapes.
pub(super) struct Suite {
    pub(super) count: u64,
    pub(super) rounds: u64,
    /// The queries that run; all without it.
    pub(super) only: Option<Vec<String>>,
    /// Documents that somebody has written.
    pub(super) file: Option<PathBuf>,
    /// Whether answers are printed.
    pub(super) shows: bool,
    pub(super) memory_limit_bytes: Option<u64>,
    pub(super) dir: PathBuf,
}

/// Writes documents, one on a line; how many bytes.
pub(super) fn write(shape: Shape, count: u64, file: &Path) -> Result<u64, Failure> {
    let wrong = |error: std::io::Error| Failure::io(format!("cannot write {}", file.display()), &error);
    let mut out = BufWriter::new(File::create(file).map_err(wrong)?);
    let mut shapes = Shapes::new(shape, 1);
    let mut bytes = 0;
    for _ in 0..count {
        let text = shapes.next_text();
        writeln!(out, "{text}").map_err(wrong)?;
        bytes += text.len() as u64 + 1;
    }
    out.flush().map_err(wrong)?;
    Ok(bytes)
}

impl Suite {
    /// Measures a shape in a database of its own.
    pub(super) fn run(&self, name: &str, shape: Shape) -> Result<(), Failure> {
        std::fs::create_dir_all(&self.dir).map_err(|error| Failure::io(self.dir.display(), &error))?;
        let own = self.dir.join(format!("{name}.json"));
        let file = self.file.clone().unwrap_or_else(|| own.clone());
        let bytes = match &self.file {
            Some(file) => file.metadata().map_err(|error| Failure::io(file.display(), &error))?.len(),
            None => write(shape, self.count, &file)?,
        };
        line::put(&format!("{name}.text"), bytes as f64 / 1e6, "MB");
        let dir = self.dir.join(name);
        let options = self.memory_limit_bytes.map(Options::with_memory_limit).unwrap_or_default();
        let database = Database::open_with(&dir, options)?;
        let mut session = database.session()?;
        session.execute("CREATE TABLE docs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, doc jsonb)")?;
        let begun = Instant::now();
        session.execute(&format!("COPY docs (doc) FROM '{}' (FORMAT json_document)", file.display()))?;
        line::put(&format!("{name}.load"), begun.elapsed().as_secs_f64(), "s");
        database.checkpoint()?;
        line::put(&format!("{name}.database"), directory::bytes(&dir)? as f64 / 1e6, "MB");
        self.queries(&database, name, shape)?;
        self.update(&database, name)?;
        self.queries(&database, &format!("{name}.updated"), shape)?;
        drop(session);
        database.close()?;
        directory::remove(&dir);
        if self.file.is_none() {
            let _ = std::fs::remove_file(own);
        }
        Ok(())
    }

    /// Each query's median, in milliseconds.
    fn queries(&self, database: &Database, name: &str, shape: Shape) -> Result<(), Failure> {
        let mut session = database.session()?;
        for (query, sql) in queries::of(shape) {
            if self.only.as_ref().is_some_and(|only| !only.iter().any(|known| known == query)) {
                continue;
            }
            let mut times = Vec::new();
            for round in 0..=self.rounds {
                let begun = Instant::now();
                let outcomes = session.execute(sql)?;
                let rows: Vec<String> = outcomes.iter().flat_map(|outcome| texts(&outcome.rows)).collect();
                let taken = begun.elapsed().as_secs_f64() * 1e3;
                if round > 0 {
                    times.push(taken);
                } else if self.shows {
                    rows.iter().for_each(|row| println!("{name}.{query}: {row}"));
                }
            }
            if !times.is_empty() {
                line::put(&format!("{name}.{query}"), median(times), "ms");
            }
        }
        Ok(())
    }

    /// Updates every tenth document by its key, each by itself.
    fn update(&self, database: &Database, name: &str) -> Result<(), Failure> {
        let mut session = database.session()?;
        let sql = "UPDATE docs SET doc = jsonb_set(doc, '{status}', '\"updated\"') WHERE id = $1";
        let prepared = session.prepare(sql)?;
        let (begun, mut done) = (Instant::now(), 0);
        for id in (1..=self.count as i64).step_by(10) {
            session.execute_prepared(&prepared, &[Value::Int(id)])?;
            done += 1;
        }
        line::put(&format!("{name}.updates"), f64::from(done) / begun.elapsed().as_secs_f64(), "1/s");
        Ok(())
    }
}

/// The rows of an answer, values with ` | ` between them.
fn texts(rows: &Rows) -> Vec<String> {
    let row = |row| {
        let values = (0..rows.width()).map(|column| match rows.value(row, column) {
            Value::Text(text) => text.to_string(),
            Value::Float(value) => format!("{value}"),
            Value::Int(value) => format!("{value}"),
            other => format!("{other:?}"),
        });
        values.collect::<Vec<_>>().join(" | ")
    };
    (0..rows.len()).map(row).collect()
}
