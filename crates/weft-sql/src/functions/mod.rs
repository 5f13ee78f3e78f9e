//! Functions of users, in SQL: a call is replaced by the function's body, as a view by its query.
//!
//! ```text
//!   CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS 'SELECT a + 1'          an object          definition
//!   SELECT f(k) FROM t          SELECT "weft.function.7"(t.k) AS f FROM t        which one          overload, calls
//!                               SELECT t.k + 1 AS f FROM t                       what it says       body, places
//! ```
//!
//! Why: docs/decisions/2026-11-27-sql-functions.md.
//!
//! 1. An argument that may give another value each time is evaluated once.
//! 2. A function that calls itself is refused, however many others are between.

mod body;
mod called;
mod calls;
mod definition;
mod names;
mod naming;
mod overload;
mod own_names;
mod places;
mod scope;
mod signature;
mod system;
mod volatile;

pub(crate) use body::{Body, body_of, is_better_alone, runs_alone, statements_of};
pub(crate) use calls::{are_there, cast_of, fix, fixed, gone};
pub(crate) use definition::{Argument, Function, Gives, plain_type_of, shown_type, sql_type_of};
pub(crate) use names::{check_written, fixed_name, of_fixed_name, of_fixed_text, parse_written};
pub(crate) use places::{in_from, in_place, put_in, unless_null};
pub(crate) use signature::{find, missing, missing_message, open_name};
pub(crate) use system::has as is_of_system;
