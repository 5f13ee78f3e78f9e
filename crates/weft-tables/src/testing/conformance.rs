//! The suite that every method passes: random histories through an engine, compared with the model every few steps.
//!
//! ```text
//!   steps: commit of some inserts, updates, deletes · rollback · bulk load · large update · freeze · one job ·
//!          checkpoint · reopen · a snapshot is taken and kept, of now or of the past · a snapshot is let go · versions
//!          are promised to be kept · a column is added or dropped
//!          (a large update only of a table that replaces in bulk, blind writes only of one that takes them)
//!   looks: scans of all snapshots with random projection, predicates, partitions · point reads · ranges of keys · own
//!          writes · check · the versions of a random period (of a table that gives them out) · the same of an engine
//!          that follows this one
//! ```

mod columns;
mod followed;
mod ordered;
mod replaced;
mod versions;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_contract::{Base, Staged, TableWrites};
use weft_env::Env;
use weft_format::{
    ArrayValue, Code, Column, CompareOp, DataType, Element, Interval, Predicate, Schema, Timestamp, Value, ValueRef,
};
use weft_kernel::index::STORED_BY;
use weft_kernel::method::Method;
use weft_kernel::{Engine, EngineOptions, Follower, History, NewTable, TableRef, Transaction};

use super::model::Model;
use super::random::Prng;
use super::rows::scan_rows;
use crate::column::{column_method, rows_to_batch};

/// What a history is made of.
#[derive(Clone, Debug)]
pub struct Options {
    /// Decides everything.
    pub seed: u64,
    /// How many steps.
    pub steps: u64,
    /// How many different keys.
    pub keys: u64,
    /// The most rows of a transaction.
    pub rows_max: u64,
    /// Steps between two looks.
    pub look_every: u64,
    /// Options of the table.
    pub table: BTreeMap<String, String>,
    /// The engine's row table size.
    pub row_table_bytes: u64,
    /// Whether the table has a column index now and then.
    pub columns: bool,
}

/// The name of the suite's table.
pub const TABLE: &str = "t";

/// The schema of the suite's table: key (b text, a integer), and a column of most types.
pub fn schema() -> Schema {
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: false };
    let columns = vec![
        column("a", DataType::Integer),
        column("b", DataType::Text),
        column("c", DataType::BigInt),
        column("d", DataType::Varchar(40)),
        column("e", DataType::Numeric { precision: 12, scale: 2 }),
        column("f", DataType::DoublePrecision),
        column("g", DataType::Boolean),
        column("h", DataType::Timestamp),
        column("i", DataType::SmallInt),
        column("j", DataType::Uuid),
        column("k", DataType::Bytea),
        column("l", DataType::Interval),
        column("m", DataType::Array(Element::Integer)),
        column("n", DataType::Jsonb),
        column("o", DataType::Time),
    ];
    Schema::new(columns, vec![1, 0])
}

/// A row for key number `k`.
pub fn row_values(k: u64, random: &mut Prng) -> Vec<Value> {
    let maybe = |random: &mut Prng, value: Value| if random.below(8) == 0 { Value::Null } else { value };
    let b: Box<str> = ["", "x", "yy", "a longer text than twelve bytes"][(k % 4) as usize].into();
    let c = Value::Int(random.below(100) as i64);
    let d = Value::Text(format!("text {}", random.below(20)).into());
    let (e, f) = (Value::Decimal(random.below(10_000).into()), Value::Float(random.below(50) as f64 / 4.0));
    let (g, h) = (Value::Bool(random.below(2) == 0), Value::Int(random.below(1 << 40) as i64));
    let i = Value::Int(random.below(3) as i64);
    let j = Value::Uuid(u128::from(random.below(30)) << 100 | 5);
    let bytes = Value::Bytes(vec![255; random.below(20) as usize].into());
    // No two of these are equal and yet different: rows are sorted before they are compared.
    let l = Value::Interval(Interval::new(random.below(3) as i32, random.below(28) as i32, random.below(9) as i64));
    let m = [Value::Int(random.below(5) as i64), Value::Null, Value::Int(7)];
    let m =
        Value::Array(ArrayValue::new(DataType::Integer, m.iter().take(random.below(4) as usize).map(Value::as_ref)));
    let n = Value::Text(format!("{{\"a\": {}}}", random.below(20)).into());
    let o = Value::Int(random.below(1 << 36) as i64);
    let mut values = vec![Value::Int((k / 4) as i64), Value::Text(b)];
    for value in [c, d, e, f, g, h, i, j, bytes, l, m, n, o] {
        values.push(maybe(random, value));
    }
    values
}

