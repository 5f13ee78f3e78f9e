//! Tables that are not stored: what the engine does at the moment, one row each.
//!
//! ```text
//!   SELECT relation, txn, mode, waits FROM weft_locks         Engine::locks()
//!     u     412   exclusive          f                        a whole table's lock
//!     NULL  412   columns exclusive  f                        a row's: locks go by a hash of the key
//!     NULL  415   exclusive          t
//! ```
//!
//! A view has no snapshot: its rows are made when a plan is, and a plan with a view in it is never kept (engine 1). A
//! table of the same name goes before the view.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema, SchemaRef};
use weft_format::{DataType, KeyCodec, Result, Value};
use weft_kernel::Engine;
use weft_kernel::cache::PartitionCounters;
use weft_kernel::lock::LockName;

mod documents;
mod nodes;
mod scheduling;
mod values;

use crate::row::predicate_text;
use crate::values::array_of;
use values::{BIGINT, BOOLEAN, Columns, DOUBLE, TEXT, int, some_text, text};

/// Makes the rows of a view.
type MakeRows = fn(&Engine) -> Vec<Vec<Value>>;

/// A view that reads files: columns, and what makes the rows of all tables, or of those of a name.
const OF_FILES: (&str, Columns) = ("weft_document_paths", documents::COLUMNS);

