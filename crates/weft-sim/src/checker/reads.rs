//! What each committed transaction saw, as versions; and what is wrong with a single read.
//!
//! ```text
//!   chain of l5: 31 (T0) · 32 (T3) · 33 (T7)
//!   T7: l5=[31,32], l5+33, l5=[31,32,33]     read of version 2, twice: what it appended itself is taken off
//!   T8: l1..9=[5]                            version 0 of every other list with a key from 1 to 9, by predicate
//! ```
//!
//! Found here: G1a, G1b, non-repeatable reads, lost updates between readers of one version, internal inconsistency,
//! incompatible orders, duplicates, garbage. Cycles are left to [`super::cycles`], time to [`super::realtime`].

use super::anomaly::{Kind, Report};
use super::facts::{Facts, NONE};
use super::history::{LIST, Level, Object, Op};
use super::versions::{Order, Versions};

/// A version: so many writes of the chain, or one loose write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(u32);

/// Set in a version that is a loose write.
const LOOSE: u32 = 1 << 31;

impl Version {
    /// Before the first write.
    pub(super) const INITIAL: Version = Version(0);

    fn chain(count: usize) -> Version {
        Version(count as u32)
    }

    /// How many writes of the chain it holds.
    pub(super) fn count(self) -> Option<usize> {
        (self.0 & LOOSE == 0).then_some(self.0 as usize)
    }

    /// The write that made it.
    pub(super) fn write(self, order: &Order) -> Option<u32> {
        match self.count() {
            None => Some(self.0 & !LOOSE),
            Some(0) => None,
            Some(count) => Some(order.chain[count - 1]),
        }
    }
}

/// A committed transaction saw a version of an object, which others made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) transaction: u32,
    pub(super) object: u32,
    pub(super) version: Version,
    /// It was absent from a range.
    pub(super) by_predicate: bool,
}

/// A committed transaction read a version of an object and then wrote the object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update {
    pub(super) object: u32,
    pub(super) version: Version,
    pub(super) write: u32,
}

/// Everything that was seen.
#[derive(Debug, Default)]
pub(super) struct Reads {
    pub(super) reads: Vec<Read>,
    /// By object and version, then by place.
    pub(super) updates: Vec<Update>,
}

/// What the transaction at hand did to an object, if `writer` and `reader` are its number.
#[derive(Clone, Copy)]
struct Touch {
    writer: u32,
    write: u32,
    count: u32,
    reader: u32,
    version: Version,
}

/// Walks through the history.
pub(super) struct Observer<'a, 'h> {
    facts: &'a Facts<'h>,
    versions: &'a Versions,
    report: &'a mut Report,
    touched: Vec<Touch>,
    /// Numbers of the objects, by name.
    sorted: Vec<u32>,
    reads: Reads,
    reader: u32,
}

impl<'a, 'h> Observer<'a, 'h> {
    /// The reads of a history; what is wrong with single ones goes to the report.
    pub(super) fn observe(facts: &'a Facts<'h>, versions: &'a Versions, report: &'a mut Report) -> Reads {
        let untouched = Touch { writer: NONE, write: NONE, count: 0, reader: NONE, version: Version::INITIAL };
        let mut sorted: Vec<u32> = (0..facts.objects.len() as u32).collect();
        sorted.sort_unstable_by_key(|object| facts.objects[*object as usize]);
        let touched = vec![untouched; facts.objects.len()];
        let mut observer = Observer { facts, versions, report, touched, sorted, reads: Reads::default(), reader: NONE };
        let mut list = Vec::new();
        for reader in (0..facts.committed.len() as u32).filter(|reader| facts.committed[*reader as usize]) {
            observer.reader = reader;
            facts.history.for_each_op(reader, &mut list, |op, undone| {
                if !undone {
                    observer.take(op);
                }
            });
        }
        observer.lost_updates();
        observer.reads
    }

    fn take(&mut self, op: Op<'_>) {
        match op {
            Op::Append { key, element } => self.wrote(Object { column: LIST, key }, element),
            Op::WriteRegister { key, column, value } => self.wrote(Object { column, key }, value),
            Op::ReadList { key, elements } => self.read_list(Object { column: LIST, key }, elements),
            Op::ReadRegister { key, column, value } => self.read_register(Object { column, key }, value),
            Op::ReadRange { low, high, column, keys } => self.read_range(low, high, column.unwrap_or(LIST), keys),
        }
    }

