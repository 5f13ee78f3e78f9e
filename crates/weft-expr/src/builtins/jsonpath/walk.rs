//! Steps over items.
//!
//! ```text
//!   $.a[*].b   over {"a": [{"b": 1}, {"b": 2}]}
//!   Root ─▶ {...} ─▶ Key a ─▶ [...] ─▶ AnyArray ─▶ {"b": 1} ─▶ Key b ─▶ 1 found
//!                                              └─▶ {"b": 2} ─▶ Key b ─▶ 2 found
//! ```
//!
//! 1. Depth first: what is found is found in the order of the document.
//! 2. Without a list for what is found a walk ends at the first item.
//! 3. An error that can be suppressed is one only where errors are told ([`Walk::fail`]).
//! 4. [`WORK_MAX`], [`WORK_PER_BYTE`] and [`DEPTH_MAX`] bound time and stack.

use std::borrow::Cow;

use weft_format::{Code, Error, Result};

use super::errors::{Kind, too_complex};
use super::item::{Base, Container, Item};
use super::numbers::Number;
use super::path::{Chain, Method, Path, Predicate, Step};
use crate::builtins::limits::check_elements;
use crate::style::Local;

/// The most bytes of documents and steps that a walk looks at: about a second.
pub(super) const WORK_MAX: usize = 1 << 27;

/// As many more for each byte of the document.
const WORK_PER_BYTE: usize = 32;

/// The most steps and conditions within each other: as many as a document has levels, and some more.
pub(super) const DEPTH_MAX: usize = 640;

/// How a step went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Found,
    NotFound,
    /// An error that is suppressed.
    Failed,
}

/// What is found; none when it only matters whether something is.
pub(super) type Found<'f, 'a> = Option<&'f mut Vec<Item<'a>>>;

/// A path on its way over a document.
pub(super) struct Walk<'a> {
    pub(super) root: Item<'a>,
    /// `@`
    pub(super) current: Item<'a>,
    vars: Option<&'a str>,
    pub(super) is_lax: bool,
    /// Whether what is not there is no error: in lax mode, and below `.**`.
    ignores_structure: bool,
    /// Whether errors that can be suppressed are told.
    pub(super) tells: bool,
    /// The session, whose time zone counts in functions `..._tz` only.
    pub(super) session: Option<&'a Local>,
    /// The number of elements of the innermost array whose subscripts are computed.
    innermost: Option<usize>,
    /// The number of the next object that is made.
    pub(super) next_made: u32,
    /// What may still be looked at.
    pub(super) work_left: usize,
    depth: usize,
}

