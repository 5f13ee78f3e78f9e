//! Expressions of SQL, bound: the trees of [`weft_expr`], whose evaluation the kernel shares for its indexes.
//!
//! ```text
//!   t (id bigint, price numeric(10,2));  SET price = price * 1.1 WHERE id = $1 AND price < 100
//!
//!   bind    types are decided: $1 takes bigint from id, 1.1 is numeric(2,1), price * 1.1 numeric(13,3),
//!           100 is cast to numeric(12,2) for the comparison, the new price is cast to numeric(10,2)
//! ```
//!
//! Binding says "not supported by the point engine" ([`BindError::Unsupported`]) to what it does not know (functions,
//! subqueries, intervals, ...); the router then takes the query engine. It never guesses.

mod aggregates;
mod bind;
mod bind_calls;
mod parts;
mod scope;
mod sequence_calls;
mod syntax;
mod types;

pub(crate) use aggregates::AGGREGATES;
pub use bind::{BindError, BindResult, Binder, Definer, open};
pub(crate) use parts::with_parts;
pub(crate) use scope::Named;
pub use scope::Scope;
pub(crate) use sequence_calls::{arguments, function_name, relation_argument, relation_name, sequence_call};
pub use syntax::{call, cast_to, check_fields, compare_op, interval_cast, pattern_call, slice_call, written_call};
pub(crate) use syntax::{literal, text_literal};
pub use types::{NUMERIC_DEFAULT, data_type_of};
pub use weft_expr::{
    EvalContext, Expr, assign, cast, check_assignable, coerce_param, common_type, literal_number_type,
};

#[cfg(test)]
mod tests;
