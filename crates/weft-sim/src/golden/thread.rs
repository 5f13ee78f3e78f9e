//! A thread of the simulated process, with a command under way.

use std::sync::Arc;

use weft_env::JoinHandle;
use weft_env::sync::Mutex;
use weft_kernel::Transaction;

use super::printed::Printed;

/// A command under way.
pub(super) struct Background {
    pub(super) handle: JoinHandle,
    pub(super) done: Arc<Mutex<Option<Done>>>,
}

/// What a thread leaves.
pub(super) struct Done {
    pub(super) txn: Option<Transaction>,
    pub(super) printed: Printed,
}
