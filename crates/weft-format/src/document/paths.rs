//! What the fronts of many blocks say together of each path of their documents.
//!
//! ```text
//!   {"a": [{"b": 1}, {"b": "x"}]}      $           object    1
//!   {"a": null}                        $.a         null      1
//!                                      $.a         array     1
//!                                      $.a[*]      object    2
//!                                      $.a[*].b    number    1
//!                                      $.a[*].b    string    1
//!   members without a path             $.*         any       how many objects have some
//! ```
//!
//! 1. Fronts alone are read. What they say is of all versions in the blocks, whether somebody still sees them or not.
//! 2. The bytes of all rows, and those that are not told of, are the bytes of the blocks' pieces. Levels that several
//!    paths share are the first path's, those that several kinds share the most frequent kind's; the front is `$`'s.
//! 3. There are at most so many rows: further paths are not told of, and their bytes are known together.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::document::cursor::Documents;
use crate::document::front::StreamFront;
use crate::document::levels::{TAG_COUNT, Tag};
use crate::document::schema::Node;
use crate::document::text::{compare_keys, quote};
use crate::ids::FileId;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// An object, empty ones too.
    Object,
    /// An array, empty ones too.
    Array,
    /// A string.
    String,
    /// A number.
    Number,
    /// true or false.
    Boolean,
    /// null, which is there: a member that is missing is none.
    Null,
    /// Any of them: the value is kept as text.
    Any,
}

const KIND_COUNT: usize = 7;

impl PathKind {
    const ALL: [PathKind; KIND_COUNT] = [
        PathKind::Object,
        PathKind::Array,
        PathKind::String,
        PathKind::Number,
        PathKind::Boolean,
        PathKind::Null,
        PathKind::Any,
    ];

    /// As `jsonb_typeof` calls it.
    pub fn name(self) -> &'static str {
        match self {
            PathKind::Object => "object",
            PathKind::Array => "array",
            PathKind::String => "string",
            PathKind::Number => "number",
            PathKind::Boolean => "boolean",
            PathKind::Null => "null",
            PathKind::Any => "any",
        }
    }

    fn of_tag(tag: Tag) -> PathKind {
        match tag {
            Tag::Null => PathKind::Null,
            Tag::False | Tag::True => PathKind::Boolean,
            Tag::Number | Tag::Numeral => PathKind::Number,
            Tag::String => PathKind::String,
            Tag::EmptyObject | Tag::Object => PathKind::Object,
            Tag::EmptyArray | Tag::Array => PathKind::Array,
            Tag::Raw => PathKind::Any,
        }
    }
}

/// What is known of the paths of some blocks.
#[derive(Clone, Debug, Default)]
pub struct PathSummary {
    /// Rows of the blocks.
    pub rows: u64,
    /// Bytes of what is not told of (3).
    pub untold_bytes: u64,
    /// Whether there are paths that are not told of.
    pub has_untold: bool,
    root: Known,
    row_count: usize,
    row_count_max: usize,
}

/// Values of one kind at a path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathRow<'a> {
    /// The path, as one writes it in SQL/JSON: `$.a[*]."b c"`.
    pub path: &'a str,
    /// What they are.
    pub kind: PathKind,
    /// How many there are; of members without a path, how many objects have some.
    pub values: u64,
    /// The bytes that they have in the files.
    pub bytes: u64,
    /// In how many files they are.
    pub files: u64,
}

/// One path.
#[derive(Clone, Debug, Default)]
struct Known {
    kinds: Vec<(PathKind, Figures)>,
    rest: Option<Figures>,
    members: BTreeMap<Name, Known>,
    element: Option<Box<Known>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    values: u64,
    bytes: u64,
    files: u64,
    last_file: Option<FileId>,
}

impl Figures {
    fn add(&mut self, values: u64, bytes: u64, file: FileId) {
        self.values += values;
        self.bytes += bytes;
        self.files += u64::from(self.last_file.replace(file) != Some(file));
    }
}

/// The name of a member, in the order of jsonb's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name(Box<str>);

impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        compare_keys(&self.0, &other.0)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PathSummary {
    /// Of no blocks; it has at most so many rows.
    pub fn new(row_count_max: usize) -> PathSummary {
        PathSummary { row_count_max, ..PathSummary::default() }
    }

    /// How many rows [`PathSummary::each`] gives.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Adds a block of a file, whose pieces have so many bytes. Blocks of a file come one after the other.
    pub(crate) fn add(&mut self, documents: &Documents<'_>, piece_bytes: &dyn Fn(usize) -> u64, file: FileId) {
        let mut root = std::mem::take(&mut self.root);
        self.rows += documents.front.rows as u64;
        let shared = piece_bytes(0);
        let streams = documents.front.streams.iter();
        let mut walk = Walk { summary: self, streams, piece_bytes, seen: BTreeSet::new(), shared, file };
        walk.node(&documents.front.schema.root, Some(&mut root));
        self.root = root;
        assert!(self.row_count <= self.row_count_max, "there are at most so many rows (3)");
    }

    /// Calls `each` with every row: objects before their members, those in the order of jsonb's keys.
    pub fn each(&self, each: &mut dyn FnMut(PathRow<'_>)) {
        self.root.each(&mut "$".to_owned(), each);
    }
}

impl Known {
    fn each(&self, path: &mut String, each: &mut dyn FnMut(PathRow<'_>)) {
        let mut tell = |path: &str, kind: PathKind, figures: &Figures| {
            let Figures { values, bytes, files, .. } = *figures;
            each(PathRow { path, kind, values, bytes, files });
        };
        self.kinds.iter().for_each(|(kind, figures)| tell(path, *kind, figures));
        let length = path.len();
        if let Some(rest) = &self.rest {
            path.push_str(".*");
            tell(path, PathKind::Any, rest);
            path.truncate(length);
        }
        for (name, member) in &self.members {
            push_name(path, &name.0);
            member.each(path, each);
            path.truncate(length);
        }
        if let Some(element) = &self.element {
            path.push_str("[*]");
            element.each(path, each);
            path.truncate(length);
        }
    }
}

/// A step to a member, in quotes where the name is no identifier.
fn push_name(path: &mut String, name: &str) {
    path.push('.');
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_plain = name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit());
    if is_plain && name.bytes().next().is_some_and(is_letter) {
        path.push_str(name);
        return;
    }
    let mut quoted = Vec::with_capacity(name.len() + 2);
    quote(name, &mut quoted);
    path.push_str(&String::from_utf8(quoted).expect("quotes and escapes of UTF-8 are UTF-8"));
}

/// Walks the schema of a block with the streams beside it.
struct Walk<'a, S> {
    summary: &'a mut PathSummary,
    streams: S,
    piece_bytes: &'a dyn Fn(usize) -> u64,
    /// The first pieces of levels that were counted.
    seen: BTreeSet<u32>,
    /// Bytes that the next path has beside its own.
    shared: u64,
    file: FileId,
}

