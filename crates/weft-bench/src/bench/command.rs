//! Which suite the words after `weft bench` name.
//!
//! ```text
//!   transactions --seconds 1   the suite of that name, with the words behind it
//!   --rows 1000                compare
//! ```

use super::{compare, documents, lineage, transactions, xbench};
use crate::subcommand::{Arguments, Failure};

/// Runs the suite that the first word names; without such a word the one that `bench/compare.py` runs.
pub fn run(mut arguments: Arguments) -> Result<(), Failure> {
    if arguments.first_is("transactions") {
        return transactions::run(arguments);
    }
    if arguments.first_is("xbench") {
        return xbench::run(arguments);
    }
    if arguments.first_is("lineage") {
        return lineage::run(arguments);
    }
    if arguments.first_is("documents") {
        return documents::run(arguments);
    }
    compare::run(arguments)
}
