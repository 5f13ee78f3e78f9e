//! The values of one path, without the documents around them: what `->`, `->>`, `#>`, `#>>` and casts of them ask for.
//!
//! ```text
//!   doc->'a'->>'b'          steps a, b  as text         reads the streams of a.b and what lies below it
//!   doc#>>'{a,0,b}'         steps a, 0, b  as text      reads those of a, and looks for the rest in its text
//!   (doc->>'n')::bigint     steps n  as bigint          reads numbers as they are stored; other values are counted
//! ```
//!
//! A path is followed through the schema as far as its steps are keys of objects. From there on, and in members that an
//! object keeps as text, it is followed in the text of the value.

use std::fmt;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, LargeStringBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use crate::document::assemble::Assembler;
use crate::document::cursor::{Cursor, Documents};
use crate::document::decimal::{Decimal, Form, Number};
use crate::document::front::damaged;
use crate::document::levels::{Level, Tag};
use crate::document::plan::PlanNode;
use crate::document::text::{Part, Walker, unescaped};
use crate::encoding::{BLOCK_ROWS, Block};
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::types::DataType;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FieldStep {
    /// A member of an object: `-> 'key'`.
    Key(Box<str>),
    /// An element of an array, counted from its end when negative: `-> 0`.
    Index(i64),
    /// Either, by what the value is: a step of `#>`.
    Either(Box<str>),
}

/// The path of a field within documents, and the type that its values are wanted in.
///
/// | type | value |
/// |---|---|
/// | jsonb | as `->` gives it |
/// | text | as `->>` gives it: a string without quotes, NULL for null |
/// | bigint | a number without a fraction that fits |
/// | double precision | a number |
/// | boolean | true or false |
///
/// Other values are NULL, and counted ([`FieldValues::others`]): a cast that raises an error for them asks for text
/// then.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldPath {
    /// From the document.
    pub steps: Vec<FieldStep>,
    /// One of those above.
    pub data_type: DataType,
}

/// As SQL writes it behind the column.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            let is_last = number + 1 == self.steps.len() && self.data_type != DataType::Jsonb;
            let arrow = if is_last { "->>" } else { "->" };
            match step {
                FieldStep::Key(key) | FieldStep::Either(key) => write!(f, "{arrow}'{}'", key.replace('\'', "''"))?,
                FieldStep::Index(at) => write!(f, "{arrow}{at}")?,
            }
        }
        Ok(())
    }
}

/// Values of a field.
#[derive(Debug)]
pub struct FieldValues {
    /// In the Arrow type of the path's type.
    pub array: ArrayRef,
    /// How many values are NULL because they are of another kind than the path's type.
    pub others: usize,
}

/// Takes values one by one.
enum Sink {
    Jsonb(LargeStringBuilder),
    Text(StringViewBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
}

/// A value without its document.
enum Found<'a> {
    Missing,
    Number(Decimal),
    /// Canonical text.
    Text(&'a str),
}

/// Collects the values of a field.
pub(crate) struct FieldBuilder {
    sink: Sink,
    others: usize,
    /// Of the texts among its values.
    bytes: usize,
}

impl FieldPath {
    /// A path of keys, wanted as a type.
    pub fn of_keys(keys: &[&str], data_type: DataType) -> FieldPath {
        FieldPath { steps: keys.iter().map(|&key| FieldStep::Key(key.into())).collect(), data_type }
    }

    /// The values of documents in texts, as rows that are no columns yet have them.
    pub fn of_texts<'a>(&self, texts: impl Iterator<Item = Option<&'a str>>) -> Result<FieldValues> {
        let mut builder = FieldBuilder::new(self.data_type)?;
        for text in texts {
            let found = text.and_then(|text| follow(text, &self.steps));
            builder.push(found.map_or(Found::Missing, Found::Text));
        }
        Ok(builder.finish())
    }

    /// The values of documents in an Arrow array of jsonb.
    pub fn of_array(&self, documents: &ArrayRef) -> Result<FieldValues> {
        match documents.as_string_opt::<i64>() {
            Some(texts) => self.of_texts(texts.iter()),
            None => Err(Error::internal(format!("fields are asked of an array of {}", documents.data_type()))),
        }
    }

