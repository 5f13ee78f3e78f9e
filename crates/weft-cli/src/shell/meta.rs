//! The backslash commands.

use weft::{Database, TableDef};
use weft_bench::subcommand::{Align, Grid};

use super::link::Link;
use super::statements::Shell;
use crate::failure::Failure;
use crate::print::Format;

const HELP: &str = "\
\\d            list tables: method, rows, bytes
\\d NAME       columns, key and constraints of a table, and what lies in which layer
\\dt           list tables
\\format NAME  table, csv or json
\\timing       show how long statements take, or stop it
\\checkpoint   write what is in memory to files and drop the log before it
\\q            quit
\\?            this list
A statement ends with a semicolon; Ctrl-C stops one that runs.";

/// The tables of a server.
const REMOTE_LIST: &str = "SELECT c.relname AS \"Name\", n.nspname AS \"Schema\", \
    pg_catalog.pg_table_size(c.oid) AS \"Bytes\" \
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p') AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' \
    ORDER BY n.nspname, c.relname";

/// What the shell does after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Read on.
    Continue,
    /// End.
    Quit,
}

/// Runs one command; `line` is what follows the backslash.
pub(super) fn run(shell: &mut Shell, line: &str) -> Result<Next, Failure> {
    let mut words = line.split_whitespace();
    match (words.next().unwrap_or(""), words.next()) {
        ("q" | "quit", _) => return Ok(Next::Quit),
        // pg_dump wraps its scripts in them.
        ("restrict" | "unrestrict", _) => {}
        ("?" | "h" | "help", _) => println!("{HELP}"),
        ("timing", _) => {
            shell.timing = !shell.timing;
            println!("Timing is {}.", if shell.timing { "on" } else { "off" });
        }
        ("format", Some(word)) => match Format::parse(word) {
            Ok(format) => shell.format = format,
            Err(_) => println!("The formats are table, csv and json."),
        },
        ("checkpoint", _) => match &shell.link {
            Link::Directory(parts) => parts.0.checkpoint()?,
            Link::Server(_) => drop(shell.run_statement("CHECKPOINT")),
        },
        ("d" | "dt", None) => match &shell.link {
            Link::Directory(parts) => list(&parts.0)?,
            Link::Server(_) => drop(shell.run_statement(REMOTE_LIST)),
        },
        ("d" | "dt", Some(name)) => match &shell.link {
            Link::Directory(parts) => describe(&parts.0, name)?,
            Link::Server(_) => describe_remote(shell, name),
        },
        (other, _) => println!("There is no command \\{other}; \\? lists them."),
    }
    Ok(Next::Continue)
}

/// Columns and constraints of a server's table.
fn describe_remote(shell: &mut Shell, name: &str) {
    let quoted = name.replace('\'', "''");
    let of_table = format!("(SELECT '{quoted}'::pg_catalog.regclass::pg_catalog.oid)");
    let columns = format!(
        "SELECT a.attname AS \"Column\", pg_catalog.format_type(a.atttypid, a.atttypmod) AS \"Type\", \
         CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS \"Nullable\", \
         (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attrdef d \
          WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum) AS \"Default\" \
         FROM pg_catalog.pg_attribute a WHERE a.attrelid = {of_table} AND a.attnum > 0 AND NOT a.attisdropped \
         ORDER BY a.attnum"
    );
    let constraints = format!(
        "SELECT r.conname AS \"Constraint\", pg_catalog.pg_get_constraintdef(r.oid, true) AS \"Definition\" \
         FROM pg_catalog.pg_constraint r WHERE r.conrelid = {of_table} ORDER BY r.conname"
    );
    if shell.run_statement(&columns) {
        shell.run_statement(&constraints);
    }
}

fn list(database: &Database) -> Result<(), Failure> {
    let columns = [("Name", Align::Left), ("Method", Align::Left), ("Rows", Align::Right), ("Bytes", Align::Right)];
    let mut grid = Grid::new(columns.into_iter());
    for table in database.tables()? {
        let layers = database.layers(&table.name)?;
        let rows: u64 = layers.iter().map(|layer| layer.rows - layer.dead_rows.min(layer.rows)).sum();
        let bytes: u64 = layers.iter().map(|layer| layer.bytes).sum();
        grid.row(vec![table.name.clone(), table.method.clone(), rows.to_string(), bytes.to_string()]);
    }
    Ok(grid.show()?)
}

fn describe(database: &Database, name: &str) -> Result<(), Failure> {
    let tables = database.tables()?;
    let Some(table) = tables.iter().find(|table| table.name == name) else {
        println!("There is no table \"{name}\".");
        return Ok(());
    };
    println!("Table \"{}\" using {}", table.name, table.method);
    let headers = ["Column", "Type", "Nullable", "Default"];
    let mut grid = Grid::new(headers.into_iter().map(|header| (header, Align::Left)));
    for (at, column) in table.schema.visible() {
        let nullable = if column.not_null { "not null" } else { "" };
        let default = table.defaults.get(at).cloned().flatten().unwrap_or_default();
        grid.row(vec![column.name.clone(), column.data_type.to_string(), nullable.to_owned(), default]);
    }
    grid.show()?;
    constraints(table);
    let columns = [("Layer", Align::Left), ("Parts", Align::Right), ("Rows", Align::Right), ("Dead", Align::Right)];
    let mut grid = Grid::new(columns.into_iter().chain([("Bytes", Align::Right)]));
    for layer in database.layers(name)? {
        let numbers = [layer.parts, layer.rows, layer.dead_rows, layer.bytes].map(|number| number.to_string());
        grid.row(std::iter::once(layer.name).chain(numbers).collect());
    }
    Ok(grid.show()?)
}

fn constraints(table: &TableDef) {
    if let Some(constraint) = &table.primary_key {
        let names: Vec<&str> = table.schema.key.iter().map(|&at| table.schema.columns[at].name.as_str()).collect();
        println!("Primary key: \"{constraint}\" ({})", names.join(", "));
    }
    for (name, expression) in &table.checks {
        println!("Check: \"{name}\" ({expression})");
    }
    for (name, value) in &table.options {
        println!("With: {name} = {value}");
    }
}
