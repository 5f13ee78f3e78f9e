//! A domain as its object in the catalog says it.

use std::sync::Arc;

use sqlparser::ast::{DataType as SqlType, Expr, Ident, ObjectName};
use weft_format::{Error, Result};
use weft_kernel::{Object, ObjectKind, Transaction};

use super::lines::{line, lines};
use crate::parse::parse_expression;

/// The property of a type's object that makes it a domain: [`Definition::to_text`].
pub(crate) const DOMAIN: &str = "domain";
/// What names begin with that mean a domain by its number.
const FIXED: &str = "weft.domain.";

/// A CHECK constraint of a domain.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Check {
    /// Name.
    pub(crate) name: String,
    /// The condition over VALUE, as it is stored.
    pub(crate) text: String,
    /// Not NOT VALID: all values in tables satisfy it.
    pub(crate) is_valid: bool,
}

/// What CREATE and ALTER DOMAIN have said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Definition {
    /// The type that it is made of, with fixed names of users' types.
    pub(crate) base: String,
    /// NOT NULL
    pub(crate) not_null: bool,
    /// DEFAULT, as it is stored.
    pub(crate) default: Option<String>,
    /// Constraints, by their names.
    pub(crate) checks: Vec<Check>,
}

impl Definition {
    /// That of an object. Errors: it is none of a domain, or damaged.
    pub(crate) fn of(object: &Object) -> Result<Definition> {
        let damaged = || Error::corrupt(format!("the catalog's entry of domain \"{}\" is damaged", object.name));
        let mut definition = Definition::default();
        for line in lines(object.property(DOMAIN).ok_or_else(damaged)?) {
            let parts: Vec<&str> = line.iter().map(String::as_str).collect();
            match parts[..] {
                ["base", base] => base.clone_into(&mut definition.base),
                ["not_null"] => definition.not_null = true,
                ["default", text] => definition.default = Some(text.to_owned()),
                [kind @ ("check" | "not_valid"), name, text] => {
                    let (name, text) = (name.to_owned(), text.to_owned());
                    definition.checks.push(Check { name, text, is_valid: kind == "check" });
                }
                _ => return Err(damaged()),
            }
        }
        Ok(definition)
    }

    /// As the object keeps it.
    pub(crate) fn to_text(&self) -> String {
        let mut text = line(&["base", &self.base]);
        if self.not_null {
            text += &line(&["not_null"]);
        }
        if let Some(default) = &self.default {
            text += &line(&["default", default]);
        }
        for check in &self.checks {
            text += &line(&[if check.is_valid { "check" } else { "not_valid" }, &check.name, &check.text]);
        }
        text
    }

    /// Adds a constraint, in the place of its name.
    pub(crate) fn add(&mut self, check: Check) {
        let place = self.checks.partition_point(|known| known.name < check.name);
        self.checks.insert(place, check);
    }
}

/// Whether the object of a type is a domain.
pub(crate) fn is_domain(object: &Object) -> bool {
    object.property(DOMAIN).is_some()
}

/// The name of a domain that survives its renaming.
pub(crate) fn fixed_name(id: u32) -> ObjectName {
    ObjectName::from(vec![Ident::with_quote('"', format!("{FIXED}{id}"))])
}

/// The number in a fixed name.
pub(crate) fn of_fixed_name(name: &str) -> Option<u32> {
    name.strip_prefix(FIXED)?.parse().ok()
}

/// The type that the text of a base names.
pub(crate) fn base_type(text: &str) -> Result<SqlType> {
    match parse_expression(&format!("CAST(NULL AS {text})"))? {
        Expr::Cast { data_type, .. } => Ok(data_type),
        _ => Err(Error::corrupt(format!("a domain is made of {text}, which is no type"))),
    }
}

/// The domain that a type names by its number.
pub(crate) fn parent_of(txn: &Transaction, named: &SqlType) -> Option<Arc<Object>> {
    let SqlType::Custom(name, _) = named else { return None };
    let [part] = name.0.as_slice() else { return None };
    let object = txn.object_of(of_fixed_name(&part.as_ident()?.value)?)?;
    (object.kind == ObjectKind::Type && is_domain(&object)).then_some(object)
}

#[cfg(test)]
mod tests {
    use weft_kernel::SchemaId;

    use super::*;

    #[test]
    fn definitions_come_back_as_they_were_kept() {
        let check = |name: &str, is_valid| Check { name: name.into(), text: "VALUE > '\t'".into(), is_valid };
        let mut definition = Definition { base: "VARCHAR(5)".into(), not_null: true, ..Definition::default() };
        definition.default = Some("'a\nb'".into());
        definition.add(check("b", false));
        definition.add(check("a", true));
        let mut object = Object::new(ObjectKind::Type, SchemaId::PUBLIC, "d");
        object.properties.insert(DOMAIN.into(), definition.to_text());
        assert!(is_domain(&object));
        assert_eq!(Definition::of(&object).unwrap(), definition);
        assert_eq!(definition.checks[0].name, "a");
    }
}
