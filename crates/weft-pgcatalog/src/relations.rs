//! Who makes the rows of which relation of the catalog.

use crate::declared::Relation;
use crate::making::Rows;
use crate::snapshot::{INFORMATION_SCHEMA, Snapshot};
use crate::value::{Datum, Row};
use crate::wanted::Wanted;
use crate::{domain_rows, function_rows, monitor, procs, roles, rows, standard, types};

/// The rows of a relation.
pub(crate) fn rows_of(relation: &'static Relation, snapshot: &Snapshot) -> Vec<Row> {
    wanted_rows(relation, snapshot, &Wanted::default()).0
}

/// The rows of a relation that are asked for, and how many were made for that.
pub(crate) fn wanted_rows(relation: &'static Relation, snapshot: &Snapshot, wanted: &Wanted) -> (Vec<Row>, usize) {
    let mut rows = Rows::of(relation, wanted, snapshot);
    if relation.schema == INFORMATION_SCHEMA {
        standard::fill(relation.name, &mut rows, snapshot);
        return (rows.rows, rows.made);
    }
    match relation.name {
        "pg_type" | "pg_enum" | "pg_collation" | "pg_am" | "pg_opclass" | "pg_language" | "pg_range"
        | "pg_extension" => {
            types::fill(relation.name, &mut rows, snapshot);
            if relation.name == "pg_type" {
                domain_rows::types(&mut rows, snapshot);
            }
        }
        "pg_stat_gssapi" | "pg_stat_ssl" => rows.add([("pid", Datum::Int(snapshot.backend))]),
        "pg_roles" | "pg_authid" | "pg_shadow" | "pg_auth_members" | "pg_group" | "pg_user" | "pg_database"
        | "pg_namespace" | "pg_tablespace" | "pg_timezone_names" | "pg_default_acl" => {
            roles::fill(relation.name, &mut rows, snapshot);
        }
        "pg_settings" | "pg_stat_activity" | "pg_stat_database" | "pg_locks" => {
            monitor::fill(relation.name, &mut rows, snapshot);
        }
        "pg_proc" => {
            procs::fill(&mut rows);
            function_rows::fill(&mut rows, snapshot);
        }
        name => rows::fill(name, &mut rows, snapshot),
    }
    (rows.rows, rows.made)
}
