//! The rules of domains, bound to the values that they are for.
//!
//! ```text
//!   CHECK (VALUE > 0) of integer      a condition over a row of one column, `value`
//! ```

use std::borrow::Cow;

use weft_expr::domains::{Domain, Rule};
use weft_format::{DataType, Result};
use weft_kernel::TableDef;

use super::generated::generated;
use super::stored::bind_check;
use crate::domains::{Rules, VALUE, property};
use crate::expr::Scope;

/// Rules bound to the type of the values: a domain's base type, or its arrays.
pub(crate) fn bind_rules(rules: &Rules, data_type: DataType) -> Result<Domain> {
    let element = data_type.element().filter(|_| rules.each);
    let scope = Scope::empty().with("", [(VALUE, element.unwrap_or(data_type))].into_iter());
    let mut bound = Vec::with_capacity(rules.checks.len() + 1);
    if rules.not_null {
        bound.push(Rule::NotNull);
    }
    for (name, condition) in &rules.checks {
        bound.push(Rule::Check(name.clone(), bind_check(condition, &scope)?));
    }
    Ok(Domain { name: rules.name.clone(), element, rules: bound })
}

/// What a column gets that a statement says nothing about, as text: its DEFAULT, or its domain's.
pub(crate) fn effective_default(def: &TableDef, ordinal: usize) -> Option<Cow<'_, str>> {
    if let Some(text) = def.defaults.get(ordinal)? {
        return Some(Cow::Borrowed(text));
    }
    let rules = def.properties.get(&property(ordinal)).filter(|_| generated(def, ordinal).is_none())?;
    Rules::of_text(rules).ok()?.default.map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use weft_expr::EvalContext;
    use weft_format::Value;

    use super::*;

    #[test]
    fn rules_are_bound_to_the_value() {
        let checks = vec![("c".into(), "VALUE > 0".into()), ("d".into(), "value < 10".into())];
        let rules = Rules { name: "small".into(), not_null: true, checks, ..Rules::default() };
        let domain = bind_rules(&rules, DataType::Integer).unwrap();
        let test = |value| domain.test(&value, &EvalContext::none()).map_err(|error| error.message().to_owned());
        assert!(test(Value::Int(9)).is_ok());
        assert!(test(Value::Int(10)).unwrap_err().ends_with("violates check constraint \"d\""));
        assert!(test(Value::Null).unwrap_err().ends_with("does not allow null values"));
    }
}
