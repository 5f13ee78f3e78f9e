use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_env::{Env, OpenMode};
use weft_format::{Code, FileId, Lsn, Result, TableId, Timestamp};

use super::layout;
use super::{Edit, Hooks, LayoutSwitch, Manifest, ManifestRecord, RecoveredManifest, read_manifest};

/// Table → cut, files, and the concatenation of its payloads (which folding keeps).
type State = BTreeMap<u32, (u64, Vec<u64>, Vec<u8>)>;

fn dir() -> PathBuf {
    PathBuf::from("/db")
}

fn simulation(seed: u64) -> Simulation {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let end = simulation.run(|env| {
        env.fs.create_dir_all(&dir()).unwrap();
        env.fs.sync_dir(Path::new("/")).unwrap();
    });
    assert_eq!(end, RunEnd::Finished);
    simulation
}

fn run<T: Send + 'static>(simulation: &Simulation, body: impl FnOnce(Env) -> T + Send + 'static) -> T {
    let result = Arc::new(Mutex::new(None));
    let inner = result.clone();
    match simulation.run(move |env| *inner.lock() = Some(body(env))) {
        RunEnd::Finished => {}
        end => panic!("{end:?}"),
    }
    result.lock().take().expect("the run finished")
}

/// The surroundings of a manifest that folds payloads by putting them together.
fn hooks(flush: impl Fn() -> Result<Lsn> + Send + Sync + 'static) -> Hooks {
    let fold = |_: TableId, payloads: &[Vec<u8>]| Ok(payloads.concat());
    Hooks { flush: Box::new(flush), name_edits: Box::new(|| Ok(())), tell: Box::new(|_, _| {}), fold: Box::new(fold) }
}

/// Opens with a small limit, so that the file is switched often.
fn open(env: &Env) -> Result<(Manifest, RecoveredManifest)> {
    let (mut manifest, recovered) = Manifest::open(env, &dir())?;
    manifest.switch_after(600);
    manifest.settle(false)?;
    manifest.connect(hooks(|| Ok(Lsn(0))));
    Ok((manifest, recovered))
}

fn state(recovered: &RecoveredManifest) -> State {
    let table = |(id, table): (&TableId, &weft_contract::RecoveredTable)| {
        (id.0, (table.cut.0, table.files.iter().map(|file| file.0).collect(), table.payloads.concat()))
    };
    recovered.tables.iter().map(table).collect()
}

/// The n-th edit of a fixed history over three tables: adds a file, removes the one from two rounds before.
fn edit(n: u64) -> Edit {
    let removed = if n >= 6 && n % 12 >= 3 && n - 6 >= n / 12 * 12 { vec![FileId(n - 6)] } else { Vec::new() };
    Edit {
        table: TableId(n as u32 % 3),
        cut: Timestamp(n * 10),
        added: vec![FileId(n)],
        removed,
        payload: vec![n as u8; n as usize % 40],
    }
}

/// Applies the n-th step: an edit, and now and then a table is forgotten instead.
fn step(manifest: &Manifest, n: u64) -> Result<()> {
    if n.is_multiple_of(12) { manifest.forget(TableId(0)) } else { manifest.apply(tidy(manifest, edit(n))) }
}

/// Takes out removals of files that a forgotten table took along.
fn tidy(manifest: &Manifest, mut edit: Edit) -> Edit {
    let files = manifest.files();
    edit.removed.retain(|file| files.contains(&(edit.table, *file)));
    edit
}

/// The states after 0, 1, 2, ... steps.
fn states(count: u64) -> Vec<State> {
    let simulation = simulation(0);
    run(&simulation, move |env| {
        let mut states = Vec::new();
        let mut model = State::new();
        states.push(model.clone());
        let (manifest, _) = open(&env).unwrap();
        for n in 1..=count {
            if n % 12 == 0 {
                model.remove(&0);
            } else {
                let edit = tidy(&manifest, edit(n));
                let table = model.entry(edit.table.0).or_default();
                table.0 = edit.cut.0;
                table.1.retain(|file| !edit.removed.contains(&FileId(*file)));
                table.1.extend(edit.added.iter().map(|file| file.0));
                table.2.extend_from_slice(&edit.payload);
            }
            step(&manifest, n).unwrap();
            states.push(model.clone());
        }
        states
    })
}