    /// The values of documents in a block of texts, in the rows that are wanted.
    pub(crate) fn of_block(&self, texts: &Block, wanted: Option<&Mask>) -> Result<FieldValues> {
        let mut builder = FieldBuilder::new(self.data_type)?;
        let mut scratch = Vec::new();
        for row in (0..texts.len()).filter(|&row| wanted.is_none_or(|mask| mask.get(row))) {
            texts.with_value_in(row, &mut scratch, |value| {
                let text = value.as_bytes().and_then(|bytes| std::str::from_utf8(bytes).ok());
                let found = text.and_then(|text| follow(text, &self.steps));
                builder.push(found.map_or(Found::Missing, Found::Text));
            });
        }
        Ok(builder.finish())
    }

    /// The values in the rows of some documents that are wanted.
    pub(crate) fn of_documents(&self, documents: &Documents<'_>, wanted: Option<&Mask>) -> Result<FieldValues> {
        let sources = Source::find(&documents.plan.root, &self.steps);
        if let [source] = &sources[..]
            && source.steps.is_empty()
            && self.data_type == DataType::BigInt
            && let Some(values) = whole_numbers(documents, source.node, wanted)?
        {
            return Ok(values);
        }
        let mut readers: Vec<Reader<'_>> = sources.iter().map(|source| Reader::new(documents, source)).collect();
        let mut builder = FieldBuilder::new(self.data_type)?;
        let mut text = Vec::new();
        for row in 0..documents.front.rows {
            if wanted.is_some_and(|mask| !mask.get(row)) {
                continue;
            }
            let mut is_found = false;
            for reader in &mut readers {
                if reader.read(row, &mut text, &mut builder)? {
                    is_found = true;
                    break;
                }
            }
            if !is_found {
                builder.push(Found::Missing);
            }
            if builder.bytes > documents.bytes_max {
                return Err(damaged("its documents are longer than they were"));
            }
        }
        Ok(builder.finish())
    }
}

/// A path whose text may have the field.
struct Source<'a> {
    node: &'a PlanNode,
    /// Only texts that were not taken apart: what is there otherwise, other sources have.
    only_raw: bool,
    /// What is left to follow in the text.
    steps: &'a [FieldStep],
}

impl<'a> Source<'a> {
    /// Everywhere that a field can be.
    fn find(root: &'a PlanNode, steps: &'a [FieldStep]) -> Vec<Source<'a>> {
        let mut sources = Vec::new();
        let (mut node, mut left) = (root, steps);
        while let Some((FieldStep::Key(key), after)) = left.split_first() {
            if node.has_stream {
                sources.push(Source { node, only_raw: true, steps: left });
            }
            let Some(member) = node.member(key) else {
                if let Some(rest) = &node.rest {
                    sources.push(Source { node: rest, only_raw: false, steps: left });
                }
                return sources;
            };
            (node, left) = (member, after);
        }
        sources.push(Source { node, only_raw: false, steps: left });
        sources
    }
}

/// Reads a source row by row.
enum Reader<'a> {
    /// A path with values without parts.
    Plain(Box<Cursor<'a>>),
    Assembled(Box<Assembler<'a>>, &'a [FieldStep]),
    Raw(Box<Cursor<'a>>, &'a [FieldStep]),
}

