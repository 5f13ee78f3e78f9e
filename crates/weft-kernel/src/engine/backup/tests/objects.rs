//! Backups in a store of objects.

use std::collections::BTreeMap;
use std::io;

use weft_env::sync::Mutex;
use weft_env::{Created, ObjectStore};

use super::*;
use crate::engine::backup::list::Entry;
use crate::engine::backup::objects::ObjectShelf;
use crate::engine::backup::shelf::Shelf;
use crate::engine::backup::{Backup, BackupPlace};

/// Called before an operation on an object.
type Before = Box<dyn Fn(&str, &str) -> io::Result<()> + Send + Sync>;

/// A store in memory, in whose way a test may stand.
struct Memory {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    before: Mutex<Option<Arc<Before>>>,
    /// Names that lists do not tell of yet.
    late: Mutex<Vec<String>>,
}

impl Memory {
    fn new() -> Arc<Memory> {
        Arc::new(Memory { objects: Mutex::default(), before: Mutex::new(None), late: Mutex::default() })
    }

    fn place(self: &Arc<Memory>) -> BackupPlace {
        BackupPlace::Objects(self.clone())
    }

    fn before(&self, before: impl Fn(&str, &str) -> io::Result<()> + Send + Sync + 'static) {
        *self.before.lock() = Some(Arc::new(Box::new(before)));
    }

    fn reached(&self, operation: &str, name: &str) -> io::Result<()> {
        let before = self.before.lock().clone();
        before.map_or(Ok(()), |before| before(operation, name))
    }

    fn names(&self) -> Vec<String> {
        self.objects.lock().keys().cloned().collect()
    }
}

impl ObjectStore for Memory {
    fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        self.reached("get", name)?;
        self.objects.lock().get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.reached("put", name)?;
        self.objects.lock().insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<Created> {
        self.reached("create", name)?;
        let mut objects = self.objects.lock();
        if objects.contains_key(name) {
            return Ok(Created::Exists);
        }
        objects.insert(name.to_owned(), bytes.to_vec());
        Ok(Created::Made)
    }

    fn list(&self, prefix: &str, after: &str) -> io::Result<Vec<String>> {
        self.reached("list", prefix)?;
        let late = self.late.lock();
        let names = self.names().into_iter();
        let told = names.filter(|name| name.starts_with(prefix) && name.as_str() > after && !late.contains(name));
        // A small page: so that there are several.
        Ok(told.take(3).collect())
    }

    fn delete(&self, names: &[String]) -> io::Result<()> {
        names.iter().for_each(|name| drop(self.objects.lock().remove(name)));
        Ok(())
    }

    fn place(&self) -> &str {
        "memory"
    }
}

/// Every good backup is whole, and is restored to these values.
fn check_all(place: &Place, store: &Arc<Memory>, expected: &[(u64, Vec<Option<i64>>)]) {
    let env = Env::real();
    let numbers: Vec<u64> = backups(&env, store.place()).unwrap().iter().map(|backup| backup.number).collect();
    assert_eq!(numbers, expected.iter().map(|(number, _)| *number).collect::<Vec<u64>>());
    for (number, values_then) in expected {
        assert_eq!(check_backup(&env, store.place(), Some(*number)).unwrap().number, *number);
        let dir = place.at(&format!("restored-{number}-{:x}", env.rng.next_u64()));
        restore(&env, store.place(), &dir, Some(*number)).unwrap();
        let restored = open(&dir);
        assert_eq!(&values(&restored), values_then, "backup {number}");
        assert_eq!(restored.check().unwrap(), Vec::<String>::new());
    }
}

