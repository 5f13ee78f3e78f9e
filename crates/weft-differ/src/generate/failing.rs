//! Expressions that may fail: overflow, division by zero, text that does not read.
//!
//! Each stands alone in the list of a SELECT over one table without conditions, so that every row evaluates it: whether
//! the statement fails does not depend on an order of evaluation.

use crate::parts;
use crate::tree::{Node, Part, Role};
use crate::types::Type;

use super::Generator;
use super::frames::{Expr, Frame};

/// Values of some type, and what is no value of any.
const TEXTS: &[&str] = &[
    "",
    " ",
    "1",
    " 7 ",
    "-0",
    "+5",
    "1.5",
    "1e3",
    "1e400",
    "NaN",
    "inf",
    "-Infinity",
    "abc",
    "0x10",
    "1_000",
    "32768",
    "2147483648",
    "9223372036854775808",
    "99999999999999999999999999999",
    "true",
    "t",
    "yes",
    "on",
    "of",
    "off",
    "1 day",
    "P1Y2M",
    "2 hours ago",
    "1:02:03",
    "-1 mons +2 days",
    "2024-02-30",
    "2024-02-29",
    "20240229",
    "2024-2-9",
    "Feb 29 2024",
    "infinity",
    "epoch",
    "2024-01-01 25:00:00",
    "2024-01-01T10:20:30.123456789Z",
    "2024-01-01 10:00+02",
    "12:30",
    "4714-11-24 BC",
    "294277-01-01",
    "{1,2}",
    "{1,{2}}",
    "{a,\"b c\"}",
    "{",
    "{NULL}",
    "[1,2",
    "{\"a\": 1, \"a\": 2}",
    "nul",
    "\\xZZ",
    "\\x616",
    "a0eebc999c0b4ef8bb6d6bb9bd380a11",
    "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}",
    "1.",
    ".5",
    "1,5",
    "--1",
    "0.1e-5",
    "1 2",
    "é",
];

