//! Files with documents: columns on disk, texts to whoever reads them.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};

use super::tests::{Keep, open, schema};
use super::*;
use crate::document::schema::Node;
use crate::document::shapes::{Random, Shape, Shapes};
use crate::document::{FieldPath, FieldStep, FieldValues, PathSummary};
use crate::encoding::BLOCK_ROWS;
use crate::error::Code;
use crate::ids::{FileId, TableId, Timestamp};
use crate::mask::Mask;
use crate::row::RowCodec;
use crate::schema::Schema;
use crate::types::DataType;
use crate::value::{Value, ValueRef};

fn documents_schema() -> Arc<Schema> {
    schema(&[DataType::BigInt, DataType::Jsonb, DataType::Text], &[0])
}

fn build(texts: &[Option<String>], options: &ColumnTableOptions) -> Vec<u8> {
    let schema = documents_schema();
    let codec = RowCodec::new(&schema);
    let mut builder = ColumnTableBuilder::new(schema, options);
    for (row, text) in texts.iter().enumerate() {
        let document = text.as_deref().map_or(ValueRef::Null, ValueRef::Text);
        let values = [ValueRef::Int(row as i64), document, ValueRef::Text("beside")];
        builder.push_row(&codec.encode(values), Timestamp(1));
    }
    builder.finish(TableId(3), FileId(77)).unwrap().bytes
}

fn of_shape(shape: Shape, rows: usize) -> Vec<Option<String>> {
    let mut shapes = Shapes::new(shape, 11);
    (0..rows).map(|row| (row % 37 != 5).then(|| shapes.next_text())).collect()
}

fn read(table: &ColumnTable) -> Vec<Option<String>> {
    let mut found = Vec::new();
    for block in 0..table.block_count() {
        let texts = table.block(&NoCache, 1, block).unwrap();
        let text =
            |row| texts.with_value(row, |value| value.as_bytes().map(|text| str::from_utf8(text).unwrap().into()));
        found.extend((0..texts.len()).map(text));
    }
    found
}

#[test]
fn documents_are_columns_in_the_file_and_texts_to_readers() {
    for (shape, rows) in [(Shape::Cell, BLOCK_ROWS + 700), (Shape::Sensors, 400)] {
        let texts = of_shape(shape, rows);
        let bytes = build(&texts, &ColumnTableOptions::default());
        let as_texts = build(&texts, &ColumnTableOptions { documents_as_texts: true, ..ColumnTableOptions::default() });
        assert!(bytes.len() < as_texts.len(), "{shape:?}: {} bytes, {} as texts", bytes.len(), as_texts.len());
        let table = open(&bytes, &documents_schema()).unwrap();
        assert!((0..table.block_count()).all(|block| table.is_documents(1, block)));
        table.verify().unwrap();
        table.verify_checksums().unwrap();
        assert_eq!(read(&table), texts);
        assert_eq!(read(&open(&as_texts, &documents_schema()).unwrap()), texts);
        let cache = Keep::default();
        let mut random = Random(3);
        for _ in 0..60 {
            let row = random.below(rows as u64) as u32;
            let expected = texts[row as usize].as_deref().map_or(Value::Null, |text| Value::Text(text.into()));
            assert_eq!(table.value(&cache, 1, row).unwrap(), expected);
            let whole = table.row(&cache, row).unwrap();
            assert_eq!(RowCodec::new(&documents_schema()).get(&whole, 1).to_value(), expected);
        }
        let mut mask = Mask::none(table.block_rows(0));
        (0..table.block_rows(0)).step_by(61).for_each(|row| mask.set(row));
        let some = table.block_for(&cache, 1, 0, Some(&mask)).unwrap();
        for (row, text) in texts[..some.len()].iter().enumerate() {
            let expected = text.as_deref().filter(|_| mask.get(row));
            some.with_value(row, |value| assert_eq!(value.as_bytes(), expected.map(str::as_bytes)));
        }
    }
}

#[test]
fn few_or_odd_documents_stay_texts() {
    let few: Vec<Option<String>> = of_shape(Shape::Sensors, 20);
    let odd: Vec<Option<String>> = (0..300).map(|n| Some(format!("{{\"{n}\":{n}}} not canonical"))).collect();
    for texts in [few, odd] {
        let table = open(&build(&texts, &ColumnTableOptions::default()), &documents_schema()).unwrap();
        assert!(!table.is_documents(1, 0));
        assert_eq!(read(&table), texts);
        assert_eq!(table.path_statistics(&NoCache, 1, 0).unwrap(), None);
    }
}

