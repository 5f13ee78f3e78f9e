//! The columns that an expression can name.

use weft_expr::Expr;
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
    value: Named,
}

/// What a name means.
#[derive(Clone, Debug)]
pub(crate) enum Named {
    /// A value of the row, or an expression over it.
    Value(Expr),
    /// An expression that the point engine lacks something for.
    Lacking(String),
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
            self.push(table, name, Expr::column(position, data_type));
        }
        self
    }

    fn push(&mut self, table: &str, name: &str, value: Expr) {
        self.columns.push(ScopeColumn { table: table.into(), name: name.into(), value: Named::Value(value) });
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
            self.push(table, name, Expr::column(position, data_type));
        }
        self.width += width;
        self
    }

    /// Adds expressions over a row of `width` under a name; some may lack something.
    #[must_use]
    pub(crate) fn with_computed(
        mut self,
        table: &str,
        width: usize,
        columns: &[(String, std::result::Result<Expr, String>)],
    ) -> Scope {
        for (name, value) in columns {
            let value = match value {
                Ok(expr) => {
                    let mut expr = expr.clone();
                    expr.map_columns(&mut |position| *position += self.width);
                    Named::Value(expr)
                }
                Err(what) => Named::Lacking(what.clone()),
            };
            self.columns.push(ScopeColumn { table: table.into(), name: name.clone(), value });
        }
        self.width += width;
        self
    }

    /// What a column's name means.
    pub(crate) fn find(&self, table: Option<&str>, name: &str) -> Result<Named> {
        let mut found =
            self.columns.iter().filter(|column| column.name == name && table.is_none_or(|table| table == column.table));
        match (found.next(), found.next()) {
            (Some(column), None) => Ok(column.value.clone()),
            (Some(_), Some(_)) => {
                Err(Error::new(Code::AmbiguousColumn, format!("column reference \"{name}\" is ambiguous"))
                    .hint("write the table's name before it"))
            }
            (None, _) if table.is_none() && self.columns.iter().any(|column| column.table == name) => {
                Ok(Named::Lacking(format!("a row of \"{name}\" as a value")))
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

    /// Names and values of the columns of one table, or of all.
    pub(crate) fn all(&self, table: Option<&str>) -> Vec<(&str, &Named)> {
        self.columns
            .iter()
            .filter(|column| table.is_none_or(|table| table == column.table))
            .map(|column| (column.name.as_str(), &column.value))
            .collect()
    }
}
