//! Random statements that PostgreSQL answers, and whose answer is one only.
//!
//! ```text
//!   Generator ── frames: what names mean here, innermost last       [o.i4, o.t] [a.i4, a.f, count(*)]
//!     ├─ queries   SELECT, set operations, VALUES, WITH, LIMIT under a total order
//!     │    ├─ sources     tables, joins of every kind, LATERAL, functions
//!     │    ├─ grouped     GROUP BY, grouping sets, aggregates, HAVING
//!     │    └─ windows     named and unnamed, frames
//!     ├─ values    expressions of a type: numbers, texts, times, truth, subqueries in any of them
//!     ├─ changes   INSERT, UPDATE, DELETE with RETURNING
//!     └─ failing   expressions that may fail, where each of their rows is evaluated
//! ```
//!
//! 1. But for `failing`, no expression can fail, whatever the rows and in whatever order conditions are evaluated: the
//!    magnitude of numbers is followed, divisors are not zero, arguments are in range.
//! 2. No answer depends on the order of rows: LIMIT, DISTINCT ON and windows that count rows stand over total orders;
//!    sums of floating point numbers are exact.

mod aggregates;
mod changes;
mod failing;
mod frames;
mod grouped;
mod in_sight;
mod numbers;
mod queries;
mod select;
mod sources;
mod subqueries;
mod texts;
mod times;
mod truth;
mod values;
mod windows;

use crate::case::{Case, Kind};
use crate::random::Random;
use crate::tables::Table;
use crate::tree::Node;
use crate::types::Type;
use frames::{Frame, Known};

/// Makes statements over some tables.
pub struct Generator<'a> {
    pub(self) random: Random,
    pub(self) tables: &'a [Table],
    /// What names mean, innermost last.
    pub(self) frames: Vec<Frame>,
    /// Queries of WITH that are in sight.
    pub(self) known: Vec<Known>,
    /// Numbers for aliases.
    pub(self) aliases: usize,
    /// How many more SELECTs the statement may have.
    pub(self) selects_left: usize,
    /// How many more times a large table may be named.
    pub(self) large_left: usize,
    /// Whether expressions may fail.
    pub(self) may_fail: bool,
    /// Whether subqueries may stand here.
    pub(self) subqueries: bool,
}

/// The tables of a scenario.
pub fn tables(seed: u64) -> Vec<Table> {
    let mut random = Random::new(seed, 1);
    let count = random.between(2, 4);
    let large = if random.chance(30) { random.below(count) } else { usize::MAX };
    (0..count)
        .map(|place| Table::random(&mut random, format!("t{place}"), if place == large { 300 } else { 8 }))
        .collect()
}

/// The statement of a scenario with a number.
pub fn case(seed: u64, number: usize, tables: &[Table]) -> Case {
    let mut generator = Generator {
        random: Random::new(seed, 2 + number as u64),
        tables,
        frames: Vec::new(),
        known: Vec::new(),
        aliases: 0,
        selects_left: 5,
        large_left: 3,
        may_fail: false,
        subqueries: true,
    };
    let (kind, statement) = generator.statement();
    Case { tables: tables.to_vec(), kind, columns: seed % 2 == 1, statement }
}

impl Generator<'_> {
    fn statement(&mut self) -> (Kind, Node) {
        match self.random.below(100) {
            0..=9 => (Kind::Change, self.change()),
            10..=19 => (Kind::Failing, self.failing()),
            20..=27 => (Kind::Query, self.point()),
            _ => {
                let types = self.types(4);
                let depth = self.random.between(1, 3);
                (Kind::Query, self.query(&types, depth, true))
            }
        }
    }

    /// Up to `most` types of result columns.
    fn types(&mut self, most: usize) -> Vec<Type> {
        let count = self.random.between(1, most);
        (0..count).map(|_| self.any_type()).collect()
    }

    fn any_type(&mut self) -> Type {
        if self.random.chance(85) { *self.random.pick(&Type::COMMON) } else { *self.random.pick(&Type::ALL) }
    }

    fn alias(&mut self, letter: &str) -> String {
        self.aliases += 1;
        format!("{letter}{}", self.aliases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(seeds: u64) -> Vec<String> {
        let of_seed = |seed: u64| {
            let tables = tables(seed);
            (0..100).map(|number| case(seed, number, &tables).statement.sql()).collect::<Vec<_>>()
        };
        (1..=seeds).flat_map(of_seed).collect()
    }

    #[test]
    fn a_seed_means_the_same_statements() {
        assert_eq!(statements(3), statements(3));
    }

    /// What the statements of CI's size have all of.
    #[test]
    fn every_construct_is_there() {
        let statements = statements(20);
        for construct in [
            " FULL JOIN ",
            " USING (",
            " NATURAL LEFT JOIN ",
            ", LATERAL (",
            " CROSS JOIN ",
            " FILTER (WHERE ",
            "(DISTINCT ",
            "DISTINCT ON (",
            " ROLLUP (",
            " CUBE (",
            " GROUPING SETS (",
            "grouping(",
            " WINDOW w AS (",
            " OVER w",
            " OVER (w",
            " OVER (",
            " EXCLUDE CURRENT ROW",
            ") UNION (",
            ") INTERSECT ALL (",
            ") EXCEPT (",
            "WITH RECURSIVE ",
            " NOT IN (SELECT ",
            " IN (VALUES ",
            "ALL (SELECT ",
            "ANY (SELECT ",
            "EXISTS (SELECT ",
            "ARRAY(SELECT ",
            ") NOT IN (SELECT ",
            " HAVING ",
            " LIMIT ",
            " OFFSET ",
            " NULLS FIRST",
            " IS NOT DISTINCT FROM ",
            " BETWEEN SYMMETRIC ",
            " ON CONFLICT (id) DO UPDATE ",
            " RETURNING ",
            "CASE ",
            "generate_series(",
        ] {
            let count = statements.iter().filter(|statement| statement.contains(construct)).count();
            assert!(count >= 2, "{construct:?} is in {count} of {} statements", statements.len());
        }
        let open = statements.iter().filter(|statement| statement.contains("NULL")).count();
        assert!(open * 3 > statements.len(), "NULL is in {open}");
    }

    #[test]
    fn parameters_have_the_values_of_the_constants() {
        let tables = tables(1);
        let texts: Vec<_> = (0..100).map(|number| case(1, number, &tables).statement.with_parameters()).collect();
        assert!(texts.iter().filter(|text| text.parameters.len() > 1).count() > 20);
        for text in texts {
            for place in 1..=text.parameters.len() {
                assert!(text.sql.contains(&format!("${place}")), "{}", text.sql);
            }
        }
    }
}
