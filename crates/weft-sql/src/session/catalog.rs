//! Queries of `pg_catalog` and `information_schema`: what this transaction sees, as plain data for `weft-pgcatalog`.
//!
//! ```text
//!   kernel: table 3 customers, key (id)      shown: 16387 customers, its index customers_pkey, its constraint
//!   kernel: schema 0                         shown: 2200 public
//! ```
//!
//! 1. A number that is shown is the kernel's and 16384, so it is the same after a restart.
//! 2. Columns are numbered from 1 as users see them: dropped ones keep their number, a hidden row id has none.

use std::collections::BTreeMap;

use weft_format::{Result, Value};
use weft_kernel::catalog::{Deferrable, FkAction, SequenceOptions};
use weft_kernel::index::IndexPart;
use weft_kernel::{IndexRef, Object, ObjectKind, SchemaId, TableDef, TableRef, Transaction};
use weft_pgcatalog::{
    CatalogQuery, Column, FIRST, ForeignKey, Index, Materialized, PUBLIC, Sequence, Snapshot, Stop, Table, View,
};

use super::monitor;
use super::work::Work;
use crate::ddl::dependents::{is_companion, is_populated, materialized_by};
use crate::ddl::sequence::{owner, type_of};
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};
use crate::row::{generated, predicate_text};
use crate::version::SERVER_VERSION;
use crate::view_columns::view_columns;

/// Names and types of the columns.
pub(super) fn columns(query: &CatalogQuery) -> Vec<OutputColumn> {
    query.columns().into_iter().map(|(name, data_type)| OutputColumn::new(name, data_type)).collect()
}

/// Runs a query of the catalog.
pub(super) fn run(query: &CatalogQuery, params: &[Value], source: &str, work: &mut Work<'_>) -> Result<Outcome> {
    let shown = snapshot(work, source)?;
    rows_of(query, params, work, &shown)
}

/// What the constants of one statement are computed from, made when the first asks for it.
#[derive(Default)]
pub(super) struct Shown {
    session: Option<Snapshot>,
    all: Option<Snapshot>,
}

/// The value of a query of one constant. What is of the session only does not cost more the more tables there are.
pub(super) fn constant(
    query: &CatalogQuery,
    source: &str,
    work: &mut Work<'_>,
    shown: &mut Shown,
    of_session: bool,
) -> Result<Value> {
    let place = if of_session { &mut shown.session } else { &mut shown.all };
    let snapshot = match place {
        Some(known) => known,
        None => place.insert(if of_session { of_session_only(work)? } else { snapshot(work, source)? }),
    };
    let outcome = rows_of(query, &[], work, snapshot)?;
    Ok(outcome.rows.iter().next().and_then(|row| row.first().cloned()).unwrap_or_default())
}

fn rows_of(query: &CatalogQuery, params: &[Value], work: &mut Work<'_>, snapshot: &Snapshot) -> Result<Outcome> {
    let columns = columns(query);
    let values = query.run(snapshot, params)?;
    for request in snapshot.requests.take() {
        monitor::carry_out(work, request)?;
    }
    let rows = Rows::from_values(columns.len(), values);
    Ok(Outcome { tag: Tag::Select(rows.len() as u64), columns: columns.into(), rows })
}

fn schema_oid(id: SchemaId) -> u32 {
    if id == SchemaId::PUBLIC { PUBLIC } else { FIRST + id.0 }
}

/// The session, and the schemas in which it looks for names.
fn of_session_only(work: &mut Work<'_>) -> Result<Snapshot> {
    let access = work.db.access(work.txn)?;
    let cancel = work.cancel.clone();
    let txn = &*work.txn;
    let settings = work.settings;
    let mut shown = Snapshot {
        database: settings.database.clone(),
        user: settings.user.clone(),
        session_user: settings.session_user.clone(),
        version: format!("PostgreSQL {SERVER_VERSION}"),
        search_path: txn.search_path().iter().map(|id| schema_oid(*id)).collect(),
        temporary: work.temporary.schema(txn).map(schema_oid),
        backend: settings.backend,
        txid: i64::try_from(txn.id().0).unwrap_or(i64::MAX),
        read_ts: txn.read_ts().0,
        now_micros: work.local.now_micros,
        stop: Stop::when(move || cancel.check()),
        schemas: txn.search_path().iter().map(|id| (schema_oid(*id), crate::resolve::schema_name(txn, *id))).collect(),
        access,
        settings: settings.all(),
        ..Snapshot::default()
    };
    shown.schemas.dedup();
    let of_transaction = [
        ("transaction_isolation", txn.level().to_string()),
        ("transaction_read_only", if work.read_only { "on" } else { "off" }.to_owned()),
        ("transaction_deferrable", "off".to_owned()),
    ];
    shown.settings.extend(of_transaction.map(|(name, value)| (name.to_owned(), value, String::new())));
    Ok(shown)
}

