//! The objects of a transaction's catalog, as plain data for `weft-pgcatalog`: once for a version of the catalog.
//!
//! ```text
//!   kernel: table 3 customers, key (id)      shown: 16387 customers, its index customers_pkey, its constraint
//!   kernel: schema 0                         shown: 2200 public
//! ```
//!
//! 1. A number that is shown is the kernel's and 16384, so it is the same after a restart.
//! 2. Columns are numbered from 1 as users see them: dropped ones keep their number, a hidden row id has none.
//! 3. What is kept holds no table and no index: a dropped one goes when its last statement ends.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use weft_format::Result;
use weft_format::enums;
use weft_kernel::catalog::{Deferrable, FkAction, SequenceOptions};
use weft_kernel::index::{Index as KernelIndex, IndexPart, NewColumnIndex};
use weft_kernel::{
    IndexRef, Object, ObjectKind, SchemaId, SequenceValues, TableDef, TableRef, Transaction, WeakTableRef,
};
use weft_pgcatalog::{
    Column, ColumnFigures, FIRST, Figures, ForeignKey, FunctionArgument, FunctionType, Index, Materialized, Objects,
    PUBLIC, Sequence, Snapshot, Table, TypeKind, UserFunction, UserType, View, quoted,
};

use super::column_figures::column_figures;
use crate::ddl::dependents::{is_companion, is_populated, materialized_by};
use crate::ddl::sequence::{owner, type_of};
use crate::ddl::{NO_INHERIT, NOT_VALID, with_mark};
use crate::domains::{self, Definition, base_type, is_domain, parent_of};
use crate::expr::data_type_of;
use crate::functions::{self, Function, Gives};
use crate::parse::as_written;
use crate::row::{generated, predicate_text};
use crate::types::{self, Named};
use crate::updatable::{self, Verb};
use crate::view_columns::{self, view_columns};

/// The objects of a version of the catalog, and whom to ask for their figures.
#[derive(Default)]
pub(crate) struct Described {
    /// The objects.
    pub(crate) objects: Arc<Objects>,
    tables: HashMap<u32, WeakTableRef>,
    indexes: HashMap<u32, Weak<KernelIndex>>,
    sequences: HashMap<u32, Arc<Object>>,
}

/// The figures of the objects at the moment.
pub(super) struct OfMoment {
    described: Arc<Described>,
    values: SequenceValues,
}

impl OfMoment {
    pub(super) fn new(described: &Arc<Described>, txn: &Transaction) -> OfMoment {
        OfMoment { described: Arc::clone(described), values: txn.sequence_values() }
    }
}

impl Figures for OfMoment {
    fn table(&self, oid: u32) -> (u64, u64) {
        let table = self.described.tables.get(&oid).and_then(WeakTableRef::upgrade);
        table.map_or((0, 0), |table| {
            let statistics = table.table.statistics();
            (statistics.row_count, statistics.bytes)
        })
    }

    fn index(&self, oid: u32) -> u64 {
        let index = self.described.indexes.get(&oid).and_then(Weak::upgrade);
        index.map_or(0, |index| {
            let statistics = index.statistics();
            statistics.memory_bytes + statistics.disk_bytes
        })
    }

    fn sequence(&self, oid: u32) -> Option<(i64, bool)> {
        let value = self.values.of(self.described.sequences.get(&oid)?).ok()?;
        Some((value.last, value.is_called))
    }

    fn columns(&self, oid: u32) -> Vec<ColumnFigures> {
        let table = self.described.tables.get(&oid).and_then(WeakTableRef::upgrade);
        table.map_or_else(Vec::new, |table| {
            let numbers = Numbers::of(&table.def);
            column_figures(&table, &|ordinal| numbers.at(ordinal))
        })
    }
}

/// The number of a schema as it is shown.
pub(super) fn schema_oid(id: SchemaId) -> u32 {
    if id == SchemaId::PUBLIC { PUBLIC } else { FIRST + id.0 }
}

/// What is being described.
#[derive(Default)]
struct Making {
    objects: Objects,
    described: Described,
}

