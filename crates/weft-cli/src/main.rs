//! The `weft` program: the shell, the server, `check`, `demo` and `bench`.
//!
//! ```text
//!   weft DIR                      the interactive shell on the database in DIR
//!   weft postgres://HOST/DB       the same shell on a server
//!   weft DIR -c "SELECT 1"        run statements, print their results, exit 0 or 1
//!   weft serve DIR                a server for PostgreSQL's clients; with --follow a node that reads beside it
//!   weft promote DIR              a node that follows the server of DIR becomes the writer
//!   weft nodes DIR                who writes the database in DIR, and who follows; nobody is asked
//!   weft route --writer ... --node ...   one address in front of a server and its nodes
//!   weft check DIR                verify every checksum and invariant; with --quarantine go on without damaged files
//!   weft demo                     a year of flights: transactions and analytic queries on the same tables
//!   weft bench                    one workload, measured, as JSON lines
//! ```
//!
//! Every subcommand is a module, but for [`demo`] and [`bench`], which [`weft_bench`] has; [`failure`] is what they
//! return when they fail, [`print`] how results look.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program owns its process: files, time, threads"
)]

mod backup;
mod check;
mod dump;
mod failure;
mod nodes;
mod print;
mod promote;
mod route;
mod serve;
mod shell;

use std::process::ExitCode;

use weft_bench::subcommand::Arguments;
use weft_bench::{bench, demo};

use failure::Failure;

const USAGE: &str = "\
Usage: weft [DIR | URL] [-c SQL]... [-f FILE]... [--format table|csv|json] [--memory-limit SIZE]
       weft init DIR [--user NAME]
       weft serve [--follow] DIR [--config FILE] [--SETTING VALUE]...      weft serve --help lists the settings
       weft serve DIR --follow URL [--config FILE] [--SETTING VALUE]...
       weft promote DIR [--node NAME] [--force] [--seconds N]
       weft nodes DIR [--check] [--format table|csv|json]
       weft route --writer HOST:PORT --node HOST:PORT [--node ...] [--listen ADDRESS:PORT]   weft route --help: more
       weft backup DIR DEST                                  DEST: a directory, s3://BUCKET/PREFIX, or file:///DIR
       weft restore DEST DIR [--backup N | --until TIME] [--list] [--check]
       weft dump DIR|URL [--schema-only | --data-only] [--table NAME]... [--no-owner] [--no-privileges]
       weft check DIR [--quarantine]
       weft demo [--quick] [--dir DIR] [--data DIR] [--writers N] [--readers N] [--flights N] [--batch N] [--async]
                 [--seconds N] [--plain] [--kill-test N]
       weft demo history [--quick] [--at 'YYYY-MM-DD HH:MM'] [--dir DIR] [--data DIR] [--flights N] [--async]
       weft bench [--dir DIR] [--rows N] [--only NAME,NAME,...]
       weft bench transactions [--dir DIR] [--seconds N] [--only NAME,NAME,...] [--people N]
                 [--bulk N,N,...] [--csv DIR] [--records N] [--active N,N,...] [--warehouses N]
                 [--method column|lineage|row] [--cache-mb N]
       weft bench xbench [--quick] [--dir DIR] [--only NAME,NAME,...] [--rows N] [--ratios N,N,...]
                 [--memory-limit SIZE] [--row-bytes N] [--wide-rows N] [--sizes MB,MB,...] [--projections N,N,...]
                 [--seconds N] [--queries N] [--update-seconds N] [--soak-seconds N] [--window-seconds N]
                 [--update-columns N] [--sum-columns N] [--max-columns N] [--range-rows N] [--filter-width N]
                 [--writes insert,update,upsert] [--reads sql3,sql4,sql5]
                 [--configurations NAME,...] [--compactions NAME,...] [--schedulers NAME,...]
                 [--commit sync|async] [--scheduler cost|greedy|off]
                 [--incremental fine|rows|columns] [--compaction fine|whole] [--conflict mark|antimatter]
                 [--granularity-bytes N] [--bucket-bytes N] [--incremental-bytes N]
                 [--row-table-bytes N] [--column-table-bytes N]
       weft bench lineage [--quick | --full] [--dir DIR] [--only NAME,NAME,...] [--rows N] [--active N,N,N]
                 [--threads N,N,...] [--updaters N] [--millis N] [--rounds N] [--methods NAME,NAME,...]
                 [--durability async|full|both] [--page-rows N] [--merge-changes N] [--json]
       weft bench documents [--shapes NAME,...] [--count N] [--rounds N] [--only NAME,NAME,...]
                 [--file FILE | --write FILE] [--dir DIR] [--show] [--memory-limit SIZE]

The password of the first role is read from WEFT_PASSWORD; without it one is made and printed once.

URL is a server: postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=...; a password may also stand in PGPASSWORD.
DIR is the directory of a database; it is created when it does not exist. Without DIR the shell uses a
temporary one. SIZE is bytes or a number with kB, MB or GB. Without -c and -f statements are read
from the terminal, or from standard input.";

fn main() -> ExitCode {
    weft_env::raise_open_files();
    // Before there are threads: so it bounds the heaps of all.
    weft_env::keep_little_freed_memory();
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let command = words.first().cloned().unwrap_or_default();
    let result = match command.as_str() {
        "--help" | "-h" | "help" => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        "--version" | "-V" => {
            println!("weft {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        "init" => serve::init(Arguments::new(words.split_off(1))),
        "serve" if words.iter().any(|word| word == "--help" || word == "-h") => {
            print!("{}", serve::help());
            return ExitCode::SUCCESS;
        }
        "serve" => serve::run(Arguments::new(words.split_off(1))),
        "nodes" => nodes::run(Arguments::new(words.split_off(1))),
        "promote" => promote::run(Arguments::new(words.split_off(1))),
        "route" if words.iter().any(|word| word == "--help" || word == "-h") => {
            print!("{}", route::HELP);
            return ExitCode::SUCCESS;
        }
        "route" => route::run(Arguments::new(words.split_off(1))),
        "backup" => backup::run(Arguments::new(words.split_off(1))),
        "dump" => dump::run(Arguments::new(words.split_off(1))),
        "restore" => backup::restore(Arguments::new(words.split_off(1))),
        "check" => check::run(Arguments::new(words.split_off(1))),
        "demo" => demo::run(Arguments::new(words.split_off(1))).map_err(Failure::from),
        "bench" => bench::run(Arguments::new(words.split_off(1))).map_err(Failure::from),
        _ => shell::run(Arguments::new(words)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Reported) => ExitCode::FAILURE,
        Err(Failure::Usage(message)) => {
            eprintln!("weft: {message}\n\n{USAGE}");
            ExitCode::from(2)
        }
        Err(Failure::Database(error)) => {
            eprint!("{}", print::error_text(&error, None));
            ExitCode::FAILURE
        }
        Err(Failure::Connection(error)) => {
            eprint!("{}", shell::client_error_text(&error, None));
            ExitCode::FAILURE
        }
        Err(Failure::Other(message)) => {
            eprintln!("weft: {message}");
            ExitCode::FAILURE
        }
    }
}
