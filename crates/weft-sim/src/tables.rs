//! The tables of the workload and how their rows are made.
//!
//! ```text
//!   accounts   id integer key                     | balance version writer note | rate
//!   pairs      name text, slot integer key        | balance version writer note | amount numeric(12,2)
//!              writer → ledger.tid, tested at commit
//!   ledger     tid bigint key, client, changes    the last row of each transaction
//!   events     (hidden row id)  what writer amount at flag      blind writes, when its conflicts are antimatter
//!   members    id integer key | email text, unique | seen note   columns have writers of their own (members.rs)
//!   scratch_n  id integer key, writer, text       made and dropped by client n; the same foreign key
//! ```
//!
//! 1. The sum of all balances is [`TOTAL`]. 2. Each write of a row of accounts or pairs adds one to its version.

use std::collections::BTreeMap;

use weft_expr::{ArithmeticOp, Expr, Function, Node};
use weft_format::{Column, DataType, Schema, Value};
use weft_kernel::index::IndexPart;
use weft_kernel::{Deferrable, FkAction, ForeignKey, NewTable, TableRef};

use crate::random::Random;

/// The database's directory on the simulated disk.
pub const DIR: &str = "db";
/// Percent of tables that are lineage tables, where a scenario says nothing else.
pub(crate) const LINEAGE_PERCENT: u64 = 20;
/// The sum of all balances.
pub(crate) const TOTAL: i64 = 1_000_000;
pub(crate) const ACCOUNTS: &str = "accounts";
pub(crate) const PAIRS: &str = "pairs";
pub(crate) const EVENTS: &str = "events";
pub(crate) const LEDGER: &str = "ledger";
pub(crate) const MEMBERS: &str = "members";
pub(crate) const SCRATCH: [&str; 8] =
    ["scratch_0", "scratch_1", "scratch_2", "scratch_3", "scratch_4", "scratch_5", "scratch_6", "scratch_7"];
/// The tables that are always there, beside members.
pub(crate) const FIXED: [&str; 4] = [LEDGER, ACCOUNTS, PAIRS, EVENTS];

/// The static name of a table, if it is one of ours.
pub(crate) fn static_name(name: &str) -> Option<&'static str> {
    FIXED.iter().chain(&SCRATCH).chain(&[MEMBERS]).find(|known| **known == name).copied()
}

/// The ordinal of the balance of a table with money; version, writer and note follow it.
pub(crate) fn balance_column(table: &str) -> usize {
    if table == ACCOUNTS { 1 } else { 2 }
}

fn column(name: &str, data_type: DataType, not_null: bool) -> Column {
    Column { name: name.to_owned(), data_type, not_null }
}

fn schema(table: &str) -> Schema {
    let money = || {
        [
            column("balance", DataType::BigInt, true),
            column("version", DataType::BigInt, true),
            column("writer", DataType::BigInt, true),
        ]
    };
    let (columns, key): (Vec<Column>, Vec<usize>) = match table {
        ACCOUNTS => {
            let mut columns = vec![column("id", DataType::Integer, true)];
            columns.extend(money());
            columns.push(column("note", DataType::Text, false));
            columns.push(column("rate", DataType::DoublePrecision, false));
            (columns, vec![0])
        }
        PAIRS => {
            let mut columns = vec![column("name", DataType::Text, true), column("slot", DataType::Integer, true)];
            columns.extend(money());
            columns.push(column("note", DataType::Varchar(5000), false));
            columns.push(column("amount", DataType::Numeric { precision: 12, scale: 2 }, false));
            (columns, vec![0, 1])
        }
        EVENTS => {
            let columns = vec![
                column("what", DataType::Text, false),
                column("writer", DataType::BigInt, true),
                column("amount", DataType::BigInt, false),
                column("at", DataType::Timestamp, false),
                column("flag", DataType::Boolean, false),
            ];
            (columns, vec![])
        }
        MEMBERS => {
            let columns = vec![
                column("id", DataType::Integer, true),
                column("email", DataType::Text, false),
                column("seen", DataType::BigInt, true),
                column("note", DataType::Text, false),
            ];
            (columns, vec![0])
        }
        LEDGER => {
            let columns = vec![
                column("tid", DataType::BigInt, true),
                column("client", DataType::Integer, true),
                column("changes", DataType::Integer, true),
            ];
            (columns, vec![0])
        }
        _ => {
            let columns = vec![
                column("id", DataType::Integer, true),
                column("writer", DataType::BigInt, true),
                column("text", DataType::Text, false),
            ];
            (columns, vec![0])
        }
    };
    Schema::new(columns, key)
}