/// The objects that a transaction sees.
pub(super) fn describe(txn: &Transaction) -> Result<Described> {
    let mut made = Making::default();
    made.objects.schemas = vec![(PUBLIC, crate::resolve::PUBLIC.to_owned())];
    let tables = txn.tables();
    let numbers: BTreeMap<u32, Numbers> = tables.iter().map(|def| (def.id.0, Numbers::of(def))).collect();
    let oids: BTreeMap<u32, u32> = tables.iter().map(|def| (def.id.0, FIRST + def.oid)).collect();
    for def in &tables {
        let Some(table) = txn.table_of(def.id) else { continue };
        indexes(&mut made, txn, &table, def, &numbers[&def.id.0]);
        made.described.tables.insert(FIRST + def.oid, table.downgrade());
        made.objects.tables.push(described(def, &numbers, &oids)?);
    }
    let places: BTreeMap<u32, &Numbers> = tables.iter().map(|def| (def.oid, &numbers[&def.id.0])).collect();
    let shown: HashMap<u32, usize> =
        made.objects.tables.iter().enumerate().map(|(place, table)| (table.oid, place)).collect();
    for object in txn.objects() {
        object_of(&mut made, txn, &object, &places, &shown)?;
    }
    if !made.objects.types.is_empty() || !made.objects.functions.is_empty() {
        types::note_all(txn)?;
        show_types(&mut made.objects);
    }
    Ok(Described { objects: made.objects.indexed(), ..made.described })
}

/// A type's name with its schema.
fn name_of(objects: &Objects, known: &UserType) -> String {
    let schema = objects.schemas.iter().find(|(oid, _)| *oid == known.schema);
    format!("{}.{}", quoted(schema.map_or("", |(_, name)| name)), quoted(&known.name))
}

