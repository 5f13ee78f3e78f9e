//! A person at a terminal: history, lines until a semicolon, the prompt that says in which state the session is.
//!
//! ```text
//!   weft=> SELECT 1          = at the start of a statement, - inside one
//!   weft-> + 1;              * in a transaction, ! in a failed one
//!   weft=*>
//! ```

use std::path::PathBuf;

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use super::statements::Shell;
use super::{meta, split};
use crate::failure::Failure;

/// Reads and runs until `\q` or the end of input.
pub(super) fn run(shell: &mut Shell, temporary: bool) -> Result<(), Failure> {
    println!("weft {}: \\? for help, \\q to quit", env!("CARGO_PKG_VERSION"));
    if temporary {
        println!("This database is temporary: it goes when the shell ends. Start with `weft DIR` to keep one.");
    }
    let mut editor = DefaultEditor::new().map_err(|error| Failure::Other(format!("no terminal: {error}")))?;
    let history = history_file();
    if let Some(file) = &history {
        let _ = editor.load_history(file);
    }
    let mut typed = String::new();
    loop {
        match editor.readline(&prompt(shell, !typed.trim().is_empty())) {
            Ok(line) => {
                typed.push_str(&line);
                typed.push('\n');
                if !run_finished(shell, &mut typed, &mut editor)? {
                    break;
                }
            }
            Err(ReadlineError::Interrupted) => typed.clear(),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(Failure::Other(format!("cannot read the terminal: {error}"))),
        }
    }
    if let Some(file) = &history {
        let _ = editor.save_history(file);
    }
    Ok(())
}

/// Runs the finished statements of what was typed and keeps the rest; false after `\q`.
fn run_finished(shell: &mut Shell, typed: &mut String, editor: &mut DefaultEditor) -> Result<bool, Failure> {
    let (pieces, rest) = split::split(typed);
    if pieces.is_empty() {
        return Ok(true);
    }
    let entry = typed[..typed.len() - rest.len()].trim().to_owned();
    let _ = editor.add_history_entry(entry);
    let rest = rest.to_owned();
    for piece in pieces {
        match piece {
            split::Piece::Statement(text) => {
                shell.run_statement(text);
            }
            split::Piece::Copy(text, lines) => {
                shell.run_copy(text, lines);
            }
            split::Piece::Command(line) => {
                if meta::run(shell, line)? == meta::Next::Quit {
                    return Ok(false);
                }
            }
        }
    }
    *typed = rest;
    Ok(true)
}

fn prompt(shell: &Shell, inside: bool) -> String {
    let state = if shell.link.in_transaction() { "*" } else { "" };
    format!("weft{}{state}> ", if inside { "-" } else { "=" })
}

fn history_file() -> Option<PathBuf> {
    std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".weft_history"))
}
