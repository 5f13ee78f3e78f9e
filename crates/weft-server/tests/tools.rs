//! What DBeaver, pgAdmin, Metabase, Grafana and pgjdbc ask of the catalog: the answers, kept beside PostgreSQL's.
//!
//! ```text
//!   === name of the statement; prepared; sorted        prepared: Parse and Bind with the parameters below, as pgjdbc
//!   SELECT ... WHERE c.oid = @{shop.orders}            the number that this server gave the object
//!   ---
//!     name:text | rows:int8                            two blanks: what both answer
//!   postgresql: orders | 0                             only PostgreSQL
//!   weft: orders | -1                                  only Weft: a known difference
//! ```
//!
//! The scripts stand in tests/tools, where README.md tells their form and expect.py writes the answers of both.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test reads its files")]

mod wire;

use std::collections::BTreeMap;
use std::path::PathBuf;

use wire::{Message, TestServer, Wire};

#[test]
fn dbeaver() {
    run("dbeaver.txt");
}

#[test]
fn grafana() {
    run("grafana.txt");
}

#[test]
fn metabase() {
    run("metabase.txt");
}

#[test]
fn pgadmin() {
    run("pgadmin.txt");
}

#[test]
fn pgjdbc() {
    run("pgjdbc.txt");
}

fn file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/tools").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A statement of a script, and what Weft answers.
struct Statement {
    name: String,
    sql: String,
    params: Vec<(u32, String)>,
    is_prepared: bool,
    is_sorted: bool,
    /// Columns whose values are other ones each time.
    varies: Vec<String>,
    answer: Vec<String>,
}

impl Statement {
    fn parse(block: &str) -> Statement {
        let (head, rest) = block.split_once('\n').unwrap();
        let (sql, answer) = rest.split_once("\n---\n").unwrap_or((rest, ""));
        let options: Vec<&str> = head.split(';').map(str::trim).collect();
        let mut lines: Vec<&str> = sql.lines().collect();
        let mut params = Vec::new();
        while let Some(param) = lines.last().and_then(|line| line.strip_prefix('$')) {
            let Some((kind, value)) = param.split_once(' ').and_then(|(_, rest)| rest.split_once(" = ")) else { break };
            params.insert(0, (type_number(kind), value.to_owned()));
            lines.pop();
        }
        let varies = options.iter().find_map(|option| option.strip_prefix("varies: "));
        let own = |line: &str| match line.strip_prefix("  ") {
            Some(both) => Some(both.to_owned()),
            None => line.strip_prefix("weft:").map(|own| own.strip_prefix(' ').unwrap_or(own).to_owned()),
        };
        Statement {
            name: options[0].to_owned(),
            sql: lines.join("\n"),
            params,
            is_prepared: options.contains(&"prepared"),
            is_sorted: options.contains(&"sorted"),
            varies: varies.map_or_else(Vec::new, |all| all.split(", ").map(str::to_owned).collect()),
            answer: answer.lines().filter_map(own).collect(),
        }
    }
}

fn type_number(name: &str) -> u32 {
    match name {
        "bool" => 16,
        "int8" => 20,
        "int4" => 23,
        "text" => 25,
        "oid" => 26,
        "_oid" => 1028,
        "varchar" => 1043,
        other => panic!("the type {other} of a parameter"),
    }
}

/// Types of columns, as far as tools tell them apart.
fn type_name(oid: u32) -> &'static str {
    match oid {
        16 => "bool",
        20 | 28 => "int8",
        21 => "int2",
        23 => "int4",
        26 => "oid",
        114 => "json",
        700 => "float4",
        701 => "float8",
        1005 => "int2[]",
        1007 => "int4[]",
        1028 => "oid[]",
        1184 => "timestamptz",
        _ => "text",
    }
}

/// The numbers that this server gave to objects, and their names.
struct Objects {
    numbers: BTreeMap<String, String>,
    names: BTreeMap<String, String>,
}

/// Numbers from here on are the server's choice.
const FIRST: u64 = 16_384;

impl Objects {
    fn of(wire: &mut Wire) -> Objects {
        let (mut numbers, mut names) = (BTreeMap::new(), BTreeMap::new());
        for sql in file("objects.sql").split(";\n").filter(|sql| !sql.trim().is_empty()) {
            for row in wire.run(sql).unwrap() {
                let (number, name) = (row[0].clone().unwrap(), row[1].clone().unwrap());
                if number.parse::<u64>().unwrap() >= FIRST {
                    names.entry(number.clone()).or_insert_with(|| name.clone());
                }
                numbers.insert(name, number);
            }
        }
        Objects { numbers, names }
    }