    fn wrote(&mut self, name: Object, value: u64) {
        let object = self.facts.object(name).expect("facts know every object that was written");
        let write = self.facts.write_of(object, value).expect("facts know every write");
        let touch = &mut self.touched[object as usize];
        if touch.writer != self.reader {
            (touch.writer, touch.count) = (self.reader, 0);
            if touch.reader == self.reader {
                self.reads.updates.push(Update { object, version: touch.version, write });
            }
        }
        touch.count += 1;
        touch.write = write;
    }

    fn read_list(&mut self, name: Object, elements: &[u64]) {
        let reader = self.reader;
        let Some(object) = self.facts.object(name) else {
            if let Some(value) = elements.first() {
                self.report.add(Kind::GarbageRead, true, &[reader], || garbage(reader, name, *value));
            }
            return;
        };
        let order = &self.versions.orders[object as usize];
        let is_prefix = elements.len() <= order.values.len() && elements == &order.values[..elements.len()];
        let count = if is_prefix { Some(elements.len()) } else { self.read_oddity(object, elements) };
        let Some(count) = count else { return };
        let touch = self.touched[object as usize];
        let own = if touch.writer == reader { touch.count as usize } else { 0 };
        let is_own = |place: &usize| self.facts.write(order.chain[*place]).transaction == reader;
        let own_found = (0..count).rev().take_while(is_own).count();
        if own_found != own {
            self.report.add(Kind::Internal, true, &[reader], || {
                let end = format!("which ends with {own_found} of its");
                format!("T{reader} had appended {own} elements to {name}, and read {elements:?}, {end}")
            });
            return;
        }
        self.saw(object, Version::chain(count - own), false);
    }

    /// A read that is not the beginning of the chain: says what is wrong with it, and which version it is nearest to.
    fn read_oddity(&mut self, object: u32, elements: &[u64]) -> Option<usize> {
        let (reader, name, facts) = (self.reader, self.facts.objects[object as usize], self.facts);
        let mut cleaned: Vec<u64> = Vec::new();
        for (at, &value) in elements.iter().enumerate() {
            let Some(write) = facts.write_of(object, value) else {
                self.report.add(Kind::GarbageRead, true, &[reader], || garbage(reader, name, value));
                continue;
            };
            let write = facts.write(write);
            if facts.is_dead(write) {
                self.aborted_read(write.transaction, name, value);
            } else if elements[..at].contains(&value) {
                self.report.add(Kind::DuplicateElement, true, &[write.transaction, reader], || {
                    format!("T{reader} read {value} twice in {name}, which T{} appended", write.transaction)
                });
            } else {
                cleaned.push(value);
            }
        }
        let order = &self.versions.orders[object as usize];
        let differs = cleaned.iter().zip(&order.values).position(|(read, known)| read != known);
        if let Some(at) = differs {
            self.report.add(Kind::IncompatibleOrder, true, &[reader], || {
                let (read, known) = (cleaned[at], order.values[at]);
                format!("T{reader} read {name} with {read} at place {at}, where others read {known}: {cleaned:?}")
            });
        }
        let Some(last) = cleaned.last() else { return Some(0) };
        let write = facts.write_of(object, *last).expect("values that nobody wrote were left out");
        let place = self.versions.places[write as usize];
        (place != NONE && differs.is_none()).then_some(place as usize + 1)
    }

    fn read_register(&mut self, name: Object, value: Option<u64>) {
        let reader = self.reader;
        let object = self.facts.object(name);
        let write = object.zip(value).and_then(|(object, value)| self.facts.write_of(object, value));
        if let (Some(value), None) = (value, write) {
            self.report.add(Kind::GarbageRead, true, &[reader], || garbage(reader, name, value));
        }
        let Some(object) = object.filter(|_| value.is_none() || write.is_some()) else { return };
        let touch = self.touched[object as usize];
        let own = (touch.writer == reader).then_some(touch.write);
        let by_self = write.is_some_and(|write| self.facts.write(write).transaction == reader);
        if own.is_some() || by_self {
            if own != write {
                self.report.add(Kind::Internal, true, &[reader], || {
                    let own = own.map(|own| self.facts.write(own).value);
                    format!("T{reader} had written {own:?} to {name}, and read {value:?}")
                });
            }
            return;
        }
        let Some(number) = write else { return self.saw(object, Version::INITIAL, false) };
        let write = self.facts.write(number);
        if self.facts.is_dead(write) {
            return self.aborted_read(write.transaction, name, write.value);
        }
        match self.versions.places[number as usize] {
            NONE if write.last => self.saw(object, Version(number | LOOSE), false),
            NONE => self.intermediate_read(number),
            place => self.saw(object, Version::chain(place as usize + 1), false),
        }
    }

