//! A store of objects: what a backup, an archive of the log, and read nodes elsewhere need of S3 and its kin.
//!
//! ```text
//!   put t5-12-4194304-5e0a21bc/0       the same bytes under the same name, or none: may be repeated
//!   create backup-3                    by one of all who try; whoever has it reads its own bytes there
//!   list "piece-3-", after ""          names, a page at a time, in order of their bytes
//! ```
//!
//! 1. An object is there whole or not at all, and `get` after a `put` or `create` that returned sees it.
//! 2. Of all who create one name one succeeds, as long as the object is not removed.
//! 3. A list may be late: it may miss what was made a moment ago, and name what is gone. Nothing may rest on it alone.
//!
//! Concurrency: every function may be called from any thread, and blocks.

use std::io;

/// The longest object: who has more makes several.
pub const OBJECT_BYTES_MAX: usize = 32 << 20;

/// What became of an object that was to be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// It was not there, and is now.
    Made,
    /// Another had made it.
    Exists,
}

/// Objects by name. Names are of ASCII letters, digits and `-_./`, relative to where the store begins.
///
/// Errors: [`io::ErrorKind::NotFound`] of `get` when there is no such object; others when the store could not be asked,
/// after the tries that the implementation makes.
pub trait ObjectStore: Send + Sync {
    /// An object.
    fn get(&self, name: &str) -> io::Result<Vec<u8>>;
    /// Puts an object, in place of what is there.
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()>;
    /// Puts an object unless one is there. When it is not known whether a try of its own succeeded, it reads the object
    /// and compares: so bytes that two may create must differ, by a random number.
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<Created>;
    /// Names that begin with `prefix` and come after `after`, in order of their bytes; at most about a thousand, none
    /// when there are no more.
    fn list(&self, prefix: &str, after: &str) -> io::Result<Vec<String>>;
    /// Removes objects; those that are not there are gone already.
    fn delete(&self, names: &[String]) -> io::Result<()>;
    /// Where it is, for messages; no secrets.
    fn place(&self) -> &str;
}
