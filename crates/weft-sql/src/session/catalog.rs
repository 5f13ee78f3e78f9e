//! Queries of `pg_catalog` and `information_schema`: run over what this transaction sees, as plain data for
//! `weft-pgcatalog`.
//!
//! ```text
//!   who asks (session)  +  objects of this version of the catalog, described once  +  figures of the moment
//! ```

use std::sync::Arc;

use weft_format::{Result, Value};
use weft_kernel::Transaction;
use weft_pgcatalog::{CatalogQuery, Moment, Snapshot};

use super::asking::Asking;
use super::described::{OfMoment, describe};
use super::monitor;
use super::work::Work;
use crate::binding::ShowsCatalog;
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};

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
        None => place.insert(if of_session { work.asking().session(work.txn)? } else { snapshot(work, source)? }),
    };
    let outcome = rows_of(query, &[], work, snapshot)?;
    Ok(outcome.rows.iter().next().and_then(|row| row.first().cloned()).unwrap_or_default())
}

fn rows_of(query: &CatalogQuery, params: &[Value], work: &mut Work<'_>, snapshot: &Snapshot) -> Result<Outcome> {
    let columns = columns(query);
    let values = query.run(snapshot, params)?;
    for request in std::mem::take(&mut *snapshot.requests.lock()) {
        monitor::carry_out(work, request)?;
    }
    let rows = Rows::from_values(columns.len(), values);
    Ok(Outcome { tag: Tag::Select(rows.len() as u64), columns: columns.into(), rows })
}

impl ShowsCatalog for Asking<'_> {
    fn shown(&self, txn: &Transaction, with_sessions: bool) -> Result<Snapshot> {
        let mut shown = self.session(txn)?;
        shown.settings_more = monitor::settings_more(self.settings);
        let described = self.db.described(txn, || describe(txn))?;
        shown.figures = Moment::of(Arc::new(OfMoment::new(&described, txn)));
        shown.objects = Arc::clone(&described.objects);
        if with_sessions {
            monitor::add(&mut shown, self, txn);
        }
        Ok(shown)
    }
}

/// What a query sees of the catalog; sessions are told of where its text asks for them.
fn snapshot(work: &Work<'_>, source: &str) -> Result<Snapshot> {
    work.asking().shown(work.txn, monitor::may_ask(source))
}
