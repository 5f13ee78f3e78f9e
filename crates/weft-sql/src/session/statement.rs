//! A statement that is kept: its tree, and the plan made for the catalog it last ran in.

use std::sync::Arc;

use sqlparser::ast::{Declare, DeclareType, SetExpr, Statement};
use weft_env::sync::RwLock;
use weft_format::DataType;

use super::asks::{has_constants, is_of_catalog, may_have_calls};
use super::planned::{Action, Plan};
use crate::activity::{HIDDEN, hides};
use crate::outcome::OutputColumn;
use crate::parse::Parsed;

/// A parsed statement with a plan that is made anew when the catalog changes. Shared by sessions and threads.
pub struct Prepared {
    source: Arc<str>,
    /// The text that others may see: the source, unless it may have a password in it.
    shown: Arc<str>,
    pub(super) parsed: Parsed,
    /// The query of DECLARE CURSOR, whose parameters are the statement's.
    query: Option<Arc<Prepared>>,
    pub(super) plan: RwLock<Option<Arc<Plan>>>,
    /// It may call functions that depend on the session.
    has_calls: bool,
    /// It has constants of the catalog or the session.
    has_constants: bool,
}

impl Prepared {
    pub(super) fn new(source: Arc<str>, parsed: Parsed) -> Prepared {
        let is_of_catalog = matches!(&parsed, Parsed::Sql { statement, .. } if is_of_catalog(statement));
        let has_constants = matches!(&parsed, Parsed::Sql { statement, .. } if has_constants(statement));
        let has_calls = has_constants || !is_of_catalog && may_have_calls(&source);
        let shown = if hides(&source) { HIDDEN.into() } else { Arc::clone(&source) };
        let query = declared_query(&parsed).map(|query| Arc::new(Prepared::new(Arc::clone(&source), query)));
        Prepared { source, shown, parsed, query, plan: RwLock::new(None), has_calls, has_constants }
    }

    /// How often the query engine made a physical plan of it, and whether one is kept; none when it has not run, or is
    /// not run by the query engine.
    pub fn planning(&self) -> Option<(u64, bool)> {
        match &self.plan.read().as_ref()?.action {
            Action::Query(query) => Some((query.planned_count(), query.is_warm())),
            _ => None,
        }
    }

    /// Whether it may be SET or RESET, or end what SET said.
    pub(super) fn may_set(&self) -> bool {
        matches!(&self.parsed, Parsed::Sql { statement, .. }
            if matches!(**statement, Statement::Set(_) | Statement::Reset(_) | Statement::Discard { .. }
                | Statement::Commit { .. } | Statement::Rollback { .. }))
    }

    /// The text that others may see.
    pub(super) fn shown(&self) -> &Arc<str> {
        &self.shown
    }

    /// Whether it has constants of the catalog or the session, which are put in first.
    pub(super) fn has_constants(&self) -> bool {
        self.has_constants
    }

    /// Whether it may call functions that depend on the session: then it is planned for each execution.
    pub(super) fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// The text (of all statements of the string that this one came in).
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// The columns that it returned or will return, as of its last plan; empty for statements without.
    pub fn columns(&self) -> Arc<[OutputColumn]> {
        match &*self.plan.read() {
            Some(plan) => Arc::clone(&plan.columns),
            None => Arc::new([]),
        }
    }

    /// The query of DECLARE CURSOR.
    pub(super) fn query(&self) -> Option<&Arc<Prepared>> {
        self.query.as_ref()
    }

    /// The types of its parameters, as of its last plan.
    pub fn param_types(&self) -> Vec<DataType> {
        if let Some(query) = &self.query {
            return query.param_types();
        }
        self.plan.read().as_ref().map_or_else(Vec::new, |plan| plan.param_types.clone())
    }

    /// Whether it is an INSERT of one tuple: what a template of literals must be.
    pub(super) fn is_template(&self) -> bool {
        let Parsed::Sql { statement, .. } = &self.parsed else { return false };
        let Statement::Insert(insert) = &**statement else { return false };
        insert
            .source
            .as_ref()
            .is_some_and(|query| matches!(&*query.body, SetExpr::Values(values) if values.rows.len() == 1))
    }

    /// Whether it is likely to come again, and cheap to keep: not DDL, not COPY, and not the like.
    pub(super) fn is_worth_keeping(&self) -> bool {
        match &self.parsed {
            Parsed::Sql { statement, .. } => matches!(
                **statement,
                Statement::Query(_)
                    | Statement::Insert(_)
                    | Statement::Update(_)
                    | Statement::Delete(_)
                    | Statement::StartTransaction { .. }
                    | Statement::Commit { .. }
                    | Statement::Rollback { .. }
            ),
            _ => false,
        }
    }
}

/// The query that DECLARE CURSOR names.
fn declared_query(parsed: &Parsed) -> Option<Parsed> {
    let Parsed::Sql { statement, .. } = parsed else { return None };
    let Statement::Declare { stmts } = &**statement else { return None };
    let [Declare { declare_type: Some(DeclareType::Cursor), for_query: Some(query), .. }] = stmts.as_slice() else {
        return None;
    };
    Some(Parsed::Sql { statement: Box::new(Statement::Query(query.clone())), method: None })
}
