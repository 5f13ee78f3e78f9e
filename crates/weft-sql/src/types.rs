//! Types that users have made: their names in statements, and what is known of them.
//!
//! ```text
//!   CREATE TABLE t (a mood DEFAULT 'ok'::s.mood)
//!   CREATE TABLE t (a "weft.enum.00a100004005" DEFAULT 'ok'::"weft.enum.00a100004005")
//! ```
//!
//! What binds a statement knows types by names that need no catalog. So before it is bound, and before anything of it
//! is stored, the names of users' types are replaced by names that say which enum they mean; what is shown of stored
//! texts has the types' own names again.
//!
//! Domains are named by the numbers of their objects; a cast to one becomes, before it is bound, a call that tests what
//! was cast to the base type (`domains`). Views keep the cast.
//!
//! 1. Labels that a transaction adds to an enum from before are known once it has committed, and not before: else
//!    another could store one that does not come to be.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ArrayElemTypeDef, CastKind, CreateIndex, CreateTable,
    CreateView, DataType as SqlType, Expr, Ident, ObjectName, Query, Statement, TableFactor, TypedString, VisitorMut,
};
use weft_expr::domains as known_domains;
use weft_format::enums::{self, EnumId, Labels, Owner};
use weft_format::{Code, DataType, Error, Result, Schema};
use weft_kernel::{Object, ObjectKind, Transaction};
use weft_pgcatalog::{FIRST, quoted};
use weft_walk::VisitMut;

use crate::domains::{self, Resolved};
use crate::expr::data_type_of;
use crate::functions;
use crate::parse::table_name;
use crate::resolve;
use crate::row::bind_rules;

/// The labels of an enum, as its object has them.
pub(crate) const LABELS: &str = "labels";
/// Its number, sixteen to a digit.
pub(crate) const ID: &str = "id";

/// The enum of an object of the catalog.
pub(crate) fn id_of(object: &Object) -> Result<EnumId> {
    let damaged = || Error::corrupt(format!("the catalog's entry of type \"{}\" is damaged", object.name));
    let bits = object.property(ID).and_then(|digits| u64::from_str_radix(digits, 16).ok()).ok_or_else(damaged)?;
    Ok(EnumId::new(bits))
}

/// The labels of the enum of an object.
pub(crate) fn labels_of(object: &Object) -> Result<Labels> {
    Labels::from_text(&object.name, object.property(LABELS).unwrap_or_default())
}

/// Makes the enums known that a transaction sees (types 1).
pub(crate) fn note_all(txn: &Transaction) -> Result<()> {
    enums(txn).try_for_each(|(_, first)| note(txn, &first))
}

/// The enums that a transaction sees, and what they were before it changed them.
fn enums(txn: &Transaction) -> impl Iterator<Item = (Arc<Object>, Arc<Object>)> {
    txn.objects_of(ObjectKind::Type).into_iter().filter(|(object, _)| !domains::is_domain(object))
}

/// Makes an enum known.
pub(crate) fn note(txn: &Transaction, object: &Object) -> Result<()> {
    let owner: Owner = txn.engine().clone();
    let text = object.property(LABELS).unwrap_or_default();
    enums::note(id_of(object)?, FIRST + object.id, &object.name, text, &owner)
}

/// Keeps the types that a definition names from going while it is made; `text` is the definition with fixed names.
pub(crate) fn hold(txn: &mut Transaction, text: &dyn std::fmt::Display) -> Result<()> {
    if !txn.has_objects(ObjectKind::Type) {
        return Ok(());
    }
    let text = text.to_string();
    for (object, _) in txn.objects_of(ObjectKind::Type) {
        if domains::is_domain(&object) && text.contains(&domains::fixed_name(object.id).to_string()) {
            txn.hold_object(&object)?;
        }
    }
    hold_those(txn, |id| text.contains(&id.fixed_name()))
}

