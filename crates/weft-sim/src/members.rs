//! The table of members: a unique index beside writers of single columns, of whole rows and of all rows at once.
//!
//! ```text
//!   members   id integer key | email text, unique when it is not NULL | seen | note
//!
//!   SET seen or note       that column's lock alone; goes on from a commit that waits for the disk
//!   SET email              the lock of the email and of the value
//!   INSERT                 now and then with an email that is taken: refused
//!   ON CONFLICT (email)    the row that has it is seen once more, or a row is added
//!   UPDATE all, COPY       replaced and built in bulk
//! ```
//!
//! 1. Two transactions may change one row, each another column; so the model knows each column as a place of its own
//!    ([`places_of`]). 2. No state shows an email twice.
//!
//! Statements are those of READ COMMITTED sessions: a snapshot each, again on a new one after a conflict.

use std::collections::BTreeSet;
use std::ops::Bound;

use weft_format::{Code, Error, Result, Value, ValueRef};
use weft_kernel::index::Direction;
use weft_kernel::{ColumnSet, IsolationLevel, LockMode, TableRef};

use crate::client::{Client, Then};
use crate::model::{Row, State};
use crate::placed::{placed, places_of};
use crate::random::Random;
use crate::scan::scan;
use crate::tables::{MEMBERS, random_note};
use crate::work::{Work, key_of};

/// The unique index.
pub(crate) const MEMBERS_EMAIL: &str = "members_email";
const EMAIL: usize = 1;
const SEEN: usize = 2;
const NOTE: usize = 3;

/// Members that statements of one row write to; bulk statements add others.
const IDS: u64 = 12;
const HOT_IDS: u64 = 2;
const BULK_IDS: u64 = 24;
const EMAILS: u64 = 6;
/// How often a statement starts again.
const RESTARTS_MAX: u32 = 100;

/// One statement, with everything drawn: started again, it does the same.
#[derive(Clone, Debug)]
enum Statement {
    Set { id: i64, column: usize, value: Value },
    Insert { values: Vec<Value> },
    Upsert { values: Vec<Value> },
    Delete { id: i64 },
    SetAll { column: usize, value: Value },
    Build { rows: Vec<Vec<Value>> },
}

impl Statement {
    /// Whether it may go on from a commit that is not published.
    fn may_follow(&self) -> bool {
        matches!(self, Statement::Set { .. } | Statement::Insert { .. })
    }
}

/// No two members have one email (members 2).
pub(crate) fn check_emails(state: &State) {
    let null = format!("{:?}", Value::Null);
    let mut emails = BTreeSet::new();
    for ((_, key), email) in state.range((MEMBERS, Vec::new())..).take_while(|(place, _)| place.0 == MEMBERS) {
        if key.last() == Some(&(EMAIL as u8)) && **email != *null.as_bytes() {
            assert!(emails.insert(email), "violation: two members have the email {}", email.escape_ascii());
        }
    }
}

fn random_email(random: &mut Random) -> Value {
    if random.chance(30) { Value::Null } else { Value::Text(format!("{}@x", random.below(EMAILS)).into()) }
}

fn member(id: u64, random: &mut Random) -> Vec<Value> {
    let email = random_email(random);
    vec![Value::Int(id as i64), email, Value::Int(random.below(1000) as i64), random_note(random)]
}

impl Client {
    /// A transaction over members alone, or looks at them before anything is durable.
    pub(crate) fn members(&mut self, work: &mut Work<'_>) -> Result<Then> {
        work.txn.set_level(IsolationLevel::ReadCommitted)?;
        if self.random.chance(8) {
            let ids = (0..=self.random.below(3)).map(|_| IDS + self.random.below(BULK_IDS));
            let ids: BTreeSet<u64> = ids.collect();
            let rows = ids.iter().map(|&id| member(id, &mut self.random)).collect();
            self.member_statement(work, &Statement::Build { rows })?;
            return Ok(Then::Commit);
        }
        if self.random.chance(40) {
            // One after the other on one row; then a value that the row may have had.
            let statement = self.hot();
            self.member_statement(work, &statement)?;
        }
        for _ in 0..self.random.below(4) {
            let statement = self.draw();
            self.member_statement(work, &statement)?;
            if self.random.chance(30) {
                self.pause();
            }
        }
        Ok(if self.random.chance(8) { Then::Rollback } else { Then::Commit })
    }

    /// What all clients do to one row.
    fn hot(&mut self) -> Statement {
        Statement::Set { id: 0, column: SEEN, value: Value::Int(self.random.below(1000) as i64) }
    }

    fn draw(&mut self) -> Statement {
        let random = &mut self.random;
        // All want a few of the rows: one goes on from another's commit only when they meet.
        let id = if random.chance(60) { random.below(HOT_IDS) } else { random.below(IDS) };
        match random.below(18) {
            0..=4 if random.chance(60) => {
                Statement::Set { id: id as i64, column: SEEN, value: Value::Int(random.below(1000) as i64) }
            }
            0..=4 => Statement::Set { id: id as i64, column: NOTE, value: random_note(random) },
            5..=7 => Statement::Set { id: id as i64, column: EMAIL, value: random_email(random) },
            8..=10 => Statement::Insert { values: member(id, random) },
            11..=12 => Statement::Upsert { values: member(id, random) },
            13..=14 => Statement::Delete { id: random.below(IDS + BULK_IDS) as i64 },
            15 if random.chance(50) => Statement::SetAll { column: NOTE, value: random_note(random) },
            _ => Statement::SetAll { column: SEEN, value: Value::Int(random.below(1000) as i64) },
        }
    }

