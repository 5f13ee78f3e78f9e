//! Joins of random graphs: the same rows whatever the order of FROM, and those that a plain search finds.
//!
//! ```text
//!   3 relations     t0.a = t1.b AND t1.a < t2.a AND t0.b IS NOT DISTINCT FROM t2.b AND t1.a > 2
//!   written         FROM t2, t0, t1 WHERE ...     FROM t0 JOIN t1 ON ... JOIN t2 ON ...     FROM t1, t0 JOIN t2 ON ...
//!   compared with   every combination of their rows, tested
//! ```
//!
//! `WEFT_JOIN_GRAPHS=100000` runs more, `WEFT_JOIN_GRAPH=7` the one of a number.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may end at once, and reads its environment")]

use std::fmt::Write;

use weft::{Database, Session, Value};

const TABLES: usize = 6;
const ROWS: u64 = 7;

/// Numbers that look random, the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// A column of a relation: its number among id, a, b.
type Column = (usize, usize);

#[derive(Clone, Copy, Debug)]
enum Condition {
    Equal(Column, Column),
    Same(Column, Column),
    Less(Column, Column),
    /// The sum of two is a third one.
    Sum(Column, Column, Column),
    Above(Column, i64),
}

type Row = [Option<i64>; 3];

impl Condition {
    fn holds(self, rows: &[Row]) -> bool {
        let value = |(relation, column): Column| rows[relation][column];
        match self {
            Condition::Equal(a, b) => value(a).is_some() && value(a) == value(b),
            Condition::Same(a, b) => value(a) == value(b),
            Condition::Less(a, b) => matches!((value(a), value(b)), (Some(a), Some(b)) if a < b),
            Condition::Sum(a, b, c) => {
                matches!((value(a), value(b), value(c)), (Some(a), Some(b), Some(c)) if a + b == c)
            }
            Condition::Above(a, least) => value(a).is_some_and(|value| value > least),
        }
    }

    fn sql(self) -> String {
        let name = |(relation, column): Column| format!("r{relation}.{}", ["id", "a", "b"][column]);
        match self {
            Condition::Equal(a, b) => format!("{} = {}", name(a), name(b)),
            Condition::Same(a, b) => format!("{} IS NOT DISTINCT FROM {}", name(a), name(b)),
            Condition::Less(a, b) => format!("{} < {}", name(a), name(b)),
            Condition::Sum(a, b, c) => format!("{} + {} = {}", name(a), name(b), name(c)),
            Condition::Above(a, least) => format!("{} > {least}", name(a)),
        }
    }

    fn last_of(self, place: &[usize]) -> usize {
        let relations: &[usize] = match self {
            Condition::Equal(a, b) | Condition::Same(a, b) | Condition::Less(a, b) => &[a.0, b.0],
            Condition::Sum(a, b, c) => &[a.0, b.0, c.0],
            Condition::Above(a, _) => &[a.0],
        };
        relations.iter().map(|relation| place[*relation]).max().unwrap_or(0)
    }
}

/// Which table each relation is, and what is between them.
struct Case {
    tables: Vec<usize>,
    conditions: Vec<Condition>,
}

fn case(numbers: &mut Numbers) -> Case {
    let count = 2 + numbers.below(4) as usize;
    let tables = (0..count).map(|_| numbers.below(TABLES as u64) as usize).collect();
    let mut conditions = Vec::new();
    for relation in 1..count {
        let before = numbers.below(relation as u64) as usize;
        let (a, b) = ((relation, numbers.below(3) as usize), (before, numbers.below(3) as usize));
        conditions.push(match numbers.below(8) {
            0 => Condition::Less(a, b),
            1 => Condition::Same(a, b),
            _ => Condition::Equal(a, b),
        });
    }
    for _ in 0..numbers.below(4) {
        let mut column = || (numbers.below(count as u64) as usize, numbers.below(3) as usize);
        let (a, b, c) = (column(), column(), column());
        conditions.push(match numbers.below(4) {
            0 => Condition::Sum(a, b, c),
            1 => Condition::Above(a, numbers.below(5) as i64),
            2 => Condition::Less(a, b),
            _ => Condition::Equal(a, b),
        });
    }
    Case { tables, conditions }
}

