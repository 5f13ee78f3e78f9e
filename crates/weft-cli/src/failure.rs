//! Why a subcommand ends with an exit code other than 0: what [`subcommand::Failure`] knows, or a server.

use weft::Error;
use weft_bench::subcommand;
use weft_server::client::ClientError;

/// What `main` prints before it exits.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The message was printed already: exit code 1.
    Reported,
    /// The command line is wrong: the message, the usage, exit code 2.
    Usage(String),
    /// The database reported an error: exit code 1.
    Database(Error),
    /// A server, or the connection to it: exit code 1.
    Connection(ClientError),
    /// Anything else: exit code 1.
    Other(String),
}

impl From<subcommand::Failure> for Failure {
    fn from(failure: subcommand::Failure) -> Failure {
        match failure {
            subcommand::Failure::Reported => Failure::Reported,
            subcommand::Failure::Usage(message) => Failure::Usage(message),
            subcommand::Failure::Database(error) => Failure::Database(error),
            subcommand::Failure::Other(message) => Failure::Other(message),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Database(error)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        Failure::Connection(error)
    }
}

impl Failure {
    /// What happened, on one line.
    pub(crate) fn text(&self) -> String {
        match self {
            Failure::Reported => String::new(),
            Failure::Usage(message) | Failure::Other(message) => message.clone(),
            Failure::Database(error) => error.to_string(),
            Failure::Connection(error) => error.to_string(),
        }
    }

    /// An I/O error while doing `what`.
    pub(crate) fn io(what: impl std::fmt::Display, error: &std::io::Error) -> Failure {
        subcommand::Failure::io(what, error).into()
    }
}
