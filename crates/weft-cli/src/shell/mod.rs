//! The shell: statements from the command line, from files, from standard input or from a person.
//!
//! ```text
//!   -c, -f, standard input ── split ──▶ one statement ──▶ link (a directory, or a server) ──▶ print
//!   a terminal ── interactive (history, several lines until ;) ─┘   └─ meta (\d \timing \q ...)
//! ```
//!
//! 1. A script stops at its first failing statement, with exit code 1; a person goes on.
//! 2. Results are printed statement by statement, so what was printed before an error did happen.

mod interactive;
mod interrupt;
mod link;
mod meta;
mod scripts;
mod split;
mod statements;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use weft::{Code, Database, Options};
use weft_bench::subcommand::Arguments;
use weft_server::client::{Client, Target};

use crate::failure::Failure;
use crate::print::Format;
use link::Link;
use scripts::Script;
use statements::Shell;

pub(crate) use interrupt::Interrupts;
pub(crate) use link::client_error_text;

/// `weft [DIR | URL] [-c SQL] [-f FILE] [--format ...] [--memory-limit SIZE]`.
pub(crate) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let scripts = scripts::scripts(&mut arguments)?;
    let format = match arguments.option("--format")? {
        Some(word) => Format::parse(&word)?,
        None => Format::Table,
    };
    let options = match arguments.bytes("--memory-limit")? {
        Some(limit_bytes) => Options::with_memory_limit(limit_bytes),
        None => Options::default(),
    };
    let dir = arguments.word();
    arguments.finish()?;
    if let Some(url) = dir.as_deref().filter(|word| Target::is_url(word)) {
        return run_shell(Link::Server(Box::new(connect(url)?)), format, &scripts, false);
    }
    let place = Place::new(dir)?;
    let database = match Database::open_with(&place.dir, options) {
        Err(error) if error.code() == Code::CannotConnectNow => {
            // A server has it: the owner of the directory comes in by its socket.
            let client = weft_server::connect_as_owner(&place.dir)?.ok_or(error)?;
            return run_shell(Link::Server(Box::new(client)), format, &scripts, false);
        }
        opened => opened?,
    };
    let session = database.session()?;
    run_shell(Link::Directory(Box::new((database, session))), format, &scripts, place.is_temporary())
}

fn run_shell(link: Link, format: Format, scripts: &[Script], temporary: bool) -> Result<(), Failure> {
    let interrupts = Interrupts::new(link.canceller());
    let mut shell = Shell { link, format, timing: false, interrupts };
    let result = shell.run(scripts, temporary);
    let closed = shell.link.close();
    result.and(closed)
}

/// A connection to the server of an URL; a password that is not in it is looked for in PGPASSWORD.
pub(crate) fn connect(url: &str) -> Result<Client, Failure> {
    let mut target = Target::parse(url)?;
    if target.password.is_none() {
        target.password = std::env::var("PGPASSWORD").ok();
    }
    if !target.settings.iter().any(|(name, _)| name == "application_name") {
        target.settings.push(("application_name".into(), "weft".into()));
    }
    Ok(Client::connect(&target)?)
}

impl Shell {
    fn run(&mut self, scripts: &[Script], temporary: bool) -> Result<(), Failure> {
        for script in scripts {
            let text = match script {
                Script::Text(text) => text.clone(),
                Script::File(file) => scripts::read(file)?,
            };
            self.run_script(&text)?;
        }
        if !scripts.is_empty() {
            return Ok(());
        }
        if io::stdin().is_terminal() {
            return interactive::run(self, temporary);
        }
        self.run_script(&scripts::read("-")?)
    }

    /// Runs statements and backslash commands up to the first failure, which is printed.
    fn run_script(&mut self, script: &str) -> Result<(), Failure> {
        for piece in split::pieces(script) {
            let done = match piece {
                split::Piece::Statement(text) => self.run_statement(text),
                split::Piece::Command(line) => meta::run(self, line).map(|_| true)?,
                split::Piece::Copy(text, lines) => self.run_copy(text, lines),
            };
            if !done {
                return Err(Failure::Reported);
            }
        }
        Ok(())
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
            None => {
                let dir = std::env::temp_dir().join(format!("weft-shell-{}", std::process::id()));
                Ok(Place { dir, temporary: true })
            }
        }
    }

    fn is_temporary(&self) -> bool {
        self.temporary
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.temporary {
            // What cannot be removed stays.
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}
