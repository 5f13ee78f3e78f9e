//! A row as a value, in the forms that an expression may want it in.
//!
//! ```text
//!   to_json(u), json_agg(u)     weft_json_row(false, 'id', u.id, 'name', u.name)
//!   SELECT u, u::text           weft_row_text('(', u.id, u.name)
//!   u IS NULL                   (u.id, u.name) IS NULL
//!   the same of a relation whose rows may be missing       CASE WHEN u.id IS NOT NULL THEN ... END
//! ```

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, SelectItem, SetExpr, Value,
};
use weft_expr::builtins::{JSON_ROW, ROW_TEXT};
use weft_sql::expr::call;
use weft_sql::queries::names::folded;

/// A row: its columns, and when it is there, if it may be missing.
pub(super) struct Row {
    pub(super) columns: Vec<(String, Expr)>,
    pub(super) is_there: Option<Expr>,
}

impl Row {
    /// As a json, with a line for each column if this is true.
    pub(super) fn into_json(self, is_pretty: Expr) -> Expr {
        let text = |name: String| Expr::value(Value::SingleQuotedString(name));
        let columns = self.columns.into_iter().flat_map(|(name, value)| [text(name), value]);
        let args = std::iter::once(is_pretty).chain(columns).collect();
        where_there(self.is_there, call(JSON_ROW, args))
    }

    /// As a text.
    pub(super) fn into_text(self) -> Expr {
        let first = Expr::value(Value::SingleQuotedString("(".to_owned()));
        let args = std::iter::once(first).chain(self.columns.into_iter().map(|(_, value)| value)).collect();
        where_there(self.is_there, call(ROW_TEXT, args))
    }

    /// As the row of its columns; a row that is missing is one of NULL.
    pub(super) fn as_tuple(&self) -> Expr {
        Expr::Tuple(self.columns.iter().map(|(_, value)| value.clone()).collect())
    }
}

/// A value, if a condition holds, else NULL.
pub(super) fn where_there(condition: Option<Expr>, result: Expr) -> Expr {
    let Some(condition) = condition else { return result };
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition, result }],
        else_result: None,
    }
}

pub(super) fn boolean(value: bool) -> Expr {
    Expr::value(Value::Boolean(value))
}

/// Whether an expression is a row that was written as a json.
pub(super) fn is_row(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_row(inner),
        Expr::Function(function) => name_of(function).is_some_and(|name| name == JSON_ROW),
        Expr::Case { conditions, else_result, .. } => {
            conditions.iter().any(|branch| is_row(&branch.result)) || else_result.as_deref().is_some_and(is_row)
        }
        Expr::Subquery(query) => match &*query.body {
            SetExpr::Select(select) => match &select.projection[..] {
                [SelectItem::UnnamedExpr(only) | SelectItem::ExprWithAlias { expr: only, .. }] => is_row(only),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

/// The name of a function, without a schema.
pub(super) fn name_of(function: &Function) -> Option<String> {
    match &function.name.0[..] {
        [part] => part.as_ident().map(folded),
        [schema, part] if schema.as_ident().is_some_and(|schema| folded(schema) == "pg_catalog") => {
            part.as_ident().map(folded)
        }
        _ => None,
    }
}

/// The places of the arguments that are written as a json where they are rows; none when a function takes no rows.
pub(super) fn rows_of(function: &Function, count: usize) -> Option<Vec<usize>> {
    Some(match name_of(function)?.as_str() {
        "row_to_json" | "to_json" | "to_jsonb" | "json_agg" | "jsonb_agg" | "array_to_json" => vec![0],
        "json_object_agg" | "jsonb_object_agg" => vec![1],
        "json_build_object" | "jsonb_build_object" => (0..count).filter(|place| place % 2 == 1).collect(),
        "json_build_array" | "jsonb_build_array" => (0..count).collect(),
        _ => return None,
    })
}

/// The parts of `ROW(a, b)` and `(a, b)`.
pub(super) fn parts_of(expr: &Expr) -> Option<Vec<FunctionArgExpr>> {
    match expr {
        Expr::Nested(inner) => parts_of(inner),
        Expr::Tuple(columns) => Some(columns.iter().cloned().map(FunctionArgExpr::Expr).collect()),
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("row") => match &function.args {
            FunctionArguments::List(list) => list.args.iter().map(plain_arg).collect(),
            FunctionArguments::None => Some(Vec::new()),
            FunctionArguments::Subquery(_) => None,
        },
        _ => None,
    }
}

fn plain_arg(arg: &FunctionArg) -> Option<FunctionArgExpr> {
    match arg {
        FunctionArg::Unnamed(arg) => Some(arg.clone()),
        _ => None,
    }
}
