//! What is known of a table's columns, from its first row on: who asks, who looks, and when what was seen is out of
//! date.
//!
//! ```text
//!   24,000 rows, days ascending     a sample is from all over them · who plans knows nothing, and wants it
//!   somebody looks                  the days' histogram spans all · planned again: nobody looks twice
//!   2,000 rows more                 nobody looks, but a later day has its share of the rows that came
//!   6,000 rows more                 somebody looks, once the rest after a look is over
//!   while a look rests              whoever plans wakes nobody
//!   12,000 texts of 500 bytes       a look has them all, though batches share one buffer
//!   ANALYZE                         stopped: what was known stays · all rows are counted
//!   in files, a column added        the files tell, and rows that lack the column have its default
//! ```

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weft_contract::{ReadView, ScanRequest};
use weft_env::Env;
use weft_format::{Code, Column, ColumnSummary, DataType, Error, Schema, Value, ValueRef};
use weft_kernel::method::Method;
use weft_kernel::{Engine, EngineOptions, KnownColumns, NewTable, TableRef};

/// Rows at the beginning: more than a look reads.
const ROWS: i64 = 24_000;
/// Rows of a day.
const DAY_ROWS: i64 = 100;
/// Texts of 500 bytes, each twice: fewer rows than a look reads, and fewer bytes.
const TEXTS: i64 = 12_000;
/// The ordinal of the days.
const DAY: usize = 1;

/// Runs it; panics on the first difference.
pub fn run(method: &Arc<dyn Method>, env: &Env, dir: &Path) {
    let options = EngineOptions { workers: 0, ..EngineOptions::default() };
    let engine = Engine::open(env.clone(), dir, vec![method.clone()], options).expect("opens");
    create(&engine, method);
    insert(&engine, 0..ROWS, None);
    spread_over_all(&engine);
    looked_at_once(&engine);
    grown(&engine, env);
    counted(&engine);
    sampled(&engine);
    all_texts(&engine, method);
    if table_of(&engine).table.summaries().is_some() {
        in_files(&engine);
    }
    engine.close().expect("closes");
}

fn create(engine: &Arc<Engine>, method: &Arc<dyn Method>) {
    let column = |name: &str, data_type, not_null| Column { name: name.into(), data_type, not_null };
    let columns = vec![column("k", DataType::BigInt, true), column("day", DataType::Integer, false)];
    let mut txn = engine.begin().expect("begins");
    let mut new = NewTable::new("t", Schema::new(columns, vec![0]), method.name());
    if method.name() == "column" {
        // Files of a real size would have summaries only from far more rows on.
        new.options.insert("column_table_bytes".to_owned(), "4096".to_owned());
    }
    txn.create_table(new).expect("creates");
    txn.commit().expect("commits");
}

fn table_of(engine: &Arc<Engine>) -> TableRef {
    let txn = engine.begin().expect("begins");
    let table = txn.table("t").expect("the table is there");
    txn.rollback();
    table
}

/// Rows in the order of their days; `added` is what a third column has.
fn insert(engine: &Arc<Engine>, keys: std::ops::Range<i64>, added: Option<i64>) {
    let mut txn = engine.begin().expect("begins");
    let table = txn.table("t").expect("the table is there");
    for key in keys {
        let values = [Some(key), Some(key / DAY_ROWS), added];
        let row = table.codec.encode(values.into_iter().flatten().map(ValueRef::Int));
        txn.insert(&table, &row).expect("a new key");
    }
    txn.commit().expect("commits");
}

/// The first row of each of two stretches.
fn spread_over_all(engine: &Arc<Engine>) {
    let (table, view) = (table_of(engine), ReadView { read_ts: engine.published(), own: None, reads: None });
    let request = ScanRequest { view, projection: vec![0], predicates: Vec::new(), partition_count: 2, batch_rows: 50 };
    let sample = table.table.sample(&table.def.schema, request, 2).expect("samples");
    assert!(!sample.is_whole, "of {ROWS} rows two stretches are not all");
    let mut keys: Vec<i64> = Vec::new();
    for mut partition in sample.output.partitions {
        let batch = partition.next().expect("reads").expect("each stretch has rows");
        let column = batch.column(0);
        keys.push(match weft_format::arrow_values::value_ref_at(column, 0, DataType::BigInt).to_value() {
            Value::Int(key) => key,
            other => panic!("a key is no {other:?}"),
        });
    }
    keys.sort_unstable();
    assert!(keys[0] < ROWS / 3 && keys[1] > ROWS / 2, "a sample is from all over the table: {keys:?}");
}

