use weft_contract::SchemaId;
use weft_expr::{Function, Node};
use weft_format::{Code, CompareOp, DataType, Predicate, Value};

use super::super::objects::ObjectKind;
use super::*;

fn sample() -> TableDef {
    let types = [
        DataType::Boolean,
        DataType::SmallInt,
        DataType::Integer,
        DataType::BigInt,
        DataType::Real,
        DataType::DoublePrecision,
        DataType::Numeric { precision: 10, scale: 2 },
        DataType::Text,
        DataType::Varchar(7),
        DataType::Date,
        DataType::Timestamp,
        DataType::TimestampTz,
    ];
    let column =
        |(i, &data_type): (usize, &DataType)| Column { name: format!("c{i}"), data_type, not_null: i % 2 == 0 };
    let mut schema = Schema::new(types.iter().enumerate().map(column).collect(), vec![3, 7]);
    schema.add_column(
        Column { name: "later".into(), data_type: DataType::Text, not_null: false },
        &Value::Text("x".into()),
    );
    schema.drop_column(1);
    let mut defaults = vec![None; 13];
    defaults[4] = Some("1.5 * 2".into());
    TableDef {
        id: TableId(9),
        oid: 7,
        namespace: SchemaId(4),
        properties: BTreeMap::from([("owner".into(), "weft".into())]),
        name: "naïve".into(),
        schema: Arc::new(schema),
        method: "column".into(),
        options: BTreeMap::from([("a".into(), "1".into()), ("b".into(), String::new())]),
        defaults,
        checks: vec![("c".into(), "c1 > 0".into())],
        primary_key: Some("naïve_pkey".into()),
        foreign_keys: vec![ForeignKey {
            name: "naïve_c1_fkey".into(),
            columns: vec![1, 4],
            parent: TableId(3),
            parent_columns: vec![0, 2],
            on_delete: FkAction::Cascade,
            on_update: FkAction::SetNull,
            deferrable: Deferrable::InitiallyImmediate,
            full: true,
            set_on_delete: vec![4],
        }],
        predicate: vec![
            Predicate::Compare { column: 3, op: CompareOp::GtEq, value: Value::Int(-7) },
            Predicate::Compare { column: 5, op: CompareOp::NotEq, value: Value::Float(0.5) },
            Predicate::Compare { column: 6, op: CompareOp::Lt, value: Value::Decimal(i128::MIN) },
            Predicate::In { column: 7, values: vec![Value::Text("ä".into()), Value::Null] },
            Predicate::Compare { column: 0, op: CompareOp::Eq, value: Value::Bool(true) },
            Predicate::IsNull { column: 1 },
            Predicate::IsNotNull { column: 11 },
        ],
        expressions: vec![
            Expr::new(Node::Call(Function::Lower, vec![Expr::column(7, DataType::Text)]), DataType::Text),
            Expr::column(2, DataType::Integer).cast_to(DataType::BigInt),
        ],
    }
}

#[test]
fn a_definition_reads_back() {
    let def = sample();
    let mut bytes = Vec::new();
    encode_def(&def, &mut bytes);
    bytes.push(77);
    let mut input = &bytes[..];
    assert_eq!(decode_def(&mut input).unwrap(), def);
    assert_eq!(input, [77]);
}

#[test]
fn the_documented_bytes() {
    let column = Column { name: "id".into(), data_type: DataType::Integer, not_null: false };
    let def = crate::NewTable::new("t", Schema::new(vec![column], vec![]), "column").into_def(TableId(5));
    let mut bytes = Vec::new();
    encode_def(&def, &mut bytes);
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        hex.join(" "),
        "08 05 00 00 00 01 00 00 00 74 06 00 00 00 63 6f 6c 75 6d 6e 01 00 00 00 01 02 00 00 00 02 00 00 00 69 \
         64 03 00 07 00 00 00 5f 5f 72 6f 77 69 64 04 01 01 00 00 00 01 00 00 00 00 00 00 00 02 00 00 00 00 00 \
         00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 \
         00 00 00 00 00 00 00"
    );
}

