//! Chooses an encoding for a block of texts and writes it.
//!
//! Tried in this order: constant; dictionary or run length, when few texts are distinct; letters and symbols (FSST),
//! whichever is smaller; plain.

use std::borrow::Cow;
use std::ops::Range;

use crate::bloom::hash_bytes;
use crate::encoding::block::Block;
use crate::encoding::builder::{BlockBuilder, EncodedBlock, HashesWanted};
use crate::encoding::dictionary::text_dictionary;
use crate::encoding::kind::Kind;
use crate::encoding::layout::{ALIGN_BYTES, BLOCK_ROWS, Encoding};
use crate::encoding::letters::Alphabet;
use crate::encoding::pieces::{Options, Shape, codes_bytes, write_codes, write_run_ends};
use crate::encoding::slices::{rows_of_slice, slice_rows};
use crate::encoding::symbols::SymbolTrainer;
use crate::encoding::text::{index_bytes, write_index};
use crate::error::Result;
use crate::stats::ColumnStats;

/// Symbols must save at least one byte in this many, or texts stay plain, which reads faster.
const SYMBOLS_GAIN: usize = 24;
/// Letters win when they need at most this many times the bytes of symbols.
const LETTERS_PREFERENCE: f64 = 1.05;

/// Bytes of text from which a block is encoded with pauses, and slices between two of these.
const PAUSE_BYTES: usize = 64 << 10;
const PAUSE_SLICES: usize = 4;

/// Encodes texts: `ends[row]` is where a row's text ends in `bytes`; NULLs are empty.
pub(crate) fn encode_texts(
    shape: Shape<'_>,
    builder: &BlockBuilder,
    (ends, bytes): (&[u32], &[u8]),
    trainer: &mut SymbolTrainer,
    options: Options<'_>,
) -> EncodedBlock {
    let Options { wanted, cut, pause } = options;
    let mut pause = || {
        if bytes.len() >= PAUSE_BYTES {
            pause();
        }
    };
    let text = |row: usize| -> Option<&[u8]> {
        let start = if row == 0 { 0 } else { ends[row - 1] };
        let valid = shape.null_count == 0 || builder.is_valid(row);
        valid.then(|| &bytes[start as usize..ends[row] as usize])
    };
    let rows = shape.rows;
    let first = (0..rows).find_map(text).expect("some row has a text");
    let counts = (shape.null_count as u64, rows as u64);
    let mut out = Vec::new();
    if (0..rows).all(|row| text(row).is_none_or(|text| text == first)) {
        shape.write(Encoding::Constant, &mut out, |out| {
            out.extend_from_slice(&(first.len() as u32).to_le_bytes());
            out.extend_from_slice(&[0; ALIGN_BYTES - 4]);
            out.extend_from_slice(first);
        });
        let hashes = (wanted != HashesWanted::None).then(|| vec![hash_bytes(first)]);
        let stats = stats_of(shape.kind, &mut std::iter::once(first), counts);
        return EncodedBlock::whole(out, Encoding::Constant, stats, hashes);
    }
    // Per byte of text, what the other encodings are likely to need.
    let ratio = trainer.ratio().min(1.0);
    let rest_bytes = (bytes.len() as f64 * ratio) as usize + rows / 2;
    let dictionary_bytes = |entries: usize, bytes: usize| {
        codes_bytes(rows, entries) + 3 * ALIGN_BYTES + (bytes as f64 * ratio) as usize + entries / 2
    };
    let is_too_much = |entries, bytes| dictionary_bytes(entries, bytes) > rest_bytes;
    if let Some((codes, entries)) = text_dictionary(rows, text, is_too_much) {
        let encoding = write_dictionary(shape, &codes, &entries, trainer, &mut out);
        let hashes = match wanted {
            HashesWanted::None => None,
            HashesWanted::Few(count) if entries.len() > count => None,
            _ => Some(entries.iter().map(|entry| hash_bytes(entry)).collect()),
        };
        let stats = stats_of(shape.kind, &mut entries.iter().copied(), counts);
        return EncodedBlock::whole(out, encoding, stats, hashes);
    }
    pause();
    let texts = Texts::choose(ends, bytes, trainer);
    let slice_rows = if cut { slice_rows(rows, texts.stored_bytes()) } else { BLOCK_ROWS };
    let mut slice_bytes = Vec::with_capacity(rows.div_ceil(slice_rows));
    for slice in 0..rows.div_ceil(slice_rows) {
        if slice.is_multiple_of(PAUSE_SLICES) {
            pause();
        }
        let start = out.len();
        texts.write(shape, rows_of_slice(rows, slice_rows, slice), &mut out);
        slice_bytes.push((out.len() - start) as u32);
    }
    pause();
    let hashes = match wanted {
        HashesWanted::None => None,
        HashesWanted::Few(count) if rows > count => None,
        _ => Some((0..rows).filter_map(text).map(hash_bytes).collect()),
    };
    let stats = stats_of(shape.kind, &mut (0..rows).filter_map(text), counts);
    EncodedBlock { bytes: out, slice_bytes, slice_rows, document_bytes: None, encoding: texts.encoding, stats, hashes }
}