#[test]
fn a_file_of_the_version_before_is_still_read() {
    let texts = of_shape(Shape::Cell, 300);
    let image = build(&texts, &ColumnTableOptions { documents_as_texts: true, ..ColumnTableOptions::default() });
    let mut header = header::Header::parse(&crate::bytes::array(&image)).unwrap();
    let end = image.len() - layout::TRAILER_BYTES;
    let start = u64::from_le_bytes(crate::bytes::array(&image[end..])) as usize;
    let types = documents_schema().columns.iter().map(|column| column.data_type).collect::<Vec<_>>();
    let footer = footer::Footer::parse(&image[start..end], &header, &types).unwrap();
    let start = start - footer.summaries.unwrap().bytes as usize;
    let footer = footer.to_bytes(2);
    header.version = 2;
    let mut old = header.to_bytes().to_vec();
    old.extend_from_slice(&image[layout::HEADER_BYTES..start]);
    let crc = layout::checksum(FileId(77), layout::FOOTER_PLACE, layout::FOOTER_PLACE, &footer);
    old.extend_from_slice(&footer);
    old.extend_from_slice(&header::trailer_bytes(FileId(77), start as u64, footer.len() as u32, crc));
    assert_eq!(read(&open(&old, &documents_schema()).unwrap()), texts);
}

#[test]
fn damage_is_found_wherever_it_is() {
    let texts = of_shape(Shape::Sensors, 150);
    let bytes = build(&texts, &ColumnTableOptions::default());
    let mut random = Random(5);
    for _ in 0..400 {
        let mut damaged = bytes.clone();
        let at = random.below(bytes.len() as u64) as usize;
        damaged[at] ^= 1 << random.below(8);
        let found = open(&damaged, &documents_schema()).and_then(|table| table.verify());
        let code = found.expect_err("a bit was turned").code();
        assert!(matches!(code, Code::DataCorrupted | Code::VersionMismatch), "byte {at}: {code:?}");
    }
}

#[test]
fn merged_files_keep_every_document() {
    let texts: Vec<Option<String>> = of_shape(Shape::Wos, 100)
        .into_iter()
        .chain(of_shape(Shape::Cell, 100))
        .chain(of_shape(Shape::Tweet2, 100))
        .collect();
    let halves = [&texts[..150], &texts[150..]].map(|half| build(half, &ColumnTableOptions::default()));
    let merged: Vec<Option<String>> =
        halves.iter().flat_map(|half| read(&open(half, &documents_schema()).unwrap())).collect();
    assert_eq!(merged, texts);
    let table = open(&build(&merged, &ColumnTableOptions::default()), &documents_schema()).unwrap();
    table.verify().unwrap();
    assert_eq!(read(&table), texts);
    let mut schema = table.document_schema(&NoCache, 1).unwrap();
    let before = schema.clone();
    for half in &halves {
        schema.merge(&open(half, &documents_schema()).unwrap().document_schema(&NoCache, 1).unwrap());
    }
    assert!(schema.column_count() >= before.column_count());
}

fn same(found: &FieldValues, expected: &FieldValues, path: &FieldPath) {
    assert_eq!(&found.array, &expected.array, "{path:?}");
    assert_eq!(found.others, expected.others, "{path:?}");
}

