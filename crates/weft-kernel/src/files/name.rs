//! Names of data files, read.

use weft_format::{FileId, TableId, file_name};

/// The table and file of a data file's name; none when it is no data file.
pub(crate) fn parse_file_name(name: &str) -> Option<(TableId, FileId)> {
    let ids = parse_with(name, ".data")?;
    (file_name(ids.0, ids.1) == name).then_some(ids)
}

/// What an earlier release called it: `t12-345.col`.
pub(crate) fn former_name(owner: TableId, file: FileId) -> String {
    format!("t{owner}-{file}.col")
}

/// The table and file of such a name.
pub(crate) fn parse_former_name(name: &str) -> Option<(TableId, FileId)> {
    let ids = parse_with(name, ".col")?;
    (former_name(ids.0, ids.1) == name).then_some(ids)
}

fn parse_with(name: &str, suffix: &str) -> Option<(TableId, FileId)> {
    let (table, file) = name.strip_prefix('t')?.strip_suffix(suffix)?.split_once('-')?;
    Some((TableId(table.parse().ok()?), FileId(file.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_read_back() {
        let ids = Some((TableId(12), FileId(345)));
        assert_eq!((parse_file_name("t12-345.data"), parse_former_name("t12-345.col")), (ids, ids));
        for other in ["t12-345.data.tmp", "t12.data", "t012-3.data", "LOCK", "t-1.data", "t1-+2.data", "t12-345.col"] {
            assert_eq!(parse_file_name(other), None, "{other}");
        }
        for other in ["t12-345.data", "t012-3.col", "t1-2.col.tmp"] {
            assert_eq!(parse_former_name(other), None, "{other}");
        }
    }
}
