//! Whether a store keeps what it promises, before anything rests on it.

use weft_env::{Created, Env, ObjectStore};
use weft_format::{Code, Error, Result};

/// Creates one object twice, reads it, and removes it: a store that lets the second in has no conditional put, and two
/// who write to it would not notice each other.
///
/// # Errors
///
/// 0A000 when it does not keep its promises, 58030 when it cannot be asked.
pub fn probe(env: &Env, store: &dyn ObjectStore) -> Result<()> {
    let name = format!("probe-{:016x}", env.rng.next_u64());
    let asked = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::Unsupported => {
            let what = format!("{} has no conditional put: {error}", store.place());
            Error::new(Code::FeatureNotSupported, what).hint("use a store that knows PUT with If-None-Match: *")
        }
        _ => Error::io(format!("asking {}", store.place()), &error),
    };
    let lacks = |what: &str| {
        let what = format!("{} {what}", store.place());
        Err(Error::new(Code::FeatureNotSupported, what).hint("use a store that knows PUT with If-None-Match: *"))
    };
    let tried = (|| {
        if store.create(&name, b"first").map_err(asked)? != Created::Made {
            return lacks("has an object under a random name");
        }
        if store.create(&name, b"second").map_err(asked)? != Created::Exists {
            return lacks("lets a second one create what a first one has created");
        }
        if store.get(&name).map_err(asked)? != b"first" {
            return lacks("does not give back what was put");
        }
        Ok(())
    })();
    // Of a probe that failed the object may stay: nothing reads it.
    let _ = store.delete(&[name]);
    tried
}