/// A table to be made, of a method and with small sizes drawn by the seed.
pub(crate) fn new_table(name: &str, lineage_percent: u64, row_percent: u64, random: &mut Random) -> NewTable {
    let mut new = NewTable::new(name, schema(name), "column");
    let bucket_bytes = random.pick(&[4096, 8192]);
    let sizes = [
        ("row_table_bytes", random.pick(&[1024, 2048, 4096, 8192])),
        ("column_table_bytes", 4096),
        ("bucket_bytes", bucket_bytes),
        ("granularity_bytes", bucket_bytes * random.pick(&[2, 3, 4])),
        ("incremental_bytes", random.pick(&[4096, 8192])),
        ("overlap_max", random.pick(&[2, 3, 6])),
        ("dead_percent", random.pick(&[5, 25, 50])),
    ];
    let words = [("incremental", random.pick(&["fine", "fine", "columns"]))];
    new.options = sizes.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect::<BTreeMap<_, _>>();
    new.options.extend(words.map(|(name, word)| (name.to_owned(), word.to_owned())));
    // Of the tables of the workload this one has no keys that refer to others: it is written blindly.
    if random.chance(if name == EVENTS { 80 } else { 50 }) {
        new.options.insert("conflict".to_owned(), "antimatter".to_owned());
    }
    if random.chance(lineage_percent) {
        new.method = "lineage".to_owned();
        let options = [
            ("segment_rows", random.pick(&["16", "64", "65536"])),
            ("tail_bytes", random.pick(&["1024", "4096", "16384"])),
            ("history", random.pick(&["all", "none"])),
        ];
        new.options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    } else if row_percent > 0 && random.chance(row_percent) {
        new.method = "row".to_owned();
        let options = [
            ("page_bytes", random.pick(&["512", "1024", "8192"])),
            ("changed_bytes", random.pick(&["1024", "4096", "65536"])),
        ];
        new.options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    }
    new
}

/// Adds the foreign key to the ledger (a transaction's row there is its last).
pub(crate) fn referring(mut new: NewTable, ledger: &TableRef) -> NewTable {
    let writer = new.schema.columns.iter().position(|column| column.name == "writer");
    new.foreign_keys.push(ForeignKey {
        name: format!("{}_writer_fkey", new.name),
        columns: vec![writer.expect("a table that refers to the ledger has a writer")],
        parent: ledger.id(),
        parent_columns: vec![0],
        on_delete: FkAction::NoAction,
        on_update: FkAction::NoAction,
        deferrable: Deferrable::InitiallyDeferred,
        full: false,
        set_on_delete: Vec::new(),
    });
    new
}

/// `abs(balance) + version`, of accounts: each write moves the row's entry.
pub(crate) fn worth() -> IndexPart {
    let column = |ordinal| Expr::column(ordinal, DataType::BigInt);
    let abs = Expr::new(Node::Call(Function::Abs, vec![column(1)]), DataType::BigInt);
    let sum = Node::Arithmetic(ArithmeticOp::Add, Box::new(abs), Box::new(column(2)));
    IndexPart::Expression(Expr::new(sum, DataType::BigInt).into())
}

/// An expression over a column.
pub(crate) fn of_column(schema: &Schema, ordinal: usize) -> IndexPart {
    let data_type = schema.columns[ordinal].data_type;
    let column = Expr::column(ordinal, data_type);
    let expr = match data_type {
        DataType::Text | DataType::Varchar(_) => Expr::new(Node::Call(Function::Upper, vec![column]), DataType::Text),
        DataType::BigInt | DataType::Integer => {
            let seven = Expr::literal(Value::Int(7), data_type);
            Expr::new(Node::Arithmetic(ArithmeticOp::Modulo, Box::new(column), Box::new(seven)), data_type)
        }
        _ => Expr::new(Node::IsNull { expr: Box::new(column), negated: false }, DataType::Boolean),
    };
    IndexPart::Expression(expr.into())
}

/// The key of a random account or pair; the bank, account 0, is among them.
pub(crate) fn random_money_key(random: &mut Random) -> (&'static str, Vec<Value>) {
    if random.chance(50) {
        (ACCOUNTS, vec![Value::Int(random.below(30) as i64)])
    } else {
        let name = random.pick(&["a", "b", "bb", "a\0b", "zürich", ""]);
        (PAIRS, vec![Value::Text(name.into()), Value::Int(random.below(6) as i64 - 2)])
    }
}

/// A new row with money.
pub(crate) fn money_row(key: &[Value], balance: i64, tid: u64, random: &mut Random) -> Vec<Value> {
    let mut row = key.to_vec();
    row.extend([Value::Int(balance), Value::Int(1), Value::Int(tid as i64), random_note(random)]);
    row.push(if key.len() == 1 { random_rate(random) } else { random_amount(random) });
    row
}

/// NULL, or text of a length that is mostly short.
pub(crate) fn random_note(random: &mut Random) -> Value {
    let len = match random.below(20) {
        0..=4 => return Value::Null,
        5..=6 => 0,
        7..=16 => random.below(40),
        17..=18 => random.below(300),
        _ => random.below(2000),
    };
    Value::Text(random.text(len).into())
}

/// A float, special ones among them.
pub(crate) fn random_rate(random: &mut Random) -> Value {
    match random.below(8) {
        0 => Value::Null,
        1 => Value::Float(-0.0),
        2 => Value::Float(f64::INFINITY),
        _ => Value::Float(random.below(1000) as f64 / 8.0),
    }
}

/// A decimal.
pub(crate) fn random_amount(random: &mut Random) -> Value {
    if random.chance(20) { Value::Null } else { Value::Decimal(i128::from(random.below(1_000_000)) - 500_000) }
}

/// A row of events, its hidden id last.
pub(crate) fn event_row(id: i64, tid: u64, text: Value, random: &mut Random) -> Vec<Value> {
    vec![
        text,
        Value::Int(tid as i64),
        if random.chance(30) { Value::Null } else { Value::Int(random.below(1 << 40) as i64) },
        Value::Int(1_700_000_000_000_000 + random.below(1 << 30) as i64),
        if random.chance(10) { Value::Null } else { Value::Bool(random.chance(50)) },
        Value::Int(id),
    ]
}
