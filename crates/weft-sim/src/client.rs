//! A writing client: transactions of random statements over several tables.

use std::sync::Arc;
use std::time::Duration;

use weft_env::Env;
use weft_format::{Code, Error, Predicate, Result, Value};
use weft_kernel::index::NewIndex;
use weft_kernel::{Durability, Engine, TableRef};

use crate::history::History;
use crate::random::Random;
use crate::scenario::Scenario;
use crate::tables::{
    ACCOUNTS, EVENTS, FIXED, LEDGER, PAIRS, SCRATCH, balance_column, event_row, money_row, new_table, of_column,
    random_amount, random_money_key, random_note, random_rate, referring,
};
use crate::work::{Work, is_expected, key_of};

/// No transaction has this number.
const NOBODY: i64 = 1 << 60;

/// What becomes of a transaction whose statements went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Commit,
    Rollback,
    /// Commits, which fails: a row refers to none.
    Refused,
}

/// One client.
pub(crate) struct Client {
    pub(crate) number: usize,
    pub(crate) env: Env,
    pub(crate) engine: Arc<Engine>,
    pub(crate) history: Arc<History>,
    pub(crate) scenario: Scenario,
    pub(crate) random: Random,
}

impl Client {
    /// Runs transactions until there were enough, or the engine takes no more.
    pub(crate) fn run(&mut self) {
        for number in 0..self.scenario.transactions {
            match self.transaction(number) {
                Ok(()) => {}
                Err(error) if is_expected(&error) => self.history.count(|counts| counts.conflicts += 1),
                Err(error) if self.scenario.tolerated.contains(&error.code()) => {
                    self.history.count(|counts| counts.faulted += 1);
                    if error.code() == Code::Poisoned {
                        let hint = error.hint_text().unwrap_or_default();
                        assert!(hint.contains("open"), "violation: the remedy is missing: {error}");
                        self.history.set_poisoned(true);
                    }
                }
                Err(error) => panic!("violation: client {} met an unexpected error: {error}", self.number),
            }
            if self.random.chance(30) {
                self.env.clock.sleep(Duration::from_micros(self.random.below(400)));
            }
        }
    }

    fn transaction(&mut self, number: u64) -> Result<()> {
        if self.random.chance(2) {
            return self.glance();
        }
        let asynchronous = self.random.chance(self.scenario.async_percent);
        let durability = if asynchronous { Durability::Async } else { Durability::Full };
        let (engine, history) = (Arc::clone(&self.engine), Arc::clone(&self.history));
        let mut work = Work::begin(&engine, &history, durability)?;
        let then = match self.random.below(24) {
            // All clients at about the same time.
            _ if (number + 1).is_multiple_of(self.scenario.members_every) => self.members(&mut work)?,
            0 => self.schema_change(&mut work)?,
            1 => self.bulk(&mut work)?,
            2 => self.long(&mut work)?,
            3..=4 => self.large(&mut work)?,
            _ => self.statements(&mut work)?,
        };
        match then {
            Then::Commit => work.commit(self.number),
            Then::Refused => match work.commit(self.number) {
                Ok(()) => panic!("violation: client {} committed a row that refers to none", self.number),
                Err(error) if error.code() == Code::ForeignKeyViolation => Ok(()),
                Err(error) => Err(error),
            },
            Then::Rollback => {
                work.rollback(&mut self.random);
                Ok(())
            }
        }
    }

    /// A large update among other statements.
    fn large(&mut self, work: &mut Work<'_>) -> Result<Then> {
        if self.random.chance(15) {
            self.statement(work)?;
        }
        self.large_update(work)?;
        if self.random.chance(20) {
            self.large_update(work)?;
        }
        self.statements(work)
    }

    /// Lets others go on.
    pub(crate) fn pause(&mut self) {
        self.env.clock.sleep(Duration::from_micros(self.random.below(300)));
    }

