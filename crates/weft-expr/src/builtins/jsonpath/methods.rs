//! Methods of items.
//!
//! ```text
//!   "1.50".double()          1.5
//!   -1.5.ceiling()           -1
//!   {"a": 1}.keyvalue()      {"id": 0, "key": "a", "value": 1}
//! ```

use std::borrow::Cow;
use std::rc::Rc;

use weft_format::{DataType, Result};

use super::errors::{Kind, only_to};
use super::item::{Base, Item};
use super::layout::offset;
use super::moments::Moment;
use super::numbers::Number;
use super::path::{Method, Step};
use super::walk::{Found, Outcome, Walk};
use crate::json;
use crate::text::parse_float;

/// How many times the number of a base an object's id counts its place in it.
const IDS_OF_BASE: u64 = 10_000_000_000;

impl<'a> Walk<'a> {
    /// A method without arguments.
    pub(super) fn method(
        &mut self,
        method: Method,
        rest: &'a [Step],
        item: Item<'a>,
        found: Found<'_, 'a>,
    ) -> Result<Outcome> {
        match method {
            Method::Type => self.hand_on(rest, Item::Text(Cow::Borrowed(item.kind())), found),
            Method::Size => self.size(rest, &item, found),
            Method::Double => self.double(rest, item, found),
            Method::KeyValue => self.key_value(rest, &item, found),
            Method::Abs | Method::Ceiling | Method::Floor => {
                let Item::Number(number) = item else {
                    return self.fail(|| only_to(Kind::NonNumeric, method.name(), "a numeric value"));
                };
                let number = Number::of(&number);
                let result = match method {
                    Method::Abs => number.absolute(),
                    method => number.rounded(method == Method::Ceiling),
                };
                self.hand_on(rest, Item::Number(Cow::Owned(result.text())), found)
            }
        }
    }

    fn size(&mut self, rest: &'a [Step], item: &Item<'a>, found: Found<'_, 'a>) -> Result<Outcome> {
        let size = match item {
            Item::Array(array) => {
                self.spend(array.text().len())?;
                array.places()?.len()
            }
            _ if self.is_lax => 1,
            _ => {
                return self.lacks(Kind::ArrayNotFound, || {
                    "jsonpath item method .size() can only be applied to an array".to_owned()
                });
            }
        };
        self.hand_on(rest, Item::Number(Cow::Owned(size.to_string())), found)
    }

    fn double(&mut self, rest: &'a [Step], item: Item<'a>, found: Found<'_, 'a>) -> Result<Outcome> {
        let finite = |text: &str| parse_float(text, DataType::DoublePrecision).ok().filter(|value| value.is_finite());
        let item = match item {
            Item::Number(number) if finite(&number).is_some() => Item::Number(number),
            Item::Number(_) => {
                let message = "numeric argument of jsonpath item method .double() is out of range for type \
                               double precision";
                return self.fail(|| Kind::NonNumeric.error(message));
            }
            Item::Text(text) => match finite(&text) {
                Some(value) => Item::Number(Cow::Owned(fifteen_digits(value)?)),
                None => {
                    let message = "string argument of jsonpath item method .double() is not a valid representation \
                                   of a double precision number";
                    return self.fail(|| Kind::NonNumeric.error(message));
                }
            },
            _ => return self.fail(|| only_to(Kind::NonNumeric, "double", "a string or numeric value")),
        };
        self.hand_on(rest, item, found)
    }

    /// An object for each member, with its key, its value and the id of the object.
    fn key_value(&mut self, rest: &'a [Step], item: &Item<'a>, mut found: Found<'_, 'a>) -> Result<Outcome> {
        let Item::Object(object) = item else {
            return self.fail(|| only_to(Kind::ObjectNotFound, "keyvalue", "an object"));
        };
        self.spend(object.base.text().len())?;
        let members = object.members()?;
        let mut outcome = Outcome::NotFound;
        let place = if members.is_empty() { 0 } else { offset(object.base.text(), object.start())? };
        let id = u64::from(object.base.number()) * IDS_OF_BASE + place;
        for (key, value) in members {
            if found.is_none() && rest.is_empty() {
                return Ok(Outcome::Found);
            }
            let mut text = format!("{{\"id\": {id}, \"key\": ");
            json::quote(&key, &mut text);
            text.push_str(", \"value\": ");
            text.push_str(&object.base.text()[value.0..value.1]);
            text.push('}');
            self.spend(text.len())?;
            let made = Item::whole(Base::Made(Rc::new((self.next_made, text))))?;
            self.next_made += 1;
            outcome = self.hand_on(rest, made, found.as_deref_mut())?;
            if outcome == Outcome::Failed || (outcome == Outcome::Found && found.is_none()) {
                break;
            }
        }
        Ok(outcome)
    }

    /// `.datetime(template)`
    pub(super) fn datetime(
        &mut self,
        template: Option<&str>,
        rest: &'a [Step],
        item: &Item<'a>,
        found: Found<'_, 'a>,
    ) -> Result<Outcome> {
        let Item::Text(text) = item else {
            return self.fail(|| only_to(Kind::Datetime, "datetime", "a string"));
        };
        match Moment::read(text, template)? {
            Ok(moment) => self.hand_on(rest, Item::Moment(moment), found),
            Err(error) => self.fail(|| error),
        }
    }
}

/// A float as a number of fifteen digits that count, as PostgreSQL casts it to numeric.
fn fifteen_digits(value: f64) -> Result<String> {
    let written = format!("{value:.14e}");
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    json::canonical(&format!("{mantissa}e{exponent}"))
}
