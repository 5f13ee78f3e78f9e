//! Part (c): damaged database files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft::{Database, Error};

use crate::cases::{self, Case};
use crate::directory::{self, COMMITS, Databases};
use crate::watch::{self, Report};

/// What an opening or query of damaged files may say: corrupt, another version, missing, unreadable, in use, stopped.
const STATES: [&str; 6] = ["XX001", "XX002", "58P01", "58030", "57P03", "57P02"];

pub(crate) fn run() {
    let folder = tempfile::tempdir().unwrap();
    let databases = Arc::new(directory::create(folder.path()));
    let mut report = Report::default();
    for (number, case) in cases::read("damage.txt", folder.path()).into_iter().enumerate() {
        let name = case.name.clone();
        let (databases, dir) = (Arc::clone(&databases), folder.path().join(format!("case{number}")));
        let result = watch::run(&name, move || {
            let verdict = one(&databases, &case, &dir, number as u64);
            // What stays is removed with the folder.
            let _ = std::fs::remove_dir_all(&dir);
            verdict
        });
        report.note(&name, result.and_then(|verdict| verdict));
    }
    let dir = folder.path().join("held");
    copy_dir(&databases.closed, &dir);
    let held = dir.clone();
    report.note("LOCK held", watch::run("LOCK held", move || lock_is_held(&held)).and_then(|verdict| verdict));
    let dir = databases.closed.join("CURRENT");
    report.note(
        "a file as the directory",
        watch::run("a file", move || is_no_directory(&dir)).and_then(|verdict| verdict),
    );
    report.finish("damaged directories");
}

/// What came of a damaged directory.
#[derive(Debug)]
enum Came {
    Refused,
    Found,
    Right,
    Prefix,
}

fn one(databases: &Databases, case: &Case, dir: &Path, seed: u64) -> Result<(), String> {
    let original = match case.directive("on") {
        Some("closed") => &databases.closed,
        Some("dropped") => &databases.dropped,
        other => panic!("no database {other:?}"),
    };
    copy_dir(original, dir);
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut damaged = BTreeSet::new();
    for (_, line) in case.directives.iter().filter(|(word, _)| word == "do") {
        damage(databases, dir, line, &mut random, &mut damaged);
    }
    let mut known = names(original);
    known.extend(damaged.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()));
    let came = look(&known, dir)?;
    let word = format!("{came:?}").to_lowercase();
    if !case.expects(&word) {
        return Err(format!("it is {word}, not {}", case.expected.join(" or ")));
    }
    let is_data = damaged.iter().all(|path| path.extension().is_some_and(|extension| extension == "data"));
    match came {
        // Data files never change, so a damaged one can be put back even after the directory was open.
        Came::Refused | Came::Found if is_data || matches!(came, Came::Refused) => {
            undo(original, &damaged);
            directory::check_whole(dir).map_err(|what| format!("with the files put back it {what}"))
        }
        Came::Right => directory::check_whole(dir).map_err(|what| format!("opened a second time it {what}")),
        _ => Ok(()),
    }
}

/// Opens a directory, reads all of it, checks it, closes it.
fn look(known: &[String], dir: &Path) -> Result<Came, String> {
    let database = match Database::open_with(dir, directory::options()) {
        Ok(database) => database,
        Err(error) => return judge(known, &error).map(|()| Came::Refused),
    };
    let contents = directory::read(&database)?;
    contents.errors.iter().try_for_each(|error| judge(known, error))?;
    let found = match database.check() {
        Ok(found) => !found.is_empty(),
        Err(error) => judge(known, &error).map(|()| true)?,
    };
    match database.close() {
        Err(error) if found => judge(known, &error)?,
        Err(error) => return Err(format!("check finds nothing, and close fails: {error}")),
        Ok(()) => {}
    }
    if !contents.errors.is_empty() && !found {
        return Err(format!("check finds nothing, and a query says {}", contents.errors[0]));
    }
    Ok(match contents.commit {
        _ if found => Came::Found,
        Some(COMMITS) => Came::Right,
        _ => Came::Prefix,
    })
}

