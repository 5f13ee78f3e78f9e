//! Deliberate bugs of read nodes ([`weft_kernel::fault`]): each is caught by a named test.

use weft_kernel::fault::Fault;

/// The log is announced further than it is durable.
pub const ANNOUNCE_EARLY: Fault = Fault::new("ANNOUNCE_EARLY");
/// A file of a node or an announcement counts whatever its checksum says.
pub const TRUST_TORN_NODE_FILE: Fault = Fault::new("TRUST_TORN_NODE_FILE");
/// The writer forgets what a node needs.
pub const FORGET_NODE: Fault = Fault::new("FORGET_NODE");
/// A node that needs more than the bounds is kept for all the same.
pub const KEEP_FOR_EVER: Fault = Fault::new("KEEP_FOR_EVER");
/// A wait for the latest takes an announcement that was read before.
pub const FRESH_BEFORE_READ: Fault = Fault::new("FRESH_BEFORE_READ");

/// A node believes an announcement of a writer whose directory another has taken.
pub const HEAR_OVERTAKEN: Fault = Fault::new("HEAR_OVERTAKEN");

/// A node is promoted although its writer is heard.
pub const PROMOTE_DEAF: Fault = Fault::new("PROMOTE_DEAF");

/// What was created in an archive counts, though another has taken it over.
pub const SHIP_UNFENCED: Fault = Fault::new("SHIP_UNFENCED");
/// The log is shipped without the files that its commits attach.
pub const SHIP_WITHOUT_FILES: Fault = Fault::new("SHIP_WITHOUT_FILES");
/// Any directory goes on with an archive.
pub const ARCHIVE_ANYTHING: Fault = Fault::new("ARCHIVE_ANYTHING");
/// A base counts though there is a gap in the log behind it.
pub const GO_ON_ACROSS_GAP: Fault = Fault::new("GO_ON_ACROSS_GAP");

/// Who mirrors an archive announces log before the files that it names are there.
pub const ANNOUNCE_BEFORE_FILES: Fault = Fault::new("ANNOUNCE_BEFORE_FILES");
/// Who mirrors an archive takes pieces of somebody who may have lost it.
pub const MIRROR_UNFENCED: Fault = Fault::new("MIRROR_UNFENCED");
/// Who follows an archive thinks that what was shipped is all there is.
pub const SHIPPED_IS_FRESH: Fault = Fault::new("SHIPPED_IS_FRESH");
/// Files that edits have named go though the log that names them was not shipped.
pub const FORGET_NAMED_FILES: Fault = Fault::new("FORGET_NAMED_FILES");

/// A commit that is to be in the archive is acknowledged before it is.
pub const ACKNOWLEDGE_UNSHIPPED: Fault = Fault::new("ACKNOWLEDGE_UNSHIPPED");

/// A node is fed though its log is not that of who feeds it.
pub const FEED_ANYTHING: Fault = Fault::new("FEED_ANYTHING");
/// What has come for a node and is damaged stays.
pub const KEEP_WHAT_IS_LOST: Fault = Fault::new("KEEP_WHAT_IS_LOST");

/// All of them.
pub const ALL: &[Fault] = &[
    ANNOUNCE_EARLY,
    TRUST_TORN_NODE_FILE,
    FORGET_NODE,
    KEEP_FOR_EVER,
    FRESH_BEFORE_READ,
    HEAR_OVERTAKEN,
    PROMOTE_DEAF,
    SHIP_UNFENCED,
    SHIP_WITHOUT_FILES,
    ARCHIVE_ANYTHING,
    GO_ON_ACROSS_GAP,
    ANNOUNCE_BEFORE_FILES,
    MIRROR_UNFENCED,
    SHIPPED_IS_FRESH,
    FORGET_NAMED_FILES,
    ACKNOWLEDGE_UNSHIPPED,
    FEED_ANYTHING,
    KEEP_WHAT_IS_LOST,
];
