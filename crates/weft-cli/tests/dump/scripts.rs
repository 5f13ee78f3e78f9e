//! The statements of a script of `tests/slt`, whatever they answer.

use std::path::Path;

/// One statement, and the connection that runs it.
pub(crate) struct Statement {
    pub(crate) connection: String,
    pub(crate) sql: String,
}

/// What a script says, without what is PostgreSQL's alone.
pub(crate) fn statements(file: &Path) -> Vec<Statement> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut statements = Vec::new();
    for block in text.split("\n\n") {
        let mut lines = block.lines().skip_while(|line| line.starts_with('#') || line.is_empty()).peekable();
        let (mut connection, mut is_wanted) = (String::new(), true);
        while let Some(line) = lines.next_if(|line| !line.starts_with("statement") && !line.starts_with("query")) {
            match line.split_once(' ') {
                Some(("connection", name)) => name.clone_into(&mut connection),
                Some(("onlyif", engine)) => is_wanted &= engine == "weft",
                Some(("skipif", engine)) => is_wanted &= engine != "weft",
                _ => {}
            }
        }
        let sql: Vec<&str> = lines.skip(1).take_while(|line| *line != "----").collect();
        if is_wanted && !sql.is_empty() {
            statements.push(Statement { connection, sql: sql.join("\n") });
        }
    }
    statements
}