/// An error about damage has one of a few codes, names a file, and says what to do.
fn judge(known: &[String], error: &Error) -> Result<(), String> {
    if let Some(what) = watch::judge(error) {
        return Err(what);
    }
    if !STATES.contains(&error.sqlstate()) {
        return Err(format!("the error is {error}"));
    }
    let text = error.to_string();
    let names_file = known.iter().any(|name| text.contains(name.as_str()))
        || text.contains("MANIFEST-")
        || text.contains("no file log-*");
    if !names_file {
        return Err(format!("no file is named: {error}"));
    }
    if error.hint_text().is_none() {
        return Err(format!("no remedy: {error}"));
    }
    Ok(())
}

fn lock_is_held(dir: &Path) -> Result<(), String> {
    let first = Database::open_with(dir, directory::options()).map_err(|error| error.to_string())?;
    match Database::open_with(dir, directory::options()) {
        Ok(_) => return Err("a second opening succeeds".into()),
        Err(error) if error.sqlstate() != "57P03" => return Err(error.to_string()),
        Err(error) => {
            let owner = format!("pid {}", std::process::id());
            if !error.message().contains(&owner) || error.hint_text().is_none() {
                return Err(format!("the owner or the remedy is not named: {error}"));
            }
        }
    }
    first.close().map_err(|error| error.to_string())?;
    drop(first);
    directory::check_whole(dir)
}

fn is_no_directory(path: &Path) -> Result<(), String> {
    match Database::open_with(path, directory::options()) {
        Ok(_) => Err("a file opens as a database".into()),
        Err(error) if !STATES.contains(&error.sqlstate()) || !error.message().contains("CURRENT") => {
            Err(error.to_string())
        }
        Err(_) => Ok(()),
    }
}

/// Runs one line of damage; notes what it touched.
fn damage(databases: &Databases, dir: &Path, line: &str, random: &mut u64, touched: &mut BTreeSet<PathBuf>) {
    let words: Vec<&str> = line.splitn(3, ' ').collect();
    let (selector, action, rest) = (words[0], words[1], words.get(2).copied().unwrap_or(""));
    if selector == "-" {
        let path = dir.join(rest);
        match action {
            "mkdir" => std::fs::create_dir(&path).unwrap(),
            _ => std::fs::write(&path, noise(random, 300)).unwrap(),
        }
        touched.insert(path);
        return;
    }
    for path in select(dir, selector) {
        touched.insert(path.clone());
        let name = path.file_name().unwrap();
        match action {
            "remove" => std::fs::remove_file(&path).unwrap(),
            "directory" => {
                std::fs::remove_file(&path).unwrap();
                std::fs::create_dir(&path).unwrap();
            }
            "text" => std::fs::write(&path, format!("{rest}\n")).unwrap(),
            "rename" => {
                std::fs::rename(&path, dir.join(rest)).unwrap();
                touched.insert(dir.join(rest));
            }
            "copy" => {
                std::fs::copy(&path, dir.join(rest)).unwrap();
                touched.insert(dir.join(rest));
            }
            "from" => drop(std::fs::copy(&select(dir, rest)[0], &path).unwrap()),
            "alien" => {
                let kind = if selector.contains("log") {
                    "log:0"
                } else if name == "CURRENT" {
                    "CURRENT"
                } else {
                    selector
                };
                let kind = if kind.contains(':') && !kind.contains("log") { "strange:0" } else { kind };
                let source = select(&databases.alien, kind).remove(0);
                std::fs::copy(source, &path).unwrap();
            }
            "swap" => {
                let other = select(dir, rest).remove(0);
                let aside = dir.join("aside");
                std::fs::rename(&path, &aside).unwrap();
                std::fs::rename(&other, &path).unwrap();
                std::fs::rename(&aside, &other).unwrap();
                touched.insert(other);
            }
            "hide" => {
                use std::os::unix::fs::PermissionsExt;
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
            }
            _ => {
                let mut bytes = std::fs::read(&path).unwrap();
                change(&mut bytes, action, rest, random);
                std::fs::write(&path, bytes).unwrap();
            }
        }
    }
}

