//! Ablations: Weft with one idea taken out, as options of a table and a setting.
//!
//! ```text
//!   fine      WITH (incremental = 'fine')      row tables that become column tables      ┐
//!   rows      WITH (incremental = 'rows')      row tables that stay                       │ incremental data
//!   columns   WITH (incremental = 'columns')   column tables at once                      ┘
//!   whole     WITH (compaction = 'whole')      all of the incremental data into all of the baseline at once
//!   cost, greedy, off    SET scheduler = '...'
//!   default   as Weft is: no option is written
//! ```
//!
//! Switches of the command line (`--conflict antimatter`, `--granularity-bytes 65536`, ...) go to every configuration;
//! an option that the configuration itself is about stays.

use std::collections::BTreeMap;

use crate::subcommand::Failure;

/// What an ablation is called and what it sets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Configuration {
    /// How results are named.
    pub(super) name: String,
    /// Options of `CREATE TABLE ... WITH`.
    options: BTreeMap<String, String>,
    /// Value of the setting `scheduler`.
    pub(super) scheduler: Option<String>,
}

/// The ablations: name, and the option that makes them; none for a setting.
const KNOWN: &[(&str, Option<(&str, &str)>)] = &[
    ("default", None),
    ("fine", Some(("incremental", "fine"))),
    ("rows", Some(("incremental", "rows"))),
    ("columns", Some(("incremental", "columns"))),
    ("fine-compaction", Some(("compaction", "fine"))),
    ("whole", Some(("compaction", "whole"))),
    ("cost", None),
    ("greedy", None),
    ("off", None),
];

impl Configuration {
    /// An ablation by its name, with the switches of the command line.
    pub(super) fn named(
        name: &str,
        switches: &BTreeMap<String, String>,
        scheduler: Option<&str>,
    ) -> Result<Configuration, Failure> {
        let Some((_, option)) = KNOWN.iter().find(|known| known.0 == name) else {
            let known: Vec<&str> = KNOWN.iter().map(|known| known.0).collect();
            return Err(Failure::Usage(format!("there is no configuration {name}; there are {}", known.join(", "))));
        };
        let mut options = switches.clone();
        options.extend(option.iter().map(|(option, value)| ((*option).to_owned(), (*value).to_owned())));
        let own = ["cost", "greedy", "off"].contains(&name).then_some(name);
        Ok(Configuration { name: name.to_owned(), options, scheduler: own.or(scheduler).map(str::to_owned) })
    }

    /// The end of CREATE TABLE.
    pub(super) fn with_clause(&self) -> String {
        if self.options.is_empty() {
            return String::new();
        }
        let options: Vec<String> = self.options.iter().map(|(name, value)| format!("{name} = '{value}'")).collect();
        format!(" WITH ({})", options.join(", "))
    }

    /// Whether incremental data stays in row tables for ever: all of it must fit in memory.
    pub(super) fn keeps_rows(&self) -> bool {
        self.options.get("incremental").is_some_and(|value| value == "rows")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_written_only_when_something_names_them() {
        let none = BTreeMap::new();
        let default = Configuration::named("default", &none, None).unwrap();
        assert_eq!((default.with_clause().as_str(), default.scheduler.as_deref()), ("", None));
        let switches = BTreeMap::from([("conflict".to_owned(), "antimatter".to_owned())]);
        let rows = Configuration::named("rows", &switches, Some("off")).unwrap();
        assert_eq!(rows.with_clause(), " WITH (conflict = 'antimatter', incremental = 'rows')");
        assert!(rows.keeps_rows() && rows.scheduler.as_deref() == Some("off"));
        let greedy = Configuration::named("greedy", &none, Some("off")).unwrap();
        assert_eq!((greedy.with_clause().as_str(), greedy.scheduler.as_deref()), ("", Some("greedy")));
        assert!(matches!(Configuration::named("tall", &none, None), Err(Failure::Usage(m)) if m.contains("tall")));
    }
}
