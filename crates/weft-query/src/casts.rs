//! Calls and groups that differ in casts only, which the planner takes for one: its names leave casts out.
//!
//! ```text
//!   SELECT max(a::int), max(a)                  SELECT max(CASE 1 WHEN 1 THEN a::int END), max(a)
//!   SELECT a::int, a::bigint ... GROUP BY 1, 2  SELECT a::int, CASE 1 WHEN 1 THEN a::bigint END ... GROUP BY 1, 2
//! ```
//!
//! 1. What is written alike stays alike wherever it stands in a query: in its list, GROUP BY, HAVING and ORDER BY.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    CaseWhen, Expr, GroupByExpr, OrderBy, Query, Select, SelectItem, SetExpr, Value, Visitor, VisitorMut,
};
use weft_walk::{Visit, VisitMut};

use weft_sql::queries::has_of_its_own;

use super::dependent::is_aggregate;

/// Writes the calls and groups of a query so that they are told apart.
pub(super) fn tell_apart(query: &mut Query) {
    match &mut *query.body {
        SetExpr::Select(select) => in_select(select, query.order_by.as_mut()),
        other => in_set(other),
    }
}

fn in_set(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => in_select(select, None),
        SetExpr::SetOperation { left, right, .. } => {
            in_set(left);
            in_set(right);
        }
        _ => {}
    }
}

fn in_select(select: &mut Select, mut order: Option<&mut OrderBy>) {
    let mut found = Found::default();
    let _ = Visit::visit(&select.projection, &mut found);
    if let Some(having) = &select.having {
        let _ = Visit::visit(having, &mut found);
    }
    if let Some(order) = &order {
        let _ = Visit::visit(&**order, &mut found);
    }
    found.take_groups(select);
    if !found.has_casts {
        return;
    }
    let mut written = Written { numbers: found.numbers(), depth: 0, inside: 0 };
    if written.numbers.is_empty() {
        return;
    }
    let _ = VisitMut::visit(&mut select.projection, &mut written);
    let _ = VisitMut::visit(&mut select.having, &mut written);
    let _ = VisitMut::visit(&mut select.group_by, &mut written);
    if let Some(order) = &mut order {
        let _ = VisitMut::visit(&mut **order, &mut written);
    }
}

/// The calls and groups of a query, without its subqueries.
#[derive(Default)]
struct Found {
    /// How they are written, each once.
    texts: Vec<(String, Expr)>,
    known: HashSet<String>,
    has_casts: bool,
    depth: usize,
}

impl Found {
    fn add(&mut self, expr: &Expr) {
        let text = expr.to_string();
        if self.known.insert(text.clone()) {
            self.texts.push((text, expr.clone()));
        }
    }

    fn take_groups(&mut self, select: &Select) {
        let GroupByExpr::Expressions(keys, _) = &select.group_by else { return };
        for key in keys {
            let place = match key {
                Expr::Value(value) => match &value.value {
                    Value::Number(digits, _) => digits.parse::<usize>().ok(),
                    _ => None,
                },
                _ => None,
            };
            let item = place.and_then(|place| select.projection.get(place.checked_sub(1)?));
            let key = match item {
                Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => expr,
                _ => key,
            };
            let _ = Visit::visit(key, self);
            self.add(key);
        }
    }

    /// A number for each text that another one is taken for; those without casts stay as they are.
    fn numbers(&self) -> HashMap<String, usize> {
        let mut taken: HashMap<String, Vec<&str>> = HashMap::new();
        for (text, expr) in &self.texts {
            let bare = bare(expr);
            let texts = taken.entry(bare).or_default();
            if has_of_its_own(expr, is_cast) { texts.push(text) } else { texts.insert(0, text) }
        }
        let others = taken.into_values().flat_map(|texts| texts.into_iter().enumerate().skip(1));
        others.map(|(number, text)| (text.to_owned(), number)).collect()
    }
}

impl Visitor for Found {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        match expr {
            cast if is_cast(cast) => self.has_casts = true,
            Expr::Function(call) if call.over.is_some() || is_aggregate(expr) => self.add(expr),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn is_cast(expr: &Expr) -> bool {
    matches!(expr, Expr::Cast { .. } | Expr::TypedString(_))
}

/// An expression as the planner names it: without casts, and without the relations of its columns, which it may say or
/// not.
fn bare(expr: &Expr) -> String {
    struct Bared;
    impl VisitorMut for Bared {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            let made = match expr {
                Expr::Cast { expr, .. } => Some((**expr).clone()),
                Expr::Nested(inner) => Some((**inner).clone()),
                Expr::TypedString(typed) => Some(Expr::Value(typed.value.clone())),
                Expr::CompoundIdentifier(parts) => parts.last().cloned().map(Expr::Identifier),
                _ => None,
            };
            if let Some(made) = made {
                *expr = made;
            }
            ControlFlow::Continue(())
        }
    }
    let mut bared = expr.clone();
    let _ = VisitMut::visit(&mut bared, &mut Bared);
    bared.to_string()
}

/// Writes what has a number so that its name has it.
struct Written {
    numbers: HashMap<String, usize>,
    depth: usize,
    /// How many expressions are around within one that was written anew, it included: what is in there stays.
    inside: usize,
}

impl VisitorMut for Written {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.inside > 0 {
            self.inside += 1;
        } else if self.depth == 0
            && !matches!(expr, Expr::Value(_))
            && let Some(number) = self.numbers.get(&expr.to_string())
        {
            let _ = VisitMut::visit(expr, &mut Numbered { number: *number, depth: 0 });
            self.inside = 1;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> ControlFlow<()> {
        self.inside = self.inside.saturating_sub(1);
        ControlFlow::Continue(())
    }
}

/// Puts a number beside each cast.
struct Numbered {
    number: usize,
    depth: usize,
}

impl VisitorMut for Numbered {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0 && is_cast(expr) {
            *expr = numbered(self.number, expr.clone());
        }
        ControlFlow::Continue(())
    }
}

/// An expression with a number in its name: `CASE n WHEN n THEN expr END`.
pub(super) fn numbered(number: usize, expr: Expr) -> Expr {
    let number = || Expr::value(Value::Number(number.to_string(), false));
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: Some(Box::new(number())),
        conditions: vec![CaseWhen { condition: number(), result: expr }],
        else_result: None,
    }
}
