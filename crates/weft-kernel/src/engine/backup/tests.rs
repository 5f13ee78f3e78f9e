//! Backups and restores of real files, by hand.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_env::Env;
use weft_format::{Code, Error};

use super::{backups, check_backup, restore};

use crate::Engine;
use crate::testing::{Scratch, by_hand, create, get, open_with, put};

mod objects;

fn open(dir: &Path) -> Arc<Engine> {
    open_with(Env::real(), dir, by_hand()).unwrap()
}

struct Place {
    scratch: Scratch,
}

impl Place {
    fn new(name: &str) -> Place {
        Place { scratch: Scratch::new(name) }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn names(&self, name: &str) -> Vec<String> {
        Env::real().fs.list(&self.at(name)).unwrap()
    }
}

/// The values of keys 0 to 99 of table t.
fn values(engine: &Arc<Engine>) -> Vec<Option<i64>> {
    let txn = engine.begin().unwrap();
    let table = txn.table("t").unwrap();
    (0..100).map(|k| get(&txn, &table, k)).collect()
}

fn filled(place: &Place) -> Arc<Engine> {
    let engine = open(&place.at("db"));
    create(&engine, &["t"]).unwrap();
    for k in 0..50 {
        put(&engine, "t", k, k).unwrap();
    }
    engine.checkpoint().unwrap();
    for k in 40..60 {
        put(&engine, "t", k, 1000 + k).unwrap();
    }
    engine
}

#[test]
fn each_backup_restores_to_its_own_moment() {
    let place = Place::new("backup-moments");
    let engine = filled(&place);
    let first_values = values(&engine);
    let first = engine.backup(&place.at("copies"), None).unwrap();
    assert_eq!((first.number, first.reused_bytes, first.timestamp), (1, 0, engine.published()));

    put(&engine, "t", 3, 33).unwrap();
    let second_values = values(&engine);
    let second = engine.backup(&place.at("copies"), None).unwrap();
    assert_eq!((second.number, second.timestamp), (2, engine.published()));
    assert!(second.reused_bytes > 0, "the files of the checkpoint were copied before: {second:?}");
    // Merged or dropped since: the backups do not care.
    engine.checkpoint().unwrap();
    put(&engine, "t", 4, 44).unwrap();
    drop(engine);

    let env = Env::real();
    assert_eq!(backups(&env, &place.at("copies")).unwrap().len(), 2);
    for (number, expected) in [(Some(1), &first_values), (Some(2), &second_values), (None, &second_values)] {
        let dir = place.at(&format!("restored-{number:?}"));
        restore(&env, &place.at("copies"), &dir, number).unwrap();
        let restored = open(&dir);
        assert_eq!(&values(&restored), expected);
        assert_eq!(restored.check().unwrap(), Vec::<String>::new());
        put(&restored, "t", 99, 1).unwrap();
        restored.close().unwrap();
        assert_eq!(values(&open(&dir))[99], Some(1));
    }
}

#[test]
fn a_restored_database_backs_up_beside_the_one_it_came_from() {
    let place = Place::new("backup-diverged");
    let engine = filled(&place);
    let env = Env::real();
    engine.backup(&place.at("copies"), None).unwrap();
    restore(&env, &place.at("copies"), &place.at("other"), None).unwrap();
    let other = open(&place.at("other"));
    // Both go on and give the same numbers to different files.
    for k in 60..80 {
        put(&engine, "t", k, 1).unwrap();
        put(&other, "t", k, 2).unwrap();
    }
    engine.checkpoint().unwrap();
    other.checkpoint().unwrap();
    engine.backup(&place.at("copies"), None).unwrap();
    other.backup(&place.at("copies"), None).unwrap();
    for (number, expected) in [(2, values(&engine)), (3, values(&other))] {
        let dir = place.at(&format!("restored-{number}"));
        restore(&env, &place.at("copies"), &dir, Some(number)).unwrap();
        assert_eq!(values(&open(&dir)), expected);
    }
}

#[test]
fn what_an_unfinished_backup_left_is_not_taken_for_one_and_goes() {
    let place = Place::new("backup-unfinished");
    let engine = filled(&place);
    engine.backup(&place.at("copies"), None).unwrap();
    let good = place.names("copies");
    for name in ["backup-2.tmp", "manifest-2", "t1-900-17-0badcafe.data", "log-0000000000000000-0badcafe-700"] {
        std::fs::write(place.at("copies").join(name), b"half").unwrap();
    }
    let env = Env::real();
    assert_eq!(backups(&env, &place.at("copies")).unwrap().len(), 1);
    assert_eq!(engine.backup(&place.at("copies"), None).unwrap().number, 2);
    let mut names = place.names("copies");
    names.retain(|name| !good.contains(name));
    assert!(names.iter().all(|name| !name.contains("0badcafe") && !name.ends_with(".tmp")), "{names:?}");
    assert_eq!(check_backup(&env, &place.at("copies"), Some(1)).unwrap().number, 1);
}

#[test]
fn files_wait_for_the_end_of_a_backup_that_needs_them() {
    let place = Place::new("backup-pins");
    let engine = filled(&place);
    let pin = engine.core.services.files.pin();
    let count = |place: &Place| place.names("db").iter().filter(|name| name.ends_with(".data")).count();
    let before = count(&place);
    for round in 0..3 {
        put(&engine, "t", 1, round).unwrap();
        engine.checkpoint().unwrap();
    }
    let waiting = engine.core.services.files.waiting_count();
    assert!(waiting > 0 && count(&place) > before);
    drop(pin);
    assert_eq!(engine.core.services.files.waiting_count(), 0);
    assert_eq!(count(&place), engine.core.manifest.files().len());
}

#[test]
fn places_that_are_not_for_it_are_refused() {
    let place = Place::new("backup-refused");
    let engine = filled(&place);
    let env = Env::real();
    let code = |result: Result<(), Error>| result.unwrap_err().code();
    let back_up = |dest: &str| engine.backup(&place.at(dest), None).map(|_| ());
    assert_eq!(code(back_up("db")), Code::InvalidParameterValue);
    std::fs::create_dir(place.at("home")).unwrap();
    std::fs::write(place.at("home").join("thesis.txt"), b"dear").unwrap();
    assert_eq!(code(back_up("home")), Code::InvalidParameterValue);
    back_up("copies").unwrap();
    let restore_to = |dir: &str, number| restore(&env, &place.at("copies"), &place.at(dir), number).map(|_| ());
    assert_eq!(code(restore_to("home", None)), Code::InvalidParameterValue);
    assert_eq!(code(restore_to("db", None)), Code::InvalidParameterValue);
    assert_eq!(code(restore_to("new", Some(7))), Code::UndefinedObject);
    assert_eq!(code(restore(&env, &place.at("home"), &place.at("new"), None).map(|_| ())), Code::UndefinedObject);
    assert_eq!(place.names("home"), ["thesis.txt"]);
    let cancel = crate::CancelToken::new();
    cancel.cancel();
    assert_eq!(engine.backup(&place.at("cancelled"), Some(&cancel)).unwrap_err().code(), Code::QueryCanceled);
    assert_eq!(place.names("cancelled"), ["LOCK"]);
}

#[test]
fn every_damaged_byte_is_noticed() {
    let place = Place::new("backup-damage");
    let engine = filled(&place);
    let copies = place.at("copies");
    engine.backup(&copies, None).unwrap();
    let env = Env::real();
    let mut number = 0;
    for name in place.names("copies").iter().filter(|name| *name != "LOCK") {
        let path = copies.join(name);
        let whole = std::fs::read(&path).unwrap();
        let step = if whole.len() > 2000 { 37 } else { 1 };
        for at in (0..whole.len()).step_by(step) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&path, &bytes).unwrap();
            let checked = check_backup(&env, &copies, None);
            assert!(checked.is_err(), "byte {at} of {name} is damaged and nobody noticed");
            if at % (7 * step) == 0 {
                number += 1;
                let dir = place.at(&format!("restored-{number}"));
                let error = restore(&env, &copies, &dir, None).unwrap_err();
                assert!(matches!(error.code(), Code::DataCorrupted | Code::VersionMismatch), "{error}");
                assert!(!dir.join("CURRENT").exists(), "what is left is no database");
            }
        }
        for cut in [whole.len() - 1, whole.len() / 2, 0] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(check_backup(&env, &copies, None).is_err(), "{name} was cut to {cut} bytes and nobody noticed");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(check_backup(&env, &copies, None).is_err(), "{name} is missing and nobody noticed");
        std::fs::write(&path, &whole).unwrap();
    }
    check_backup(&env, &copies, None).unwrap();
}