impl<'a, S: Iterator<Item = &'a StreamFront>> Walk<'a, S> {
    fn node(&mut self, node: &Node, known: Option<&mut Known>) {
        let mut figures = [(0, 0); KIND_COUNT];
        if node.has_stream() {
            let Some(stream) = self.streams.next() else { return };
            self.of_stream(stream, &mut figures);
        } else {
            let kind = if node.has(Tag::Array) { PathKind::Array } else { PathKind::Object };
            figures[kind as usize].0 = node.count();
        }
        let most = (0..KIND_COUNT).rev().max_by_key(|&kind| figures[kind].0).unwrap_or(0);
        figures[most].1 += std::mem::take(&mut self.shared);
        let mut known = known;
        for (kind, (values, bytes)) in PathKind::ALL.into_iter().zip(figures) {
            if values + bytes > 0 {
                self.kind(known.as_deref_mut(), kind, values, bytes);
            }
        }
        for (name, member) in node.members() {
            let below = known.as_deref_mut().and_then(|known| self.member(known, name));
            self.node(member, below);
        }
        if node.has_rest
            && let Some(stream) = self.streams.next()
        {
            self.rest(stream, known.as_deref_mut());
        }
        if let Some(element) = node.element() {
            let below = known.and_then(|known| self.element(known));
            self.node(element, below);
        }
    }

    /// How many values there are of each kind, and their bytes.
    fn of_stream(&mut self, stream: &StreamFront, figures: &mut [(u64, u64); KIND_COUNT]) {
        const { assert!(TAG_COUNT >= KIND_COUNT, "every kind has a tag") };
        for tag in Tag::ALL {
            let (values, bytes) = &mut figures[PathKind::of_tag(tag) as usize];
            *values += u64::from(stream.counts[tag as usize]);
            *bytes += tag.column().map_or(0, |column| self.bytes(stream.value_pieces(column)));
        }
        self.shared += self.levels(stream);
    }

    fn bytes(&self, pieces: std::ops::Range<usize>) -> u64 {
        pieces.map(self.piece_bytes).sum()
    }

    /// The bytes of levels that no path before had.
    fn levels(&mut self, stream: &StreamFront) -> u64 {
        let pieces = stream.level_pieces();
        let is_new = !pieces.is_empty() && self.seen.insert(stream.first_piece);
        if is_new { self.bytes(pieces) } else { 0 }
    }

    /// Whether there is place for one row more.
    fn has_place(&mut self) -> bool {
        let has_place = self.summary.row_count < self.summary.row_count_max;
        self.summary.row_count += usize::from(has_place);
        self.summary.has_untold |= !has_place;
        has_place
    }

    fn kind(&mut self, known: Option<&mut Known>, kind: PathKind, values: u64, bytes: u64) {
        let Some(known) = known else {
            self.summary.untold_bytes += bytes;
            return;
        };
        match known.kinds.iter_mut().find(|(of, _)| *of == kind) {
            Some((_, figures)) => figures.add(values, bytes, self.file),
            None if self.has_place() => {
                let mut figures = Figures::default();
                figures.add(values, bytes, self.file);
                known.kinds.push((kind, figures));
                known.kinds.sort_by_key(|(kind, _)| *kind as u8);
            }
            None => self.summary.untold_bytes += bytes,
        }
    }

    fn rest(&mut self, stream: &StreamFront, known: Option<&mut Known>) {
        let levels = self.levels(stream);
        let bytes = levels
            + Tag::WITH_VALUES
                .into_iter()
                .filter_map(Tag::column)
                .fold(0, |sum, column| sum + self.bytes(stream.value_pieces(column)));
        let values = stream.counts[Tag::Raw as usize].into();
        let Some(known) = known.filter(|known| known.rest.is_some() || self.has_place()) else {
            self.summary.untold_bytes += bytes;
            return;
        };
        known.rest.get_or_insert_default().add(values, bytes, self.file);
    }

    /// What is known of a member; none when there is no place for it.
    fn member<'k>(&mut self, known: &'k mut Known, name: &str) -> Option<&'k mut Known> {
        let name = Name(name.into());
        if !known.members.contains_key(&name) && self.summary.row_count == self.summary.row_count_max {
            self.summary.has_untold = true;
            return None;
        }
        Some(known.members.entry(name).or_default())
    }

    fn element<'k>(&mut self, known: &'k mut Known) -> Option<&'k mut Known> {
        if known.element.is_none() && self.summary.row_count == self.summary.row_count_max {
            self.summary.has_untold = true;
            return None;
        }
        Some(known.element.get_or_insert_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_paths_have_them() {
        let path_of = |name: &str| {
            let mut path = "$".to_owned();
            push_name(&mut path, name);
            path
        };
        assert_eq!(["a", "_a1", "true"].map(path_of), ["$.a", "$._a1", "$.true"]);
        assert_eq!(["1a", "", "a b", "é"].map(path_of), [r#"$."1a""#, r#"$."""#, r#"$."a b""#, r#"$."é""#]);
        assert_eq!(["a\"b", "\\", "\n\u{1}"].map(path_of), [r#"$."a\"b""#, r#"$."\\""#, "$.\"\\n\\u0001\""]);
    }
}
