//! Tests that `docs/functions.md` says which functions there are; `WEFT_DOCS=rewrite cargo test -p weft-query
//! functions_doc` makes it anew.

#![allow(clippy::disallowed_methods, reason = "a test reads and writes a document")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use datafusion::execution::runtime_env::RuntimeEnv;
use weft_env::Env;
use weft_expr::builtins::{Arg, Builtin, Volatility, all};
use weft_expr::{Function, routines};

use super::membership::Applies;
use super::setup::session_state;

/// What PostgreSQL has, by section.
const SECTIONS: &str = include_str!("../data/functions.txt");
/// What the parser or the planner makes of something else.
const WRITTEN: &[&str] = &[
    "coalesce",
    "nullif",
    "greatest",
    "least",
    "trim",
    "position",
    "overlay",
    "extract",
    "current_date",
    "current_time",
    "current_timestamp",
    "localtime",
    "localtimestamp",
    "now",
    "grouping",
    "unnest",
    "generate_series",
    "json_agg",
    "jsonb_agg",
    "json_object_agg",
    "jsonb_object_agg",
    "row_to_json",
    "json_each",
    "json_each_text",
    "jsonb_each",
    "jsonb_each_text",
    "json_to_record",
    "json_to_recordset",
    "jsonb_to_record",
    "jsonb_to_recordset",
    "json_populate_record",
    "json_populate_recordset",
    "jsonb_populate_record",
    "jsonb_populate_recordset",
    "mod",
    "transaction_timestamp",
    "string_agg",
    "nextval",
];
/// Those whose calls are made before the statement runs; once for it, or for the row of an INSERT.
const CALLED_FIRST: &[&str] = &["currval", "setval", "lastval", "set_config", "pg_sleep", "obj_description"];

const HEAD: &str = "# Functions

Made by `WEFT_DOCS=rewrite cargo test -p weft-query functions_doc` from the table of functions
(`crates/weft-expr/src/builtins`), the query engine and the catalog; the sections are those of chapter 9 of
PostgreSQL 15's documentation.

- **Everywhere**: in any expression, in defaults and checks; immutable ones also in indexes. `round`, `trunc`, `ceil`,
  `floor`, `sign` and `sqrt` of numerics only in queries.
- **In queries**: where the query engine runs the statement, which is chosen when it is needed; not in DEFAULT, CHECK
  and indexes.
- **Of the catalog**: in queries of `pg_catalog` and `information_schema` alone, and with constants anywhere. Beside a
  table's column they are refused.

";

/// Where a function of a name can be called.
struct Known {
    everywhere: BTreeSet<String>,
    queries: BTreeSet<String>,
    catalog: BTreeSet<String>,
}

impl Known {
    fn new() -> Known {
        let rng = Env::real().rng;
        let state = session_state(1, Applies::Others, Arc::new(RuntimeEnv::default()), &rng);
        let mut queries: BTreeSet<String> = WRITTEN.iter().map(|name| (*name).to_owned()).collect();
        queries.extend(state.scalar_functions().keys().cloned());
        queries.extend(state.aggregate_functions().keys().cloned());
        queries.extend(state.window_functions().keys().cloned());
        let names = routines::names().into_iter().filter(|name| !routines::gives_rows(name));
        let mut everywhere: BTreeSet<String> = names.map(str::to_owned).collect();
        let words = SECTIONS.split_whitespace();
        everywhere.extend(words.filter(|word| Function::by_name(word).is_some()).map(str::to_owned));
        let catalog =
            weft_pgcatalog::function_names().map(str::to_owned).chain(CALLED_FIRST.iter().map(|n| (*n).into()));
        Known { everywhere, queries, catalog: catalog.collect() }
    }
}

fn shown(arg: Arg) -> String {
    match arg {
        Arg::Of(data_type) => weft_expr::text::type_name(data_type).into_owned(),
        Arg::Numeric => "numeric".into(),
        Arg::Any => "any".into(),
        Arg::AnyArray => "anyarray".into(),
        Arg::AnyElement => "anyelement".into(),
        Arg::AnyEnum => "anyenum".into(),
    }
}

fn signature(builtin: &Builtin) -> String {
    let mut args: Vec<String> = builtin.args.iter().map(|arg| shown(*arg)).collect();
    if let Some(last) = args.last_mut().filter(|_| builtin.is_variadic) {
        *last = format!("VARIADIC {last}");
    }
    let marks = [
        (builtin.volatility != Volatility::Immutable, "reads the session's settings or its time"),
        (!builtin.is_strict, "takes NULL"),
        (builtin.is_set, "gives rows"),
    ];
    let marks: Vec<&str> = marks.into_iter().filter(|(holds, _)| *holds).map(|(_, mark)| mark).collect();
    let marks = if marks.is_empty() { String::new() } else { format!(": {}", marks.join(", ")) };
    format!("`{}({})`{marks}", builtin.name, args.join(", "))
}

fn document() -> String {
    let known = Known::new();
    let mut text = HEAD.to_owned();
    let mut counts = [0; 4];
    let put = |text: &mut String, title: &str, names: &[&str]| {
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let _ = writeln!(text, "- {title}: {}", names.join(", "));
        }
    };
    for line in SECTIONS.lines().filter(|line| !line.starts_with('#')) {
        let (title, names) = line.split_once(": ").expect("a section has a title");
        let mut by_place: [Vec<&str>; 4] = Default::default();
        for name in names.split(' ') {
            let place = match () {
                () if known.everywhere.contains(name) => 0,
                () if known.queries.contains(name) => 1,
                () if known.catalog.contains(name) => 2,
                () => 3,
            };
            by_place[place].push(name);
            counts[place] += 1;
        }
        let _ = writeln!(text, "## {title}\n");
        for (title, names) in ["everywhere", "in queries", "of the catalog", "**missing**"].iter().zip(&by_place) {
            put(&mut text, title, names);
        }
        text.push('\n');
    }
    let [everywhere, queries, catalog, missing] = counts;
    let _ = writeln!(
        text,
        "Of these names {everywhere} are known everywhere, {queries} in queries, {catalog} of the catalog; {missing} \
         are missing.\n"
    );
    text.push_str("## The table of functions, by signature\n\n");
    let mut signatures: Vec<String> = all().map(signature).collect();
    signatures.sort_unstable();
    for signature in signatures {
        let _ = writeln!(text, "- {signature}");
    }
    text
}

#[test]
fn the_functions_are_listed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md");
    let made = document();
    if std::env::var_os("WEFT_DOCS").is_some_and(|what| what == "rewrite") {
        std::fs::write(&path, &made).expect("docs/ can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == made, "docs/functions.md is behind; WEFT_DOCS=rewrite cargo test -p weft-query functions_doc");
}