#[test]
fn each_backup_in_a_store_restores_to_its_own_moment() {
    let (place, store) = (Place::new("objects-moments"), Memory::new());
    let engine = filled(&place);
    let first_values = values(&engine);
    let first = engine.backup(store.place(), None).unwrap();
    assert_eq!((first.number, first.reused_bytes, first.timestamp), (1, 0, engine.published()));
    put(&engine, "t", 3, 33).unwrap();
    let second_values = values(&engine);
    let before = store.names();
    let second = engine.backup(store.place(), None).unwrap();
    assert_eq!((second.number, second.timestamp), (2, engine.published()));
    assert!(second.reused_bytes > 0, "the files of the checkpoint were put before: {second:?}");
    let after = store.names();
    assert!(before.iter().all(|name| after.contains(name)), "nothing that a good list names goes");
    check_all(&place, &store, &[(1, first_values), (2, second_values.clone())]);
    // A person removes the first; what it alone had goes with a backup after the next.
    store.delete(&["backup-1".into()]).unwrap();
    engine.checkpoint().unwrap();
    engine.backup(store.place(), None).unwrap();
    let of_first = |names: Vec<String>| names.iter().filter(|name| name.starts_with("1-")).count();
    assert!(of_first(store.names()) < of_first(after), "what no list names goes");
    check_all(&place, &store, &[(2, second_values.clone()), (3, second_values)]);
}

#[test]
fn of_two_backups_at_once_one_counts_and_the_other_says_so() {
    let (place, store) = (Place::new("objects-two"), Memory::new());
    let engine = filled(&place);
    let all = values(&engine);
    let (other, inner) = (engine.clone(), Arc::downgrade(&store));
    let is_first = Mutex::new(true);
    store.before(move |operation, _| {
        let store = inner.upgrade().unwrap();
        // Everything was put, and another one comes in between.
        if operation == "create" && std::mem::take(&mut *is_first.lock()) {
            assert_eq!(other.backup(BackupPlace::Objects(store), None).unwrap().number, 1);
        }
        Ok(())
    });
    let refused = engine.backup(store.place(), None).unwrap_err();
    assert_eq!(refused.code(), Code::CannotConnectNow, "{refused}");
    check_all(&place, &store, &[(1, all.clone())]);
    let attempts = |store: &Memory| {
        let names = store.names().into_iter().filter_map(|name| Some(name.split_once('/')?.0.to_owned()));
        names.collect::<std::collections::BTreeSet<String>>().len()
    };
    assert_eq!(attempts(&store), 1, "what the loser has put is gone");
    // Of one that died, something is left until the number after its own is taken.
    store.put("1-0badcafe/t1-900-17-0badcafe.data/0", b"left").unwrap();
    store.put("2-0badcafe/t1-900-17-0badcafe.data/0", b"left").unwrap();
    store.put("3-0badcafe/t1-900-17-0badcafe.data/0", b"under way").unwrap();
    engine.backup(store.place(), None).unwrap();
    engine.backup(store.place(), None).unwrap();
    let left: Vec<String> = store.names().into_iter().filter(|name| name.contains("0badcafe")).collect();
    assert_eq!(left, ["3-0badcafe/t1-900-17-0badcafe.data/0"]);
    check_all(&place, &store, &[(1, all.clone()), (2, all.clone()), (3, all)]);
}

/// Its list was made; before it looks whether somebody came in between, another backup shares what it has put.
#[test]
fn an_attempt_whose_list_was_made_keeps_what_a_later_backup_shares() {
    let (place, store) = (Place::new("objects-shared"), Memory::new());
    let engine = filled(&place);
    let all = values(&engine);
    let (other, inner) = (engine.clone(), Arc::downgrade(&store));
    let state = Mutex::new((false, false));
    store.before(move |operation, name| {
        let store = inner.upgrade().unwrap();
        let mut state = state.lock();
        if operation == "list" && state.0 && !std::mem::replace(&mut state.1, true) {
            drop(state);
            let before = store.before.lock().take();
            let made = other.backup(BackupPlace::Objects(store.clone()), None).unwrap();
            assert!(made.number == 2 && made.reused_bytes > 0, "{made:?}");
            *store.before.lock() = before;
            return Ok(());
        }
        state.0 |= operation == "create" && name == "backup-1";
        Ok(())
    });
    let refused = engine.backup(store.place(), None).unwrap_err();
    assert_eq!(refused.code(), Code::CannotConnectNow, "{refused}");
    *store.before.lock() = None;
    check_all(&place, &store, &[(2, all)]);
}

