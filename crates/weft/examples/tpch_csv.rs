//! Writes a table of TPC-H as CSV, for benchmarks that load it over the wire: `tpch_csv 1 orders` for scale 1.

use std::io::{self, BufWriter, Write};

use tpchgen::csv::{CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

fn main() -> io::Result<()> {
    let mut words = std::env::args().skip(1);
    let scale = words.next().and_then(|word| word.parse().ok()).unwrap_or(1.0);
    let table = words.next().unwrap_or_else(|| "lineitem".to_owned());
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    macro_rules! write_lines {
        ($generator:ident, $line:ident) => {
            for line in $generator::new(scale, 1, 1).iter() {
                writeln!(out, "{}", $line::new(line))?;
            }
        };
    }
    match table.as_str() {
        "region" => write_lines!(RegionGenerator, RegionCsv),
        "nation" => write_lines!(NationGenerator, NationCsv),
        "supplier" => write_lines!(SupplierGenerator, SupplierCsv),
        "customer" => write_lines!(CustomerGenerator, CustomerCsv),
        "part" => write_lines!(PartGenerator, PartCsv),
        "partsupp" => write_lines!(PartSuppGenerator, PartSuppCsv),
        "orders" => write_lines!(OrderGenerator, OrderCsv),
        "lineitem" => write_lines!(LineItemGenerator, LineItemCsv),
        other => return Err(io::Error::other(format!("TPC-H has no table {other}"))),
    }
    out.flush()
}
