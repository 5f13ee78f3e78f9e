//! SQL1 to SQL5 of the paper (section 4.4), as it prints them; DuckDB gets the same texts.
//!
//! ```text
//!   SQL1  INSERT INTO table_1 VALUES ($1, ..., $31)
//!   SQL2  UPDATE table_1 SET col_1 = $1, ..., col_k = $k WHERE col_0 = $k+1
//!   SQL3  SELECT col_1 + ... + col_n FROM table_1 WHERE col_0 >= $1 AND col_0 < $2               a row per key
//!   SQL4  SELECT MAX(col_1), ..., MAX(col_k) FROM table_1 WHERE col_0 >= $1 AND col_0 < $2
//!   SQL5  SELECT t1.col_0, t1.col_1 FROM table_1 t1 JOIN table_2 t2 ON t1.col_1 = t2.col_0
//!         WHERE t1.col_2 >= $1 AND t1.col_2 < $2
//! ```
//!
//! The paper's text gives SQL5 a GROUP BY and an ORDER BY, its listing has neither: it is run as listed. The same with
//! SQL3, which the text calls a sum of a row's columns: no aggregate over the rows.

use crate::bench::data::COLUMNS_EACH;

const COLUMNS: u64 = 2 * COLUMNS_EACH;

/// SQL1.
pub(super) fn insert() -> String {
    let marks: Vec<String> = (1..=COLUMNS + 1).map(|j| format!("${j}")).collect();
    format!("INSERT INTO table_1 VALUES ({})", marks.join(", "))
}

/// SQL1 that replaces a row with the same key.
pub(super) fn upsert() -> String {
    let set: Vec<String> = (1..=COLUMNS).map(|j| format!("col_{j} = excluded.col_{j}")).collect();
    format!("{} ON CONFLICT (col_0) DO UPDATE SET {}", insert(), set.join(", "))
}

/// The upsert of one column (section 4.2).
pub(super) const UPSERT_ONE: &str = "INSERT INTO table_1 (col_0, col_1) VALUES ($1, $2) \
     ON CONFLICT (col_0) DO UPDATE SET col_1 = excluded.col_1";

/// The update of one column (section 1.2), with the parameters of [`UPSERT_ONE`].
pub(super) const UPDATE_ONE: &str = "UPDATE table_1 SET col_1 = $2 WHERE col_0 = $1";

/// The row with a key goes: the soak's, so that the table keeps its size.
pub(super) const DELETE: &str = "DELETE FROM table_1 WHERE col_0 = $1";

/// SQL2 of `columns` columns.
pub(super) fn update(columns: u64) -> String {
    let set: Vec<String> = (1..=columns).map(|j| format!("col_{j} = ${j}")).collect();
    format!("UPDATE table_1 SET {} WHERE col_0 = ${}", set.join(", "), columns + 1)
}

/// SQL3 of `columns` columns.
pub(super) fn sum(columns: u64) -> String {
    let terms: Vec<String> = (1..=columns).map(|j| format!("col_{j}")).collect();
    format!("SELECT {} FROM table_1 WHERE col_0 >= $1 AND col_0 < $2", terms.join(" + "))
}

/// SQL4 of `columns` columns.
pub(super) fn max(columns: u64) -> String {
    let terms: Vec<String> = (1..=columns).map(|j| format!("MAX(col_{j})")).collect();
    format!("SELECT {} FROM table_1 WHERE col_0 >= $1 AND col_0 < $2", terms.join(", "))
}

/// SQL5.
pub(super) const JOIN: &str = "SELECT t1.col_0, t1.col_1 FROM table_1 t1 JOIN table_2 t2 ON t1.col_1 = t2.col_0 \
     WHERE t1.col_2 >= $1 AND t1.col_2 < $2";

/// A projection of `columns` columns, integers and strings in turn.
pub(super) fn projection(columns: u64) -> String {
    let name = |at: u64| format!("col_{}", if at.is_multiple_of(2) { at / 2 + 1 } else { COLUMNS_EACH + 1 + at / 2 });
    let names: Vec<String> = (0..columns).map(name).collect();
    format!("SELECT {} FROM table_1", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_read_as_in_the_paper() {
        assert_eq!(update(2), "UPDATE table_1 SET col_1 = $1, col_2 = $2 WHERE col_0 = $3");
        assert_eq!(sum(3), "SELECT col_1 + col_2 + col_3 FROM table_1 WHERE col_0 >= $1 AND col_0 < $2");
        assert_eq!(max(2), "SELECT MAX(col_1), MAX(col_2) FROM table_1 WHERE col_0 >= $1 AND col_0 < $2");
        assert_eq!(projection(3), "SELECT col_1, col_16, col_2 FROM table_1");
        assert!(projection(30).contains("col_15, col_30"));
        assert!(insert().ends_with("$31)") && upsert().ends_with("col_30 = excluded.col_30"));
    }
}