/// Looks as long as somebody wanted to know more.
fn look(engine: &Arc<Engine>) {
    let mut turns = 0;
    while engine.look_at_columns() {
        turns += 1;
        assert!(turns < 100, "looking comes to an end");
    }
}

/// What who plans knows now.
fn known(engine: &Arc<Engine>) -> KnownColumns {
    table_of(engine).known_columns()
}

fn day(known: &KnownColumns) -> &ColumnSummary {
    known.column(DAY).expect("something is known of days")
}

fn looked_at_once(engine: &Arc<Engine>) {
    assert!(known(engine).column(DAY).is_none(), "who plans reads nothing (known 1)");
    look(engine);
    let known_now = known(engine);
    let (days, half) = (ROWS / DAY_ROWS, ROWS / DAY_ROWS / 2);
    let share = day(&known_now).below_share(ValueRef::Int(half), false).expect("days have an order");
    assert!((share - 0.5).abs() < 0.1, "half of the rows are before day {half} of {days}: {share}");
    let ends = [days / 10, days * 9 / 10].map(|day_no| day(&known_now).histogram().covers(ValueRef::Int(day_no)));
    assert_eq!(ends, [true, true], "a look is at rows from all over the table (known 2)");
    look(engine);
    assert_eq!(table_of(engine).look_count(), 1, "nothing has changed: nobody looks again (known 2)");
}

fn grown(engine: &Arc<Engine>, env: &Env) {
    insert(engine, ROWS..ROWS + 2_000, None);
    let known_now = known(engine);
    let later = ValueRef::Int((ROWS + 1_000) / DAY_ROWS);
    let unseen = known_now.unseen_share(DAY);
    assert!((unseen - 0.077).abs() < 0.01, "2,000 of 26,000 rows came since: {unseen}");
    assert!(day(&known_now).lacks(later) && day(&known_now).outside_shares(unseen).1 > 0.07);
    assert!(day(&known_now).lacked_share(unseen).is_some_and(|share| share > 0.001), "no new day has one row alone");
    look(engine);
    assert_eq!(table_of(engine).look_count(), 1, "a tenth has changed: nobody looks again (known 2)");
    insert(engine, ROWS + 2_000..ROWS + 8_000, None);
    // A look that has just ended rests for a second at least.
    table_of(engine).rest_now();
    known(engine);
    assert!(!engine.look_at_columns(), "nobody is woken while looks at the table rest (known 4)");
    env.clock.sleep(Duration::from_secs(3_600));
    known(engine);
    look(engine);
    assert_eq!(table_of(engine).look_count(), 2, "a third has changed");
    let known_now = known(engine);
    assert!(day(&known_now).histogram().covers(later) && known_now.unseen_share(DAY) == 0.0);
}

fn counted(engine: &Arc<Engine>) {
    let (table, before) = (table_of(engine), day(&known(engine)).clone());
    let (mut asked, stopped) = (0, Error::new(Code::QueryCanceled, "stopped"));
    let mut goes_on = || {
        asked += 1;
        if asked > 2 { Err(stopped.clone()) } else { Ok(()) }
    };
    assert_eq!(table.count_columns(&mut goes_on).expect_err("it is stopped").code(), Code::QueryCanceled);
    assert_eq!(*day(&known(engine)), before, "what was known stays");
    table.count_columns(&mut || Ok(())).expect("nobody stops it");
    let known_now = known(engine);
    let summary = day(&known_now);
    assert_eq!((summary.rows() as i64, summary.null_share()), (ROWS + 8_000, 0.0), "all rows were counted");
    let days = ((ROWS + 8_000) / DAY_ROWS) as f64;
    assert!(summary.distinct().is_some_and(|found| (found / days - 1.0).abs() < 0.12), "{:?}", summary.distinct());
}

