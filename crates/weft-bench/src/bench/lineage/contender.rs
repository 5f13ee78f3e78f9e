//! One method with a loaded table, in an engine of its own.
//!
//! ```text
//!   k bigint PRIMARY KEY, c1 .. c9 bigint      10 columns of 8 bytes; row k has k in all of them when it is loaded
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use weft::{Column, DataType, Schema, ValueRef};
use weft_env::Env;
use weft_kernel::method::Method;
use weft_kernel::sched::SchedulerMode;
use weft_kernel::{Durability, Engine, EngineOptions, NewTable, TableRef};
use weft_rivals::{DbmOptions, IuhOptions, Rival, dbm, iuh};
use weft_tables::lineage::Holder;
use weft_tables::waits::Waited;
use weft_tables::{LineageMethod, column_method};

use super::settings::Settings;
use crate::directory;
use crate::subcommand::Failure;

/// Columns of the table, the key among them.
pub(super) const COLUMNS: usize = 10;
/// Rows of a transaction that loads.
const LOAD_ROWS: u64 = 5_000;
/// No limit that a turn reaches: what a table that is never carried to files holds.
const NO_LIMIT_BYTES: u64 = 64 << 30;

/// What can be waited for in a method's tables.
enum Counted {
    Nothing,
    Gate(Arc<LineageMethod>),
    Rival(Arc<Rival>),
}

/// See the module.
pub(super) struct Contender {
    pub(super) name: String,
    pub(super) env: Env,
    pub(super) engine: Arc<Engine>,
    pub(super) table: TableRef,
    counted: Counted,
    dir: PathBuf,
    runs_jobs: bool,
}

/// A configuration: a name, a method, options of the table.
pub(super) struct Configuration {
    pub(super) name: String,
    pub(super) method: String,
    pub(super) options: BTreeMap<String, String>,
    /// Whether jobs run.
    pub(super) runs_jobs: bool,
}

impl Configuration {
    /// A method as it is.
    pub(super) fn of_method(method: &str) -> Configuration {
        Configuration { name: method.to_owned(), method: method.to_owned(), options: BTreeMap::new(), runs_jobs: true }
    }
}

impl Contender {
    /// Makes and loads a table; nothing is left to be done for it by jobs.
    pub(super) fn load(
        settings: &Settings,
        configuration: &Configuration,
        durability: Durability,
        dir: PathBuf,
    ) -> Result<Contender, Failure> {
        let (method, counted): (Arc<dyn Method>, Counted) = match configuration.method.as_str() {
            "lineage" => {
                let method = Arc::new(LineageMethod::default());
                (method.clone(), Counted::Gate(method))
            }
            "iuh" => rival(iuh(IuhOptions { page_rows: settings.page_rows })),
            "dbm" => {
                let (range_rows, merge_changes) = (settings.page_rows as u32, settings.merge_changes as u32);
                rival(dbm(DbmOptions { range_rows, merge_changes }))
            }
            _ => (column_method(), Counted::Nothing),
        };
        let options = EngineOptions {
            durability,
            // One thread that merges, as in the paper, and at once.
            workers: 1,
            scheduler: if configuration.runs_jobs { SchedulerMode::Greedy } else { SchedulerMode::Off },
            row_memory_bytes: 4 << 30,
            checkpoint_log_bytes: NO_LIMIT_BYTES,
            ..EngineOptions::default()
        };
        let env = Env::real();
        let engine = Engine::open(env.clone(), &dir, vec![method], options)?;
        let column = |at: usize| Column {
            name: if at == 0 { "k".to_owned() } else { format!("c{at}") },
            data_type: DataType::BigInt,
            not_null: true,
        };
        let mut txn = engine.begin()?;
        let mut new =
            NewTable::new("t", Schema::new((0..COLUMNS).map(column).collect(), vec![0]), &configuration.method);
        new.options = configuration.options.clone();
        let table = txn.create_table(new)?;
        txn.commit()?;
        let contender = Contender {
            name: configuration.name.clone(),
            env,
            engine,
            table,
            counted,
            dir,
            runs_jobs: configuration.runs_jobs,
        };
        contender.fill(settings.rows)?;
        contender.rest()?;
        Ok(contender)
    }

    fn fill(&self, rows: u64) -> Result<(), Failure> {
        for first in (0..rows).step_by(LOAD_ROWS as usize) {
            let mut txn = self.engine.begin()?;
            txn.set_durability(Durability::Async);
            for k in first..(first + LOAD_ROWS).min(rows) {
                txn.insert(&self.table, &self.table.codec.encode([ValueRef::Int(k as i64); COLUMNS]))?;
            }
            txn.commit()?;
        }
        Ok(self.engine.flush()?)
    }

    /// Runs what jobs are left of a turn, so that the next has the machine to itself.
    pub(super) fn settle(&self) -> Result<(), Failure> {
        if self.runs_jobs {
            self.engine.run_jobs()?;
        }
        Ok(())
    }

    /// Merges all that there is: nothing is left in tails or deltas.
    pub(super) fn rest(&self) -> Result<(), Failure> {
        if self.runs_jobs {
            self.engine.freeze()?;
        }
        self.settle()
    }

    /// Enters the gate that the method's merges drain, if it has one, for a transaction's time.
    pub(super) fn enter(&self) -> Option<impl Drop + '_> {
        match &self.counted {
            Counted::Rival(rival) => match &**rival {
                Rival::Dbm { gate, .. } => Some(gate.enter(&*self.env.clock)),
                Rival::Iuh { .. } => None,
            },
            Counted::Nothing | Counted::Gate(_) => None,
        }
    }

    /// The waits so far, by what was waited for.
    pub(super) fn waits(&self) -> Vec<(&'static str, Waited)> {
        match &self.counted {
            Counted::Nothing => Vec::new(),
            Counted::Gate(method) => {
                let of = |holder| method.gate_waits().of(holder);
                let freeze = add(of(Holder::Freeze), of(Holder::Look));
                vec![("for a merge", of(Holder::Merge)), ("for a freeze", freeze)]
            }
            Counted::Rival(rival) => match &**rival {
                Rival::Iuh { latches, .. } => vec![("for a latch", latches.so_far())],
                Rival::Dbm { gate, .. } => {
                    vec![("for a merge", gate.entries()), ("merges for transactions", gate.drains())]
                }
            },
        }
    }

    /// How many merges of tails or deltas have ended.
    pub(super) fn merges(&self) -> u64 {
        let is_merge = |kind: &str| matches!(kind, "merge tails" | "merge delta");
        let by_kind = self.engine.status().jobs_by_kind;
        by_kind.iter().filter(|(kind, _)| is_merge(kind.name())).map(|(_, total)| total.count).sum()
    }

    /// Tests all that the table has, and removes its directory.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let wrong = self.table.table.check()?;
        // Before the close, which would carry all rows to files.
        let mut txn = self.engine.begin()?;
        txn.drop_table("t")?;
        txn.commit()?;
        self.engine.close()?;
        directory::remove(&self.dir);
        if !wrong.is_empty() {
            return Err(Failure::Other(format!("{}: {}", self.name, wrong.join("; "))));
        }
        Ok(())
    }
}

fn rival(rival: Rival) -> (Arc<dyn Method>, Counted) {
    let rival = Arc::new(rival);
    (rival.clone(), Counted::Rival(rival))
}

fn add(one: Waited, other: Waited) -> Waited {
    Waited { count: one.count + other.count, nanos: one.nanos + other.nanos }
}