#[test]
fn commits_go_on_beside_it() {
    let (place, store) = (Place::new("objects-commits"), Memory::new());
    let engine = filled(&place);
    let all = values(&engine);
    let (other, count) = (engine.clone(), Mutex::new(0));
    store.before(move |_, _| {
        *count.lock() += 1;
        put(&other, "t", 90, *count.lock()).unwrap();
        Ok(())
    });
    let made = engine.backup(store.place(), None).unwrap();
    *store.before.lock() = None;
    assert!(engine.published() > made.timestamp, "there were commits after it");
    let dir = place.at("restored");
    restore(&Env::real(), store.place(), &dir, None).unwrap();
    let restored = values(&open(&dir));
    assert_eq!(restored[..90], all[..90]);
    assert!(restored[90].is_some(), "commits of before its end are in it");
}

#[test]
fn an_attempt_that_sleeps_while_its_number_is_taken_and_removed_does_not_count() {
    let (place, store) = (Place::new("objects-sleeps"), Memory::new());
    let engine = filled(&place);
    let all = values(&engine);
    // Before it looks, and between its look and the creation.
    for sleeps_at in ["list", "create"] {
        let (other, inner) = (engine.clone(), Arc::downgrade(&store));
        let state = Mutex::new((false, false));
        store.before(move |operation, name| {
            let store = inner.upgrade().unwrap();
            let mut state = state.lock();
            state.0 |= name.contains("manifest");
            if operation != sleeps_at || !state.0 || std::mem::replace(&mut state.1, true) {
                return Ok(());
            }
            drop(state);
            let before = store.before.lock().take();
            let first = other.backup(BackupPlace::Objects(store.clone()), None).unwrap().number;
            other.backup(BackupPlace::Objects(store.clone()), None).unwrap();
            store.delete(&[format!("backup-{first}")]).unwrap();
            *store.before.lock() = before;
            Ok(())
        });
        let refused = engine.backup(store.place(), None).unwrap_err();
        assert_eq!(refused.code(), Code::CannotConnectNow, "{sleeps_at}: {refused}");
        *store.before.lock() = None;
    }
    check_all(&place, &store, &[(2, all.clone()), (4, all)]);
}

#[test]
fn a_list_that_is_late_at_the_beginning_or_the_end_loses_nothing() {
    let (place, store) = (Place::new("objects-later"), Memory::new());
    let engine = filled(&place);
    let mut expected = Vec::new();
    for number in 1..=3 {
        put(&engine, "t", 80, number).unwrap();
        engine.checkpoint().unwrap();
        expected.push((number.cast_unsigned(), values(&engine)));
        engine.backup(store.place(), None).unwrap();
    }
    for late in ["backup-1", "backup-2"] {
        for comes_at_the_end in [false, true] {
            store.late.lock().push(late.into());
            let inner = Arc::downgrade(&store);
            store.before(move |operation, _| {
                if operation == "create" && comes_at_the_end {
                    inner.upgrade().unwrap().late.lock().clear();
                }
                Ok(())
            });
            let number = engine.backup(store.place(), None).unwrap().number;
            *store.before.lock() = None;
            store.late.lock().clear();
            expected.push((number, values(&engine)));
            check_all(&place, &store, &expected);
        }
    }
}

#[test]
fn a_list_that_is_late_loses_nothing() {
    let (place, store) = (Place::new("objects-late"), Memory::new());
    let engine = filled(&place);
    let all = values(&engine);
    engine.backup(store.place(), None).unwrap();
    engine.checkpoint().unwrap();
    engine.backup(store.place(), None).unwrap();
    // Nobody tells of the newest: it is found, and the next one is the third.
    store.late.lock().push("backup-2".into());
    assert_eq!(engine.backup(store.place(), None).unwrap().number, 3);
    // It is in the midst now, and nobody tells of it: what it names stays, though something else is left.
    store.put("1-0badcafe/t1-900-17-0badcafe.data/0", b"left").unwrap();
    for k in 0..3 {
        put(&engine, "t", 70 + k, k).unwrap();
        engine.checkpoint().unwrap();
    }
    let more = values(&engine);
    engine.backup(store.place(), None).unwrap();
    assert!(!store.names().iter().any(|name| name.contains("0badcafe")), "what is left goes");
    store.late.lock().clear();
    check_all(&place, &store, &[(1, all.clone()), (2, all.clone()), (3, all), (4, more)]);
}

