//! Views as something to write to, as PostgreSQL's automatically updatable views are.
//!
//! ```text
//!   w (z) AS SELECT x FROM v WHERE x > 1          layer 0: z is v's x; of v's rows those with x > 1
//!   v (x, y) AS SELECT t.a, t.b + 1 FROM t        layer 1: x is t's a, y is computed, all rows
//!
//!   UPDATE w SET z = 7 WHERE z = 3
//!     point engine   names are bound through the layers: a = 7, key a = 3, filter a > 1
//!     query engine   UPDATE (SELECT x AS z, ... FROM (SELECT a AS x, b + 1 AS y, ... FROM t) v WHERE x > 1) w
//! ```
//!
//! 1. A layer's expressions and conditions are bound over the columns of the layer below, never mixed with names of the
//!    statement: no name of either captures one of the other.
//! 2. New rows meet the conditions of the layers that have a check option, or lie below one that has a cascaded one;
//!    those of inner layers first. One that is neither true nor false fails.

mod find;
mod layer;

pub(crate) use find::{find, of_view, refusal_of};
pub(crate) use layer::LayerColumn;
pub use layer::{UpdatableView, Verb};
