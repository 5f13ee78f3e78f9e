//! Functions of the system beside those of users, of the same name: `pg_catalog` comes first in every search path.
//!
//! ```text
//!   version(), lower(integer), sum(text)      not made: a call would have to tell them from the system's
//! ```

use weft_expr::{builtins, routines};

use crate::expr::AGGREGATES;

/// Functions of the system that are in no table: others compute them, or statements are made of them.
const OTHERS: &[&str] =
    &["nextval", "currval", "setval", "lastval", "set_config", "current_schema", "obj_description", "col_description"];

/// Functions of PostgreSQL that the query engine alone has.
const OF_QUERIES: &[&str] = &["date_part", "date_trunc", "date_bin"];

/// Whether the system has functions of a name: those of users cannot have it then, a call might mean either.
pub(crate) fn has(name: &str) -> bool {
    builtins::is_known(name)
        || AGGREGATES.contains(&name)
        || OTHERS.contains(&name)
        || OF_QUERIES.contains(&name)
        || weft_expr::Function::by_name(name).is_some()
        || routines::gives_rows(name)
        || routines::names().contains(&name)
        || weft_pgcatalog::function_names().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_has_its_functions() {
        for name in
            ["version", "lower", "count", "nextval", "now", "date_trunc", "greatest", "pg_get_viewdef", "unnest"]
        {
            assert!(has(name), "{name}");
        }
        for name in ["add_one", "next_number", "total"] {
            assert!(!has(name), "{name}");
        }
    }
}