#[test]
fn the_records_are_shown_as_they_were_written() {
    let simulation = simulation(1);
    run(&simulation, move |env| {
        let (manifest, _) = open(&env).unwrap();
        manifest.apply(edit(1)).unwrap();
        manifest.forget(TableId(1)).unwrap();
        let (name, records) = read_manifest(&env, &dir()).unwrap();
        let forget = ManifestRecord::Forget(TableId(1));
        let database = ManifestRecord::Database(manifest.database().unwrap());
        let expected = [database, ManifestRecord::Edit(edit(1)), ManifestRecord::Mark, forget, ManifestRecord::Mark];
        assert_eq!((name.as_str(), records.as_slice()), ("MANIFEST-1", &expected[..]));
    });
    simulation.faults().damage(&dir().join("MANIFEST-1"), 8 * 20).unwrap();
    run(&simulation, move |env| assert_eq!(read_manifest(&env, &dir()).unwrap_err().code(), Code::DataCorrupted));
}

#[test]
fn edits_come_back_over_openings_and_switches() {
    let wanted = states(60);
    let simulation = simulation(1);
    run(&simulation, move |env| {
        for n in 1..=60 {
            let (manifest, recovered) = open(&env).unwrap();
            assert_eq!(recovered.created, n == 1);
            assert_eq!(state(&recovered), wanted[n - 1]);
            step(&manifest, n as u64).unwrap();
            assert_eq!(manifest.check().unwrap(), Vec::<String>::new());
        }
        let names = env.fs.list(&dir()).unwrap();
        assert_eq!(names.len(), 2, "CURRENT and one manifest: {names:?}");
        let number = layout::manifest_number(&names[1]).unwrap();
        assert!(number > 3, "the file was switched: {names:?}");
        let (_, recovered) = open(&env).unwrap();
        assert_eq!((recovered.file_max, recovered.table_max), (FileId(59), TableId(2)));
        assert_eq!(recovered.cut_max, Timestamp(590));
    });
}

/// Runs lives that end in crashes until all steps are done; a message when something is wrong.
fn lives(seed: u64, wanted: &Arc<Vec<State>>) -> Option<String> {
    let simulation = simulation(seed);
    let acknowledged = Arc::new(Mutex::new(0));
    let steps = wanted.len() as u64 - 1;
    for life in 0..200 {
        simulation.crash_after(1 + (seed * 13 + life * 7) % 41);
        let (wanted, acknowledged) = (wanted.clone(), acknowledged.clone());
        let end = simulation.run(move |env| {
            let (manifest, recovered) = open(&env).unwrap_or_else(|error| panic!("seed {seed}, life {life}: {error}"));
            let done = *acknowledged.lock();
            let found = state(&recovered);
            // The step at the crash may have come through or not; a forgotten or empty step looks the same either way.
            let next = (done + 1).min(steps);
            let at = if found == wanted[next as usize] { next } else { done };
            assert_eq!(found, wanted[at as usize], "seed {seed}, life {life}: after step {done}");
            *acknowledged.lock() = at;
            for n in at + 1..=steps {
                step(&manifest, n).unwrap();
                *acknowledged.lock() = n;
            }
        });
        match end {
            RunEnd::Finished => return None,
            RunEnd::Crashed { .. } => {}
            RunEnd::Panicked { message, .. } => return Some(message),
        }
    }
    Some(format!("seed {seed}: no progress"))
}

#[test]
fn crashes_leave_each_edit_whole_or_not_at_all() {
    let wanted = Arc::new(states(40));
    for seed in 0..300 {
        if let Some(failure) = lives(seed, &wanted) {
            panic!("{failure}");
        }
    }
}

/// The planted faults of the manifest are found by the test above (feature `faults`, run alone).
#[cfg(feature = "faults")]
#[test]
#[ignore = "plants faults for the whole process: `planted_faults_are_caught_apart` runs it"]
fn planted_faults_are_caught() {
    use crate::fault::{Fault, plant};
    let wanted = Arc::new(states(40));
    for fault in [Fault::SKIP_MANIFEST_SYNC, Fault::SKIP_DIR_SYNC] {
        plant(Some(fault));
        let caught = (0..100).find_map(|seed| lives(seed, &wanted));
        plant(None);
        assert!(caught.is_some(), "{} is not caught", fault.name());
    }
}

