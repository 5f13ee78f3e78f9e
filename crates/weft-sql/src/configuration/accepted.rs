//! Settings of PostgreSQL that mean nothing here: clients may set them, what they set is tested and shown, and nothing
//! follows from it.
//!
//! ```text
//!   SET work_mem = '64MB'       taken; SHOW says 64MB
//!   SET work_mem = '64 apples'  22023: the units are kB, MB, ...
//!   SET random_page_cost = -1   22023: outside of the range
//! ```
//!
//! The table is `accepted.txt`, made from `pg_settings` of PostgreSQL 15. What would change an answer there
//! (`transform_null_equals`, ...) is not in it: it is refused as unknown.

use std::sync::LazyLock;

use weft_format::{Code, Error, Result};

use super::value::parse_bool;

/// A setting that is taken, without effect.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// Its name.
    pub name: &'static str,
    kind: Kind,
    /// What it is when nobody says, in its one form.
    pub default: String,
    /// Whether only superusers set it.
    pub for_superusers: bool,
    /// What PostgreSQL says of it.
    pub meaning: &'static str,
}

#[derive(Clone, Debug)]
enum Kind {
    Bool,
    /// The unit (empty: none), the bounds.
    Integer(&'static str, i64, i64),
    Real(&'static str, f64, f64),
    Words(Vec<&'static str>),
    Text,
}

/// All of them, by name.
pub static ACCEPTED: LazyLock<Vec<Accepted>> = LazyLock::new(|| {
    let lines = include_str!("accepted.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| read(line).unwrap_or_else(|| panic!("accepted.txt: {line}"))).collect()
});

/// A setting by its name in lower case.
pub fn accepted(name: &str) -> Option<&'static Accepted> {
    ACCEPTED.binary_search_by(|known| known.name.cmp(name)).ok().map(|at| &ACCEPTED[at])
}

fn read(line: &'static str) -> Option<Accepted> {
    let fields: Vec<&'static str> = line.split('|').collect();
    let [name, kind, unit, least, most, words, default, context, meaning] = fields[..] else { return None };
    let kind = match kind {
        "bool" => Kind::Bool,
        "integer" => Kind::Integer(unit, least.parse().ok()?, most.parse().ok()?),
        "real" => Kind::Real(unit, least.parse().ok()?, most.parse().ok()?),
        "enum" => Kind::Words(words.split(',').collect()),
        "string" => Kind::Text,
        _ => return None,
    };
    let mut setting = Accepted { name, kind, default: String::new(), for_superusers: context == "superuser", meaning };
    setting.default = setting.canonical(default).ok()?;
    Some(setting)
}

/// Units of a kind, and how many of the smallest each is: bytes, or microseconds.
const BYTES: &[(&str, f64)] =
    &[("TB", 1_099_511_627_776.0), ("GB", 1_073_741_824.0), ("MB", 1_048_576.0), ("kB", 1024.0), ("B", 1.0)];
const TIMES: &[(&str, f64)] = &[("d", 86_400e6), ("h", 3600e6), ("min", 60e6), ("s", 1e6), ("ms", 1000.0), ("us", 1.0)];

/// The units that a setting takes, and how many of the smallest its own is.
fn units(unit: &str) -> Option<(&'static [(&'static str, f64)], f64)> {
    if unit == "8kB" {
        return Some((BYTES, 8192.0));
    }
    let of = |units: &'static [(&'static str, f64)]| {
        units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| (units, *factor))
    };
    of(BYTES).or_else(|| of(TIMES))
}

