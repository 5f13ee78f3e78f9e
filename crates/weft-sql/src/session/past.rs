//! Sessions at a moment of the past: transactions AS OF, the setting `system_time`, views of what was.
//!
//! ```text
//!   BEGIN READ ONLY AS OF '2026-11-27 10:00'       REPEATABLE READ on the snapshot of the last commit at or before it
//!   SET system_time = '2026-11-27 10:00'           every transaction begins so
//!   v FOR SYSTEM_TIME AS OF t                      each table below v is read at t, but for those that say another
//! ```
//!
//! 1. Such a transaction is read only and has the catalog of then; rights are those of now.

use sqlparser::ast::{Expr, SelectItem, SetExpr, Statement};
use weft_format::{Code, Error, Result, Timestamp};
use weft_kernel::IsolationLevel;

use super::modes::{Modes, modes_of, read_only};
use super::work::{Work, with_context};
use super::{Session, calls};
use crate::outcome::{Outcome, Tag};
use crate::parse::{AsOf, AsOfVerb};

/// BEGIN, START TRANSACTION or SET TRANSACTION ... AS OF.
pub(super) fn as_of(session: &mut Session, as_of: &AsOf) -> Result<Outcome> {
    let modes = modes_of(&as_of.modes)?;
    check_modes(&modes).map_err(|error| session.fail(error))?;
    let tag = match as_of.verb {
        AsOfVerb::Begin => "BEGIN",
        AsOfVerb::Start => "START TRANSACTION",
        AsOfVerb::Set => "SET",
    };
    match as_of.verb {
        AsOfVerb::Set => session.set_transaction_as_of(&as_of.at)?,
        _ if session.in_transaction() => session.begin_as_of(modes, &as_of.at)?,
        _ => {
            let ts = session.commit_of(&as_of.at)?;
            session.begin(Modes { read_only: Some(true), level: Some(IsolationLevel::RepeatableRead) })?;
            if let Err(error) = session.put_at(ts) {
                session.rollback()?;
                return Err(error);
            }
        }
    }
    Ok(Outcome::done(Tag::Done(tag)))
}

fn check_modes(modes: &Modes) -> Result<()> {
    if modes.read_only == Some(false) {
        return Err(read_only());
    }
    match modes.level {
        Some(IsolationLevel::Serializable) => {
            let message = "a serializable transaction AS OF is not supported";
            Err(Error::new(Code::FeatureNotSupported, message).hint("nothing changes at a moment of the past"))
        }
        _ => Ok(()),
    }
}

impl Session {
    /// BEGIN ... AS OF inside a transaction: in a text of several statements it takes over what has read nothing yet.
    fn begin_as_of(&mut self, modes: Modes, at: &Expr) -> Result<()> {
        let takes_over = self.block.as_ref().is_some_and(|block| block.implicit && !block.failed);
        self.begin(modes)?;
        if takes_over { self.set_transaction_as_of(at) } else { Ok(()) }
    }

    fn commit_of(&mut self, at: &Expr) -> Result<Timestamp> {
        self.in_statement(|work| {
            let at = called(work, at)?;
            with_context(work, |context| context.commit_of(&at))
        })
    }

    /// SET TRANSACTION AS OF: before anything was read.
    fn set_transaction_as_of(&mut self, at: &Expr) -> Result<()> {
        if !self.may_choose_snapshot("SET TRANSACTION AS OF")? {
            return Ok(());
        }
        let ts = self.commit_of(at)?;
        self.put_at(ts).map_err(|error| self.fail(error))
    }
}

/// An expression with the values of its calls in their places.
fn called(work: &mut Work<'_>, at: &Expr) -> Result<Expr> {
    let query = crate::dml::select(vec![SelectItem::UnnamedExpr(at.clone())], Vec::new(), None)?;
    let called = calls::substitute(work, &Statement::Query(Box::new(query)), "", &[])?;
    let item = match called {
        Statement::Query(query) => match *query.body {
            SetExpr::Select(mut select) => select.projection.pop(),
            _ => None,
        },
        _ => None,
    };
    match item {
        Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => Ok(expr),
        _ => Err(Error::internal("an expression stays one")),
    }
}
