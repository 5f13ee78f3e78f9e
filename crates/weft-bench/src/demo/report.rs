//! What is printed at the end: how fast it was, and what lies where.
//!
//! ```text
//!       statement     | runs  | per second |  p50   |   p99    |  p99.9
//!   ------------------+-------+------------+--------+----------+----------
//!    transaction      | 53120 |    12420.3 | 157 µs |  1.20 ms |  3.42 ms
//!    delay by airline |   210 |       49.1 | 980 µs |  1.81 ms |  2.04 ms      then: layers of flights, live_flights
//! ```

use weft::Database;

use super::plan::Plan;
use super::queries::QUERIES;
use super::replay::Replay;
use crate::latency::{Latencies, duration_text};
use crate::subcommand::{Align, Failure, Grid};

/// Prints rates, latencies and layers.
pub(super) fn print(database: &Database, plan: &Plan, replay: &Replay) -> Result<(), Failure> {
    let seconds = replay.elapsed.as_secs_f64();
    let events: usize = replay.applied.iter().sum();
    println!(
        "\n{events} events in {} transactions ({} writers, durability {}) in {seconds:.1} s; {} run again\n",
        replay.writes.count(),
        plan.writers,
        if plan.durability == weft::Durability::Full { "full" } else { "async" },
        replay.retries,
    );
    let names = ["runs", "per second", "p50", "p99", "p99.9"];
    let mut grid = Grid::new(
        std::iter::once(("statement", Align::Left)).chain(names.into_iter().map(|name| (name, Align::Right))),
    );
    grid.row(line("transaction", &replay.writes, seconds));
    for (query, latencies) in QUERIES.iter().zip(&replay.reads) {
        grid.row(line(query.name, latencies, seconds));
    }
    grid.show()?;
    let names = ["parts", "rows", "dead", "bytes"];
    let first = [("table", Align::Left), ("layer", Align::Left)];
    let mut grid = Grid::new(first.into_iter().chain(names.into_iter().map(|name| (name, Align::Right))));
    for table in ["flights", "live_flights"] {
        for layer in database.layers(table)? {
            let numbers = [layer.parts, layer.rows, layer.dead_rows, layer.bytes].map(|number| number.to_string());
            grid.row([table.to_owned(), layer.name].into_iter().chain(numbers).collect());
        }
    }
    grid.show()
}

fn line(name: &str, latencies: &Latencies, seconds: f64) -> Vec<String> {
    let quantiles = [0.5, 0.99, 0.999].map(|quantile| match latencies.count() {
        0 => "-".to_owned(),
        _ => duration_text(latencies.quantile_ns(quantile)),
    });
    let rate = format!("{:.1}", latencies.count() as f64 / seconds.max(1e-9));
    [name.to_owned(), latencies.count().to_string(), rate].into_iter().chain(quantiles).collect()
}
