//! Who may write a directory: the writer whose file is there.
//!
//! ```text
//!   WRITER-6      the sixth opening writes it: "6 pid 4711"
//!   7 opens       renames WRITER-6 to WRITER-7, then reads the log
//!   6 commits     writes its block ─▶ fdatasync ─▶ is WRITER-6 there? no ─▶ tells nobody that it is durable, and stops
//! ```
//!
//! The lock of the directory keeps a second writer out, where it works. This holds where it does not: between machines,
//! or when somebody took the lock from a writer that hangs. The number is the epoch of the log.
//!
//! 1. One file `WRITER-n` is there. Renaming it is atomic: of two who would follow `n` one does, the other one looks
//!    again.
//! 2. Who opens takes its term before it reads log and manifest; who writes looks whether it has its term after its
//!    block is on disk, and before it tells anybody. So what was acknowledged was on disk before the term was taken,
//!    and is read.
//! 3. A term is never taken twice: it is above those of all segments of the log that are there.
//! 4. It is durable before the first block of its epoch: the segment's name is synced with it.
//! 5. Nothing else in the directory is changed without a look just before: files, manifest, the names of the log.
//!    What one call does that is under way between the look and the change is harmless where it can be: a late segment
//!    of the log loses against that of the successor (`layout`), files and manifests of a successor that took the
//!    lock have other numbers. A page of a row table written in place, and CURRENT, may be overwritten in that moment.
//! 6. An opening, which may be overtaken at any point and be slow, destroys only what no later one has made, whether it
//!    looks in time or not:
//!    - files that it found when it began: a later opening numbers its own behind those that it finds, and behind those
//!      that the log says were given before (the header of the last segment), so none of these numbers is given again;
//!    - segments under construction, by the epoch in their names; segments that do not count, at a place where its own
//!      epoch has begun, of lower epochs;
//!    - the last block that it read, by writing the same bytes again: nobody else writes there, and the file becomes no
//!      segment of somebody else (`spares` 3).
//! 7. What one writes late that has lost the directory goes into its own files: blocks into a segment whose file no
//!    successor takes for another one, segments at the place where its successor has begun, under a name of a lower
//!    epoch. At the front of the log, when those of that place have gone, they are told from it (`layout` 2).
//!
//! A look costs one stat: some hundred nanoseconds.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use weft_env::{Env, OpenMode};
use weft_format::{Code, Error, Result};

use crate::fault::{Fault, active};

const PREFIX: &str = "WRITER-";
/// So often it is tried to follow somebody who was followed meanwhile.
const TRIES: u32 = 100;

/// The right to write a directory, until somebody else takes it.
pub(crate) struct Term {
    env: Env,
    dir: PathBuf,
    file: PathBuf,
    number: u32,
    is_lost: AtomicBool,
}

