//! What a subcommand of the program is given and gives.
//!
//! ```text
//!   weft demo --writers 4 --fast
//!             └─ Arguments ────┘ ──▶ demo::run ──▶ a Grid on the terminal, exit code 0
//!                                          └────▶ Failure::Usage("unknown argument --fast"), exit code 2
//! ```
//!
//! 1. A subcommand prints its results itself; why it failed is printed by who started it.

mod arguments;
mod failure;
mod grid;

pub use arguments::Arguments;
pub use failure::Failure;
pub use grid::{Align, Grid};
