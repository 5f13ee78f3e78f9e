//! Tables as they were: FOR SYSTEM_TIME in a query.
//!
//! ```text
//!   FROM t FOR SYSTEM_TIME AS OF now() - interval '1 day' old, t, t FOR SYSTEM_TIME ALL h
//!   FROM "t\u{2}0" old, t, "t\u{2}p1" h          moments: now() - interval '1 day', all
//!   a plan scans t at moment 0, and its versions of period 1; an execution says which commits these are
//! ```
//!
//! 1. The moment is part of the scan, never a condition above it: joins and subqueries mean what they mean of a table
//!    that has these rows.
//! 2. A moment is known when a query runs, once for all that name it alike: a plan is good for any.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, ObjectName, Query, TableAlias, TableFactor, TableVersion, Value as SqlValue, Visitor, VisitorMut,
};
use weft_format::{Code, DataType, Error, Result};
use weft_walk::{Visit, VisitMut};

use crate::expr::data_type_of;
use crate::parse::{fold, period_of, table_name};

/// Between the name of a table and the number of a moment: no SQL text has that character there.
const MARK: char = '\u{2}';
/// In front of the number of a period.
const PERIOD: char = 'p';

/// What of the past is read of a table: the number of a moment, or of a period, among those of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReadAt {
    /// The rows of a moment.
    Moment(usize),
    /// The versions of a period.
    Period(usize),
}

impl ReadAt {
    /// The number.
    pub fn number(self) -> usize {
        match self {
            ReadAt::Moment(number) | ReadAt::Period(number) => number,
        }
    }
}

/// The columns that say when a version began and ended, beside those of the table: its name for them, and by which
/// commit.
pub const PERIOD_COLUMNS: [&str; 4] = ["row_start", "row_end", "row_start_commit", "row_end_commit"];

/// Takes the moments out of a query: what its tables are called says which they are read at.
pub fn take_moments(query: &mut Query) -> Result<Vec<Expr>> {
    let mut taking = Taking { moments: Vec::new(), with: Vec::new() };
    match VisitMut::visit(query, &mut taking) {
        ControlFlow::Continue(()) => Ok(taking.moments),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The name of a table, and what of the past is read of it.
pub fn moment_of(name: &str) -> (&str, Option<ReadAt>) {
    let Some((name, number)) = name.rsplit_once(MARK) else { return (name, None) };
    let read_at = match number.strip_prefix(PERIOD) {
        Some(number) => number.parse().ok().map(ReadAt::Period),
        None => number.parse().ok().map(ReadAt::Moment),
    };
    (name, read_at)
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
        let period = if period_of(&moment).is_some() { PERIOD.to_string() } else { String::new() };
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
        let marked = Ident { value: format!("{own}{MARK}{period}{number}"), quote_style: Some('"'), span: ident.span };
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
