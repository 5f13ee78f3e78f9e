//! The columns that an expression can name.

use weft_format::{Code, DataType, Error, Result};

/// Columns by name, some of them behind a table's name.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    columns: Vec<ScopeColumn>,
    /// How many values the rows have so far, those without a name too.
    width: usize,
}

#[derive(Clone, Debug)]
struct ScopeColumn {
    table: String,
    name: String,
    data_type: DataType,
    position: usize,
}

impl Scope {
    /// A scope without columns (VALUES, DEFAULT).
    pub fn empty() -> Scope {
        Scope::default()
    }

    /// Adds the columns of a table under a name; they follow those added before in the row.
    #[must_use]
    pub fn with<'a>(mut self, table: &str, columns: impl Iterator<Item = (&'a str, DataType)>) -> Scope {
        for (name, data_type) in columns {
            let position = self.width;
            self.width += 1;
            self.columns.push(ScopeColumn { table: table.into(), name: name.into(), data_type, position });
        }
        self
    }

    /// Adds some of the values of a row of `width`, by position, under a name.
    #[must_use]
    pub fn with_some<'a>(
        mut self,
        table: &str,
        width: usize,
        columns: impl Iterator<Item = (usize, &'a str, DataType)>,
    ) -> Scope {
        for (ordinal, name, data_type) in columns {
            let position = self.width + ordinal;
            self.columns.push(ScopeColumn { table: table.into(), name: name.into(), data_type, position });
        }
        self.width += width;
        self
    }

    /// The position and type of a column.
    pub(crate) fn find(&self, table: Option<&str>, name: &str) -> Result<(usize, DataType)> {
        let mut found =
            self.columns.iter().filter(|column| column.name == name && table.is_none_or(|table| table == column.table));
        match (found.next(), found.next()) {
            (Some(column), None) => Ok((column.position, column.data_type)),
            (Some(_), Some(_)) => {
                Err(Error::new(Code::AmbiguousColumn, format!("column reference \"{name}\" is ambiguous"))
                    .hint("write the table's name before it"))
            }
            (None, _) => Err(self.not_found(table, name)),
        }
    }

    fn not_found(&self, table: Option<&str>, name: &str) -> Error {
        match table {
            Some(table) if !self.columns.iter().any(|column| column.table == table) => {
                Error::new(Code::UndefinedTable, format!("missing FROM-clause entry for table \"{table}\""))
            }
            Some(table) => Error::new(Code::UndefinedColumn, format!("column {table}.{name} does not exist")),
            None => Error::new(Code::UndefinedColumn, format!("column \"{name}\" does not exist")),
        }
    }

    /// Positions, names and types of the columns of one table, or of all.
    pub(crate) fn all(&self, table: Option<&str>) -> Vec<(usize, &str, DataType)> {
        self.columns
            .iter()
            .filter(|column| table.is_none_or(|table| table == column.table))
            .map(|column| (column.position, column.name.as_str(), column.data_type))
            .collect()
    }
}
