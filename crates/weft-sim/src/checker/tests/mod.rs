//! The checker checked.

mod broken;
mod brute_force;
mod handmade;
mod scale;
