//! The data files of a database, as tables and indexes see them: by number, never by path. Something else than a
//! directory can stand behind it.
//!
//! ```text
//!   create ── append ... append ── seal ── sync_names ── an edit of the manifest names it       a file's way in
//!   open ── read, by a bounded number of handles ── retire, the last reader lets go ── removed   its way out
//!                                                                             └─ by a thread; a backup may keep it
//!   create_paged ── change: write pages, sync ── change ...                      pages that are changed where they lie
//!   t12-345.data     how file 345 of table or index 12 is called in the directory
//! ```
//!
//! | module | what |
//! |---|---|
//! | `store` | the service |
//! | `directory` | where they are, when they go |
//! | `writing`, `data_file` | a file that is being written; one that is there |
//! | `paged` | a file of pages |
//! | `pin`, `pins`, `removals` | which files stay while somebody copies them; which are to go |
//! | `name` | names in the directory |
//!
//! 1. A number is not given again while the directory, the manifest or the log know of a file that had it.
//! 2. A file is not changed after it was sealed, but for one of pages.
//! 3. Only while the directory is this engine's a file is made, changed or removed: another may have it afterwards. A
//!    file goes when every part that lies in it was retired and its last reader has let go.
//! 4. A file that is not finished, by an error or a panic, leaves nothing that the next opening does not remove.

mod data_file;
mod directory;
mod name;
mod paged;
mod pin;
mod pins;
mod removals;
mod store;
mod writing;

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests look at real files")]
mod tests;

pub use data_file::DataFile;
pub use paged::{PageChanges, PagedFile};
pub use store::Files;
pub use writing::NewFile;

pub(crate) use directory::Forget;
pub(crate) use name::{parse_file_name, parse_former_name};
pub(crate) use pin::FilePin;
