//! Who goes on with an archive, and who does not.

use super::*;

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => copy_dir(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

fn refused(engine: &Arc<Engine>, bench: &Bench) {
    let error = Archive::start(engine, bench.store(), quick()).err().expect("it is refused");
    assert_eq!(error.code(), Code::InvalidParameterValue, "{error}");
    assert!(error.hint_text().is_some(), "{error}");
}

#[test]
pub(super) fn who_was_taken_over_ships_and_commits_nothing_more() {
    let bench = Bench::new();
    let first = bench.open("first");
    let shipping = bench.archive(&first, quick());
    (0..20).for_each(|k| put(&first, k, k).unwrap());
    shipped(&first, &shipping);
    let (_, second) = bench.restored("second");
    let taking = bench.archive(&second, quick());
    assert_eq!(taking.status().fence, 2);
    // It notices at its next piece at the latest, and what it shipped then does not count.
    let mut acknowledged = 0;
    until("the first one stops", || {
        acknowledged += i64::from(put(&first, 30, acknowledged).is_ok());
        shipping.lost().is_some()
    });
    assert_eq!(put(&first, 31, 31).unwrap_err().code(), Code::Poisoned);
    assert!(first.begin().unwrap().table("column").is_ok(), "it is read as before");
    put(&second, 40, 40).unwrap();
    shipped(&second, &taking);
    let (restored, third) = bench.restored("third");
    assert_eq!(all(&third), all(&second), "{restored:?}");
    // The first directory is behind for good.
    drop((shipping, first));
    let first = bench.open("first");
    refused(&first, &bench);
}

#[test]
pub(super) fn directories_that_were_copied_or_put_back_are_refused() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, quick());
    (0..10).for_each(|k| put(&engine, k, k).unwrap());
    shipped(&engine, &archive);
    archive.stop();
    engine.close().unwrap();
    drop((archive, engine));
    copy_dir(&bench.at("db"), &bench.at("put back"));
    copy_dir(&bench.at("db"), &bench.at("diverged"));
    copy_dir(&bench.at("db"), &bench.at("without a note"));
    std::fs::remove_file(bench.at("without a note").join(NOTE_FILE)).unwrap();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, quick());
    (10..20).for_each(|k| put(&engine, k, k).unwrap());
    shipped(&engine, &archive);
    archive.stop();
    for name in ["put back", "diverged", "without a note"] {
        let other = bench.open(name);
        if name == "diverged" {
            // As much log, or more, and another one.
            (0..50).for_each(|k| put(&other, k, -k).unwrap());
        }
        refused(&other, &bench);
        put(&other, 1, 1).unwrap();
    }
    assert_eq!(bench.names("fence-").len(), 2, "who is refused keeps nobody out");
    drop(archive);
    // Who has everything goes on.
    let archive = bench.archive(&engine, quick());
    put(&engine, 50, 50).unwrap();
    shipped(&engine, &archive);
}

#[test]
fn another_database_does_not_go_into_an_archive() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, quick());
    shipped(&engine, &archive);
    let other = bench.open("other");
    refused(&other, &bench);
}

/// A machine that crashes behind a piece has not noted it: its own log has it, byte for byte.
#[test]
fn what_was_shipped_and_not_noted_is_found_in_the_log() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, quick());
    (0..10).for_each(|k| put(&engine, k, k).unwrap());
    shipped(&engine, &archive);
    let note = std::fs::read(bench.at("db").join(NOTE_FILE)).unwrap();
    (10..20).for_each(|k| put(&engine, k, k).unwrap());
    shipped(&engine, &archive);
    archive.stop();
    drop((archive, engine));
    std::fs::write(bench.at("db").join(NOTE_FILE), note).unwrap();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, quick());
    put(&engine, 30, 30).unwrap();
    shipped(&engine, &archive);
    let (restored, copy) = bench.restored("copy");
    assert_eq!(all(&copy), all(&engine), "{restored:?}");
    assert_eq!(restored.backup, 1, "no new base was needed");
}

/// Both claim: the one whose fence is the last goes on, the other one stops.
#[test]
fn of_two_who_claim_one_goes_on() {
    let bench = Bench::new();
    let engine = bench.open("db");
    let archive = bench.archive(&engine, quick());
    (0..10).for_each(|k| put(&engine, k, k).unwrap());
    shipped(&engine, &archive);
    archive.stop();
    engine.close().unwrap();
    let (_, one) = bench.restored("one");
    let (_, other) = bench.restored("other");
    let first = bench.archive(&one, quick());
    put(&one, 20, 20).unwrap();
    shipped(&one, &first);
    refused(&other, &bench);
    let (_, late) = bench.restored("late");
    let second = bench.archive(&late, quick());
    until("one is left", || {
        let _ = put(&one, 21, 21);
        first.lost().is_some()
    });
    put(&late, 22, 22).unwrap();
    shipped(&late, &second);
    assert!(second.lost().is_none());
    let (restored, copy) = bench.restored("copy");
    assert_eq!(all(&copy), all(&late), "{restored:?}");
}