impl Generator<'_> {
    /// A SELECT of one expression that may fail.
    pub(super) fn failing(&mut self) -> Node {
        self.may_fail = true;
        self.subqueries = false;
        if self.random.chance(15) {
            return self.edges_together();
        }
        let from_table = self.random.chance(50);
        let (source, frame) = if from_table { self.table() } else { (Node::nothing(), Frame::default()) };
        self.frames.push(frame);
        let data_type = self.any_type();
        let value = match self.random.below(10) {
            0..=3 => self.read(data_type),
            4 | 5 => self.edge_arithmetic(),
            6 => self.function(),
            _ => self.value(data_type, 2),
        };
        self.frames.pop();
        let data_type = value.data_type;
        let parts = if from_table { parts!["SELECT ", value, " FROM ", source] } else { parts!["SELECT ", value] };
        Node::new(Role::Query(vec![data_type]), parts)
    }

    /// Text read as a type: its values, and what is no value of it.
    fn read(&mut self, data_type: Type) -> Expr {
        let text = if self.random.chance(80) {
            self.random.word(TEXTS).to_owned()
        } else {
            data_type.sample(&mut self.random)
        };
        let quoted = format!("'{}'", text.replace('\'', "''"));
        let name = match data_type {
            Type::Numeric => self.random.word(&["numeric", "numeric(6,2)", "numeric(3)"]),
            Type::Text => self.random.word(&["varchar(3)", "char(4)", "text"]),
            other => other.name(),
        };
        let parts = match self.random.below(3) {
            0 => parts!["(", quoted, "::text)::", name],
            1 => parts!["CAST(", quoted, " AS ", name, ")"],
            _ => parts![quoted, "::", name],
        };
        Expr::new(data_type, parts)
    }

    fn edge(&mut self, data_type: Type) -> Expr {
        let values = if self.random.chance(50) && !data_type.edges().is_empty() {
            data_type.edges()
        } else {
            data_type.domain()
        };
        let text = self.random.word(values).to_owned();
        self.constant_of(data_type, text, true)
    }

    /// An aggregate, or a window, over a few edges.
    fn edges_together(&mut self) -> Node {
        let of = *self.random.pick(&[Type::Int2, Type::Int4, Type::Int8, Type::Int8, Type::Numeric, Type::Float8]);
        let mut values: Vec<Part> = Vec::new();
        for row in 0..self.random.between(1, 6) {
            // Sums of more than 38 digits, and of floats that are beyond all, are told otherwise.
            let value = match of {
                Type::Numeric | Type::Float8 => {
                    let text = self.random.word(of.domain()).to_owned();
                    self.constant_of(of, text, true)
                }
                _ => self.edge(of),
            };
            values.extend(parts![if row == 0 { "(" } else { ", (" }, row.to_string(), ", ", value, ")"]);
        }
        let name = self.random.word(&["sum", "sum", "avg", "min", "max", "count"]);
        let filter = if self.random.chance(20) { " FILTER (WHERE k <> 1)" } else { "" };
        let over = self.random.word(&[
            "",
            " OVER ()",
            " OVER (ORDER BY k)",
            " OVER (ORDER BY k ROWS 1 PRECEDING)",
            " OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
            " OVER (ORDER BY k ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING)",
            " OVER (ORDER BY k DESC ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING)",
        ]);
        let is_rounded = name == "avg" && of != Type::Float8;
        let (before, after) = if is_rounded { ("round(", ", 4)") } else { ("", "") };
        let data_type = match (name, of) {
            ("count", _) | ("sum", Type::Int2 | Type::Int4) => Type::Int8,
            ("sum" | "avg", Type::Float8) => Type::Float8,
            ("sum" | "avg", _) => Type::Numeric,
            _ => of,
        };
        let mut parts = parts!["SELECT ", before, name, "(v)", filter, over, after, " FROM (VALUES "];
        parts.extend(values);
        parts.extend(parts![") AS e (k, v)"]);
        Node::new(Role::Query(vec![data_type]), parts)
    }

    /// Arithmetic and casts over edges.
    fn edge_arithmetic(&mut self) -> Expr {
        let numbers = [Type::Int2, Type::Int4, Type::Int8, Type::Numeric, Type::Float8];
        let (left, right) = (*self.random.pick(&numbers), *self.random.pick(&numbers));
        let (a, b) = (self.edge(left), self.edge(right));
        if self.random.chance(30) {
            return Expr::new(right, parts!["(", a, ")::", right.name()]);
        }
        let operator = self.random.word(&[" + ", " - ", " * ", " / ", " % ", " = ", " < "]);
        // There is no remainder of floating point numbers.
        let is_float = left == Type::Float8 || right == Type::Float8;
        let operator = if is_float && operator == " % " { " + " } else { operator };
        Expr::new(left, parts!["(", a, operator, b, ")"])
    }

    /// A function with arguments at its edges.
    fn function(&mut self) -> Expr {
        let data_type = self.random.below(22);
        let text = self.edge(Type::Text);
        let number = self.random.word(&["0", "1", "-1", "3", "100"]);
        let parts = match data_type {
            0 => parts!["sqrt(", self.edge(Type::Float8), ")"],
            1 => parts!["ln(", self.edge(Type::Float8), ")"],
            2 => parts!["power(", self.edge(Type::Float8), ", ", self.edge(Type::Float8), ")"],
            3 => parts!["exp(", self.edge(Type::Float8), ")"],
            4 => parts!["substr(", text, ", ", number, ", ", self.random.word(&["-1", "0", "2"]), ")"],
            5 => parts!["chr(", self.random.word(&["65", "0", "-1", "233", "1114112"]), ")"],
            6 => parts!["split_part(", text, ", 'a', ", number, ")"],
            7 => parts!["lpad(", text, ", ", number, ")"],
            8 => parts!["repeat(", text, ", ", number, ")"],
            9 => parts!["round(", self.edge(Type::Numeric), ", ", number, ")"],
            10 => parts!["mod(", self.edge(Type::Int4), ", ", self.edge(Type::Int4), ")"],
            11 => parts!["abs(", self.edge(Type::Int8), ")"],
            12 => parts!["to_char(", self.edge(Type::Timestamp), ", 'YYYY-MM-DD HH24:MI:SS')"],
            13 => parts![
                "extract(",
                self.random.word(&["year", "dow", "epoch", "week", "doy", "century"]),
                " from ",
                self.edge(Type::Timestamp),
                ")"
            ],
            14 => parts![
                "date_part(",
                self.random.word(&["'hour'", "'isodow'", "'nothing'"]),
                ", ",
                self.edge(Type::Timestamp),
                ")"
            ],
            15 => parts!["(", self.edge(Type::Date), " + ", self.edge(Type::Int4), ")"],
            16 => {
                parts!["make_date(", self.random.word(&["2024, 2, 29", "2023, 2, 29", "0, 1, 1", "2024, 13, 1"]), ")"]
            }
            17 => parts!["left(", text, ", ", number, ")"],
            18 => parts!["overlay(", text, " placing 'xx' from 2)"],
            19 => parts!["to_hex(", self.edge(Type::Int4), ")"],
            20 => parts!["width_bucket(", self.edge(Type::Float8), ", 0, 10, ", number, ")"],
            _ => parts!["regexp_replace(", text, ", ", self.random.word(&["'a'", "'('", "'.'"]), ", 'x', 'g')"],
        };
        // Its type is whatever the function gives: nothing is built on it.
        let value = Node::new(Role::Plain, parts);
        Expr { node: value, ..Expr::new(Type::Text, Vec::new()) }
    }
}
