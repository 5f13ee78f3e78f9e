//! Sessions over the query engine: statements of both engines, templates, indexes, bulk statements.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests run on the real machine")]

#[path = "sessions/bulk_tests.rs"]
mod bulk_tests;
#[path = "sessions/document_tests.rs"]
mod document_tests;
#[path = "sessions/field_cast_tests.rs"]
mod field_cast_tests;
#[path = "sessions/fixture.rs"]
mod fixture;
#[path = "sessions/index_tests.rs"]
mod index_tests;
#[path = "sessions/range_tests.rs"]
mod range_tests;
#[path = "sessions/snapshot_tests.rs"]
mod snapshot_tests;
#[path = "sessions/template_tests.rs"]
mod template_tests;
#[path = "sessions/tests.rs"]
mod tests;