#[test]
fn definitions_of_the_versions_before_have_less() {
    let mut def = sample();
    (def.oid, def.namespace) = (9, SchemaId::PUBLIC);
    def.properties.clear();
    (def.foreign_keys[0].full, def.foreign_keys[0].set_on_delete) = (false, Vec::new());
    Arc::make_mut(&mut def.schema).evolution = Evolution::default();
    let encode_def = |def: &TableDef, bytes: &mut Vec<u8>| {
        encode_def(def, bytes);
        // Number, schema, no properties, nothing dropped, nothing added; MATCH SIMPLE of each foreign key, no columns.
        bytes.truncate(bytes.len() - 24 - 5 * def.foreign_keys.len());
    };
    let mut bytes = Vec::new();
    encode_def(&def, &mut bytes);
    bytes[0] = 5;
    assert_eq!(decode_def(&mut &bytes[..]).unwrap(), def, "no numbers");
    def.expressions.clear();
    let mut bytes = Vec::new();
    encode_def(&def, &mut bytes);
    bytes[0] = 4;
    bytes.truncate(bytes.len() - 4);
    assert_eq!(decode_def(&mut &bytes[..]).unwrap(), def, "no expressions");
    let mut bytes = Vec::new();
    encode_def(&def, &mut bytes);
    bytes[0] = 3;
    bytes.truncate(bytes.len() - 4);
    assert_eq!(decode_def(&mut &bytes[..]).unwrap_err().code(), Code::DataCorrupted, "never initially immediate");
    def.foreign_keys[0].deferrable = Deferrable::InitiallyDeferred;
    def.predicate.clear();
    let mut bytes = Vec::new();
    encode_def(&def, &mut bytes);
    bytes[0] = 3;
    bytes.truncate(bytes.len() - 4);
    assert_eq!(decode_def(&mut &bytes[..]).unwrap(), def, "the same bytes otherwise");
    bytes[0] = 2;
    bytes.truncate(bytes.len() - 4);
    assert_eq!(decode_def(&mut &bytes[..]).unwrap(), def, "no predicate");
    def.foreign_keys.clear();
    let mut bytes = Vec::new();
    encode_def(&def, &mut bytes);
    bytes[0] = 1;
    bytes.truncate(bytes.len() - 12);
    assert_eq!(decode_def(&mut &bytes[..]).unwrap(), def, "no foreign keys either");
}

#[test]
fn the_documented_bytes_of_a_predicate() {
    let predicate =
        [Predicate::Compare { column: 1, op: CompareOp::Gt, value: Value::Int(7) }, Predicate::IsNull { column: 2 }];
    let mut bytes = Vec::new();
    predicates::put_predicates(&mut bytes, &predicate);
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex.join(" "), "02 00 00 00 01 01 00 00 00 05 02 07 00 00 00 00 00 00 00 03 02 00 00 00");
}

#[test]
fn damaged_bytes_are_errors() {
    let mut view = Object::new(ObjectKind::View, SchemaId(4), "v");
    view.id = 8;
    view.properties.insert("query".into(), "SELECT 1".into());
    view.needs = vec![7];
    let image = CatalogImage {
        next_id: 10,
        tables: vec![(Timestamp(3), Arc::new(sample()))],
        objects: vec![(Timestamp(4), Arc::new(view.clone()))],
        sequences: vec![(5, SequenceValue { last: -3, is_called: true })],
        last_ddl: Some(Timestamp(4)),
        walls: [vec![(Timestamp(9), 1000), (Timestamp(12), 1001)], vec![(Timestamp(3), -5)], vec![], vec![]],
    };
    let mut encoded = Vec::new();
    encode_object(&view, &mut encoded);
    assert_eq!(decode_object(&encoded).unwrap(), view);
    let bytes = encode_image(&image);
    assert_eq!(decode_image(&bytes).unwrap(), image);
    for len in 0..bytes.len() {
        assert!(decode_image(&bytes[..len]).is_err(), "cut to {len}");
    }
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            // Some flips change a letter and read well; the manifest's checksum is what notices those. None may panic.
            let _ = decode_image(&damaged);
        }
    }
}
