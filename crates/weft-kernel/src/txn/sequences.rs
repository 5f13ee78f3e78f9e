//! Numbers of sequences: taken from memory, logged ahead.
//!
//! ```text
//!   nextval   under the sequence's lock: reserved? ─ yes: the next number
//!                                                  ─ no: a commit of its own says where to go on after a crash: 32 on
//! ```
//!
//! A commit of its own waits for nothing but its turn; that it is durable in time follows from the order of the log
//! (sequence 1). The numbers of a sequence that this transaction made are logged before it is: recovery keeps them for
//! a sequence that it meets later, and never gives its number to another.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weft_format::{Code, Error, Result};

use super::core::Core;
use super::recent::{COMMIT_BYTES, CommittedWrites};
use super::transaction::{Taken, Transaction};
use crate::catalog::{Object, Sequence, SequenceOptions, SequenceValue};
use crate::log::{ChangeEncoder, Record};

/// So many numbers are logged ahead.
const LOGGED_AHEAD: u64 = 32;

/// Takes numbers of one sequence for a transaction, on any thread.
pub struct NumberTaker {
    core: Arc<Core>,
    taken: Taken,
    sequence: Arc<Object>,
}

impl NumberTaker {
    /// The next number, which no one else gets.
    pub fn next_value(&self) -> Result<i64> {
        next_value(&self.core, &self.taken, &self.sequence)
    }
}

/// Says where sequences are, on any thread.
pub struct SequenceValues(Arc<Core>);

impl SequenceValues {
    /// Where a sequence is.
    pub fn of(&self, sequence: &Object) -> Result<SequenceValue> {
        let options = SequenceOptions::of(sequence)?;
        Ok(self.0.sequence_state(sequence, &options).lock().value)
    }
}

/// The next number of a sequence.
fn next_value(core: &Core, taken: &Taken, sequence: &Object) -> Result<i64> {
    let options = SequenceOptions::of(sequence)?;
    let shared = core.sequence_state(sequence, &options);
    let mut state = shared.lock();
    let next = options.next(state.value).ok_or_else(|| exhausted(sequence, &options))?;
    assert!(state.reserved <= LOGGED_AHEAD, "no more numbers are given than were logged ahead");
    let value = SequenceValue { last: next, is_called: true };
    if state.reserved == 0 {
        core.check_writable()?;
        core.log_sequence(sequence.id, options.advanced(value, LOGGED_AHEAD))?;
        state.reserved = LOGGED_AHEAD;
    } else {
        state.reserved -= 1;
    }
    state.value = value;
    drop(state);
    let mut taken = taken.lock();
    taken.retain(|(id, _)| *id != sequence.id);
    taken.push((sequence.id, next));
    Ok(next)
}

impl Transaction {
    /// The next number of a sequence, which no one else gets.
    pub fn next_value(&self, sequence: &Object) -> Result<i64> {
        next_value(self.core(), self.taken(), sequence)
    }

    fn taken(&self) -> &Taken {
        self.numbers_taken.get_or_init(Taken::default)
    }

    /// What takes numbers of a sequence for this transaction while a statement of it runs.
    pub fn number_taker(&self, sequence: &Arc<Object>) -> NumberTaker {
        let (core, taken, sequence) = (self.core(), self.taken(), sequence);
        NumberTaker { core: Arc::clone(core), taken: Arc::clone(taken), sequence: Arc::clone(sequence) }
    }

    /// The last number that this transaction took from each sequence since it was asked this, the latest last.
    pub fn take_numbers(&self) -> Vec<(u32, i64)> {
        self.numbers_taken.get().map(|taken| std::mem::take(&mut *taken.lock())).unwrap_or_default()
    }

    /// Where a sequence is.
    pub fn sequence_value(&self, sequence: &Object) -> Result<SequenceValue> {
        self.sequence_values().of(sequence)
    }

    /// What says where sequences are, for as long as it is held.
    pub fn sequence_values(&self) -> SequenceValues {
        SequenceValues(Arc::clone(self.core()))
    }

    /// Sets where a sequence goes on; at once, and whatever becomes of this transaction.
    pub fn set_sequence(&self, sequence: &Object, value: SequenceValue) -> Result<()> {
        let options = SequenceOptions::of(sequence)?;
        if !(options.min..=options.max).contains(&value.last) {
            let (name, SequenceOptions { min, max, .. }) = (&sequence.name, options);
            let message =
                format!("setval: value {} is out of bounds for sequence \"{name}\" ({min}..{max})", value.last);
            return Err(Error::new(Code::NumericOutOfRange, message));
        }
        let shared = self.core().sequence_state(sequence, &options);
        let mut state = shared.lock();
        let core = self.core();
        core.check_writable()?;
        core.log_sequence(sequence.id, value)?;
        (state.value, state.reserved) = (value, 0);
        Ok(())
    }
}

impl Core {
    fn sequence_state(&self, sequence: &Object, options: &SequenceOptions) -> Arc<Sequence> {
        self.catalog.sequences.get(sequence.id, options.begin())
    }

    /// Logs where the sequences are of which numbers were logged ahead.
    pub(crate) fn settle_sequences(&self) -> Result<()> {
        for (id, value) in self.catalog.sequences.unsettled() {
            self.log_sequence(id, value)?;
        }
        Ok(())
    }

    /// Logs where a sequence goes on, as a commit of its own.
    fn log_sequence(&self, id: u32, value: SequenceValue) -> Result<()> {
        let mut encoder = ChangeEncoder::new();
        encoder.set_sequence(id, value);
        self.log.wait_for_room().map_err(|error| self.poison_if_stopped(error))?;
        let ts = {
            let _latch = self.sequencer.lock();
            self.check_writable()?;
            let ts = self.timeline.last_sequenced().next();
            let wall = self.timeline.walls.next(self.env.clock.wall_micros());
            let (txn, made) = (self.next_txn(), Some(wall.micros()));
            let record = Record::Commit { txn, ts, wall: made, changes: encoder.bytes() };
            self.log.append(&record).map_err(|error| self.poison_if_stopped(error))?;
            self.recent.push(ts, &self.timeline, || CommittedWrites {
                ts,
                tables: Vec::new(),
                mixed: false,
                has_ddl: false,
                void: AtomicBool::new(false),
                bytes: COMMIT_BYTES,
            });
            self.timeline.sequence(ts);
            wall.note(ts);
            ts
        };
        self.async_commits.note();
        self.timeline.publish(ts)
    }
}

fn exhausted(sequence: &Object, options: &SequenceOptions) -> Error {
    let (what, limit) = if options.increment > 0 { ("maximum", options.max) } else { ("minimum", options.min) };
    let message = format!("nextval: reached {what} value of sequence \"{}\" ({limit})", sequence.name);
    Error::new(Code::SequenceLimit, message)
}
