//! What is printed: one JSON object per result, on a line of its own.
//!
//! ```text
//!   {"name": "load", "value": 2.113000, "unit": "s"}
//! ```

/// Prints one result.
pub(super) fn put(name: &str, value: f64, unit: &str) {
    println!("{{\"name\": \"{name}\", \"value\": {value:.6}, \"unit\": \"{unit}\"}}");
}
