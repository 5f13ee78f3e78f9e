//! Both stores keep what a store of objects promises; S3 by a real server, and by answers that a script gives.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

mod moto;

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use moto::{Moto, skip};
use weft_env::{Created, Env, ObjectStore};
use weft_format::Code;
use weft_store::{FileStore, open, probe};

/// What [`ObjectStore`] promises.
fn conforms(store: &dyn ObjectStore) {
    assert_eq!(store.list("", "").unwrap(), Vec::<String>::new(), "it begins empty");
    assert_eq!(store.get("a").unwrap_err().kind(), ErrorKind::NotFound);
    store.put("a", b"one").unwrap();
    store.put("a", b"two").unwrap();
    assert_eq!(store.get("a").unwrap(), b"two");
    assert_eq!(store.create("a", b"three").unwrap(), Created::Exists);
    assert_eq!(store.get("a").unwrap(), b"two", "what was there stays");
    assert_eq!(store.create("a", b"two").unwrap(), Created::Made, "its own bytes: a try that was repeated");
    assert_eq!(store.create("b", b"").unwrap(), Created::Made);
    assert_eq!(store.get("b").unwrap(), b"");
    let large: Vec<u8> = (0..3_000_000u32).flat_map(u32::to_le_bytes).collect();
    store.put("t5-12.data/0", &large).unwrap();
    assert_eq!(store.get("t5-12.data/0").unwrap(), large);
    store.put("t5-12.data/1", b"end").unwrap();
    store.put("t5-12.date", b"-").unwrap();
    assert_eq!(store.list("", "").unwrap(), ["a", "b", "t5-12.data/0", "t5-12.data/1", "t5-12.date"]);
    assert_eq!(store.list("t5-12.dat", "t5-12.data/0").unwrap(), ["t5-12.data/1", "t5-12.date"]);
    assert_eq!(store.list("t5-12.data/", "").unwrap(), ["t5-12.data/0", "t5-12.data/1"]);
    assert_eq!(store.list("x", "").unwrap(), Vec::<String>::new());
    for wrong in ["", "/a", "../a", "a//b", ".aside/x", "a b"] {
        assert_eq!(store.put(wrong, b"").unwrap_err().kind(), ErrorKind::InvalidInput, "{wrong:?}");
    }
    store.delete(&["a".into(), "nothing".into(), "t5-12.data/0".into()]).unwrap();
    assert_eq!(store.list("", "").unwrap(), ["b", "t5-12.data/1", "t5-12.date"]);
    assert_eq!(store.create("a", b"again").unwrap(), Created::Made);
    // Pages go on where the one before has ended.
    (0..1100).for_each(|n| store.put(&format!("p/{n:04}"), b".").unwrap());
    let (mut names, mut after) = (Vec::new(), String::new());
    loop {
        let page = store.list("p/", &after).unwrap();
        let Some(last) = page.last() else { break };
        after.clone_from(last);
        names.extend(page);
    }
    assert_eq!(names.len(), 1100);
    assert!(names.is_sorted());
    probe(&Env::real(), store).unwrap();
    assert_eq!(store.list("probe", "").unwrap(), Vec::<String>::new(), "nothing is left of it");
}

#[test]
fn a_directory_conforms() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("file://{}/in/the/depth", dir.path().display());
    let store = open(&Env::real(), &url, Duration::ZERO).unwrap();
    conforms(&*store);
    assert_eq!(store.place(), url);
    let aside = std::fs::read_dir(dir.path().join("in/the/depth/.aside")).unwrap();
    assert_eq!(aside.count(), 0, "nothing is left of what was written");
}

/// Variables of this process, for the tests that need them.
static VARIABLES: Mutex<()> = Mutex::new(());

/// A store whose variables name a server of this test.
fn s3(endpoint: &str, patience: Duration) -> Arc<dyn ObjectStore> {
    s3_at("s3://shop/of/weft", endpoint, patience)
}