impl<'a> Reader<'a> {
    fn new(documents: &'a Documents<'a>, source: &Source<'a>) -> Reader<'a> {
        let own = || Box::new(documents.cursor(source.node.streams.start));
        match source {
            Source { only_raw: true, steps, .. } => Reader::Raw(own(), steps),
            Source { node, steps: [], .. } if node.has_stream && node.below().is_empty() => Reader::Plain(own()),
            Source { node, steps, .. } => Reader::Assembled(Box::new(Assembler::new(documents, node)), steps),
        }
    }

    /// Adds the value of a row; whether there is one here.
    fn read(&mut self, row: usize, text: &mut Vec<u8>, builder: &mut FieldBuilder) -> Result<bool> {
        match self {
            Reader::Plain(cursor) => {
                cursor.go_to(row)?;
                let level = cursor.next()?;
                cursor.end_row();
                let Level::Tag(tag) = level else { return Ok(false) };
                builder.push_plain(cursor, tag, text)?;
                Ok(true)
            }
            Reader::Raw(cursor, steps) => {
                if cursor.front().counts[Tag::Raw as usize] == 0 {
                    return Ok(false);
                }
                cursor.go_to(row)?;
                if cursor.peek()? != Level::Tag(Tag::Raw) {
                    return Ok(false);
                }
                cursor.pass_row()?;
                cursor
                    .text(Tag::Raw, text, |text| follow(text, steps).map(|found| builder.push(Found::Text(found))))
                    .map(|found| found.is_some())
            }
            Reader::Assembled(assembler, steps) => {
                text.clear();
                if assembler.read(row, text)?.is_none() {
                    return Ok(false);
                }
                let text = std::str::from_utf8(text).map_err(|_| damaged("a text is not UTF-8"))?;
                // A value that is there, but without the field, is not looked for elsewhere.
                builder.push(follow(text, steps).map_or(Found::Missing, Found::Text));
                Ok(true)
            }
        }
    }
}

/// The numbers of a path that has nothing but whole numbers, straight from their blocks.
fn whole_numbers(documents: &Documents<'_>, node: &PlanNode, wanted: Option<&Mask>) -> Result<Option<FieldValues>> {
    if !node.has_stream || wanted.is_some() {
        return Ok(None);
    }
    let front = &documents.front.streams[node.streams.start];
    let Some(column) = &front.columns[0] else { return Ok(None) };
    let rows = documents.front.rows;
    let is_whole = column.form == Form::Fixed(0) && column.count == rows && front.level_count == rows;
    if !is_whole || rows > BLOCK_ROWS {
        return Ok(None);
    }
    let block = (documents.load)(column.first_piece as usize)?;
    super::cursor::test(&block, crate::encoding::Kind::Int64, column.count, 0)?;
    Ok(Some(FieldValues { array: block.decode(DataType::BigInt), others: 0 }))
}

impl FieldBuilder {
    pub(crate) fn new(data_type: DataType) -> Result<FieldBuilder> {
        let sink = match data_type {
            DataType::Jsonb => Sink::Jsonb(LargeStringBuilder::new()),
            DataType::Text => Sink::Text(StringViewBuilder::new()),
            DataType::BigInt => Sink::Int(Int64Builder::new()),
            DataType::DoublePrecision => Sink::Float(Float64Builder::new()),
            DataType::Boolean => Sink::Bool(BooleanBuilder::new()),
            other => return Err(Error::internal(format!("fields of documents are not read as {other}"))),
        };
        Ok(FieldBuilder { sink, others: 0, bytes: 0 })
    }

    /// Adds a value without parts, whose level was just taken.
    fn push_plain(&mut self, cursor: &mut Cursor<'_>, tag: Tag, scratch: &mut Vec<u8>) -> Result<()> {
        let word = match tag {
            Tag::Number => {
                self.push(Found::Number(cursor.number()?));
                return Ok(());
            }
            Tag::String => {
                return cursor.text(tag, scratch, |text| match &mut self.sink {
                    Sink::Text(builder) => {
                        self.bytes += text.len();
                        builder.append_value(text);
                    }
                    _ => {
                        let mut quoted = Vec::with_capacity(text.len() + 2);
                        super::text::quote(text, &mut quoted);
                        self.push(std::str::from_utf8(&quoted).map_or(Found::Missing, Found::Text));
                    }
                });
            }
            Tag::Numeral | Tag::Raw => return cursor.text(tag, scratch, |text| self.push(Found::Text(text))),
            Tag::Null => "null",
            Tag::False => "false",
            Tag::True => "true",
            Tag::EmptyObject => "{}",
            Tag::EmptyArray => "[]",
            Tag::Object | Tag::Array => return Err(damaged("a path without parts has a value with parts")),
        };
        self.push(Found::Text(word));
        Ok(())
    }