impl Case {
    /// The same query, written in another way each time.
    fn sql(&self, numbers: &mut Numbers) -> String {
        let mut order: Vec<usize> = (0..self.tables.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, numbers.below(at as u64 + 1) as usize);
        }
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &relation)| place[relation] = at);
        let (mut from, mut rest, mut list_begins) = (String::new(), Vec::new(), 0);
        for (at, &relation) in order.iter().enumerate() {
            let table = format!("t{} r{relation}", self.tables[relation]);
            let here: Vec<Condition> =
                self.conditions.iter().copied().filter(|condition| condition.last_of(&place) == at).collect();
            // ON reads what is joined with it: not what stands before the last comma.
            let first = |condition: &Condition| {
                let reversed: Vec<usize> = place.iter().map(|place| order.len() - place).collect();
                order.len() - condition.last_of(&reversed)
            };
            let (on, others): (Vec<_>, Vec<_>) =
                here.into_iter().partition(|condition| first(condition) >= list_begins);
            if at > 0 && !on.is_empty() && numbers.below(2) == 0 {
                let texts: Vec<String> = on.into_iter().map(Condition::sql).collect();
                write!(from, " JOIN {table} ON {}", texts.join(" AND ")).unwrap();
                rest.extend(others);
            } else {
                list_begins = at;
                write!(from, "{}{table}", if at > 0 { ", " } else { "" }).unwrap();
                rest.extend(on.into_iter().chain(others));
            }
        }
        let ids: Vec<String> = (0..self.tables.len()).map(|relation| format!("r{relation}.id")).collect();
        let mut sql = format!("SELECT {} FROM {from}", ids.join(", "));
        if !rest.is_empty() {
            let texts: Vec<String> = rest.into_iter().map(Condition::sql).collect();
            write!(sql, " WHERE {}", texts.join(" AND ")).unwrap();
        }
        sql
    }

    /// The ids of all combinations of rows for which everything holds, sorted.
    fn answer(&self, tables: &[Vec<Row>]) -> Vec<Vec<i64>> {
        let mut found = Vec::new();
        let mut at = vec![0; self.tables.len()];
        loop {
            let rows: Vec<Row> = self.tables.iter().zip(&at).map(|(table, row)| tables[*table][*row]).collect();
            if self.conditions.iter().all(|condition| condition.holds(&rows)) {
                found.push(rows.iter().map(|row| row[0].unwrap()).collect());
            }
            let Some(next) = (0..at.len()).find(|relation| at[*relation] + 1 < tables[self.tables[*relation]].len())
            else {
                break;
            };
            at[next] += 1;
            at[..next].fill(0);
        }
        found.sort_unstable();
        found
    }
}

fn rows_of(session: &mut Session, sql: &str) -> Vec<Vec<i64>> {
    let outcomes = session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let number = |value: Value| match value {
        Value::Int(number) => number,
        other => panic!("{sql}: {other:?}"),
    };
    let mut rows: Vec<Vec<i64>> =
        outcomes.last().unwrap().rows.iter().map(|row| row.into_iter().map(number).collect()).collect();
    rows.sort_unstable();
    rows
}

/// Tables with few values and NULLs; every other one is in files, with spans known.
fn tables(database: &Database, session: &mut Session) -> Vec<Vec<Row>> {
    let mut numbers = Numbers(3);
    let mut tables = Vec::new();
    for table in 0..TABLES {
        let unique = if table % 3 == 0 { ", UNIQUE (a, b)" } else { "" };
        session.execute(&format!("CREATE TABLE t{table} (id int PRIMARY KEY, a int, b int{unique})")).unwrap();
        let mut rows: Vec<Row> = Vec::new();
        for id in 0..numbers.below(ROWS) + 1 {
            let mut value = || Some(numbers.below(6) as i64).filter(|value| *value > 0);
            let row = [Some(id as i64), value(), value()];
            let is_taken = rows.iter().any(|known| known[1..] == row[1..] && row[1].is_some() && row[2].is_some());
            if unique.is_empty() || !is_taken {
                rows.push(row);
            }
        }
        for row in &rows {
            let text = row.map(|value| value.map_or_else(|| "NULL".to_owned(), |value| value.to_string()));
            session.execute(&format!("INSERT INTO t{table} VALUES ({})", text.join(", "))).unwrap();
        }
        if table == TABLES / 2 {
            database.checkpoint().unwrap();
        }
        tables.push(rows);
    }
    tables
}

#[test]
fn all_orders_of_a_join_give_the_same_rows() {
    let setting = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let count = setting("WEFT_JOIN_GRAPHS").unwrap_or(if cfg!(debug_assertions) { 200 } else { 2_000 });
    let only = setting("WEFT_JOIN_GRAPH");
    let dir = tempfile::tempdir().unwrap();
    let database = Database::open(dir.path().join("db")).unwrap();
    let mut session = database.session().unwrap();
    let tables = tables(&database, &mut session);
    let (mut with_rows, mut of_many) = (0, 0);
    for seed in only.map_or(0..count, |only| only..only + 1) {
        let mut numbers = Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let case = case(&mut numbers);
        let answer = case.answer(&tables);
        for _ in 0..numbers.pick(&[2, 2, 3]) {
            let sql = case.sql(&mut numbers);
            assert_eq!(rows_of(&mut session, &sql), answer, "WEFT_JOIN_GRAPH={seed}: {sql}");
        }
        with_rows += u64::from(!answer.is_empty());
        of_many += u64::from(case.tables.len() > 3);
    }
    println!("{count} graphs, {with_rows} with rows, {of_many} of more than three relations");
    assert!(only.is_some() || (with_rows > count / 8 && of_many > count / 4), "{with_rows}, {of_many} of {count}");
}