/// A block of texts as they are: `ends[row]` is where a row's text ends in `bytes`, a bit of `validity` is 1 when it
/// has one.
pub(crate) fn plain_block(kind: Kind, ends: &[u32], bytes: &[u8], validity: &[u64]) -> Result<Block> {
    let valid: usize = validity.iter().map(|word| word.count_ones() as usize).sum();
    let shape = Shape { kind, rows: ends.len(), null_count: ends.len() - valid, validity };
    let mut out = Vec::with_capacity(bytes.len() + ends.len() * 4 + 64);
    if valid == 0 {
        shape.write(Encoding::AllNull, &mut out, |_| {});
    } else {
        shape.write(Encoding::Plain, &mut out, |out| {
            write_index(ends, bytes.len(), out);
            out.extend_from_slice(bytes);
        });
    }
    Block::parse(arrow_buffer::Buffer::from_vec(out), None)
}

fn write_dictionary(
    shape: Shape<'_>,
    codes: &[u16],
    entries: &[&[u8]],
    trainer: &mut SymbolTrainer,
    out: &mut Vec<u8>,
) -> Encoding {
    let runs = 1 + codes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let run_bytes: usize = codes.chunk_by(|a, b| a == b).map(|run| entries[usize::from(run[0])].len()).sum();
    let entry_bytes: usize = entries.iter().map(|entry| entry.len()).sum();
    let as_runs = 2 * runs + run_bytes + runs / 2 < codes_bytes(codes.len(), entries.len()) + entry_bytes;
    let nested = |texts: &mut dyn Iterator<Item = &[u8]>, trainer: &mut SymbolTrainer, out: &mut Vec<u8>| {
        let (mut ends, mut bytes) = (Vec::new(), Vec::new());
        for text in texts {
            bytes.extend_from_slice(text);
            ends.push(bytes.len() as u32);
        }
        let count = ends.len();
        Texts::choose(&ends, &bytes, trainer).write(Shape::nested(shape.kind, count), 0..count, out);
    };
    if as_runs {
        let mut ends: Vec<u16> = Vec::with_capacity(runs);
        for run in codes.chunk_by(|a, b| a == b) {
            ends.push(ends.last().copied().unwrap_or(0) + run.len() as u16);
        }
        shape.write(Encoding::RunLength, out, |out| {
            write_run_ends(&ends, out);
            let mut texts = codes.chunk_by(|a, b| a == b).map(|run| entries[usize::from(run[0])]);
            nested(&mut texts, trainer, out);
        });
        return Encoding::RunLength;
    }
    shape.write(Encoding::Dictionary, out, |out| {
        write_codes(codes, entries.len(), out);
        nested(&mut entries.iter().copied(), trainer, out);
    });
    Encoding::Dictionary
}

/// Texts stored one by one, in the cheapest of plain, letters and symbols.
struct Texts<'a> {
    encoding: Encoding,
    alphabet: Option<Alphabet>,
    /// Where each text, or its codes, ends.
    ends: Cow<'a, [u32]>,
    /// The bytes of all texts, or their codes.
    bytes: Cow<'a, [u8]>,
}