/// The same of the types of a table's columns, which a query or another table may have given it.
pub(crate) fn hold_columns(txn: &mut Transaction, schema: &Schema) -> Result<()> {
    if !txn.has_objects(ObjectKind::Type) {
        return Ok(());
    }
    let plain = |data_type: DataType| data_type.element().unwrap_or(data_type);
    hold_those(txn, |id| schema.columns.iter().any(|column| plain(column.data_type) == DataType::Enum(id)))
}

fn hold_those(txn: &mut Transaction, is_named: impl Fn(EnumId) -> bool) -> Result<()> {
    for (object, _) in enums(txn).collect::<Vec<_>>() {
        if is_named(id_of(&object)?) {
            txn.hold_object(&object)?;
        }
    }
    Ok(())
}

/// The type of a name that users gave, if there is one.
pub(crate) fn find(txn: &Transaction, name: &ObjectName) -> Option<Arc<Object>> {
    let name = table_name(name).ok()?;
    resolve::no_relation(txn, ObjectKind::Type, &name)
}

/// The name of an enum that needs no catalog.
pub(crate) fn fixed_name(id: EnumId) -> ObjectName {
    ObjectName::from(vec![Ident::with_quote('"', id.fixed_name())])
}

/// A users' type, as a fixed name says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// An enum.
    Enum(EnumId),
    /// A domain: the number of its object.
    Domain(u32),
    /// No type, but a function that is called: the number of its object.
    Function(u32),
}

impl Named {
    /// What a fixed name means.
    fn of(name: &str) -> Option<Named> {
        let of_enum = EnumId::of_fixed_name(name).map(Named::Enum);
        let of_domain = || domains::of_fixed_name(name).map(Named::Domain);
        of_enum.or_else(of_domain).or_else(|| functions::of_fixed_text(name).map(Named::Function))
    }
}

/// A stored text as users read it, with what `name_of` calls the types: their names with their schemas, so that the
/// text means the same with whatever search path it is read.
pub(crate) fn shown<'t>(text: &'t str, name_of: &dyn Fn(Named) -> String) -> Cow<'t, str> {
    const BEGIN: &str = "\"weft.";
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        let (before, found) = rest.split_at(at);
        let name = found[1..].split('"').next().unwrap_or_default();
        out.push_str(before);
        let named = Named::of(name);
        match named {
            Some(named) => out.push_str(&name_of(named)),
            None => out.push_str(&found[..name.len() + 1]),
        }
        rest = found.get(name.len() + if named.is_some() { 2 } else { 1 }..).unwrap_or_default();
    }
    if out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// What may name types outside of its expressions.
pub(crate) trait NamesTypes: VisitMut + Clone {
    /// Whether it is kept, or run: what runs has calls in the place of casts to domains.
    const IS_RUN: bool = false;

    /// Those.
    fn types(&mut self) -> Vec<&mut SqlType> {
        Vec::new()
    }
}

impl NamesTypes for Expr {}
impl NamesTypes for Query {}
impl NamesTypes for CreateIndex {}
impl NamesTypes for CreateView {}

impl NamesTypes for Statement {
    const IS_RUN: bool = true;

    fn types(&mut self) -> Vec<&mut SqlType> {
        match self {
            Statement::CreateTable(create) => create.types(),
            Statement::AlterTable(alter) => alter.types(),
            _ => Vec::new(),
        }
    }
}

impl NamesTypes for CreateTable {
    fn types(&mut self) -> Vec<&mut SqlType> {
        self.columns.iter_mut().map(|column| &mut column.data_type).collect()
    }
}

impl NamesTypes for AlterTable {
    fn types(&mut self) -> Vec<&mut SqlType> {
        let mut types = Vec::new();
        for operation in &mut self.operations {
            match operation {
                AlterTableOperation::AddColumn { column_def, .. } => types.push(&mut column_def.data_type),
                AlterTableOperation::AlterColumn {
                    op: AlterColumnOperation::SetDataType { data_type, .. }, ..
                } => {
                    types.push(data_type);
                }
                _ => {}
            }
        }
        types
    }
}

