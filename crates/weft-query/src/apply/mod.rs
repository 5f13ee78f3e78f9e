//! Apply: subqueries that no join stands for, run for each row of the query around them.
//!
//! ```text
//!   SELECT o.k, (SELECT i.v FROM i WHERE i.k >= o.k ORDER BY i.v LIMIT 1) FROM o
//!
//!   subqueries   mark(subquery with outer references m0.0, o.k)        first rule: what refers outwards is told apart
//!   ...          types are coerced, as in any subquery
//!   hide         subplan(o.k), whose plan has a parameter $outer0       last rule: the engine sees a function
//!   plan         its plan is optimised and made physical, $outer0 read by the scan: an index looks it up
//!   run          for each o.k that is new: parameters filled in, a reset copy run; answers are kept by o.k
//!
//!   FROM o, LATERAL (SELECT ... o.k ... LIMIT 1) AS l                   lateral: an operator that gives rows of both
//! ```
//!
//! 1. A join is tried first (`subqueries`, `membership`): what they refuse comes here.
//! 2. A subquery runs for the rows that ask for it only: behind conditions that cost less, and in the branch of a CASE
//!    that is taken. So its errors are those of PostgreSQL.
//! 3. What a subquery gave is kept by the values of the outer references, as bytes, unless something in it changes from
//!    call to call. One that refers to nothing outside runs once in an execution, if at all (PostgreSQL's InitPlan).
//! 4. A subplan names the outer values of its own level only: what a subquery within it refers to further out is an
//!    outer value of both.
//!
//! Source: PostgreSQL's SubPlan and Memoize (`nodeSubplan.c`, `nodeMemoize.c`); Galindo-Legaria and Joshi 2001, Apply.

pub(super) mod body;
pub(super) mod cache;
pub(super) mod costly;
pub(super) mod hide;
pub(super) mod inner;
pub(super) mod lateral;
pub(super) mod lateral_exec;
pub(super) mod mark;
pub(super) mod one_by_one;
pub(super) mod outer;
pub(super) mod prepare;
pub(super) mod run;
pub(super) mod subplan;
pub(super) mod walk;
