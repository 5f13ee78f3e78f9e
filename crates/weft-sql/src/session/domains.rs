//! CREATE, ALTER and DROP DOMAIN.
//!
//! ```text
//!   CREATE DOMAIN posint AS int CHECK (VALUE > 0)     an object of the catalog (`crate::domains`)
//!   ALTER DOMAIN posint ADD CHECK (VALUE < 9)         the object, and every table with a column of it: their rows are
//!                                                     tested, and writers wait
//!   DROP DOMAIN posint CASCADE                        with the columns, domains and views that need it
//! ```

use std::sync::Arc;

use sqlparser::ast::{DataType as SqlType, Expr, Ident, ObjectName};
use weft_format::{Code, Column, DataType, Error, Result};
use weft_kernel::{Object, ObjectKind, Transaction};

use super::Session;
use super::answers::unsupported;
use super::type_objects::{check_free, own};
use super::work::Work;
use crate::ddl::{self, dependents};
use crate::domains::{
    self, Check, DOMAIN, Definition, Resolved, Rules, base_type, fixed_name, is_domain, parent_of, resolve,
};
use crate::expr::{EvalContext, Scope, data_type_of};
use crate::notice::Notice;
use crate::outcome::{Outcome, Tag};
use crate::parse::{AlterDomain, DomainRule, DomainStatement, RuleKind, table_name};
use crate::resolve::{creation, shown};
use crate::row::{stored_check, stored_default};
use crate::types;

/// Runs such a statement.
pub(super) fn run(session: &mut Session, statement: &DomainStatement) -> Result<Outcome> {
    session.in_statement(|work| match statement {
        DomainStatement::Create { name, base, rules } => {
            work.check_writable("CREATE DOMAIN")?;
            create(work, name, base, rules)?;
            Ok(Outcome::done(Tag::Done("CREATE DOMAIN")))
        }
        DomainStatement::Alter(name, change) => {
            work.check_writable("ALTER DOMAIN")?;
            alter(work, name, change)?;
            Ok(Outcome::done(Tag::Done("ALTER DOMAIN")))
        }
        DomainStatement::Drop(names, if_exists, cascade) => {
            work.check_writable("DROP DOMAIN")?;
            drop_all(work, names, *if_exists, *cascade)?;
            Ok(Outcome::done(Tag::Done("DROP DOMAIN")))
        }
    })
}

fn create(work: &mut Work<'_>, name: &ObjectName, base: &SqlType, rules: &[DomainRule]) -> Result<()> {
    let (namespace, name) = creation(work.txn, &table_name(name)?)?;
    work.permit.check_creates_in(work.txn, namespace)?;
    check_free(work.txn, namespace, &name)?;
    types::note_all(work.txn)?;
    let base = types::fixed_type(work.txn, base)?;
    let mut definition = Definition { base: base.to_string(), ..Definition::default() };
    let data_type = match domains::plain_type(work.txn, &base)? {
        Some(below) if below.rules.each => {
            return Err(unsupported("a domain of arrays of a domain").hint("make it of arrays of the base type"));
        }
        Some(below) => {
            definition.default.clone_from(&below.rules.default);
            data_type_of(&below.base)?
        }
        None => data_type_of(&base)?,
    };
    types::hold(work.txn, &base)?;
    let (mut nullable, mut has_default) = (false, false);
    for rule in rules {
        match &rule.kind {
            RuleKind::Null => nullable = true,
            RuleKind::NotNull => definition.not_null = true,
            RuleKind::Default(_) if has_default => {
                return Err(Error::new(Code::SyntaxError, "multiple default expressions"));
            }
            RuleKind::Default(expr) => {
                has_default = true;
                definition.default = stored(work, expr, &name, data_type)?;
            }
            RuleKind::Check(expr) => {
                let check = checked(work, &definition, &name, rule.name.as_deref(), expr, data_type)?;
                definition.add(check);
            }
        }
    }
    if nullable && definition.not_null {
        return Err(Error::new(Code::SyntaxError, "conflicting NULL/NOT NULL constraints"));
    }
    let mut object = Object::new(ObjectKind::Type, namespace, name);
    object.properties.insert(DOMAIN.to_owned(), definition.to_text());
    let made = work.txn.put_object(object)?;
    // It is not too deep.
    resolve(work.txn, &made).map(|_| ())
}

/// A DEFAULT as it is stored; none for NULL.
fn stored(work: &Work<'_>, expr: &Expr, name: &str, data_type: DataType) -> Result<Option<String>> {
    let column = Column { name: name.to_owned(), data_type, not_null: false };
    let text = expr.to_string();
    if text.eq_ignore_ascii_case("null") {
        return Ok(None);
    }
    match crate::expr::sequence_call(&text) {
        Some(sequence) => match crate::resolve::object(work.txn, ObjectKind::Sequence, &sequence) {
            Some(_) => Ok(Some(text)),
            None => Err(crate::resolve::undefined(&sequence)),
        },
        None => stored_default(&text, &column, &work.local).map(Some),
    }
}

