//! The pieces of a stretch of documents: its front, and blocks of levels and values.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int16Array, Int64Array};

use crate::bloom::hash_bytes;
use crate::document::decimal::Form;
use crate::document::faults::{Fault, active};
use crate::document::front::{Bounds, ColumnFront, Front, StreamFront};
use crate::document::infer::infer;
use crate::document::levels::Tag;
use crate::document::plan::{Plan, StreamPlan};
use crate::document::schema::DocumentSchema;
use crate::document::shred::{Shredded, Stream, Texts};
use crate::encoding::symbols::SymbolTrainer;
use crate::encoding::{BLOCK_ROWS, BlockBuilder, HashesWanted};
use crate::stats::ColumnStats;
use crate::types::DataType;
use crate::value::ValueRef;

/// Encoded documents.
pub(crate) struct EncodedDocuments {
    /// All pieces, one behind the other; each is a multiple of 16 bytes.
    pub(crate) bytes: Vec<u8>,
    /// How many bytes each piece has. The first is the front.
    pub(crate) piece_bytes: Vec<u32>,
}

/// The first piece of some levels, and where their pieces lie.
type KnownLevels = (u32, Range<usize>);

/// Collects pieces.
struct Pieces<'a> {
    out: EncodedDocuments,
    /// By how many levels there are and the hash of their bytes.
    known: HashMap<(usize, u64), Vec<KnownLevels>>,
    trainer: SymbolTrainer,
    pause: &'a mut dyn FnMut(),
}

impl Pieces<'_> {
    fn next(&self) -> u32 {
        self.out.piece_bytes.len() as u32
    }

    /// Adds a block; answers what is known of its values.
    fn add(&mut self, builder: &mut BlockBuilder) -> ColumnStats {
        std::mem::swap(&mut builder.trainer, &mut self.trainer);
        let block = builder.finish(HashesWanted::None);
        std::mem::swap(&mut builder.trainer, &mut self.trainer);
        self.out.piece_bytes.push(block.bytes.len() as u32);
        self.out.bytes.extend_from_slice(&block.bytes);
        (self.pause)();
        block.stats
    }

    fn add_numbers(&mut self, data_type: DataType, arrays: impl Iterator<Item = ArrayRef>) -> Option<u32> {
        let first = self.next();
        let mut builder = BlockBuilder::new(data_type);
        for array in arrays {
            builder.push_array(&array, 0, array.len()).ok()?;
            self.add(&mut builder);
        }
        Some(first)
    }

    /// The first piece of levels; of those that are there already, theirs.
    fn shared_levels(&mut self, levels: &[u16]) -> Option<u32> {
        let (first, start) = (self.next(), self.out.bytes.len());
        self.levels(levels)?;
        // Equal pieces are equal levels: nothing else of levels is kept in memory.
        let made = &self.out.bytes[start..];
        let known = self.known.entry((levels.len(), hash_bytes(made))).or_default();
        let same = known.iter().find(|(_, place)| self.out.bytes[place.clone()] == *made);
        if let Some((known, _)) = same {
            self.out.bytes.truncate(start);
            self.out.piece_bytes.truncate(first as usize);
            return Some(*known);
        }
        known.push((first, start..self.out.bytes.len()));
        Some(first)
    }

    fn levels(&mut self, levels: &[u16]) -> Option<u32> {
        let array = |levels: &[u16]| -> ArrayRef {
            Arc::new(Int16Array::from_iter_values(levels.iter().map(|&level| level as i16)))
        };
        self.add_numbers(DataType::SmallInt, levels.chunks(BLOCK_ROWS).map(array))
    }

    /// The columns of numbers: mantissas, and scales where each number has its own.
    fn numbers(&mut self, stream: &Stream) -> Option<(u32, Form, Bounds)> {
        let (form, mantissas) = Form::of(stream.numbers());
        let array = |chunk: &[i64]| -> ArrayRef { Arc::new(Int64Array::from_iter_values(chunk.iter().copied())) };
        let first = self.add_numbers(DataType::BigInt, mantissas.chunks(BLOCK_ROWS).map(array))?;
        if form == Form::Each {
            let scales: Vec<u16> = stream.scales.iter().map(|&scale| scale.into()).collect();
            self.levels(&scales)?;
        }
        Some((first, form, Bounds::of_numbers(stream.numbers(), form, &mantissas)))
    }

    fn texts(&mut self, texts: &Texts) -> (u32, ColumnStats) {
        let first = self.next();
        let mut builder = BlockBuilder::new(DataType::Text);
        let (mut stats, mut start) = (ColumnStats::empty(), 0);
        for ends in texts.ends.chunks(BLOCK_ROWS) {
            for &end in ends {
                builder.push(ValueRef::Text(&texts.bytes[start..end as usize]));
                start = end as usize;
            }
            stats.merge(&self.add(&mut builder));
        }
        (first, stats)
    }
}

