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
    FORGET_GIVEN_UP_ROWS "A table of pages that a commit could not be installed in is used as if nothing had been.";
    ACCEPT_TORN_PAGES "A page is taken as it lies on disk, whatever its checksum says.";
    SPLIT_WITHOUT_LINK "The record of a split does not say that the node above has a child more.";
    KEEP_FURTHER_PAGES "A page that is used anew goes on on the pages on which its last node did.";
    UNDO_NOT_KEPT "A version that is replaced is not kept for those who still see it.";
    PURGE_TOO_EARLY "Older versions are forgotten while a registered snapshot sees them.";
    FORGET_CHANGED_WHILE_WRITTEN "A page that changes while it is written counts as written.";
    BELIEVE_FIRST_LOOK "A check tells of a page that a node has let go for another since it was looked at.";
    SEE_OPEN_LOADS "Rows of a load are there before its commit.";
    FORGET_OPEN_LOADS "Nobody says of the loads that a crash has ended that they are gone.";
    SWEEP_ENDS_EARLY "Loads that are gone are forgotten when the first leaves were looked at.";
    LOAD_OVER_ROWS "A load replaces rows that are there.";
    CHANGED_PAGES_FILL_CACHE "Changed nodes count as those that the cache has room for.";
    SCANS_FILL_CACHE "What a scan reads stays, and others go for it.";
    WRITTEN_PAGES_FILL_CACHE "What was written stays as if it had been asked for since, and others go for it.";
    SPLIT_AS_SEEN "A leaf is split that was too long when it was looked at, although a job has purged it since.";
}