/// A new CHECK constraint of a domain.
fn checked(
    work: &Work<'_>,
    definition: &Definition,
    domain: &str,
    name: Option<&str>,
    condition: &Expr,
    data_type: DataType,
) -> Result<Check> {
    let is_free = |name: &str| definition.checks.iter().all(|known| known.name != name);
    let name = match name {
        Some(name) if !is_free(name) => {
            let message = format!("constraint \"{name}\" for domain \"{domain}\" already exists");
            return Err(Error::new(Code::DuplicateObject, message));
        }
        Some(name) => name.to_owned(),
        None => {
            let base = format!("{domain}_check");
            let numbered = (1..).map(|number| format!("{base}{number}"));
            std::iter::once(base.clone()).chain(numbered).find(|name| is_free(name)).unwrap_or(base)
        }
    };
    let scope = Scope::empty().with("", [(domains::VALUE, data_type)].into_iter());
    let text = stored_check(&domains::with_value(condition).to_string(), &scope, &work.local)?;
    Ok(Check { name, text, is_valid: true })
}

/// The domain of a name, which the session's role owns.
fn own_domain(work: &Work<'_>, name: &ObjectName) -> Result<Arc<Object>> {
    let found = own(work, name)?;
    if is_domain(&found) {
        return Ok(found);
    }
    let message = format!("\"{}\" is not a domain", shown(&table_name(name)?));
    Err(Error::new(Code::WrongObjectType, message).hint("ALTER TYPE and DROP TYPE are for other types"))
}

fn alter(work: &mut Work<'_>, name: &ObjectName, change: &AlterDomain) -> Result<()> {
    let known = own_domain(work, name)?;
    let mut object = (*known).clone();
    let mut definition = Definition::of(&known)?;
    let data_type = data_type_of(&resolve(work.txn, &known)?.base)?;
    let mut added = None;
    match change {
        AlterDomain::Default(None) => definition.default = None,
        AlterDomain::Default(Some(expr)) => definition.default = stored(work, expr, &known.name, data_type)?,
        AlterDomain::NotNull(not_null) => {
            added = (*not_null && !definition.not_null).then(|| Rules { not_null: true, ..Rules::default() });
            definition.not_null = *not_null;
        }
        AlterDomain::Add(rule, validate) => added = add(work, &known, &mut definition, rule, *validate)?,
        AlterDomain::DropConstraint(name, if_exists) => {
            let count = definition.checks.len();
            definition.checks.retain(|check| check.name != *name);
            if definition.checks.len() == count {
                let error = no_constraint(name, &known.name);
                if !if_exists {
                    return Err(error);
                }
                work.notices.push(Notice::plain(format!("{}, skipping", error.message())));
            }
        }
        AlterDomain::RenameConstraint(old, new) => {
            let at = definition.checks.iter().position(|check| check.name == *old);
            let check = definition.checks.remove(at.ok_or_else(|| no_constraint(old, &known.name))?);
            if definition.checks.iter().any(|known| known.name == *new) {
                let message = format!("constraint \"{new}\" for domain \"{}\" already exists", known.name);
                return Err(Error::new(Code::DuplicateObject, message));
            }
            definition.add(Check { name: new.clone(), ..check });
        }
        AlterDomain::Validate(name) => {
            let check = definition.checks.iter_mut().find(|check| check.name == *name);
            let check = check.ok_or_else(|| no_constraint(name, &known.name))?;
            check.is_valid = true;
            let checks = vec![(check.name.clone(), check.text.clone())];
            added = Some(Rules { checks, ..Rules::default() });
        }
        AlterDomain::Rename(new) => {
            object.name.clone_from(new);
            check_free(work.txn, known.namespace, new)?;
        }
        AlterDomain::SetSchema(schema) => {
            let target =
                crate::resolve::schema_of(work.txn, schema).ok_or_else(|| crate::resolve::no_schema(schema))?;
            work.permit.check_creates_in(work.txn, target)?;
            check_free(work.txn, target, &known.name)?;
            object.namespace = target;
        }
    }
    object.properties.insert(DOMAIN.to_owned(), definition.to_text());
    work.txn.put_object(object)?;
    // Who makes a table with it holds it: from here on there are no others.
    work.txn.check_sees_all_ddl()?;
    follow(work, known.id, added.as_ref())
}

/// ADD a constraint to a definition; returns what the values in tables must satisfy.
fn add(
    work: &Work<'_>,
    domain: &Object,
    definition: &mut Definition,
    rule: &DomainRule,
    validate: bool,
) -> Result<Option<Rules>> {
    let data_type = data_type_of(&resolve(work.txn, domain)?.base)?;
    match &rule.kind {
        RuleKind::Check(condition) => {
            let name = rule.name.as_deref();
            let check = checked(work, definition, &domain.name, name, condition, data_type)?;
            let checks = vec![(check.name.clone(), check.text.clone())];
            definition.add(Check { is_valid: validate, ..check });
            Ok(validate.then(|| Rules { checks, ..Rules::default() }))
        }
        RuleKind::NotNull => {
            definition.not_null = true;
            Ok(Some(Rules { not_null: true, ..Rules::default() }))
        }
        _ => Err(Error::new(Code::SyntaxError, "ALTER DOMAIN ... ADD takes a CHECK constraint")),
    }
}

