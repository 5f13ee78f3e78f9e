//! The rules of a column whose type is a domain, as the definition of its table has them.

use std::borrow::Cow;
use std::ops::ControlFlow;

use sqlparser::ast::{ArrayElemTypeDef, ColumnDef, DataType as SqlType, Expr};
use weft_format::{Code, Error, Result};
use weft_kernel::{Object, TableDef, Transaction};
use weft_walk::visit_expressions_mut;

use super::definition::{Definition, base_type, parent_of};
use super::lines::{line, lines};
use crate::expr::data_type_of;

/// What the name of the value is in conditions.
pub(crate) const VALUE: &str = "value";
/// How deep domains may be made of domains: each statement that names one walks down.
const NESTING_MAX: usize = 64;

/// A condition that writes VALUE in capitals, as PostgreSQL shows it.
pub(crate) fn with_value(condition: &Expr) -> Expr {
    let mut written = condition.clone();
    let _ = visit_expressions_mut(&mut written, |part| {
        if let Expr::Identifier(ident) = part
            && ident.quote_style.is_none()
            && ident.value.eq_ignore_ascii_case(VALUE)
        {
            ident.value = VALUE.to_uppercase();
        }
        ControlFlow::<()>::Continue(())
    });
    written
}

/// The rules of a domain and of those that it is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rules {
    /// The number of the domain's object.
    pub(crate) id: u32,
    /// Its name.
    pub(crate) name: String,
    /// Whether values are arrays, whose elements are of the domain.
    pub(crate) each: bool,
    /// What a column without a default of its own gets.
    pub(crate) default: Option<String>,
    /// NOT NULL
    pub(crate) not_null: bool,
    /// Names and conditions, in the order in which they are tested.
    pub(crate) checks: Vec<(String, String)>,
}

impl Rules {
    /// As a table's definition keeps them.
    pub(crate) fn to_text(&self) -> String {
        let mut text = line(&["domain", &self.id.to_string(), &self.name]);
        if self.each {
            text += &line(&["each"]);
        }
        if let Some(default) = &self.default {
            text += &line(&["default", default]);
        }
        if self.not_null {
            text += &line(&["not_null"]);
        }
        for (name, condition) in &self.checks {
            text += &line(&["check", name, condition]);
        }
        text
    }

    /// Reads what [`Rules::to_text`] wrote.
    pub(crate) fn of_text(text: &str) -> Result<Rules> {
        let damaged = || Error::corrupt("the rules of a column's domain are damaged");
        let mut rules = Rules::default();
        for line in lines(text) {
            let parts: Vec<&str> = line.iter().map(String::as_str).collect();
            match parts[..] {
                ["domain", id, name] => (rules.id, rules.name) = (id.parse().map_err(|_| damaged())?, name.to_owned()),
                ["each"] => rules.each = true,
                ["default", default] => rules.default = Some(default.to_owned()),
                ["not_null"] => rules.not_null = true,
                ["check", name, condition] => rules.checks.push((name.to_owned(), condition.to_owned())),
                _ => return Err(damaged()),
            }
        }
        Ok(rules)
    }
}

/// A domain, with what its values are.
pub(crate) struct Resolved {
    /// Its rules.
    pub(crate) rules: Rules,
    /// The type that all its domains come down to.
    pub(crate) base: SqlType,
}

/// The rules of a domain as a transaction sees it. Errors: it is made of too many domains, one of the other.
pub(crate) fn resolve(txn: &Transaction, domain: &Object) -> Result<Resolved> {
    resolve_within(txn, domain, NESTING_MAX)
}

fn resolve_within(txn: &Transaction, domain: &Object, levels: usize) -> Result<Resolved> {
    let Some(levels) = levels.checked_sub(1) else {
        let message = format!("domains are made of domains more than {NESTING_MAX} deep");
        return Err(Error::new(Code::StatementTooComplex, message).hint("make the domain of its base type"));
    };
    let definition = Definition::of(domain)?;
    let base = base_type(&definition.base)?;
    let mut resolved = match parent_of(txn, &base) {
        Some(parent) => resolve_within(txn, &parent, levels)?,
        None => Resolved { rules: Rules::default(), base },
    };
    let rules = &mut resolved.rules;
    (rules.id, rules.name) = (domain.id, domain.name.clone());
    rules.default = definition.default;
    rules.not_null |= definition.not_null;
    rules.checks.extend(definition.checks.into_iter().map(|check| (check.name, check.text)));
    Ok(resolved)
}

/// The property of a table that has the rules of a column.
pub(crate) fn property(ordinal: usize) -> String {
    format!("domain.{ordinal}")
}

/// The columns of a table that are of domains, and their rules.
pub(crate) fn of_table(def: &TableDef) -> Result<Vec<(usize, Rules)>> {
    let mut found = Vec::new();
    for (property, text) in &def.properties {
        if let Some(ordinal) = property.strip_prefix("domain.").and_then(|ordinal| ordinal.parse().ok()) {
            found.push((ordinal, Rules::of_text(text)?));
        }
    }
    found.sort_by_key(|(ordinal, _)| *ordinal);
    Ok(found)
}

/// A type without its domain, and the domain's rules; `named` has fixed names. None: it is no domain.
pub(crate) fn plain_type(txn: &Transaction, named: &SqlType) -> Result<Option<Resolved>> {
    if let Some(domain) = parent_of(txn, named) {
        return resolve(txn, &domain).map(Some);
    }
    let SqlType::Array(ArrayElemTypeDef::SquareBracket(element, size)) = named else { return Ok(None) };
    let Some(domain) = parent_of(txn, element) else { return Ok(None) };
    let Resolved { mut rules, base } = resolve(txn, &domain)?;
    if data_type_of(&base)?.array().is_none() {
        let message = format!("arrays of domain {} are not supported: its values are arrays", rules.name);
        return Err(Error::new(Code::FeatureNotSupported, message).hint("arrays have one dimension"));
    }
    // A column without an array has none of its elements' defaults.
    (rules.each, rules.default) = (true, None);
    Ok(Some(Resolved { rules, base: SqlType::Array(ArrayElemTypeDef::SquareBracket(Box::new(base), *size)) }))
}

/// A column's definition with the base type in the place of a domain, and the domain's rules.
pub(crate) fn plain_column<'c>(
    txn: &Transaction,
    column: &'c ColumnDef,
) -> Result<(Cow<'c, ColumnDef>, Option<Rules>)> {
    match plain_type(txn, &column.data_type)? {
        None => Ok((Cow::Borrowed(column), None)),
        Some(Resolved { rules, base }) => {
            Ok((Cow::Owned(ColumnDef { data_type: base, ..column.clone() }), Some(rules)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules {
            id: 16390,
            name: "pos\tint".into(),
            default: Some("7".into()),
            not_null: true,
            checks: vec![("c".into(), "VALUE > 0".into()), ("d".into(), "value < 10".into())],
            ..Rules::default()
        }
    }

    #[test]
    fn rules_come_back_as_they_were_kept() {
        assert_eq!(Rules::of_text(&rules().to_text()).unwrap(), rules());
        let each = Rules { each: true, default: None, ..rules() };
        assert_eq!(Rules::of_text(&each.to_text()).unwrap(), each);
        assert!(Rules::of_text("what\tis it\n").is_err());
    }
}
