//! Items: parts of a document, and what steps make.
//!
//! ```text
//!   '{"a": [1, "x"]}'    Object(0..16) of the document; its member a is Array(6..14), of that the first is Number(1)
//! ```
//!
//! 1. Arrays and objects are slices of a text that is canonical, and so are their parts; scalars borrow from it where
//!    they can.

use std::borrow::Cow;
use std::rc::Rc;

use weft_format::Result;

use super::moments::Moment;
use crate::json;

/// An item.
#[derive(Clone, Debug)]
pub(super) enum Item<'a> {
    Null,
    Bool(bool),
    /// A canonical text.
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    Moment(Moment),
    Array(Container<'a>),
    Object(Container<'a>),
}

/// The text that arrays and objects are parts of.
#[derive(Clone, Debug)]
pub(super) enum Base<'a> {
    /// The document or the variables.
    Given(u32, &'a str),
    /// An object that a step made.
    Made(Rc<(u32, String)>),
}

/// An array or object: from where to where it is in a text.
#[derive(Clone, Debug)]
pub(super) struct Container<'a> {
    pub(super) base: Base<'a>,
    start: usize,
    end: usize,
}

/// From where to where a part is in the text.
pub(super) type Place = (usize, usize);

impl Base<'_> {
    /// Number 0 is the document, 1 the variables, and from 2 on what steps made.
    pub(super) fn number(&self) -> u32 {
        match self {
            Base::Given(number, _) => *number,
            Base::Made(made) => made.0,
        }
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Base::Given(_, text) => text,
            Base::Made(made) => &made.1,
        }
    }
}

impl<'a> Item<'a> {
    /// All of a text.
    pub(super) fn whole(base: Base<'a>) -> Result<Item<'a>> {
        let end = base.text().len();
        Item::part(&base, (0, end))
    }

    /// A part of a text.
    fn part(base: &Base<'a>, (start, end): Place) -> Result<Item<'a>> {
        let container = || Container { base: base.clone(), start, end };
        match base.text().as_bytes()[start] {
            b'[' => return Ok(Item::Array(container())),
            b'{' => return Ok(Item::Object(container())),
            _ => {}
        }
        match base {
            Base::Given(_, text) => scalar(&text[start..end]),
            Base::Made(made) => scalar(&made.1[start..end]).map(Item::owned),
        }
    }

    /// A scalar that borrows nothing.
    fn owned<'b>(self) -> Item<'b> {
        match self {
            Item::Number(number) => Item::Number(Cow::Owned(number.into_owned())),
            Item::Text(text) => Item::Text(Cow::Owned(text.into_owned())),
            Item::Bool(value) => Item::Bool(value),
            _ => Item::Null,
        }
    }

    /// What `.type()` calls it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Item::Null => "null",
            Item::Bool(_) => "boolean",
            Item::Number(_) => "number",
            Item::Text(_) => "string",
            Item::Moment(moment) => moment.kind(),
            Item::Array(_) => "array",
            Item::Object(_) => "object",
        }
    }

    /// Its canonical JSON text.
    pub(super) fn json(&self) -> Cow<'_, str> {
        let quoted = |text: &str| {
            let mut out = String::with_capacity(text.len() + 2);
            json::quote(text, &mut out);
            Cow::Owned(out)
        };
        match self {
            Item::Null => Cow::Borrowed("null"),
            Item::Bool(true) => Cow::Borrowed("true"),
            Item::Bool(false) => Cow::Borrowed("false"),
            Item::Number(number) => Cow::Borrowed(number),
            Item::Text(text) => quoted(text),
            Item::Moment(moment) => quoted(&moment.text()),
            Item::Array(container) | Item::Object(container) => Cow::Borrowed(container.text()),
        }
    }
}

/// A string, number, boolean or null.
fn scalar(text: &str) -> Result<Item<'_>> {
    Ok(match text.as_bytes()[0] {
        b'"' if text.contains('\\') => Item::Text(Cow::Owned(json::unquoted(text)?)),
        b'"' => Item::Text(Cow::Borrowed(&text[1..text.len() - 1])),
        b't' => Item::Bool(true),
        b'f' => Item::Bool(false),
        b'n' => Item::Null,
        _ => Item::Number(Cow::Borrowed(text)),
    })
}

impl<'a> Container<'a> {
    pub(super) fn text(&self) -> &str {
        &self.base.text()[self.start..self.end]
    }

    /// Where it begins in its text.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Where a slice of its text is.
    fn place(&self, slice: &str) -> Place {
        let start = slice.as_ptr() as usize - self.base.text().as_ptr() as usize;
        (start, start + slice.len())
    }

    /// Where its elements or the values of its members are.
    pub(super) fn places(&self) -> Result<Vec<Place>> {
        let text = self.text();
        if let Some(items) = json::items(text)? {
            return Ok(items.into_iter().map(|item| self.place(item)).collect());
        }
        let members = json::members(text)?.unwrap_or_default();
        Ok(members.into_iter().map(|(_, value)| self.place(value)).collect())
    }

    /// An element or the value of a member.
    pub(super) fn at(&self, place: Place) -> Result<Item<'a>> {
        Item::part(&self.base, place)
    }

    /// The value of a member.
    pub(super) fn member(&self, key: &str) -> Result<Option<Item<'a>>> {
        json::get_key(self.text(), key)?.map(|value| self.at(self.place(value))).transpose()
    }

    /// The keys with their values.
    pub(super) fn members(&self) -> Result<Vec<(String, Place)>> {
        let members = json::members(self.text())?.unwrap_or_default();
        Ok(members.into_iter().map(|(key, value)| (key, self.place(value))).collect())
    }
}
