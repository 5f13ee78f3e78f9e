//! Names of data files.

use weft_format::{FileId, TableId};

/// The name of a data file: `t` table `-` file `.col`, numbers in decimal.
pub fn file_name(table: TableId, file: FileId) -> String {
    format!("t{table}-{file}.col")
}

/// The table and file of a data file's name; none when it is no data file.
pub(crate) fn parse_file_name(name: &str) -> Option<(TableId, FileId)> {
    let (table, file) = name.strip_prefix('t')?.strip_suffix(".col")?.split_once('-')?;
    let ids = (TableId(table.parse().ok()?), FileId(file.parse().ok()?));
    (file_name(ids.0, ids.1) == name).then_some(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_read_back() {
        assert_eq!(parse_file_name("t12-345.col"), Some((TableId(12), FileId(345))));
        for other in ["t12-345.col.tmp", "t12.col", "t012-3.col", "LOCK", "t-1.col", "t1-+2.col"] {
            assert_eq!(parse_file_name(other), None, "{other}");
        }
    }
}