    fn statements(&mut self, work: &mut Work<'_>) -> Result<Then> {
        for _ in 0..=self.random.below(4) {
            if self.random.chance(15) {
                // A statement that fails or is taken back leaves nothing.
                let savepoint = work.savepoint();
                match self.statement(work) {
                    Ok(()) => work.rollback_to(savepoint),
                    Err(error) if error.code() == Code::UniqueViolation => work.rollback_to(savepoint),
                    Err(error) => return Err(error),
                }
            } else {
                self.statement(work)?;
            }
            if self.random.chance(10) {
                self.pause();
            }
        }
        if self.random.chance(12) {
            let table = work.table(self.random.pick(&FIXED))?;
            work.check_own_scan(&table, &mut self.random)?;
        }
        if self.random.chance(3) {
            return self.refer_to_nobody(work);
        }
        Ok(if self.random.chance(8) { Then::Rollback } else { Then::Commit })
    }

    fn statement(&mut self, work: &mut Work<'_>) -> Result<()> {
        match self.random.below(14) {
            0..=4 => self.transfer(work),
            5..=6 => self.open_account(work),
            7 => self.close_account(work),
            8..=9 => self.change_note(work),
            10 => self.change_key(work),
            11..=12 => self.insert_events(work),
            _ => self.change_event(work),
        }
    }

