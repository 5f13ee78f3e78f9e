//! A database in a few hundred lines that keeps every level's promise, and breaks one of them when told to.
//!
//! ```text
//!   step of a random client ─▶ lock the object ─ first committer wins? ─ read ≤ snapshot ─ validate ─ install at ts
//!                              DirtyWrite        LostUpdate              NoSnapshot        ...        TornCommit
//! ```
//!
//! It shows that the checker finds what it claims to find, and finds nothing where nothing is wrong. Everything runs in
//! one thread; the seed decides whose turn it is.

use crate::random::Random;

use super::history::{History, LIST, Level, Object};
use super::recorder::{Recorder, Savepoint, Sequence};
use super::store::Store;
use super::workload::{Generator, Step, Workload};

/// How the reference database is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Not at all.
    None,
    /// Writes take place at once, without locks, and are taken back on rollback.
    DirtyWrite,
    /// Reads see what others have not committed.
    DirtyRead,
    /// The first write to an object is visible before the commit.
    EarlyInstall,
    /// Rollbacks keep what was written.
    AbortedVisible,
    /// Rolling back to a savepoint keeps what was written since.
    SavepointKept,
    /// Every statement reads the newest, at every level.
    NoSnapshot,
    /// Half of the keys are read as of a few commits earlier.
    TornSnapshot,
    /// Nobody checks whether a newer version than the snapshot exists before writing over it.
    NoFirstCommitterWins,
    /// Writes back the list as the transaction read it, with its own elements.
    WriteBack,
    /// SERIALIZABLE does not validate single reads.
    ReadsNotValidated,
    /// SERIALIZABLE does not validate ranges.
    RangesNotValidated,
    /// Snapshots are some commits old.
    StaleSnapshot,
    /// Some acknowledged commits never take place.
    LostCommit,
    /// Only the first object of some commits is written.
    TornCommit,
    /// A transaction does not see its own writes.
    OwnWritesUnseen,
    /// Some elements are appended twice.
    AppliedTwice,
    /// Some reads leave out an element in the middle.
    ElementSkipped,
    /// Some reads return what nobody wrote.
    Garbage,
    /// Commit timestamps are told wrong.
    WrongTimestamp,
}

/// A run of the reference database.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// Decides everything.
    pub seed: u64,
    /// What the clients do.
    pub workload: Workload,
    /// The level of all transactions; none for a mix.
    pub level: Option<Level>,
    /// What is broken.
    pub flaw: Flaw,
    /// Whether commits tell their timestamps.
    pub timestamps: bool,
    /// Transactions to begin.
    pub transactions: u64,
}

/// Objects with the values that a transaction wrote to them.
type Writes = Vec<(Object, Vec<u64>)>;

/// How a step went.
enum Outcome {
    Done,
    Wait,
    Abort,
}

/// Turns to wait for a lock before the deadlock is broken.
const WAITS_MAX: u32 = 40;

struct Open {
    level: Level,
    steps: std::vec::IntoIter<Step>,
    current: Option<Step>,
    snapshot: u64,
    waits: u32,
    writes: Writes,
    /// Lists as they were when the transaction first wrote them.
    bases: Writes,
    reads: Vec<(Object, u64)>,
    ranges: Vec<(u64, u64, u16)>,
    savepoint: Option<(Savepoint, Writes)>,
}

struct Client {
    id: u32,
    generator: Generator,
    recorder: Recorder,
    open: Option<Open>,
}

struct Run {
    reference: Reference,
    store: Store,
    random: Random,
}

impl Reference {
    /// Runs it. The history ends with a transaction that reads everything.
    pub fn run(self) -> History {
        let sequence = Sequence::default();
        let mut run = Run { reference: self, store: Store::default(), random: Random::new(self.seed, u64::MAX) };
        let mut clients: Vec<Client> = (0..self.workload.clients as u32)
            .map(|id| Client {
                id,
                generator: Generator::new(self.seed, id, self.workload),
                recorder: sequence.recorder(id),
                open: None,
            })
            .collect();
        let mut begun = 0;
        while begun < self.transactions || clients.iter().any(|client| client.open.is_some()) {
            let client = &mut clients[run.random.below(self.workload.clients) as usize];
            if client.open.is_some() {
                run.turn(client);
            } else if begun < self.transactions {
                run.begin(client);
                begun += 1;
            }
        }
        run.read_everything(&mut clients[0]);
        Sequence::merge(clients.into_iter().map(|client| client.recorder))
    }
}

impl Run {
    fn has(&self, flaw: Flaw) -> bool {
        self.reference.flaw == flaw
    }

    /// True in one of fifty cases, if the flaw is there.
    fn sometimes(&mut self, flaw: Flaw) -> bool {
        self.has(flaw) && self.random.chance(2)
    }