/// The other views by name: columns, and what makes the rows.
const VIEWS: &[(&str, Columns, MakeRows)] = &[
    (
        "weft_indexes",
        &[
            ("index", TEXT),
            ("table", TEXT),
            ("columns", TEXT),
            ("unique", BOOLEAN),
            ("entries", BIGINT),
            ("memory_bytes", BIGINT),
            ("disk_bytes", BIGINT),
            ("runs", BIGINT),
            ("ranges", BIGINT),
            ("misses", BIGINT),
            ("false_positives", BIGINT),
            ("include", TEXT),
            ("predicate", TEXT),
        ],
        indexes,
    ),
    (
        "weft_transactions",
        &[("txn", BIGINT), ("locks_held", BIGINT), ("waits", BOOLEAN), ("waits_for", BIGINT)],
        transactions,
    ),
    ("weft_locks", &[("lock", TEXT), ("relation", TEXT), ("txn", BIGINT), ("mode", TEXT), ("waits", BOOLEAN)], locks),
    (
        "weft_cache",
        &[
            ("hits", BIGINT),
            ("misses", BIGINT),
            ("bytes", BIGINT),
            ("blocks", BIGINT),
            ("evictions", BIGINT),
            ("freeing_bytes", BIGINT),
        ],
        cache,
    ),
    (
        "weft_cache_partitions",
        &[
            ("partition", BIGINT),
            ("hits", BIGINT),
            ("misses", BIGINT),
            ("bytes", BIGINT),
            ("blocks", BIGINT),
            ("evictions", BIGINT),
            ("limit_bytes", BIGINT),
        ],
        cache_partitions,
    ),
    (
        "weft_log",
        &[
            ("live_bytes", BIGINT),
            ("blocks", BIGINT),
            ("commits", BIGINT),
            ("bytes", BIGINT),
            ("failures", BIGINT),
            ("last_timestamp", BIGINT),
            ("published_timestamp", BIGINT),
            ("horizon_timestamp", BIGINT),
        ],
        log,
    ),
    (
        "weft_layers",
        &[
            ("table", TEXT),
            ("layer", TEXT),
            ("bucket", BIGINT),
            ("parts", BIGINT),
            ("rows", BIGINT),
            ("dead_rows", BIGINT),
            ("bytes", BIGINT),
            ("key_min", TEXT),
            ("key_max", TEXT),
        ],
        layers,
    ),
    (
        "weft_marks",
        &[
            ("table", TEXT),
            ("file", BIGINT),
            ("layer", TEXT),
            ("rows", BIGINT),
            ("marks", BIGINT),
            ("young_marks", BIGINT),
            ("bytes", BIGINT),
        ],
        marks,
    ),
    ("weft_memory", &[("part", TEXT), ("bytes", BIGINT), ("limit_bytes", BIGINT)], memory),
    (
        "weft_admission",
        &[
            ("pool", TEXT),
            ("slots", BIGINT),
            ("taken", BIGINT),
            ("waiting", BIGINT),
            ("waits", BIGINT),
            ("refused", BIGINT),
        ],
        admission,
    ),
    (
        "weft_jobs",
        &[
            ("relation", TEXT),
            ("kind", TEXT),
            ("number", BIGINT),
            ("state", TEXT),
            ("started", DataType::TimestampTz),
            ("duration_ms", DOUBLE),
            ("paused_ms", DOUBLE),
            ("cpu_ms", DOUBLE),
            ("expected_cpu_ms", DOUBLE),
            ("read_bytes", BIGINT),
            ("expected_read_bytes", BIGINT),
            ("written_bytes", BIGINT),
            ("expected_written_bytes", BIGINT),
            ("freed_memory_bytes", BIGINT),
            ("reason", TEXT),
        ],
        scheduling::jobs,
    ),
    (
        "weft_scheduler",
        &[
            ("mode", TEXT),
            ("cores", BIGINT),
            ("queries", BIGINT),
            ("jobs", BIGINT),
            ("busy_cores_now", DOUBLE),
            ("busy_cores_next_100_ms", DOUBLE),
            ("busy_cores_next_500_ms", DOUBLE),
            ("idle_cores_expected", DOUBLE),
            ("idle_cores_found", DOUBLE),
            ("comparisons", BIGINT),
            ("idle_cores_error", DOUBLE),
            ("operator", TEXT),
            ("phi", DOUBLE),
            ("phi_variance", DOUBLE),
            ("updates", BIGINT),
            ("estimated_ms", DOUBLE),
            ("actual_ms", DOUBLE),
            ("error_uncorrected", DOUBLE),
            ("error", DOUBLE),
        ],
        scheduling::scheduler,
    ),
    (
        "weft_nodes",
        &[
            ("node", TEXT),
            ("address", TEXT),
            ("state", TEXT),
            ("position", BIGINT),
            ("lag_bytes", BIGINT),
            ("shown_timestamp", BIGINT),
            ("lag_commits", BIGINT),
            ("heard_ms", DOUBLE),
            ("left_behind", BOOLEAN),
        ],
        nodes::nodes,
    ),
    (
        "weft_replication",
        &[
            ("node", TEXT),
            ("state", TEXT),
            ("joins", BIGINT),
            ("position", BIGINT),
            ("lag_bytes", BIGINT),
            ("shown_timestamp", BIGINT),
            ("last_timestamp", BIGINT),
            ("age_ms", DOUBLE),
            ("writer_heard_ms", DOUBLE),
            ("writer_closed", BOOLEAN),
            ("last_error", TEXT),
        ],
        nodes::replication,
    ),
    (
        "weft_archive",
        &[
            ("place", TEXT),
            ("state", TEXT),
            ("fence", BIGINT),
            ("position", BIGINT),
            ("lag_bytes", BIGINT),
            ("age_ms", DOUBLE),
            ("shipped_timestamp", BIGINT),
            ("base", BIGINT),
            ("pieces", BIGINT),
            ("bytes", BIGINT),
            ("failures", BIGINT),
            ("last_error", TEXT),
        ],
        nodes::archive,
    ),
];

/// Whether a name is that of a view.
pub fn is_view(name: &str) -> bool {
    name == OF_FILES.0 || VIEWS.iter().any(|(known, ..)| *known == name)
}

/// One view, over an engine.
pub struct SystemView {
    name: &'static str,
    columns: Columns,
    /// None: it reads files.
    rows: Option<MakeRows>,
    schema: SchemaRef,
    engine: Arc<Engine>,
}