fn no_constraint(name: &str, domain: &str) -> Error {
    let message = format!("constraint \"{name}\" of domain \"{domain}\" does not exist");
    Error::new(Code::UndefinedObject, message)
}

/// Gives the tables with columns of a domain, or of one made of it, its rules as they are now (domains 1); `added` is
/// tested on their rows.
fn follow(work: &mut Work<'_>, id: u32, added: Option<&Rules>) -> Result<()> {
    let rng = Arc::clone(&work.txn.engine().env().rng);
    let eval = EvalContext { params: &[], local: &work.local, rng: Some(&*rng) };
    for def in work.txn.tables() {
        for (ordinal, rules) in domains::of_table(&def)? {
            let Some(domain) = work.txn.object_of(rules.id) else { continue };
            if !is_made_of(work.txn, &domain, id)? {
                continue;
            }
            let Resolved { rules: now, .. } = resolve(work.txn, &domain)?;
            let default = now.default.filter(|_| !rules.each);
            let now = Rules { each: rules.each, default, ..now };
            let added = added.map(|added| Rules { each: rules.each, name: now.name.clone(), ..added.clone() });
            if now == rules && added.is_none() {
                continue;
            }
            // Another column of the same table may have changed it.
            let Some(table) = work.txn.table_of(def.id) else { continue };
            let mut altering = ddl::Altering { txn: work.txn, table, source: "", eval, notices: work.notices };
            altering.follow_domain(ordinal, &now, added.as_ref())?;
        }
    }
    Ok(())
}

/// Whether a domain is one, or made of it.
fn is_made_of(txn: &Transaction, domain: &Object, id: u32) -> Result<bool> {
    if domain.id == id {
        return Ok(true);
    }
    match parent_of(txn, &base_type(&Definition::of(domain)?.base)?) {
        Some(parent) => is_made_of(txn, &parent, id),
        None => Ok(false),
    }
}

fn drop_all(work: &mut Work<'_>, names: &[ObjectName], if_exists: bool, cascade: bool) -> Result<()> {
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        match types::find(work.txn, name) {
            Some(_) => found.push(own_domain(work, name)?),
            None if if_exists => {
                let shown = shown(&table_name(name)?);
                work.notices.push(Notice::plain(format!("type \"{shown}\" does not exist, skipping")));
            }
            None => return Err(types::missing(name)),
        }
    }
    found.iter().try_for_each(|object| drop_domain(work.txn, object, cascade, work.notices))
}

/// Drops a domain; with `cascade` also the columns, domains and views that need it.
pub(super) fn drop_domain(
    txn: &mut Transaction,
    object: &Arc<Object>,
    cascade: bool,
    notices: &mut Vec<Notice>,
) -> Result<()> {
    // As it is, to lock it: from here on nobody makes anything of it.
    let object = &txn.put_object((**object).clone())?;
    txn.check_sees_all_ddl()?;
    let what = format!("type {}", object.name);
    let refuse = |by: String| {
        let message = format!("cannot drop {what} because other objects depend on it");
        let hint = format!("{by} depends on {what}; use DROP ... CASCADE to drop it, too");
        Err(Error::new(Code::DependentObjects, message).hint(hint))
    };
    for def in txn.tables() {
        for (ordinal, rules) in domains::of_table(&def)? {
            if rules.id != object.id {
                continue;
            }
            let (column, table) = (def.schema.columns[ordinal].name.clone(), def.name.clone());
            if !cascade {
                return refuse(format!("column {column} of table {table}"));
            }
            let Some(known) = txn.table_of(def.id) else { continue };
            notices.push(Notice::plain(format!("drop cascades to column {column} of table {table}")));
            let mut altering =
                ddl::Altering { txn, table: known, source: "", eval: EvalContext::none(), notices: &mut *notices };
            altering.drop_column_of(&Ident::with_quote('"', column))?;
        }
    }
    let fixed = fixed_name(object.id).to_string();
    let named =
        |other: &Arc<Object>| other.id != object.id && other.properties.values().any(|text| text.contains(&fixed));
    for other in txn.objects().into_iter().filter(named).collect::<Vec<_>>() {
        match other.kind {
            ObjectKind::View => dependents::drop_dependent(txn, &other, &what, cascade, notices)?,
            ObjectKind::Function => dependents::drop_caller(txn, &other, &what, cascade, notices)?,
            ObjectKind::Type if !cascade => return refuse(format!("type {}", other.name)),
            ObjectKind::Type => {
                notices.push(Notice::plain(format!("drop cascades to type {}", other.name)));
                drop_domain(txn, &other, true, notices)?;
            }
            _ => {}
        }
    }
    txn.drop_object(object)
}
