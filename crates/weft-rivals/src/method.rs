//! The rivals as an engine takes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_contract::{Derived, JobKind, RecoveredTable, Table, TableDef};
use weft_env::File;
use weft_format::{FileId, Result};
use weft_kernel::fault::Fault;
use weft_kernel::method::{Method, TableContext, derives_nothing};
use weft_kernel::step::Step;
use weft_tables::waits::Waits;

use crate::dbm::{Dbm, DbmOptions, Gate, MERGE};
use crate::iuh::{Iuh, IuhOptions};
use crate::saved::{self, SAVE};
use crate::table::RivalTable;

/// One of the rivals, with what its tables count together.
pub enum Rival {
    /// In-place Update + History.
    Iuh {
        /// How tables are laid out.
        options: IuhOptions,
        /// Waits for latches of pages.
        latches: Arc<Waits>,
    },
    /// Delta + Blocking Merge.
    Dbm {
        /// How tables are laid out.
        options: DbmOptions,
        /// What transactions enter and merges drain.
        gate: Arc<Gate>,
    },
}

/// In-place Update + History.
pub fn iuh(options: IuhOptions) -> Rival {
    Rival::Iuh { options, latches: Arc::default() }
}

/// Delta + Blocking Merge.
pub fn dbm(options: DbmOptions) -> Rival {
    Rival::Dbm { options, gate: Arc::default() }
}

impl Method for Rival {
    fn name(&self) -> &'static str {
        match self {
            Rival::Iuh { .. } => "iuh",
            Rival::Dbm { .. } => "dbm",
        }
    }

    fn job_kinds(&self) -> &'static [JobKind] {
        match self {
            Rival::Iuh { .. } => &[SAVE],
            Rival::Dbm { .. } => &[MERGE, SAVE],
        }
    }

    fn steps(&self) -> &'static [Step] {
        &[]
    }

    fn faults(&self) -> &'static [Fault] {
        &[]
    }

    fn check_options(&self, options: &BTreeMap<String, String>) -> Result<()> {
        match self {
            Rival::Iuh { .. } => IuhOptions::check(options),
            Rival::Dbm { .. } => DbmOptions::check(options),
        }
    }

    fn open(&self, context: TableContext, recovered: RecoveredTable) -> Result<Arc<dyn Table>> {
        Ok(match self {
            Rival::Iuh { options, latches } => {
                let rows = Iuh::new(*options, latches.clone(), context.env.clock.clone());
                Arc::new(RivalTable::open(context, &recovered, rows)?)
            }
            Rival::Dbm { options, gate } => {
                let rows = Dbm::new(&context, *options, gate.clone());
                Arc::new(RivalTable::open(context, &recovered, rows)?)
            }
        })
    }

    fn derive(&self, _: TableContext, _: RecoveredTable) -> Result<Arc<dyn Derived>> {
        Err(derives_nothing(self.name()))
    }

    fn fold(&self, _: &[Vec<u8>]) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn test_file(&self, _: &TableDef, _: &[Vec<u8>], file: FileId, handle: Arc<dyn File>) -> Result<()> {
        saved::read(&*handle, file).map(|_| ())
    }
}
