//! The values of one path in all elements of an array, a list for each row: what `jsonb_array_elements` and UNNEST
//! ask for.
//!
//! ```text
//!   items[*].price      {"items": [{"price": 3}, {}]}   {"items": []}   {"items": 7}        {}
//!   lists               [3, NULL]                       []              NULL, counted       NULL
//!   read from           the streams of items and of items[].price; the number of a row is the place of its list
//! ```
//!
//! 1. A list has one value for every element, in their order: lists of two paths below one array go side by side.
//! 2. What is below the elements is read from its own streams when nothing on the way was kept as text, and the path
//!    goes into one array only; else arrays are assembled and looked through.
//! 3. Numbers that a block has as nothing but numbers are taken all at once ([`bulk`](super::bulk)).
//! 4. Where the path says that an array has to be there, anything else is an error, in the rows that are wanted alone.

use crate::document::arrays::{go, is_raw, list_array, refused};
use crate::document::assemble::Assembler;
use crate::document::bulk::numbers_at_once;
use crate::document::cursor::{Cursor, Documents};
use crate::document::follow::{Elements, each_element};
use crate::document::front::damaged;
use crate::document::levels::{Level, Tag};
use crate::document::path::{FieldPath, FieldStep};
use crate::document::plan::PlanNode;
use crate::document::sources::{Source, read_rows};
use crate::document::values::{FieldBuilder, FieldValues, Found, Take};
use crate::error::{Error, Result};
use crate::mask::Mask;

/// Collects lists.
pub(crate) struct ListBuilder {
    values: FieldBuilder,
    /// How many values there are.
    count: usize,
    ends: Vec<i32>,
    is_there: Vec<bool>,
    /// What is there, but no array.
    others: usize,
    /// Whether that is an error.
    is_strict: bool,
    /// What of this kind was there first.
    refused: Option<&'static str>,
}

impl ListBuilder {
    pub(crate) fn new(path: &FieldPath) -> Result<ListBuilder> {
        let values = FieldBuilder::new(path)?;
        let first = path.steps.iter().find(|step| step.is_elements());
        let is_strict = first == Some(&FieldStep::ArrayElements);
        Ok(ListBuilder { values, count: 0, ends: vec![0], is_there: Vec::new(), others: 0, is_strict, refused: None })
    }

    /// Notes what is there and is no array.
    fn other(&mut self, is_object: bool) {
        self.others += 1;
        if self.is_strict {
            self.refused.get_or_insert(if is_object { "an object" } else { "a scalar" });
        }
    }

    fn end_row(&mut self, is_there: bool) {
        self.ends.push(self.count as i32);
        self.is_there.push(is_there);
    }

    pub(crate) fn finish(self) -> Result<FieldValues> {
        if let Some(what) = self.refused {
            return Err(refused(what));
        }
        if i32::try_from(self.count).is_err() {
            return Err(Error::internal(format!("a list of {} elements is asked of one block", self.count)));
        }
        let FieldValues { array, others } = self.values.finish();
        let array = list_array(self.ends, array, self.is_there);
        Ok(FieldValues { array, others: others + self.others })
    }
}

impl Take for ListBuilder {
    fn missing(&mut self) {
        self.end_row(false);
    }

    fn plain(&mut self, _cursor: &mut Cursor<'_>, _tag: Tag, _scratch: &mut Vec<u8>) -> Result<()> {
        Err(Error::internal("a list is asked of a value without elements"))
    }

    fn text(&mut self, text: &str, steps: &[FieldStep]) -> bool {
        let (values, count) = (&mut self.values, &mut self.count);
        let found = each_element(text, steps, &mut self.others, &mut |value| {
            *count += 1;
            values.push(value.map_or(Found::Missing, Found::Text));
        });
        if let Elements::Other { is_object } = found {
            self.other(is_object);
        }
        self.end_row(matches!(found, Elements::Given));
        true
    }

    fn bytes(&self) -> usize {
        self.values.bytes()
    }
}

