//! Documents come back byte for byte, and the values of every path are those of the texts.

use std::sync::Arc;

use arrow_buffer::Buffer;

use super::shapes::{Random, Shape, Shapes};
use super::*;
use crate::encoding::Block;
use crate::encoding::symbols::{SymbolTable, SymbolTrainer};
use crate::error::Result;
use crate::mask::Mask;

mod damage;
mod fault_tests;
mod list_tests;
mod numbers;
mod prune_tests;
mod random;
mod schemas;
mod shapes_tests;

/// As many as the documents of the paper have, and more than a table makes.
pub(super) const MANY_COLUMNS: usize = 2_048;

/// Encoded documents as a reader has them.
pub(super) struct Stored {
    pub(super) rows: usize,
    pub(super) bytes: usize,
    pub(super) text_bytes: usize,
    pub(super) pieces: Vec<Arc<Block>>,
}

impl Stored {
    pub(super) fn new(texts: &[Option<&str>], columns_max: usize) -> Stored {
        let mut trainer = SymbolTrainer::default();
        let encoded = encode_documents(texts.iter().copied(), columns_max, &mut trainer, &mut || {}).expect("shredded");
        let symbols = trainer.table();
        let symbols = (!symbols.is_empty()).then(|| Arc::new(SymbolTable::parse(&symbols).unwrap()));
        let mut at = 0;
        let mut pieces = Vec::new();
        for bytes in encoded.piece_bytes {
            let piece = encoded.bytes[at..at + bytes as usize].to_vec();
            pieces.push(Arc::new(Block::parse(Buffer::from_vec(piece), symbols.as_ref()).unwrap()));
            at += bytes as usize;
        }
        assert_eq!(at, encoded.bytes.len());
        let text_bytes = texts.iter().flatten().map(|text| text.len()).sum();
        Stored { rows: texts.len(), bytes: at, text_bytes, pieces }
    }

    pub(super) fn read<R>(&self, each: impl FnOnce(&Documents<'_>) -> R) -> R {
        let load = |piece: usize| -> Result<Arc<Block>> { Ok(self.pieces[piece].clone()) };
        each(&Documents::open(self.rows, self.pieces.len(), self.text_bytes, &load).unwrap())
    }

    pub(super) fn texts(&self, wanted: Option<&Mask>) -> Vec<Option<String>> {
        let block = self.read(|documents| assemble(documents, wanted).unwrap());
        (0..self.rows)
            .map(|row| block.with_value(row, |value| value.as_bytes().map(|text| str::from_utf8(text).unwrap().into())))
            .collect()
    }
}

/// Documents are the same when all are read, or some, or one; and everything about them is in order.
pub(super) fn round_trip(texts: &[Option<&str>], columns_max: usize) -> Stored {
    let stored = Stored::new(texts, columns_max);
    stored.read(|documents| check(documents).unwrap());
    for (row, found) in stored.texts(None).iter().enumerate() {
        assert_eq!(found.as_deref(), texts[row], "row {row}");
    }
    let mut random = Random(texts.len() as u64);
    let mut mask = Mask::none(texts.len());
    for _ in 0..1 + texts.len() / 100 {
        mask.set(random.below(texts.len() as u64) as usize);
    }
    for (row, found) in stored.texts(Some(&mask)).iter().enumerate() {
        assert_eq!(found.as_deref(), texts[row].filter(|_| mask.get(row)), "row {row} of some");
    }
    stored
}

#[test]
fn missing_null_and_empty_are_told_apart() {
    let texts = [
        r#"{"a": null}"#,
        r#"{"b": 1}"#,
        "{}",
        r#"{"a": {}}"#,
        r#"{"a": []}"#,
        r#"{"a": ""}"#,
        r#"{"a": 0}"#,
        r#"{"a": [null]}"#,
        r#"{"a": [[]]}"#,
        r#"{"a": [{}]}"#,
        r#"{"a": [{"a": null}]}"#,
        r#"{"a": {"b": null}}"#,
        r#"{"a": [[], [[]], [[], []]]}"#,
        "null",
        "[]",
        "7",
        "true",
        r#""x""#,
        "[[[1], []], [[2, 3]]]",
    ];
    let mut rows: Vec<Option<&str>> = texts.iter().map(|text| Some(*text)).collect();
    rows.push(None);
    round_trip(&rows, MANY_COLUMNS);
    for text in &rows[..rows.len() - 1] {
        round_trip(&[*text], MANY_COLUMNS);
        round_trip(&[*text, None, *text], MANY_COLUMNS);
    }
}

#[test]
fn the_example_of_the_paper() {
    let texts = [
        r#"{"id": 1, "name": {"last": "Smith", "first": "John"}, "games": [{"title": "NBA", "consoles": ["PC"]}]}"#,
        r#"{"id": 2, "games": [{"consoles": ["PC", "PS4"]}, {"title": "NFL", "consoles": ["PS4"]}]}"#,
        r#"{"id": 3}"#,
    ];
    let rows = texts.map(Some);
    let stored = round_trip(&rows, MANY_COLUMNS);
    stored.read(|documents| {
        assert_eq!(documents.front.schema.column_count(), 5);
        let title = documents.front.schema.root.member("games").and_then(|games| games.element()?.member("title"));
        assert_eq!(title.map(|title| title.tags().collect::<Vec<_>>()), Some(vec![Tag::String]));
    });
}

#[test]
fn texts_that_are_not_canonical_stay_as_they_are() {
    let texts = [
        r#"{"a": 1}"#,
        r#"{"a":1}"#,
        r#"{"bb": 1, "a": 2}"#,
        r#"{"a": 1, "a": 2}"#,
        "{\"a\": 1",
        "",
        "no json",
        "[1,2]",
        r#"{"a": 1e5}"#,
        r#"{"a": -0}"#,
        r#"{"a": 01}"#,
        r#""\u0041""#,
        r#"{"a": "\/"}"#,
        "{} ",
    ];
    round_trip(&texts.map(Some), MANY_COLUMNS);
}
