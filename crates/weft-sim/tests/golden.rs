//! The golden scripts of `golden/`: each prints what it is expected to, twice, and can fail.
//!
//! `WEFT_GOLDEN=rewrite cargo test -p weft-sim --test golden` rewrites what is expected.

#![allow(clippy::disallowed_methods, reason = "scripts are read and rewritten outside of the simulation")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs, panic};

use weft_kernel::fault::{Fault, plant};
use weft_sim::golden::{Script, difference, run_script};
use weft_tables::column::faults;

const REWRITE: &str = "WEFT_GOLDEN=rewrite cargo test -p weft-sim --test golden";

/// Deliberate bugs, and the script that must look different with each.
const FAULTS: &[(Fault, &str)] = &[
    (Fault::SKIP_LOG_SYNC, "group-commit"),
    (Fault::ACK_BEFORE_DURABLE, "group-commit"),
    (Fault::PUBLISH_OUT_OF_ORDER, "group-commit"),
    (faults::CONVERT_TOO_EARLY, "freeze-in-flight"),
    (faults::STALE_LAYOUT, "conversion"),
    (Fault::SKIP_FILE_SYNC, "conversion"),
    (Fault::SKIP_DIR_SYNC, "conversion"),
    (Fault::SKIP_MANIFEST_SYNC, "conversion"),
    (faults::LOSE_MARK_AT_CONVERSION, "marks-carried-over"),
    (faults::FORGET_MARKS, "compaction"),
    (faults::DROP_DEAD_TOO_EARLY, "snapshot-keeps-versions"),
    (Fault::SKIP_CHECKSUM, "torn-tail"),
    (Fault::FORGET_CHUNKS, "long-transaction"),
    (Fault::CONSTANT_FORECAST, "scheduler"),
];

fn scripts() -> BTreeMap<String, PathBuf> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden");
    let paths = fs::read_dir(dir).expect("the folder is there").map(|entry| entry.expect("it can be listed").path());
    let texts = paths.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
    texts.map(|path| (path.file_stem().expect("it has a name").to_string_lossy().into_owned(), path)).collect()
}

fn read(path: &PathBuf) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

// One test: a planted fault is there for the whole process.
#[test]
fn scripts_print_what_is_expected() {
    let rewrite = match env::var("WEFT_GOLDEN") {
        Ok(value) if value == "rewrite" => true,
        Ok(value) => panic!("WEFT_GOLDEN={value} means nothing; rewrite the scripts with {REWRITE}"),
        Err(_) => false,
    };
    let mut wrong = Vec::new();
    for (name, path) in scripts() {
        let text = read(&path);
        let script = Script::parse(&text);
        let found = run_script(&script);
        if let Some(difference) = difference(&found.render(), &run_script(&script).render()) {
            wrong.push(format!("{name} prints something else the second time:\n{difference}"));
        }
        assert!(!found.render().contains("bad command: "), "{name} has a bad command:\n{}", found.render());
        let Some(difference) = difference(&text, &found.render()) else { continue };
        if rewrite {
            fs::write(&path, found.render()).expect("the script can be written");
            println!("rewrote {name}:\n{difference}");
        } else {
            wrong.push(format!("golden/{name}.txt (- expected, + found):\n{difference}"));
        }
    }
    assert!(wrong.is_empty(), "{}\nif this is as it should be: {REWRITE}", wrong.join("\n"));
    faults_are_differences();
}

/// Each planted fault changes its script.
fn faults_are_differences() {
    let scripts = scripts();
    // The failures are expected: their panics need no text of their own.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let mut missed = Vec::new();
    for &(fault, name) in FAULTS {
        let path = scripts.get(name).unwrap_or_else(|| panic!("there is no script {name}"));
        let text = read(path);
        plant(Some(fault));
        let found = run_script(&Script::parse(&text));
        plant(None);
        if difference(&text, &found.render()).is_none() {
            missed.push((fault.name(), name));
        }
    }
    panic::set_hook(hook);
    assert!(missed.is_empty(), "planted, and the script prints the same: {missed:?}");
}
