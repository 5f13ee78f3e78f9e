//! Where in documents that are columns a field can be: at its path, and in the texts of what was not taken apart.
//!
//! ```text
//!   a.b.c    in texts of raw documents · b.c in the rest of objects at a, when b is no path · a.b.c itself
//! ```

use crate::document::assemble::Assembler;
use crate::document::cursor::{Cursor, Documents};
use crate::document::front::damaged;
use crate::document::levels::{Level, Tag};
use crate::document::path::FieldStep;
use crate::document::plan::PlanNode;
use crate::document::values::Take;
use crate::error::Result;
use crate::mask::Mask;

/// A path whose text may have the field.
pub(crate) struct Source<'a> {
    pub(crate) node: &'a PlanNode,
    /// Only texts that were not taken apart: what is there otherwise, other sources have.
    pub(crate) only_raw: bool,
    /// What is left to follow in the text.
    pub(crate) steps: &'a [FieldStep],
}

impl<'a> Source<'a> {
    /// Everywhere that a field can be.
    pub(crate) fn find(root: &'a PlanNode, steps: &'a [FieldStep]) -> Vec<Source<'a>> {
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
    fn read(&mut self, row: usize, text: &mut Vec<u8>, take: &mut impl Take) -> Result<bool> {
        match self {
            Reader::Plain(cursor) => {
                cursor.go_to(row)?;
                let level = cursor.next()?;
                cursor.end_row();
                let Level::Tag(tag) = level else { return Ok(false) };
                take.plain(cursor, tag, text)?;
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
                cursor.text(Tag::Raw, text, |text| take.text(text, steps))
            }
            Reader::Assembled(assembler, steps) => {
                text.clear();
                if assembler.read(row, text)?.is_none() {
                    return Ok(false);
                }
                let text = std::str::from_utf8(text).map_err(|_| damaged("a text is not UTF-8"))?;
                // A value that is there, but without the field, is not looked for elsewhere.
                if !take.text(text, steps) {
                    take.missing();
                }
                Ok(true)
            }
        }
    }
}

/// Reads the wanted rows from wherever they are.
pub(crate) fn read_rows(
    documents: &Documents<'_>,
    sources: &[Source<'_>],
    wanted: Option<&Mask>,
    take: &mut impl Take,
) -> Result<()> {
    let mut readers: Vec<Reader<'_>> = sources.iter().map(|source| Reader::new(documents, source)).collect();
    let mut text = Vec::new();
    for row in (0..documents.front.rows).filter(|&row| wanted.is_none_or(|mask| mask.get(row))) {
        let mut is_found = false;
        for reader in &mut readers {
            if reader.read(row, &mut text, take)? {
                is_found = true;
                break;
            }
        }
        if !is_found {
            take.missing();
        }
        if take.bytes() > documents.bytes_max {
            return Err(damaged("its documents are longer than they were"));
        }
    }
    Ok(())
}