impl SystemView {
    /// The view of a name.
    pub fn find(name: &str, engine: &Arc<Engine>) -> Option<SystemView> {
        let (name, columns, rows) = match VIEWS.iter().find(|(known, ..)| *known == name) {
            Some(&(name, columns, rows)) => (name, columns, Some(rows)),
            None if name == OF_FILES.0 => (OF_FILES.0, OF_FILES.1, None),
            None => return None,
        };
        let fields: Vec<Field> =
            columns.iter().map(|(name, data_type)| Field::new(*name, data_type.arrow(), true)).collect();
        Some(SystemView { name, columns, rows, schema: Arc::new(Schema::new(fields)), engine: Arc::clone(engine) })
    }

    /// Its columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The column by which it makes some of its rows alone.
    pub fn narrowed_by(&self) -> Option<&'static str> {
        self.rows.is_none().then_some(documents::TABLE_NAME)
    }

    /// Its rows, as of now; `only` those whose [`SystemView::narrowed_by`] is that, if one is given.
    pub fn batch(&self, only: Option<&str>) -> Result<RecordBatch> {
        let rows = match self.rows {
            Some(make) => make(&self.engine),
            None => documents::paths(&self.engine, only)?,
        };
        let arrays = self.columns.iter().enumerate().map(|(at, (_, data_type))| {
            let values: Vec<&Value> = rows.iter().map(|row| &row[at]).collect();
            array_of(values.into_iter(), *data_type)
        });
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect());
        Ok(batch.expect("the values are of the view's types"))
    }
}

impl fmt::Debug for SystemView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemView").field("name", &self.name).finish()
    }
}

fn indexes(engine: &Engine) -> Vec<Vec<Value>> {
    let row = |(table, index): (weft_kernel::TableRef, Arc<weft_kernel::index::Index>)| {
        let schema = &table.def.schema;
        let names = |columns: &[usize]| {
            let names: Vec<&str> = columns.iter().map(|&ordinal| schema.columns[ordinal].name.as_str()).collect();
            names.join(", ")
        };
        let statistics = index.statistics();
        vec![
            text(&*index.name()),
            text(table.def.name.as_str()),
            text(index.parts().iter().map(|part| part.text(schema)).collect::<Vec<_>>().join(", ")),
            Value::Bool(index.is_unique()),
            int(statistics.entries),
            int(statistics.memory_bytes + statistics.open_bytes),
            int(statistics.disk_bytes),
            int(statistics.runs),
            int(statistics.ranges),
            int(statistics.filter_misses),
            int(statistics.filter_false_positives),
            some_text(names(index.included())),
            some_text(predicate_text(&table, index.predicate())),
        ]
    };
    engine.indexes().into_iter().map(row).collect()
}

fn locks(engine: &Engine) -> Vec<Vec<Value>> {
    let tables: BTreeMap<LockName, String> =
        engine.tables().iter().map(|table| (LockName::table(table.id()), table.def.name.clone())).collect();
    let mut rows = Vec::new();
    for state in engine.locks() {
        let relation = tables.get(&state.name).map_or(Value::Null, |name| text(name.as_str()));
        let holders = state.holders.iter().map(|holder| (holder, false));
        for (&(txn, mode), waits) in holders.chain(state.waiters.iter().map(|waiter| (waiter, true))) {
            rows.push(vec![
                text(state.name.to_string()),
                relation.clone(),
                int(txn.0),
                text(mode.to_string()),
                Value::Bool(waits),
            ]);
        }
    }
    rows
}

/// Transactions that hold locks or wait for one; who waits, waits for the first holder whose mode excludes its own.
fn transactions(engine: &Engine) -> Vec<Vec<Value>> {
    let mut all: BTreeMap<u64, (u64, bool, Option<u64>)> = BTreeMap::new();
    for state in engine.locks() {
        for (txn, _) in &state.holders {
            all.entry(txn.0).or_default().0 += 1;
        }
        for (txn, mode) in &state.waiters {
            let blocking = state.holders.iter().find(|(holder, held)| holder != txn && !held.compatible(*mode));
            let entry = all.entry(txn.0).or_default();
            entry.1 = true;
            entry.2 = entry.2.or(blocking.map(|(holder, _)| holder.0));
        }
    }
    let row = |(txn, (held, waits, waits_for)): (u64, (u64, bool, Option<u64>))| {
        vec![int(txn), int(held), Value::Bool(waits), waits_for.map_or(Value::Null, int)]
    };
    all.into_iter().map(row).collect()
}

