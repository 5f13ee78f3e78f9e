//! `weft demo`: the main job on real data.
//!
//! ```text
//!   data/nycflights13 ── load ──▶ airlines, airports, planes, weather, flights
//!        └─ events in the order of time ── N writers, small transactions ──▶ live_flights
//!                                          M readers, six analytic queries ──┘ (at the same time, same tables)
//!   then: live_flights = flights, row by row; every checksum; a table of what was measured
//! ```
//!
//! 1. Writers wait for durability before they count a transaction (unless `--async`).
//! 2. The exit code is 0 only when the final state equals the source and nothing is damaged.
//! 3. The kill test starts this same program with the words `demo --kill-child`: a program that calls [`run`] gives it
//!    all words after `demo`.
//!
//! Modules: `command` and `plan` read the command line, `source` and `events` are the data, `load`,
//! `replay`, `report` and `verify` the job in its order, `progress` and `view` what is seen meanwhile,
//! `queries` what readers ask, `kill` the kill test, `history` the board at each minute of the year.

mod command;
mod events;
mod history;
mod kill;
mod load;
mod plan;
mod progress;
mod queries;
mod replay;
mod report;
mod source;
mod verify;
mod view;

pub use command::run;