/// Gives users' types their names in stored texts.
fn show_types(objects: &mut Objects) {
    let mut names: HashMap<u32, String> =
        objects.types.iter().map(|known| (known.oid, name_of(objects, known))).collect();
    for known in &objects.functions {
        let schema = objects.schemas.iter().find(|(oid, _)| *oid == known.schema);
        let name = format!("{}.{}", quoted(schema.map_or("", |(_, name)| name)), quoted(&known.name));
        names.insert(known.oid, name);
    }
    let name_of = |named: Named| match named {
        Named::Enum(id) => names.get(&enums::oid_of(id)).cloned().unwrap_or_else(|| enums::name_of(id)),
        Named::Domain(id) | Named::Function(id) => names.get(&(FIRST + id)).cloned().unwrap_or_else(|| "???".into()),
    };
    let show = |text: &mut String| {
        if let Cow::Owned(shown) = types::shown(text, &name_of) {
            *text = shown;
        }
    };
    for table in &mut objects.tables {
        table.columns.iter_mut().filter_map(|column| column.default.as_mut()).for_each(show);
        table.checks.iter_mut().for_each(|(_, text)| show(text));
        table.materialized.iter_mut().for_each(|materialized| show(&mut materialized.query));
    }
    for index in &mut objects.indexes {
        index.parts.iter_mut().for_each(|(_, text)| show(text));
        index.predicate.iter_mut().for_each(show);
    }
    for view in &mut objects.views {
        show(&mut view.query);
        view.defaults.iter_mut().for_each(|(_, text)| show(text));
    }
    for known in &mut objects.functions {
        known.arguments.iter_mut().filter_map(|argument| argument.default.as_mut()).for_each(show);
    }
    for known in &mut objects.types {
        let TypeKind::Domain(domain) = &mut known.kind else { continue };
        domain.default.iter_mut().for_each(show);
        domain.checks.iter_mut().for_each(|(_, text, _)| show(text));
    }
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

fn described(def: &TableDef, numbers: &BTreeMap<u32, Numbers>, oids: &BTreeMap<u32, u32>) -> Result<Table> {
    let domains = domains::of_table(def)?;
    let domain_of = |ordinal: usize| domains.iter().find(|(known, _)| *known == ordinal).map(|(_, rules)| rules);
    let own = &numbers[&def.id.0];
    let columns = def.schema.columns.iter().enumerate().filter(|(ordinal, _)| own.at(*ordinal) > 0);
    let column = |(ordinal, column): (usize, &weft_format::Column)| Column {
        name: column.name.clone(),
        data_type: column.data_type,
        domain: domain_of(ordinal).map(|rules| (FIRST + rules.id, rules.each)),
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
        FkAction::SetDefault => 'd',
    };
    let foreign_key = |key: &weft_kernel::catalog::ForeignKey| ForeignKey {
        name: key.name.clone(),
        columns: own.all(&key.columns),
        parent: oids.get(&key.parent.0).copied().unwrap_or(0),
        parent_columns: numbers.get(&key.parent.0).map_or_else(Vec::new, |parent| parent.all(&key.parent_columns)),
        on_delete: action(key.on_delete),
        on_update: action(key.on_update),
        full: key.full,
        set_on_delete: own.all(&key.set_on_delete),
        deferrable: (key.deferrable != Deferrable::No, key.deferrable == Deferrable::InitiallyDeferred),
    };
    Ok(Table {
        oid: FIRST + def.oid,
        schema: schema_oid(def.namespace),
        name: def.name.clone(),
        columns: columns.map(column).collect(),
        primary_key: def.primary_key.as_ref().map(|name| (name.clone(), own.all(&def.schema.key))),
        checks: def.checks.clone(),
        no_inherit: with_mark(def, NO_INHERIT).map(str::to_owned).collect(),
        not_valid: with_mark(def, NOT_VALID).map(str::to_owned).collect(),
        foreign_keys: def.foreign_keys.iter().map(foreign_key).collect(),
        method: def.method.clone(),
        options: def.options.iter().map(|(name, value)| format!("{name}={value}")).collect(),
        materialized: None,
    })
}

/// Adds the indexes of a table; the primary key is shown as one.
fn indexes(made: &mut Making, txn: &Transaction, table: &TableRef, def: &TableDef, own: &Numbers) {
    let oid = FIRST + def.oid;
    let schema = schema_oid(def.namespace);
    if let Some(name) = &def.primary_key {
        made.objects.indexes.push(Index {
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
        made.described.indexes.insert(FIRST + index_def.oid, Arc::downgrade(&index));
        made.objects.indexes.push(Index {
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
            of_columns: false,
        });
    }
    for columns in txn.column_indexes_of(table) {
        let Ok(new) = NewColumnIndex::again(&columns.def) else { continue };
        made.objects.indexes.push(Index {
            oid: FIRST + columns.def.oid,
            schema: schema_oid(columns.def.namespace),
            name: columns.def.name.clone(),
            table: oid,
            parts: new.columns.iter().map(|ordinal| (own.at(*ordinal), String::new())).collect(),
            of_columns: true,
            ..Index::default()
        });
    }
}

fn object_of(
    made: &mut Making,
    txn: &Transaction,
    object: &Arc<Object>,
    numbers: &BTreeMap<u32, &Numbers>,
    places: &HashMap<u32, usize>,
) -> Result<()> {
    let (oid, schema, name) = (FIRST + object.id, schema_oid(object.namespace), object.name.clone());
    match object.kind {
        ObjectKind::Schema => made.objects.schemas.push((oid, name)),
        ObjectKind::View if is_companion(object) => {
            let query = as_written(object.property("query").unwrap_or_default()).into_owned();
            let reads = object.needs.iter().map(|id| FIRST + id).collect();
            let Some(table) = materialized_by(txn, object) else { return Ok(()) };
            let oid = FIRST + table.def.oid;
            if let Some(shown) = places.get(&oid).map(|place| &mut made.objects.tables[*place]) {
                shown.materialized = Some(Materialized { query, reads, populated: is_populated(&table.def) });
            }
        }
        ObjectKind::View => {
            let query = as_written(object.property("query").unwrap_or_default()).into_owned();
            let reads = object.needs.iter().map(|id| FIRST + id).collect();
            let columns = view_columns(object);
            let options = view_columns::options(object).into_iter().map(|(name, value)| format!("{name}={value}"));
            let default = |place: usize| Some((place, view_columns::default_of(object, place)?.to_owned()));
            let defaults = (0..columns.len()).filter_map(default).collect();
            let (events, updatable) = events_of(txn, object);
            let options = options.collect();
            let view = View { oid, schema, name, columns, query, reads, options, defaults, events, updatable };
            made.objects.views.push(view);
        }
        ObjectKind::Sequence => {
            let options = SequenceOptions::of(object)?;
            let owned = owner(object).and_then(|(table, ordinal)| {
                let shown = &made.objects.tables[*places.get(&(FIRST + table))?];
                let number = numbers.get(&table)?.at(ordinal);
                let column = shown.columns.get(usize::try_from(number - 1).ok()?)?;
                Some((shown.oid, number, column.identity.is_some()))
            });
            made.described.sequences.insert(oid, Arc::clone(object));
            made.objects.sequences.push(Sequence {
                oid,
                schema,
                name,
                data_type: type_of(object),
                bounds: [options.start, options.min, options.max, options.increment, 1],
                cycle: options.cycle,
                owner: owned,
            });
        }
        ObjectKind::Comment => comment(made, object, numbers),
        ObjectKind::Type if is_domain(object) => {
            let kind = domain(txn, object)?;
            made.objects.types.push(UserType { oid, schema, name, kind });
        }
        ObjectKind::Type => {
            let labels = types::labels_of(object)?;
            let labels = labels.iter().map(|(code, label)| (code, label.to_owned())).collect();
            made.objects.types.push(UserType { oid, schema, name, kind: TypeKind::Enum(labels) });
        }
        ObjectKind::Function => made.objects.functions.push(function(txn, object)?),
        ObjectKind::Other => {}
    }
    Ok(())
}

/// What a function says.
fn function(txn: &Transaction, object: &Object) -> Result<UserFunction> {
    let function = Function::of(object)?;
    let shown = |text: &str| -> Result<FunctionType> {
        Ok(match functions::plain_type_of(txn, text)? {
            // An array of a domain is one of its base type here.
            (data_type, Some(_)) if text.ends_with(']') => FunctionType::Plain(data_type),
            (_, Some(domain)) => FunctionType::Domain(FIRST + domain),
            (data_type, None) => FunctionType::Plain(data_type),
        })
    };
    let mut arguments = Vec::with_capacity(function.arguments.len());
    for argument in &function.arguments {
        arguments.push(FunctionArgument {
            mode: argument.mode_letter(),
            name: argument.name.clone(),
            data_type: shown(&argument.data_type)?,
            default: argument.default.clone(),
        });
    }
    let number = |text: &Option<String>| text.as_ref().and_then(|text| text.parse().ok());
    Ok(UserFunction {
        oid: FIRST + object.id,
        schema: schema_oid(object.namespace),
        arguments,
        result: match &function.gives {
            Gives::Void => FunctionType::Void,
            Gives::Type(text) => shown(text)?,
            Gives::Relation(id) => FunctionType::Row(FIRST + id),
            Gives::Record => FunctionType::Record,
        },
        is_set: function.is_set,
        is_return: function.is_return,
        volatility: function.volatility,
        strict: function.strict,
        definer: function.definer,
        leak_proof: function.leak_proof,
        parallel: function.parallel,
        cost: number(&function.cost),
        rows: number(&function.rows),
        name: function.name,
        body: function.body,
    })
}

/// What a domain says.
fn domain(txn: &Transaction, object: &Object) -> Result<TypeKind> {
    let definition = Definition::of(object)?;
    let base = base_type(&definition.base)?;
    let resolved = domains::resolve(txn, object)?;
    Ok(TypeKind::Domain(weft_pgcatalog::Domain {
        base: data_type_of(&resolved.base)?,
        below: parent_of(txn, &base).map(|below| FIRST + below.id),
        not_null: definition.not_null,
        default: definition.default,
        checks: definition.checks.into_iter().map(|check| (check.name, check.text, check.is_valid)).collect(),
    }))
}

/// What can be done through a view: 4 for UPDATE, 8 for INSERT, 16 for DELETE; and whether each column can be updated.
fn events_of(txn: &Transaction, view: &Arc<Object>) -> (i64, Vec<bool>) {
    let columns = match updatable::of_view(txn, Arc::clone(view), Verb::Update) {
        Ok(found) => found.names().map(|name| found.ordinal(name, Verb::Update).is_ok()).collect(),
        Err(_) => vec![false; view_columns(view).len()],
    };
    if columns.contains(&true) {
        return (28, columns);
    }
    (if updatable::of_view(txn, Arc::clone(view), Verb::Delete).is_ok() { 16 } else { 0 }, columns)
}

fn comment(made: &mut Making, object: &Object, numbers: &BTreeMap<u32, &Numbers>) {
    let Some(text) = object.property("text") else { return };
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
            // A name may have blanks in it.
            let name = object.name.splitn(3, ' ').nth(2).unwrap_or_default();
            made.objects.constraint_comments.push((FIRST + id, name.to_owned(), text.to_owned()));
            None
        }
        _ => None,
    };
    if let Some(about) = about {
        made.objects.comments.insert(about, text.to_owned());
    }
}
