//! The relation that a statement changes: a table, or the table behind a view.
//!
//! ```text
//!   v (x, y) AS SELECT a, b + 1 FROM t WHERE b > 0 WITH CHECK OPTION
//!   rows that are there   SELECT a AS x, b + 1 AS y, t.a AS b0, t.b AS b1 FROM t WHERE b > 0
//!   new rows              SELECT a AS x, b + 1 AS y, t.a AS c0, t.b AS c1, (b > 0) IS TRUE AS w0 FROM (...) AS t
//! ```

use std::borrow::Cow;

use sqlparser::ast::{Expr, Ident, ObjectName, Query, SelectItem, SelectItemQualifiedWildcardKind, TableWithJoins};
use weft_format::{Code, Error, Result};
use weft_kernel::TableRef;
use weft_kernel::table::LOCATION_NAME;

use super::syntax::{
    aliased, column, default_of, derived, exact, hidden, returning, select, stored_expression, target, target_relation,
    visible_ordinal,
};
use crate::binding::Tables;
use crate::expr::sequence_call;
use crate::parse::fold;
use crate::row::effective_default;
use crate::updatable::{UpdatableView, Verb};

/// What a statement changes.
pub(super) struct Target {
    pub(super) table: TableRef,
    view: Option<UpdatableView>,
    verb: Verb,
}

/// What is made of the rows below a view.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    /// Those that it shows.
    Shown,
    /// All, with what its check option says of them.
    New,
}

impl Target {
    /// The target of an UPDATE or DELETE, and the name its rows go by in expressions.
    pub(super) fn of(tables: &dyn Tables, from: &TableWithJoins, verb: Verb) -> Result<(Target, Ident)> {
        let (name, shown) = target(from)?;
        let found = Target::named(tables, &name, verb)?;
        let shown = match (&found.view, &from.relation) {
            (Some(view), sqlparser::ast::TableFactor::Table { alias: None, .. }) => exact(view.name()),
            _ => shown,
        };
        Ok((found, shown))
    }

    /// The relation of a name.
    pub(super) fn named(tables: &dyn Tables, name: &str, verb: Verb) -> Result<Target> {
        let view = tables.updatable(name, verb)?;
        let table = match &view {
            Some(view) => view.table.clone(),
            None => tables.table(name)?,
        };
        Ok(Target { table, view, verb })
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        self.view.as_ref().map_or(&self.table.def.name, UpdatableView::name)
    }

    /// Whether it is a view.
    pub(super) fn is_view(&self) -> bool {
        self.view.is_some()
    }

    /// The ordinal of a column that users see.
    pub(super) fn ordinal(&self, name: &ObjectName) -> Result<usize> {
        match &self.view {
            Some(view) => {
                let last = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
                view.ordinal(&last, self.verb)
            }
            None => visible_ordinal(name, &self.table.def.schema, &self.table.def.name),
        }
    }

    /// The ordinals of the columns that an INSERT names; of one that names none, at least as many as it has values in
    /// a row, as far as there are so many.
    pub(super) fn given(&self, names: &[ObjectName], width: usize) -> Result<Vec<usize>> {
        let schema = &self.table.def.schema;
        if let Some(view) = &self.view {
            let last = |name: &ObjectName| name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
            return view.given(&names.iter().map(last).collect::<Vec<_>>(), width);
        }
        if names.is_empty() {
            return Ok(schema.visible().map(|(ordinal, _)| ordinal).collect());
        }
        let named = names.iter().map(|name| self.ordinal(name)).collect::<Result<Vec<_>>>()?;
        if let Some(twice) = (1..named.len()).find(|&at| named[..at].contains(&named[at])) {
            let column = &schema.columns[named[twice]].name;
            return Err(Error::new(Code::DuplicateColumn, format!("column \"{column}\" specified more than once")));
        }
        Ok(named)
    }