impl Term {
    /// Takes the directory from whoever has it. The log has epochs up to `behind`.
    pub(crate) fn take(env: &Env, dir: &Path, behind: u32, owner: &str) -> Result<Term> {
        let mut error = None;
        for _ in 0..TRIES {
            let before = numbers(env, dir)?;
            let number = before.last().copied().unwrap_or(0).max(behind).checked_add(1);
            let number = number.expect("a database is opened less than 4 billion times");
            assert!(number > behind, "a term is above those of the log (term 3)");
            let file = dir.join(name(number));
            let taken = match before.last() {
                Some(last) => env.fs.rename(&dir.join(name(*last)), &file),
                None => env.fs.open(&file, OpenMode::CreateNew).map(drop),
            };
            match taken {
                Ok(()) => {}
                // Somebody was faster.
                Err(failed) if matches!(failed.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => {
                    error = Some(failed);
                    continue;
                }
                Err(failed) => return Err(Error::io(format!("making {}", file.display()), &failed)),
            }
            // Others may be there when two made the first one.
            for other in numbers(env, dir)?.into_iter().filter(|other| *other < number) {
                let _ = env.fs.remove(&dir.join(name(other)));
            }
            // Who has it is told as far as there is space for it.
            let text = format!("{number} {}\n", owner.lines().next().unwrap_or_default());
            let _ = env.fs.open(&file, OpenMode::ReadWrite).and_then(|file| {
                file.set_len(0)?;
                file.write_at(text.as_bytes(), 0)
            });
            let (env, dir) = (env.clone(), dir.to_owned());
            let term = Term { env, dir, file, number, is_lost: AtomicBool::new(false) };
            return term.check().map(|()| term);
        }
        let error = error.unwrap_or_else(|| io::ErrorKind::WouldBlock.into());
        Err(Error::io(format!("following the writers of {}", dir.display()), &error))
    }

    /// Its number, the epoch of the log.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Fails when somebody else has the directory by now, with [`Code::Poisoned`]: what was written last may count or
    /// not.
    pub(crate) fn check(&self) -> Result<()> {
        if active(Fault::SKIP_FENCE) {
            return Ok(());
        }
        let looked = match self.is_lost.load(Ordering::Acquire) {
            true => Ok(false),
            false => self.env.fs.exists(&self.file),
        };
        match looked {
            Ok(true) => Ok(()),
            Ok(false) => {
                // For ever: were the file put back, the log would go on where another has written.
                self.is_lost.store(true, Ordering::Release);
                Err(self.lost())
            }
            Err(error) => {
                let what = format!("nobody can tell who writes {}: {error}", self.dir.display());
                Err(Error::new(Code::Poisoned, what).hint("close the database and open it again"))
            }
        }
    }

    /// Whether another has taken its place.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    #[cold]
    fn lost(&self) -> Error {
        let successor = successor(&self.env, &self.dir).unwrap_or_else(|| "another process".to_owned());
        let what = format!("{} is written by {successor} now, and not by this server any more", self.dir.display());
        Error::new(Code::Poisoned, what).hint("connect to that one; this one ends, and may be opened as a node of it")
    }
}

/// Who has a directory, as that one has said; none: nobody has, or has not said.
pub fn writer_of(env: &Env, dir: &Path) -> Option<String> {
    successor(env, dir)
}

/// Makes it look as if the writer of an epoch had a directory that nobody writes: for who follows what was copied
/// there.
pub(crate) fn stand_in(env: &Env, dir: &Path, epoch: u32) -> Result<()> {
    let failed = |error: io::Error| Error::io(format!("naming the writer of {}", dir.display()), &error);
    let present = numbers(env, dir)?;
    if !present.contains(&epoch) {
        env.fs.open(&dir.join(name(epoch)), OpenMode::CreateNew).map_err(failed)?;
    }
    let mut others = present.into_iter().filter(|other| *other != epoch);
    others.try_for_each(|other| env.fs.remove(&dir.join(name(other)))).map_err(failed)
}

/// Whether the writer of an epoch has the directory.
pub fn writer_is_present(env: &Env, dir: &Path, epoch: u32) -> io::Result<bool> {
    env.fs.exists(&dir.join(name(epoch)))
}

/// The epoch of the writer that has a directory, or had it last; 0: there was none.
pub fn newest_writer(env: &Env, dir: &Path) -> Result<u32> {
    Ok(numbers(env, dir)?.last().copied().unwrap_or(0))
}

fn name(number: u32) -> String {
    format!("{PREFIX}{number}")
}

/// The terms that are there, ascending.
fn numbers(env: &Env, dir: &Path) -> Result<Vec<u32>> {
    let names = env.fs.list(dir).map_err(|error| Error::io(format!("listing {}", dir.display()), &error))?;
    let number = |file: &String| {
        let number = file.strip_prefix(PREFIX)?.parse().ok()?;
        (name(number) == *file).then_some(number)
    };
    let mut found: Vec<u32> = names.iter().filter_map(number).collect();
    found.sort_unstable();
    Ok(found)
}

/// Who has a directory, as that one has said.
fn successor(env: &Env, dir: &Path) -> Option<String> {
    let number = newest_writer(env, dir).ok().filter(|number| *number > 0)?;
    let file = env.fs.open(&dir.join(name(number)), OpenMode::Read).ok()?;
    let mut bytes = vec![0; file.len().ok()?.min(512) as usize];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // One that renamed it a moment ago has not said yet who it is.
    let owner = text.trim_end().strip_prefix(&format!("{number} "))?;
    Some(format!("{owner} (its epoch {number})"))
}

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests run on real threads and look at real files"
)]
mod tests {
    use super::*;
    use crate::testing::Scratch;

    fn names(env: &Env, dir: &Path) -> Vec<String> {
        env.fs.list(dir).unwrap()
    }

    #[test]
    fn who_opens_takes_the_directory_and_the_one_before_notices() {
        let (env, dir) = (Env::real(), Scratch::new("term"));
        std::fs::create_dir_all(dir.path()).unwrap();
        let one = Term::take(&env, dir.path(), 0, "pid 1").unwrap();
        one.check().unwrap();
        assert_eq!((one.number(), names(&env, dir.path())), (1, vec!["WRITER-1".to_owned()]));
        // A log that was restored has higher epochs.
        let two = Term::take(&env, dir.path(), 40, "pid 2\nhow to come in").unwrap();
        assert_eq!((two.number(), names(&env, dir.path())), (41, vec!["WRITER-41".to_owned()]));
        let lost = one.check().unwrap_err();
        assert_eq!(lost.code(), Code::Poisoned);
        assert!(lost.message().contains("is written by pid 2 (its epoch 41) now"), "{lost}");
        assert!(one.is_lost() && !two.is_lost());
        // It stays lost, whatever is put back.
        std::fs::write(dir.path().join("WRITER-1"), "").unwrap();
        assert_eq!(one.check().unwrap_err().code(), Code::Poisoned);
        // Who comes next leaves one file.
        let three = Term::take(&env, dir.path(), 0, "pid 3").unwrap();
        assert_eq!((three.number(), names(&env, dir.path())), (42, vec!["WRITER-42".to_owned()]));
        assert!(two.check().is_err() && three.check().is_ok());
        assert_eq!(newest_writer(&env, dir.path()).unwrap(), 42);
    }

    #[test]
    fn of_many_that_open_at_once_one_has_the_directory_in_the_end() {
        let (env, dir) = (Env::real(), Scratch::new("terms"));
        std::fs::create_dir_all(dir.path()).unwrap();
        let terms: Vec<Term> = std::thread::scope(|scope| {
            let take = |n: u32| Term::take(&env, dir.path(), 0, &format!("pid {n}"));
            let threads: Vec<_> =
                (0..8).map(|n| scope.spawn(move || (0..20).fold(None, |last, _| take(n).ok().or(last)))).collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        let present = terms.iter().filter(|term| term.check().is_ok()).count();
        assert_eq!((present, names(&env, dir.path()).len()), (1, 1));
    }
}
