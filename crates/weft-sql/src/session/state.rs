//! A session: what it has between two statements.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weft_kernel::{PendingWatch, SessionLocks};

use super::block::Block;
use super::cursor::Cursors;
use super::numbers::Numbers;
use super::own_schema::Temporary;
use super::statement::Prepared;
use super::work::SettingChange;
use crate::activity::Activity;
use crate::binding::CancelToken;
use crate::engine::SqlEngine;
use crate::notice::Notice;
use crate::rights::Permit;
use crate::settings::Settings;

/// One user of a database. Statements run one at a time; several sessions run side by side.
pub struct Session {
    pub(super) db: Arc<SqlEngine>,
    pub(super) settings: Arc<Settings>,
    pub(super) defaults: Arc<Settings>,
    pub(super) block: Option<Block>,
    /// Held while the session reads speculatively.
    pub(super) pending: Option<PendingWatch>,
    pub(super) cancel: CancelToken,
    /// PREPARE name AS ...
    pub(super) named: HashMap<String, Arc<Prepared>>,
    /// Names of statements that the client prepared by the protocol and keeps itself.
    pub(super) of_client: OfClient,
    /// Open cursors.
    pub(super) cursors: Cursors,
    /// What statements told since somebody took it.
    pub(super) notices: Vec<Notice>,
    /// The numbers taken from sequences.
    pub(super) numbers: Numbers,
    /// The rights of its role.
    pub(super) permit: Permit,
    /// What others see of it, and its number among them.
    pub(super) activity: Arc<Activity>,
    pub(super) place: u64,
    /// Its temporary relations.
    pub(super) temporary: Temporary,
    /// Settings that its statement changes.
    pub(super) changes: Vec<SettingChange>,
    /// Its advisory locks.
    pub(super) locks: Arc<SessionLocks>,
}

/// Statements that are kept by who holds the session, and whether DEALLOCATE or DISCARD took any of them.
#[derive(Default)]
pub(super) struct OfClient {
    pub(super) names: HashSet<String>,
    pub(super) changed: bool,
}

impl OfClient {
    /// DEALLOCATE of one; false when there is none of that name.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let found = self.names.remove(name);
        self.changed |= found;
        found
    }

    /// DEALLOCATE ALL.
    pub(super) fn clear(&mut self) {
        self.changed |= !self.names.is_empty();
        self.names.clear();
    }
}

impl Session {
    pub(crate) fn new(db: Arc<SqlEngine>) -> Session {
        let settings = Arc::new(db.default_settings());
        let cancel = CancelToken::new(db.kernel().env());
        let (place, activity) = db.activities().enter(&cancel);
        let locks = SessionLocks::new(db.kernel(), cancel.kernel());
        Session {
            db,
            defaults: Arc::clone(&settings),
            settings,
            block: None,
            pending: None,
            cancel,
            named: HashMap::new(),
            of_client: OfClient::default(),
            cursors: Cursors::new(),
            notices: Vec::new(),
            numbers: Numbers::default(),
            permit: Permit::default(),
            activity,
            place,
            temporary: Temporary::of(place),
            changes: Vec::new(),
            locks,
        }
    }
}