    fn begin(&mut self, client: &mut Client) {
        let level = self.reference.level.unwrap_or_else(|| client.generator.level());
        client.recorder.begin(level);
        let age = if self.has(Flaw::StaleSnapshot) { 10 } else { 0 };
        client.open = Some(Open {
            level,
            steps: client.generator.transaction().into_iter(),
            current: None,
            snapshot: self.store.now.saturating_sub(age),
            waits: 0,
            writes: Vec::new(),
            bases: Vec::new(),
            reads: Vec::new(),
            ranges: Vec::new(),
            savepoint: None,
        });
    }

    fn turn(&mut self, client: &mut Client) {
        let mut open = client.open.take().expect("the caller looked");
        let step = open.current.take().or_else(|| open.steps.next());
        let outcome = match step {
            Some(step) => self.step(client, &mut open, step),
            None => return self.finish(client, open),
        };
        match outcome {
            Outcome::Done => open.waits = 0,
            Outcome::Wait if open.waits < WAITS_MAX => {
                open.waits += 1;
                open.current = step;
            }
            Outcome::Wait | Outcome::Abort => return self.abort(client, open),
        }
        client.open = Some(open);
    }

    fn step(&mut self, client: &mut Client, open: &mut Open, step: Step) -> Outcome {
        match step {
            Step::Append { key, element } => return self.write(client, open, Object { column: LIST, key }, element),
            Step::WriteRegister { key, column, value } => {
                return self.write(client, open, Object { column, key }, value);
            }
            Step::ReadList { key } => {
                let elements = self.read(client.id, open, Object { column: LIST, key });
                client.recorder.read_list(key, &elements);
            }
            Step::ReadRegister { key, column } => {
                let values = self.read(client.id, open, Object { column, key });
                client.recorder.read_register(key, column, values.last().copied());
            }
            Step::ReadRangeLists { low, high } => {
                let rows = self.read_range(client.id, open, (low, high, LIST));
                client.recorder.read_range_lists(low, high, &rows);
            }
            Step::ReadRangeRegisters { low, high, column } => {
                let rows = self.read_range(client.id, open, (low, high, column));
                let rows: Vec<(u64, u64)> = rows.into_iter().map(|(key, values)| (key, values[0])).collect();
                client.recorder.read_range_registers(low, high, column, &rows);
            }
            Step::Savepoint => open.savepoint = Some((client.recorder.savepoint(), open.writes.clone())),
            Step::RollbackTo => {
                let (savepoint, writes) = open.savepoint.take().expect("the workload sets it before");
                client.recorder.rollback_to(savepoint);
                if self.has(Flaw::DirtyWrite) {
                    self.take_back(open, &writes);
                }
                if !self.has(Flaw::SavepointKept) {
                    open.writes = writes;
                }
            }
        }
        Outcome::Done
    }

    fn write(&mut self, client: &mut Client, open: &mut Open, object: Object, value: u64) -> Outcome {
        let is_first = !open.writes.iter().any(|write| write.0 == object);
        if !self.has(Flaw::DirtyWrite) {
            if !self.store.lock(object, client.id) {
                return Outcome::Wait;
            }
            let (newest, base) = self.store.newest(object);
            let overwrites = newest > open.snapshot && open.level >= Level::RepeatableRead;
            if is_first && overwrites && !self.has(Flaw::NoFirstCommitterWins) && !self.has(Flaw::WriteBack) {
                return Outcome::Abort;
            }
            if is_first && self.has(Flaw::WriteBack) {
                let base =
                    if open.level == Level::ReadCommitted { base } else { self.store.visible(object, open.snapshot).1 };
                open.bases.push((object, base));
            }
        }
        match object.column {
            LIST => client.recorder.append(object.key, value),
            column => client.recorder.write_register(object.key, column, value),
        }
        self.store.add_pending(object, client.id, value);
        if self.has(Flaw::DirtyWrite) || (is_first && self.has(Flaw::EarlyInstall)) {
            self.store.install(&[(object, vec![value])]);
        }
        match open.writes.iter_mut().find(|write| write.0 == object) {
            Some(write) => write.1.push(value),
            None => open.writes.push((object, vec![value])),
        }
        Outcome::Done
    }

    /// The elements of a list, or the value of a register if any, as the transaction sees them.
    fn read(&mut self, client: u32, open: &mut Open, object: Object) -> Vec<u64> {
        let mut snapshot = open.snapshot;
        if open.level == Level::ReadCommitted && !self.has(Flaw::StaleSnapshot) {
            snapshot = self.store.now;
        }
        if matches!(self.reference.flaw, Flaw::NoSnapshot | Flaw::DirtyWrite | Flaw::EarlyInstall) {
            snapshot = self.store.now;
        }
        if self.has(Flaw::TornSnapshot) && object.key % 2 == 1 {
            snapshot = snapshot.saturating_sub(6);
        }
        let (ts, mut values) = self.store.visible(object, snapshot);
        if self.has(Flaw::DirtyRead) {
            values.extend(self.store.pending(object, client));
        }
        open.reads.push((object, ts));
        let own = open.writes.iter().find(|write| write.0 == object);
        if let Some((_, own)) = own.filter(|_| !self.has(Flaw::OwnWritesUnseen)) {
            own.iter().for_each(|value| values.extend(Some(*value).filter(|value| !values.contains(value))));
        }
        if !object.is_list() {
            values.drain(..values.len().saturating_sub(1));
        } else if values.len() > 2 && self.sometimes(Flaw::ElementSkipped) {
            values.remove(values.len() - 2);
        }
        if self.sometimes(Flaw::Garbage) {
            values.push(u64::MAX / 2);
        }
        values
    }

