//! Arithmetic steps.
//!
//! ```text
//!   $.a + 1         of a single number, also of an array of one in lax mode
//!   -$.a[*]         of each number
//! ```

use std::borrow::Cow;

use weft_format::Result;

use super::errors::Kind;
use super::item::Item;
use super::numbers::Number;
use super::path::{Chain, Operator, Step};
use super::walk::{Found, Outcome, Walk};

impl<'a> Walk<'a> {
    /// Operators of the same precedence, from the left.
    pub(super) fn sum(
        &mut self,
        first: &'a [Step],
        others: &'a [(Operator, Chain)],
        rest: &'a [Step],
        found: Found<'_, 'a>,
    ) -> Result<Outcome> {
        let Some(left) = self.items(first, true)? else { return Ok(Outcome::Failed) };
        let mut left = single(&left);
        for (operator, right) in others {
            let Some(right) = self.items(right, true)? else { return Ok(Outcome::Failed) };
            let not_single = |side: &str| {
                let sign = operator.sign();
                let message = format!("{side} operand of jsonpath operator {sign} is not a single numeric value");
                Kind::SingletonRequired.error(message)
            };
            let Some(a) = left else { return self.fail(|| not_single("left")) };
            let Some(b) = single(&right) else { return self.fail(|| not_single("right")) };
            match computed(*operator, &a, &b) {
                Ok(result) => left = Some(result),
                Err(error) => return self.fail(|| error),
            }
        }
        let result = left.map_or_else(String::new, |number| number.text());
        self.hand_on(rest, Item::Number(Cow::Owned(result)), found)
    }

    /// `+` or `-` before each number. Where nothing asks for the numbers what else there is counts for nothing.
    pub(super) fn sign(
        &mut self,
        is_minus: bool,
        operand: &'a [Step],
        rest: &'a [Step],
        mut found: Found<'_, 'a>,
    ) -> Result<Outcome> {
        let Some(items) = self.items(operand, true)? else { return Ok(Outcome::Failed) };
        let is_test = found.is_none() && rest.is_empty();
        let mut outcome = Outcome::NotFound;
        for item in items {
            let number = match item {
                Item::Number(_) if is_test => return Ok(Outcome::Found),
                Item::Number(number) if is_minus => Cow::Owned(Number::of(&number).negated().text()),
                Item::Number(number) => number,
                _ if is_test => continue,
                _ => {
                    let sign = if is_minus { "-" } else { "+" };
                    let message = format!("operand of unary jsonpath operator {sign} is not a numeric value");
                    return self.fail(|| Kind::NumberNotFound.error(message));
                }
            };
            match self.hand_on(rest, Item::Number(number), found.as_deref_mut())? {
                Outcome::Failed => return Ok(Outcome::Failed),
                Outcome::Found if found.is_none() => return Ok(Outcome::Found),
                Outcome::Found => outcome = Outcome::Found,
                Outcome::NotFound => {}
            }
        }
        Ok(outcome)
    }
}

fn single(items: &[Item<'_>]) -> Option<Number> {
    match items {
        [Item::Number(number)] => Some(Number::of(number)),
        _ => None,
    }
}

fn computed(operator: Operator, a: &Number, b: &Number) -> Result<Number> {
    match operator {
        Operator::Add => a.plus(b),
        Operator::Subtract => a.plus(&b.clone().negated()),
        Operator::Multiply => a.times(b),
        Operator::Divide => a.over(b),
        Operator::Remainder => a.remainder(b),
    }
}