    /// Runs a statement as a session does; one that gives a value that another row has leaves nothing.
    fn member_statement(&mut self, work: &mut Work<'_>, statement: &Statement) -> Result<()> {
        work.txn.begin_statement(statement.may_follow())?;
        for _ in 0..RESTARTS_MAX {
            work.txn.refresh_snapshot()?;
            let savepoint = work.savepoint();
            match self.run_statement(work, statement) {
                Err(error) if error.code() == Code::SerializationFailure => work.rollback_to(savepoint),
                Err(error) if error.code() == Code::UniqueViolation => {
                    work.rollback_to(savepoint);
                    self.history.count(|counts| counts.values_refused += 1);
                    return Ok(());
                }
                result => return result,
            }
        }
        Err(Error::new(Code::SerializationFailure, "the statement met a conflict each time"))
    }

    fn run_statement(&mut self, work: &mut Work<'_>, statement: &Statement) -> Result<()> {
        let t = work.table(MEMBERS)?;
        match statement {
            Statement::Set { id, column, value } => set_column(work, &t, *id, (*column, value)),
            Statement::Insert { values } => work.insert(&t, values),
            Statement::Upsert { values } => self.upsert(work, &t, values),
            Statement::Delete { id } => {
                let key = key_of(&t, &[Value::Int(*id)]);
                match work.txn.get_for_update(&t, &key)? {
                    Some(before) => work.delete(&t, &key, &before),
                    None => Ok(()),
                }
            }
            Statement::SetAll { column, value } => self.set_all(work, &t, (*column, value)),
            Statement::Build { rows } => {
                if work.txn.can_build(&t) {
                    work.build(&t, rows, 2)?;
                    self.history.count(|counts| counts.members_in_bulk += 1);
                }
                Ok(())
            }
        }
    }

    /// `INSERT ... ON CONFLICT (email) DO UPDATE SET seen = excluded.seen`
    fn upsert(&mut self, work: &mut Work<'_>, t: &TableRef, values: &[Value]) -> Result<()> {
        let (_, index) = work.txn.index(MEMBERS_EMAIL).expect("the index is made with the table");
        let email = std::slice::from_ref(&values[EMAIL]);
        if !email[0].is_null() {
            let bound = Bound::Included(email);
            let candidates = work.txn.index_keys(t, &index, bound, bound, Direction::Forward, usize::MAX)?;
            let newer = || Error::new(Code::SerializationFailure, "the index is newer than the snapshot");
            let has_email = |row: &Row| index.row_has(row, email);
            for key in candidates.ok_or_else(newer)? {
                if !work.txn.get_row(t, &key)?.is_some_and(|row| has_email(&row)) {
                    continue;
                }
                if let Some(before) = work.txn.get_for_update(t, &key)?.filter(has_email) {
                    let mut after = t.codec.decode(&before);
                    after[SEEN] = values[SEEN].clone();
                    work.update(t, &key, &before, &after)?;
                    self.history.count(|counts| counts.upserts_updated += 1);
                    return Ok(());
                }
            }
        }
        work.insert(t, values).map_err(|error| match error.constraint() {
            // Another transaction was faster: on a new snapshot its row is found.
            Some(MEMBERS_EMAIL) => Error::new(Code::SerializationFailure, "a concurrent insert of the same email"),
            _ => error,
        })?;
        self.history.count(|counts| counts.upserts_inserted += 1);
        Ok(())
    }

    /// `UPDATE members SET column = value`, in bulk.
    fn set_all(&mut self, work: &mut Work<'_>, t: &TableRef, (column, value): (usize, &Value)) -> Result<()> {
        let rows = placed(&work.txn, t, &mut self.random)?;
        if rows.is_empty() || !work.txn.can_replace(t, &[column])? {
            return Ok(());
        }
        let changed = rows.iter().map(|placed| {
            let mut values = t.codec.decode(&placed.row);
            values[column] = value.clone();
            values
        });
        work.replace(t, &[column], &rows, changed.collect())?;
        self.history.count(|counts| counts.members_in_bulk += 1);
        Ok(())
    }

    /// Reads members speculatively: what is not durable yet is unique, too.
    pub(crate) fn glance(&mut self) -> Result<()> {
        let mut txn = self.engine.begin_at(IsolationLevel::RepeatableRead)?;
        txn.set_speculative_reads(true)?;
        let t = txn.table(MEMBERS)?;
        let rows = scan(&txn, &t, &mut self.random)?;
        let state = rows.iter().flat_map(|(key, row)| places_of(MEMBERS, &t, key, row)).collect();
        check_emails(&state);
        txn.commit().map(|_| ())
    }
}

/// `UPDATE members SET column = value WHERE id = ...`, which locks that column, and those that an index wants with it.
fn set_column(work: &mut Work<'_>, t: &TableRef, id: i64, (column, value): (usize, &Value)) -> Result<()> {
    let key = key_of(t, &[Value::Int(id)]);
    let writes = ColumnSet::from_iter([column]);
    let mode = LockMode::columns(t.columns_tested(writes), writes);
    let Some(before) = work.txn.lock_only_row(t, &key, mode, work.txn.lock_wait())? else { return Ok(()) };
    let values = (0..t.codec.column_count()).map(|at| match at {
        at if at == column => value.as_ref(),
        at => t.codec.get(&before, at),
    });
    let row: Row = t.codec.encode(values.collect::<Vec<ValueRef<'_>>>()).into();
    work.txn.update_columns(t, &key, &row, mode)?;
    work.note(t, key, Some(before), Some(row));
    Ok(())
}
