//! Golden scripts: transcripts of the engine's inside, one scenario per file, in the deterministic simulation.
//!
//! ```text
//!   # A conversion: files first, then the edit that names them.        a comment
//!   insert t 1-10                                                      commands, one a line
//!   freeze
//!   run-job
//!   trace
//!   ----
//!   10 rows at 2                                                       what they print, up to an empty line
//!   convert t1 #0: memory first; of 1 offers the best: ...
//!   create t1-1.data
//!   write t1-1.data 0 1480
//!   sync_data t1-1.data
//!   ...
//! ```
//!
//! | command | what it does or prints |
//! |---|---|
//! | `options seed=7 log_segment_bytes=8192 ...` | the machine's seed and how the engine is opened next |
//! | `open` `close` `crash` | the engine; `crash` fails the power, the next command runs in the next process |
//! | `crash-at STEP [nth=2]` | plans a crash, right after a named step |
//! | `fail-sync FILE` `fill-disk` `free-disk` | faults of the disk |
//! | `create T [option=..]` `drop T` | tables `(id integer primary key, value bigint, note text)` |
//! | `insert T 1-5,9 [value=3] [note=100]` `update` `delete` `build` | rows by ranges of keys; `note` in bytes |
//! | `read T` | rows as `keys = value` |
//! | `begin S [async]` `commit S ..` `rollback S` | sessions; several of one commit do it at once |
//! | `S: insert ..` | the statement in a session, else in a transaction of its own |
//! | `background S: ..` `until STEP` `wait S` | in a thread of its own; until it passed a step; until it ended |
//! | `freeze` `run-job` `run-jobs` `checkpoint` `check` | |
//! | `jobs` `pick` | offers with their prices; what the scheduler would pick and why |
//! | `offer ..` `running ..` `paused ..` `pick offered` | the same for offers that the script makes up |
//! | `query ..` `phi ..` `forecast` `decide` | busy cores of made up queries, and which offers start |
//! | `layers [T]` `status` `locks` `log` `manifest` `files` | the state |
//! | `trace` `trace skip` | disk operations and `-- steps` since the last `trace`, without times |
//!
//! `WEFT_GOLDEN=rewrite cargo test -p weft-sim --test golden` rewrites what is expected.
//!
//! 1. A script prints the same whenever it runs: one seed, threads that change only where one waits, no addresses.
//!
//! Source: CockroachDB's datadriven tests; toydb's goldenscript; Pebble's traces of file operations.

mod background;
mod command;
mod commands;
mod jobs;
mod machine;
mod made_up;
mod printed;
mod process;
mod progress;
mod schedule;
mod script;
mod show;
mod statements;
mod thread;
mod trace;

pub use machine::run_script;
pub use script::{Script, difference};
