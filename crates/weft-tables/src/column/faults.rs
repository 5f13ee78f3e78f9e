//! Deliberate bugs of this method ([`weft_kernel::fault`]): each must be caught by a named test.

use weft_kernel::fault::Fault;

/// Taking in files panics: no bug to be caught, but what is to be borne.
pub const PANIC_IN_MERGE: Fault = Fault::new("PANIC_IN_MERGE");

macro_rules! faults {
    ($($name:ident $doc:literal;)*) => {
        $(#[doc = $doc] pub const $name: Fault = Fault::new(stringify!($name));)*
        /// All of them.
        pub const ALL: &[Fault] = &[$($name,)*];
    };
}

faults! {
    LOSE_MARK_AT_CONVERSION "A delete mark set while its table is converted is not carried over.";
    STALE_LAYOUT "A scan pins its layout before it registers its timestamp.";
    REPLAY_TWICE_APPLIES "Changes at or below a table's cut are applied again.";
    DROP_DEAD_TOO_EARLY "A job drops dead versions that a registered snapshot still sees.";
    CONVERT_TOO_EARLY "A row table is converted before everything up to its F is installed.";
    STALE_BORDERS "A job places its tables by the borders of before, which another job has changed meanwhile.";
    SPLIT_THROUGH_TABLES "A transition table that a new border goes through stays in its bucket.";
    FORGET_LAYERS "A manifest edit names neither the tables that change their layer nor the borders of the buckets.";
    FORGET_MARKS "A manifest edit does not name the delete marks up to its cut.";
    SCAN_UNRECONCILED "A scan does not look for rows that blind writes have replaced.";
    CONVERT_UNRECONCILED "A row table is converted before the rows are marked that its blind writes have replaced.";
    FORGET_REPLACED "Redo of a large update does not end the rows that it replaced.";
    FOLLOW_WITHOUT_MARKS "A follower's switch does not mark in its files what ended beyond the cut.";
    FOLLOW_BELOW_FLOOR "Old snapshots of a follower read files that have forgotten what these see.";
    MERGE_FORGETS_PART "The summaries of a table count a file as taken in whose values they lack.";
    MERGE_COUNTS_TWICE "The summaries of a table have the values of each file twice.";
    SUMMARY_OUTLIVES_PART "The summaries of a table do not note that rows which they have are gone.";
    SAMPLE_BEGINNING "A sample of a table is of its first rows, and not from all over it.";
    FORGET_NOTED "Files that come and go while summaries are begun anew are not noted.";
    COVER_UNREADABLE "A file that could not be read for a moment counts as taken in.";
    LEAVE_OUT_LACKING "The summaries of a column are of the files alone that have it.";
    RANGE_TRUSTS_FIRST "A range takes the first version of a key that it meets for the only one.";
    RANGE_LEAVES_COVERING "A range leaves out the parts that begin before it and reach into it.";
    FORGET_GIVEN_UP "A table that a commit could not be installed in is used as if nothing had been.";
}
