//! What the values of a table's columns are like, in the words of `pg_stats`.
//!
//! ```text
//!   62 values in 1,000 rows       n_distinct 62          62 in 100 rows: -0.62, for more rows will have more
//!   common values                 where their number grows: those that are more common than the average
//!   histogram                     without common values, as PostgreSQL shows it
//! ```

use weft_expr::text::print;
use weft_format::array::ArrayValue;
use weft_format::{ColumnSummary, DataType, Element, Value};
use weft_kernel::TableRef;
use weft_pgcatalog::ColumnFigures;

/// A number of values that is a larger share of the rows grows with them.
const GROWING_SHARE: f64 = 0.1;

/// Those of all columns that have a number, and of which something is known.
pub(super) fn column_figures(table: &TableRef, number: &dyn Fn(usize) -> i64) -> Vec<ColumnFigures> {
    let known = table.known_columns();
    let columns = table.def.schema.columns.iter().enumerate().filter(|(ordinal, _)| number(*ordinal) > 0);
    let figures = columns.filter_map(|(ordinal, column)| {
        let summary = known.column(ordinal)?;
        Some(ColumnFigures { number: number(ordinal), ..of_summary(summary, column.data_type) })
    });
    figures.collect()
}

fn of_summary(summary: &ColumnSummary, data_type: DataType) -> ColumnFigures {
    let rows = summary.rows() as f64;
    let is_growing = summary.distinct().is_some_and(|count| count > GROWING_SHARE * rows);
    let distinct = match summary.distinct() {
        Some(count) if is_growing => -count / rows,
        Some(count) => count.round(),
        None => 0.0,
    };
    let average = summary.average_share().unwrap_or(0.0);
    let common: Vec<(&Value, f64)> = summary.common().filter(|(_, share)| !is_growing || *share > average).collect();
    let is_common = |value: &Value| common.iter().any(|(known, _)| known.as_ref().compare(value.as_ref()).is_eq());
    let points = summary.histogram().points().iter().map(|point| &point.value);
    let bounds: Vec<&Value> = points.filter(|value| !is_common(value)).collect();
    let is_all = summary.distinct().is_some_and(|count| count <= common.len() as f64 + 0.5);
    ColumnFigures {
        number: 0,
        null_share: summary.null_share(),
        average_bytes: summary.average_bytes(),
        distinct,
        bounds: array_text(if is_all { &[] } else { &bounds }, data_type).filter(|_| bounds.len() > 1),
        common: array_text(&common.iter().map(|(value, _)| *value).collect::<Vec<_>>(), data_type)
            .map(|text| (text, common.iter().map(|(_, share)| *share).collect())),
    }
}

/// The values as an array; none when there is none.
fn array_text(values: &[&Value], data_type: DataType) -> Option<String> {
    let element = Element::of(data_type).filter(|_| !values.is_empty())?;
    let array = ArrayValue::new(data_type, values.iter().map(|value| value.as_ref()));
    Some(print(Value::Array(array).as_ref(), DataType::Array(element)))
}
