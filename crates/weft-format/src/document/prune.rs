//! What the front alone says about a condition on a field: whether any document of a block may satisfy it.
//!
//! ```text
//!   (doc->>'at')::bigint > 900     at: numbers 100 to 800, no numerals        none: the block is skipped
//!   doc->>'kind' = 'x'             kind: strings "a" to "f"                   none
//!   doc->>'kind' = '7'             kind: strings "a" to "f", and numbers      some may: numbers are texts, too
//! ```
//!
//! 1. No is certain, yes is not. What was kept as text, on the way or at the path, may be anything.
//! 2. Values of other kinds than the path's type are NULL, which satisfies no comparison ([`FieldPath`]).
//! 3. Bounds are those of all values, whatever was deleted since.
//! 4. Where the value's text is cast, a block in which a cast might raise an error is not skipped ([`casts_all`]).

use crate::document::cursor::Documents;
use crate::document::decimal::{Decimal, Form};
use crate::document::front::{Bounds, StreamFront};
use crate::document::levels::Tag;
use crate::document::path::{FieldPath, FieldStep};
use crate::document::plan::PlanNode;
use crate::predicate::Predicate;
use crate::stats::ColumnStats;
use crate::types::DataType;
use crate::value::ValueRef;

/// Whether documents may satisfy a condition on a field; false is certain.
pub(crate) fn may_match(documents: &Documents<'_>, path: &FieldPath, predicate: &Predicate) -> bool {
    let mut node = &documents.plan.root;
    for step in &path.steps {
        let FieldStep::Key(key) = step else { return true };
        if count(documents, node, Tag::Raw) > 0 {
            return true;
        }
        match node.member(key) {
            Some(member) => node = member,
            None if node.rest.is_some() => return true,
            // There is no such value: it is NULL in every row.
            None => return matches!(predicate, Predicate::IsNull { .. }),
        }
    }
    // Containers only, whose number the front does not tell.
    if !node.has_stream {
        let is_text = matches!(path.data_type, DataType::Jsonb | DataType::Text);
        return is_text || matches!(predicate, Predicate::IsNull { .. });
    }
    let stream = &documents.front.streams[node.streams.start];
    let found = Values { stream, rows: documents.front.rows };
    found.count(Tag::Raw) > 0 || found.may_match(path.data_type, predicate)
}

/// Whether the texts of all values of a field can be cast to a type of integers: no cast raises an error.
pub(crate) fn casts_all(documents: &Documents<'_>, path: &FieldPath, to: DataType) -> bool {
    let (Some(least), Some(greatest)) = (match to {
        DataType::SmallInt => (Some(i64::from(i16::MIN)), Some(i64::from(i16::MAX))),
        DataType::Integer => (Some(i64::from(i32::MIN)), Some(i64::from(i32::MAX))),
        DataType::BigInt => (Some(i64::MIN), Some(i64::MAX)),
        _ => (None, None),
    }) else {
        return false;
    };
    let mut node = &documents.plan.root;
    for step in &path.steps {
        let FieldStep::Key(key) = step else { return false };
        if count(documents, node, Tag::Raw) > 0 {
            return false;
        }
        match node.member(key) {
            Some(member) => node = member,
            // All of them are NULL.
            None => return node.rest.is_none(),
        }
    }
    if !node.has_stream {
        return false;
    }
    let stream = &documents.front.streams[node.streams.start];
    let all: u32 = stream.counts.iter().sum();
    let [nulls, numbers] = [Tag::Null, Tag::Number].map(|tag| stream.counts[tag as usize]);
    let is_plain = all == nulls + numbers;
    let Some(column) = stream.columns[0].as_ref().filter(|_| numbers > 0) else { return is_plain };
    let is_whole = column.form == Form::Fixed(0);
    is_plain
        && is_whole
        && matches!(column.bounds, Bounds::Numbers((min, _), (max, _)) if min >= least && max <= greatest)
}

