//! What a text of SQL becomes.

use sqlparser::ast::Statement;

use super::own::Own;

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// A statement of the SQL parser, and the method taken out of CREATE TABLE.
    Sql {
        /// The tree.
        statement: Box<Statement>,
        /// The word behind USING, folded.
        method: Option<String>,
    },
    /// CHECKPOINT
    Checkpoint,
    /// A statement that the SQL parser does not know.
    Own(Own),
    /// SET CONSTRAINTS
    SetConstraints {
        /// The constraints, folded; none: ALL.
        names: Option<Vec<String>>,
        /// DEFERRED or IMMEDIATE.
        deferred: bool,
    },
}
