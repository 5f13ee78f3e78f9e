//! Loads the source tables, and makes the empty `live_flights`.

use std::time::Instant;

use weft::{Database, Value};

use super::plan::Plan;
use super::source::TABLES;
use crate::latency::duration_text;
use crate::subcommand::Failure;

/// Creates and fills the tables; gives the rows of `flights`.
pub(super) fn load(database: &Database, plan: &Plan) -> Result<Vec<Vec<Value>>, Failure> {
    let mut session = database.session()?;
    let mut flights = Vec::new();
    for table in TABLES {
        let rows = table.read(&plan.data, if table.name == "flights" { plan.flights } else { usize::MAX })?;
        session.execute(&table.create(table.name))?;
        let begun = Instant::now();
        let count = session.append(table.name, &[table.batch(&rows)])?;
        println!(
            "loaded {count:>7} rows into {:<9} in {}",
            table.name,
            duration_text(begun.elapsed().as_nanos() as u64)
        );
        if table.name == "flights" {
            session.execute(&table.create("live_flights"))?;
            flights = rows;
        }
    }
    Ok(flights)
}
