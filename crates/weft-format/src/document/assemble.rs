//! Puts documents together again, byte for byte what they were; or the values at one path of them.
//!
//! ```text
//!   row 7    id: Number ─▶ 7      user: Stop(1) ─▶ nothing, and none of its 40 streams is looked at
//!            tags[]: String String End(0) ─▶ ["a", "b"]
//! ```
//!
//! 1. Outside arrays a stream is looked at only when the paths above it are there, and then gone to directly: what a
//!    row costs is in what the row has, not in the schema.
//! 2. Within an array the streams below it go in step: each takes a level for every element, or stands for many.
//!
//! Source: Alkowaileet and Carey (VLDB 2022), section 3.4, with a walk over the tree of paths in place of an automaton:
//! every path reads its own stream, and the end of an array is seen on the first stream below it.

use std::ops::Range;

use crate::document::cursor::{Cursor, Documents};
use crate::document::front::damaged;
use crate::document::levels::{Level, Tag};
use crate::document::plan::PlanNode;
use crate::document::text::{Walker, compare_keys, quote, unescaped};
use crate::error::Result;

/// Reads the streams of a path and all below it.
pub(crate) struct Assembler<'a> {
    documents: &'a Documents<'a>,
    node: &'a PlanNode,
    /// Those that were looked at.
    cursors: Vec<Option<Box<Cursor<'a>>>>,
    row: usize,
    scratch: Vec<u8>,
}

impl<'a> Assembler<'a> {
    /// Of one path.
    pub(crate) fn new(documents: &'a Documents<'a>, node: &'a PlanNode) -> Assembler<'a> {
        let cursors = node.streams.clone().map(|_| None).collect();
        Assembler { documents, node, cursors, row: 0, scratch: Vec::new() }
    }

    /// Appends the value of a row, and says what it is; nothing when there is none. Rows are asked for in rising order,
    /// and there is no array around the path.
    pub(crate) fn read(&mut self, row: usize, out: &mut Vec<u8>) -> Result<Option<Tag>> {
        self.row = row;
        self.value(self.node, out)
    }

    /// Goes to the first element of a row, of a path within an array, with all streams. It may have none.
    pub(crate) fn start_row(&mut self, row: usize) -> Result<()> {
        self.row = row;
        self.node.streams.clone().try_for_each(|stream| self.seek(stream).map(|_| ()))
    }

    /// Appends the value of the next element, and says what it is.
    pub(crate) fn element(&mut self, out: &mut Vec<u8>) -> Result<Option<Tag>> {
        self.value(self.node, out)
    }

    /// Whether that was the last element of the row; then all streams are behind it.
    pub(crate) fn ends_row(&mut self) -> Result<bool> {
        if self.first().peek()? != Level::End(0) {
            return Ok(false);
        }
        for stream in self.node.streams.clone() {
            let cursor = self.cursor(stream);
            cursor.pass();
            cursor.end_row();
        }
        Ok(true)
    }

    /// Whether the path has its own stream only.
    pub(crate) fn is_plain(&self) -> bool {
        self.node.has_stream && self.node.below().is_empty()
    }

    /// The first stream.
    pub(crate) fn first(&mut self) -> &mut Cursor<'a> {
        self.cursor(self.node.streams.start)
    }

