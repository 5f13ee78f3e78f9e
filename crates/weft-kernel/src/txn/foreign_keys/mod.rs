//! Foreign keys: every row's values are those of a row of another table, or one of them is NULL.
//!
//! ```text
//!   p (id)  1 2          c (k, p → p.id ON DELETE CASCADE)   (10, 1) (11, 2)
//!
//!   INSERT INTO c VALUES (12, 3)   end of statement: lock key 3 of p, columns {id}, shared → newest p 3? none → 23503
//!   DELETE FROM p WHERE id = 1     key 1 of p is locked already, exclusive
//!                                  end of statement: rows of c with p = 1, newest → (10) is deleted, too
//! ```
//!
//! The journal knows which rows a statement touched and what they were. At its end: first the actions (CASCADE, SET
//! NULL, SET DEFAULT), which stage more rows, until nothing is left to do; then the tests, of all rows touched.
//! Constraints that are deferred are tested at commit, with all rows of the transaction; SET CONSTRAINTS ... IMMEDIATE
//! does so earlier. Whatever no statement's end has tested, the commit tests.
//!
//! 1. Who refers to a row holds a lock on its referenced columns that lasts until publication; who deletes the row or
//!    changes those columns holds them exclusively. Whoever is second waits for the first one's publication, and looks
//!    only then, at a snapshot taken under its lock: one of them sees the other.
//! 2. Of two writers of different columns of one foreign key, each holds all its columns before it looks.
//! 3. Tests see what is committed, whatever the transaction's snapshot shows. An action on a row that the snapshot does
//!    not show is [`Code::SerializationFailure`](weft_format::Code::SerializationFailure).
//! 4. A table gets a foreign key only while nobody writes to the table that it refers to, and every writer asks the
//!    table itself, not its snapshot, who refers to it.
//!
//! Concurrency: rows are locked in the order of their values. Crash: nothing of its own; staged rows are like others.
//!
//! Source: PostgreSQL, utils/adt/ri_triggers.c, for what is tested when; the tests of a statement come after all its
//! actions here, as the SQL standard has it.

mod actions;
mod changed;
mod children;
mod define;
mod modes;
mod parents;
mod points;
mod statement;

pub use changed::ChangedRows;

#[cfg(test)]
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests run on real threads")]
mod tests;
