//! Object stores: S3 and its kin, and a directory that behaves like one.
//!
//! ```text
//!   file:///backups/shop      FileStore   each object a file, written aside and renamed
//!   s3://bucket/shop          S3Store     requests over HTTP, repeated while the store is troubled
//! ```
//!
//! | module | what |
//! |---|---|
//! | `place` | what a URL and the variables of the environment say |
//! | `names` | names of objects |
//! | `file`, `s3` | the two stores |
//! | `http` | one request, and what its answer means |
//!
//! What a store promises is in [`weft_env::ObjectStore`]. Everything blocks: who may not wait has a thread for it.

mod file;
mod http;
mod names;
mod place;
mod probe;
mod s3;

pub use file::FileStore;
pub use place::is_url;
pub use probe::probe;
pub use s3::S3Store;

use std::sync::Arc;
use std::time::Duration;

use weft_env::{Env, ObjectStore};
use weft_format::{Code, Error, Result};

/// For how long a request is repeated while the store is troubled, unless somebody says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The store at a URL, `file:///DIR` or `s3://BUCKET/PREFIX`; a request is repeated for `patience`. Nothing is asked
/// yet.
///
/// Of S3 the variables of the environment say the rest, as other programs know them: `AWS_ACCESS_KEY_ID`,
/// `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION` or `AWS_DEFAULT_REGION`, `AWS_ENDPOINT_URL_S3` or
/// `AWS_ENDPOINT_URL` for a store that is not Amazon's, `AWS_CA_BUNDLE` or `SSL_CERT_FILE` for who vouches for it.
///
/// # Errors
///
/// 22023 when the URL or a variable is wrong, or one is missing.
pub fn open(env: &Env, url: &str, patience: Duration) -> Result<Arc<dyn ObjectStore>> {
    if let Some(dir) = url.strip_prefix("file://") {
        if !dir.starts_with('/') {
            let what = format!("{url} names no directory");
            return Err(Error::new(Code::InvalidParameterValue, what).hint("file:// and an absolute path"));
        }
        return Ok(Arc::new(FileStore::new(env, dir.as_ref())));
    }
    let place = place::S3Place::parse(url, &|name| place::variable(name))?;
    Ok(Arc::new(S3Store::new(env, place, patience)?))
}

/// The store at a URL ([`open`]) to put something there: it is asked whether it keeps its promises ([`probe()`]).
///
/// # Errors
///
/// Those of both.
pub fn open_to_put(env: &Env, url: &str, patience: Duration) -> Result<Arc<dyn ObjectStore>> {
    let store = open(env, url, patience)?;
    probe(env, &*store)?;
    Ok(store)
}