#[test]
fn what_fails_is_no_backup_and_the_next_one_is() {
    let (place, store) = (Place::new("objects-fails"), Memory::new());
    let engine = filled(&place);
    for step in 0..400 {
        let count = Mutex::new(0);
        let at_list = Arc::new(Mutex::new(false));
        let noted = at_list.clone();
        store.before(move |operation, _| {
            let mut count = count.lock();
            *count += 1;
            *noted.lock() |= *count <= step + 1 && operation == "create";
            if *count > step { Err(io::Error::other("the network is gone")) } else { Ok(()) }
        });
        if let Ok(made) = engine.backup(store.place(), None) {
            assert!(made.number == 1 && step > 5, "it was tried at {step} places");
            *store.before.lock() = None;
            assert_eq!(engine.backup(store.place(), None).unwrap().number, 2);
            let all = values(&engine);
            return check_all(&place, &store, &[(1, all.clone()), (2, all)]);
        }
        *store.before.lock() = None;
        assert_eq!(backups(&Env::real(), store.place()).unwrap(), Vec::<Backup>::new(), "step {step}");
        // Where nobody knows whether it counts, or a later one may share what its list has named, that stays, and goes
        // behind the backup after the next.
        let left = store.names();
        assert!(*at_list.lock() || left.is_empty(), "step {step} leaves {left:?}");
        for _ in 0..2 {
            engine.backup(store.place(), None).unwrap();
        }
        assert!(left.iter().all(|name| !store.names().contains(name)), "step {step}: {:?}", store.names());
        store.objects.lock().clear();
    }
    panic!("it ends");
}

#[test]
fn damaged_and_missing_objects_are_noticed() {
    let (place, store) = (Place::new("objects-damage"), Memory::new());
    let engine = filled(&place);
    engine.backup(store.place(), None).unwrap();
    let env = Env::real();
    for name in store.names() {
        let whole = store.get(&name).unwrap();
        for damaged in [
            None,
            Some(whole[..whole.len() - 1].to_vec()),
            Some({
                let mut flipped = whole.clone();
                flipped[whole.len() / 2] ^= 1;
                flipped
            }),
        ] {
            let is_missing = damaged.is_none();
            match damaged {
                None => store.delete(std::slice::from_ref(&name)).unwrap(),
                Some(bytes) => store.put(&name, &bytes).unwrap(),
            }
            let wanted = if is_missing && name == "backup-1" { Code::UndefinedObject } else { Code::DataCorrupted };
            assert_eq!(check_backup(&env, store.place(), Some(1)).unwrap_err().code(), wanted, "{name}");
            let dir = place.at("new");
            assert_eq!(restore(&env, store.place(), &dir, Some(1)).unwrap_err().code(), wanted, "{name}");
            assert!(!dir.join("CURRENT").exists(), "{name}");
            store.put(&name, &whole).unwrap();
        }
    }
    check_all(&place, &store, &[(1, values(&engine))]);
}

#[test]
fn large_files_travel_in_pieces() {
    let (place, store) = (Place::new("objects-large"), Memory::new());
    let bytes: Vec<u8> = (0..2_500_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    std::fs::create_dir_all(place.at("")).unwrap();
    std::fs::write(place.at("source"), &bytes).unwrap();
    let shelf = ObjectShelf::new(&Env::real(), store.clone());
    let mut taken = shelf.begin().unwrap();
    let stored = taken.name("t1-2.data", 7);
    let checksum = taken.put_file(&place.at("source"), &stored, bytes.len() as u64, &|| Ok(())).unwrap();
    assert_eq!(checksum, crc32c::crc32c(&bytes));
    taken
        .finish(
            &Backup { number: 7, parent: None, begun_micros: 1, timestamp: weft_format::Timestamp(1), entries: vec![] },
            &|| Ok(()),
        )
        .unwrap();
    assert_eq!(store.names().len(), 1 + 3, "three pieces and the list: {:?}", store.names());
    let entry = Entry { name: "t1-2.data".into(), stored, bytes: bytes.len() as u64, checksum };
    assert_eq!(shelf.fetch(&entry, &place.at("copy")).unwrap(), checksum);
    assert_eq!(std::fs::read(place.at("copy")).unwrap(), bytes);
    assert!(taken.has(&entry).unwrap());
    store.delete(&[format!("{}/2", entry.stored)]).unwrap();
    assert!(shelf.begin().unwrap().has(&entry).is_ok_and(|has| !has), "a piece is missing");
}
