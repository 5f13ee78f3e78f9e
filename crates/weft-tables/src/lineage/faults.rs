//! Deliberate bugs of this method ([`weft_kernel::fault`]): each must be caught by a named test.

use weft_kernel::fault::Fault;

macro_rules! faults {
    ($($name:ident $doc:literal;)*) => {
        $(#[doc = $doc] pub const $name: Fault = Fault::new(stringify!($name));)*
        /// All of them.
        pub const ALL: &[Fault] = &[$($name,)*];
    };
}

faults! {
    FORGET_GIVEN_UP "A table that a commit could not be installed in is used as if nothing had been.";
    REPLAY_TWICE_APPLIES "Changes at or below a table's cut are applied again.";
    MERGE_TOO_EARLY "Tails are merged before everything up to their end is installed.";
    MERGE_WITHOUT_ORIGINALS "A merge does not keep the values that it replaces.";
    MERGE_NEWEST_RECORD_ONLY "A merge takes the newest record of a row alone, not the columns of those before it.";
    FORGET_TOO_EARLY "A job forgets what a registered snapshot still sees.";
    READ_TAILS_BELOW_CUT "A snapshot below the base's cut reads the base as if it were of its time.";
    REUSE_ROW_IDS "The row ids of a segment that is gone are given again while keys name them.";
    SEE_UNBORN "Rows of a bulk load are seen by snapshots from before its commit.";
    FORGET_LOADED "A merge does not list the files of the bulk loads that its cut has reached.";
    KEEP_NEWEST_ROW_ID "A merge of keys keeps the newest row id of a key alone.";
    MERGE_HOLDS_GATE "A merge keeps writers out while it works.";
    VERSIONS_END_WITH_MERGE "The newest version of a row ends with the merge that wrote its page.";
    LOSE_ENDED_VERSIONS "Versions that have ended are left out while they are in tails.";
    PRUNE_BY_PAGES "A block of the past is left out because of its pages, although history may satisfy the predicates.";
    DIFFER_BY_PAGES "A difference of two moments leaves out rows whose changes are in tails.";
    TOUCH_OWN_COLUMNS_ONLY "A record is taken to touch the columns alone that its commit has set.";
    LOSE_KEYS "A merge does not keep the row ids of new keys.";
}
