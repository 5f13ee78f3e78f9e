//! What statements need beside what they name: the sequences of columns, the keys of constraints, what functions do.

use std::borrow::Cow;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, ObjectName, TableObject, Values};
use weft_format::Result;
use weft_kernel::ObjectKind;
use weft_pgcatalog::rights::Rights;

use super::need::Need;
use super::needs::{NESTING_MAX, Reader};
use super::numbers::number_of;
use super::schema_oid;
use super::scope::Scope;
use crate::functions;
use crate::parse::{fold, table_name};
use crate::resolve;
use crate::row::effective_default;
use crate::updatable::{self, Verb};

impl Reader<'_> {
    /// What a call of a function of users needs: EXECUTE, and what its statements need. These are read once in a
    /// statement, however often the function is called.
    pub(super) fn called(&mut self, name: &ObjectName) -> Result<()> {
        let Some(id) = functions::of_fixed_name(name) else { return Ok(()) };
        let object = self.txn.object_of(id).ok_or_else(|| functions::gone(id))?;
        if !self.in_view && !resolve::is_temporary(self.txn, object.namespace) {
            let schema = resolve::schema_name(self.txn, object.namespace);
            self.needs.schemas.push((schema_oid(object.namespace), schema));
        }
        if !self.called.insert(id) {
            return Ok(());
        }
        let function = functions::Function::of(&object)?;
        self.needs.relations.push(Need::of_object(&object, Rights::EXECUTE));
        // Who plans the statement refuses it then.
        if self.depth >= NESTING_MAX {
            return Ok(());
        }
        for statement in functions::statements_of(self.txn, &function)? {
            let mut inner = Reader {
                txn: self.txn,
                needs: std::mem::take(&mut self.needs),
                scope: Scope::default(),
                // A function in a view runs with the rights of who reads the view.
                as_owner_of: None,
                called: std::mem::take(&mut self.called),
                in_view: false,
                depth: self.depth + 1,
                ending: Vec::new(),
                at_top: true,
                links: Vec::new(),
            };
            let done = inner.statement(&statement);
            inner.links.iter().for_each(|link| link.hand_down(&mut inner.needs));
            self.needs = inner.needs;
            self.called = inner.called;
            if let ControlFlow::Break(error) = done {
                return Err(error);
            }
        }
        Ok(())
    }

    /// The numbers of the columns of a constraint.
    pub(super) fn columns_of_constraint(&self, table: &TableObject, name: &ObjectName) -> Vec<i64> {
        let TableObject::TableName(table) = table else { return Vec::new() };
        let Some(table) = table_name(table).ok().and_then(|name| resolve::table(self.txn, &name).ok()) else {
            return Vec::new();
        };
        let name = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
        if table.def.primary_key.as_deref() == Some(&name) {
            return table.def.schema.key.iter().map(|&ordinal| number_of(&table.def, ordinal)).collect();
        }
        let indexes = self.txn.indexes_of(&table);
        let found = indexes.iter().find(|index| index.def.name == name);
        let parts = found.into_iter().flat_map(|index| index.index.parts());
        parts
            .filter_map(|part| match part {
                weft_kernel::index::IndexPart::Column(ordinal) => Some(number_of(&table.def, *ordinal)),
                weft_kernel::index::IndexPart::Expression(_) => None,
            })
            .collect()
    }

    /// The sequences that give numbers to columns which the statement does not.
    pub(super) fn numbered(
        &mut self,
        name: &ObjectName,
        values: Option<&Values>,
        given: &[(String, i64)],
    ) -> Result<()> {
        let known_as = table_name(name)?;
        let through = updatable::find(self.txn, &known_as, Verb::Insert).ok().flatten();
        let (table, given) = match &through {
            Some(view) => {
                let number = |name: &str| Some(number_of(&view.table.def, view.ordinal(name, Verb::Insert).ok()?));
                let given = given.iter().map(|(name, _)| (name.clone(), number(name).unwrap_or(0)));
                (view.table.clone(), given.collect())
            }
            None => match resolve::table(self.txn, &known_as) {
                Ok(table) => (table, given.to_vec()),
                Err(_) => return Ok(()),
            },
        };
        let own = through.as_ref().map_or_else(Vec::new, |view| view.insert_defaults().unwrap_or_default());
        let rows = values.map_or(&[][..], |values| &values.rows);
        let is_default = |expr: &Expr| {
            matches!(expr, Expr::Identifier(word) if word.quote_style.is_none()
            && word.value.eq_ignore_ascii_case("default"))
        };
        for (ordinal, _) in table.def.schema.visible() {
            let number = number_of(&table.def, ordinal);
            let place = given.iter().position(|(_, known)| *known == number);
            let defaulted = place.is_none_or(|at| rows.iter().any(|row| row.get(at).is_some_and(is_default)));
            let is_identity = table.def.properties.contains_key(&format!("identity.{ordinal}"));
            let of_view = own.iter().find(|(known, _)| *known == ordinal).map(|(_, text)| Cow::Borrowed(*text));
            let of_table = effective_default(&table.def, ordinal).filter(|_| !is_identity);
            let Some(text) = of_view.or(of_table).filter(|_| defaulted) else { continue };
            if let Some(sequence) = crate::expr::sequence_call(&text)
                && let Some(object) = resolve::object(self.txn, ObjectKind::Sequence, &sequence)
            {
                self.needs.relations.push(Need::of_object(&object, Rights::USAGE));
            }
        }
        Ok(())
    }
}
