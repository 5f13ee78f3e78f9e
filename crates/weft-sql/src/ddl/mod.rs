//! CREATE TABLE and CREATE INDEX: from the tree to the kernel's definitions.
//!
//! ```text
//!   CREATE TABLE t (id int PRIMARY KEY, price numeric(10,2) DEFAULT 0 CHECK (price >= 0)) USING column
//!     columns [id integer not null, price numeric(10,2)]   key [0]   defaults [-, "0"]
//!     checks [("t_price_check", "price >= 0")]             primary key "t_pkey"   method "column"
//!
//!   CREATE TABLE t (a int UNIQUE, b int, UNIQUE (b, a))      indexes t_a_key [0] and t_b_a_key [1, 0], of constraints
//!   CREATE INDEX ON t (b DESC)                               index t_b_idx [1]
//!   CREATE INDEX ON t (b) WHERE a > 7                        index t_b_idx1 [1] of the rows with Compare { a > 7 }
//!   CREATE INDEX ON t (lower(b))                             index t_lower_idx on the expression
//!   CREATE TABLE w (LIKE t INCLUDING ALL)                    columns, defaults, checks and indexes as t has them
//!   CREATE TABLE u (t int REFERENCES t)                      foreign key u_t_fkey [0] → t [0]
//! ```
//!
//! DEFAULT and CHECK are kept as SQL text and bound once here, so that a table never holds an expression that cannot be
//! evaluated. What PostgreSQL has and Weft does not is refused by name.

mod alter;
mod building;
pub(crate) mod comment;
mod create;
pub(crate) mod dependents;
mod foreign_keys;
mod generated;
mod index;
mod index_parts;
mod like;
mod operator_class;
mod pieces;
pub(crate) mod sequence;

pub(crate) use alter::{Altering, emptied, has_rows, move_object, move_table, rename_relation, truncate};
pub(crate) use building::check_default;
pub(crate) use create::{create_asked, new_table, table_of_query};
pub(crate) use index::{AnyIndex, create_uniques, new_index};
pub(crate) use pieces::{NO_INHERIT, NOT_VALID, NewUnique, ON_COMMIT, with_mark};
