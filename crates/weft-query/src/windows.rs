//! Named windows, written out where they are used.
//!
//! ```text
//!   rank() OVER (w ORDER BY b) ... WINDOW w AS (PARTITION BY a)    becomes    rank() OVER (PARTITION BY a ORDER BY b)
//!   count(*) OVER v ... WINDOW v AS (w ROWS CURRENT ROW)           becomes    count(*) OVER (PARTITION BY a ROWS ...)
//! ```
//!
//! 1. A window that names another takes its PARTITION BY, and its ORDER BY unless it has none; it overrides neither.
//! 2. Only `OVER name`, without parentheses, takes a frame.
//! 3. A window names those before it in the same WINDOW clause; the clause holds for its SELECT and that query's
//!    ORDER BY, not for queries inside.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, Ident, NamedWindowDefinition, NamedWindowExpr, Query, Select, SetExpr, VisitorMut, WindowSpec,
    WindowType,
};
use weft_format::{Code, Error, Result};
use weft_walk::VisitMut;

use weft_sql::queries::names::folded;

use super::frame_marks;

/// Writes out the named windows of a query.
pub(crate) fn expand_windows(query: &mut Query) -> Result<()> {
    match VisitMut::visit(query, &mut Expander::default()) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

type Windows = Vec<(String, WindowSpec)>;

/// The windows of the queries and SELECTs around, innermost last.
#[derive(Default)]
struct Expander {
    around: Vec<Windows>,
}

impl VisitorMut for Expander {
    type Break = Error;

    /// ORDER BY is visited with its query, not with the SELECT that has the windows.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let named: &[NamedWindowDefinition] = match &*query.body {
            SetExpr::Select(select) => &select.named_window,
            _ => &[],
        };
        self.enter(named)
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.around.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.enter(&select.named_window)
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.around.pop();
        select.named_window.clear();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let Expr::Function(Function { over: Some(over), .. }) = expr else { return ControlFlow::Continue(()) };
        let windows = self.around.last().map_or(&[][..], |windows| windows);
        let written = match over {
            WindowType::NamedWindow(name) => find(windows, name).cloned(),
            WindowType::WindowSpec(spec) => written_out(windows, spec),
        };
        let written = written.and_then(|mut spec| frame_marks::marked(&mut spec).map(|()| spec));
        match written {
            Ok(spec) => {
                *over = WindowType::WindowSpec(spec);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Expander {
    fn enter(&mut self, named: &[NamedWindowDefinition]) -> ControlFlow<Error> {
        match windows_of(named) {
            Ok(windows) => {
                self.around.push(windows);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

fn windows_of(named: &[NamedWindowDefinition]) -> Result<Windows> {
    let mut windows: Windows = Vec::with_capacity(named.len());
    for NamedWindowDefinition(name, window) in named {
        let shown = folded(name);
        if windows.iter().any(|(known, _)| *known == shown) {
            return Err(Error::new(Code::WindowingError, format!("window \"{shown}\" is already defined")));
        }
        let spec = match window {
            NamedWindowExpr::NamedWindow(other) => find(&windows, other)?.clone(),
            NamedWindowExpr::WindowSpec(spec) => written_out(&windows, spec)?,
        };
        windows.push((shown, spec));
    }
    Ok(windows)
}

fn find<'a>(windows: &'a [(String, WindowSpec)], name: &Ident) -> Result<&'a WindowSpec> {
    let name = folded(name);
    let known = windows.iter().find(|(known, _)| *known == name).map(|(_, spec)| spec);
    known.ok_or_else(|| Error::new(Code::UndefinedObject, format!("window \"{name}\" does not exist")))
}

/// Invariants 1 and 2.
fn written_out(windows: &[(String, WindowSpec)], spec: &WindowSpec) -> Result<WindowSpec> {
    let Some(name) = &spec.window_name else { return Ok(spec.clone()) };
    let base = find(windows, name)?;
    let shown = folded(name);
    let refuse = |message: String| Err(Error::new(Code::WindowingError, message));
    if !spec.partition_by.is_empty() {
        return refuse(format!("cannot override PARTITION BY clause of window \"{shown}\""));
    }
    if !spec.order_by.is_empty() && !base.order_by.is_empty() {
        return refuse(format!("cannot override ORDER BY clause of window \"{shown}\""));
    }
    if base.window_frame.is_some() {
        let error = Error::new(Code::WindowingError, format!("cannot copy window \"{shown}\" because it has a frame"));
        return Err(error.hint("write OVER without parentheses, or a window without a frame"));
    }
    let order_by = if spec.order_by.is_empty() { &base.order_by } else { &spec.order_by };
    Ok(WindowSpec {
        window_name: None,
        partition_by: base.partition_by.clone(),
        order_by: order_by.clone(),
        window_frame: spec.window_frame.clone(),
    })
}
