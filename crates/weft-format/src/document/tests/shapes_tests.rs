//! The five shapes of the paper.

use super::*;

fn texts(shape: Shape, rows: usize) -> Vec<String> {
    let mut shapes = Shapes::new(shape, 7);
    (0..rows).map(|_| shapes.next_text()).collect()
}

#[test]
fn shapes_have_the_columns_of_the_paper_and_come_back() {
    let mut found = Vec::new();
    for shape in Shape::ALL {
        let texts = texts(shape, 300);
        let rows: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
        let stored = round_trip(&rows, MANY_COLUMNS);
        let columns = stored.read(|documents| documents.front.schema.column_count());
        let bytes: usize = texts.iter().map(String::len).sum();
        println!("{shape:?}: {columns} columns, {} bytes a document, {} stored", bytes / 300, stored.bytes / 300);
        found.push((shape, columns));
    }
    assert_eq!(found, Shape::ALL.map(|shape| (shape, shape.column_count())));
}