fn count(documents: &Documents<'_>, node: &PlanNode, tag: Tag) -> u32 {
    if node.has_stream { documents.front.streams[node.streams.start].counts[tag as usize] } else { 0 }
}

/// The values at a path outside arrays.
struct Values<'a> {
    stream: &'a StreamFront,
    rows: usize,
}

impl Values<'_> {
    fn count(&self, tag: Tag) -> usize {
        self.stream.counts[tag as usize] as usize
    }

    /// Those that are not NULL, at least and at most.
    fn present(&self, data_type: DataType) -> (usize, usize) {
        let (numbers, numerals) = (self.count(Tag::Number), self.count(Tag::Numeral));
        let all: usize = self.stream.counts.iter().map(|&count| count as usize).sum();
        match data_type {
            DataType::Jsonb => (all, all),
            DataType::Text => (all - self.count(Tag::Null), all - self.count(Tag::Null)),
            DataType::BigInt => {
                let are_whole = self.stream.columns[0].as_ref().is_some_and(|column| column.form == Form::Fixed(0));
                (if are_whole { numbers } else { 0 }, numbers + numerals)
            }
            DataType::DoublePrecision => (numbers, numbers + numerals),
            DataType::Boolean => {
                let bools = self.count(Tag::True) + self.count(Tag::False);
                (bools, bools)
            }
            _ => (0, usize::MAX),
        }
    }

    fn may_match(&self, data_type: DataType, predicate: &Predicate) -> bool {
        let (least, most) = self.present(data_type);
        match predicate {
            Predicate::IsNull { .. } => least < self.rows,
            _ if most == 0 => false,
            Predicate::IsNotNull { .. } => true,
            Predicate::Compare { .. } | Predicate::In { .. } => match self.bounds(data_type) {
                Known::Nothing => true,
                Known::NoValue => false,
                Known::Bounds(stats) => stats.may_match(predicate),
            },
        }
    }

    /// Bounds of what is not NULL.
    fn bounds(&self, data_type: DataType) -> Known {
        let stats = |min, max| Known::Bounds(ColumnStats::new(min, max, 0, self.rows as u64));
        let [numbers, strings] = [0, 2].map(|at: usize| self.stream.columns[at].as_ref().map(|column| &column.bounds));
        let are_numbers_known = self.count(Tag::Numeral) == 0;
        match (data_type, numbers, strings) {
            (DataType::DoublePrecision, Some(Bounds::Numbers(min, max)), _) if are_numbers_known => {
                let [min, max] = [min, max].map(|&(mantissa, scale)| Decimal { mantissa, scale }.to_f64());
                stats(ValueRef::Float(min), ValueRef::Float(max))
            }
            (DataType::BigInt, Some(Bounds::Numbers(min, max)), _) if are_numbers_known => {
                // Whole numbers between them.
                let floor = |mantissa: i128, scale: u8| mantissa.div_euclid(10_i128.pow(scale.into()));
                let (min, max) = (-floor(-i128::from(min.0), min.1), floor(max.0.into(), max.1));
                match (i64::try_from(min), i64::try_from(max)) {
                    _ if min > max => Known::NoValue,
                    (Ok(min), Ok(max)) => stats(ValueRef::Int(min), ValueRef::Int(max)),
                    _ => Known::Nothing,
                }
            }
            (DataType::Text, _, Some(Bounds::Strings(bounds))) => {
                // Other values have texts, too.
                let are_all_strings = self.present(DataType::Text).1 == self.count(Tag::String);
                if are_all_strings { Known::Bounds((**bounds).clone()) } else { Known::Nothing }
            }
            (DataType::Boolean, ..) => {
                let (min, max) = (self.count(Tag::False) == 0, self.count(Tag::True) > 0);
                stats(ValueRef::Bool(min), ValueRef::Bool(max))
            }
            _ => Known::Nothing,
        }
    }
}

/// What is known of the values of a type.
enum Known {
    Nothing,
    NoValue,
    Bounds(ColumnStats),
}
