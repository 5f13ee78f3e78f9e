//! Tables as they were: FOR SYSTEM_TIME AS OF in a query.
//!
//! ```text
//!   FROM t FOR SYSTEM_TIME AS OF now() - interval '1 day' old, t
//!   FROM "t\u{2}0" old, t                       moments: now() - interval '1 day'
//!   a plan scans t at moment 0; an execution says which commit that is
//! ```
//!
//! 1. The moment is part of the scan, never a condition above it: joins and subqueries mean what they mean of a table
//!    that has these rows.
//! 2. A moment is known when a query runs, once for all that name it alike: a plan is good for any.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, ObjectName, Query, TableAlias, TableFactor, TableVersion, Value as SqlValue, Visit, VisitMut, Visitor,
    VisitorMut,
};
use weft_format::{Code, DataType, Error, Result};

use crate::expr::data_type_of;
use crate::parse::{fold, table_name};

/// Between the name of a table and the number of a moment: no SQL text has that character there.
const MARK: char = '\u{2}';

/// Takes the moments out of a query: what its tables are called says which they are read at.
pub fn take_moments(query: &mut Query) -> Result<Vec<Expr>> {
    let mut taking = Taking { moments: Vec::new(), with: Vec::new() };
    match VisitMut::visit(query, &mut taking) {
        ControlFlow::Continue(()) => Ok(taking.moments),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The name of a table, and the moment at which it is read.
pub fn moment_of(name: &str) -> (&str, Option<usize>) {
    match name.rsplit_once(MARK) {
        Some((name, number)) => (name, number.parse().ok()),
        None => (name, None),
    }
}

struct Taking {
    moments: Vec<Expr>,
    /// The names of the WITH clauses in sight.
    with: Vec<Vec<String>>,
}

impl VisitorMut for Taking {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.with.push(tables.map(|table| fold(&table.alias.name)).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.with.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        match self.take(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Taking {
    fn take(&mut self, factor: &mut TableFactor) -> Result<()> {
        let TableFactor::Table { name, alias, version, args, .. } = factor else { return Ok(()) };
        let Some(version) = version.take() else { return Ok(()) };
        let TableVersion::ForSystemTimeAsOf(moment) = version else {
            return Err(Error::internal("other clauses are refused by the parser"));
        };
        let known_as = table_name(name)?;
        if args.is_some() || self.with.iter().flatten().any(|with| *with == known_as) {
            let message = format!("\"{}\" has no history", crate::resolve::shown(&known_as));
            return Err(Error::new(Code::WrongObjectType, message).hint("FOR SYSTEM_TIME stands behind a table"));
        }
        let number = self.moments.iter().position(|known| *known == moment).unwrap_or_else(|| {
            self.moments.push(moment);
            self.moments.len() - 1
        });
        let Some(last) = name.0.last_mut().and_then(|part| part.as_ident().cloned().map(|ident| (part, ident))) else {
            return Err(Error::internal("a table has a name"));
        };
        let (part, ident) = last;
        let own = fold(&ident);
        if alias.is_none() {
            let name = Ident::with_quote('"', &own);
            *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
        }
        let marked = Ident { value: format!("{own}{MARK}{number}"), quote_style: Some('"'), span: ident.span };
        *part = ObjectName::from(vec![marked]).0.remove(0);
        Ok(())
    }
}

/// The types of parameters, as the moments of a query say them: one that is cast has the type that it is cast to.
pub(super) fn parameter_types(moments: &[Expr], types: &mut Vec<Option<DataType>>) {
    struct Parameters<'a>(&'a mut Vec<Option<DataType>>);
    impl Parameters<'_> {
        fn note(&mut self, expr: &Expr, known: Option<DataType>) {
            let Expr::Value(value) = expr else { return };
            let SqlValue::Placeholder(name) = &value.value else { return };
            let Ok(number @ 1..=65_535) = name.trim_start_matches('$').parse::<usize>() else { return };
            if self.0.len() < number {
                self.0.resize(number, None);
            }
            self.0[number - 1] = self.0[number - 1].or(known);
        }
    }
    impl Visitor for Parameters<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Cast { expr: inner, data_type, .. } => self.note(inner, data_type_of(data_type).ok()),
                other => self.note(other, None),
            }
            ControlFlow::Continue(())
        }
    }
    let mut found = Parameters(types);
    for moment in moments {
        let _ = moment.visit(&mut found);
    }
}