/// Runs one random history; panics on the first difference.
pub fn run(method: &Arc<dyn Method>, env: &Env, dir: &Path, options: &Options) {
    let mut suite = Suite::new(method.clone(), env.clone(), dir.to_owned(), options.clone());
    for step in 0..options.steps {
        suite.step();
        if step % options.look_every == 0 {
            suite.look();
        }
    }
    suite.look();
    suite.reopen();
    suite.look();
    assert!(suite.went_on * options.look_every * 4 > options.steps, "it is followed {} times", suite.went_on);
    assert!(suite.went_back > 0, "no snapshot of the past was there");
    assert!(suite.by_columns > 0 || !options.columns, "no scan was answered by a column index");
    suite.refuses_columns();
}

/// A scan, and what it gives, in order.
struct Scanned<'a> {
    projection: &'a [usize],
    predicates: &'a [Predicate],
    expected: &'a [Vec<Value>],
}

struct Suite {
    method: Arc<dyn Method>,
    env: Env,
    dir: PathBuf,
    options: Options,
    random: Prng,
    engine: Arc<Engine>,
    model: Model,
    snapshots: Vec<Transaction>,
    follower: Option<Follower>,
    /// Snapshots of the follower.
    followed: Vec<Transaction>,
    /// How often it went on, and had not to join anew.
    went_on: u64,
    /// When the table was made.
    made: Timestamp,
    /// What the table has promised to keep.
    promised: Option<Timestamp>,
    /// How many snapshots of the past were there.
    went_back: u64,
    /// How many scans a column index has answered.
    by_columns: u64,
}

/// The method of the suite, and the one that column indexes are stored by.
fn methods(method: &Arc<dyn Method>) -> Vec<Arc<dyn Method>> {
    let mut methods = vec![method.clone()];
    if method.name() != STORED_BY {
        methods.push(column_method());
    }
    methods
}

fn engine_options(options: &Options) -> EngineOptions {
    EngineOptions {
        row_table_bytes: options.row_table_bytes,
        workers: 0,
        log_segment_bytes: 1 << 16,
        ..EngineOptions::default()
    }
}

impl Suite {
    fn new(method: Arc<dyn Method>, env: Env, dir: PathBuf, options: Options) -> Suite {
        let engine = Engine::open(env.clone(), &dir, methods(&method), engine_options(&options)).expect("opens");
        let mut txn = engine.begin().expect("begins");
        let mut table = NewTable::new(TABLE, schema(), method.name());
        table.options = options.table.clone();
        txn.create_table(table).expect("creates");
        let made = txn.commit().expect("commits");
        let random = Prng(options.seed);
        Suite {
            method,
            env,
            dir,
            options,
            random,
            engine,
            model: Model::new(),
            snapshots: Vec::new(),
            follower: None,
            followed: Vec::new(),
            went_on: 0,
            made,
            promised: None,
            went_back: 0,
            by_columns: 0,
        }
    }

    fn begin(&self) -> (Transaction, TableRef) {
        let txn = self.engine.begin().expect("begins");
        let table = txn.table(TABLE).expect("the table is there");
        (txn, table)
    }

    fn step(&mut self) {
        if self.options.columns && self.random.below(12) == 0 {
            return self.change_columns();
        }
        match self.random.below(45) {
            0..=21 => self.transaction(),
            22..=24 => self.engine.freeze().expect("freezes"),
            25..=31 => {
                self.engine.run_one_job().expect("a job runs");
            }
            32 => {
                self.engine.run_jobs().expect("jobs run");
            }
            33 => {
                self.engine.checkpoint().expect("checkpoints");
                self.apply_again();
            }
            34 if self.random.below(3) == 0 => self.reopen(),
            35 | 36 => self.bulk(),
            40..=42 => self.replace(),
            39 if self.random.below(2) == 0 => self.alter(),
            37 if self.snapshots.len() < 4 => {
                let txn = self.engine.begin().expect("begins");
                self.snapshots.push(txn);
            }
            38 | 43 | 44 => self.go_back(),
            _ if !self.snapshots.is_empty() => {
                let at = self.random.below(self.snapshots.len() as u64) as usize;
                self.snapshots.swap_remove(at).rollback();
            }
            _ => {}
        }
    }

