use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::{Env, File, Handles};
use weft_format::{Code, FileId, TableId};

use super::{DataFile, Files};
use crate::testing::Scratch;

const OWNER: TableId = TableId(5);

fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    std::fs::create_dir_all(scratch.path()).unwrap();
    scratch
}

/// A directory's files, and the number of the file that went last.
fn files(scratch: &Scratch) -> (Files, Arc<AtomicU64>) {
    let (env, gone) = (Env::real(), Arc::new(AtomicU64::new(0)));
    let (handles, told) = (Handles::new(env.fs.clone(), 4), gone.clone());
    let forget = Box::new(move |file: FileId| told.store(file.0, Ordering::Relaxed));
    (Files::new(&env, scratch.path(), handles, forget, None), gone)
}

fn names(scratch: &Scratch) -> Vec<String> {
    Env::real().fs.list(scratch.path()).unwrap()
}

fn sealed(files: &Files, bytes: &[u8]) -> DataFile {
    let mut file = files.create(OWNER).unwrap();
    file.append(bytes).unwrap();
    file.seal().unwrap()
}

fn read(file: &dyn File) -> Vec<u8> {
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

#[test]
fn a_file_is_written_sealed_and_opened_again() {
    let scratch = scratch("files-written");
    let (files, _) = files(&scratch);
    let mut file = files.create(OWNER).unwrap();
    file.append(b"one ").unwrap();
    file.append(b"two").unwrap();
    assert_eq!((file.number(), file.bytes()), (FileId(1), 7));
    let file = file.finish();
    let reader = file.reader();
    assert_eq!(read(&*reader), b"one two", "it is read before it is sealed");
    file.seal().unwrap();
    file.seal().unwrap();
    files.sync_names().unwrap();
    assert_eq!(read(&*reader), b"one two", "and afterwards");
    for refused in [reader.write_at(b"x", 0), reader.set_len(0), reader.sync_data()] {
        assert!(refused.unwrap_err().to_string().contains("read only"));
    }
    drop((file, reader));
    assert_eq!(names(&scratch), ["t5-1.data"], "who lets go of a sealed file keeps it (data file 1)");
    assert_eq!(read(&*files.open(OWNER, FileId(1)).unwrap().reader()), b"one two");
    assert_eq!(files.list().unwrap(), [(OWNER, FileId(1))]);
    let missing = files.open(OWNER, FileId(2)).err().unwrap();
    assert!(missing.message().contains("t5-2.data") && missing.hint_text().is_some(), "{missing}");
}

#[test]
fn a_file_that_is_not_sealed_goes_with_who_writes_it() {
    let scratch = scratch("files-unfinished");
    let (files, gone) = files(&scratch);
    drop(files.create(OWNER).unwrap());
    assert!(names(&scratch).is_empty());
    let mut second = files.create(OWNER).unwrap();
    second.append(b"abc").unwrap();
    drop(second.finish());
    assert_eq!((names(&scratch).len(), gone.load(Ordering::Relaxed)), (0, 2));
}

#[test]
fn a_file_goes_with_the_last_of_its_parts_and_readers() {
    let scratch = scratch("files-shared");
    let (files, gone) = files(&scratch);
    let first = sealed(&files, b"abcdef");
    let (second, reader) = (first.share(), first.reader());
    first.retire();
    drop(first);
    assert_eq!(names(&scratch).len(), 1, "another part lies in it");
    second.retire();
    drop(second);
    assert_eq!(read(&*reader), b"abcdef", "somebody reads it");
    assert_eq!((names(&scratch).len(), gone.load(Ordering::Relaxed)), (1, 0));
    drop(reader);
    assert_eq!((names(&scratch).len(), gone.load(Ordering::Relaxed)), (0, 1));

    let first = sealed(&files, b"abcdef");
    let second = first.share();
    drop(first);
    second.retire();
    drop(second);
    assert_eq!(names(&scratch), ["t5-2.data"], "one part was let go that was not retired");
}

#[test]
fn a_pinned_file_waits() {
    let scratch = scratch("files-pinned");
    let (files, _) = files(&scratch);
    let (first, second) = (sealed(&files, b"1"), sealed(&files, b"2"));
    let pin = files.pin();
    for file in [first, second] {
        file.retire();
    }
    assert_eq!((names(&scratch).len(), files.waiting_count()), (2, 2));
    pin.narrow([FileId(2)].into());
    assert_eq!(names(&scratch), ["t5-2.data"]);
    drop(pin);
    assert_eq!((names(&scratch).len(), files.waiting_count()), (0, 0));
}

#[test]
fn numbers_go_on_behind_what_was_named_and_what_is_there() {
    let scratch = scratch("files-numbers");
    std::fs::write(scratch.path().join("t9-17.data"), b"left").unwrap();
    std::fs::write(scratch.path().join("t9-40.data.tmp"), b"none of ours").unwrap();
    let (files, _) = files(&scratch);
    let found = files.number_behind(FileId(12)).unwrap();
    // A successor's, which has come meanwhile, and one that somebody made late under the number that comes next.
    for name in ["t9-99.data", &format!("t{}-18.data", OWNER.0)] {
        std::fs::write(scratch.path().join(name), b"not found").unwrap();
    }
    files.remove_orphans(found, &Default::default()).unwrap();
    assert_eq!(names(&scratch).len(), 3, "{:?}", names(&scratch));
    assert_eq!(files.create(OWNER).unwrap().number(), FileId(19), "a number is given once (files 1)");
}

/// Another engine may have opened the directory when the last reader of a file lets go: by then a file of that name
/// would be its file.
#[test]
fn nothing_is_removed_or_made_once_the_directory_was_let_go() {
    let scratch = scratch("files-let-go");
    let (files, gone) = files(&scratch);
    let (retired, unfinished) = (sealed(&files, b"1"), files.create(OWNER).unwrap());
    let pin = files.pin();
    retired.retire();
    files.let_go();
    drop(retired);
    drop(unfinished);
    drop(pin);
    assert_eq!(names(&scratch), ["t5-1.data", "t5-2.data"]);
    assert_eq!(gone.load(Ordering::Relaxed), 2, "the blocks of it go all the same");
    assert_eq!(files.create(OWNER).err().unwrap().code(), Code::ShuttingDown);
    assert_eq!(read(&*files.open(OWNER, FileId(1)).unwrap().reader()), b"1", "who still reads may");
}

#[test]
fn who_follows_makes_and_removes_no_file() {
    let scratch = scratch("files-followed");
    let (writer, _) = files(&scratch);
    let file = sealed(&writer, b"1");
    let (env, dir): (Env, &Path) = (Env::real(), scratch.path());
    let follower = Files::of_another(&env, dir, Handles::new(env.fs.clone(), 4), Box::new(|_| ()));
    let followed = follower.open(OWNER, file.number()).unwrap();
    followed.retire();
    drop(followed);
    follower.remove(OWNER, file.number());
    assert_eq!(names(&scratch), ["t5-1.data"]);
    assert!(follower.create(OWNER).is_err());
}
