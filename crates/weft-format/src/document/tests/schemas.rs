//! What is learned of documents: grows only, survives its bytes, and is bounded whatever the documents are.

use super::random::documents;
use super::*;
use crate::document::infer::infer;

fn schema_of(texts: &[Option<String>]) -> DocumentSchema {
    infer(texts.iter().map(Option::as_deref), MANY_COLUMNS).0
}

#[test]
fn schemas_survive_their_bytes_and_grow_only() {
    let mut merged = DocumentSchema::default();
    for seed in 0..40 {
        let schema = schema_of(&documents(seed, 60, 4));
        assert_eq!(DocumentSchema::from_bytes(&schema.to_bytes()).unwrap(), schema);
        let before = merged.column_count();
        merged.merge(&schema);
        assert!(merged.column_count() >= before.max(schema.column_count()));
        assert_eq!(DocumentSchema::from_bytes(&merged.to_bytes()).unwrap(), merged);
    }
    let mut again = merged.clone();
    again.merge(&merged);
    assert_eq!(again.column_count(), merged.column_count());
    let bytes = schema_of(&documents(1, 60, 3)).to_bytes();
    let mut random = Random(2);
    for _ in 0..2_000 {
        let mut damaged = bytes.clone();
        let at = random.below(bytes.len() as u64) as usize;
        damaged[at] ^= 1 << random.below(8);
        damaged.truncate(bytes.len() - random.below(3) as usize);
        // An error, or another schema: never more than the bytes say.
        if let Ok(schema) = DocumentSchema::from_bytes(&damaged) {
            assert!(schema.column_count() <= bytes.len());
        }
    }
}

#[test]
fn keys_that_are_data_go_to_the_rest() {
    let text = |n: usize| format!("{{\"id\": {n}, \"of\": {{\"common\": true, \"key {n:06}\": {{\"x\": [{n}]}}}}}}");
    let texts: Vec<String> = (0..7_000).map(text).collect();
    let rows: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
    let stored = round_trip(&rows, MANY_COLUMNS);
    stored.read(|documents| {
        assert_eq!(documents.front.schema.column_count(), 2);
        let of = documents.front.schema.root.member("of").unwrap();
        assert!(of.has_rest && of.member("common").is_some());
        assert_eq!(documents.plan.streams.len(), 3);
    });
}

#[test]
fn columns_are_limited_to_the_most_frequent() {
    let text = |n: usize| {
        let members: Vec<String> = (100..100 + n % 40 + 1).map(|at| format!("\"m{at}\": {n}")).collect();
        format!("{{{}}}", members.join(", "))
    };
    let texts: Vec<String> = (0..400).map(text).collect();
    let rows: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
    for columns_max in [1, 7, 40] {
        let stored = round_trip(&rows, columns_max);
        stored.read(|documents| {
            let columns = documents.front.schema.column_count();
            assert!(columns <= columns_max && columns * 4 >= columns_max, "{columns} of {columns_max}");
            assert!(documents.front.schema.root.member("m100").is_some());
        });
    }
}

#[test]
fn damaged_pieces_do_no_harm() {
    let texts = documents(5, 300, 4);
    let rows: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
    let mut trainer = SymbolTrainer::default();
    let encoded = encode_documents(rows.iter().copied(), MANY_COLUMNS, &mut trainer, &mut || {}).unwrap();
    let symbols =
        Some(Arc::new(SymbolTable::parse(&trainer.table()).unwrap_or_else(|_| SymbolTable::parse(&[0]).unwrap())));
    let mut random = Random(4);
    let (mut refused, mut read) = (0, 0);
    for round in 0..3_000 {
        let mut bytes = encoded.bytes.clone();
        let end = if round % 2 == 0 { encoded.piece_bytes[0] as usize } else { bytes.len() };
        for _ in 0..1 + random.below(3) {
            bytes[random.below(end as u64) as usize] ^= 1 << random.below(8);
        }
        let mut at = 0;
        let pieces: Result<Vec<Arc<Block>>> = encoded
            .piece_bytes
            .iter()
            .map(|&len| {
                let piece = bytes[at..at + len as usize].to_vec();
                at += len as usize;
                let block = Block::parse(Buffer::from_vec(piece), symbols.as_ref())?;
                // What parsing takes on trust, as of any block.
                block.check().map(|()| Arc::new(block))
            })
            .collect();
        let Ok(pieces) = pieces else {
            refused += 1;
            continue;
        };
        let load = |piece: usize| -> Result<Arc<Block>> { Ok(pieces[piece].clone()) };
        let found = Documents::open(rows.len(), pieces.len(), usize::MAX, &load).and_then(|documents| {
            check(&documents)?;
            assemble(&documents, None)
        });
        *if found.is_ok() { &mut read } else { &mut refused } += 1;
    }
    assert!(refused > 100 && read > 100, "{refused} refused, {read} read");
}

/// A schema with more nodes than a reader takes is none: the documents stay texts.
#[test]
fn what_is_written_can_be_read() {
    let deep = |key: usize| format!("\"k{key:04}\": {}{key}{}", "[".repeat(60), "]".repeat(60));
    let text = format!("{{{}}}", (0..1200).map(deep).collect::<Vec<_>>().join(", "));
    let rows: Vec<Option<&str>> = vec![Some(&text); 64];
    let mut trainer = SymbolTrainer::default();
    if let Some(encoded) = encode_documents(rows.iter().copied(), MANY_COLUMNS, &mut trainer, &mut || {}) {
        panic!("{} bytes that no reader takes", encoded.bytes.len());
    }
}
