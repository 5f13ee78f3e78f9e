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

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;

use crate::document::cursor::{Documents, test};
use crate::document::decimal::Form;
use crate::document::lists::{ListBuilder, lists};
use crate::document::path::FieldPath;
use crate::document::plan::PlanNode;
use crate::document::sources::{Source, read_rows};
use crate::document::values::{FieldBuilder, FieldValues, Take};
use crate::encoding::{BLOCK_ROWS, Block, Kind};
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::types::DataType;

impl FieldPath {
    /// The values of documents in texts, as rows that are no columns yet have them.
    pub fn of_texts<'a>(&self, texts: impl Iterator<Item = Option<&'a str>>) -> Result<FieldValues> {
        if self.is_list() {
            let mut builder = ListBuilder::new(self)?;
            texts.for_each(|text| self.take(text, &mut builder));
            return builder.finish();
        }
        let mut builder = FieldBuilder::new(self.data_type)?;
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
        let mut builder = FieldBuilder::new(self.data_type)?;
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
            && self.data_type == DataType::BigInt
            && let Some(values) = whole_numbers(documents, source.node, wanted)?
        {
            return Ok(values);
        }
        let mut builder = FieldBuilder::new(self.data_type)?;
        read_rows(documents, &sources, wanted, &mut builder)?;
        Ok(builder.finish())
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
    test(&block, Kind::Int64, column.count, 0)?;
    Ok(Some(FieldValues { array: block.decode(DataType::BigInt), others: 0 }))
}
