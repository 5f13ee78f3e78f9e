//! What the views between a statement and its table make of the table's rows, bound.
//!
//! ```text
//!   v (x, y) AS SELECT a, b + 1 FROM t WHERE b > 0 WITH CHECK OPTION
//!     columns  x: value 0 of the row, y: value 1 and 1        checks  v: value 1 > 0
//! ```

use sqlparser::ast::Expr as SqlExpr;
use weft_format::{Code, Error, Result, Value};

use super::stored::RowDefault;
use crate::expr::{EvalContext, Expr, Scope};
use crate::updatable::{UpdatableView, Verb};

/// A column of a view over the values of a row of the table; or what the point engine lacks to compute it.
pub(super) type LensColumn = (String, std::result::Result<Expr, String>);

/// One view.
pub(super) struct LensLayer {
    /// What its query calls the relation below.
    pub(super) alias: String,
    pub(super) columns: Vec<LensColumn>,
    /// Its WHERE, over the columns of what is below.
    pub(super) selection: Option<SqlExpr>,
}

/// Some views, one over the other, the last of them over the table.
pub(super) struct Lens {
    pub(super) view: UpdatableView,
    pub(super) verb: Verb,
    pub(super) layers: Vec<LensLayer>,
    /// What new rows must meet, of the inner views first: the view, and its condition.
    pub(super) checks: Vec<(String, Expr)>,
    /// By ordinal: what `SET column = DEFAULT` makes of a column.
    pub(super) update_defaults: Vec<Option<RowDefault>>,
}

impl Lens {
    /// The columns of a layer behind a name and behind those of another scope; rows have `width` values.
    pub(super) fn scope(&self, at: usize, name: &str, width: usize, before: Scope) -> Scope {
        before.with_computed(name, width, &self.layers[at].columns)
    }

    /// The ordinal of a column of a layer that is a column of the table.
    pub(super) fn plain(&self, at: usize, name: &str) -> Option<usize> {
        let (_, value) = self.layers[at].columns.iter().find(|(known, _)| known == name)?;
        value.as_ref().ok()?.as_column()
    }

    /// Tests a new row.
    pub(super) fn check(&self, values: &[Value], eval: &EvalContext<'_>) -> Result<()> {
        for (view, condition) in &self.checks {
            if condition.truth(values, eval)? != Some(true) {
                return Err(violates(view));
            }
        }
        Ok(())
    }
}

/// The error of a new row that a view would not show.
pub(crate) fn violates(view: &str) -> Error {
    let message = format!("new row violates check option for view \"{view}\"");
    Error::new(Code::CheckOptionViolation, message)
}