fn snapshot(work: &mut Work<'_>, source: &str) -> Result<Snapshot> {
    let mut shown = of_session_only(work)?;
    let txn = &*work.txn;
    shown.schemas = vec![(PUBLIC, crate::resolve::PUBLIC.to_owned())];
    shown.settings_more = monitor::settings_more(work.settings);
    let tables = txn.tables();
    let numbers: BTreeMap<u32, Numbers> = tables.iter().map(|def| (def.id.0, Numbers::of(def))).collect();
    let oids: BTreeMap<u32, u32> = tables.iter().map(|def| (def.id.0, FIRST + def.oid)).collect();
    for def in &tables {
        let Some(table) = txn.table_of(def.id) else { continue };
        indexes(&mut shown, txn, &table, def, &numbers[&def.id.0]);
        shown.tables.push(described(&table, def, &numbers, &oids));
    }
    let places: BTreeMap<u32, &Numbers> = tables.iter().map(|def| (def.oid, &numbers[&def.id.0])).collect();
    for object in txn.objects() {
        object_of(&mut shown, txn, &object, &places)?;
    }
    monitor::add(&mut shown, work, source);
    Ok(shown)
}

/// The numbers of a table's columns by their ordinals; 0 for the hidden row id.
struct Numbers(Vec<i64>);

impl Numbers {
    fn of(def: &TableDef) -> Numbers {
        let hidden = def.schema.row_id();
        let number = |ordinal: usize| match hidden {
            Some(hidden) if hidden == ordinal => 0,
            Some(hidden) if hidden < ordinal => ordinal as i64,
            _ => ordinal as i64 + 1,
        };
        Numbers((0..def.schema.columns.len()).map(number).collect())
    }

    fn at(&self, ordinal: usize) -> i64 {
        self.0.get(ordinal).copied().unwrap_or(0)
    }

    fn all(&self, ordinals: &[usize]) -> Vec<i64> {
        ordinals.iter().map(|ordinal| self.at(*ordinal)).collect()
    }
}

fn described(table: &TableRef, def: &TableDef, numbers: &BTreeMap<u32, Numbers>, oids: &BTreeMap<u32, u32>) -> Table {
    let own = &numbers[&def.id.0];
    let columns = def.schema.columns.iter().enumerate().filter(|(ordinal, _)| own.at(*ordinal) > 0);
    let column = |(ordinal, column): (usize, &weft_format::Column)| Column {
        name: column.name.clone(),
        data_type: column.data_type,
        not_null: column.not_null,
        dropped: def.schema.is_dropped(ordinal),
        default: def.defaults.get(ordinal).cloned().flatten().or_else(|| generated(def, ordinal).map(str::to_owned)),
        identity: def.properties.get(&format!("identity.{ordinal}")).map(|kind| kind == "always"),
        generated: generated(def, ordinal).is_some(),
    };
    let action = |action: FkAction| match action {
        FkAction::NoAction => 'a',
        FkAction::Restrict => 'r',
        FkAction::Cascade => 'c',
        FkAction::SetNull => 'n',
    };
    let foreign_key = |key: &weft_kernel::catalog::ForeignKey| ForeignKey {
        name: key.name.clone(),
        columns: own.all(&key.columns),
        parent: oids.get(&key.parent.0).copied().unwrap_or(0),
        parent_columns: numbers.get(&key.parent.0).map_or_else(Vec::new, |parent| parent.all(&key.parent_columns)),
        on_delete: action(key.on_delete),
        on_update: action(key.on_update),
        deferrable: (key.deferrable != Deferrable::No, key.deferrable == Deferrable::InitiallyDeferred),
    };
    let statistics = table.table.statistics();
    Table {
        oid: FIRST + def.oid,
        schema: schema_oid(def.namespace),
        name: def.name.clone(),
        columns: columns.map(column).collect(),
        primary_key: def.primary_key.as_ref().map(|name| (name.clone(), own.all(&def.schema.key))),
        checks: def.checks.clone(),
        foreign_keys: def.foreign_keys.iter().map(foreign_key).collect(),
        method: def.method.clone(),
        options: def.options.iter().map(|(name, value)| format!("{name}={value}")).collect(),
        materialized: None,
        rows: statistics.row_count,
        bytes: statistics.bytes,
    }
}