/// A statement, or a part of one, whose users' types have names that need no catalog; makes these known.
pub(crate) fn fixed<'s, T: NamesTypes>(txn: &Transaction, part: &'s T) -> Result<Cow<'s, T>> {
    if !txn.has_objects(ObjectKind::Type) {
        return Ok(Cow::Borrowed(part));
    }
    note_all(txn)?;
    let mut fixed = part.clone();
    for named in fixed.types() {
        fix(txn, named)?;
    }
    match VisitMut::visit(&mut fixed, &mut Types { txn, is_run: T::IS_RUN }) {
        ControlFlow::Continue(()) => Ok(Cow::Owned(fixed)),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The name of a type or function with its schema, as users read it.
pub(crate) fn name_of(txn: &Transaction, named: Named) -> String {
    let object = match named {
        Named::Enum(id) => {
            enums(txn).map(|(object, _)| object).find(|object| id_of(object).is_ok_and(|known| known == id))
        }
        Named::Domain(id) | Named::Function(id) => txn.object_of(id),
    };
    let Some(object) = object else { return "???".to_owned() };
    let own = object.name.split('(').next().unwrap_or_default();
    let own = if object.kind == ObjectKind::Function { own } else { &object.name };
    format!("{}.{}", quoted(&resolve::schema_name(txn, object.namespace)), quoted(own))
}

/// Puts calls in the place of casts to domains, in a stored query or in an expression.
pub(crate) fn run<T: VisitMut>(txn: &Transaction, part: &mut T) -> Result<()> {
    if !txn.has_objects(ObjectKind::Type) {
        return Ok(());
    }
    match VisitMut::visit(part, &mut Types { txn, is_run: true }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The type that a type's name means.
pub(crate) fn type_named(txn: &Transaction, named: &SqlType) -> Result<DataType> {
    if txn.has_objects(ObjectKind::Type) {
        note_all(txn)?;
        let mut named = named.clone();
        fix(txn, &mut named)?;
        let plain = domains::plain_type(txn, &named)?;
        return data_type_of(plain.as_ref().map_or(&named, |domain| &domain.base));
    }
    data_type_of(named)
}

/// The type of a name, with fixed names.
pub(crate) fn fixed_type(txn: &Transaction, named: &SqlType) -> Result<SqlType> {
    let mut named = named.clone();
    fix(txn, &mut named)?;
    Ok(named)
}

struct Types<'a> {
    txn: &'a Transaction,
    is_run: bool,
}

impl VisitorMut for Types<'_> {
    type Break = Error;

    /// The types of a list of column definitions.
    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        if let TableFactor::Table { alias: Some(alias), .. } | TableFactor::Function { alias: Some(alias), .. } = factor
        {
            for named in alias.columns.iter_mut().filter_map(|column| column.data_type.as_mut()) {
                if let Err(error) = self.defined(named) {
                    return ControlFlow::Break(error);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        match self.cast(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Types<'_> {
    /// The type of a column of such a list.
    fn defined(&self, named: &mut SqlType) -> Result<()> {
        fix(self.txn, named)?;
        if self.is_run && domains::plain_type(self.txn, named)?.is_some() {
            let message = "a domain in a list of column definitions is not supported";
            let error = Error::new(Code::FeatureNotSupported, message);
            return Err(error.hint("name the type that the domain is made of, and cast the column"));
        }
        Ok(())
    }

    fn cast(&self, expr: &mut Expr) -> Result<()> {
        let (Expr::Cast { data_type, .. } | Expr::TypedString(TypedString { data_type, .. })) = expr else {
            return Ok(());
        };
        fix(self.txn, data_type)?;
        if !self.is_run {
            return Ok(());
        }
        let Some(domain) = domains::plain_type(self.txn, data_type)? else { return Ok(()) };
        let value = match expr {
            Expr::Cast { expr, .. } => (**expr).clone(),
            Expr::TypedString(typed) => Expr::Value(typed.value.clone()),
            _ => return Ok(()),
        };
        *expr = as_domain(value, &domain)?;
        Ok(())
    }
}

/// The call in the place of a cast of an expression to a domain.
fn as_domain(expr: Expr, to: &Resolved) -> Result<Expr> {
    let data_type = data_type_of(&to.base)?;
    // All that the rules depend on: the same text of another base type is another domain.
    let text = format!("{data_type:?}\n{}", to.rules.to_text());
    let hash = known_domains::note(&text, || bind_rules(&to.rules, data_type))?;
    let (kind, data_type) = (CastKind::Cast, to.base.clone());
    let cast = Expr::Cast { kind, expr: Box::new(expr), data_type, array: false, format: None };
    Ok(domains::call(cast, hash))
}

/// Gives a users' type its fixed name, and an array its elements'. Types of the system come first.
fn fix(txn: &Transaction, named: &mut SqlType) -> Result<()> {
    match named {
        SqlType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => fix(txn, element),
        SqlType::Custom(name, arguments) if arguments.is_empty() => {
            let fixed = name.0.last().and_then(|part| part.as_ident()).and_then(|own| Named::of(&own.value));
            if let Some(fixed) = fixed {
                let is_known = match fixed {
                    Named::Enum(id) => enums(txn).any(|(object, _)| id_of(&object).is_ok_and(|known| known == id)),
                    Named::Domain(_) => domains::parent_of(txn, named).is_some(),
                    Named::Function(_) => false,
                };
                let SqlType::Custom(name, _) = named else { return Ok(()) };
                return if is_known { Ok(()) } else { Err(missing(name)) };
            }
            if data_type_of(&SqlType::Custom(name.clone(), Vec::new())).is_ok() {
                return Ok(());
            }
            if let Some(object) = find(txn, name) {
                *name = fixed_name_of(&object)?;
            } else if let Some(element) = array_of(txn, name) {
                let element = SqlType::Custom(fixed_name_of(&element)?, Vec::new());
                *named = SqlType::Array(ArrayElemTypeDef::SquareBracket(Box::new(element), None));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn fixed_name_of(object: &Object) -> Result<ObjectName> {
    if domains::is_domain(object) { Ok(domains::fixed_name(object.id)) } else { Ok(fixed_name(id_of(object)?)) }
}

/// The error of a type that is not there.
pub(crate) fn missing(name: &ObjectName) -> Error {
    let shown = table_name(name).map_or_else(|_| name.to_string(), |name| resolve::shown(&name));
    Error::new(Code::UndefinedObject, format!("type \"{shown}\" does not exist"))
}

/// The type whose arrays have a name such as `_mood`.
fn array_of(txn: &Transaction, name: &ObjectName) -> Option<Arc<Object>> {
    let (last, before) = name.0.split_last()?;
    let last = last.as_ident()?;
    let element = Ident { value: last.value.strip_prefix('_')?.to_owned(), ..last.clone() };
    let parts = before.iter().cloned().chain([sqlparser::ast::ObjectNamePart::Identifier(element)]);
    find(txn, &ObjectName(parts.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_texts_are_shown_with_the_names_of_types() {
        let id = EnumId::new(77_001);
        let name_of = |named| match named {
            Named::Enum(id) => format!("s.mood{}", id.bits()),
            Named::Domain(id) => format!("s.posint{id}"),
            Named::Function(id) => format!("s.f{id}"),
        };
        let shown = |text: &str| shown(text, &name_of).into_owned();
        assert_eq!(shown("x::\"weft.domain.16390\"[] = \"weft.\""), "x::s.posint16390[] = \"weft.\"");
        let stored = format!("'sad'::\"{}\" OR x = \"{}\"", id.fixed_name(), id.fixed_name());
        assert_eq!(shown(&stored), "'sad'::s.mood77001 OR x = s.mood77001");
        assert_eq!(shown("'a'::text"), "'a'::text");
        assert_eq!(shown("\"weft.enum.zz\" x"), "\"weft.enum.zz\" x");
    }
}
