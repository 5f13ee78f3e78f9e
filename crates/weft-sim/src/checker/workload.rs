//! What the clients do: transactions of a few operations, from a seed.
//!
//! ```text
//!   hot keys    8 at a time, everybody on them; after 25 transactions of each client the next 8
//!               (so a list ends with some 30 elements and reads stay short; new keys are phantoms for ranges)
//!   cold keys   from 1_000_000_000, rarely met twice
//!   values      count × clients + client: never the same twice
//! ```
//!
//! Clients need not talk to each other: each has a generator of its own.

use crate::random::Random;

use super::history::Level;

/// The first cold key.
pub const COLD: u64 = 1_000_000_000;

/// One operation to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Append to a list.
    Append {
        /// The list's key.
        key: u64,
        /// What to append.
        element: u64,
    },
    /// Read a list.
    ReadList {
        /// The list's key.
        key: u64,
    },
    /// Set a register, whether the row is there or not.
    WriteRegister {
        /// The row's key.
        key: u64,
        /// The column.
        column: u16,
        /// What to set it to.
        value: u64,
    },
    /// Read a register.
    ReadRegister {
        /// The row's key.
        key: u64,
        /// The column.
        column: u16,
    },
    /// Read all lists of a range of keys, ends included.
    ReadRangeLists {
        /// The first key.
        low: u64,
        /// The last key.
        high: u64,
    },
    /// Read one column of the rows in a range of keys, ends included.
    ReadRangeRegisters {
        /// The first key.
        low: u64,
        /// The last key.
        high: u64,
        /// The column.
        column: u16,
    },
    /// Set the savepoint.
    Savepoint,
    /// Return to the savepoint, which was set before.
    RollbackTo,
}

/// A mix of operations. Percentages are of all operations; what is left reads and writes single lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// How many clients share the values.
    pub clients: u64,
    /// Keys that everybody uses at a time.
    pub hot_keys: u64,
    /// Transactions of a client after which it goes on to the next hot keys.
    pub hot_transactions: u64,
    /// Keys that are rarely met twice.
    pub cold_keys: u64,
    /// How often a key is a cold one, in percent.
    pub cold_percent: u64,
    /// Columns of the registers.
    pub columns: u16,
    /// Operations on registers, in percent.
    pub register_percent: u64,
    /// Reads of ranges, in percent.
    pub range_percent: u64,
    /// Transactions that roll back to a savepoint, in percent.
    pub savepoint_percent: u64,
    /// The most operations of a transaction.
    pub ops_max: u64,
}

impl Default for Workload {
    fn default() -> Workload {
        Workload {
            clients: 8,
            hot_keys: 8,
            hot_transactions: 25,
            cold_keys: 100_000,
            cold_percent: 30,
            columns: 3,
            register_percent: 35,
            range_percent: 8,
            savepoint_percent: 3,
            ops_max: 6,
        }
    }
}

/// The transactions of one client.
#[derive(Clone, Debug)]
pub struct Generator {
    workload: Workload,
    client: u64,
    random: Random,
    values: u64,
    transactions: u64,
}

impl Generator {
    /// The generator of a client, which is below `workload.clients`.
    pub fn new(seed: u64, client: u32, workload: Workload) -> Generator {
        let client = u64::from(client);
        assert!(client < workload.clients, "clients are numbered from 0; {client} is not below {}", workload.clients);
        Generator { workload, client, random: Random::new(seed, client), values: 0, transactions: 0 }
    }

    /// The next transaction.
    pub fn transaction(&mut self) -> Vec<Step> {
        self.transactions += 1;
        let count = 1 + self.random.below(self.workload.ops_max);
        let mut steps: Vec<Step> = (0..count).map(|_| self.step()).collect();
        if self.random.chance(self.workload.savepoint_percent) {
            steps.insert(self.random.below(count) as usize, Step::Savepoint);
            let after = steps.iter().position(|step| *step == Step::Savepoint).expect("it was put there") as u64 + 1;
            let at = after + self.random.below(steps.len() as u64 - after + 1);
            steps.insert(at as usize, Step::RollbackTo);
        }
        steps
    }

    /// One level of three, for histories that mix them.
    pub fn level(&mut self) -> Level {
        self.random.pick(&[Level::ReadCommitted, Level::RepeatableRead, Level::Serializable])
    }

    /// Whether to do something that happens to so many of a hundred transactions, such as giving up.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.random.chance(percent)
    }

    /// A number below `n`, for what is no step.
    pub fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    /// A key, as the steps have them.
    pub fn key(&mut self) -> u64 {
        if self.random.chance(self.workload.cold_percent) {
            COLD + self.random.below(self.workload.cold_keys)
        } else {
            self.hot_base() + self.random.below(self.workload.hot_keys)
        }
    }

    /// A value that no step has.
    pub fn value(&mut self) -> u64 {
        self.values += 1;
        self.values * self.workload.clients + self.client
    }

    fn step(&mut self) -> Step {
        let Workload { hot_keys, columns, register_percent, range_percent, .. } = self.workload;
        let pick = self.random.below(100);
        let column = self.random.below(u64::from(columns.max(1))) as u16;
        let writes = self.random.chance(50);
        if pick < range_percent {
            let low = self.hot_base() + self.random.below(hot_keys);
            let high = low + self.random.below(hot_keys);
            let is_register = self.random.chance(register_percent);
            return if is_register {
                Step::ReadRangeRegisters { low, high, column }
            } else {
                Step::ReadRangeLists { low, high }
            };
        }
        let key = self.key();
        match (pick < range_percent + register_percent, writes) {
            (true, true) => Step::WriteRegister { key, column, value: self.value() },
            (true, false) => Step::ReadRegister { key, column },
            (false, true) => Step::Append { key, element: self.value() },
            (false, false) => Step::ReadList { key },
        }
    }

    fn hot_base(&self) -> u64 {
        (self.transactions / self.workload.hot_transactions) * self.workload.hot_keys
    }
}
