//! `weft check --quarantine`, as whom a disk let down uses it: what is damaged is told, taken out and kept, and
//! everything else is there.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn weft(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weft")).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn answer(dir: &str, sql: &str) -> String {
    let output = weft(&[dir, "--format", "csv", "-c", sql]);
    assert!(output.status.success(), "{sql}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).lines().skip(1).collect::<Vec<_>>().join("\n")
}

/// The files of rows, those of the oldest table first.
fn files(dir: &Path) -> Vec<PathBuf> {
    let number = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix('t')?.split(['-', '.']).map(|part| part.parse::<u64>().ok()).next()?
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| number(path).is_some());
    files.sort_by_key(|path| (number(path), path.clone()));
    files
}

#[test]
fn a_damaged_file_is_taken_out_and_everything_else_is_there() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("db");
    let place = dir.to_str().unwrap();
    answer(
        place,
        "CREATE TABLE bad (k integer PRIMARY KEY, v text) WITH (column_table_bytes = 65536, bucket_bytes = 65536);
         CREATE TABLE good (k integer PRIMARY KEY, v text);
         INSERT INTO bad SELECT g, 'row ' || g FROM generate_series(1, 20000) AS t(g);
         INSERT INTO good SELECT g, 'row ' || g FROM generate_series(1, 20000) AS t(g);
         VACUUM; CHECKPOINT",
    );
    let file = files(&dir).into_iter().next().unwrap();
    let name = file.file_name().unwrap().to_str().unwrap().to_owned();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&file, &bytes).unwrap();

    let checked = weft(&["check", place]);
    assert!(!checked.status.success() && said(&checked).contains(&name), "{}", said(&checked));
    let refused = weft(&[place, "-c", "SELECT count(v), sum(length(v)) FROM bad"]);
    assert!(!refused.status.success(), "{}", said(&refused));
    assert!(said(&refused).contains(&name) && said(&refused).contains("--quarantine"), "{}", said(&refused));
    assert_eq!(answer(place, "SELECT count(v), sum(k) FROM good"), "20000,200010000");

    let taken = weft(&["check", place, "--quarantine"]);
    assert!(taken.status.success(), "{}", said(&taken));
    let told = said(&taken);
    let line = told.lines().find(|line| line.contains("\"bad\" lost")).unwrap_or_else(|| panic!("{told}"));
    let lost: i64 = line.split(' ').skip_while(|word| *word != "lost").nth(1).unwrap().parse().unwrap();
    assert!(lost > 0 && line.contains("with keys from (") && line.contains(&name), "{line}");
    assert!(dir.join("quarantine").join(&name).exists() && !file.exists());

    assert_eq!(answer(place, "SELECT count(v), sum(k) FROM good"), "20000,200010000");
    assert_eq!(answer(place, "SELECT count(v) FROM bad"), (20_000 - lost).to_string());
    answer(place, "INSERT INTO bad SELECT g, 'again' FROM generate_series(1, 20000) AS t(g) ON CONFLICT DO NOTHING");
    assert_eq!(
        answer(place, "SELECT count(v), count(CASE WHEN v = 'again' THEN 1 END) FROM bad"),
        format!("20000,{lost}")
    );
    let checked = weft(&["check", place]);
    assert!(checked.status.success(), "{}", said(&checked));
    let again = weft(&["check", place, "--quarantine"]);
    assert!(again.status.success() && said(&again).contains(" 0 files"), "{}", said(&again));
}