    fn read_range(&mut self, client: u32, open: &mut Open, range: (u64, u64, u16)) -> Vec<(u64, Vec<u64>)> {
        open.ranges.push(range);
        let keys = self.store.keys(range);
        let mut rows = Vec::new();
        for key in keys {
            let values = self.read(client, open, Object { column: range.2, key });
            if !values.is_empty() {
                rows.push((key, values));
            }
        }
        rows
    }

    fn is_valid(&self, open: &Open) -> bool {
        if open.level != Level::Serializable {
            return true;
        }
        let reads = self.has(Flaw::ReadsNotValidated)
            || open.reads.iter().all(|(object, ts)| self.store.newest(*object).0 == *ts);
        let in_range = |range: &(u64, u64, u16)| {
            let newest = |key: u64| self.store.newest(Object { column: range.2, key }).0;
            self.store.keys(*range).into_iter().all(|key| newest(key) <= open.snapshot)
        };
        reads
            && (self.has(Flaw::RangesNotValidated)
                || self.has(Flaw::ReadsNotValidated)
                || open.ranges.iter().all(in_range))
    }

    fn finish(&mut self, client: &mut Client, open: Open) {
        if client.generator.chance(4) || (!self.breaks_snapshots() && !self.is_valid(&open)) {
            return self.abort(client, open);
        }
        let is_unknown = client.generator.chance(1);
        let is_lost = self.sometimes(Flaw::LostCommit) || (is_unknown && self.random.chance(50));
        let mut writes = open.writes.clone();
        match self.reference.flaw {
            Flaw::DirtyWrite if is_lost => self.take_back(&open, &[]),
            Flaw::DirtyWrite => writes.clear(),
            Flaw::EarlyInstall => writes.iter_mut().for_each(|write| {
                write.1.remove(0);
            }),
            Flaw::TornCommit if self.random.chance(10) => writes.truncate(1),
            Flaw::WriteBack => self.store.reset(&open.bases),
            _ => {}
        }
        if self.sometimes(Flaw::AppliedTwice) {
            writes.iter_mut().filter(|write| write.0.is_list()).for_each(|write| write.1.push(write.1[0]));
        }
        let ts = if is_lost { self.store.now } else { self.store.install(&writes) };
        self.store.release(client.id);
        let told = if self.sometimes(Flaw::WrongTimestamp) { ts.saturating_sub(40) } else { ts };
        let told = Some(told).filter(|_| self.reference.timestamps && !open.writes.is_empty() && !is_lost);
        if is_unknown { client.recorder.unknown() } else { client.recorder.commit(told) }
    }

    /// Whether validation would hide the flaw, because it would refuse nearly everybody.
    fn breaks_snapshots(&self) -> bool {
        matches!(
            self.reference.flaw,
            Flaw::DirtyWrite | Flaw::EarlyInstall | Flaw::StaleSnapshot | Flaw::TornSnapshot | Flaw::NoSnapshot
        )
    }

    fn abort(&mut self, client: &mut Client, open: Open) {
        match self.reference.flaw {
            Flaw::DirtyWrite => self.take_back(&open, &[]),
            Flaw::AbortedVisible => {
                self.store.install(&open.writes);
            }
            _ => {}
        }
        self.store.release(client.id);
        client.recorder.abort();
    }

    /// Takes back what was installed early, except `kept`.
    fn take_back(&mut self, open: &Open, kept: &[(Object, Vec<u64>)]) {
        for (object, values) in &open.writes {
            let kept = kept.iter().find(|write| write.0 == *object).map_or(0, |write| write.1.len());
            self.store.remove(*object, &values[kept..]);
        }
    }

    fn read_everything(&mut self, client: &mut Client) {
        client.recorder.begin(Level::ReadCommitted);
        let mut columns: Vec<u16> = (0..self.reference.workload.columns).collect();
        columns.push(LIST);
        for column in columns {
            let keys = self.store.keys((0, u64::MAX, column));
            let value = |key: u64| self.store.newest(Object { column, key }).1;
            let rows = keys.into_iter().map(|key| (key, value(key))).filter(|row| !row.1.is_empty());
            if column == LIST {
                client.recorder.read_range_lists(0, u64::MAX, &rows.collect::<Vec<_>>());
            } else {
                let rows: Vec<(u64, u64)> = rows.map(|(key, values)| (key, values[0])).collect();
                client.recorder.read_range_registers(0, u64::MAX, column, &rows);
            }
        }
        client.recorder.commit(None);
    }
}
