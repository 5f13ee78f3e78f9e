//! A statement over tables: what is asked of every engine, and what is made smaller.

use crate::tables::Table;
use crate::tree::Node;

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It reads.
    Query,
    /// It reads, and may fail in any of its rows.
    Failing,
    /// It changes rows; they are compared behind it.
    Change,
}

/// A statement over tables.
#[derive(Clone, Debug)]
pub struct Case {
    /// The tables.
    pub tables: Vec<Table>,
    /// What the statement does.
    pub kind: Kind,
    /// Whether the rows lie in column tables, not in row tables.
    pub columns: bool,
    /// The statement.
    pub statement: Node,
}

impl Case {
    /// The statements that make its tables.
    pub fn setup(&self) -> Vec<String> {
        self.tables.iter().flat_map(Table::statements).collect()
    }

    /// The whole of it as a script.
    pub fn script(&self) -> String {
        let mut script: String = self.setup().iter().map(|statement| format!("{statement};\n")).collect();
        script.push_str(&format!("{};\n", self.statement.sql()));
        if self.kind == Kind::Change {
            for table in &self.tables {
                script.push_str(&format!("SELECT * FROM {};\n", table.name));
            }
        }
        script
    }

    /// How large it is; smaller ones are easier to read.
    pub fn size(&self) -> usize {
        let rows: usize = self.tables.iter().map(|table| table.rows.len() + 1).sum();
        self.statement.size() + rows
    }
}