/// Changes a file's bytes.
fn change(bytes: &mut Vec<u8>, action: &str, rest: &str, random: &mut u64) {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let (place, length) = rest.split_once(' ').unwrap_or((rest, "0"));
    let length: usize = length.parse().unwrap();
    let at = offset(place, used);
    match action {
        "flip" => bytes[at] ^= 1 << (at % 8),
        "flips" => {
            for _ in 0..at {
                let place = next_random(random) as usize % used;
                bytes[place] ^= 1 << (next_random(random) % 8);
            }
        }
        "zero" | "noise" => {
            let end = bytes.len().min(at + length);
            let noise = if action == "zero" { vec![0; end - at] } else { noise(random, end - at) };
            bytes[at..end].copy_from_slice(&noise);
        }
        "truncate" => bytes.truncate(at),
        "append" => bytes.extend(noise(random, at)),
        "extend" => bytes.resize(bytes.len() + at, 0),
        "version" => future_version(bytes),
        _ => panic!("no action {action}"),
    }
}

fn offset(place: &str, used: usize) -> usize {
    if let Some(percent) = place.strip_suffix('%') {
        used * percent.parse::<usize>().unwrap() / 100
    } else if let Some(back) = place.strip_prefix('-') {
        used - back.parse::<usize>().unwrap()
    } else if let Some(behind) = place.strip_prefix("end+") {
        used + behind.parse::<usize>().unwrap()
    } else {
        place.parse().unwrap_or(0)
    }
}

/// Raises the format version in a header and makes its checksum fit: what a later release would write.
fn future_version(bytes: &mut [u8]) {
    let is_log = bytes.starts_with(b"WEFTLOG\n");
    let crc_at = if is_log { 508 } else { 60 };
    bytes[8] = 99;
    let crc = crc32c(&bytes[..crc_at]);
    bytes[crc_at..crc_at + 4].copy_from_slice(&crc.to_le_bytes());
}

fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0x82F6_3B78 & (crc & 1).wrapping_neg()))
    })
}

/// The files of a selector: `CURRENT`, `MANIFEST`, `log:2`, `log:*`, `flights:-1`.
fn select(dir: &Path, selector: &str) -> Vec<PathBuf> {
    let mut all = names(dir);
    let Some((kind, index)) = selector.split_once(':') else {
        all.retain(|name| name == selector || name.strip_prefix(selector).is_some_and(|rest| rest.starts_with('-')));
        assert_eq!(all.len(), 1, "{selector} of {all:?}");
        return vec![dir.join(&all[0])];
    };
    if kind == "log" {
        all.retain(|name| name.starts_with("log-") && !name.ends_with(".tmp"));
    } else {
        let number = table_number(kind);
        all.retain(|name| name.starts_with(&format!("t{number}-")) && name.ends_with(".data"));
    }
    if index == "*" {
        return all.iter().map(|name| dir.join(name)).collect();
    }
    let index: isize = index.parse().unwrap();
    let index = if index < 0 { all.len() as isize + index } else { index };
    let name = all.get(index as usize).unwrap_or_else(|| panic!("{selector}: there are {all:?}"));
    vec![dir.join(name)]
}

/// Tables get their numbers in the order of their creation.
fn table_number(table: &str) -> usize {
    let made = ["flights", "airlines", "meter", "progress"];
    made.iter().position(|name| *name == table).map_or(1, |index| index + 1)
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// Puts the original files back where the damage was.
fn undo(original: &Path, touched: &BTreeSet<PathBuf>) {
    for path in touched {
        if path.is_dir() {
            std::fs::remove_dir(path).unwrap();
        } else if path.exists() {
            std::fs::remove_file(path).unwrap();
        }
        let source = original.join(path.file_name().unwrap());
        if source.exists() {
            std::fs::copy(source, path).unwrap();
        }
    }
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for name in names(from) {
        std::fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

fn noise(random: &mut u64, count: usize) -> Vec<u8> {
    (0..count).map(|_| next_random(random) as u8).collect()
}

/// SplitMix64.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
