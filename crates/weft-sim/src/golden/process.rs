//! One simulated process.
//!
//! ```text
//!   Process { engine, sessions: { a: Transaction, .. }, threads: { b: running "update t 1-5" }, offers: [..] }
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_env::Env;
use weft_kernel::sched::Running;
use weft_kernel::table::JobOffer;
use weft_kernel::{Engine, Transaction};

use super::made_up::MadeUp;
use super::progress::Shared;
use super::thread::Background;

/// One run of the process. Sessions end before the engine.
pub(super) struct Process {
    pub(super) env: Env,
    pub(super) shared: Shared,
    pub(super) sessions: BTreeMap<String, Transaction>,
    pub(super) threads: BTreeMap<String, Background>,
    /// How often each step was passed when the last thread was started.
    pub(super) steps_before: BTreeMap<&'static str, u64>,
    /// What the script made up for the picker.
    pub(super) offers: Vec<JobOffer>,
    pub(super) running: Vec<Running>,
    pub(super) paused: Vec<weft_format::TableId>,
    /// What it made up for the scheduler.
    pub(super) made_up: MadeUp,
    pub(super) engine: Option<Arc<Engine>>,
}

impl Process {
    pub(super) fn new(env: Env, shared: Shared) -> Process {
        Process {
            env,
            shared,
            sessions: BTreeMap::new(),
            threads: BTreeMap::new(),
            steps_before: BTreeMap::new(),
            offers: Vec::new(),
            running: Vec::new(),
            paused: Vec::new(),
            made_up: MadeUp::default(),
            engine: None,
        }
    }

    pub(super) fn engine(&self) -> Result<Arc<Engine>, String> {
        self.engine.clone().ok_or_else(|| "bad command: the database is not open".to_owned())
    }

    pub(super) fn session(&mut self, name: &str) -> Result<&mut Transaction, String> {
        self.sessions.get_mut(name).ok_or_else(|| format!("bad command: session {name} has no transaction"))
    }
}