    /// A snapshot of the past is there whole, or is said not to be; one that was promised is there.
    fn go_back(&mut self) {
        let (now, table) = self.begin();
        // What a definition says of history the kernel promises, and nobody else.
        if self.random.below(4) == 0 && !self.options.table.contains_key(History::OPTION) {
            let promised = [Timestamp::MAX, now.read_ts()][self.random.below(2) as usize];
            let kept_from = table.horizon().keep_from(promised);
            self.promised = Some(kept_from).filter(|_| promised != Timestamp::MAX);
        }
        let published = now.read_ts().0;
        let ts = match self.promised {
            Some(kept_from) if self.random.below(2) == 0 => {
                kept_from.0 + self.random.below(published + 1 - kept_from.0)
            }
            _ => published - self.random.below((published - self.made.0).min(12) + 1),
        };
        drop(now);
        let back = self.engine.begin_past(Timestamp(ts)).and_then(|txn| {
            let table = txn.table(TABLE)?;
            txn.view(&table)?;
            Ok(txn)
        });
        match back {
            Ok(txn) => {
                self.went_back += 1;
                self.look_at_snapshot(&txn);
                if self.snapshots.len() < 4 {
                    self.snapshots.push(txn);
                }
            }
            Err(error) => {
                assert_eq!(error.code(), Code::SnapshotTooOld, "{error}");
                assert!(self.promised.is_none_or(|from| from.0 > ts), "what was promised is there: {error}");
            }
        }
    }

    /// What is at or below the cut of a table changes nothing when it is applied again (traits 4).
    fn apply_again(&mut self) {
        let (txn, table) = self.begin();
        let is_in_files = table.table.durable_cut() == Timestamp::MAX;
        let Some(ts) = self.model.changed_last().filter(|_| is_in_files) else { return };
        let mut writes = TableWrites::default();
        for k in 0..self.options.keys {
            let values = values_for(&table.def.schema, k, &mut self.random);
            let row: Arc<[u8]> = table.codec.encode(values.iter().map(Value::as_ref)).into();
            let key = table.keys.of_row(&table.codec, &row);
            writes.rows.insert(key.into(), Staged { base: Base::Free, row: Some(row), columns: Vec::new() });
        }
        table.table.apply(ts, &writes).expect("it is there already");
        drop(txn);
        self.look();
    }

    fn transaction(&mut self) {
        let (mut txn, table) = self.begin();
        let read_ts = txn.read_ts();
        let mut state = self.model.rows(read_ts);
        let mut changed: BTreeMap<Vec<u8>, Option<Arc<[u8]>>> = BTreeMap::new();
        let count = 1 + self.random.below(self.options.rows_max);
        for _ in 0..count {
            let k = self.random.below(self.options.keys);
            let values = values_for(&table.def.schema, k, &mut self.random);
            let row: Arc<[u8]> = table.codec.encode(values.iter().map(Value::as_ref)).into();
            let key = table.keys.of_row(&table.codec, &row);
            let new = match state.contains_key(&key) {
                _ if table.table.blind().is_some() && self.random.below(3) > 0 => {
                    txn.put(&table, &key, &row).expect("puts");
                    let stays = self.random.below(4) > 0;
                    assert!(stays || txn.delete(&table, &key).expect("deletes what was put"));
                    stays.then_some(row)
                }
                false => {
                    txn.insert(&table, &row).expect("a free key");
                    Some(row)
                }
                true if self.random.below(4) == 0 => {
                    assert!(txn.insert(&table, &row).is_err(), "the key exists");
                    assert!(txn.delete(&table, &key).expect("deletes"));
                    None
                }
                true => {
                    txn.update(&table, &key, &row).expect("updates");
                    Some(row)
                }
            };
            match &new {
                Some(row) => state.insert(key.clone(), row.clone()),
                None => state.remove(&key),
            };
            changed.insert(key, new);
        }
        if self.random.below(4) == 0 {
            let view = txn.view(&table).expect("it is kept");
            self.look_at(&table, view, &state);
            self.look_at_ranges(&table, &txn, &state);
        }
        if self.random.below(10) == 0 {
            txn.rollback();
            return;
        }
        let ts = txn.commit().expect("commits");
        changed.into_iter().for_each(|(key, row)| self.model.set(ts, &key, row));
    }

