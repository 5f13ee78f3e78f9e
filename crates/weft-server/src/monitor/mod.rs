//! `/metrics` and `/health` for whoever watches the server, on a port of their own.
//!
//! ```text
//!   curl 127.0.0.1:9187/health      200 ok        503 recovering | shutting down | stopped: the log failed ...
//!   curl 127.0.0.1:9187/metrics     Prometheus' text format
//! ```
//!
//! Nothing of a statement or a row is told, only numbers and names of tables and nodes. How requests are answered:
//! [`weft_wire::monitor`].

mod http;
mod metrics;
mod nodes;

pub use http::Monitor;

#[cfg(test)]
mod tests;