fn s3_at(url: &str, endpoint: &str, patience: Duration) -> Arc<dyn ObjectStore> {
    let _alone = VARIABLES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for (name, value) in
        [("AWS_ENDPOINT_URL", endpoint), ("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "hush")]
    {
        // SAFETY: whoever reads or writes variables in this process holds the lock.
        unsafe { std::env::set_var(name, value) };
    }
    open(&Env::real(), url, patience).unwrap()
}

#[test]
fn s3_conforms() {
    let moto = match Moto::start(Path::new(env!("CARGO_TARGET_TMPDIR")), "shop") {
        Ok(moto) => moto,
        Err(reason) => return skip(&reason),
    };
    conforms(&*s3(&moto.endpoint(), Duration::from_secs(20)));
    // A bucket that is not there is no object that is not there.
    let gone = s3_at("s3://nowhere/x", &moto.endpoint(), Duration::from_secs(1)).get("a").unwrap_err();
    assert!(gone.kind() != ErrorKind::NotFound && gone.to_string().contains("NoSuchBucket"), "{gone}");
}

#[test]
fn one_of_all_who_create_an_object_succeeds() {
    let dir = tempfile::tempdir().unwrap();
    let made = AtomicUsize::new(0);
    for round in 0..100 {
        let name = format!("fence-{round}");
        let before = made.load(Ordering::Relaxed);
        std::thread::scope(|scope| {
            for who in 0..8 {
                let (name, made, root) = (&name, &made, dir.path());
                scope.spawn(move || {
                    let store = FileStore::new(&Env::real(), root);
                    let bytes = format!("{who}");
                    if store.create(name, bytes.as_bytes()).unwrap() == Created::Made {
                        made.fetch_add(1, Ordering::Relaxed);
                        assert_eq!(store.get(name).unwrap(), bytes.as_bytes());
                    }
                });
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), before + 1, "round {round}");
    }
}

/// Answers that a server gives, one per request; what it was asked.
struct Script {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Script {
    /// `answer` none: the connection is cut.
    fn start(answers: Vec<Option<(u16, &'static str)>>) -> Script {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let told = asked.clone();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                told.lock().unwrap().push(read_request(&mut stream));
                if let Some((status, body)) = answer {
                    let text = format!(
                        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                        body.len()
                    );
                    stream.write_all(text.as_bytes()).unwrap();
                }
            }
        });
        Script { port, asked }
    }

    fn store(&self, patience: Duration) -> Arc<dyn ObjectStore> {
        s3(&format!("http://127.0.0.1:{}", self.port), patience)
    }

    /// Method and whether it was conditional, of each request.
    fn asked(&self) -> Vec<(String, bool)> {
        let asked = self.asked.lock().unwrap();
        let word = |text: &String| text.split(' ').next().unwrap().to_owned();
        asked.iter().map(|text| (word(text), text.to_lowercase().contains("if-none-match: *"))).collect()
    }
}

fn read_request(stream: &mut TcpStream) -> String {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut buffer).unwrap();
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            return text;
        }
    }
}

const PATIENT: Duration = Duration::from_secs(20);

#[test]
fn what_is_unknown_is_found_out() {
    let put = || ("PUT".to_owned(), true);
    let get = || ("GET".to_owned(), false);
    // It was created, and the answer was an error: the object is its own.
    let script = Script::start(vec![Some((500, "")), Some((200, "mine"))]);
    assert_eq!(script.store(PATIENT).create("a", b"mine").unwrap(), Created::Made);
    assert_eq!(script.asked(), [put(), get()]);
    // No answer came, and it is another's.
    let script = Script::start(vec![None, Some((200, "another's"))]);
    assert_eq!(script.store(PATIENT).create("a", b"mine").unwrap(), Created::Exists);
    // A conflict of two at the same moment, of which none is there: it is created again.
    let script = Script::start(vec![Some((409, "")), Some((404, "")), Some((200, ""))]);
    assert_eq!(script.store(PATIENT).create("a", b"mine").unwrap(), Created::Made);
    assert_eq!(script.asked(), [put(), get(), put()]);
    // It was created by the first of its own tries.
    let script = Script::start(vec![None, Some((503, "")), Some((412, "")), Some((200, "mine"))]);
    assert_eq!(script.store(PATIENT).create("a", b"mine").unwrap(), Created::Made);
}

#[test]
fn trouble_is_waited_for_and_refusals_are_not() {
    let script = Script::start(vec![Some((503, "")), Some((429, "")), None, Some((200, "here"))]);
    assert_eq!(script.store(PATIENT).get("a").unwrap(), b"here");
    assert_eq!(script.asked().len(), 4);
    let body = "<Error><Code>AccessDenied</Code><Message>no</Message></Error>";
    let script = Script::start(vec![Some((403, body))]);
    let refused = script.store(PATIENT).put("a", b"x").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    let text = refused.to_string();
    assert!(text.contains("AccessDenied: no") && text.contains("s3://shop/of/weft"), "{text}");
    assert!(!text.contains("hush") && !text.contains("Signature"), "{text}");
    // Patience ends.
    let script = Script::start(vec![Some((503, "")); 50]);
    let ended = script.store(Duration::from_millis(300)).get("a").unwrap_err();
    assert_eq!(ended.kind(), ErrorKind::TimedOut, "{ended}");
    assert!(ended.to_string().contains("503"), "{ended}");
}

#[test]
fn a_store_without_conditions_is_noticed() {
    let script = Script::start(vec![Some((200, "")), Some((200, "")), Some((204, ""))]);
    let refused = probe(&Env::real(), &*script.store(PATIENT)).unwrap_err();
    assert_eq!(refused.code(), Code::FeatureNotSupported);
    assert!(refused.message().contains("second"), "{refused}");
}

#[test]
fn wrong_places_are_refused() {
    for url in ["file://relative", "gs://bucket", "s3://"] {
        let refused = open(&Env::real(), url, PATIENT).err().unwrap();
        assert_eq!(refused.code(), Code::InvalidParameterValue, "{url}");
    }
}
