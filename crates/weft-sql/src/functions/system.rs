//! Functions of the system beside those of users, of the same name: `pg_catalog` comes first in every search path.
//!
//! ```text
//!   version(), lower(integer), sum(text)      not made: a call would have to tell them from the system's
//! ```

use weft_expr::builtins::{self, is_same};
use weft_expr::routines;
use weft_format::DataType;

use super::overload::{Candidate, Given};
use super::scope::Typing;
use crate::expr::AGGREGATES;

/// Functions of the system that are in no table: others compute them, or statements are made of them.
const OTHERS: &[&str] =
    &["nextval", "currval", "setval", "lastval", "set_config", "current_schema", "obj_description", "col_description"];

/// Functions of PostgreSQL that the query engine alone has.
const OF_QUERIES: &[&str] = &["date_part", "date_trunc", "date_bin"];

/// Whether the system has functions of a name.
pub(super) fn has(name: &str) -> bool {
    builtins::is_known(name)
        || AGGREGATES.contains(&name)
        || OTHERS.contains(&name)
        || OF_QUERIES.contains(&name)
        || weft_expr::Function::by_name(name).is_some()
        || routines::gives_rows(name)
        || routines::names().contains(&name)
        || weft_pgcatalog::function_names().any(|known| known == name)
}

/// Whether functions of users cannot have a name: the system has functions of it, and a call may mean either.
pub(crate) fn is_kept(name: &str) -> bool {
    has(name)
}

/// Whether a call means a function of a user although the system has one of the name: its arguments fit it better.
/// Where the types that the system's takes are not known, it never does.
pub(super) fn gives_way(name: &str, args: &[Given], types: &[Typing], candidate: &Candidate) -> bool {
    let is_in_table = builtins::is_known(name) || routines::names().contains(&name);
    if !is_in_table || is_kept(name) {
        return false;
    }
    if args.iter().any(|(named, _)| named.is_some()) {
        return true;
    }
    let given: Vec<Option<DataType>> = types.iter().map(known).collect();
    let Some(signature) = routines::by_name(name, &given) else { return !types.contains(&Typing::Unclear) };
    let is_exact = |(given, taken): (&Option<DataType>, &DataType)| given.is_some_and(|given| is_same(given, *taken));
    let exact_of_system = given.iter().zip(&signature.args).filter(|pair| is_exact(*pair)).count();
    candidate.exact > exact_of_system
}

fn known(typing: &Typing) -> Option<DataType> {
    match typing {
        Typing::Known(data_type) => Some(*data_type),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_has_its_functions() {
        for name in
            ["version", "lower", "count", "nextval", "now", "date_trunc", "coalesce", "pg_get_viewdef", "unnest"]
        {
            assert!(has(name), "{name}");
        }
        for name in ["add_one", "next_number", "total"] {
            assert!(!has(name), "{name}");
        }
        assert!(is_kept("sum") && is_kept("greatest") && is_kept("setval"));
        assert!(!is_kept("version") && !is_kept("lower"));
    }
}