    /// Moves money between two rows, of one table or of two.
    fn transfer(&mut self, work: &mut Work<'_>) -> Result<()> {
        let amount = self.random.below(1000) as i64 - 500;
        let (from, to) = (random_money_key(&mut self.random), random_money_key(&mut self.random));
        if from == to {
            return Ok(());
        }
        if self.random.chance(30) {
            let table = work.table(from.0)?;
            work.txn.get_for_update(&table, &key_of(&table, &from.1))?;
        }
        let exists = |work: &Work<'_>, key: &(&str, Vec<Value>)| -> Result<bool> {
            Ok(work.read_values(&work.table(key.0)?, &key.1)?.is_some())
        };
        if exists(work, &from)? && exists(work, &to)? {
            self.add_money(work, &from, -amount)?;
            self.add_money(work, &to, amount)?;
        }
        Ok(())
    }

    fn add_money(&mut self, work: &mut Work<'_>, (name, key): &(&'static str, Vec<Value>), amount: i64) -> Result<()> {
        let table = work.table(name)?;
        let key = key_of(&table, key);
        let before = work.read(&table, &key)?.expect("the caller saw the row in this transaction");
        let mut values = table.codec.decode(&before);
        let balance = balance_column(name);
        add(&mut values[balance], amount);
        add(&mut values[balance + 1], 1);
        values[balance + 2] = Value::Int(work.tid as i64);
        if self.random.chance(20) {
            values[balance + 3] = random_note(&mut self.random);
        }
        work.update(&table, &key, &before, &values)
    }

    /// Inserts a row with money from another one; now and then over one that is there, which must fail.
    fn open_account(&mut self, work: &mut Work<'_>) -> Result<()> {
        let (name, key) = random_money_key(&mut self.random);
        let table = work.table(name)?;
        let there = work.read_values(&table, &key)?.is_some();
        if there {
            if self.random.chance(10) {
                // Goes well only when another transaction deleted the row after this one's snapshot, as in PostgreSQL;
                // were it there, the model could not replay this.
                let row = money_row(&key, 0, work.tid, &mut self.random);
                return work.insert(&table, &row);
            }
            return Ok(());
        }
        let Some(donor) = self.someone(work)? else { return Ok(()) };
        let amount = self.random.below(100) as i64;
        let row = money_row(&key, amount, work.tid, &mut self.random);
        work.insert(&table, &row)?;
        self.add_money(work, &donor, -amount)
    }

    /// Deletes a row whose money goes to another one; sometimes it comes back at once.
    fn close_account(&mut self, work: &mut Work<'_>) -> Result<()> {
        let (name, key) = random_money_key(&mut self.random);
        if name == ACCOUNTS && key == [Value::Int(0)] {
            return Ok(());
        }
        let table = work.table(name)?;
        let bytes = key_of(&table, &key);
        let Some(before) = work.read(&table, &bytes)? else { return Ok(()) };
        let Value::Int(balance) = table.codec.get(&before, balance_column(name)).to_value() else {
            panic!("violation: a balance is NULL");
        };
        work.delete(&table, &bytes, &before)?;
        if self.random.chance(30) {
            let row = money_row(&key, balance, work.tid, &mut self.random);
            return work.insert(&table, &row);
        }
        let heir = self.someone(work)?.unwrap_or((ACCOUNTS, vec![Value::Int(0)]));
        self.add_money(work, &heir, balance)
    }

    /// A row with money that is there.
    fn someone(&mut self, work: &Work<'_>) -> Result<Option<(&'static str, Vec<Value>)>> {
        for _ in 0..4 {
            let (name, key) = random_money_key(&mut self.random);
            if work.read_values(&work.table(name)?, &key)?.is_some() {
                return Ok(Some((name, key)));
            }
        }
        let bank = vec![Value::Int(0)];
        Ok(work.read_values(&work.table(ACCOUNTS)?, &bank)?.map(|_| (ACCOUNTS, bank)))
    }

    /// Updates columns that are not money.
    fn change_note(&mut self, work: &mut Work<'_>) -> Result<()> {
        let (name, key) = random_money_key(&mut self.random);
        let table = work.table(name)?;
        let bytes = key_of(&table, &key);
        let Some(before) = work.read(&table, &bytes)? else { return Ok(()) };
        let mut values = table.codec.decode(&before);
        let balance = balance_column(name);
        add(&mut values[balance + 1], 1);
        values[balance + 2] = Value::Int(work.tid as i64);
        if self.random.chance(70) {
            values[balance + 3] = random_note(&mut self.random);
        }
        let random = &mut self.random;
        values[balance + 4] = if name == ACCOUNTS { random_rate(random) } else { random_amount(random) };
        work.update(&table, &bytes, &before, &values)
    }

    /// Moves a row of pairs to another key.
    fn change_key(&mut self, work: &mut Work<'_>) -> Result<()> {
        let table = work.table(PAIRS)?;
        let key = [Value::Text("a".into()), Value::Int(self.random.below(6) as i64 - 2)];
        let bytes = key_of(&table, &key);
        let Some(before) = work.read(&table, &bytes)? else { return Ok(()) };
        let mut values = table.codec.decode(&before);
        values[1] = Value::Int(self.random.below(6) as i64 - 2);
        add(&mut values[3], 1);
        values[4] = Value::Int(work.tid as i64);
        if values[1] != key[1] && work.read_values(&table, &values[..2])?.is_some() {
            return Ok(());
        }
        work.update(&table, &bytes, &before, &values)
    }

    /// Lets a row of pairs refer to a transaction that is not there.
    fn refer_to_nobody(&mut self, work: &mut Work<'_>) -> Result<Then> {
        let (name, key) = random_money_key(&mut self.random);
        let table = work.table(name)?;
        let bytes = key_of(&table, &key);
        let Some(before) = work.read(&table, &bytes)?.filter(|_| name == PAIRS) else { return Ok(Then::Commit) };
        let mut values = table.codec.decode(&before);
        values[balance_column(name) + 2] = Value::Int(NOBODY);
        work.update(&table, &bytes, &before, &values)?;
        Ok(Then::Refused)
    }

    fn insert_events(&mut self, work: &mut Work<'_>) -> Result<()> {
        let table = work.table(EVENTS)?;
        for _ in 0..=self.random.below(4) {
            let id = work.txn.next_row_id(&table);
            let text = random_note(&mut self.random);
            let row = event_row(id, work.tid, text, &mut self.random);
            if self.random.chance(20) {
                work.put(&table, None, &row, true)?;
            } else {
                work.insert(&table, &row)?;
            }
        }
        Ok(())
    }

    fn change_event(&mut self, work: &mut Work<'_>) -> Result<()> {
        let table = work.table(EVENTS)?;
        for _ in 0..=self.random.below(4) {
            let Some(key) = self.history.event_key(self.random.next_u64()) else { return Ok(()) };
            let Some(before) = work.read(&table, &key)? else { continue };
            let mut values = table.codec.decode(&before);
            values[0] = random_note(&mut self.random);
            values[1] = Value::Int(work.tid as i64);
            match self.random.below(10) {
                0..=3 => work.delete(&table, &key, &before)?,
                4 => work.update(&table, &key, &before, &values)?,
                n => work.put(&table, Some(before), &values, n > 6)?,
            }
        }
        Ok(())
    }

    /// Creates or drops the client's own table, with rows in it, beside other changes.
    fn schema_change(&mut self, work: &mut Work<'_>) -> Result<Then> {
        if self.random.chance(40) {
            return self.index_change(work);
        }
        let name = SCRATCH[self.number];
        match work.table(name) {
            Ok(table) if self.random.chance(60) => work.drop_table(&table, &mut self.random)?,
            Ok(table) => self.fill_scratch(work, &table)?,
            Err(error) if error.code() == Code::UndefinedTable => {
                let Scenario { lineage_percent, row_percent, .. } = self.scenario;
                let new = new_table(name, lineage_percent, row_percent, &mut self.random);
                let new = referring(new, &work.table(LEDGER)?);
                let table = work.create_table(new)?;
                self.fill_scratch(work, &table)?;
                work.check_own_scan(&table, &mut self.random)?;
            }
            Err(error) => return Err(error),
        }
        if self.random.chance(50) {
            self.transfer(work)?;
        }
        Ok(if self.random.chance(15) { Then::Rollback } else { Then::Commit })
    }

    /// Makes or drops an index of a table that others write to.
    fn index_change(&mut self, work: &mut Work<'_>) -> Result<Then> {
        let name = format!("index_{}", self.number);
        if self.random.chance(30) {
            self.statement(work)?;
        }
        if work.txn.index(&name).is_some() {
            work.txn.drop_index(&name)?;
        } else {
            let table = work.table(self.random.pick(&FIXED))?;
            let column_count = table.def.schema.columns.len() as u64;
            let mut columns = vec![self.random.below(column_count) as usize];
            if self.random.chance(40) {
                columns.push(self.random.below(column_count) as usize);
            }
            let mut new = NewIndex::new(name, columns, false);
            if self.random.chance(30) {
                new.parts.push(of_column(&table.def.schema, self.random.below(column_count) as usize));
                new.parts.rotate_right(1);
            }
            if self.random.chance(40) {
                let column = self.random.below(column_count) as usize;
                let is_null = self.random.chance(50);
                new.predicate =
                    vec![if is_null { Predicate::IsNull { column } } else { Predicate::IsNotNull { column } }];
            }
            work.txn.create_index(&table, new)?;
        }
        if self.random.chance(30) {
            self.statement(work)?;
        }
        Ok(if self.random.chance(15) { Then::Rollback } else { Then::Commit })
    }

    fn fill_scratch(&mut self, work: &mut Work<'_>, table: &TableRef) -> Result<()> {
        for _ in 0..self.random.below(12) {
            let id = Value::Int(self.random.below(40) as i64);
            if work.read_values(table, std::slice::from_ref(&id))?.is_none() {
                let row = [id, Value::Int(work.tid as i64), random_note(&mut self.random)];
                work.insert(table, &row)?;
            }
        }
        Ok(())
    }

    /// Adds events in bulk, as files of their own.
    fn bulk(&mut self, work: &mut Work<'_>) -> Result<Then> {
        let table = work.table(EVENTS)?;
        let count = 1 + self.random.below(150);
        let first = work.txn.next_row_ids(&table, count);
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for id in first..first + count as i64 {
            let text = random_note(&mut self.random);
            rows.push(event_row(id, work.tid, text, &mut self.random));
        }
        if self.random.chance(30) {
            rows.reverse();
        }
        let batch_rows = 1 + self.random.below(100) as usize;
        work.build(&table, &rows, batch_rows)?;
        self.transfer(work)?;
        if self.random.chance(30) {
            work.check_own_scan(&table, &mut self.random)?;
        }
        Ok(if self.random.chance(20) { Then::Rollback } else { Then::Commit })
    }

    /// A transaction whose changes go to the log in several chunks.
    fn long(&mut self, work: &mut Work<'_>) -> Result<Then> {
        let table = work.table(EVENTS)?;
        for _ in 0..10 + self.random.below(20) {
            let id = work.txn.next_row_id(&table);
            let text = Value::Text(self.random.text(1500).into());
            let row = event_row(id, work.tid, text, &mut self.random);
            work.insert(&table, &row)?;
        }
        self.transfer(work)?;
        Ok(if self.random.chance(20) { Then::Rollback } else { Then::Commit })
    }
}

fn add(value: &mut Value, amount: i64) {
    match value {
        Value::Int(number) => *number += amount,
        other => panic!("violation: a number reads as {other:?}"),
    }
}

/// The error, unless it is one that a client may meet.
pub(crate) fn unless_expected(result: Result<()>, tolerated: &[Code]) -> Option<Error> {
    result.err().filter(|error| !is_expected(error) && !tolerated.contains(&error.code()))
}
