//! What is printed: one JSON object per number, on a line of its own.
//!
//! ```text
//!   {"experiment": "fig7a", "system": "weft", "configuration": "rows", "x": 20, "metric": "query_ms",
//!    "value": 3.141593, "unit": "ms", "rows": 100000}
//! ```
//!
//! `x` is what the figure has on that axis: a share in percent, a number of columns, bytes, a statement's name.

use std::fmt::Display;

use crate::latency::Latencies;

/// The quantiles of table 1.
const QUANTILES: [(&str, f64); 5] = [("p50", 0.5), ("p75", 0.75), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

/// Where lines belong.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    pub(super) experiment: &'a str,
    pub(super) configuration: &'a str,
    /// Rows that the table was loaded with.
    pub(super) rows: u64,
}

impl Lines<'_> {
    /// Prints one number.
    pub(super) fn put(&self, x: impl Display, metric: &str, value: f64, unit: &str) {
        self.put_with(x, metric, value, unit, "");
    }

    /// The same with more fields, written as JSON with a comma before each.
    pub(super) fn put_with(&self, x: impl Display, metric: &str, value: f64, unit: &str, more: &str) {
        let Lines { experiment, configuration, rows } = self;
        let x = quoted(&x.to_string());
        println!(
            "{{\"experiment\": \"{experiment}\", \"system\": \"weft\", \"configuration\": \"{configuration}\", \
             \"x\": {x}, \"metric\": \"{metric}\", \"value\": {value:.6}, \"unit\": \"{unit}\", \
             \"rows\": {rows}{more}}}"
        );
    }

    /// Prints the quantiles of latencies, in milliseconds, and how many these were.
    pub(super) fn put_quantiles(&self, x: &str, latencies: &Latencies) {
        let count = format!(", \"count\": {}", latencies.count());
        for (name, quantile) in QUANTILES {
            self.put_with(x, name, latencies.quantile_ns(quantile) as f64 / 1e6, "ms", &count);
        }
    }
}

/// A number as it is, anything else in quotes.
fn quoted(text: &str) -> String {
    if text.parse::<f64>().is_ok_and(f64::is_finite) { text.to_owned() } else { format!("\"{text}\"") }
}
