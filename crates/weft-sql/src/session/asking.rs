//! Who asks the catalog, and from where.

use std::sync::Arc;

use weft_expr::Local;
use weft_format::Result;
use weft_kernel::Transaction;
use weft_pgcatalog::{Objects, SettingsShown, Snapshot, Stop};

use super::described::schema_oid;
use super::own_schema::Temporary;
use crate::binding::CancelToken;
use crate::engine::SqlEngine;
use crate::rights::Permit;
use crate::settings::Settings;
use crate::version::SERVER_VERSION;

/// Who asks, and from where: all that the catalog shows beside what the transaction sees.
pub(super) struct Asking<'a> {
    pub(super) db: &'a SqlEngine,
    pub(super) settings: &'a Arc<Settings>,
    pub(super) cancel: &'a CancelToken,
    pub(super) local: &'a Local,
    pub(super) permit: &'a Permit,
    pub(super) temporary: &'a Temporary,
    /// Whether the transaction may not write.
    pub(super) read_only: bool,
}

impl Asking<'_> {
    /// The session, and the schemas in which it looks for names.
    pub(super) fn session(&self, txn: &Transaction) -> Result<Snapshot> {
        let (cancel, settings) = (self.cancel.clone(), self.settings);
        let path = txn.search_path();
        let mut objects = Objects::default();
        objects.schemas = path.iter().map(|id| (schema_oid(*id), crate::resolve::schema_name(txn, *id))).collect();
        objects.schemas.dedup();
        let of_transaction = [
            ("transaction_isolation", txn.level().to_string()),
            ("transaction_read_only", if self.read_only { "on" } else { "off" }.to_owned()),
            ("transaction_deferrable", "off".to_owned()),
        ];
        let all = Arc::clone(settings);
        let shown = SettingsShown::made(move || {
            let mut shown = all.all();
            shown.extend(of_transaction.map(|(name, value)| (name.to_owned(), value, String::new())));
            shown
        });
        Ok(Snapshot {
            database: settings.database.clone(),
            user: settings.user.clone(),
            session_user: settings.session_user.clone(),
            version: format!("PostgreSQL {SERVER_VERSION}"),
            search_path: path.iter().map(|id| schema_oid(*id)).collect(),
            temporary: self.temporary.schema(txn).map(schema_oid),
            backend: settings.backend,
            in_recovery: self.db.kernel().is_follower(),
            txid: i64::try_from(txn.id().0).unwrap_or(i64::MAX),
            read_ts: txn.read_ts().0,
            now_micros: self.local.now_micros,
            stop: Stop::when(move || cancel.check()),
            objects: objects.indexed(),
            access: self.db.access(txn)?,
            settings: shown,
            ..Snapshot::default()
        })
    }
}
