//! The values of one path, without the documents around them: what `->`, `->>`, `#>`, `#>>` and casts of them ask for.
//!
//! ```text
//!   doc->'a'->>'b'          steps a, b  as text         reads the streams of a.b and what lies below it
//!   doc#>>'{a,0,b}'         steps a, 0, b  as text      reads those of a, and looks for the rest in its text
//!   (doc->>'n')::bigint     steps n  as bigint          reads numbers as they are stored; other values are counted
//!   a[*].b                  steps a, [*], b             reads the stream of a[].b: a list for each row
//! ```
//!
//! A path is followed through the schema as far as its steps are keys of objects. From there on, and in members that an
//! object keeps as text, it is followed in the text of the value.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Float64Array, new_null_array};

use crate::document::arrays::is_raw;
use crate::document::bulk::no_texts;
use crate::document::cursor::{Documents, test};
use crate::document::decimal::Form;
use crate::document::levels::Tag;
use crate::document::lists::{ListBuilder, lists};
use crate::document::path::{FieldPath, FieldStep};
use crate::document::plan::PlanNode;
use crate::document::sources::{Source, read_rows};
use crate::document::values::{FieldBuilder, FieldValues, Take};
use crate::encoding::{BLOCK_ROWS, Block, Kind};
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::types::DataType;

/// Decoded texts have about so many times the bytes that they have encoded.
const DECODED_BYTES: usize = 8;

