//! Expressions over the values of one row, and values as text: what DEFAULT, CHECK, the point engine and indexes on
//! expressions evaluate.
//!
//! ```text
//!   t (id bigint, price numeric(10,2));  SET price = price * 1.1 WHERE id = $1 AND price < 100
//!
//!   bound (by weft-sql)   types are decided: $1 takes bigint from id, 1.1 is numeric(2,1), price * 1.1 numeric(13,3),
//!                         100 is cast to numeric(12,2) for the comparison, the new price is cast to numeric(10,2)
//!   eval                  a walk over the tree with one row's values; no allocation but for text
//!
//!   tree ── eval ── arithmetic, cast, functions, like      an expression and its value
//!     │           ├── routines, json                   those of uuid, bytea, time, interval, json and arrays
//!     │           └── builtins                         the table of functions
//!     ├── check                                            whether it is well-typed, immutable, can fail
//!     ├── codec                                            its bytes, for the catalog
//!     └── sql                                              its text
//!   types                                                  in which types operands meet
//!   number                                                 numeric with each value's own scale: what it computes
//!   text                                                   values as PostgreSQL reads and writes them
//!   domains                                                what domains allow of values
//!   style, zone                                            what a session's texts mean; time zones
//! ```
//!
//! 1. Types follow PostgreSQL; numeric results have one precision and scale, the query engine's: `+ -` the larger
//!    scale, `*` the sum of the scales, rounded to 20 digits where it may be too long, `/` 16 digits after the point or
//!    as many as the operands have, as far as there is room; rounded half away from zero.
//! 2. Integer overflow, numeric overflow and division by zero are errors, never wrapped or infinite.
//! 3. Logic is three-valued; an error in one operand of AND or OR is only raised if the other does not decide.
//! 4. A well-typed expression ([`Expr::check_types`]) evaluates to a value of its type or to an error, and never
//!    panics, on every row of the types that it was checked with. What the binder makes is well-typed.
//!
//! This crate is below the kernel, which keeps indexes on expressions, and knows neither SQL text nor tables.

mod advisory;
mod arithmetic;
mod bits;
pub mod builtins;
mod cast;
mod check;
mod codec;
mod days;
pub mod domains;
mod eval;
mod functions;
pub mod json;
mod like;
pub mod number;
mod numbers;
pub mod routines;
mod sql;
pub mod style;
pub mod text;
mod tree;
mod types;
mod words;
pub mod zone;

pub use advisory::{AdvisoryKey, AdvisoryLocks, AdvisoryRequest};
pub use arithmetic::{ArithmeticOp, QUOTIENT_SCALE, arithmetic_types, negate, product, quotient, quotient_scale};
pub use bits::fit as fit_bits;
pub use cast::{assign, cast, check_assignable, coerce_param, is_castable, no_cast};
pub use check::crosses_session;
pub use codec::{EXPR_BYTES_MAX, EXPR_DEPTH_MAX};
pub use functions::Function;
pub use like::like;
pub use numbers::{NextNumber, Numbers};
pub use style::{Local, Style};
pub use tree::{EvalContext, Expr, Node};
pub use types::{as_numeric, common_type, is_integer, is_number, literal_number_type};
pub use words::{is_reserved, quoted};
