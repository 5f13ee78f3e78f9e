//! Who wrote what: every list, register and write of a history, numbered.
//!
//! ```text
//!   objects   0: l5   1: r7.0
//!   writes    0: T0 l5+31   1: T0 r7.0:=9 (not its last)   2: T0 r7.0:=10   3: T1 l5+32
//!   lookup    (l5, 32) → 3
//! ```

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::history::{History, LIST, Level, Object, Op, Status, Transaction};

/// No such write or place.
pub(super) const NONE: u32 = u32::MAX;
/// Numbers of writes stay below this; the graph keeps a kind beside them.
pub(super) const WRITES_MAX: usize = 1 << 30;

/// One write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    /// Number of its transaction.
    pub(super) transaction: u32,
    /// Number of its list or register.
    pub(super) object: u32,
    /// What was written.
    pub(super) value: u64,
    /// Whether it is the transaction's last on the object.
    pub(super) last: bool,
    /// Whether a rollback to a savepoint undid it.
    pub(super) undone: bool,
}

/// Everything written.
pub(super) struct Facts<'h> {
    pub(super) history: &'h History,
    pub(super) objects: Vec<Object>,
    pub(super) writes: Vec<Write>,
    /// Per transaction: acknowledged, or unknown and seen by one that counts.
    pub(super) committed: Vec<bool>,
    numbers: HashMap<Object, u32, Mixer>,
    by_value: HashMap<(u32, u64), u32, Mixer>,
}

impl<'h> Facts<'h> {
    /// The writes of a history, or the value that was written twice.
    pub(super) fn new(history: &'h History) -> Result<Facts<'h>, String> {
        let committed = history.transactions().iter().map(|t| t.status == Status::Committed).collect();
        let mut facts = Facts {
            history,
            objects: Vec::new(),
            writes: Vec::new(),
            committed,
            numbers: HashMap::default(),
            by_value: HashMap::default(),
        };
        let mut list = Vec::new();
        // The last write of each object that was not undone.
        let mut latest: Vec<u32> = Vec::new();
        let mut failure = None;
        for transaction in 0..history.transactions().len() as u32 {
            history.for_each_op(transaction, &mut list, |op, undone| {
                let (object, value) = match op {
                    Op::Append { key, element } => (Object { column: LIST, key }, element),
                    Op::WriteRegister { key, column, value } => (Object { column, key }, value),
                    _ => return,
                };
                let outcome = facts.add(transaction, object, value, undone, &mut latest);
                failure = failure.take().or(outcome.err());
            });
        }
        match failure {
            Some(failure) => Err(failure),
            None => Ok(facts),
        }
    }

    fn add(
        &mut self,
        transaction: u32,
        name: Object,
        value: u64,
        undone: bool,
        latest: &mut Vec<u32>,
    ) -> Result<(), String> {
        let objects = &mut self.objects;
        let object = *self.numbers.entry(name).or_insert_with(|| {
            objects.push(name);
            latest.push(NONE);
            objects.len() as u32 - 1
        });
        let number = self.writes.len() as u32;
        if let Some(other) = self.by_value.insert((object, value), number) {
            let other = self.writes[other as usize].transaction;
            return Err(format!(
                "T{other} and T{transaction} both wrote {value} to {name}; give each write of an object its own value"
            ));
        }
        if !undone {
            let before = std::mem::replace(&mut latest[object as usize], number);
            if let Some(before) = self.writes.get_mut(before as usize).filter(|w| w.transaction == transaction) {
                before.last = false;
            }
        }
        self.writes.push(Write { transaction, object, value, last: !undone, undone });
        assert!(self.writes.len() < WRITES_MAX, "a history has less than 2^30 writes; check it in parts");
        Ok(())
    }

    /// The number of an object, if anybody wrote it.
    pub(super) fn object(&self, object: Object) -> Option<u32> {
        self.numbers.get(&object).copied()
    }

    /// The number of the write of a value, if anybody wrote it.
    pub(super) fn write_of(&self, object: u32, value: u64) -> Option<u32> {
        self.by_value.get(&(object, value)).copied()
    }

    /// The write with a number.
    pub(super) fn write(&self, number: u32) -> Write {
        self.writes[number as usize]
    }

    /// Whether nobody may see the write.
    pub(super) fn is_dead(&self, write: Write) -> bool {
        write.undone || self.transaction(write.transaction).status == Status::Aborted
    }

    /// Whether the write took place.
    pub(super) fn counts(&self, write: Write) -> bool {
        !write.undone && self.committed[write.transaction as usize]
    }

    /// The transaction with a number.
    pub(super) fn transaction(&self, number: u32) -> &Transaction {
        &self.history.transactions()[number as usize]
    }

    /// Its level.
    pub(super) fn level(&self, number: u32) -> Level {
        self.transaction(number).level
    }

    /// When its acknowledgement was heard; of one that was not: never.
    pub(super) fn acknowledged(&self, number: u32) -> u64 {
        let transaction = self.transaction(number);
        if transaction.status == Status::Committed { transaction.end } else { u64::MAX }
    }
}

/// Multiplies and folds: the keys are small numbers of our own, not chosen by an enemy.
#[derive(Clone, Copy, Default)]
pub(super) struct Mix(u64);
/// Makes hashers.
pub(super) type Mixer = BuildHasherDefault<Mix>;

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value ^ 0x9e37_79b9_7f4a_7c15) * 0xbf58_476d_1ce4_e5b9;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}
