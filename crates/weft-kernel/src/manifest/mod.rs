//! The manifest: which files make which table, up to which cut. One file of checksummed edits, named by CURRENT.
//!
//! ```text
//!   CURRENT        "MANIFEST-3 5e0a21bc"
//!   MANIFEST-3     [header][table 0: cut 90 ...][table 5: cut 80 ...] | [edit][mark][edit][mark]
//!                   snapshot as of the switch ──────────────────────┘   edits since, each durable when applied
//! ```
//!
//! | module | what |
//! |---|---|
//! | `edit` | an edit and its bytes |
//! | `layout` | bytes of the file: header, records, CURRENT |
//! | `tables` | the state that edits add up to |
//! | `replay` | reads a file's records back |
//! | `records` | the records as they are, for people and tests |
//! | `files` | writes a new file and names it |
//! | `told` | what the log tells of an edit |
//! | `store` | open, apply, switch to a new file |
//!
//! 1. An edit is applied whole or not at all, whenever the crash comes.
//! 2. Before an edit is written the log is flushed, so no file state outlives the commits it contains.
//! 3. CURRENT always names a manifest whose snapshot is whole and durable.
//! 4. A damaged edit that was known durable is corruption; only an unfinished last edit is cut off.
//!
//! Source: DESIGN section 5, invariant 7. The bytes: docs/format/manifest.md.

mod edit;
mod files;
mod layout;
mod records;
mod replay;
mod store;
mod tables;
mod told;

pub use edit::Edit;
pub use records::{ManifestRecord, read_manifest};
pub use store::{Hooks, Manifest, RecoveredManifest};
pub use told::LayoutSwitch;

pub(crate) use layout::{CURRENT, manifest_number};
pub(crate) use store::ManifestSnapshot;
pub(crate) use told::files_named;

#[cfg(test)]
mod tests;
