//! CREATE TABLE: from the tree to the kernel's definition.
//!
//! ```text
//!   CREATE TABLE t (id int PRIMARY KEY, price numeric(10,2) DEFAULT 0 CHECK (price >= 0)) USING column
//!     columns [id integer not null, price numeric(10,2)]   key [0]   defaults [-, "0"]
//!     checks [("t_price_check", "price >= 0")]             primary key "t_pkey"   method "column"
//! ```
//!
//! DEFAULT and CHECK are kept as SQL text and bound once here, so that a table never holds an expression that cannot be
//! evaluated. What PostgreSQL has and Weft does not is refused by name.

mod create;

pub(crate) use create::{new_table, table_of_query};
