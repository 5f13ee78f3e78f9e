//! The one way in for what is committed: a commit that is in the log goes it, and so does recovery, with what it has
//! read of the log.
//!
//! ```text
//!   commit     ddl and journal of the transaction ───────────────────────┐
//!   recovery   record ─▶ ddl (engine/redo) · journal (txn/restage) ───────┴─▶ definitions · files of entries · rows,
//!                                                                            each table's before its indexes are fed
//! ```
//!
//! 1. Definitions come first, as in the log: rows are those of the tables as the commit leaves them.
//! 2. A table that is stored anew has no past under its new id.
//! 3. A table is fed to its indexes by the same call, whoever applies (index relation 1).
//! 4. Nothing is published here: until the caller does that, no snapshot sees any of it.

use weft_contract::Derived;
use weft_format::{Error, Result, Timestamp};

use super::journal::Journal;
use super::own_ddl::OwnDdl;
use crate::catalog::{Catalog, Relation};

/// Makes a definition part of the catalog.
pub(crate) fn apply_ddl(catalog: &Catalog, ts: Timestamp, ddl: &OwnDdl) {
    match ddl {
        OwnDdl::Create(made) => {
            if let Some(table) = made.table()
                && table.def.oid != table.def.id.0
            {
                // What it had before is under its former id.
                table.horizon().begins_at(ts);
            }
            catalog.install_create(ts, made.clone());
            catalog.buildings.leave(made.id());
        }
        OwnDdl::Drop(dropped) => catalog.install_drop(ts, dropped.id()),
        OwnDdl::Alter(before, altered) => {
            assert_eq!(before.id(), altered.id(), "a relation keeps its id under another definition");
            let (old, new) = (before.def().schema.version, altered.def().schema.version);
            assert!(new > old, "each definition of a relation has a higher version than the one before it");
            altered.upkeep().evolve(altered.def());
            catalog.install_alter(ts, altered.clone());
        }
        OwnDdl::Object(_, Some(object)) => catalog.install_object(ts, object.clone()),
        OwnDdl::Object(Some(object), None) => {
            catalog.install_object_drop(ts, object.id);
        }
        OwnDdl::Object(None, None) => {}
    }
}

/// Makes staged writes part of tables and indexes. `trouble` decides what becomes of a relation that cannot take them:
/// when it returns Ok, the others go on without this one. What `ddl` drops takes nothing.
pub(crate) fn apply_writes(
    ts: Timestamp,
    ddl: &[OwnDdl],
    journal: &Journal,
    trouble: &mut dyn FnMut(&Relation, Error) -> Result<()>,
) -> Result<()> {
    for (relation, attachment) in journal.entries().filter(|(relation, _)| !OwnDdl::drops(ddl, relation.id())) {
        let Some(derived) = relation.derived() else { continue };
        derived.attach(ts, &attachment.files).or_else(|error| trouble(relation, error))?;
    }
    for state in &journal.tables {
        if state.writes.is_empty() || OwnDdl::drops(ddl, state.table.id()) {
            continue;
        }
        let applied = state.table.table.apply(ts, &state.writes);
        applied.or_else(|error| trouble(&state.table.clone().into(), error))?;
        let attached: u64 = state.writes.attachments.iter().map(|attachment| attachment.rows).sum();
        state.table.note_written(state.writes.rows.len() as u64 + attached);
        state.table.indexes().iter().for_each(|index| index.index.feed(ts, &state.writes));
        let columns = state.table.column_indexes();
        columns.iter().filter_map(|columns| columns.index.as_ref()).for_each(|index| index.feed(ts, &state.writes));
    }
    Ok(())
}