/// Adds the indexes of a table; the primary key is shown as one.
fn indexes(shown: &mut Snapshot, txn: &Transaction, table: &TableRef, def: &TableDef, own: &Numbers) {
    let oid = FIRST + def.oid;
    let schema = schema_oid(def.namespace);
    if let Some(name) = &def.primary_key {
        shown.indexes.push(Index {
            oid: Snapshot::primary_index_oid(oid),
            schema,
            name: name.clone(),
            table: oid,
            parts: own.all(&def.schema.key).into_iter().map(|number| (number, String::new())).collect(),
            unique: true,
            primary: true,
            constraint: true,
            ..Index::default()
        });
    }
    for IndexRef { def: index_def, index, .. } in txn.indexes_of(table) {
        let part = |part: &IndexPart| match part {
            IndexPart::Column(ordinal) => (own.at(*ordinal), String::new()),
            IndexPart::Expression(_) => (0, part.text(&def.schema)),
        };
        let predicate = index.is_partial().then(|| predicate_text(table, index.predicate()));
        let statistics = index.statistics();
        shown.indexes.push(Index {
            oid: FIRST + index_def.oid,
            schema: schema_oid(index_def.namespace),
            name: index_def.name.clone(),
            table: oid,
            parts: index.parts().iter().map(part).collect(),
            included: own.all(index.included()),
            unique: index.is_unique(),
            primary: false,
            constraint: index.is_constraint(),
            predicate,
            bytes: statistics.memory_bytes + statistics.disk_bytes,
        });
    }
}

fn object_of(
    shown: &mut Snapshot,
    txn: &Transaction,
    object: &Object,
    numbers: &BTreeMap<u32, &Numbers>,
) -> Result<()> {
    let (oid, schema, name) = (FIRST + object.id, schema_oid(object.namespace), object.name.clone());
    match object.kind {
        ObjectKind::Schema => shown.schemas.push((oid, name)),
        ObjectKind::View if is_companion(object) => {
            let query = object.property("query").unwrap_or_default().to_owned();
            let reads = object.needs.iter().map(|id| FIRST + id).collect();
            let Some(table) = materialized_by(txn, object) else { return Ok(()) };
            let oid = FIRST + table.def.oid;
            if let Some(shown) = shown.tables.iter_mut().find(|shown| shown.oid == oid) {
                shown.materialized = Some(Materialized { query, reads, populated: is_populated(&table.def) });
            }
        }
        ObjectKind::View => {
            let query = object.property("query").unwrap_or_default().to_owned();
            let reads = object.needs.iter().map(|id| FIRST + id).collect();
            shown.views.push(View { oid, schema, name, columns: view_columns(object), query, reads });
        }
        ObjectKind::Sequence => {
            let options = SequenceOptions::of(object)?;
            let value = txn.sequence_value(object)?;
            let owned = owner(object).and_then(|(table, ordinal)| {
                let shown = shown.tables.iter().find(|known| known.oid == FIRST + table)?;
                let number = numbers.get(&table)?.at(ordinal);
                let column = shown.columns.get(usize::try_from(number - 1).ok()?)?;
                Some((shown.oid, number, column.identity.is_some()))
            });
            shown.sequences.push(Sequence {
                oid,
                schema,
                name,
                data_type: type_of(object),
                bounds: [options.start, options.min, options.max, options.increment, 1],
                cycle: options.cycle,
                value: value.last,
                is_called: value.is_called,
                owner: owned,
            });
        }
        ObjectKind::Comment => {
            let words: Vec<&str> = object.name.split(' ').collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok());
            let about = match (words.first().copied(), number(1)) {
                (Some("relation"), Some(id)) => Some((FIRST + id, 0)),
                (Some("column"), Some(id)) => {
                    let ordinal = number(2).and_then(|ordinal| usize::try_from(ordinal).ok());
                    let number = |ordinal| numbers.get(&id).map_or(ordinal as i64 + 1, |known| known.at(ordinal));
                    ordinal.map(|ordinal| (FIRST + id, number(ordinal)))
                }
                (Some("schema"), Some(id)) => Some((schema_oid(SchemaId(id)), 0)),
                (Some("constraint"), Some(id)) => {
                    let name = object.name.splitn(3, ' ').nth(2).unwrap_or_default();
                    shown.constraint_oid(FIRST + id, name).map(|oid| (oid, 0))
                }
                _ => None,
            };
            if let (Some(about), Some(text)) = (about, object.property("text")) {
                shown.comments.insert(about, text.to_owned());
            }
        }
        ObjectKind::Other => {}
    }
    Ok(())
}
