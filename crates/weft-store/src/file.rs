//! A directory as a store: each object is a file, written aside, synced and renamed.
//!
//! ```text
//!   DIR/.aside/5e0a21bc-17     being written: in no list, removed by nobody but who writes it
//!   DIR/backup-3               an object;   DIR/t5-12.data/0   one whose name has a folder
//! ```
//!
//! 1. A name appears when all bytes of its object are durable, and the name itself before `put` and `create` return.
//! 2. `create` renames where nothing is: of all who create a name one succeeds, on whichever machine.
//! 3. A folder goes with its last object. Nobody puts another one there at that moment: in an archive whose objects go,
//!    and among backups, each folder has one writer, who has ended.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::sync::Mutex;
use weft_env::{Created, Env, OBJECT_BYTES_MAX, ObjectStore, OpenMode};

use crate::names::check;

/// The folder of what is being written.
const ASIDE: &str = ".aside";
/// So many names in a page of a list.
const PAGE: usize = 1000;

/// A directory that behaves like a store of objects. It is made by the first object.
pub struct FileStore {
    env: Env,
    root: PathBuf,
    place: String,
    /// Names of what this one writes aside: a random number, and a count.
    salt: u64,
    count: AtomicU64,
    /// Folders that are there for good.
    durable: Mutex<BTreeSet<PathBuf>>,
}

impl FileStore {
    /// The store in a directory.
    pub fn new(env: &Env, root: &Path) -> FileStore {
        let place = format!("file://{}", root.display());
        FileStore {
            env: env.clone(),
            root: root.to_owned(),
            place,
            salt: env.rng.next_u64(),
            count: AtomicU64::new(0),
            durable: Mutex::default(),
        }
    }

    /// Writes an object aside and gives it its name by `named` (file 1).
    fn write(&self, name: &str, bytes: &[u8], named: impl Fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
        check(name)?;
        assert!(bytes.len() <= OBJECT_BYTES_MAX, "who has more makes several objects");
        let fs = &self.env.fs;
        let (path, aside) = (self.root.join(name), self.root.join(ASIDE));
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let written = aside.join(format!("{:016x}-{number}", self.salt));
        self.make_folders(&path)?;
        fs.create_dir_all(&aside)?;
        let file = fs.open(&written, OpenMode::CreateNew)?;
        let whole = file.write_at(bytes, 0).and_then(|()| file.sync_data());
        let done = whole.and_then(|()| named(&written, &path));
        if done.is_err() {
            let _ = fs.remove(&written);
        }
        done?;
        fs.sync_dir(path.parent().expect("an object lies in a folder"))
    }

    /// Makes the folder of an object, durably (file 1): also where an earlier try has made it and not synced it.
    fn make_folders(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().expect("an object lies in a folder");
        if self.durable.lock().contains(folder) {
            return Ok(());
        }
        let fs = &self.env.fs;
        if fs.exists(&self.root.join("CURRENT"))? {
            let what = format!("{} holds a database, not objects", self.root.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        // From the folder up to the first that was there before the root.
        let mut changed = Vec::new();
        for above in folder.ancestors().skip(1) {
            changed.push(above);
            let is_outside = !above.starts_with(&self.root);
            if above.as_os_str().is_empty() || is_outside && fs.exists(above)? {
                break;
            }
        }
        fs.create_dir_all(folder)?;
        changed.into_iter().rev().try_for_each(|above| fs.sync_dir(above))?;
        self.durable.lock().insert(folder.to_owned());
        Ok(())
    }

    /// Removes the folders of an object that has gone, those that are empty (file 3).
    fn remove_folders(&self, path: &Path) {
        for folder in path.ancestors().skip(1).take_while(|folder| *folder != self.root) {
            let mut durable = self.durable.lock();
            if self.env.fs.remove_dir(folder).is_err() {
                return;
            }
            durable.remove(folder);
        }
    }

    /// Adds the names below a folder to `found`.
    fn walk(&self, folder: &Path, above: &str, prefix: &str, found: &mut Vec<String>) -> io::Result<()> {
        for name in self.env.fs.list(folder)? {
            // Of another program, or being written.
            if check(&name).is_err() {
                continue;
            }
            let full = format!("{above}{name}");
            let inside = format!("{full}/");
            let leads_there = inside.starts_with(prefix) || prefix.starts_with(&inside);
            if !leads_there && !full.starts_with(prefix) {
                continue;
            }
            match self.walk(&folder.join(&name), &inside, prefix, found) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                    if full.starts_with(prefix) {
                        found.push(full);
                    }
                }
                // It went while this looked; or it is of a file system, as lost+found.
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl ObjectStore for FileStore {
    fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        check(name)?;
        let file = self.env.fs.open(&self.root.join(name), OpenMode::Read)?;
        let length = file.len()?;
        if length > OBJECT_BYTES_MAX as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name} has {length} bytes: no object")));
        }
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write(name, bytes, |written, path| self.env.fs.rename(written, path))
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<Created> {
        match self.write(name, bytes, |written, path| self.env.fs.rename_new(written, path)) {
            Ok(()) => Ok(Created::Made),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // An earlier try of the same bytes may have ended between the name and its sync.
                if self.get(name)? != bytes {
                    return Ok(Created::Exists);
                }
                self.env.fs.sync_dir(self.root.join(name).parent().expect("an object lies in a folder"))?;
                Ok(Created::Made)
            }
            Err(error) => Err(error),
        }
    }

    fn list(&self, prefix: &str, after: &str) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        match self.walk(&self.root, "", prefix, &mut found) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        found.retain(|name| name.as_str() > after);
        found.sort_unstable();
        found.truncate(PAGE);
        Ok(found)
    }

    fn delete(&self, names: &[String]) -> io::Result<()> {
        for name in names {
            check(name)?;
            match self.env.fs.remove(&self.root.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            self.remove_folders(&self.root.join(name));
        }
        Ok(())
    }

    fn place(&self) -> &str {
        &self.place
    }
}
