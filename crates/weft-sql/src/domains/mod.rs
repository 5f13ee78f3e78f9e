//! Domains: a base type with rules that values obey.
//!
//! ```text
//!   CREATE DOMAIN posint AS int CHECK (VALUE > 0)      an object of the catalog            definition
//!   CREATE TABLE t (a posint)                          a is an integer; the table's definition says which rules
//!                                                      its values obey                     rules
//!   SELECT 7::posint                                   weft_as_domain(7::int, hash)        calls
//! ```
//!
//! A value of a domain is one of its base type, in storage, in keys and in the query engine. The table's definition
//! has the rules themselves, so what writes rows needs no catalog, and ALTER DOMAIN is a change of every table that has
//! such columns: it waits for their writers as ALTER TABLE does. Why: docs/decisions/2026-11-27-domains.md.
//!
//! 1. The rules in a table's definition are those that its domains' objects say.
//! 2. No row is written that violates them: rows go through [`TableShape`](crate::TableShape).

mod calls;
mod definition;
mod lines;
mod rules;

pub(crate) use calls::{call, cast_of_call};
pub(crate) use definition::{Check, DOMAIN, Definition, base_type, fixed_name, is_domain, of_fixed_name, parent_of};
pub(crate) use lines::{line, lines};
pub(crate) use rules::{Resolved, Rules, VALUE, of_table, plain_column, plain_type, property, resolve, with_value};
