//! Damaged pieces without their checksums: an error or other values, within the memory and the time of the real ones.

use std::cell::Cell;

use arrow_array::Array;

use super::random::documents;
use arrow_array::cast::AsArray;

use super::*;
use crate::types::DataType;

/// Encoded documents as bytes.
struct Image {
    rows: usize,
    text_bytes: usize,
    bytes: Vec<u8>,
    piece_bytes: Vec<u32>,
    symbols: Option<Arc<SymbolTable>>,
}

impl Image {
    fn new(texts: &[Option<String>]) -> Image {
        let rows: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        let mut trainer = SymbolTrainer::default();
        let encoded = encode_documents(rows.iter().copied(), MANY_COLUMNS, &mut trainer, &mut || {}).unwrap();
        let symbols = trainer.table();
        Image {
            rows: rows.len(),
            text_bytes: rows.iter().flatten().map(|text| text.len()).sum(),
            bytes: encoded.bytes,
            piece_bytes: encoded.piece_bytes,
            symbols: (!symbols.is_empty()).then(|| Arc::new(SymbolTable::parse(&symbols).unwrap())),
        }
    }

    /// Reads everything in every way; whether all of it could be read. Nothing may panic, and nothing grow without end.
    fn read(&self, bytes: &[u8], piece_bytes: &[u32]) -> bool {
        let mut at = 0;
        let parse = |&len: &u32| {
            let piece = bytes.get(at..at + len as usize).unwrap_or(&[]).to_vec();
            at += len as usize;
            Block::parse(Buffer::from_vec(piece), self.symbols.as_ref()).map(Arc::new)
        };
        let Ok(pieces) = piece_bytes.iter().map(parse).collect::<Result<Vec<_>>>() else { return false };
        let loads = Cell::new(0_usize);
        let load = |piece: usize| -> Result<Arc<Block>> {
            loads.set(loads.get() + 1);
            Ok(pieces[piece].clone())
        };
        let Ok(documents) = Documents::open(self.rows, pieces.len(), self.text_bytes, &load) else { return false };
        let levels: usize = documents.front.streams.iter().map(|stream| stream.level_count).sum();
        assert!(levels <= pieces.len() * crate::encoding::BLOCK_ROWS * documents.front.streams.len());
        let mut is_read = check(&documents).is_ok();
        match assemble(&documents, None) {
            Ok(block) => assert!(block.memory_bytes() <= self.text_bytes * 2 + (64 << 10)),
            Err(_) => is_read = false,
        }
        for row in [0, self.rows / 2, self.rows - 1] {
            is_read &= assemble_row(&documents, row).is_ok();
        }
        for data_type in [DataType::Jsonb, DataType::Text, DataType::BigInt, DataType::DoublePrecision] {
            for keys in [&["a"][..], &["b", "a"], &["dd"]] {
                match FieldPath::of_keys(keys, data_type).of_documents(&documents, None) {
                    Ok(values) => assert_eq!(values.array.len(), self.rows),
                    Err(_) => is_read = false,
                }
            }
        }
        let steps = [FieldStep::Key("a".into()), FieldStep::Elements, FieldStep::Key("b".into())];
        if let Ok(found) = FieldPath::new(steps.into(), DataType::DoublePrecision).of_documents(&documents, None) {
            assert!(found.array.as_list::<i32>().values().len() <= levels);
        }
        statistics(&documents, &|piece| image_bytes(&pieces, piece));
        assert!(loads.get() <= 200 * self.rows * pieces.len(), "{} loads", loads.get());
        is_read
    }
}

#[test]
fn any_byte_may_be_wrong() {
    let mut random = Random(11);
    let (mut read, mut tried) = (0, 0);
    for seed in 0..6 {
        let image = Image::new(&documents(seed, 40, 1 + seed as usize % 4));
        assert!(image.read(&image.bytes, &image.piece_bytes), "seed {seed}");
        // The front with each of its bytes in several ways, the others in one.
        let front = image.piece_bytes[0] as usize;
        for at in 0..image.bytes.len() {
            let values = if at < front { vec![0xFF, 1 << random.below(8)] } else { vec![1 << random.below(8)] };
            for value in values.into_iter().filter(|_| at < front || at % 3 == seed as usize % 3) {
                let mut damaged = image.bytes.clone();
                damaged[at] ^= value;
                tried += 1;
                read += usize::from(image.read(&damaged, &image.piece_bytes));
            }
        }
    }
    assert!(tried > 5_000 && read > 0 && read < tried / 2, "{read} of {tried} read");
}

#[test]
fn what_is_cut_off_is_an_error() {
    let mut random = Random(12);
    for seed in 0..200 {
        let image = Image::new(&documents(seed, 30, 3));
        // A piece of the front's value: its bytes are there, the rest of it is not.
        let cut = random.below(image.bytes.len() as u64 / 16) as usize * 16;
        assert!(!image.read(&image.bytes[..cut], &image.piece_bytes), "seed {seed}, cut at {cut}");
        let fewer = &image.piece_bytes[..random.below(image.piece_bytes.len() as u64) as usize];
        if !fewer.is_empty() {
            assert!(!image.read(&image.bytes, fewer), "seed {seed}, {} pieces", fewer.len());
        }
        let front = Image::front_of(&image);
        for len in 0..front.len() {
            let bytes = Image::with_front(&front[..len]);
            assert!(!image.read(&bytes.0, &[&[bytes.1][..], &image.piece_bytes[1..]].concat()));
            if seed > 3 {
                break;
            }
        }
    }
}

/// A front that says that there is much more than there is.
#[test]
fn counts_are_not_believed() {
    let texts: Vec<Option<String>> = (0..30).map(|n| Some(format!("{{\"a\": [{{\"b\": {n}}}], \"n\": 1}}"))).collect();
    let image = Image::new(&texts);
    let front = image.front_of();
    let mut random = Random(3);
    for round in 0..20_000 {
        let mut damaged = front.clone();
        // A varint in place of another: the largest number of 32 bits.
        let at = random.below(front.len() as u64) as usize;
        let many: &[u8] = [&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F][..], &[0x80, 0x80, 0x04], &[0xFF, 0x7F]][round % 3];
        damaged.splice(at..at + random.below(2) as usize, many.iter().copied());
        let (bytes, len) = Image::with_front(&damaged);
        let rest = &image.bytes[image.piece_bytes[0] as usize..];
        image.read(&[&bytes, rest].concat(), &[&[len][..], &image.piece_bytes[1..]].concat());
    }
}

fn image_bytes(pieces: &[Arc<Block>], piece: usize) -> u64 {
    pieces[piece].memory_bytes() as u64
}

impl Image {
    /// The bytes of the front itself.
    fn front_of(&self) -> Vec<u8> {
        let piece = self.bytes[..self.piece_bytes[0] as usize].to_vec();
        let block = Block::parse(Buffer::from_vec(piece), self.symbols.as_ref()).unwrap();
        block.with_value(0, |value| value.as_bytes().unwrap().to_vec())
    }

    /// A piece with other bytes as its front.
    fn with_front(front: &[u8]) -> (Vec<u8>, u32) {
        let mut builder = crate::encoding::BlockBuilder::new(DataType::Bytea);
        builder.push(crate::value::ValueRef::Bytes(front));
        let bytes = builder.finish(crate::encoding::HashesWanted::None).bytes;
        let len = bytes.len() as u32;
        (bytes, len)
    }
}
