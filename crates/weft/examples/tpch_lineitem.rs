//! Writes TPC-H's largest table as CSV, for benchmarks that load it over the wire: `tpch_lineitem 1` for scale 1.

use std::io::{BufWriter, Write};

use tpchgen::csv::LineItemCsv;
use tpchgen::generators::LineItemGenerator;

fn main() -> std::io::Result<()> {
    let scale = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1.0);
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    for line in LineItemGenerator::new(scale, 1, 1).iter() {
        writeln!(out, "{}", LineItemCsv::new(line))?;
    }
    out.flush()
}