fn files(env: &Env) -> Vec<(PathBuf, Vec<u8>)> {
    let read = |name: &String| {
        let path = dir().join(name);
        let file = env.fs.open(&path, OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        (path, bytes)
    };
    env.fs.list(&dir()).unwrap().iter().map(read).collect()
}

fn restore(env: &Env, files: &[(PathBuf, Vec<u8>)]) {
    for (path, bytes) in files {
        let mode = if env.fs.exists(path).unwrap() { OpenMode::ReadWrite } else { OpenMode::CreateNew };
        let file = env.fs.open(path, mode).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        file.write_at(bytes, 0).unwrap();
    }
}

#[test]
fn every_flipped_byte_is_noticed_or_harmless() {
    let wanted = states(9);
    let simulation = simulation(1);
    run(&simulation, move |env| {
        let (manifest, _) = open(&env).unwrap();
        (1..=9).for_each(|n| step(&manifest, n).unwrap());
        drop(manifest);
        let files = files(&env);
        let (mut corrupt, mut harmless) = (0, 0);
        for (path, bytes) in &files {
            for (offset, byte) in bytes.iter().enumerate() {
                let file = env.fs.open(path, OpenMode::ReadWrite).unwrap();
                file.write_at(&[byte ^ (1 << (offset % 8))], offset as u64).unwrap();
                match open(&env) {
                    Err(error) => {
                        assert_eq!(error.code(), Code::DataCorrupted, "{error}");
                        corrupt += 1;
                    }
                    Ok((_, recovered)) => {
                        assert_eq!(state(&recovered), wanted[9], "{} byte {offset}", path.display());
                        harmless += 1;
                    }
                }
                restore(&env, &files);
            }
        }
        assert!(corrupt > 500, "{corrupt}");
        assert_eq!(harmless, layout::RECORD_HEADER_BYTES, "only the last mark says nothing");
    });
}

#[test]
fn a_missing_file_is_corrupt() {
    let simulation = simulation(1);
    run(&simulation, |env| {
        let (manifest, _) = open(&env).unwrap();
        step(&manifest, 1).unwrap();
        drop(manifest);
        let saved = files(&env);
        for (path, _) in &saved {
            env.fs.remove(path).unwrap();
            let log = env.fs.open(&dir().join("log-0000000000000000"), OpenMode::CreateNew).unwrap();
            assert_eq!(open(&env).err().unwrap().code(), Code::DataCorrupted, "without {}", path.display());
            drop(log);
            env.fs.remove(&dir().join("log-0000000000000000")).unwrap();
            restore(&env, &saved);
        }
        assert!(open(&env).is_ok());
    });
}

#[test]
fn a_full_disk_fails_edits_cleanly() {
    for seed in 0..20 {
        let simulation = Arc::new(simulation(seed));
        let outer = simulation.clone();
        let wanted = states(40);
        run(&simulation, move |env| {
            let (manifest, _) = open(&env).unwrap();
            let mut failures = 0;
            for n in 1..=40 {
                if n % 9 == 4 {
                    outer.faults().fill_disk();
                    // A payload of three pages cannot fit into what is left of the last one.
                    let mut big = tidy(&manifest, edit(n));
                    big.payload = vec![1; 12 << 10];
                    assert_eq!(manifest.apply(big).unwrap_err().code(), Code::DiskFull);
                    failures += 1;
                    outer.faults().set_capacity(None);
                }
                step(&manifest, n).unwrap();
                assert_eq!(manifest.check().unwrap(), Vec::<String>::new());
            }
            assert!(failures > 3 && manifest.poisoned().is_none());
            drop(manifest);
            assert_eq!(state(&open(&env).unwrap().1), wanted[40]);
        });
        simulation.power_off();
        let wanted = states(40);
        run(&simulation, move |env| assert_eq!(state(&open(&env).unwrap().1), wanted[40]));
    }
}

#[test]
fn after_a_failed_sync_no_edit_is_taken() {
    for seed in 0..20 {
        let simulation = simulation(seed);
        let wanted = states(6);
        run(&simulation, |env| (1..=4).for_each(|n| step(&open(&env).unwrap().0, n).unwrap()));
        simulation.faults().fail_sync("MANIFEST", 2);
        let states = wanted.clone();
        let found = run(&simulation, move |env| {
            let (manifest, _) = open(&env).unwrap();
            assert_eq!(step(&manifest, 5).unwrap_err().code(), Code::Poisoned);
            assert_eq!(step(&manifest, 5).unwrap_err().code(), Code::Poisoned);
            assert!(manifest.poisoned().is_some());
            drop(manifest);
            let found = state(&open(&env).unwrap().1);
            assert!(found == states[4] || found == states[5]);
            found
        });
        simulation.power_off();
        run(&simulation, move |env| assert_eq!(state(&open(&env).unwrap().1), found, "what was recovered stays"));
    }
}

#[test]
fn an_edit_that_contradicts_the_state_is_refused() {
    let simulation = simulation(1);
    run(&simulation, |env| {
        let (manifest, _) = open(&env).unwrap();
        let good = Edit { table: TableId(5), cut: Timestamp(10), added: vec![FileId(1)], ..Edit::default() };
        manifest.apply(good.clone()).unwrap();
        let bad = [
            Edit { cut: Timestamp(9), added: Vec::new(), ..good.clone() },
            Edit { added: Vec::new(), removed: vec![FileId(7)], ..good.clone() },
            good.clone(),
            Edit { added: vec![FileId(2), FileId(2)], ..good },
        ];
        for edit in bad {
            assert_eq!(manifest.apply(edit).unwrap_err().code(), Code::Internal);
        }
        assert_eq!(manifest.files(), [(TableId(5), FileId(1))]);
        assert_eq!(manifest.cut(TableId(5)), Timestamp(10));
    });
}

#[test]
fn on_disk_constants_are_as_documented() {
    let found = format!(
        "{:02x?} {} {} {} {:02x?} {} {} {} {} {} {} {} {} {}",
        layout::FILE_MAGIC,
        layout::FORMAT_VERSION,
        layout::FILE_HEADER_BYTES,
        layout::FILE_CRC_OFFSET,
        layout::RECORD_MAGIC,
        layout::RECORD_HEADER_BYTES,
        layout::RECORD_ALIGN,
        layout::KIND_EDIT,
        layout::KIND_FORGET,
        layout::KIND_MARK,
        layout::KIND_DATABASE,
        layout::CURRENT,
        layout::CURRENT_TEMPORARY,
        layout::manifest_name(3),
    );
    let wanted =
        "[57, 45, 46, 54, 4d, 41, 4e, 0a] 4 64 60 [57, 45, 44, 54] 40 8 1 2 3 4 CURRENT CURRENT.tmp MANIFEST-3";
    assert_eq!(found, wanted);
    let crc = crc32c::crc32c(b"MANIFEST-3");
    assert_eq!(layout::encode_current(3), format!("MANIFEST-3 {crc:08x}\n"));
    assert_eq!(layout::decode_current(layout::encode_current(3).as_bytes()).unwrap(), 3);
    let edit = Edit {
        table: TableId(5),
        cut: Timestamp(9),
        added: vec![FileId(2)],
        removed: vec![FileId(1)],
        payload: vec![0xee],
    };
    let mut bytes = Vec::new();
    edit.encode(&mut bytes);
    let wanted = b"\x05\0\0\0\x09\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\xee";
    assert_eq!(bytes, wanted);
    assert_eq!(Edit::decode(&bytes), Some(edit));
    (0..bytes.len()).for_each(|end| assert_eq!(Edit::decode(&bytes[..end]), None));
}

/// A manifest as the release before wrote it: without positions of the log.
fn write_version_before(env: &Env, edits: &[Edit]) {
    let header = layout::FileHeader {
        salt: 77,
        number: 1,
        snapshot_end: layout::FILE_HEADER_BYTES as u64,
        file_max: FileId(0),
        table_max: TableId(0),
        log: Lsn(0),
        edits: 0,
        version: layout::FORMAT_VERSION_BEFORE,
    };
    let mut bytes = header.encode().to_vec();
    for edit in edits {
        let (start, durable) = (bytes.len(), bytes.len() as u64);
        let mut payload = Vec::new();
        edit.encode(&mut payload);
        bytes.extend_from_slice(b"WEDT\0\0\0\0");
        bytes.extend_from_slice(&(start as u64).to_le_bytes());
        bytes.extend_from_slice(&durable.to_le_bytes());
        bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&layout::KIND_EDIT.to_le_bytes());
        bytes.extend_from_slice(&payload);
        bytes.resize(bytes.len().next_multiple_of(layout::RECORD_ALIGN), 0);
        let crc = crc32c::crc32c_append(header.salt, &bytes[start + 8..]);
        bytes[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
    }
    // An unfinished edit behind them.
    bytes.extend_from_slice(b"WEDT and no more");
    for (name, bytes) in
        [(layout::manifest_name(1), bytes), (layout::CURRENT.to_owned(), layout::encode_current(1).into())]
    {
        let file = env.fs.open(&dir().join(name), OpenMode::CreateNew).unwrap();
        file.write_at(&bytes, 0).unwrap();
        file.sync_data().unwrap();
    }
    env.fs.sync_dir(&dir()).unwrap();
}

#[test]
fn a_manifest_of_the_version_before_is_read_and_rewritten() {
    let simulation = simulation(1);
    run(&simulation, |env| {
        let edits = [edit(1), edit(2), edit(4), edit(5)];
        write_version_before(&env, &edits);
        let before = files(&env);
        let (manifest, recovered) = Manifest::open(&env, &dir()).unwrap();
        assert!(files(&env) == before, "nothing is written before it is settled");
        let wanted = state(&recovered);
        assert_eq!((wanted.len(), wanted[&1].1.clone(), recovered.log), (2, vec![1, 4], Lsn(0)));
        assert_eq!(manifest.database(), None, "nobody has said which database it is");
        manifest.settle(false).unwrap();
        let database = manifest.database();
        assert!(database.is_some(), "a number is drawn when it is rewritten");
        drop(manifest);
        let names: Vec<_> = files(&env).into_iter().map(|(path, _)| path).collect();
        assert_eq!(names, [dir().join("CURRENT"), dir().join("MANIFEST-2")]);
        let (manifest, recovered) = open(&env).unwrap();
        assert_eq!(state(&recovered), wanted);
        assert_eq!(manifest.database(), database, "and stays");
        manifest.apply(edit(7)).unwrap();
        drop(manifest);
        assert_eq!(state(&open(&env).unwrap().1)[&1].1, [4, 7]);
    });
}

#[test]
fn a_database_keeps_its_number_and_no_other_has_it() {
    let numbers: Vec<u64> = (1..=3)
        .map(|seed| {
            let simulation = simulation(seed);
            let found = Arc::new(Mutex::new(Vec::new()));
            for life in 0..3 {
                let found = found.clone();
                run(&simulation, move |env| {
                    let (manifest, _) = open(&env).unwrap();
                    found.lock().push(manifest.database().unwrap());
                    // Over files that follow one another, and a crash.
                    (life * 30 + 1..=life * 30 + 30).for_each(|n| step(&manifest, n).unwrap());
                    found.lock().push(manifest.database().unwrap());
                });
                simulation.power_off();
            }
            let found = found.lock();
            assert!(found.iter().all(|number| *number == found[0]), "seed {seed}: {found:?}");
            let is_positive = i64::try_from(found[0]).is_ok_and(|number| number > 0);
            assert!(is_positive, "a bigint of SQL: {}", found[0]);
            found[0]
        })
        .collect();
    assert!(numbers[0] != numbers[1] && numbers[1] != numbers[2] && numbers[0] != numbers[2], "{numbers:?}");
}

/// Releases that know version 2 know no names of first segments of the log: they must not open what has them.
#[test]
fn a_manifest_that_releases_before_can_read_is_rewritten() {
    let simulation = simulation(1);
    run(&simulation, |env| {
        let (manifest, _) = open(&env).unwrap();
        [edit(1), edit(2)].into_iter().for_each(|edit| manifest.apply(edit).unwrap());
        drop(manifest);
        let wanted = state(&open(&env).unwrap().1);
        let header = |number: u64| {
            let file = env.fs.open(&dir().join(layout::manifest_name(number)), OpenMode::ReadWrite).unwrap();
            let mut bytes = [0; layout::FILE_HEADER_BYTES];
            file.read_exact_at(&mut bytes, 0).unwrap();
            (file, layout::FileHeader::decode(&bytes, number).unwrap())
        };
        let (file, mut before) = header(1);
        assert_eq!(before.version, layout::FORMAT_VERSION);
        before.version = 2;
        file.write_at(&before.encode(), 0).unwrap();
        let (manifest, recovered) = open(&env).unwrap();
        assert_eq!((state(&recovered), header(2).1.version), (wanted.clone(), layout::FORMAT_VERSION));
        manifest.apply(edit(7)).unwrap();
        drop(manifest);
        assert_ne!(state(&open(&env).unwrap().1), wanted);
    });
}

#[test]
fn positions_and_counts_come_back() {
    let simulation = simulation(1);
    run(&simulation, |env| {
        for (opening, log) in [100, 50, 70].into_iter().enumerate() {
            let (mut manifest, recovered) = Manifest::open(&env, &dir()).unwrap();
            let done = opening as u64 * 20;
            assert_eq!((recovered.log, recovered.edits), (Lsn(if opening == 0 { 0 } else { 120 }), done));
            // Switched, now and then.
            manifest.switch_after(600);
            manifest.settle(false).unwrap();
            manifest.connect(hooks(move || Ok(Lsn(log))));
            for n in 1..=20 {
                let cut = Timestamp(done + n);
                manifest.apply(Edit { table: TableId(3), cut, payload: vec![1; 20], ..Edit::default() }).unwrap();
            }
            manifest.name_log_end(Lsn(120)).unwrap();
            manifest.name_log_end(Lsn(110)).unwrap();
        }
    });
}

#[test]
fn the_log_is_told_of_each_edit_once_and_in_order() {
    let simulation = simulation(1);
    run(&simulation, |env| {
        let told = Arc::new(Mutex::new(Vec::new()));
        let mut applied = Vec::new();
        for opening in 0..2 {
            let (mut manifest, recovered) = Manifest::open(&env, &dir()).unwrap();
            assert_eq!(recovered.edits, opening * 21);
            // Switched, now and then.
            manifest.switch_after(600);
            manifest.settle(false).unwrap();
            let inner = told.clone();
            let tell = move |number: u64, switch: &[u8]| {
                inner.lock().push((number, LayoutSwitch::decode(switch).expect("it can be read")));
            };
            manifest.connect(Hooks { tell: Box::new(tell), ..hooks(|| Ok(Lsn(0))) });
            for n in 1..=20 {
                let edit = Edit { cut: Timestamp(opening * 20 + n), payload: vec![1; 20], ..edit(n % 2) };
                let edit = Edit { table: TableId(n as u32 % 3), added: Vec::new(), removed: Vec::new(), ..edit };
                manifest.apply(edit.clone()).unwrap();
                let is_catalog = edit.table == TableId(0);
                let payload = if is_catalog { Vec::new() } else { edit.payload.clone() };
                applied.push(LayoutSwitch::Edit(Edit { payload, ..edit }));
            }
            // What changes nothing is not told.
            manifest.forget(TableId(9)).unwrap();
            manifest.forget(TableId(2)).unwrap();
            applied.push(LayoutSwitch::Forget(TableId(2)));
        }
        let wanted: Vec<_> = (1..).zip(applied).collect();
        assert_eq!(*told.lock(), wanted);
    });
}

/// Who opened before, and is slow, may still remove the files that it found: none of them gets its number again.
#[test]
fn a_new_file_is_numbered_behind_all_that_were_found() {
    let simulation = simulation(1);
    run(&simulation, |env| {
        drop(open(&env).unwrap());
        env.fs.open(&dir().join("MANIFEST-7"), OpenMode::CreateNew).unwrap();
        let (manifest, _) = open(&env).unwrap();
        assert!(!env.fs.exists(&dir().join("MANIFEST-7")).unwrap(), "an unfinished switch left it");
        for n in 1..=60 {
            manifest
                .apply(Edit { table: TableId(3), cut: Timestamp(n), payload: vec![1; 20], ..Edit::default() })
                .unwrap();
        }
        let numbers: Vec<u64> =
            env.fs.list(&dir()).unwrap().iter().filter_map(|name| layout::manifest_number(name)).collect();
        assert!(numbers.len() == 1 && numbers[0] > 7, "{numbers:?}");
    });
}
