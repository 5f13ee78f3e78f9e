//! The shell: statements from the command line, from files, from standard input or from a person.
//!
//! ```text
//!   -c, -f, standard input ── split ──▶ one statement ──▶ Session::execute ──▶ print
//!   a terminal ── interactive (history, several lines until ;) ─┘   └─ meta (\d \timing \q ...)
//! ```
//!
//! 1. A script stops at its first failing statement, with exit code 1; a person goes on.
//! 2. Results are printed statement by statement, so what was printed before an error did happen.

mod interactive;
mod interrupt;
mod limit;
mod meta;
mod split;

use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use weft::{Database, Options, Session};

use crate::args::{Arguments, Script};
use crate::failure::Failure;
use crate::print::{self, Format};

pub(crate) use interrupt::Interrupts;

/// One running shell.
pub(crate) struct Shell {
    database: Database,
    session: Session,
    format: Format,
    timing: bool,
    interrupts: Interrupts,
}

/// `weft [DIR] [-c SQL] [-f FILE] [--format ...] [--memory-limit SIZE]`.
pub(crate) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let scripts = arguments.scripts()?;
    let format = match arguments.option("--format")? {
        Some(word) => Format::parse(&word)?,
        None => Format::Table,
    };
    let options = match arguments.bytes("--memory-limit")? {
        Some(limit_bytes) => {
            limit::return_freed_memory()?;
            Options::with_memory_limit(limit_bytes)
        }
        None => Options::default(),
    };
    let dir = arguments.word();
    arguments.finish()?;
    let place = Place::new(dir)?;
    let database = Database::open_with(&place.dir, options)?;
    let session = database.session()?;
    let interrupts = Interrupts::new(session.cancel_token());
    let mut shell = Shell { database, session, format, timing: false, interrupts };
    let result = shell.run(&scripts, &place);
    let closed = shell.finish();
    result.and(closed)
}

impl Shell {
    fn run(&mut self, scripts: &[Script], place: &Place) -> Result<(), Failure> {
        for script in scripts {
            let text = match script {
                Script::Text(text) => text.clone(),
                Script::File(file) => read_script(file)?,
            };
            self.run_script(&text)?;
        }
        if !scripts.is_empty() {
            return Ok(());
        }
        if io::stdin().is_terminal() {
            return interactive::run(self, place.is_temporary());
        }
        self.run_script(&read_script("-")?)
    }

    /// Runs statements and backslash commands up to the first failure, which is printed.
    fn run_script(&mut self, script: &str) -> Result<(), Failure> {
        for piece in split::pieces(script) {
            let done = match piece {
                split::Piece::Statement(text) => self.run_statement(text),
                split::Piece::Command(line) => meta::run(self, line).map(|_| true)?,
            };
            if !done {
                return Err(Failure::Reported);
            }
        }
        Ok(())
    }

    /// Runs one statement and prints its result or its error; false after an error.
    fn run_statement(&mut self, text: &str) -> bool {
        let begun = Instant::now();
        let result = self.interrupts.during(|| self.session.execute(text));
        let elapsed = begun.elapsed();
        let mut out = io::stdout().lock();
        let good = match result {
            Ok(outcomes) => outcomes.iter().all(|outcome| print::print_outcome(&mut out, outcome, self.format).is_ok()),
            Err(error) => {
                let _ = out.flush();
                eprint!("{}", print::error_text(&error, Some(text)));
                false
            }
        };
        if self.timing {
            let _ = writeln!(out, "Time: {:.3} ms", elapsed.as_secs_f64() * 1e3);
        }
        let _ = out.flush();
        good
    }

    fn finish(self) -> Result<(), Failure> {
        drop(self.session);
        Ok(self.database.close()?)
    }
}

/// The directory of the database: the one that was named, or one that goes when the shell ends.
struct Place {
    dir: PathBuf,
    temporary: bool,
}

impl Place {
    fn new(dir: Option<String>) -> Result<Place, Failure> {
        match dir {
            Some(dir) => Ok(Place { dir: dir.into(), temporary: false }),
            None => Ok(Place { dir: temporary_dir("shell"), temporary: true }),
        }
    }

    fn is_temporary(&self) -> bool {
        self.temporary
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.temporary {
            remove_dir(&self.dir);
        }
    }
}

/// A directory of this process under the system's folder for temporary files; not created here.
pub(crate) fn temporary_dir(purpose: &str) -> PathBuf {
    std::env::temp_dir().join(format!("weft-{purpose}-{}", std::process::id()))
}

/// Removes a directory that this process made; what cannot be removed stays.
pub(crate) fn remove_dir(dir: &Path) {
    let _ = std::fs::remove_dir_all(dir);
}

fn read_script(file: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = if file == "-" {
        io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(file).map(|found| bytes = found)
    };
    read.map_err(|error| Failure::io(format!("cannot read {file}"), &error))?;
    String::from_utf8(bytes).map_err(|error| Failure::Other(format!("{file} is not UTF-8: {error}")))
}