    /// What an INSERT gives to a column that it does not name, as text.
    fn insert_default(&self, ordinal: usize) -> Result<Option<Cow<'_, str>>> {
        if let Some(view) = &self.view
            && let Some((_, text)) = view.insert_defaults()?.into_iter().find(|(known, _)| *known == ordinal)
        {
            return Ok(Some(Cow::Borrowed(text)));
        }
        Ok(effective_default(&self.table.def, ordinal))
    }

    /// Whether a column takes numbers from a sequence.
    pub(super) fn is_numbered(&self, ordinal: usize) -> Result<bool> {
        Ok(self.insert_default(ordinal)?.is_some_and(|text| sequence_call(&text).is_some()))
    }

    /// DEFAULT of a column: of an INSERT, or what SET makes of it.
    pub(super) fn default(&self, ordinal: usize) -> Result<Expr> {
        match (&self.view, self.verb) {
            (Some(view), Verb::Update) => stored_expression(view.update_default(ordinal).unwrap_or("NULL")),
            (Some(_), _) => stored_expression(self.insert_default(ordinal)?.as_deref().unwrap_or("NULL")),
            (None, _) => default_of(&self.table.def, ordinal),
        }
    }

    /// What the rows that are there are read from; of a view with these columns of its table, and where the rows lie.
    pub(super) fn relation(
        &self,
        from: TableWithJoins,
        shown: &Ident,
        ordinals: impl IntoIterator<Item = usize>,
        is_placed: bool,
    ) -> Result<TableWithJoins> {
        let Some(view) = &self.view else { return Ok(target_relation(from, shown)) };
        let name = |ordinal: usize| self.table.def.schema.columns[ordinal].name.clone();
        let place = is_placed.then(|| (LOCATION_NAME.to_owned(), hidden('p', 0)));
        let kept = ordinals.into_iter().map(|ordinal| (name(ordinal), hidden('b', ordinal))).chain(place).collect();
        let query = through(view, |alias| target_relation(from, alias), kept, Rows::Shown)?;
        Ok(derived(query, shown.clone(), &[]))
    }

    /// A column of the table, of a row that is there.
    pub(super) fn column(&self, shown: &Ident, ordinal: usize) -> Expr {
        match &self.view {
            Some(_) => column(shown, &hidden('b', ordinal)),
            None => column(shown, &self.table.def.schema.columns[ordinal].name),
        }
    }

    /// Where a row that is there lies.
    pub(super) fn place(&self, shown: &Ident) -> Expr {
        column(shown, &if self.view.is_some() { hidden('p', 0) } else { LOCATION_NAME.to_owned() })
    }

    /// The views whose conditions new rows must meet, in the order of [`Target::flags`].
    pub(super) fn checks(&self) -> Vec<String> {
        let layers = self.view.iter().flat_map(|view| view.layers.iter().rev());
        let checked = layers.filter(|layer| layer.is_checked && layer.selection.is_some());
        if self.verb == Verb::Delete { Vec::new() } else { checked.map(|layer| layer.name.clone()).collect() }
    }

    /// New rows, whose columns have the names of the table's, as something to return columns of; `others` are kept.
    pub(super) fn new_rows(
        &self,
        rows: Query,
        shown: &Ident,
        ordinals: std::ops::Range<usize>,
        others: &[String],
    ) -> Result<TableWithJoins> {
        let Some(view) = &self.view else { return Ok(derived(rows, shown.clone(), &[])) };
        let name = |ordinal: usize| self.table.def.schema.columns[ordinal].name.clone();
        let others = others.iter().map(|other| (other.clone(), other.clone()));
        let kept = ordinals.map(|ordinal| (name(ordinal), hidden('c', ordinal))).chain(others).collect();
        let query = through(view, |alias| derived(rows, alias.clone(), &[]), kept, Rows::New)?;
        Ok(derived(query, shown.clone(), &[]))
    }

    /// A column of the table, of a new row.
    pub(super) fn new_column(&self, shown: &Ident, ordinal: usize) -> SelectItem {
        let name = match &self.view {
            Some(_) => hidden('c', ordinal),
            None => self.table.def.schema.columns[ordinal].name.clone(),
        };
        aliased(column(shown, &name), &hidden('c', ordinal))
    }

    /// Whether a new row meets the views' conditions.
    pub(super) fn flags(&self, shown: &Ident) -> Vec<SelectItem> {
        let flag = |at: usize| aliased(column(shown, &hidden('w', at)), &hidden('w', at));
        (0..self.checks().len()).map(flag).collect()
    }

    /// RETURNING with `*` written out.
    pub(super) fn returning(&self, items: &[SelectItem], shown: &Ident) -> Vec<SelectItem> {
        let Some(view) = &self.view else { return returning(items, &self.table.def.schema, shown) };
        let mut out = Vec::new();
        for item in items {
            let all = match item {
                SelectItem::Wildcard(_) => true,
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    let last = name.0.last().and_then(|part| part.as_ident()).map(fold);
                    last.as_deref() == Some(&fold(shown))
                }
                _ => false,
            };
            match all {
                true => out.extend(view.names().map(|name| SelectItem::UnnamedExpr(column(shown, name)))),
                false => out.push(item.clone()),
            }
        }
        out
    }
}

/// The query of a view, from the views below it up; `kept` are columns of the rows at the bottom that stay in sight,
/// and the names that they get.
fn through(
    view: &UpdatableView,
    bottom: impl FnOnce(&Ident) -> TableWithJoins,
    kept: Vec<(String, String)>,
    rows: Rows,
) -> Result<Query> {
    let alias_of = |at: usize| exact(&view.layers[at].alias);
    let mut from = bottom(&alias_of(view.layers.len() - 1));
    let (mut names, mut flag_count) = (kept, 0);
    for (at, layer) in view.layers.iter().enumerate().rev() {
        let alias = alias_of(at);
        let mut items: Vec<SelectItem> =
            layer.columns.iter().map(|known| aliased(known.expr.clone(), &known.name)).collect();
        items.extend(names.iter().map(|(from, to)| aliased(column(&alias, from), to)));
        let mut selection = layer.selection.clone();
        if rows == Rows::New {
            let condition = selection.take().filter(|_| layer.is_checked);
            items.extend((0..flag_count).map(|flag| {
                let flag = hidden('w', flag);
                aliased(column(&alias, &flag), &flag)
            }));
            if let Some(condition) = condition {
                let flag = Expr::IsTrue(Box::new(Expr::Nested(Box::new(condition))));
                items.push(aliased(flag, &hidden('w', flag_count)));
                flag_count += 1;
            }
        }
        let query = select(items, vec![from], selection)?;
        if at == 0 {
            return Ok(query);
        }
        names.iter_mut().for_each(|(from, to)| from.clone_from(to));
        from = derived(query, alias_of(at - 1), &[]);
    }
    Err(Error::internal("a view has a layer"))
}
