//! `weft dump DIR | URL`: a database as SQL, which psql loads into PostgreSQL and `weft` loads back.
//!
//! ```text
//!   roles ─ schemas ─ sequences ─ tables (columns, CHECKs, primary keys) ─ views ─ rows by COPY ─ where sequences are
//!   ─ unique constraints ─ indexes ─ foreign keys ─ comments ─ owners ─ grants
//! ```
//!
//! | module | what |
//! |---|---|
//! | `catalog` | what there is, read by one transaction |
//! | `reader` | questions, and what answers are made of |
//! | `rights` | roles, owners and grants, as statements |
//! | `script` | the statements |
//!
//! 1. All is read at one snapshot: rows, definitions, comments. Where sequences are is read then, too, but they are in
//!    no snapshot: their numbers may be ahead of the rows, never behind.
//! 2. Every name is written with its schema.
//!
//! 3. Roles are those of the directory, so they are in it, with what their passwords are tested with; `--no-owner`
//!    leaves them and the owners out, `--no-privileges` the grants. A dump without both loads where the roles are not.

mod catalog;
mod reader;
mod rights;
mod script;

use std::io::{BufWriter, Write};
use std::path::Path;

use weft_bench::subcommand::Arguments;
use weft_server::client::Client;
use weft_server::{Server, ServerConfig, connect_as_owner};

use crate::backup::{Opened, open_or_connect};
use crate::failure::Failure;
use crate::shell::connect;
use catalog::Catalog;
use reader::Reader;
use rights::Statements;
use script::{Script, Wanted};

/// Runs `weft dump DIR | URL [--schema-only | --data-only] [--table NAME]...
/// [--no-owner] [--no-privileges]`.
pub(crate) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let (schema_only, data_only) = (arguments.flag("--schema-only"), arguments.flag("--data-only"));
    if schema_only && data_only {
        return Err(Failure::Usage("--schema-only and --data-only leave nothing".to_owned()));
    }
    let (owners, grants) = (!arguments.flag("--no-owner"), !arguments.flag("--no-privileges"));
    let mut tables = Vec::new();
    while let Some(table) = arguments.option("--table")? {
        tables.push(table);
    }
    let place = arguments.word().ok_or_else(|| Failure::Usage("dump needs a directory or an URL".to_owned()))?;
    arguments.finish()?;
    let wanted = Wanted { definitions: !data_only, rows: !schema_only, owners, grants, tables };
    if weft_server::client::Target::is_url(&place) {
        return write(&mut connect(&place)?, wanted);
    }
    let dir = std::path::absolute(&place).unwrap_or_else(|_| Path::new(&place).to_owned());
    match open_or_connect(&dir)? {
        Opened::Served(mut client) => write(&mut client, wanted),
        Opened::Here(database) => {
            // A server for this program alone: a dump reads through the protocol wherever the database is open.
            let config = ServerConfig { listen: None, socket_dir: None, ..ServerConfig::default() };
            if database.login("weft")?.is_none() {
                database.put_superuser("weft", None)?;
            }
            let server = Server::start(database, config)?;
            let client = connect_as_owner(&dir)?;
            let mut client = client.ok_or_else(|| Failure::Other("the owner's socket is gone".to_owned()))?;
            let result = write(&mut client, wanted);
            drop(client);
            server.close();
            result
        }
    }
}

fn write(client: &mut Client, wanted: Wanted) -> Result<(), Failure> {
    client.query("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    // New sessions may begin in any zone and style; a dump is the same in all.
    client
        .query("SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, MDY'; SET LOCAL IntervalStyle = 'postgres'")?;
    client.query("SET LOCAL search_path = ''")?;
    let mut reader = Reader::new(client);
    let catalog = Catalog::read(&mut reader, &wanted.tables)?;
    let rights = Statements::read(&mut reader, &catalog.relations, &catalog.functions, wanted.tables.is_empty())?;
    let out = std::io::stdout().lock();
    let mut out = BufWriter::with_capacity(1 << 20, out);
    Script { client, catalog: &catalog, rights: &rights, wanted: &wanted, out: &mut out }.write()?;
    out.flush().map_err(|error| Failure::io("cannot write the dump", &error))?;
    client.query("COMMIT")?;
    Ok(())
}