    fn bulk(&mut self) {
        let (mut txn, table) = self.begin();
        let state = self.model.rows(txn.read_ts());
        let mut rows: Vec<Arc<[u8]>> = Vec::new();
        let first = self.random.below(self.options.keys);
        for k in first..(first + 1 + self.random.below(self.options.rows_max * 8)) {
            let values = values_for(&table.def.schema, k, &mut self.random);
            let row: Arc<[u8]> = table.codec.encode(values.iter().map(Value::as_ref)).into();
            if !state.contains_key(&table.keys.of_row(&table.codec, &row)) {
                rows.push(row);
            }
        }
        let batches: Vec<RecordBatch> = rows
            .chunks(37)
            .map(|rows| rows_to_batch(&table.def.schema, &table.codec, rows.iter().map(|row| &**row)).expect("fits"))
            .collect();
        if let Some(key) = state.keys().next().filter(|_| self.random.below(6) == 0) {
            let taken = state[key].clone();
            let batch = rows_to_batch(&table.def.schema, &table.codec, [&*taken].into_iter()).expect("fits");
            assert!(txn.build(&table, &[batch]).is_err(), "a key that exists is refused");
            return;
        }
        let (first, second) = batches.split_at(self.random.below(batches.len() as u64 + 1) as usize);
        txn.build(&table, first).expect("builds");
        if let Some(row) = rows.first().filter(|_| !first.is_empty()) {
            let batch = rows_to_batch(&table.def.schema, &table.codec, [&**row].into_iter()).expect("fits");
            assert!(txn.build(&table, &[batch]).is_err(), "a key that was built before is refused");
        }
        let mark = txn.mark();
        txn.build(&table, second).expect("builds more");
        if self.random.below(3) == 0 {
            txn.rollback_to(mark);
            txn.build(&table, second).expect("builds again");
        }
        // Nobody else sees yet what a table has built.
        if table.table.bulk().is_some() {
            let (other, table) = self.begin();
            self.look_at(&table, other.view(&table).expect("it is kept"), &state);
            other.rollback();
        }
        let mut after = state;
        rows.iter().for_each(|row| {
            after.insert(table.keys.of_row(&table.codec, row), row.clone());
        });
        self.look_at(&table, txn.view(&table).expect("it is kept"), &after);
        if self.random.below(5) == 0 {
            txn.rollback();
            return;
        }
        let ts = txn.commit().expect("commits");
        rows.into_iter().for_each(|row| {
            let key = table.keys.of_row(&table.codec, &row);
            self.model.set(ts, &key, Some(row));
        });
    }

    /// A column more, or one less; sometimes with rows written before and after by the same transaction.
    fn alter(&mut self) {
        let (mut txn, table) = self.begin();
        let schema = &table.def.schema;
        let added: Vec<usize> = schema.visible().map(|(ordinal, _)| ordinal).filter(|&ordinal| ordinal >= 9).collect();
        let drops = !added.is_empty() && (added.len() > 12 || self.random.below(3) == 0);
        let random = &mut self.random;
        let table = txn.alter_table(&table, |def| {
            let mut schema = (*def.schema).clone();
            if drops {
                schema.drop_column(added[random.below(added.len() as u64) as usize]);
            } else {
                let ordinal = schema.columns.len();
                let column = Column { name: format!("n{ordinal}"), data_type: added_type(ordinal), not_null: false };
                let missing = if random.below(2) == 0 { Value::Null } else { added_value(ordinal, random) };
                schema.add_column(column, &missing);
                def.defaults.push(None);
            }
            def.schema = Arc::new(schema);
            Ok(())
        });
        let table = table.expect("alters");
        let mut state = self.model.rows(txn.read_ts());
        let k = self.random.below(self.options.keys);
        let values = values_for(&table.def.schema, k, &mut self.random);
        let row: Arc<[u8]> = table.codec.encode(values.iter().map(Value::as_ref)).into();
        let key = table.keys.of_row(&table.codec, &row);
        let written = state.contains_key(&key);
        if written {
            txn.update(&table, &key, &row).expect("updates");
            state.insert(key.clone(), row.clone());
        }
        self.look_at(&table, txn.view(&table).expect("it is kept"), &state);
        self.look_at_ranges(&table, &txn, &state);
        if self.random.below(5) == 0 {
            txn.rollback();
            return;
        }
        let ts = txn.commit().expect("commits");
        if written {
            self.model.set(ts, &key, Some(row));
        }
    }

