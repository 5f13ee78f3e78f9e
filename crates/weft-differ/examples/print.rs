//! Prints the statements of a seed as a script for psql: each in a transaction that is rolled back.
//!
//! ```text
//!   cargo run -p weft-differ --example print -- 7 100 | psql
//! ```

use weft_differ::generate;

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let (seed, count) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(100));
    let tables = generate::tables(seed);
    println!("DROP SCHEMA IF EXISTS s CASCADE; CREATE SCHEMA s; SET search_path = s;");
    for statement in tables.iter().flat_map(|table| table.statements()) {
        println!("{statement};");
    }
    for number in 0..count as usize {
        println!("BEGIN;{};ROLLBACK;", generate::case(seed, number, &tables).statement.sql());
    }
}