#[test]
fn fields_are_those_of_the_texts() {
    let keys = |keys: &[&str]| keys.iter().map(|&key| FieldStep::Key(key.into())).collect::<Vec<_>>();
    let mut paths = vec![
        keys(&[]),
        keys(&["id"]),
        keys(&["nothing"]),
        keys(&["loc", "lat"]),
        keys(&["loc"]),
        keys(&["status"]),
        keys(&["readings"]),
        keys(&["loc", "lat", "below"]),
    ];
    paths.push([keys(&["readings"]), vec![FieldStep::Index(-1)], keys(&["temp"])].concat());
    paths.push(["readings", "3", "ts"].map(|step| FieldStep::Either(step.into())).to_vec());
    paths.push(["loc", "lat"].map(|step| FieldStep::Either(step.into())).to_vec());
    let types = [DataType::Jsonb, DataType::Text, DataType::BigInt, DataType::DoublePrecision, DataType::Boolean];
    let mut texts = of_shape(Shape::Sensors, 300);
    texts[7] = Some(r#"{"id": "seven", "loc": {"lat": null}, "status": true, "readings": {"3": {"ts": 5}}}"#.into());
    texts[8] = Some(r#"[{"id": 8}]"#.into());
    texts[9] = Some(r#"{"id":  9}"#.into());
    texts[10] = Some(r#"{"id": 123456789012345678901}"#.into());
    let table = open(&build(&texts, &ColumnTableOptions::default()), &documents_schema()).unwrap();
    assert!(table.is_documents(1, 0));
    let mut mask = Mask::none(300);
    (0..300).step_by(7).for_each(|row| mask.set(row));
    let plain = paths.iter().flat_map(|steps| types.map(|data_type| FieldPath::new(steps.clone(), data_type)));
    let rest = paths.iter().flat_map(|steps| {
        let unless = |data_type| FieldPath { unless: Some(data_type), ..FieldPath::new(steps.clone(), DataType::Text) };
        let no_array = Some(DataType::Array(crate::types::Element::Jsonb));
        let no_array = FieldPath { unless: no_array, ..FieldPath::new(steps.clone(), DataType::Jsonb) };
        [DataType::BigInt, DataType::DoublePrecision].map(unless).into_iter().chain([no_array])
    });
    for path in plain.chain(rest) {
        let refs: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        let expected = path.of_texts(refs.iter().copied()).unwrap();
        same(&table.field(&NoCache, (1, 0), &path, None).unwrap(), &expected, &path);
        let some = refs.iter().step_by(7).copied();
        let expected = path.of_texts(some).unwrap();
        same(&table.field(&NoCache, (1, 0), &path, Some(&mask)).unwrap(), &expected, &path);
    }
    assert!(table.field(&NoCache, (0, 0), &FieldPath::of_keys(&["a"], DataType::Text), None).is_err());
    assert!(table.field(&NoCache, (1, 0), &FieldPath::of_keys(&["a"], DataType::Date), None).is_err());
}

#[test]
fn the_bytes_of_all_paths_are_those_of_the_file() {
    let texts = of_shape(Shape::Tweet2, 400);
    let table = open(&build(&texts, &ColumnTableOptions::default()), &documents_schema()).unwrap();
    let paths = table.path_statistics(&NoCache, 1, 0).unwrap().expect("they are columns");
    let pieces: u64 = (1..table.piece_count(1, 0)).map(|piece| table.piece_bytes(1, 0, piece)).sum();
    let schema = table.document_schema(&NoCache, 1).unwrap();
    let mut has_rest = false;
    schema.root.each(&mut |node| has_rest |= node.has_rest);
    let found: u64 = paths.iter().map(|path| path.bytes).sum();
    assert!(found == pieces || has_rest && found < pieces && found * 10 > pieces * 9, "{found} of {pieces} bytes");
    let present = |path: &crate::document::PathStatistics| path.counts.iter().sum::<u64>();
    let id = paths.iter().find(|path| path.path == [Some("id".into())]).unwrap();
    let missing = texts.iter().filter(|text| text.is_none()).count() as u64;
    assert_eq!((present(id), id.missing), (400 - missing, missing));
}

fn summary_of(table: &ColumnTable, cache: &dyn BlockCache, row_count_max: usize) -> PathSummary {
    let mut summary = PathSummary::new(row_count_max);
    for block in 0..table.block_count() {
        assert!(table.add_paths(cache, (1, block), &mut summary).unwrap());
    }
    summary
}

#[test]
fn paths_are_told_of_by_fronts_alone() {
    for (shape, rows) in [(Shape::Tweet2, 400), (Shape::Sensors, 300), (Shape::Cell, BLOCK_ROWS + 700)] {
        let texts = of_shape(shape, rows);
        let table = open(&build(&texts, &ColumnTableOptions::default()), &documents_schema()).unwrap();
        let cache = Keep::default();
        let summary = summary_of(&table, &cache, usize::MAX);
        assert_eq!(cache.0.lock().unwrap().len(), table.block_count(), "a front for each block");
        let pieces = |block| (0..table.piece_count(1, block)).map(move |piece| (block, piece));
        let pieces = (0..table.block_count()).flat_map(pieces);
        let all: u64 = pieces.map(|(block, piece)| table.piece_bytes(1, block, piece)).sum();
        let (mut bytes, mut values, mut count) = (0, 0, 0);
        summary.each(&mut |row| {
            (bytes, count) = (bytes + row.bytes, count + 1);
            values += if row.path.ends_with(".*") { 0 } else { row.values };
            assert_eq!(row.files, 1, "{}", row.path);
        });
        assert_eq!((bytes, count, summary.untold_bytes), (all, summary.row_count(), 0), "{shape:?}");
        let mut of_schema = 0;
        table.document_schema(&NoCache, 1).unwrap().root.each(&mut |node: &Node| of_schema += node.count());
        assert_eq!((values, summary.rows), (of_schema, rows as u64), "{shape:?}");
    }
}

#[test]
fn of_more_paths_than_are_wanted_the_bytes_are_known() {
    let texts = of_shape(Shape::Tweet2, 400);
    let table = open(&build(&texts, &ColumnTableOptions::default()), &documents_schema()).unwrap();
    let bytes = |summary: &PathSummary| {
        let (mut bytes, mut count) = (summary.untold_bytes, 0);
        summary.each(&mut |row| (bytes, count) = (bytes + row.bytes, count + 1));
        assert_eq!(count, summary.row_count());
        bytes
    };
    let whole = summary_of(&table, &NoCache, usize::MAX);
    assert!(!whole.has_untold);
    for most in [0, 1, 7, whole.row_count() - 1] {
        let some = summary_of(&table, &NoCache, most);
        assert_eq!((bytes(&some), some.row_count(), some.has_untold), (bytes(&whole), most, true));
    }
}

#[test]
fn a_field_reads_its_own_pieces_alone() {
    let texts = of_shape(Shape::Sensors, 700);
    let table = open(&build(&texts, &ColumnTableOptions::default()), &documents_schema()).unwrap();
    let cache = Keep::default();
    let lat =
        table.field(&cache, (1, 0), &FieldPath::of_keys(&["loc", "lat"], DataType::DoublePrecision), None).unwrap();
    let pieces = cache.0.lock().unwrap().len();
    assert!(pieces <= 3, "the front, levels and values: {pieces}");
    let expected = texts[0].as_ref().and_then(|text| text.split("\"lat\": ").nth(1)?.split(',').next()?.parse().ok());
    assert_eq!(Some(lat.array.as_primitive::<Float64Type>().value(0)), expected);
    let whole: Vec<Option<String>> = texts.iter().map(|text| text.clone().or(Some("{\"id\": 0}".into()))).collect();
    let table = open(&build(&whole, &ColumnTableOptions::default()), &documents_schema()).unwrap();
    let ids = table.field(&NoCache, (1, 0), &FieldPath::of_keys(&["id"], DataType::BigInt), None).unwrap();
    assert_eq!((ids.array.len(), ids.array.null_count(), ids.others), (700, 0, 0));
    assert_eq!(ids.array.as_primitive::<Int64Type>().value(1), 1);
}

/// The same from the texts.
fn elements_of_text(text: &str) -> Vec<Option<f64>> {
    let path = |steps| FieldPath::new(steps, DataType::Jsonb);
    let all = path(vec![FieldStep::Key("readings".into())]).of_texts([Some(text)].into_iter()).unwrap().array;
    if all.is_null(0) || !all.as_string::<i64>().value(0).starts_with('[') {
        return Vec::new();
    }
    let element = |index: i64, data_type| {
        let steps = vec![FieldStep::Key("readings".into()), FieldStep::Index(index)];
        let steps =
            if data_type == DataType::Jsonb { steps } else { [steps, vec![FieldStep::Key("temp".into())]].concat() };
        FieldPath::new(steps, data_type).of_texts([Some(text)].into_iter()).unwrap().array
    };
    let is_there = |index: &i64| !element(*index, DataType::Jsonb).is_null(0);
    let number = |index| {
        let found = element(index, DataType::DoublePrecision);
        (!found.is_null(0)).then(|| found.as_primitive::<Float64Type>().value(0))
    };
    (0..).take_while(is_there).map(number).collect()
}

#[test]
fn numbers_of_elements_are_those_of_the_texts() {
    let mut texts = of_shape(Shape::Sensors, 200);
    texts[3] = Some(r#"{"readings": [{"temp": null}, {"ts": 1}, 7, {"temp": "x"}, {"temp": 3.25}, []]}"#.into());
    texts[4] = Some(r#"{"readings": []}"#.into());
    texts[6] = Some(r#"{"readings": {"temp": 5}}"#.into());
    let table = open(&build(&texts, &ColumnTableOptions::default()), &documents_schema()).unwrap();
    let cache = Keep::default();
    let path = |steps: [&str; 2]| {
        let [array, member] = steps.map(|key| FieldStep::Key(key.into()));
        FieldPath::new(vec![array, FieldStep::Elements, member], DataType::DoublePrecision)
    };
    let found = table.field(&cache, (1, 0), &path(["readings", "temp"]), None).unwrap().array;
    assert!(cache.0.lock().unwrap().len() < 16, "the front, levels and values alone");
    let lists = found.as_list::<i32>();
    assert_eq!(lists.len(), texts.len());
    for (row, text) in texts.iter().enumerate().take(40) {
        let expected = text.as_deref().map_or(Vec::new(), elements_of_text);
        let numbers: Vec<Option<f64>> = match lists.is_valid(row) {
            true => lists.value(row).as_primitive::<Float64Type>().iter().collect(),
            false => Vec::new(),
        };
        assert_eq!(numbers, expected, "row {row}");
    }
    for steps in [["readings", "nothing"], ["nothing", "temp"], ["loc", "lat"]] {
        let found = table.field(&NoCache, (1, 0), &path(steps), None).unwrap().array;
        assert_eq!(found.as_list::<i32>().values().null_count(), found.as_list::<i32>().values().len());
    }
}
