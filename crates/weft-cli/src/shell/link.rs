//! What the shell talks to: a database in this process, or a server.
//!
//! ```text
//!   weft DIR              Directory   Session::execute, results as values
//!   weft postgres://...   Server      the simple protocol, results as text; notices on standard error
//! ```
//!
//! Both are printed by the same [`Printer`], so that a script prints the same in both places.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::Arc;

use weft::{CopyFormat, Database, Error, Notice, Outcome, OutputColumn, Rows, Session, SessionClient};
use weft_server::client::{Answer, Answers, Client, ClientError};

use crate::failure::Failure;
use crate::print::{Format, Kind, Printer, error_text, print_outcome, print_tag, report_text};

/// How many bytes of standard input are sent at a time.
const COPY_BYTES: usize = 64 << 10;

/// The other side of the shell.
pub(super) enum Link {
    /// A database that this process has opened.
    Directory(Box<(Database, Session)>),
    /// A connection.
    Server(Box<Client>),
}

impl Link {
    /// Runs a statement and prints its results; an error as the lines to print.
    pub(super) fn run(&mut self, text: &str, out: &mut dyn Write, format: Format) -> Result<(), String> {
        let cannot_print = |error: io::Error| format!("weft: cannot print: {error}\n");
        match self {
            Link::Directory(parts) => {
                let outcomes = parts.1.execute(text).map_err(|error| error_text(&error, Some(text)))?;
                let style = &parts.1.settings().style;
                let mut printed = outcomes.iter().map(|outcome| print_outcome(out, outcome, format, style));
                printed.try_for_each(|done| done).map_err(cannot_print)
            }
            Link::Server(client) => run_remote(client, text, out, format).map_err(|error| match error {
                Stopped::Client(error) => client_error_text(&error, Some(text)),
                Stopped::Io(error) => cannot_print(error),
            }),
        }
    }

    /// Runs COPY ... FROM stdin with the lines that stand behind it in a script.
    pub(super) fn copy_in(&mut self, text: &str, lines: &str, out: &mut dyn Write) -> Result<(), String> {
        let tag = match self {
            Link::Directory(parts) => {
                let mut script = ScriptLines { lines, tag: None };
                let done = parts.1.execute_script(text, &mut script);
                done.map_err(|error| error_text(&error, Some(text)))?;
                script.tag.unwrap_or_default()
            }
            Link::Server(client) => {
                let copied = client.copy_in(text).and_then(|mut copy| {
                    lines.as_bytes().chunks(COPY_BYTES).try_for_each(|bytes| copy.write(bytes))?;
                    copy.finish()
                });
                copied.map_err(|error| client_error_text(&error, Some(text)))?
            }
        };
        print_tag(out, &tag, Format::Table).map_err(|error| format!("weft: cannot print: {error}\n"))
    }

    /// What stops the running statement, from another thread.
    pub(super) fn canceller(&self) -> Box<dyn Fn() + Send> {
        match self {
            Link::Directory(parts) => {
                let token = parts.1.cancel_token();
                Box::new(move || token.cancel())
            }
            Link::Server(client) => {
                let canceller = client.canceller();
                // A server that cannot be reached cannot be asked to stop: the statement's own error tells.
                Box::new(move || drop(canceller.cancel()))
            }
        }
    }

    /// Whether BEGIN is open.
    pub(super) fn in_transaction(&self) -> bool {
        match self {
            Link::Directory(parts) => parts.1.in_transaction(),
            Link::Server(client) => client.in_transaction(),
        }
    }

    /// Ends it; a database is closed.
    pub(super) fn close(self) -> Result<(), Failure> {
        match self {
            Link::Directory(parts) => {
                let (database, session) = *parts;
                drop(session);
                Ok(database.close()?)
            }
            Link::Server(client) => {
                client.close();
                Ok(())
            }
        }
    }
}

/// A script as the client of its own COPY.
struct ScriptLines<'a> {
    lines: &'a str,
    tag: Option<String>,
}

impl SessionClient for ScriptLines<'_> {
    fn takes_rows(&self) -> bool {
        false
    }

    fn begin(&mut self, _: &weft::Style) {}

    fn rows(&mut self, _: &Arc<[OutputColumn]>, _: &Rows) -> weft::Result<()> {
        Err(Error::internal("rows come in the outcome"))
    }

    fn finish(&mut self, outcome: &Outcome) -> weft::Result<()> {
        self.tag = Some(outcome.tag.to_string());
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) -> weft::Result<()> {
        eprintln!("{}: {}", notice.severity, notice.message);
        Ok(())
    }

    fn begin_copy_in(&mut self, _: CopyFormat, _: usize) -> weft::Result<()> {
        Ok(())
    }

    fn copy_in(&mut self, bytes: &mut Vec<u8>) -> weft::Result<bool> {
        let (next, rest) = self.lines.as_bytes().split_at(self.lines.len().min(COPY_BYTES));
        let next = next.len() + rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let (next, rest) = self.lines.split_at(next);
        self.lines = rest;
        bytes.extend_from_slice(next.as_bytes());
        Ok(!next.is_empty())
    }

    fn begin_copy_out(&mut self, _: CopyFormat, _: usize) -> weft::Result<()> {
        Err(Error::internal("this statement copies in"))
    }

    fn copy_out(&mut self, _: &[u8]) -> weft::Result<()> {
        Err(Error::internal("this statement copies in"))
    }

    fn end_copy_out(&mut self) -> weft::Result<()> {
        Err(Error::internal("this statement copies in"))
    }
}

enum Stopped {
    Client(ClientError),
    Io(io::Error),
}

impl From<ClientError> for Stopped {
    fn from(error: ClientError) -> Stopped {
        Stopped::Client(error)
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Stopped {
        Stopped::Io(error)
    }
}

/// The lines of an error of a connection.
pub(crate) fn client_error_text(error: &ClientError, statement: Option<&str>) -> String {
    match error {
        ClientError::Server(report) => report_text(report, statement),
        ClientError::Local(error) => error_text(error, None),
    }
}

fn run_remote(client: &mut Client, text: &str, out: &mut dyn Write, format: Format) -> Result<(), Stopped> {
    let mut answers = client.simple(text)?;
    let mut printer: Option<Printer> = None;
    while let Some(answer) = answers.next()? {
        match answer {
            Answer::Columns(columns) => {
                let columns = columns.into_iter().map(|column| (column.name, Kind::of_oid(column.oid)));
                printer = Some(Printer::new(format, columns.collect()));
            }
            Answer::Row(row) => {
                if let Some(printer) = &mut printer {
                    printer.row(out, row)?;
                }
            }
            Answer::Complete(tag) => match printer.take() {
                Some(mut printer) => printer.end(out)?,
                None => print_tag(out, &tag, format)?,
            },
            Answer::Notice(notice) => eprint!("{}", report_text(&notice, None)),
            Answer::CopyData(bytes) => out.write_all(&bytes)?,
            Answer::CopyIn(_) => send_input(&mut answers)?,
            Answer::Empty | Answer::CopyOut(_) | Answer::CopyDone => {}
        }
    }
    Ok(())
}

/// COPY FROM STDIN: standard input, unless a person types there or it was the script.
fn send_input(answers: &mut Answers<'_>) -> Result<(), Stopped> {
    let mut input = io::stdin().lock();
    if input.is_terminal() {
        answers.copy_end(Some("give the rows on standard input: weft URL -c \"COPY ...\" < FILE"))?;
        return Ok(());
    }
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(answers.copy_end(None)?),
            count => answers.copy_data(&buffer[..count])?,
        }
    }
}