impl<'a> Texts<'a> {
    fn choose(ends: &'a [u32], bytes: &'a [u8], trainer: &mut SymbolTrainer) -> Texts<'a> {
        let plain_bytes = texts_bytes(ends, bytes.len());
        let index_bytes = plain_bytes - bytes.len();
        let alphabet = Alphabet::of(bytes).filter(|alphabet| letters_bytes(alphabet, bytes.len()) < bytes.len());
        let packed_bytes = alphabet.as_ref().map_or(bytes.len(), |alphabet| letters_bytes(alphabet, bytes.len()));
        let least_ratio = alphabet.as_ref().map_or(0.0, |alphabet| alphabet.symbols_ratio_min(bytes));
        if packed_bytes as f64 > least_ratio * bytes.len() as f64 {
            trainer.train(ends, bytes);
        }
        // Letters read faster than symbols: they may cost a little more, and then compressing is not even tried.
        if packed_bytes as f64 > trainer.ratio() * bytes.len() as f64 * LETTERS_PREFERENCE
            && let Some((code_ends, codes)) = trainer.compress(ends, bytes)
            && texts_bytes(&code_ends, codes.len()) + bytes.len() / SYMBOLS_GAIN < packed_bytes + index_bytes
        {
            trainer.mark_used();
            let (ends, bytes) = (Cow::Owned(code_ends), Cow::Owned(codes));
            return Texts { encoding: Encoding::Symbols, alphabet: None, ends, bytes };
        }
        let encoding = if alphabet.is_some() { Encoding::Letters } else { Encoding::Plain };
        Texts { encoding, alphabet, ends: Cow::Borrowed(ends), bytes: Cow::Borrowed(bytes) }
    }

    /// About how many bytes they take when they are stored, their index not counted.
    fn stored_bytes(&self) -> usize {
        self.alphabet.as_ref().map_or(self.bytes.len(), |alphabet| alphabet.packed_bytes(self.bytes.len()))
    }

    /// Appends a block of some of the rows, which start at a multiple of 64; `shape` is that of all rows.
    fn write(&self, shape: Shape<'_>, rows: Range<usize>, out: &mut Vec<u8>) {
        let start = if rows.start == 0 { 0 } else { self.ends[rows.start - 1] };
        let ends: Vec<u32> = self.ends[rows.clone()].iter().map(|end| end - start).collect();
        let bytes = &self.bytes[start as usize..self.ends[rows.end - 1] as usize];
        let shape = shape.of_rows(rows);
        if shape.null_count == shape.rows {
            return shape.write(Encoding::AllNull, out, |_| {});
        }
        shape.write(self.encoding, out, |out| match &self.alphabet {
            Some(alphabet) => {
                alphabet.write(out);
                write_index(&ends, alphabet.packed_bytes(bytes.len()), out);
                alphabet.pack(bytes, out);
            }
            None => {
                write_index(&ends, bytes.len(), out);
                out.extend_from_slice(bytes);
            }
        });
    }
}

fn letters_bytes(alphabet: &Alphabet, letters: usize) -> usize {
    alphabet.stored_bytes() + alphabet.packed_bytes(letters)
}

fn texts_bytes(ends: &[u32], total: usize) -> usize {
    let (mut min, mut max, mut start) = (u32::MAX, 0, 0);
    for &end in ends {
        min = min.min(end - start);
        max = max.max(end - start);
        start = end;
    }
    index_bytes(ends.len(), min as usize, max as usize, total) + total
}

fn stats_of(kind: Kind, texts: &mut dyn Iterator<Item = &[u8]>, (null_count, row_count): (u64, u64)) -> ColumnStats {
    let first = texts.next().expect("some row has a text");
    let (min, max) = texts.fold((first, first), |(min, max), text| (min.min(text), max.max(text)));
    ColumnStats::new(kind.variable(min), kind.variable(max), null_count, row_count)
}