/// The lists of some documents, in the rows that are wanted.
pub(crate) fn lists(documents: &Documents<'_>, path: &FieldPath, wanted: Option<&Mask>) -> Result<FieldValues> {
    if let Some(found) = numbers_at_once(documents, path, wanted)? {
        return Ok(found);
    }
    let mut builder = ListBuilder::new(path)?;
    let Some(mut reader) = ListReader::find(documents, &path.steps) else {
        let sources = Source::find(&documents.plan.root, &path.steps);
        read_rows(documents, &sources, wanted, &mut builder)?;
        return builder.finish();
    };
    for row in (0..documents.front.rows).filter(|&row| wanted.is_none_or(|mask| mask.get(row))) {
        reader.read(row, &mut builder)?;
        if builder.bytes() > documents.bytes_max {
            return Err(damaged("its documents are longer than they were"));
        }
    }
    builder.finish()
}

/// Reads lists from their own streams.
struct ListReader<'a> {
    array: &'a PlanNode,
    /// The levels of the array, when it has any.
    own: Option<Box<Cursor<'a>>>,
    /// What is wanted of the elements, or they themselves.
    values: Assembler<'a>,
    /// Elements have no such value: they are counted only.
    is_missing: bool,
    text: Vec<u8>,
}

impl<'a> ListReader<'a> {
    /// None where lists have to be looked for in texts (2).
    fn find(documents: &'a Documents<'a>, steps: &[FieldStep]) -> Option<ListReader<'a>> {
        let at = steps.iter().position(FieldStep::is_elements)?;
        if !steps[at + 1..].iter().all(|step| matches!(step, FieldStep::Key(_))) {
            return None;
        }
        let (array, 0) = go(documents, &documents.plan.root, &steps[..at])? else { return None };
        let element = array.element.as_deref().filter(|_| !is_raw(documents, array))?;
        let (target, left) = go(documents, element, &steps[at + 1..])?;
        let own = array.has_stream.then(|| Box::new(documents.cursor(array.streams.start)));
        // Where the elements have no such value, their first stream tells how many there are.
        let target = if left > 0 { element } else { target };
        let values = Assembler::new(documents, target);
        Some(ListReader { array, own, values, is_missing: left > 0, text: Vec::new() })
    }

    fn read(&mut self, row: usize, lists: &mut ListBuilder) -> Result<()> {
        if let Some(own) = &mut self.own {
            own.go_to(row)?;
            match own.next()? {
                Level::Tag(Tag::Array) => {}
                level => {
                    let is_empty = level == Level::Tag(Tag::EmptyArray);
                    if matches!(level, Level::Tag(_)) && !is_empty {
                        lists.other(matches!(level, Level::Tag(Tag::Object | Tag::EmptyObject)));
                    }
                    lists.end_row(is_empty);
                    return Ok(());
                }
            }
        }
        self.values.start_row(row)?;
        if matches!(self.values.first().peek()?, Level::Stop(depth) if depth <= self.array.depth) {
            lists.missing();
            return Ok(());
        }
        loop {
            self.element(lists)?;
            if self.values.ends_row()? {
                break;
            }
        }
        lists.end_row(true);
        Ok(())
    }

    fn element(&mut self, lists: &mut ListBuilder) -> Result<()> {
        lists.count += 1;
        if self.values.is_plain() && !self.is_missing {
            let cursor = self.values.first();
            match cursor.next()? {
                Level::Tag(tag) => return lists.values.push_plain(cursor, tag, &mut self.text),
                Level::Stop(_) => lists.values.push(Found::Missing),
                Level::End(_) => return Err(damaged("an array ends that did not begin")),
            }
            return Ok(());
        }
        self.text.clear();
        let found = self.values.element(&mut self.text)?.filter(|_| !self.is_missing);
        let text = std::str::from_utf8(&self.text).map_err(|_| damaged("a text is not UTF-8"))?;
        lists.values.push(found.map_or(Found::Missing, |_| Found::Text(text)));
        Ok(())
    }
}
