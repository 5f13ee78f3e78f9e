//! What the formats look like, byte for byte.

use weft::{Code, DataType, Error, Outcome, OutputColumn, Rows, Tag, Value};

use super::{Format, error_text, print_outcome};

fn outcome() -> Outcome {
    let columns = vec![
        OutputColumn { name: "id".into(), data_type: DataType::Integer },
        OutputColumn { name: "name".into(), data_type: DataType::Text },
        OutputColumn { name: "score".into(), data_type: DataType::Numeric { precision: 5, scale: 2 } },
    ];
    let values = vec![
        Value::Int(1),
        Value::Text("a, \"b\"".into()),
        Value::Decimal(150),
        Value::Int(20),
        Value::Null,
        Value::Null,
        Value::Int(3),
        Value::Text("two\nlines".into()),
        Value::Decimal(-1),
    ];
    Outcome { tag: Tag::Select(3), columns: columns.into(), rows: Rows::from_values(3, values) }
}

fn printed(format: Format) -> String {
    let mut out = Vec::new();
    print_outcome(&mut out, &outcome(), format, &weft::Style::default()).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn table() {
    let expected = [
        " id |  name  | score ",
        "----+--------+-------",
        "  1 | a, \"b\" |  1.50",
        " 20 |        |",
        "  3 | two   +| -0.01",
        "    | lines  |",
        "(3 rows)",
        "",
        "",
    ];
    assert_eq!(printed(Format::Table).split('\n').collect::<Vec<_>>(), expected);
}

#[test]
fn csv() {
    assert_eq!(printed(Format::Csv), "id,name,score\n1,\"a, \"\"b\"\"\",1.50\n20,,\n3,\"two\nlines\",-0.01\n");
}

#[test]
fn json() {
    let expected = "[{\"id\": 1, \"name\": \"a, \\\"b\\\"\", \"score\": 1.50},\n {\"id\": 20, \"name\": null, \
                    \"score\": null},\n {\"id\": 3, \"name\": \"two\\nlines\", \"score\": -0.01}]\n";
    assert_eq!(printed(Format::Json), expected);
}

#[test]
fn errors_point_at_their_position() {
    let error = Error::new(Code::UndefinedColumn, "column \"nam\" does not exist").at(10).hint("look again");
    assert_eq!(
        error_text(&error, Some("SELECT\n  nam FROM t")),
        "ERROR:  42703: column \"nam\" does not exist\nLINE 2:   nam FROM t\n          ^\nHINT:  look again\n"
    );
    let long = format!("SELECT {} nam FROM t", "1 +".repeat(60));
    let text = error_text(&error.at(long.find("nam").unwrap() + 1), Some(&long));
    let lines: Vec<&str> = text.lines().collect();
    let caret = lines[2].chars().position(|c| c == '^').unwrap();
    assert_eq!(lines[1].chars().skip(caret).take(3).collect::<String>(), "nam");
}
