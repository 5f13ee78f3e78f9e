//! The periods that a statement reads versions of, when it runs: FOR SYSTEM_TIME FROM, BETWEEN and ALL.
//!
//! ```text
//!   commit   41         42         43         44            published: 44
//!   wall     10:00:01   10:00:09   10:00:10   10:00:13
//!
//!   FROM 10:00:09 TO 10:00:13        after 42, to 43        BETWEEN the same: to 44
//!   FROM 42 TO 44                    after 42, to 43
//!   FROM 10:00:05 TO '2099-01-01'    after 41, to 44        what is to come has not happened
//!   ALL                              after the table's floor, to 44
//! ```
//!
//! 1. A version is of a period when it began before the period's end (BETWEEN: or at it) and had not ended at its
//!    beginning. Of a period that ends before it begins, or at its beginning (BETWEEN: before it alone), there is no
//!    version, nor of one with NULL for a bound.
//! 2. What a period looks behind is registered before the table's floor is tested, and kept while the binding lives.

use std::sync::Arc;

use sqlparser::ast::Expr;
use weft_format::{Code, Error, Result, Timestamp};
use weft_kernel::TableRef;
use weft_kernel::table::Period;

use crate::binding::{PastTable, When};
use crate::context::StatementContext;
use crate::moments::Bound;
use crate::parse::PeriodKind;

/// A floor that rose since it was asked for is asked for again, so often at most.
const FLOOR_TRIES_MAX: u32 = 100;

impl StatementContext<'_> {
    /// The commits of a period with these bounds.
    pub(crate) fn period(&self, kind: PeriodKind, bounds: &[&Expr]) -> Result<When> {
        match (kind, bounds) {
            (PeriodKind::All, _) => Ok(When::All),
            (PeriodKind::AtNot, [at, not]) => {
                let (at, not) = (self.commit_of(at)?, self.commit_of(not)?);
                let period = Period { after: at, to: at, except: Some(not) };
                // Rows that came since then are known by their beginning, and yet: what is not kept is not told.
                let oldest = self.txn.past(at.min(not))?;
                Ok(When::Period(Some((oldest, period))))
            }
            (_, [from, to]) => {
                let (from, to) = (self.bound_of(from)?, self.bound_of(to)?);
                let (Some(from), Some(to)) = (from, to) else { return Ok(When::Period(None)) };
                let (after, last) = (self.last_at(from)?, self.last_at(to)?);
                let last = if kind == PeriodKind::From { self.before(to, last) } else { last };
                let is_turned = match (from, to) {
                    (Bound::Wall(from), Bound::Wall(to)) => from > to || from == to && kind == PeriodKind::From,
                    _ => false,
                };
                if is_turned || last < after {
                    return Ok(When::Period(None));
                }
                let period = Period { after, to: last, except: None };
                Ok(When::Period(Some((self.txn.past(after)?, period))))
            }
            _ => Err(Error::internal("a period has two bounds")),
        }
    }

    /// The last commit at or before a bound; what is to come has not happened.
    fn last_at(&self, bound: Bound) -> Result<Timestamp> {
        let engine = self.txn.engine();
        match bound {
            Bound::Commit(commit) => Ok(commit.min(engine.published())),
            Bound::Wall(micros) => engine.commit_by(micros),
        }
    }

    /// The last commit before a bound, given the last one at it or before it.
    fn before(&self, bound: Bound, last: Timestamp) -> Timestamp {
        let is_at = match bound {
            Bound::Commit(commit) => commit == last,
            Bound::Wall(micros) => self.txn.engine().commit_time(last) == Some(micros),
        };
        if is_at { Timestamp(last.0.saturating_sub(1)) } else { last }
    }

    /// A table as it is read at a moment, or of a period.
    pub(crate) fn past_table(&self, table: &TableRef, when: &When) -> Result<PastTable> {
        let versions = |period: Period| -> Result<_> {
            let (_, mut view) = self.view_of(table)?;
            // What is not committed is no version.
            view.own = None;
            Ok(Some((view, period)))
        };
        let (table, engine) = (table.clone(), Arc::clone(self.txn.engine()));
        match when {
            When::Commit(snapshot) => {
                let (view, at) = (Some(snapshot.view(&table)?), snapshot.read_ts());
                let period = Period { after: at, to: at, except: None };
                let versions = if table.versions().is_ok() { versions(period)? } else { None };
                Ok(PastTable { table, engine, view, versions, kept: None })
            }
            When::Period(Some((oldest, period))) => {
                table.versions()?;
                oldest.view(&table)?;
                Ok(PastTable { versions: versions(*period)?, table, engine, view: None, kept: None })
            }
            When::Period(None) => {
                table.versions()?;
                let none = Period { after: self.txn.read_ts(), to: Timestamp(0), except: None };
                Ok(PastTable { versions: versions(none)?, table, engine, view: None, kept: None })
            }
            When::All => {
                table.versions()?;
                for _ in 0..FLOOR_TRIES_MAX {
                    let floor = table.horizon().floor();
                    let oldest = match self.txn.past(floor).and_then(|oldest| oldest.view(&table).map(|_| oldest)) {
                        Ok(oldest) => oldest,
                        // It rose meanwhile.
                        Err(error) if error.code() == Code::SnapshotTooOld => continue,
                        Err(error) => return Err(error),
                    };
                    let all = Period { after: floor, to: Timestamp::MAX, except: None };
                    let kept = Some(Arc::new(oldest));
                    return Ok(PastTable { versions: versions(all)?, table, engine, view: None, kept });
                }
                Err(Error::internal("a floor does not rise for ever"))
            }
        }
    }
}