fn cache(engine: &Engine) -> Vec<Vec<Value>> {
    let cache = engine.status().cache;
    vec![[cache.hits, cache.misses, cache.bytes, cache.blocks, cache.evictions, cache.freeing_bytes].map(int).to_vec()]
}

fn cache_partitions(engine: &Engine) -> Vec<Vec<Value>> {
    let partitions = (0..).zip(engine.cache_partitions());
    let row = |(number, partition): (u64, PartitionCounters)| {
        let PartitionCounters { hits, misses, evictions, bytes, bytes_max, blocks } = partition;
        [number, hits, misses, bytes, blocks, evictions, bytes_max].map(int).to_vec()
    };
    partitions.map(row).collect()
}

fn layers(engine: &Engine) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in engine.tables() {
        for layer in table.table.layers() {
            let key = |bytes: Option<Vec<u8>>| bytes.map_or(Value::Null, |bytes| text(key_text(&table.keys, &bytes)));
            let mut row = vec![
                text(table.def.name.as_str()),
                text(layer.layer),
                layer.bucket.map_or(Value::Null, |bucket| int(bucket.into())),
            ];
            row.extend([layer.parts, layer.rows, layer.dead_rows, layer.bytes].map(int));
            row.extend([key(layer.key_min), key(layer.key_max)]);
            rows.push(row);
        }
    }
    rows
}

/// The values of a key, separated by commas; in hexadecimal when one is of a type that has no short text.
fn key_text(keys: &KeyCodec, bytes: &[u8]) -> String {
    let value_text = |value: &Value| match value {
        Value::Bool(value) => Some(value.to_string()),
        Value::Int(value) => Some(value.to_string()),
        Value::Float(value) => Some(value.to_string()),
        Value::Text(value) => Some(value.to_string()),
        _ => None,
    };
    let values = keys.decode(bytes).unwrap_or_default();
    let texts: Option<Vec<String>> = values.iter().map(value_text).collect();
    match texts {
        Some(texts) if !texts.is_empty() => texts.join(", "),
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn marks(engine: &Engine) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in engine.tables() {
        for part in table.table.parts() {
            let mut row = vec![text(table.def.name.as_str()), int(part.file.0), text(part.layer)];
            row.extend([part.rows, part.marks, part.young_marks, part.marks_bytes].map(int));
            rows.push(row);
        }
    }
    rows
}

fn log(engine: &Engine) -> Vec<Vec<Value>> {
    let status = engine.status();
    let log = &status.log;
    vec![vec![
        int(status.log_bytes),
        int(log.blocks),
        int(log.commits),
        int(log.bytes),
        int(log.failures),
        int(status.last_sequenced.0),
        int(status.published.0),
        int(status.horizon.0),
    ]]
}

fn memory(engine: &Engine) -> Vec<Vec<Value>> {
    let status = engine.status();
    vec![
        vec![text("rows and indexes"), int(status.row_memory_bytes), int(status.row_memory_limit_bytes)],
        vec![text("serializable transactions"), int(status.serializable_memory_bytes), Value::Null],
        vec![text("block cache"), int(status.cache.bytes + status.cache.freeing_bytes), Value::Null],
        vec![text("data files"), int(status.file_memory_bytes), Value::Null],
        vec![text("delete marks"), int(status.mark_memory_bytes), Value::Null],
        vec![text("manifest"), int(status.manifest_memory_bytes), Value::Null],
    ]
}

fn admission(engine: &Engine) -> Vec<Vec<Value>> {
    let status = engine.status();
    let pools = [("transactions", status.transactions), ("queries", status.queries)];
    let row = |(name, pool): (&str, weft_kernel::admission::PoolStatus)| {
        let counts = [pool.slots, pool.taken, pool.waiting, pool.waits, pool.refused].map(int);
        [vec![text(name)], counts.to_vec()].concat()
    };
    pools.into_iter().map(row).collect()
}
