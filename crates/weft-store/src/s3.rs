//! S3 and its kin over HTTP.
//!
//! ```text
//!   create: PUT If-None-Match:* ─┬─ 200 ─────────────────▶ Made
//!                                └─ 409, 412, 5xx, no answer ─ GET ─┬─ my bytes ──▶ Made
//!                                                                   ├─ others ────▶ Exists
//!                                                                   └─ nothing ───▶ PUT again
//! ```
//!
//! 1. A request whose outcome is unknown is sent again, after pauses that grow, until patience ends. All of them may
//!    be: `put` gives the same bytes, `delete` takes what may be gone, and `create` reads what is there.
//! 2. No message has a signature or a secret: URLs of requests are signed, and never told.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rusty_s3::S3Action;
use rusty_s3::actions::{ListObjectsV2, ListObjectsV2Response};
use ureq::http::{Request, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
use weft_env::{Created, Env, OBJECT_BYTES_MAX, ObjectStore, OpenMode};
use weft_format::{Code, Error, Result};

use crate::http::{Answer, ask, time_for};
use crate::names::check;
use crate::place::S3Place;

/// For how long a signature counts.
const SIGNED_FOR: Duration = Duration::from_secs(900);
/// The first pause before a request is sent again, and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// A page of a list has a thousand names of a kilobyte at most.
const LIST_BYTES_MAX: u64 = 4 << 20;
/// What an object has at most that is got, usually; a larger one takes longer than it may over a slow network.
const GET_BYTES_USUAL: usize = 4 << 20;
/// So often a request is sent at least, however long each takes.
const TRIES_MIN: u32 = 3;
/// Where systems keep who vouches for servers.
const AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// A bucket, or a part of one.
pub struct S3Store {
    env: Env,
    place: S3Place,
    agent: ureq::Agent,
    patience: Duration,
}

impl S3Store {
    pub(crate) fn new(env: &Env, place: S3Place, patience: Duration) -> Result<S3Store> {
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent("weft")
            .timeout_connect(Some(Duration::from_secs(5)))
            .timeout_resolve(Some(Duration::from_secs(5)));
        if place.has_tls() {
            let tls = TlsConfig::builder()
                .provider(TlsProvider::Rustls)
                .root_certs(RootCerts::Specific(Arc::new(authorities(env, place.authorities.as_deref())?)))
                .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
            config = config.tls_config(tls.build());
        }
        Ok(S3Store { env: env.clone(), place, agent: config.build().new_agent(), patience })
    }

    fn key(&self, name: &str) -> io::Result<String> {
        check(name)?;
        Ok(format!("{}{name}", self.place.prefix))
    }

    /// Signs an action, and sends it with a body.
    fn send<'a, A: S3Action<'a>>(
        &self,
        action: &A,
        method: &str,
        (header, body): (Option<(&str, &str)>, &[u8]),
        bytes_max: u64,
    ) -> io::Result<Answer> {
        let url: Uri = action.sign(SIGNED_FOR).as_str().parse().map_err(io::Error::other)?;
        let mut request = Request::builder().method(method).uri(url);
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let request = request.body(body).map_err(io::Error::other)?;
        let time = time_for(body.len().max(if bytes_max > LIST_BYTES_MAX { GET_BYTES_USUAL } else { 0 }));
        let request = self.agent.configure_request(request).timeout_global(Some(time)).build();
        ask(&self.agent, request, bytes_max)
    }

    /// Does something again, after pauses that grow, while its outcome is unknown and there is patience (s3 1).
    fn patiently<T>(&self, mut attempt: impl FnMut() -> io::Result<Tried<T>>) -> io::Result<T> {
        let clock = &self.env.clock;
        let begun = clock.monotonic_nanos();
        let (mut pause, mut tries) = (PAUSE_MIN, 0);
        loop {
            tries += 1;
            let unknown = match attempt()? {
                Tried::Done(value) => return Ok(value),
                Tried::Unknown(error) => error,
            };
            let spent = Duration::from_nanos(clock.monotonic_nanos().saturating_sub(begun));
            if spent + pause > self.patience && tries >= TRIES_MIN {
                let what = format!("{} for {:.1} s: {unknown}", self.place.url, spent.as_secs_f64());
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            // Between a half and the whole: who failed together does not come back together.
            let jitter = pause.mul_f64(0.5 + (self.env.rng.next_u64() % 1024) as f64 / 2048.0);
            clock.sleep(jitter);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn get_once(&self, key: &str) -> io::Result<Tried<Option<Vec<u8>>>> {
        let action = self.place.bucket.get_object(Some(&self.place.credentials), key);
        // An object of another program may be of any length.
        Ok(match self.send(&action, "GET", (None, &[]), OBJECT_BYTES_MAX as u64 + 1)? {
            Answer::Done(body) => Tried::Done(Some(body)),
            Answer::Missing => Tried::Done(None),
            Answer::Conflict => Tried::Unknown(io::Error::other("the store answers that there is a conflict")),
            Answer::Unknown(error) => Tried::Unknown(error),
        })
    }

    fn list_once(&self, prefix: &str, after: &str) -> io::Result<Tried<ListObjectsV2Response>> {
        let mut action = self.place.bucket.list_objects_v2(Some(&self.place.credentials));
        action.with_prefix(prefix.to_owned());
        if !after.is_empty() {
            action.with_start_after(after.to_owned());
        }
        Ok(match self.send(&action, "GET", (None, &[]), LIST_BYTES_MAX)? {
            Answer::Done(body) => {
                let text = String::from_utf8(body).map_err(io::Error::other)?;
                Tried::Done(ListObjectsV2::parse_response(&text).map_err(io::Error::other)?)
            }
            Answer::Missing => return Err(io::Error::other("the store answers 404")),
            Answer::Conflict => Tried::Unknown(io::Error::other("the store answers that there is a conflict")),
            Answer::Unknown(error) => Tried::Unknown(error),
        })
    }

    fn put_once(&self, key: &str, bytes: &[u8], is_new: bool) -> io::Result<Answer> {
        let mut action = self.place.bucket.put_object(Some(&self.place.credentials), key);
        let header = is_new.then_some(("if-none-match", "*"));
        if let Some((name, value)) = header {
            action.headers_mut().insert(name, value);
        }
        self.send(&action, "PUT", (header, bytes), LIST_BYTES_MAX)
    }

    fn refused(&self, name: &str, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{name} in {}: {error}", self.place.url))
    }
}

/// What became of one attempt.
enum Tried<T> {
    Done(T),
    Unknown(io::Error),
}

impl ObjectStore for S3Store {
    fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        let key = self.key(name)?;
        let found = self.patiently(|| self.get_once(&key)).map_err(|error| self.refused(name, &error))?;
        found.ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("there is no object {name} in {}", self.place.url))
        })
    }

    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        assert!(bytes.len() <= OBJECT_BYTES_MAX, "who has more makes several objects");
        let key = self.key(name)?;
        let put = self.patiently(|| {
            Ok(match self.put_once(&key, bytes, false)? {
                Answer::Done(_) => Tried::Done(()),
                Answer::Missing => return Err(io::Error::other("the store answers 404")),
                // Two puts at the same moment: one of them comes later.
                Answer::Conflict => Tried::Unknown(io::Error::other("the store answers that there is a conflict")),
                Answer::Unknown(error) => Tried::Unknown(error),
            })
        });
        put.map_err(|error| self.refused(name, &error))
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<Created> {
        assert!(bytes.len() <= OBJECT_BYTES_MAX, "who has more makes several objects");
        let key = self.key(name)?;
        let created = self.patiently(|| {
            let put = match self.put_once(&key, bytes, true)? {
                Answer::Done(_) => return Ok(Tried::Done(Created::Made)),
                Answer::Missing => return Err(io::Error::other("the store answers 404")),
                Answer::Conflict => io::Error::other("the store says that it is there, and does not give it"),
                Answer::Unknown(error) => error,
            };
            Ok(match self.get_once(&key)? {
                Tried::Done(Some(found)) if found == bytes => Tried::Done(Created::Made),
                Tried::Done(Some(_)) => Tried::Done(Created::Exists),
                Tried::Done(None) => Tried::Unknown(put),
                Tried::Unknown(error) => Tried::Unknown(error),
            })
        });
        created.map_err(|error| self.refused(name, &error))
    }

    fn list(&self, prefix: &str, after: &str) -> io::Result<Vec<String>> {
        let below = &self.place.prefix;
        let mut after = if after.is_empty() { String::new() } else { format!("{below}{after}") };
        loop {
            let listed = self.patiently(|| self.list_once(&format!("{below}{prefix}"), &after));
            let page = listed.map_err(|error| self.refused("a list", &error))?;
            let Some(last) = page.contents.last().map(|object| object.key.clone()) else { return Ok(Vec::new()) };
            let names = page.contents.into_iter().filter_map(|object| Some(object.key.strip_prefix(below)?.to_owned()));
            // What no `check` lets in was put by another program; a page of such is none.
            let names: Vec<String> = names.filter(|name| check(name).is_ok()).collect();
            if !names.is_empty() || page.next_continuation_token.is_none() {
                return Ok(names);
            }
            after = last;
        }
    }

    fn delete(&self, names: &[String]) -> io::Result<()> {
        for name in names {
            let key = self.key(name)?;
            let gone = self.patiently(|| {
                let action = self.place.bucket.delete_object(Some(&self.place.credentials), &key);
                Ok(match self.send(&action, "DELETE", (None, &[]), LIST_BYTES_MAX)? {
                    Answer::Done(_) | Answer::Missing => Tried::Done(()),
                    Answer::Conflict => Tried::Unknown(io::Error::other("the store answers that there is a conflict")),
                    Answer::Unknown(error) => Tried::Unknown(error),
                })
            });
            gone.map_err(|error| self.refused(name, &error))?;
        }
        Ok(())
    }

    fn place(&self) -> &str {
        &self.place.url
    }
}

/// Who vouches for servers: the certificates of a file, or of where the machine has them.
fn authorities(env: &Env, named: Option<&str>) -> Result<Vec<Certificate<'static>>> {
    let places: &[&str] = match &named {
        Some(file) => std::slice::from_ref(file),
        None => &AUTHORITIES,
    };
    for place in places {
        let read = env.fs.open(place.as_ref(), OpenMode::Read).and_then(|file| {
            let mut bytes = vec![0; file.len()? as usize];
            file.read_exact_at(&mut bytes, 0).map(|()| bytes)
        });
        match read {
            Ok(bytes) => {
                let found = parse_pem(&bytes).filter_map(|item| match item {
                    Ok(PemItem::Certificate(certificate)) => Some(certificate),
                    _ => None,
                });
                return Ok(found.collect());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(format!("reading {place}"), &error)),
        }
    }
    let what = format!("no certificates of authorities are in {}", places.join(", "));
    Err(Error::new(Code::InvalidParameterValue, what).hint("install ca-certificates, or set SSL_CERT_FILE"))
}
