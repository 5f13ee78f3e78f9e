//! One client: what it sends, where it goes, and what both of its connections must know.
//!
//! ```text
//!   client ── Query, or messages up to Sync ─▶ batch ─▶ decide ─┬─ writer ─▶ relay
//!                                                               └─ node: settings and token first ─▶ relay
//!                                                                         late, gone, 25006: writer ─▶ relay
//! ```
//!
//! 1. A transaction stays where it began. Portals live in one.
//! 2. Settings: [`settings`]. Prepared statements are known here by name; a server is sent the Parse again when it has
//!    not got what a message needs ([`backend`]).
//! 3. What lives in a connection and cannot be told to another (temporary tables, SQL's PREPARE, cursors WITH HOLD)
//!    is made at the writer, and the session stays there until DISCARD ALL.
//! 4. After each use of the writer a read on a node waits for the newest commit that the writer had then: so a session
//!    sees what it wrote, and what it saw.
//! 5. A node that refuses the session is left alone for a while ([`pauses`]); no other session hears of it.
//! 6. A session without a transaction whose writer has gone goes on at the writer that there is, unless something lived
//!    in the connection (3, locks, what functions remember) or settings that were not asked for yet.

mod backend;
mod batch;
mod decide;
mod pauses;
mod relay;
pub(crate) mod report;
mod routing;
mod settings;
mod who;

pub(crate) use routing::Session;
pub(crate) use who::Who;
