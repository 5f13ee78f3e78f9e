//! What a server and its sessions can be told, in one table, and where a value came from.
//!
//! ```text
//!   flag         --max-connections 50          wins over
//!   environment  WEFT_MAX_CONNECTIONS=80       wins over
//!   file         max_connections = 100         wins over
//!   default      1000                          SHOW max_connections = 50, source "command line"
//! ```
//!
//! 1. Every name is in [`SETTINGS`] once; reading, SHOW, `pg_settings` and docs/settings.md come from it.
//! 2. A value that was taken can be read: it is tested, and written in one form (`65536kB` is `64MB`), when it is set.
//! 3. Settings of PostgreSQL that mean nothing here are in a table of their own ([`ACCEPTED`]); none is in both.
//! 4. A value is replaced only by one from the same place or from one that wins over it.

mod accepted;
mod document;
mod file;
mod table;
mod value;
mod values;

pub use accepted::{ACCEPTED, Accepted, accepted};
pub use document::document;
pub use file::read_assignments;
pub use table::{Changes, Definition, Kind, SETTINGS, definition};
pub use values::{Configuration, Configured, Source};

pub(crate) use value::{parse_bool, parse_ms, print_bytes, print_ms};
