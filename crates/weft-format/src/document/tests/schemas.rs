//! What is learned of documents: grows only, survives its bytes, and is bounded whatever the documents are.

use super::random::documents;
use super::*;
use crate::document::infer::infer;
use crate::document::schema::Node;

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
    for columns_max in [1, 7, 39, 40, 41] {
        let stored = round_trip(&rows, columns_max);
        stored.read(|documents| {
            // Exactly the most frequent, which are the first.
            let root = &documents.front.schema.root;
            let found: Vec<&str> = root.members().map(|(name, _)| name).collect();
            let expected: Vec<String> = (100..140.min(100 + columns_max)).map(|at| format!("m{at}")).collect();
            assert_eq!(found, expected, "at most {columns_max}");
            assert_eq!(root.has_rest, columns_max < 40);
        });
    }
}

/// The paths of a document that are its values, with those above them that have several kinds.
fn paths(node: &Node, path: &str, found: &mut Vec<String>) {
    if node.has_stream() {
        found.push(path.to_owned());
    }
    node.members().for_each(|(name, member)| paths(member, &format!("{path}.{name}"), found));
    node.element().into_iter().for_each(|element| paths(element, &format!("{path}[]"), found));
}

/// Paths as frequent as others are taken in their order; of objects, arrays and unions whatever is kept has what is
/// above.
#[test]
fn the_most_frequent_paths_are_kept_exactly() {
    let text = |n: usize| {
        let mut members = vec![format!("\"a\": {n}")];
        let mut add = |one_in: usize, member: String| {
            if n.is_multiple_of(one_in) {
                members.push(member);
            }
        };
        add(2, format!("\"b\": {{\"x\": {n}, \"y\": [1, {n}]}}"));
        add(1, if n.is_multiple_of(3) { "\"c\": 1".into() } else { format!("\"c\": {{\"z\": {n}}}") });
        add(4, format!("\"d\": [{{\"p\": {n}, \"q\": {n}}}, {{\"p\": 0}}]"));
        add(8, "\"e\": {\"f\": {\"g\": true}}".into());
        format!("{{{}}}", members.join(", "))
    };
    let texts: Vec<String> = (0..480).map(text).collect();
    let rows: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
    let all = [".a", ".c", ".c.z", ".b.y[]", ".b.x", ".d[].p", ".d[].q", ".e.f.g"];
    for columns_max in 0..=all.len() {
        let stored = round_trip(&rows, columns_max);
        stored.read(|documents| {
            let mut found = Vec::new();
            paths(&documents.front.schema.root, "", &mut found);
            found.sort();
            let mut expected = all[..columns_max].to_vec();
            expected.sort_unstable();
            assert_eq!(found, expected, "at most {columns_max}");
        });
    }
}

/// Three thousand paths of which each document has some: the frequent ones are columns, the others text.
#[test]
fn wide_documents_are_columns_for_their_frequent_paths() {
    let mut random = Random(8);
    let text = |_| {
        let mut name = |_| {
            let below = 1 + random.below(3_000);
            random.below(below)
        };
        let mut names: Vec<u64> = (0..60).map(&mut name).collect();
        names.sort_unstable();
        names.dedup();
        let members: Vec<String> = names.iter().map(|at| format!("\"m{:04}\": {{\"v\": {at}}}", at)).collect();
        format!("{{{}}}", members.join(", "))
    };
    let texts: Vec<String> = (0..1_500).map(text).collect();
    let rows: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
    let stored = round_trip(&rows, 1_000);
    stored.read(|documents| {
        assert_eq!(documents.front.schema.column_count(), 1_000);
        assert_eq!(documents.plan.streams.len(), 1_001, "and the rest");
        assert!(documents.front.schema.root.has_rest);
    });
}

/// Ever new keys: what is learned of them stays small, and what is common stays a column.
#[test]
fn maps_are_noticed_early() {
    let text = |n: usize| {
        let keys: Vec<String> = (0..40).map(|at| format!("\"key {n:05}.{at:02}\": {{\"at\": {at}}}")).collect();
        format!("{{\"of\": {{\"common\": {n}, {}}}, \"common\": \"x\"}}", keys.join(", "))
    };
    let texts: Vec<String> = (0..1_000).map(text).collect();
    let mut schema = DocumentSchema::default();
    let mut learner = crate::document::infer::Learner::default();
    for (at, text) in texts.iter().enumerate() {
        learner.learn(text).unwrap();
        let mut nodes = 0;
        learner.schema.root.each(&mut |_| nodes += 1);
        assert!(nodes <= 2 * 40 * 130, "{nodes} nodes after {at}");
        schema = learner.schema.clone();
    }
    let of = schema.root.member("of").unwrap();
    assert_eq!(of.members().map(|(name, _)| name).collect::<Vec<_>>(), ["common"]);
    let rows: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
    round_trip(&rows, MANY_COLUMNS).read(|documents| assert_eq!(documents.plan.streams.len(), 3));
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