/// Of very many rows ANALYZE reads some, from all over them.
fn sampled(engine: &Arc<Engine>) {
    let (table, mut asked) = (table_of(engine), 0);
    let looks = table.look_count();
    let mut goes_on = || {
        asked += 1;
        Ok(())
    };
    table.count_columns_up_to(2_000, &mut goes_on).expect("nobody stops it");
    assert_eq!(table.look_count(), looks + 1);
    assert!(asked < 200, "2,000 rows are no {asked} batches (known 6)");
    let known_now = known(engine);
    let (summary, days) = (day(&known_now), (ROWS + 8_000) / DAY_ROWS);
    assert_eq!(summary.rows() as i64, ROWS + 8_000, "the summary is of all rows");
    let half = summary.below_share(ValueRef::Int(days / 2), false).expect("days have an order");
    assert!((half - 0.5).abs() < 0.1, "half of the rows are before day {} of {days}: {half}", days / 2);
    // A stretch may be a quarter of the table.
    let ends = [days / 10, days * 7 / 10].map(|day_no| summary.histogram().covers(ValueRef::Int(day_no)));
    assert_eq!(ends, [true, true], "what is read is from all over the table");
}

/// Many batches of one buffer are charged once (known 5).
fn all_texts(engine: &Arc<Engine>, method: &Arc<dyn Method>) {
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: true };
    let columns = vec![column("k", DataType::BigInt), column("v", DataType::Text)];
    let mut txn = engine.begin().expect("begins");
    txn.create_table(NewTable::new("texts", Schema::new(columns, vec![0]), method.name())).expect("creates");
    txn.commit().expect("commits");
    let mut txn = engine.begin().expect("begins");
    let table = txn.table("texts").expect("the table is there");
    for key in 0..TEXTS {
        let text = format!("{:0500}", key / 2);
        txn.insert(&table, &table.codec.encode([ValueRef::Int(key), ValueRef::Text(&text)])).expect("a new key");
    }
    txn.commit().expect("commits");
    assert!(table.known_columns().column(1).is_none());
    look(engine);
    let known_now = table.known_columns();
    let texts = known_now.column(1).expect("somebody has looked");
    assert_eq!(
        (texts.rows() as i64, texts.distinct()),
        (TEXTS, Some((TEXTS / 2) as f64)),
        "a look has all of few rows"
    );
}

fn in_files(engine: &Arc<Engine>) {
    engine.freeze().expect("freezes");
    engine.run_jobs().expect("jobs run");
    let looks = table_of(engine).look_count();
    let mut txn = engine.begin().expect("begins");
    let table = txn.table("t").expect("the table is there");
    txn.alter_table(&table, |def| {
        let mut schema = (*def.schema).clone();
        let column = Column { name: "added".into(), data_type: DataType::BigInt, not_null: false };
        schema.add_column(column, &Value::Int(7));
        (def.schema, def.defaults) = (Arc::new(schema), vec![None; 3]);
        Ok(())
    })
    .expect("alters");
    txn.commit().expect("commits");
    known(engine);
    look(engine);
    let known_now = known(engine);
    let told = [DAY, 2].map(|ordinal| known_now.column(ordinal).expect("files tell").clone());
    assert_eq!(told[0].rows() as i64, ROWS + 8_000, "each row of the files is counted once");
    assert_eq!(told[1].equal_share(ValueRef::Int(7)), Some(1.0), "rows that lack a column have its default there");
    assert_eq!(table_of(engine).look_count(), looks, "what files tell nobody looks for");
    insert(engine, ROWS + 8_000..ROWS + 12_000, Some(9));
    engine.freeze().expect("freezes");
    engine.run_jobs().expect("jobs run");
    known(engine);
    look(engine);
    let known_now = known(engine);
    let added = known_now.column(2).expect("files tell");
    let (old, new) = (added.equal_share(ValueRef::Int(7)), added.equal_share(ValueRef::Int(9)));
    let is_about = |share: Option<f64>, expected: f64| share.is_some_and(|share| (share - expected).abs() < 0.03);
    assert!(is_about(old, 32.0 / 36.0) && is_about(new, 4.0 / 36.0), "{old:?}, {new:?}");
}
