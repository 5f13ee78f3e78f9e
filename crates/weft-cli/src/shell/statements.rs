//! One running shell: a statement at a time, with its results printed.

use std::io::{self, Write};
use std::time::Instant;

use super::interrupt::Interrupts;
use super::link::Link;
use crate::print::Format;

/// One running shell.
pub(super) struct Shell {
    pub(super) link: Link,
    pub(super) format: Format,
    pub(super) timing: bool,
    pub(super) interrupts: Interrupts,
}

impl Shell {
    /// Runs one statement and prints its result or its error; false after an error.
    pub(super) fn run_statement(&mut self, text: &str) -> bool {
        self.print(|link, out, format| link.run(text, out, format))
    }

    /// Runs COPY with the lines behind it; false after an error.
    pub(super) fn run_copy(&mut self, text: &str, lines: &str) -> bool {
        self.print(|link, out, _| link.copy_in(text, lines, out))
    }

    /// Prints what something gives, or its error; false after an error.
    fn print(&mut self, run: impl FnOnce(&mut Link, &mut dyn Write, Format) -> Result<(), String>) -> bool {
        let begun = Instant::now();
        let mut out = io::stdout().lock();
        let result = self.interrupts.during(|| run(&mut self.link, &mut out, self.format));
        let elapsed = begun.elapsed();
        if let Err(message) = &result {
            let _ = out.flush();
            eprint!("{message}");
        }
        if self.timing {
            let _ = writeln!(out, "Time: {:.3} ms", elapsed.as_secs_f64() * 1e3);
        }
        let _ = out.flush();
        result.is_ok()
    }
}
