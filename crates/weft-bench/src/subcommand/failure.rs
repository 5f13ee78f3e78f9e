//! Why a subcommand ends with an exit code other than 0.

use weft::Error;

/// What is left to print before the program exits.
#[derive(Debug)]
pub enum Failure {
    /// Nothing: the message was printed already. Exit code 1.
    Reported,
    /// The command line is wrong: the message, the usage, exit code 2.
    Usage(String),
    /// The database reported an error: exit code 1.
    Database(Error),
    /// Anything else: exit code 1.
    Other(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Database(error)
    }
}

impl Failure {
    /// An I/O error while doing `what`.
    pub fn io(what: impl std::fmt::Display, error: &std::io::Error) -> Failure {
        Failure::Other(format!("{what}: {error}"))
    }
}
