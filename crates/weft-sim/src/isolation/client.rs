//! One client: generates transactions, runs them, writes down what it saw.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use weft_env::Env;
use weft_format::{Code, Error, Result};
use weft_kernel::{Engine, IsolationLevel, Transaction};

use super::beside::{self, Beside};
use super::database;
use crate::checker::{Generator, Level, Recorder, Savepoint, Step};
use crate::work::is_expected;

/// All tags are looked at before one in so many is set: that reads the whole table.
const LOOKS_EVERY: u64 = 8;

/// What of a client outlives the process. Never locked across a scheduling point.
pub(super) struct Pen {
    recorder: Mutex<Recorder>,
    generator: Mutex<Generator>,
    /// Tags that another register had.
    pub(super) tags_refused: AtomicU64,
    /// Bulk statements.
    pub(super) in_bulk: AtomicU64,
}

impl Pen {
    pub(super) fn new(recorder: Recorder, generator: Generator) -> Pen {
        Pen {
            recorder: Mutex::new(recorder),
            generator: Mutex::new(generator),
            tags_refused: AtomicU64::new(0),
            in_bulk: AtomicU64::new(0),
        }
    }

    pub(super) fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn generator(&self) -> MutexGuard<'_, Generator> {
        self.generator.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(super) fn into_recorder(self) -> Recorder {
        self.recorder.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A client of one life.
pub(super) struct Client {
    pub(super) env: Env,
    pub(super) engine: Arc<Engine>,
    pub(super) pen: Arc<Pen>,
    /// None: each transaction draws one.
    pub(super) level: Option<Level>,
    pub(super) speculative_percent: u64,
    pub(super) transactions: u64,
    /// Columns of registers.
    pub(super) columns: u16,
}

pub(super) fn kernel_level(level: Level) -> IsolationLevel {
    match level {
        Level::ReadCommitted => IsolationLevel::ReadCommitted,
        Level::RepeatableRead => IsolationLevel::RepeatableRead,
        Level::Serializable => IsolationLevel::Serializable,
    }
}

impl Client {
    /// Runs transactions. Panics when an error comes that clients cannot expect.
    pub(super) fn run(&self) {
        for _ in 0..self.transactions {
            let (steps, beside, level, gives_up, pause, speculates) = {
                let mut generator = self.pen.generator();
                let level = self.level.unwrap_or_else(|| generator.level());
                let (steps, gives_up, pause) = (generator.transaction(), generator.chance(4), generator.chance(10));
                let speculates = self.speculative_percent > 0 && generator.chance(self.speculative_percent);
                let beside = Beside::draw(&mut generator, steps.len(), self.columns);
                (steps, beside, level, gives_up, pause, speculates)
            };
            self.transaction(&steps, beside, level, gives_up, speculates);
            if pause {
                self.env.clock.sleep(Duration::from_micros(50));
            }
        }
    }

    fn transaction(
        &self,
        steps: &[Step],
        beside: Option<(usize, Beside)>,
        level: Level,
        gives_up: bool,
        speculates: bool,
    ) {
        self.pen.recorder().begin(level);
        let result = self.engine.begin_at(kernel_level(level)).and_then(|mut txn| {
            txn.set_speculative_reads(speculates)?;
            self.steps(&mut txn, steps, beside)?;
            if gives_up {
                txn.rollback();
                return Ok(None);
            }
            let read_only = txn.is_read_only();
            let ts = txn.commit()?;
            Ok(Some((!read_only).then_some(ts.0)))
        });
        match result {
            Ok(Some(commit_ts)) => self.pen.recorder().commit(commit_ts),
            Ok(None) => self.pen.recorder().abort(),
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&self, error: &Error) {
        if error.code() == Code::Poisoned || error.code() == Code::ShuttingDown {
            self.pen.recorder().unknown();
            return;
        }
        assert!(is_expected(error), "violation: a client met an unexpected error: {error}");
        self.pen.recorder().abort();
    }

    fn steps(&self, txn: &mut Transaction, steps: &[Step], beside: Option<(usize, Beside)>) -> Result<()> {
        let mut savepoint: Option<(weft_kernel::Mark, Savepoint)> = None;
        let (at, beside) = beside.map_or((usize::MAX, None), |(at, beside)| (at, Some(beside)));
        for (number, step) in steps.iter().enumerate() {
            if let Some(beside) = beside.as_ref().filter(|_| number == at) {
                self.beside(txn, beside)?;
            }
            match *step {
                Step::Append { key, element } => {
                    self.pen.recorder().append(key, element);
                    database::writing(txn, |txn| database::append(txn, key, element))?;
                }
                Step::ReadList { key } => {
                    let elements = database::reading(txn, |txn| database::read_list(txn, key))?;
                    self.pen.recorder().read_list(key, &elements);
                }
                Step::WriteRegister { key, column, value } => {
                    self.pen.recorder().write_register(key, column, value);
                    database::writing(txn, |txn| database::write_register(txn, key, column, value))?;
                }
                Step::ReadRegister { key, column } => {
                    let value = database::reading(txn, |txn| database::read_register(txn, key, column))?;
                    self.pen.recorder().read_register(key, column, value);
                }
                Step::ReadRangeLists { low, high } => {
                    let rows = database::reading(txn, |txn| database::read_lists(txn, low, high))?;
                    self.pen.recorder().read_range_lists(low, high, &rows);
                }
                Step::ReadRangeRegisters { low, high, column } => {
                    let rows = database::reading(txn, |txn| database::read_registers(txn, low, high, column))?;
                    self.pen.recorder().read_range_registers(low, high, column, &rows);
                }
                Step::Savepoint => savepoint = Some((txn.mark(), self.pen.recorder().savepoint())),
                Step::RollbackTo => {
                    let (mark, written) = savepoint.expect("the savepoint was set before");
                    txn.rollback_to(mark);
                    self.pen.recorder().rollback_to(written);
                }
            }
        }
        beside.filter(|_| at == steps.len()).map_or(Ok(()), |beside| self.beside(txn, &beside))
    }

    fn beside(&self, txn: &mut Transaction, beside: &Beside) -> Result<()> {
        match *beside {
            Beside::Tag { key, tag } => {
                if key.is_multiple_of(LOOKS_EVERY) {
                    database::reading(txn, |txn| beside::check_tags(txn))?;
                }
                let is_set = database::writing(txn, |txn| beside::set_tag(txn, key, tag))?;
                self.pen.tags_refused.fetch_add(u64::from(!is_set), Ordering::Relaxed);
            }
            Beside::Bulk { low, high, column } => {
                let rows = database::reading(txn, |txn| database::read_registers(txn, low, high, column))?;
                self.pen.recorder().read_range_registers(low, high, column, &rows);
                let values: BTreeMap<u64, u64> = {
                    let mut generator = self.pen.generator();
                    rows.iter().map(|&(key, _)| (key, generator.value())).collect()
                };
                for (&key, &value) in &values {
                    self.pen.recorder().write_register(key, column, value);
                }
                let in_bulk = database::reading(txn, |txn| beside::write_in_bulk(txn, column, &values))?;
                self.pen.in_bulk.fetch_add(u64::from(in_bulk && !values.is_empty()), Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Reads everything in one transaction, so that the order of all versions is known.
    pub(super) fn read_all(&self, columns: u16) {
        let high = i64::MAX as u64;
        let mut steps = vec![Step::ReadRangeLists { low: 0, high }];
        steps.extend((0..columns).map(|column| Step::ReadRangeRegisters { low: 0, high, column }));
        self.transaction(&steps, None, Level::RepeatableRead, false, false);
    }
}