    fn read_range(&mut self, low: u64, high: u64, column: u16, keys: &[u64]) {
        let facts = self.facts;
        let name = |object: &u32| facts.objects[*object as usize];
        let first = self.sorted.partition_point(|object| name(object) < Object { column, key: low });
        let end = self.sorted.partition_point(|object| name(object) <= Object { column, key: high });
        for at in first..end.max(first) {
            let object = self.sorted[at];
            if keys.binary_search(&name(&object).key).is_ok() {
                continue;
            }
            if self.touched[object as usize].writer == self.reader {
                let reader = self.reader;
                self.report.add(Kind::Internal, true, &[reader], || {
                    format!("T{reader} had written {}, and its range {low}..{high} did not hold it", name(&object))
                });
                continue;
            }
            self.saw(object, Version::INITIAL, true);
        }
    }

    /// The transaction at hand saw a version that others made.
    fn saw(&mut self, object: u32, version: Version, by_predicate: bool) {
        let reader = self.reader;
        let order = &self.versions.orders[object as usize];
        if let Some(number) = version.write(order).filter(|number| !self.facts.write(*number).last) {
            self.intermediate_read(number);
        }
        let touch = &mut self.touched[object as usize];
        if touch.reader == reader && touch.version != version {
            let is_forbidden = self.facts.level(reader) >= Level::RepeatableRead;
            let before = touch.version;
            self.report.add(Kind::NonRepeatableRead, is_forbidden, &[reader], || {
                let value = |version: Version| version.write(order).map(|write| self.facts.write(write).value);
                let name = self.facts.objects[object as usize];
                format!("T{reader} read {name} as of {:?} and then as of {:?}", value(before), value(version))
            });
        }
        if touch.reader == reader && touch.version == version {
            return;
        }
        (touch.reader, touch.version) = (reader, version);
        self.reads.reads.push(Read { transaction: reader, object, version, by_predicate });
    }

    fn aborted_read(&mut self, writer: u32, name: Object, value: u64) {
        let reader = self.reader;
        self.report.add(Kind::G1a, true, &[writer, reader], || {
            format!("T{reader} read {value} in {name}, which T{writer} wrote and rolled back")
        });
    }

    fn intermediate_read(&mut self, number: u32) {
        let (reader, write) = (self.reader, self.facts.write(number));
        let writer = write.transaction;
        if writer != reader {
            self.report.add(Kind::G1b, true, &[writer, reader], || {
                let name = self.facts.objects[write.object as usize];
                format!("T{reader} read {} in {name}, not the last that T{writer} wrote there", write.value)
            });
        }
    }

    /// Transactions that read the same version of an object and wrote it: all but the first wrote over what they had
    /// not seen.
    fn lost_updates(&mut self) {
        let places = &self.versions.places;
        let mut updates = std::mem::take(&mut self.reads.updates);
        updates.sort_unstable_by_key(|u| (u.object, u.version, places[u.write as usize], u.write));
        for pair in updates.windows(2) {
            let [first, second] = [pair[0], pair[1]];
            if (first.object, first.version) != (second.object, second.version) {
                continue;
            }
            let [a, b] = [first, second].map(|update| self.facts.write(update.write));
            let levels = [a, b].map(|write| self.facts.level(write.transaction));
            // Who came second is the victim; when that is unknown, both must have been promised.
            let victim = if places[second.write as usize] == NONE { levels[0].min(levels[1]) } else { levels[1] };
            let pair = [b.transaction, a.transaction];
            self.report.add(Kind::LostUpdate, victim >= Level::RepeatableRead, &pair, || {
                let name = self.facts.objects[first.object as usize];
                let seen = first.version.write(&self.versions.orders[first.object as usize]);
                let seen = seen.map(|write| self.facts.write(write).value);
                format!(
                    "T{} and T{} both read {name} as of {seen:?} and wrote {} and {}: the second did not see the first",
                    a.transaction, b.transaction, a.value, b.value
                )
            });
        }
        self.reads.updates = updates;
    }
}

fn garbage(reader: u32, name: Object, value: u64) -> String {
    format!("T{reader} read {value} in {name}, which nobody wrote")
}
