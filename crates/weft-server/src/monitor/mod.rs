//! `/metrics` and `/health` for whoever watches the server, on a port of their own.
//!
//! ```text
//!   curl 127.0.0.1:9187/health      200 ok        503 recovering | shutting down | stopped: the log failed ...
//!   curl 127.0.0.1:9187/metrics     Prometheus' text format
//! ```
//!
//! 1. A request is at most 8 KiB and takes at most a few seconds; requests are answered one after the other, by one
//!    thread: who watches cannot load the server.
//! 2. Nothing of a statement or a row is told, only numbers and names of tables.

mod http;
mod metrics;
mod text;

pub use http::Monitor;

#[cfg(test)]
mod tests;