    fn reopen(&mut self) {
        self.snapshots.clear();
        self.promised = None;
        self.engine.flush().expect("flushes");
        if self.random.below(2) == 0 {
            self.engine.close().expect("closes");
        }
        // The other half: as if the process had been killed after its last commit.
        let (dir, options) = (self.dir.clone(), engine_options(&self.options));
        let scratch = Engine::open(self.env.clone(), &dir.join("other"), methods(&self.method), options.clone());
        drop(std::mem::replace(&mut self.engine, scratch.expect("opens")));
        self.engine = Engine::open(self.env.clone(), &dir, methods(&self.method), options).expect("opens again");
    }

    fn look(&mut self) {
        let snapshots = std::mem::take(&mut self.snapshots);
        let (now, _) = self.begin();
        snapshots.iter().chain([&now]).for_each(|txn| self.look_at_snapshot(txn));
        self.snapshots = snapshots;
        assert_eq!(self.engine.check().expect("checks"), Vec::<String>::new());
        self.look_at_follower();
    }

    fn look_at_snapshot(&mut self, txn: &Transaction) {
        let table = txn.table(TABLE).expect("was there");
        let state = self.model.rows(txn.read_ts());
        self.look_at(&table, txn.view(&table).expect("it is kept"), &state);
        self.look_at_ranges(&table, txn, &state);
        let keys: Vec<Vec<u8>> = self.model.keys().cloned().collect();
        for key in keys {
            self.look_at_key(&table, txn.read_ts(), &key);
        }
        self.look_at_versions(&table, txn);
    }

    fn look_at_key(&mut self, table: &TableRef, ts: Timestamp, key: &[u8]) {
        let expected = self.model.get(ts, key);
        let found = table.table.read_row(key, ts).expect("reads");
        let visible = |row: &Arc<[u8]>| -> Vec<Value> {
            table.def.schema.visible().map(|(ordinal, _)| table.codec.get(row, ordinal).to_value()).collect()
        };
        assert_eq!(found.as_ref().map(visible), expected.map(visible), "row of {key:?} at {ts}");
        let newest = table.table.newest_row(key).expect("reads").map(|(newest, row)| (newest.insert_ts, row));
        let row = table.table.read_row(key, Timestamp::MAX).expect("reads");
        let insert_ts = table.table.newest(key).expect("reads").map(|newest| newest.insert_ts);
        assert_eq!(newest, insert_ts.zip(row), "newest version of {key:?} and its row");
        let columns = random_columns(&table.def.schema, &mut self.random);
        let mut values = vec![Value::Null];
        let there = table.read(key, ts, &columns, &mut values).expect("reads");
        let expected: Option<Vec<Value>> =
            expected.map(|row| columns.iter().map(|&column| table.codec.get(row, column).to_value()).collect());
        assert_eq!(there.then_some(values), expected, "columns {columns:?} of {key:?} at {ts}");
    }

