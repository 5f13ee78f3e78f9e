//! Takes documents apart into streams of levels and columns of values.
//!
//! ```text
//!   {"id": 1, "x": [5, 6]}   id: Number | 1        x[]: Number Number End(0) | 5 6
//!   {"id": 2, "x": []}       id: Number | 2        x[]: Stop(1)
//! ```
//!
//! Source: Alkowaileet and Carey (VLDB 2022), sections 3.1 and 3.2; see [`super::levels`] for what differs.

use crate::document::decimal::{Decimal, Number};
use crate::document::faults::{Fault, active};
use crate::document::levels::{DEPTH_MAX, Level, STOP, TAG_COUNT, Tag};
use crate::document::plan::{ARRAY_SKIP_ROWS, Plan, PlanNode};
use crate::document::text::{Part, Walker, compare_keys, unescaped};

/// The streams and columns of some documents.
pub(crate) struct Shredded {
    pub(crate) streams: Vec<Stream>,
    pub(crate) rows: usize,
}

/// The levels of one path, and the values at it.
#[derive(Default)]
pub(crate) struct Stream {
    pub(crate) levels: Vec<u16>,
    /// Mantissas of numbers.
    pub(crate) mantissas: Vec<i64>,
    /// Their scales.
    pub(crate) scales: Vec<u8>,
    /// Numerals, strings and raw texts.
    pub(crate) texts: [Texts; 3],
    /// For every so many rows as the plan says: how many levels and values there were before them.
    pub(crate) skips: Vec<[u32; 5]>,
    /// How many levels there were of each tag.
    pub(crate) counts: [u32; TAG_COUNT],
}

/// Texts side by side.
#[derive(Default)]
pub(crate) struct Texts {
    pub(crate) ends: Vec<u32>,
    pub(crate) bytes: String,
}

impl Texts {
    fn push(&mut self, text: &str) -> Option<()> {
        self.bytes.push_str(text);
        self.ends.push(u32::try_from(self.bytes.len()).ok()?);
        Some(())
    }
}

impl Stream {
    /// Its numbers.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = Decimal> + Clone {
        self.mantissas.iter().zip(&self.scales).map(|(&mantissa, &scale)| Decimal { mantissa, scale })
    }

    /// Which of its texts a tag's are.
    pub(crate) fn texts_of(tag: Tag) -> Option<usize> {
        tag.column().and_then(|column| column.checked_sub(1))
    }

    fn tag(&mut self, tag: Tag) {
        self.levels.push(Level::Tag(tag).code());
        self.counts[tag as usize] += 1;
    }

    fn text(&mut self, tag: Tag, text: &str) -> Option<()> {
        self.tag(tag);
        self.texts[Stream::texts_of(tag)?].push(text)
    }

    /// Notes the end of an array, which stands for those of arrays within it that end here too.
    fn end(&mut self, array: usize) {
        let end = Level::End(array).code();
        match self.levels.last_mut() {
            // Ends are odd, those of inner arrays greater.
            Some(last) if *last > end && *last % 2 == 1 => *last = end,
            Some(last) if last.is_multiple_of(2) && *last >= STOP && active(Fault::ForgetEnd) => {}
            _ => self.levels.push(end),
        }
    }

    fn note_row(&mut self) {
        let [numerals, strings, raw] = [0, 1, 2].map(|of| self.texts[of].ends.len() as u32);
        self.skips.push([self.levels.len() as u32, self.mantissas.len() as u32, numerals, strings, raw]);
    }
}

impl Shredded {
    pub(crate) fn new(plan: &Plan) -> Shredded {
        Shredded { streams: plan.streams.iter().map(|_| Stream::default()).collect(), rows: 0 }
    }

    /// Adds a row, NULL or a document; one that is not canonical as it is. None when it does not fit the plan, which
    /// was made for it.
    pub(crate) fn push(&mut self, plan: &Plan, text: Option<&str>, is_odd: bool) -> Option<()> {
        if self.rows.is_multiple_of(ARRAY_SKIP_ROWS) {
            let noted = self.streams.iter_mut().zip(&plan.streams);
            let noted = noted.filter(|(_, plan)| self.rows.is_multiple_of(plan.skip_rows()));
            noted.for_each(|(stream, _)| stream.note_row());
        }
        self.rows += 1;
        match text {
            None => {
                self.absent(&plan.root);
                Some(())
            }
            Some(text) if is_odd => self.raw(&plan.root, text),
            Some(text) => self.value(&plan.root, &mut Walker::new(text)),
        }
    }

    fn stop(&mut self, streams: std::ops::Range<usize>, depth: usize) {
        let code = Level::Stop(depth).code();
        self.streams[streams].iter_mut().for_each(|stream| stream.levels.push(code));
    }