    /// `@{shop.orders}` as its number.
    fn numbered(&self, text: &str) -> String {
        let mut parts = text.split("@{");
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').unwrap();
            out.push_str(self.numbers.get(name).unwrap_or_else(|| panic!("no object {name}")));
            out.push_str(rest);
        }
        out
    }

    /// Numbers of objects as their names: `<shop.orders>`.
    fn named(&self, text: &str) -> String {
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        let (mut out, mut rest) = (String::new(), text);
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            // Together with dots it is no number of an object.
            let start = rest[..start].trim_end_matches('.').len();
            out.push_str(&rest[..start]);
            let end = rest[start..].find(|c: char| !is_part(c)).map_or(rest.len(), |length| start + length);
            match self.names.get(&rest[start..end]) {
                Some(name) => out.push_str(&format!("<{name}>")),
                None => out.push_str(&rest[start..end]),
            }
            rest = &rest[end..];
        }
        out + rest
    }
}

fn cell(objects: &Objects, statement: &Statement, name: &str, value: Option<Vec<u8>>) -> String {
    let Some(value) = value else { return "NULL".into() };
    if statement.varies.iter().any(|known| known == name) {
        return "(varies)".into();
    }
    let text = String::from_utf8(value).unwrap();
    objects.named(&text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r"))
}

/// The messages of an answer as lines of a script.
fn lines(objects: &Objects, statement: &Statement, messages: &[Message]) -> Vec<String> {
    let (mut out, mut names, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for message in messages {
        match message.tag {
            b'T' => {
                let columns = message.columns();
                let shown = columns.iter().map(|(name, oid, _)| format!("{name}:{}", type_name(*oid)));
                out.push(shown.collect::<Vec<_>>().join(" | "));
                names = columns.into_iter().map(|(name, ..)| name).collect();
            }
            b'D' => {
                let values = names.iter().zip(message.values());
                let cells = values.map(|(name, value)| cell(objects, statement, name, value));
                rows.push(cells.collect::<Vec<_>>().join(" | "));
            }
            b'C' => {
                if names.is_empty() {
                    let tag = message.body.strip_suffix(&[0]).unwrap();
                    out.push(String::from_utf8(tag.to_vec()).unwrap());
                }
                if statement.is_sorted {
                    rows.sort();
                }
                out.append(&mut rows);
                names.clear();
            }
            b'E' => {
                // A statement may be described and fail when it is run: the error is its answer.
                if !names.is_empty() {
                    out.pop();
                    names.clear();
                    rows.clear();
                }
                out.push(format!("error {}", message.field(b'C').unwrap()));
            }
            _ => {}
        }
    }
    out.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

fn ask(wire: &mut Wire, objects: &Objects, statement: &Statement) -> Vec<String> {
    let sql = objects.numbered(&statement.sql);
    if !statement.is_prepared {
        return lines(objects, statement, &wire.query(&sql).answers());
    }
    let types: Vec<u32> = statement.params.iter().map(|(oid, _)| *oid).collect();
    let values: Vec<String> = statement.params.iter().map(|(_, value)| objects.numbered(value)).collect();
    let values: Vec<Option<&[u8]>> = values.iter().map(|value| Some(value.as_bytes())).collect();
    let wire = wire.parse("", &sql, &types).bind("", "", &values, 0).describe(b'P', "").execute("", 0).sync();
    lines(objects, statement, &wire.answers())
}

/// Asks everything of a script in one session.
fn run(script: &str) {
    let server = TestServer::start();
    let mut wire = server.connect();
    // As on the server that the answers were written from.
    wire.run("ALTER ROLE weft PASSWORD NULL").unwrap();
    wire.run(&file("schema.sql")).unwrap();
    let objects = Objects::of(&mut wire);
    let text = file(script);
    let (mut asked, mut wrong) = (0, 0);
    for block in text.split("\n=== ").skip(1) {
        let statement = Statement::parse(block);
        let answer = ask(&mut wire, &objects, &statement);
        asked += 1;
        if answer != statement.answer {
            wrong += 1;
            println!("{script}: {}\n{}", statement.name, statement.sql);
            for line in statement.answer.iter().filter(|line| !answer.contains(line)) {
                println!("  expected  {line}");
            }
            for line in answer.iter().filter(|line| !statement.answer.contains(line)) {
                println!("  answered  {line}");
            }
        }
    }
    assert!(asked >= 8, "{script} has its statements");
    assert_eq!(wrong, 0, "answers of {asked} changed; tests/tools/expect.py writes them anew");
}