impl FieldPath {
    /// The values of documents in texts, as rows that are no columns yet have them.
    pub fn of_texts<'a>(&self, texts: impl Iterator<Item = Option<&'a str>>) -> Result<FieldValues> {
        if self.is_list() {
            let mut builder = ListBuilder::new(self)?;
            texts.for_each(|text| self.take(text, &mut builder));
            return builder.finish();
        }
        let mut builder = FieldBuilder::new(self)?;
        texts.for_each(|text| self.take(text, &mut builder));
        Ok(builder.finish())
    }

    fn take(&self, text: Option<&str>, take: &mut impl Take) {
        if !text.is_some_and(|text| take.text(text, &self.steps)) {
            take.missing();
        }
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
        if self.is_list() {
            let mut builder = ListBuilder::new(self)?;
            self.take_block(texts, wanted, &mut builder);
            return builder.finish();
        }
        let mut builder = FieldBuilder::new(self)?;
        self.take_block(texts, wanted, &mut builder);
        Ok(builder.finish())
    }

    fn take_block(&self, texts: &Block, wanted: Option<&Mask>, take: &mut impl Take) {
        let mut scratch = Vec::new();
        for row in (0..texts.len()).filter(|&row| wanted.is_none_or(|mask| mask.get(row))) {
            texts.with_value_in(row, &mut scratch, |value| {
                self.take(value.as_bytes().and_then(|bytes| std::str::from_utf8(bytes).ok()), take);
            });
        }
    }

    /// The values in the rows of some documents that are wanted.
    pub(crate) fn of_documents(&self, documents: &Documents<'_>, wanted: Option<&Mask>) -> Result<FieldValues> {
        if self.is_list() {
            return lists(documents, self, wanted);
        }
        let sources = Source::find(&documents.plan.root, &self.steps);
        if let [source] = &sources[..]
            && source.steps.is_empty()
            && let Some(values) = self.at_once(documents, source.node, wanted)?
        {
            return Ok(values);
        }
        let mut builder = FieldBuilder::new(self)?;
        read_rows(documents, &sources, wanted, &mut builder)?;
        Ok(builder.finish())
    }

    /// About how many bytes its values in all rows take, by what the front says; `None` when they may have parts, or be
    /// within texts: as much as the documents then. Pieces have so many bytes.
    pub(crate) fn bytes_about(&self, documents: &Documents<'_>, piece_bytes: &dyn Fn(usize) -> u64) -> Option<usize> {
        let mut node = &documents.plan.root;
        for step in &self.steps {
            if is_raw(documents, node) {
                return None;
            }
            node = match step {
                FieldStep::Key(key) => node.member(key)?,
                FieldStep::Elements | FieldStep::ArrayElements => node.element.as_deref()?,
                FieldStep::Index(_) | FieldStep::Either(_) => return None,
            };
        }
        if !node.has_stream || !node.below().is_empty() {
            return None;
        }
        let front = &documents.front.streams[node.streams.start];
        // What is left of numbers is mostly nothing.
        if self.unless.is_some() {
            return Some(0);
        }
        let is_text = matches!(self.data_type, DataType::Text | DataType::Jsonb);
        let value_bytes = if is_text { size_of::<u128>() } else { size_of::<u64>() };
        let columns = front.columns.iter().enumerate().filter(|(_, column)| column.is_some() && is_text);
        let stored: u64 = columns.flat_map(|(column, _)| front.value_pieces(column)).map(piece_bytes).sum();
        Some(front.level_count * value_bytes + stored as usize * DECODED_BYTES)
    }

    /// The numbers of a path that has nothing but numbers of one form, straight from their blocks; and what is left of
    /// such a path, which is nothing.
    fn at_once(
        &self,
        documents: &Documents<'_>,
        node: &PlanNode,
        wanted: Option<&Mask>,
    ) -> Result<Option<FieldValues>> {
        let rows = documents.front.rows;
        if let Some(DataType::Array(_)) = self.unless
            && is_only_arrays(documents, node)
        {
            let array = new_null_array(&DataType::Jsonb.arrow(), wanted.map_or(rows, Mask::count));
            return Ok(Some(FieldValues { array, others: 0 }));
        }
        if !node.has_stream || !node.below().is_empty() {
            return Ok(None);
        }
        let front = &documents.front.streams[node.streams.start];
        let form = front.columns[0].as_ref().map_or(Form::Fixed(0), |column| column.form);
        let is_left = |tag: &Tag| !matches!(tag, Tag::Null | Tag::Number) && front.counts[*tag as usize] > 0;
        let is_one = matches!(
            (self.unless, form),
            (Some(DataType::DoublePrecision), _) | (Some(DataType::BigInt), Form::Fixed(0))
        );
        if is_one && !Tag::ALL.iter().any(is_left) {
            let array = no_texts(wanted.map_or(rows, Mask::count));
            return Ok(Some(FieldValues { array, others: 0 }));
        }
        let Some(column) = front.columns[0].as_ref().filter(|column| column.count == rows) else { return Ok(None) };
        if wanted.is_some() || front.level_count != rows || rows > BLOCK_ROWS {
            return Ok(None);
        }
        let is_read = match self.data_type {
            DataType::BigInt => form == Form::Fixed(0),
            DataType::DoublePrecision => form != Form::Each,
            _ => false,
        };
        if !is_read {
            return Ok(None);
        }
        let block = (documents.load)(column.first_piece as usize)?;
        test(&block, Kind::Int64, column.count, 0)?;
        let whole = block.decode(DataType::BigInt);
        if self.data_type == DataType::BigInt {
            return Ok(Some(FieldValues { array: whole, others: 0 }));
        }
        let mut doubles = Vec::with_capacity(rows);
        form.doubles(whole.as_primitive::<Int64Type>().values(), &mut doubles);
        Ok(Some(FieldValues { array: Arc::new(Float64Array::from(doubles)), others: 0 }))
    }
}

/// Whether a path has nothing but arrays.
fn is_only_arrays(documents: &Documents<'_>, node: &PlanNode) -> bool {
    let is_other = |tag: &Tag| {
        let front = &documents.front.streams[node.streams.start];
        !matches!(tag, Tag::Array | Tag::EmptyArray) && front.counts[*tag as usize] > 0
    };
    // What has no stream is of one kind of containers.
    let is_other = if node.has_stream { Tag::ALL.iter().any(is_other) } else { node.has_objects };
    !is_other && node.element.is_some()
}
