//! The named steps of this method's jobs.

use weft_kernel::step::Step;

/// The images of some pages are in the log, and the log is durable.
pub const IMAGES_DURABLE: Step = Step::new("write pages: images durable");
/// Some pages are written, and not synced.
pub const PAGES_WRITTEN: Step = Step::new("write pages: pages written");
/// All pages are durable.
pub const PAGES_SYNCED: Step = Step::new("write pages: pages synced");
/// The manifest knows.
pub const EDIT_DURABLE: Step = Step::new("write pages: edit durable");
/// A node was split, and the log has it, perhaps not durably.
pub const SPLIT_LOGGED: Step = Step::new("row: split logged");
/// Two nodes were joined, and the log has it, perhaps not durably.
pub const MERGE_LOGGED: Step = Step::new("row: merge logged");
/// The rows of a load are on pages, durably, and of no commit.
pub const ROWS_LOADED: Step = Step::new("row: rows loaded");
/// No node has a row of loads that are gone, while pages on disk may.
pub const LOADS_SWEPT: Step = Step::new("row: loads swept");

/// All of them.
pub const ALL: [Step; 8] =
    [IMAGES_DURABLE, PAGES_WRITTEN, PAGES_SYNCED, EDIT_DURABLE, SPLIT_LOGGED, MERGE_LOGGED, ROWS_LOADED, LOADS_SWEPT];