impl<'a> Walk<'a> {
    /// A walk over a document: canonical texts of it and of the variables.
    pub(super) fn new(path: &Path, target: &'a str, vars: Option<&'a str>) -> Result<Walk<'a>> {
        if vars.is_some_and(|vars| !vars.starts_with('{')) {
            let detail = "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.";
            let error = Error::new(Code::InvalidParameterValue, "\"vars\" argument is not an object");
            return Err(error.detail(detail));
        }
        let root = Item::whole(Base::Given(0, target))?;
        Ok(Walk {
            current: root.clone(),
            root,
            vars,
            is_lax: path.is_lax,
            ignores_structure: path.is_lax,
            tells: true,
            session: None,
            innermost: None,
            next_made: if vars.is_some() { 2 } else { 1 },
            work_left: WORK_MAX.saturating_add(target.len().saturating_mul(WORK_PER_BYTE)),
            depth: 0,
        })
    }

    /// All of a path. In strict mode all is looked at, for there may be errors behind the first item.
    pub(super) fn all(&mut self, path: &'a Path, found: Found<'_, 'a>) -> Result<Outcome> {
        if found.is_some() || self.is_lax {
            return self.chain(&path.steps, found);
        }
        let mut all = Vec::new();
        Ok(match self.chain(&path.steps, Some(&mut all))? {
            Outcome::Failed => Outcome::Failed,
            _ if all.is_empty() => Outcome::NotFound,
            _ => Outcome::Found,
        })
    }

    /// A chain from its first step on, which asks for no item.
    pub(super) fn chain(&mut self, chain: &'a [Step], found: Found<'_, 'a>) -> Result<Outcome> {
        self.run(chain, Item::Null, found, self.is_lax)
    }

    /// An error that can be suppressed.
    pub(super) fn fail(&self, error: impl FnOnce() -> Error) -> Result<Outcome> {
        if self.tells { Err(error()) } else { Ok(Outcome::Failed) }
    }

    /// An error of an item that does not have what a step asks for.
    pub(super) fn lacks(&self, kind: Kind, message: impl FnOnce() -> String) -> Result<Outcome> {
        if self.ignores_structure { Ok(Outcome::NotFound) } else { self.fail(|| kind.error(message())) }
    }

    pub(super) fn spend(&mut self, work: usize) -> Result<()> {
        let left = self.work_left.checked_sub(work);
        self.work_left = left.ok_or_else(|| too_complex("evaluating the jsonpath takes too long"))?;
        Ok(())
    }

    /// One level further down.
    pub(super) fn deeper<T>(&mut self, then: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH_MAX {
            return Err(too_complex("the jsonpath and the document are nested too deeply for each other"));
        }
        self.depth += 1;
        let result = then(self);
        self.depth -= 1;
        result
    }

    /// Hands an item to the steps behind, or to the list if there are none.
    pub(super) fn hand_on(&mut self, rest: &'a [Step], item: Item<'a>, found: Found<'_, 'a>) -> Result<Outcome> {
        if !rest.is_empty() {
            return self.run(rest, item, found, self.is_lax);
        }
        if let Some(found) = found {
            check_elements(found.len() + 1)?;
            found.push(item);
        }
        Ok(Outcome::Found)
    }

    /// The first of some steps with an item; an array is taken apart first where a step does so, if it may be.
    fn run(&mut self, steps: &'a [Step], item: Item<'a>, found: Found<'_, 'a>, unwrap: bool) -> Result<Outcome> {
        self.spend(1)?;
        self.deeper(|walk| walk.step(steps, item, found, unwrap))
    }

    fn step(&mut self, steps: &'a [Step], item: Item<'a>, found: Found<'_, 'a>, unwrap: bool) -> Result<Outcome> {
        let (step, rest) = steps.split_first().expect("a chain has steps, and a list takes what the last one finds");
        if let Item::Array(array) = &item
            && unwrap
            && step.asks_within()
        {
            return self.each(steps, array, found, false);
        }
        let next = match step {
            Step::Root => self.root.clone(),
            Step::Current => self.current.clone(),
            Step::Null => Item::Null,
            Step::Bool(value) => Item::Bool(*value),
            Step::Number(number) => Item::Number(Cow::Borrowed(number)),
            Step::Text(text) => Item::Text(Cow::Borrowed(text)),
            Step::Variable(name) => self.variable(name)?,
            Step::Last => self.last(),
            Step::Condition(predicate) => self.truth(predicate)?.map_or(Item::Null, Item::Bool),
            Step::Key(key) => return self.key(key, rest, &item, found),
            Step::AnyKey => return self.any_key(rest, &item, found),
            Step::AnyArray => return self.any_element(rest, item, found),
            Step::Index(subscripts) => return self.index(subscripts, rest, item, found),
            Step::Deep(from, to) => return self.deep((*from, *to), rest, item, found),
            Step::Filter(predicate) => return self.filter(predicate, rest, item, found),
            Step::Method(method) => return self.method(*method, rest, item, found),
            Step::Datetime(template) => return self.datetime(template.as_deref(), rest, &item, found),
            Step::Sign(is_minus, operand) => return self.sign(*is_minus, operand, rest, found),
            Step::Sum(first, others) => return self.sum(first, others, rest, found),
        };
        self.hand_on(rest, next, found)
    }

    fn last(&self) -> Item<'a> {
        let size = self.innermost.expect("the parser takes `last` in subscripts only");
        Item::Number(Cow::Owned((size as i64 - 1).to_string()))
    }

    fn any_key(&mut self, rest: &'a [Step], item: &Item<'a>, found: Found<'_, 'a>) -> Result<Outcome> {
        match item {
            Item::Object(object) => self.each(rest, object, found, self.is_lax),
            _ => self.lacks(Kind::ObjectNotFound, || {
                "jsonpath wildcard member accessor can only be applied to an object".to_owned()
            }),
        }
    }

    fn any_element(&mut self, rest: &'a [Step], item: Item<'a>, found: Found<'_, 'a>) -> Result<Outcome> {
        match &item {
            Item::Array(array) => self.each(rest, array, found, self.is_lax),
            _ if self.is_lax => self.hand_on(rest, item, found),
            _ => self.lacks(Kind::ArrayNotFound, || {
                "jsonpath wildcard array accessor can only be applied to an array".to_owned()
            }),
        }
    }

    fn filter(
        &mut self,
        predicate: &'a Predicate,
        rest: &'a [Step],
        item: Item<'a>,
        found: Found<'_, 'a>,
    ) -> Result<Outcome> {
        let before = std::mem::replace(&mut self.current, item.clone());
        let truth = self.truth(predicate);
        self.current = before;
        if truth? == Some(true) { self.hand_on(rest, item, found) } else { Ok(Outcome::NotFound) }
    }

    fn variable(&mut self, name: &str) -> Result<Item<'a>> {
        let Some(vars) = self.vars else { return Ok(Item::Null) };
        self.spend(vars.len())?;
        let value = match Item::whole(Base::Given(1, vars))? {
            Item::Object(vars) => vars.member(name)?,
            _ => None,
        };
        value.ok_or_else(|| Error::new(Code::UndefinedObject, format!("could not find jsonpath variable \"{name}\"")))
    }

    fn key(&mut self, key: &str, rest: &'a [Step], item: &Item<'a>, found: Found<'_, 'a>) -> Result<Outcome> {
        let Item::Object(object) = item else {
            return self.lacks(Kind::MemberNotFound, || {
                "jsonpath member accessor can only be applied to an object".to_owned()
            });
        };
        self.spend(object.text().len())?;
        match object.member(key)? {
            Some(value) => self.hand_on(rest, value, found),
            None => self.lacks(Kind::MemberNotFound, || format!("JSON object does not contain key \"{key}\"")),
        }
    }

    /// Some steps with each element of an array or each value of an object; without steps these are what is found.
    pub(super) fn each(
        &mut self,
        steps: &'a [Step],
        container: &Container<'a>,
        mut found: Found<'_, 'a>,
        unwrap: bool,
    ) -> Result<Outcome> {
        let mut outcome = Outcome::NotFound;
        self.spend(container.text().len())?;
        for place in container.places()? {
            let item = container.at(place)?;
            outcome = if steps.is_empty() {
                self.hand_on(steps, item, found.as_deref_mut())?
            } else {
                self.run(steps, item, found.as_deref_mut(), unwrap)?
            };
            if outcome == Outcome::Failed || (outcome == Outcome::Found && found.is_none()) {
                break;
            }
        }
        Ok(outcome)
    }

    /// `.**{from to to}`
    fn deep(
        &mut self,
        (from, to): (Option<u32>, Option<u32>),
        rest: &'a [Step],
        item: Item<'a>,
        mut found: Found<'_, 'a>,
    ) -> Result<Outcome> {
        let mut outcome = Outcome::NotFound;
        if from == Some(0) {
            let before = std::mem::replace(&mut self.ignores_structure, true);
            let handed = self.hand_on(rest, item.clone(), found.as_deref_mut());
            self.ignores_structure = before;
            outcome = handed?;
            if outcome == Outcome::Found && found.is_none() {
                return Ok(outcome);
            }
        }
        if let Item::Array(container) | Item::Object(container) = &item {
            outcome = self.below(container, 1, (from, to), rest, found)?;
        }
        Ok(outcome)
    }

    /// The values at some depths below a container; from `last` to `last` those that have no values.
    fn below(
        &mut self,
        container: &Container<'a>,
        level: u32,
        (from, to): (Option<u32>, Option<u32>),
        rest: &'a [Step],
        mut found: Found<'_, 'a>,
    ) -> Result<Outcome> {
        let mut outcome = Outcome::NotFound;
        if to.is_some_and(|to| level > to) {
            return Ok(outcome);
        }
        self.spend(container.text().len())?;
        for place in container.places()? {
            let item = container.at(place)?;
            let is_leaf = !matches!(item, Item::Array(_) | Item::Object(_));
            if from.is_some_and(|from| level >= from) || (from.is_none() && to.is_none() && is_leaf) {
                let before = std::mem::replace(&mut self.ignores_structure, true);
                let handed = self.hand_on(rest, item.clone(), found.as_deref_mut());
                self.ignores_structure = before;
                outcome = handed?;
                if outcome == Outcome::Failed || (outcome == Outcome::Found && found.is_none()) {
                    break;
                }
            }
            if let Item::Array(inner) | Item::Object(inner) = &item
                && to.is_none_or(|to| level < to)
            {
                let (inner, found) = (inner.clone(), found.as_deref_mut());
                let ends_at_first = found.is_none();
                outcome = self.deeper(|walk| walk.below(&inner, level + 1, (from, to), rest, found))?;
                if outcome == Outcome::Failed || (outcome == Outcome::Found && ends_at_first) {
                    break;
                }
            }
        }
        Ok(outcome)
    }

    /// `[from, from to to]`; in lax mode another item is an array of itself.
    fn index(
        &mut self,
        subscripts: &'a [(Chain, Option<Chain>)],
        rest: &'a [Step],
        item: Item<'a>,
        found: Found<'_, 'a>,
    ) -> Result<Outcome> {
        let places = match &item {
            Item::Array(array) => {
                self.spend(array.text().len())?;
                Some(array.places()?)
            }
            _ if self.is_lax => None,
            _ => {
                return self.lacks(Kind::ArrayNotFound, || {
                    "jsonpath array accessor can only be applied to an array".to_owned()
                });
            }
        };
        let size = places.as_ref().map_or(1, Vec::len);
        let before = self.innermost.replace(size);
        let outcome = self.elements(subscripts, size, found, |walk, at, found| {
            let element = match (&item, &places) {
                (Item::Array(array), Some(places)) => array.at(places[at])?,
                _ => item.clone(),
            };
            walk.hand_on(rest, element, found)
        });
        self.innermost = before;
        outcome
    }

    fn elements(
        &mut self,
        subscripts: &'a [(Chain, Option<Chain>)],
        size: usize,
        mut found: Found<'_, 'a>,
        mut then: impl FnMut(&mut Self, usize, Found<'_, 'a>) -> Result<Outcome>,
    ) -> Result<Outcome> {
        let mut outcome = Outcome::NotFound;
        for (from, to) in subscripts {
            let Some(from) = self.subscript(from)? else { return Ok(Outcome::Failed) };
            let to = match to {
                None => from,
                Some(to) => match self.subscript(to)? {
                    Some(to) => to,
                    None => return Ok(Outcome::Failed),
                },
            };
            if !self.ignores_structure && (from < 0 || from > to || i64::from(to) >= size as i64) {
                return self.fail(|| Kind::Subscript.error("jsonpath array subscript is out of bounds"));
            }
            outcome = Outcome::NotFound;
            let end = (i64::from(to) + 1).clamp(0, size as i64) as usize;
            for at in usize::try_from(from).unwrap_or(0)..end {
                self.spend(1)?;
                outcome = then(self, at, found.as_deref_mut())?;
                if outcome == Outcome::Failed || (outcome == Outcome::Found && found.is_none()) {
                    return Ok(outcome);
                }
            }
        }
        Ok(outcome)
    }

    /// A subscript: a number without its fraction; none is an error that is suppressed.
    fn subscript(&mut self, chain: &'a [Step]) -> Result<Option<i32>> {
        let mut found = Vec::new();
        if self.chain(chain, Some(&mut found))? == Outcome::Failed {
            return Ok(None);
        }
        let number = match &found[..] {
            [Item::Number(number)] => Number::of(number).truncated(),
            _ => {
                self.fail(|| Kind::Subscript.error("jsonpath array subscript is not a single numeric value"))?;
                return Ok(None);
            }
        };
        if number.integer().is_none() {
            self.fail(|| Kind::Subscript.error("jsonpath array subscript is out of integer range"))?;
        }
        Ok(number.integer())
    }
}

impl Step {
    /// Whether it asks for the elements of an array, and not for the array.
    fn asks_within(&self) -> bool {
        match self {
            Step::Key(_) | Step::AnyKey | Step::Filter(_) | Step::Datetime(_) => true,
            Step::Method(method) => !matches!(method, Method::Size | Method::Type),
            _ => false,
        }
    }
}
