//! What was measured: the medians of each point as tables in Markdown, which a report can take over as they are.
//!
//! ```text
//!   | fig7, transactions/s, async | lineage | iuh    | lineage : iuh |
//!   | high, 2 updaters            | 101,000 | 61,000 | 1.66          |      medians of all rounds
//!   | fig7: high | iuh for a latch | 7,565 | 542 | 86.0 |                 waits of all turns: count, per 1,000, ms
//! ```
//!
//! A ratio is lineage's median divided by the other's, whether more is better or less.

use weft_tables::waits::Waited;

use super::contender::Contender;
use super::turn::Outcome;
use crate::bench::median::median;
use crate::subcommand::Failure;

/// What the others are compared with.
const BASIS: &str = "lineage";

/// The values of a configuration at one point of a table.
struct Cell {
    name: String,
    values: Vec<f64>,
}

struct Point {
    label: String,
    cells: Vec<Cell>,
}

struct Table {
    /// Experiment and unit.
    title: String,
    points: Vec<Point>,
}

/// Waits of one kind.
struct Wait {
    place: String,
    what: String,
    waited: Waited,
    transactions: f64,
}

/// See the module.
pub(super) struct Results {
    durability: &'static str,
    prints_json: bool,
    tables: Vec<Table>,
    waits: Vec<Wait>,
}

impl Results {
    pub(super) fn new(durability: &'static str, prints_json: bool) -> Results {
        Results { durability, prints_json, tables: Vec::new(), waits: Vec::new() }
    }

    /// Notes a value; `title` is the experiment and the unit.
    pub(super) fn add(&mut self, title: &str, label: &str, name: &str, value: f64) {
        if self.prints_json {
            let durability = self.durability;
            println!(
                "{{\"table\": \"{title}\", \"point\": \"{label}\", \"configuration\": \"{name}\", \"durability\": \
                 \"{durability}\", \"value\": {value:.3}}}"
            );
        }
        let is_new = !self.tables.iter().any(|table| table.title == title);
        if is_new {
            self.tables.push(Table { title: title.to_owned(), points: Vec::new() });
        }
        let table = self.tables.iter_mut().find(|table| table.title == title).expect("it was added when it was new");
        let at = table.points.iter().position(|point| point.label == label).unwrap_or_else(|| {
            table.points.push(Point { label: label.to_owned(), cells: Vec::new() });
            table.points.len() - 1
        });
        let cells = &mut table.points[at].cells;
        match cells.iter_mut().find(|cell| cell.name == name) {
            Some(cell) => cell.values.push(value),
            None => cells.push(Cell { name: name.to_owned(), values: vec![value] }),
        }
    }

    /// Notes the waits of a turn, with those of all points of the same degree of contention.
    pub(super) fn add_waits(&mut self, title: &str, label: &str, contender: &Contender, outcome: &Outcome) {
        for (what, waited) in &outcome.waits {
            let place = format!("{title}: {}", label.split(',').next().unwrap_or(label));
            let what = format!("{} {what}", contender.name);
            if !self.waits.iter().any(|wait| wait.place == place && wait.what == what) {
                let (place, what) = (place.clone(), what.clone());
                self.waits.push(Wait { place, what, waited: Waited::default(), transactions: 0.0 });
            }
            let known = self.waits.iter_mut().find(|wait| wait.place == place && wait.what == what);
            let wait = known.expect("it was added when it was new");
            wait.waited.count += waited.count;
            wait.waited.nanos += waited.nanos;
            wait.transactions += outcome.transactions * outcome.seconds;
        }
    }

    /// The median of a configuration at a point.
    pub(super) fn median(&self, title: &str, label: &str, name: &str) -> Option<f64> {
        let table = self.tables.iter().find(|table| table.title == title)?;
        let point = table.points.iter().find(|point| point.label == label)?;
        point.median(name)
    }

    /// Prints all tables.
    pub(super) fn show(&self) -> Result<(), Failure> {
        for table in &self.tables {
            table.show(self.durability);
        }
        if !self.waits.is_empty() {
            println!("| waits, {} | of whom | count | per 1,000 transactions | ms together |", self.durability);
            println!("| --- | --- | ---: | ---: | ---: |");
        }
        for wait in &self.waits {
            let per_thousand = wait.waited.count as f64 * 1000.0 / wait.transactions.max(1.0);
            let (count, ms) = (wait.waited.count as f64, wait.waited.nanos as f64 / 1e6);
            let (count, per_thousand, ms) = (text(count), text(per_thousand), text(ms));
            println!("| {} | {} | {count} | {per_thousand} | {ms} |", wait.place, wait.what);
        }
        println!();
        Ok(())
    }
}

impl Point {
    fn median(&self, name: &str) -> Option<f64> {
        self.cells.iter().find(|cell| cell.name == name).map(|cell| median(cell.values.clone()))
    }
}

impl Table {
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for cell in self.points.iter().flat_map(|point| &point.cells) {
            if !names.contains(&cell.name.as_str()) {
                names.push(&cell.name);
            }
        }
        names
    }

    fn show(&self, durability: &str) {
        let names = self.names();
        let has_basis = names.contains(&BASIS);
        let others: Vec<&str> = names.iter().copied().filter(|name| has_basis && *name != BASIS).collect();
        let heads = names.iter().map(|name| (*name).to_owned());
        let ratios = others.iter().map(|name| format!("{BASIS} : {name}"));
        let heads: Vec<String> = heads.chain(ratios).collect();
        println!("| {}, {durability} | {} |", self.title, heads.join(" | "));
        println!("| --- |{}", " ---: |".repeat(heads.len()));
        for point in &self.points {
            let value = |name: &&str| point.median(name).map_or_else(|| "-".to_owned(), text);
            let ratio = |name: &&str| match (point.median(BASIS), point.median(name)) {
                (Some(basis), Some(other)) if other > 0.0 => format!("{:.2}", basis / other),
                _ => "-".to_owned(),
            };
            let cells: Vec<String> = names.iter().map(value).chain(others.iter().map(ratio)).collect();
            println!("| {} | {} |", point.label, cells.join(" | "));
        }
        println!();
    }
}

/// A number with three digits that matter, and commas between thousands.
fn text(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value < 100.0 {
        let digits = if value < 1.0 { 3 } else { 4usize.saturating_sub(format!("{value:.0}").len() + 1) };
        return format!("{value:.digits$}");
    }
    let whole = format!("{value:.0}");
    let first = whole.len() % 3;
    let groups = whole.as_bytes()[first..].chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let head = (first > 0).then(|| whole[..first].to_owned());
    head.into_iter().chain(groups).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.1234, 1.234, 12.34, 123.4, 1234.5, 1_234_567.0].map(text);
        assert_eq!(texts, ["0", "0.123", "1.23", "12.3", "123", "1,234", "1,234,567"]);
    }

    #[test]
    fn medians_are_of_one_configuration_at_one_point() {
        let mut results = Results::new("async", false);
        for (label, name, value) in [("a", "iuh", 1.0), ("a", "iuh", 3.0), ("a", "lineage", 6.0), ("b", "iuh", 9.0)] {
            results.add("t", label, name, value);
        }
        assert_eq!(results.median("t", "a", "iuh"), Some(3.0));
        assert_eq!((results.median("t", "a", "dbm"), results.median("u", "a", "iuh")), (None, None));
        assert_eq!(results.tables[0].names(), ["iuh", "lineage"]);
    }
}