    fn cursor(&mut self, stream: usize) -> &mut Cursor<'a> {
        let documents = self.documents;
        self.cursors[stream - self.node.streams.start].get_or_insert_with(|| Box::new(documents.cursor(stream)))
    }

    /// Goes to the row on a stream that has its first level next.
    fn seek(&mut self, stream: usize) -> Result<&mut Cursor<'a>> {
        let row = self.row;
        let cursor = self.cursor(stream);
        cursor.go_to(row)?;
        Ok(cursor)
    }

    /// Takes a level without a value of each of these streams, within an array (2).
    fn pass(&mut self, node: &PlanNode, streams: Range<usize>) {
        if node.arrays > 0 {
            streams.for_each(|stream| self.cursor(stream).pass());
        }
    }

    fn value(&mut self, node: &PlanNode, out: &mut Vec<u8>) -> Result<Option<Tag>> {
        let first = node.streams.start;
        let cursor = if node.arrays == 0 { self.seek(first)? } else { self.cursor(first) };
        if !node.has_stream {
            return match cursor.peek()? {
                Level::Stop(depth) if depth <= node.depth => {
                    self.pass(node, node.streams.clone());
                    Ok(None)
                }
                _ if node.has_objects => self.object(node, out),
                _ => self.array(node, out),
            };
        }
        let tag = match cursor.next()? {
            Level::Tag(tag) => tag,
            Level::Stop(_) => {
                self.pass(node, node.below());
                return Ok(None);
            }
            Level::End(_) => return Err(damaged("an array ends that did not begin")),
        };
        match tag {
            Tag::Object => {
                if let Some(element) = &node.element {
                    self.pass(node, element.streams.clone());
                }
                return self.object(node, out);
            }
            Tag::Array => {
                self.pass(node, node.of_members());
                return self.array(node, out);
            }
            _ => self.pass(node, node.below()),
        }
        self.plain(first, tag, out)?;
        Ok(Some(tag))
    }

    /// Appends a value without parts, whose level was just taken.
    fn plain(&mut self, stream: usize, tag: Tag, out: &mut Vec<u8>) -> Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let cursor = self.cursor(stream);
        match tag {
            Tag::Null => out.extend_from_slice(b"null"),
            Tag::False => out.extend_from_slice(b"false"),
            Tag::True => out.extend_from_slice(b"true"),
            Tag::EmptyObject => out.extend_from_slice(b"{}"),
            Tag::EmptyArray => out.extend_from_slice(b"[]"),
            Tag::Number => cursor.number()?.write(out),
            Tag::String => cursor.text(tag, &mut scratch, |text| quote(text, out))?,
            _ => cursor.text(tag, &mut scratch, |text| out.extend_from_slice(text.as_bytes()))?,
        }
        self.scratch = scratch;
        if out.len() > self.documents.bytes_max {
            return Err(damaged("its documents are longer than they were"));
        }
        Ok(())
    }

    /// The members that an object keeps as text; empty for none.
    fn rest(&mut self, node: &PlanNode) -> Result<String> {
        let Some(rest) = &node.rest else { return Ok(String::new()) };
        let mut text = Vec::new();
        self.value(rest, &mut text)?;
        String::from_utf8(text).map_err(|_| damaged("a text is not UTF-8"))
    }

    fn object(&mut self, node: &PlanNode, out: &mut Vec<u8>) -> Result<Option<Tag>> {
        let rest = self.rest(node)?;
        let mut others = Others::new(&rest)?;
        let start = out.len();
        out.push(b'{');
        for member in &node.members {
            others.write_before(Some(&member.name), out)?;
            let before = out.len();
            if before > start + 1 {
                out.extend_from_slice(b", ");
            }
            out.extend_from_slice(&member.quoted);
            if self.value(&member.node, out)?.is_none() {
                out.truncate(before);
            }
        }
        others.write_before(None, out)?;
        if out.len() == start + 1 {
            return Err(damaged("an object has no members"));
        }
        out.push(b'}');
        Ok(Some(Tag::Object))
    }

    fn array(&mut self, node: &PlanNode, out: &mut Vec<u8>) -> Result<Option<Tag>> {
        let element = node.element.as_deref().ok_or_else(|| damaged("an array has no elements"))?;
        if node.arrays == 0 {
            for stream in element.streams.clone() {
                self.seek(stream)?;
            }
        }
        out.push(b'[');
        loop {
            if self.value(element, out)?.is_none() {
                return Err(damaged("an element is missing"));
            }
            match self.cursor(element.streams.start).peek()? {
                Level::End(array) if array == node.arrays => {
                    self.pass(element, element.streams.clone());
                    break;
                }
                Level::End(array) if array < node.arrays => break,
                _ => out.extend_from_slice(b", "),
            }
        }
        if node.arrays == 0 {
            element.streams.clone().for_each(|stream| self.cursor(stream).end_row());
        }
        out.push(b']');
        Ok(Some(Tag::Array))
    }
}

/// The members that an object keeps as text, which lie between the others.
struct Others<'a> {
    walker: Walker<'a>,
    /// The next one: its key as it is written and as it is, and its value.
    next: Option<(&'a str, std::borrow::Cow<'a, str>, &'a str)>,
    is_first: bool,
}

impl<'a> Others<'a> {
    fn new(text: &'a str) -> Result<Others<'a>> {
        let mut others = Others { walker: Walker::new(text), next: None, is_first: true };
        if !text.is_empty() {
            others.walker.part();
            others.step()?;
        }
        Ok(others)
    }

    fn step(&mut self) -> Result<()> {
        let wrong = || damaged("members that are kept as text are no object");
        self.next = match self.walker.key(std::mem::take(&mut self.is_first)).ok_or_else(wrong)? {
            None => None,
            Some(quoted) => {
                let name = unescaped(quoted).ok_or_else(wrong)?;
                Some((quoted, name, self.walker.skip().ok_or_else(wrong)?))
            }
        };
        Ok(())
    }

    /// Appends those that come before a key; all that are left without one.
    fn write_before(&mut self, key: Option<&str>, out: &mut Vec<u8>) -> Result<()> {
        while let Some((quoted, name, value)) = &self.next {
            if key.is_some_and(|key| compare_keys(name, key).is_ge()) {
                break;
            }
            let opens = out.last() == Some(&b'{');
            out.extend_from_slice(if opens { b"\"" } else { b", \"" });
            out.extend_from_slice(quoted.as_bytes());
            out.extend_from_slice(b"\": ");
            out.extend_from_slice(value.as_bytes());
            self.step()?;
        }
        Ok(())
    }
}
