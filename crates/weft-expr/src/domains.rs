//! What a domain allows of the values of its base type.
//!
//! ```text
//!   posint: integer, NOT NULL, VALUE > 0        7 passes      -1, NULL are errors
//!   posint[]: an array of such values           {7,NULL}: its elements are tested, one by one
//! ```
//!
//! A cast to a domain is a call that names the rules by their hash (`weft_as_domain(7::integer, '1f…')`). Rules never
//! change under a hash: another definition has another. What was noted stays, one entry for each definition that a
//! statement of this process has cast to.
//!
//! Source: PostgreSQL's documentation, CREATE DOMAIN and section 8.18.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use weft_env::sync::RwLock;
use weft_format::array::elements;
use weft_format::bloom::hash_bytes;
use weft_format::{Code, DataType, Error, Result, Value};

use crate::tree::{EvalContext, Expr};

static KNOWN: LazyLock<RwLock<HashMap<u64, Arc<Domain>>>> = LazyLock::new(Default::default);

/// One rule of a domain.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// NOT NULL
    NotNull,
    /// A CHECK constraint: its name, and its condition over a row of one value.
    Check(String, Expr),
}

/// A domain's rules, and those of the domains below it, in the order in which they are tested.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// Name, for errors.
    pub name: String,
    /// Of the elements, when values are arrays of the domain.
    pub element: Option<DataType>,
    /// What holds of each value.
    pub rules: Vec<Rule>,
}

impl Domain {
    /// Tests a value of the base type, or the elements of an array. Errors: a rule is violated.
    pub fn test(&self, value: &Value, context: &EvalContext<'_>) -> Result<()> {
        match (self.element, value) {
            (None, value) => self.test_one(std::slice::from_ref(value), context),
            (Some(element), Value::Array(array)) => {
                let each = elements(array.as_bytes(), element)?;
                each.iter().try_for_each(|one| self.test_one(std::slice::from_ref(one), context))
            }
            (Some(_), _) => Ok(()),
        }
    }

    fn test_one(&self, row: &[Value], context: &EvalContext<'_>) -> Result<()> {
        for rule in &self.rules {
            match rule {
                Rule::NotNull if row[0].is_null() => {
                    let message = format!("domain {} does not allow null values", self.name);
                    return Err(Error::new(Code::NotNullViolation, message));
                }
                Rule::NotNull => {}
                Rule::Check(name, condition) => {
                    if condition.truth(row, context)? == Some(false) {
                        let message = format!("value for domain {} violates check constraint \"{name}\"", self.name);
                        return Err(Error::new(Code::CheckViolation, message).about("", None, Some(name)));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Makes the rules of a definition known, which `make` binds at its first use; returns their hash. `text` says all that
/// the rules depend on.
pub fn note(text: &str, make: impl FnOnce() -> Result<Domain>) -> Result<u64> {
    let hash = hash_bytes(text.as_bytes());
    if !KNOWN.read().contains_key(&hash) {
        let made = Arc::new(make()?);
        KNOWN.write().entry(hash).or_insert(made);
    }
    Ok(hash)
}

/// The rules of a hash.
pub fn known(hash: u64) -> Option<Arc<Domain>> {
    KNOWN.read().get(&hash).cloned()
}

#[cfg(test)]
mod tests {
    use weft_format::CompareOp;

    use super::*;

    fn domain(element: Option<DataType>) -> Domain {
        let (value, zero) = (Expr::column(0, DataType::Integer), Expr::literal(Value::Int(0), DataType::Integer));
        let node = crate::Node::Compare(CompareOp::Gt, Box::new(value), Box::new(zero));
        let positive = Expr::new(node, DataType::Boolean);
        Domain { name: "posint".into(), element, rules: vec![Rule::NotNull, Rule::Check("positive".into(), positive)] }
    }

    #[test]
    fn values_are_tested_by_each_rule() {
        let test = |value: Value| domain(None).test(&value, &EvalContext::none());
        assert!(test(Value::Int(7)).is_ok());
        assert_eq!(test(Value::Null).unwrap_err().code(), Code::NotNullViolation);
        let error = test(Value::Int(-1)).unwrap_err();
        assert_eq!(error.message(), "value for domain posint violates check constraint \"positive\"");
    }

    #[test]
    fn elements_of_arrays_are_tested_and_missing_arrays_are_not() {
        let element = DataType::Integer;
        let array = |values: &[weft_format::ValueRef<'_>]| {
            Value::Array(weft_format::ArrayValue::new(element, values.iter().copied()))
        };
        let test = |value: Value| domain(Some(element)).test(&value, &EvalContext::none());
        use weft_format::ValueRef::{Int, Null};
        assert!(test(array(&[Int(1), Int(2)])).is_ok());
        assert!(test(Value::Null).is_ok());
        assert_eq!(test(array(&[Int(1), Int(-2)])).unwrap_err().code(), Code::CheckViolation);
        assert_eq!(test(array(&[Null])).unwrap_err().code(), Code::NotNullViolation);
    }
}