    fn push(&mut self, found: Found<'_>) {
        let mut written = Vec::new();
        let (text, number) = match found {
            Found::Missing => (None, None),
            Found::Number(number) => {
                if matches!(self.sink, Sink::Jsonb(_) | Sink::Text(_)) {
                    number.write(&mut written);
                }
                (std::str::from_utf8(&written).ok(), Some(number))
            }
            Found::Text(text) => (Some(text), small_number(text)),
        };
        self.bytes += text.map_or(0, str::len);
        let is_other = match &mut self.sink {
            Sink::Jsonb(builder) => {
                builder.append_option(text);
                false
            }
            Sink::Text(builder) => {
                builder.append_option(text.and_then(plain).as_deref());
                false
            }
            Sink::Int(builder) => {
                let whole = number.filter(|number| number.scale == 0).map(|number| number.mantissa);
                let whole = whole.or_else(|| text.and_then(|text| text.parse().ok()));
                builder.append_option(whole);
                whole.is_none()
            }
            Sink::Float(builder) => {
                let numeral = || text.filter(|text| starts_number(text)).and_then(|text| text.parse().ok());
                // A number beyond all doubles is none, as one that is not zero and rounds to it.
                let is_double = |float: &f64| {
                    let is_zero = || text.is_none_or(|text| !text.bytes().any(|byte| matches!(byte, b'1'..=b'9')));
                    float.is_finite() && (*float != 0.0 || is_zero())
                };
                let float = number.map(Decimal::to_f64).or_else(|| numeral().filter(is_double));
                builder.append_option(float);
                float.is_none()
            }
            Sink::Bool(builder) => {
                let is_true = text.filter(|text| matches!(*text, "true" | "false")).map(|text| text == "true");
                builder.append_option(is_true);
                is_true.is_none()
            }
        };
        let is_there = number.is_some() || text.is_some_and(|text| text != "null");
        self.others += usize::from(is_other && is_there);
    }

    fn finish(self) -> FieldValues {
        let array: ArrayRef = match self.sink {
            Sink::Jsonb(mut builder) => Arc::new(builder.finish()),
            Sink::Text(mut builder) => Arc::new(builder.finish()),
            Sink::Int(mut builder) => Arc::new(builder.finish()),
            Sink::Float(mut builder) => Arc::new(builder.finish()),
            Sink::Bool(mut builder) => Arc::new(builder.finish()),
        };
        FieldValues { array, others: self.others }
    }
}

fn starts_number(text: &str) -> bool {
    matches!(text.as_bytes().first(), Some(b'-' | b'0'..=b'9'))
}

fn small_number(text: &str) -> Option<Decimal> {
    match Number::parse(text) {
        Some(Number::Small(decimal)) => Some(decimal),
        _ => None,
    }
}

/// What `->>` makes of a value.
fn plain(text: &str) -> Option<std::borrow::Cow<'_, str>> {
    match text.as_bytes().first()? {
        b'n' => None,
        b'"' => unescaped(text.get(1..text.len() - 1)?),
        _ => Some(text.into()),
    }
}

/// The value at the end of some steps through a text.
fn follow<'a>(text: &'a str, steps: &[FieldStep]) -> Option<&'a str> {
    let Some((step, after)) = steps.split_first() else { return Some(text) };
    let mut walker = Walker::new(text);
    let found = match (walker.part()?, step) {
        (Part::Object, FieldStep::Key(key) | FieldStep::Either(key)) => {
            let mut is_first = true;
            loop {
                let known = walker.key(std::mem::take(&mut is_first))??;
                let value = walker.skip()?;
                if unescaped(known)? == **key {
                    break value;
                }
            }
        }
        (Part::Array, FieldStep::Index(index)) => element_of(walker, *index)?,
        (Part::Array, FieldStep::Either(index)) => element_of(walker, index.trim().parse().ok()?)?,
        // A scalar is the only element of itself, for `->` and `->>`.
        (Part::Object, _) | (Part::Array, _) => return None,
        (_, FieldStep::Index(0 | -1)) => text,
        _ => return None,
    };
    follow(found, after)
}

fn element_of(mut walker: Walker<'_>, index: i64) -> Option<&str> {
    let mut elements = Vec::new();
    let mut is_first = true;
    while walker.element(std::mem::take(&mut is_first))? {
        let element = walker.skip()?;
        if i64::try_from(elements.len()).ok() == Some(index) {
            return Some(element);
        }
        elements.push(element);
    }
    let from_end = usize::try_from(index.checked_neg()?).ok()?;
    elements.len().checked_sub(from_end).and_then(|at| elements.get(at).copied())
}