impl Accepted {
    /// What `pg_settings.vartype` says.
    pub(super) fn vartype(&self) -> &'static str {
        match self.kind {
            Kind::Bool => "bool",
            Kind::Integer(..) => "integer",
            Kind::Real(..) => "real",
            Kind::Words(_) => "enum",
            Kind::Text => "string",
        }
    }

    /// A value in its one form, as SHOW writes it.
    pub fn canonical(&self, value: &str) -> Result<String> {
        let name = self.name;
        let invalid = |message: String| Error::new(Code::InvalidParameterValue, message);
        let no_value = || invalid(format!("invalid value for parameter \"{name}\": \"{value}\""));
        match &self.kind {
            Kind::Text => Ok(value.to_owned()),
            Kind::Bool => match parse_bool(&value.trim().to_lowercase()) {
                Some(on) => Ok(if on { "on" } else { "off" }.to_owned()),
                None => Err(invalid(format!("parameter \"{name}\" requires a Boolean value"))),
            },
            Kind::Words(words) => {
                let found = words.iter().find(|word| word.eq_ignore_ascii_case(value.trim()));
                let found = found.or_else(|| {
                    let on = parse_bool(&value.trim().to_lowercase())?;
                    words.iter().find(|word| **word == if on { "on" } else { "off" })
                });
                let hint = || format!("Available values: {}.", words.join(", "));
                found.map(|word| (*word).to_owned()).ok_or_else(|| no_value().hint(hint()))
            }
            Kind::Integer(unit, least, most) => {
                let number = self.number(value, unit).map_err(|hint| with_hint(no_value(), hint))?.round_ties_even();
                if !(*least as f64..=*most as f64).contains(&number) {
                    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
                    let range = format!("({least}{unit} .. {most}{unit})");
                    let message = format!("{number}{unit} is outside the valid range for parameter \"{name}\" {range}");
                    return Err(invalid(message));
                }
                Ok(shown(number as i64, unit))
            }
            Kind::Real(unit, least, most) => {
                let number = self.number(value, unit).map_err(|hint| with_hint(no_value(), hint))?;
                if !(*least..=*most).contains(&number) {
                    let range = format!("({least} .. {most})");
                    let message = format!("{number} is outside the valid range for parameter \"{name}\" {range}");
                    return Err(invalid(message));
                }
                Ok(if unit.is_empty() || number == 0.0 { number.to_string() } else { format!("{number}{unit}") })
            }
        }
    }

    /// A number with a unit, in the setting's own; the error is a hint, if there is one.
    fn number(&self, value: &str, unit: &str) -> Result<f64, Option<String>> {
        let text = value.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+' | 'e' | 'E'));
        let (digits, given) = text.split_at(end.unwrap_or(text.len()));
        let number: f64 = digits.parse().map_err(|_| None)?;
        let given = given.trim();
        if given.is_empty() {
            return Ok(number);
        }
        let (units, own) = units(unit).ok_or(None)?;
        let names: Vec<String> = units.iter().rev().map(|(name, _)| format!("\"{name}\"")).collect();
        let hint = || {
            let (last, others) = names.split_last().expect("there are units");
            Some(format!("Valid units for this parameter are {}, and {last}.", others.join(", ")))
        };
        let (_, factor) = units.iter().find(|(name, _)| *name == given).ok_or_else(hint)?;
        Ok(number * factor / own)
    }
}

fn with_hint(error: Error, hint: Option<String>) -> Error {
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// A number of a unit, in the largest one that it is a whole number of.
fn shown(number: i64, unit: &str) -> String {
    let Some((units, own)) = units(unit).filter(|_| number > 0) else { return number.to_string() };
    let smallest = number as f64 * own;
    let fitting = units.iter().find(|(_, factor)| smallest % factor == 0.0);
    fitting.map_or_else(|| number.to_string(), |(name, factor)| format!("{}{name}", smallest / factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::definition;

    #[test]
    fn the_table_is_sorted_and_apart_from_the_other() {
        assert!(ACCEPTED.windows(2).all(|pair| pair[0].name < pair[1].name));
        for known in ACCEPTED.iter() {
            assert!(definition(known.name).is_none(), "{} has an effect", known.name);
            assert_eq!(known.canonical(&known.default).unwrap(), known.default, "{}", known.name);
        }
    }

    #[test]
    fn values_are_tested_and_shown_as_postgresql_does() {
        for (name, value, wanted) in [
            ("work_mem", "65536", Ok("64MB")),
            ("work_mem", "64MB", Ok("64MB")),
            ("work_mem", "1.5GB", Ok("1536MB")),
            (
                "work_mem",
                "1",
                Err("1 kB is outside the valid range for parameter \"work_mem\" (64 kB .. 2147483647 kB)"),
            ),
            ("work_mem", "lots", Err("invalid value for parameter \"work_mem\": \"lots\"")),
            ("deadlock_timeout", "10s", Ok("10s")),
            ("deadlock_timeout", "1500", Ok("1500ms")),
            ("effective_cache_size", "1GB", Ok("1GB")),
            ("random_page_cost", "1.1", Ok("1.1")),
            ("random_page_cost", "-1", Err("-1 is outside the valid range for parameter \"random_page_cost\" (0 .. ")),
            ("enable_seqscan", "false", Ok("off")),
            ("enable_seqscan", "perhaps", Err("parameter \"enable_seqscan\" requires a Boolean value")),
            ("synchronous_commit", "OFF", Ok("off")),
            ("synchronous_commit", "never", Err("invalid value for parameter \"synchronous_commit\": \"never\"")),
        ] {
            let got = accepted(name).unwrap_or_else(|| panic!("{name}")).canonical(value);
            match (got, wanted) {
                (Ok(got), Ok(wanted)) => assert_eq!(got, wanted, "{name} = {value}"),
                (Err(got), Err(wanted)) => assert!(got.message().starts_with(wanted), "{name} = {value}: {got}"),
                (got, _) => panic!("{name} = {value}: {got:?}"),
            }
        }
    }
}
