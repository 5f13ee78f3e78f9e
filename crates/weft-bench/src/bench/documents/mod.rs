//! `weft bench documents`: the experiments of AMAX on documents in a `jsonb` column, nothing declared.
//!
//! ```text
//!   command ─▶ for each shape:  suite: a file of documents ─▶ COPY ─▶ queries (of the paper's table 2, and wider ones)
//!                                                              └▶ a tenth updated ─▶ the same queries again
//! ```
//!
//! `bench/documents.py` runs the same queries on DuckDB, chdb and PostgreSQL, over the file that `--write` makes.
//!
//! Source: Alkowaileet and Carey (VLDB 2022), section 6; its data is not public, so that documents are generated in its
//! shapes (`weft_format::document::shapes`).

mod command;
mod queries;
mod suite;

pub(super) use command::run;