    fn look_at(&mut self, table: &TableRef, view: weft_contract::ReadView, state: &BTreeMap<Vec<u8>, Arc<[u8]>>) {
        let projection = random_columns(&table.def.schema, &mut self.random);
        let mut predicates = random_predicates(&mut self.random);
        if let Some(&column) = projection.iter().find(|&&column| column >= schema().columns.len())
            && self.random.below(2) == 0
        {
            let (op, value) = (CompareOp::Eq, added_value(column, &mut self.random));
            predicates.push(match self.random.below(3) {
                0 => Predicate::IsNull { column },
                1 => Predicate::IsNotNull { column },
                _ => Predicate::Compare { column, op, value },
            });
        }
        if self.random.below(4) == 0 {
            predicates.extend(self.key_predicates(table));
        }
        let (partitions, batch_rows) = (self.random.below(3) as usize + 1, [7, 8192][self.random.below(2) as usize]);
        let ts = view.read_ts;
        let mut found =
            scan_rows(table, view.clone(), &projection, &predicates, partitions, batch_rows).expect("scans");
        let mut expected: Vec<Vec<Value>> = state
            .values()
            .filter(|row| {
                predicates.iter().all(|predicate| predicate.matches(table.codec.get(row, predicate.column())))
            })
            .map(|row| projection.iter().map(|&column| table.codec.get(row, column).to_value()).collect())
            .collect();
        found.sort_by(|a, b| compare_rows(a, b));
        expected.sort_by(|a, b| compare_rows(a, b));
        let seed = self.options.seed;
        assert_eq!(found.len(), expected.len(), "seed {seed}: rows at {ts} where {predicates:?}");
        assert!(found == expected, "seed {seed}: rows at {ts} of {projection:?} where {predicates:?}");
        if self.options.columns {
            let (projection, predicates, expected) = (&projection[..], &predicates[..], &expected[..]);
            self.look_at_columns(table, view, Scanned { projection, predicates, expected });
        }
    }
}

fn compare_rows(a: &[Value], b: &[Value]) -> std::cmp::Ordering {
    let order = |(a, b): (&Value, &Value)| a.as_ref().compare(b.as_ref());
    a.iter().zip(b).map(order).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
}

fn random_columns(schema: &Schema, random: &mut Prng) -> Vec<usize> {
    let all: Vec<usize> = schema.visible().map(|(ordinal, _)| ordinal).collect();
    match random.below(4) {
        0 => Vec::new(),
        1 => all,
        _ => (0..1 + random.below(4)).map(|_| all[random.below(all.len() as u64) as usize]).collect(),
    }
}

/// The type of a column that was added.
fn added_type(ordinal: usize) -> DataType {
    let types = [DataType::Integer, DataType::Text, DataType::Numeric { precision: 9, scale: 1 }, DataType::Boolean];
    types[ordinal % types.len()]
}

fn added_value(ordinal: usize, random: &mut Prng) -> Value {
    match ordinal % 4 {
        0 => Value::Int(random.below(3) as i64),
        1 => Value::Text(["", "added", "a longer text than twelve bytes"][random.below(3) as usize].into()),
        2 => Value::Decimal(random.below(3).into()),
        _ => Value::Bool(random.below(2) == 0),
    }
}

/// As [`row_values`], with values for the columns that were added; NULL in dropped ones.
fn values_for(schema: &Schema, k: u64, random: &mut Prng) -> Vec<Value> {
    let mut values = row_values(k, random);
    for ordinal in values.len()..schema.columns.len() {
        let is_null = schema.is_dropped(ordinal) || random.below(4) == 0;
        values.push(if is_null { Value::Null } else { added_value(ordinal, random) });
    }
    values
}

fn random_predicates(random: &mut Prng) -> Vec<Predicate> {
    let ops = [CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq];
    let one = |random: &mut Prng| {
        let op = ops[random.below(6) as usize];
        match random.below(6) {
            0 => Predicate::Compare { column: 0, op, value: Value::Int(random.below(60) as i64) },
            1 => Predicate::Compare { column: 2, op, value: Value::Int(random.below(100) as i64) },
            2 => Predicate::Compare { column: 3, op, value: Value::Text(format!("text {}", random.below(20)).into()) },
            3 => Predicate::IsNull { column: 4 },
            4 => Predicate::IsNotNull { column: 6 },
            _ => Predicate::In { column: 8, values: vec![Value::Int(random.below(3) as i64), Value::Null] },
        }
    };
    (0..random.below(3)).map(|_| one(random)).collect()
}

/// A key of the suite's table.
pub fn key_of(table: &TableRef, k: u64) -> Vec<u8> {
    let values = row_values(k, &mut Prng(0));
    let key: Vec<ValueRef<'_>> = vec![values[1].as_ref(), values[0].as_ref()];
    table.keys.encode(key)
}