/// Shreds documents and encodes them. `trainer` is the column's. None when they cannot be shredded.
pub(crate) fn encode_documents<'a>(
    texts: impl Iterator<Item = Option<&'a str>> + Clone,
    columns_max: usize,
    trainer: &mut SymbolTrainer,
    pause: &mut dyn FnMut(),
) -> Option<EncodedDocuments> {
    let (schema, odd) = infer(texts.clone(), columns_max);
    pause();
    let plan = Plan::new(&schema);
    // What is written is what can be read: a schema has bounds, of depth and of nodes.
    if plan.streams.is_empty() || DocumentSchema::from_bytes(&schema.to_bytes()).is_err() {
        return None;
    }
    let mut shredded = Shredded::new(&plan);
    for (text, is_odd) in texts.zip(odd) {
        shredded.push(&plan, text, is_odd)?;
    }
    pause();
    let out = EncodedDocuments { bytes: Vec::new(), piece_bytes: Vec::new() };
    let mut pieces = Pieces { out, known: HashMap::new(), trainer: std::mem::take(trainer), pause };
    train(&shredded, &mut pieces.trainer);
    let encoded = encode_streams(schema, &plan, shredded, &mut pieces);
    *trainer = pieces.trainer;
    encoded.map(|()| pieces.out)
}

/// Trains the column's symbols on all texts, for they share one table.
fn train(shredded: &Shredded, trainer: &mut SymbolTrainer) {
    let all = || shredded.streams.iter().flat_map(|stream| &stream.texts);
    let (mut ends, mut bytes) = (Vec::new(), Vec::new());
    let total: usize = all().map(|texts| texts.bytes.len()).sum();
    // A sample of what is there: the trainer takes a sample of that.
    let step = (total / SAMPLE_BYTES).max(1);
    for texts in all() {
        let mut start = 0;
        for (at, &end) in texts.ends.iter().enumerate() {
            if at.is_multiple_of(step) {
                bytes.extend_from_slice(&texts.bytes.as_bytes()[start..end as usize]);
                ends.push(bytes.len() as u32);
            }
            start = end as usize;
        }
    }
    trainer.train(&ends, &bytes);
}

/// Bytes of texts among which the symbol table is trained.
const SAMPLE_BYTES: usize = 64 << 10;

fn encode_streams(schema: DocumentSchema, plan: &Plan, shredded: Shredded, pieces: &mut Pieces<'_>) -> Option<()> {
    let mut front = Front { rows: shredded.rows, schema, streams: Vec::with_capacity(plan.streams.len()) };
    // The front's place; its bytes are known at the end.
    pieces.out.piece_bytes.push(0);
    for (stream, of) in shredded.streams.into_iter().zip(&plan.streams) {
        front.streams.push(encode_stream(stream, of, pieces)?);
    }
    let mut builder = BlockBuilder::new(DataType::Bytea);
    builder.push(ValueRef::Bytes(&front.to_bytes()));
    let block = builder.finish(HashesWanted::None);
    pieces.out.piece_bytes[0] = block.bytes.len() as u32;
    pieces.out.bytes.splice(..0, block.bytes);
    Some(())
}

fn encode_stream(mut stream: Stream, plan: &StreamPlan, pieces: &mut Pieces<'_>) -> Option<StreamFront> {
    let levels = std::mem::take(&mut stream.levels);
    let level_count = levels.len();
    let first = *levels.first()?;
    let constant = levels.iter().all(|&level| level == first).then_some(first);
    let fault = u32::from(active(Fault::WrongSkips));
    let skips = |of: usize| {
        let of_values = if of > 0 { fault } else { 0 };
        stream.skips.iter().map(|skip| skip[of].saturating_sub(of_values)).collect::<Vec<u32>>()
    };
    let mut front = StreamFront {
        level_count,
        constant,
        first_piece: 0,
        level_skips: if plan.first_array.is_some() { skips(0) } else { Vec::new() },
        counts: stream.counts,
        columns: [None, None, None, None],
    };
    if constant.is_none() {
        front.first_piece = pieces.shared_levels(&levels)?;
    }
    drop(levels);
    for (at, tag) in Tag::WITH_VALUES.into_iter().enumerate() {
        let count = stream.counts[tag as usize] as usize;
        if count == 0 {
            continue;
        }
        let (first_piece, form, bounds) = match Stream::texts_of(tag) {
            None => pieces.numbers(&stream)?,
            Some(of) => {
                let (first, stats) = pieces.texts(&stream.texts[of]);
                let bounds = if tag == Tag::String { Bounds::Strings(Box::new(stats)) } else { Bounds::Unknown };
                (first, Form::Fixed(0), bounds)
            }
        };
        let skips = if count == level_count { Vec::new() } else { skips(at + 1) };
        front.columns[at] = Some(Box::new(ColumnFront { count, first_piece, form, skips, bounds }));
    }
    Some(front)
}