    /// There is nothing at a path.
    fn absent(&mut self, node: &PlanNode) {
        self.stop(node.streams.clone(), node.depth);
    }

    /// There is a value without parts: its own stream gets the tag, and no path goes on from it.
    fn plain(&mut self, node: &PlanNode, tag: Tag) -> Option<&mut Stream> {
        if !node.has_stream {
            return None;
        }
        self.stop(node.below(), node.depth);
        let stream = &mut self.streams[node.streams.start];
        if tag.column().is_none() {
            stream.tag(tag);
        }
        Some(stream)
    }

    fn raw(&mut self, node: &PlanNode, text: &str) -> Option<()> {
        self.plain(node, Tag::Raw)?.text(Tag::Raw, text)
    }

    fn value(&mut self, node: &PlanNode, walker: &mut Walker<'_>) -> Option<()> {
        let start = *walker;
        match walker.part()? {
            Part::Null if active(Fault::NullAsMissing) => {
                self.absent(node);
                Some(())
            }
            Part::Null => self.plain(node, Tag::Null).map(|_| ()),
            Part::Bool(false) => self.plain(node, Tag::False).map(|_| ()),
            Part::Bool(true) => self.plain(node, Tag::True).map(|_| ()),
            Part::String(inside) => self.plain(node, Tag::String)?.text(Tag::String, &unescaped(inside)?),
            Part::Number(text) => match Number::parse(text)? {
                Number::Numeral => self.plain(node, Tag::Numeral)?.text(Tag::Numeral, text),
                Number::Small(decimal) => {
                    let stream = self.plain(node, Tag::Number)?;
                    stream.tag(Tag::Number);
                    stream.mantissas.push(decimal.mantissa);
                    stream.scales.push(decimal.scale);
                    Some(())
                }
            },
            part @ (Part::Object | Part::Array) => {
                let mut ahead = *walker;
                let is_object = part == Part::Object;
                let is_empty = if is_object { ahead.key(true)?.is_none() } else { !ahead.element(true)? };
                if is_empty {
                    *walker = ahead;
                    let tag = if is_object { Tag::EmptyObject } else { Tag::EmptyArray };
                    self.plain(node, tag).map(|_| ())
                } else if node.depth == DEPTH_MAX {
                    *walker = start;
                    self.raw(node, walker.skip()?)
                } else if is_object {
                    self.object(node, walker)
                } else {
                    self.array(node, walker)
                }
            }
        }
    }

    fn own_tag(&mut self, node: &PlanNode, tag: Tag) {
        if node.has_stream {
            self.streams[node.streams.start].tag(tag);
        }
    }

    fn object(&mut self, node: &PlanNode, walker: &mut Walker<'_>) -> Option<()> {
        self.own_tag(node, Tag::Object);
        if let Some(element) = &node.element {
            self.stop(element.streams.clone(), node.depth);
        }
        let mut rest = String::new();
        let (mut next, mut is_first) = (0, true);
        while let Some(quoted) = walker.key(std::mem::take(&mut is_first))? {
            let name = unescaped(quoted)?;
            let mut order = None;
            while let Some(member) = node.members.get(next) {
                let found = compare_keys(&member.name, &name);
                order = Some(found);
                if found.is_ge() {
                    break;
                }
                self.absent(&member.node);
                next += 1;
                order = None;
            }
            if order.is_some_and(std::cmp::Ordering::is_eq) {
                self.value(&node.members[next].node, walker)?;
                next += 1;
            } else {
                rest.push_str(if rest.is_empty() { "{\"" } else { ", \"" });
                rest.push_str(quoted);
                rest.push_str("\": ");
                rest.push_str(walker.skip()?);
            }
        }
        node.members[next..].iter().for_each(|member| self.absent(&member.node));
        match &node.rest {
            Some(of_rest) if rest.is_empty() => self.absent(of_rest),
            Some(of_rest) => {
                rest.push('}');
                self.raw(of_rest, &rest)?;
            }
            None if rest.is_empty() => {}
            None => return None,
        }
        Some(())
    }

    fn array(&mut self, node: &PlanNode, walker: &mut Walker<'_>) -> Option<()> {
        self.own_tag(node, Tag::Array);
        self.stop(node.of_members(), node.depth);
        let element = node.element.as_deref()?;
        let mut is_first = true;
        while walker.element(std::mem::take(&mut is_first))? {
            self.value(element, walker)?;
        }
        self.streams[element.streams.clone()].iter_mut().for_each(|stream| stream.end(node.arrays));
        Some(())
    }
}
