//! A file is damaged for good between two runs: one bit, some sectors, or the newest segment of the log is gone. The
//! next opening says so and names the file, or what was damaged meant nothing: the state is right, and nothing that was
//! known to be durable is lost. It is never a wrong state.
//!
//! ```text
//!   round, crash ─ log-0000000000009000 ─ flip bit 3117 ─ open, check, read: "... log-0000000000009000 ..." (XX001)
//!   round, close ─ MANIFEST-4           ─ lose sectors 7, 8
//!   round, quiet ─ log-0000000000009000 ─ gone
//! ```
//!
//! Any place of the file may be hit, its last byte included. The end of a log that nobody closed and that was never
//! quiet cannot be told from an unfinished write: what came after the last checkpoint may be lost there, as the last
//! commits of a crash are that were acknowledged asynchronously, and no others.

use std::path::Path;
use std::sync::{Arc, Mutex};

use weft_env::OpenMode;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::{Code, Error};

use crate::history::History;
use crate::random::Random;
use crate::round::{open_engine, round, round_to_named_end, verify};
use crate::scenario::Scenario;
use crate::tables::DIR;

/// A sector of the simulated disk, bytes.
const SECTOR: u64 = 512;

/// Which kind of file is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// A log segment, the newest more often than not.
    Log,
    /// The manifest or CURRENT.
    Manifest,
    /// A data file: one bit, since its blocks have checksums of their own.
    DataFile,
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    FlipBit,
    LoseSectors,
    LoseFile,
}

impl Damaged {
    fn includes(self, name: &str) -> bool {
        match self {
            Damaged::Log => name.starts_with("log-") && !name.ends_with(".tmp"),
            Damaged::Manifest => name.starts_with("MANIFEST-") || name == "CURRENT",
            Damaged::DataFile => name.ends_with(".data"),
        }
    }

    fn harm(self, random: &mut Random) -> Harm {
        match (self, random.below(10)) {
            (Damaged::DataFile, _) | (_, 0..=4) => Harm::FlipBit,
            (Damaged::Log, 5 | 6) => Harm::LoseFile,
            _ => Harm::LoseSectors,
        }
    }
}

/// Whether an error is about damaged bytes and names the file.
pub fn names_the_damage(error: &Error) -> bool {
    let message = error.message();
    let file = [".data", "file ", "log-", "MANIFEST", "CURRENT"].iter().any(|part| message.contains(part));
    error.code() == Code::DataCorrupted && file
}

/// Damages a file after a crash, a close or a quiet moment, and opens. True: it was reported; false: the state was
/// right; none: there was no file.
pub fn damage(seed: u64, kind: Damaged) -> Result<Option<bool>, String> {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let history = Arc::new(History::default());
    let scenario = Scenario { async_percent: 0, ..Scenario::seeded(seed) };
    let mut random = Random::new(seed, 53);
    live(&simulation, &scenario, &history, &mut random)?;
    let Some(what) = harm(&simulation, kind, &mut random)? else { return Ok(None) };

    let before = content(&simulation)?;
    let reported = Arc::new(Mutex::new(false));
    let result = Arc::clone(&reported);
    let end = simulation.run(move |env| match open_and_check(&env, &scenario) {
        Ok(engine) => {
            history.forgive_unnamed();
            verify(&engine, &history, &mut random);
        }
        Err(error) => {
            assert!(names_the_damage(&error), "violation: the error does not name the damage: {error}");
            *result.lock().expect("nobody panics with it") = true;
        }
    });
    if end != RunEnd::Finished {
        return Err(format!("{what}: {end:?}"));
    }
    let reported = *reported.lock().expect("nobody panics with it");
    // Of a log or a manifest the opening itself says it.
    if reported && kind != Damaged::DataFile && content(&simulation)? != before {
        return Err(format!("{what}: it was reported, and the directory was changed"));
    }
    Ok(Some(reported))
}

/// Two runs: the second one ends with a crash, so that the log holds what no data file does; or with a close or a quiet
/// moment, so that the end of the log is known.
fn live(
    simulation: &Simulation,
    scenario: &Scenario,
    history: &Arc<History>,
    random: &mut Random,
) -> Result<(), String> {
    let (first, second) = (scenario.clone(), scenario.clone());
    let (of_first, of_second) = (Arc::clone(history), Arc::clone(history));
    let passed = |end: RunEnd| match end {
        RunEnd::Panicked { thread, message } => Err(format!("{thread}: {message}")),
        _ => Ok(()),
    };
    passed(simulation.run(move |env| round(&env, &first, &of_first, 0, |_, _| ())))?;
    match random.below(3) {
        0 => passed(simulation.run(move |env| round_to_named_end(&env, &second, &of_second, 1, true)))?,
        1 => {
            passed(simulation.run(move |env| round_to_named_end(&env, &second, &of_second, 1, false)))?;
            simulation.power_off();
        }
        _ => {
            simulation.crash_after(100 + random.below(300));
            passed(simulation.run(move |env| round(&env, &second, &of_second, 1, |_, _| ())))?;
            simulation.cancel_crash();
        }
    }
    Ok(())
}

/// Damages a file of the kind; says what was done, or none when there is no file.
fn harm(simulation: &Simulation, kind: Damaged, random: &mut Random) -> Result<Option<String>, String> {
    let failed = |error: std::io::Error| error.to_string();
    let env = simulation.env();
    let names = env.fs.list(Path::new(DIR)).map_err(failed)?;
    let names: Vec<&String> = names.iter().filter(|name| kind.includes(name)).collect();
    let Some(newest) = names.iter().max() else { return Ok(None) };
    let harm = kind.harm(random);
    let picked = names[random.below(names.len() as u64) as usize];
    let is_newest = harm == Harm::LoseFile || kind == Damaged::Log && random.chance(70);
    let name = if is_newest { *newest } else { picked };
    let path = Path::new(DIR).join(name);
    let used = used_bytes(simulation, name).map_err(failed)?;
    if used < 8 {
        return Ok(None);
    }
    // The end is where it is hard to tell: it is hit more often.
    let from = if random.chance(40) { used.saturating_sub(SECTOR) } else { 0 };
    let what = match harm {
        Harm::FlipBit => {
            let bit = from * 8 + random.below((used - from) * 8);
            simulation.faults().damage(&path, bit).map_err(failed)?;
            format!("bit {bit}")
        }
        Harm::LoseSectors => {
            let first = from / SECTOR + random.below(used.div_ceil(SECTOR) - from / SECTOR);
            let count = 1 + random.below(8);
            simulation.faults().lose(&path, first * SECTOR, count * SECTOR).map_err(failed)?;
            format!("{count} sectors from {first} on")
        }
        Harm::LoseFile => {
            env.fs.remove(&path).map_err(failed)?;
            env.fs.sync_dir(Path::new(DIR)).map_err(failed)?;
            "all".to_owned()
        }
    };
    Ok(Some(format!("{what} of {name} ({used} bytes are used) was damaged")))
}

/// What `check` finds becomes an error.
fn open_and_check(env: &weft_env::Env, scenario: &Scenario) -> weft_format::Result<Arc<weft_kernel::Engine>> {
    let engine = open_engine(env, scenario)?;
    match engine.check()?.first() {
        Some(line) => Err(Error::corrupt(line.clone())),
        None => Ok(engine),
    }
}

/// The names and bytes of all files but the lock.
fn content(simulation: &Simulation) -> Result<Vec<(String, Vec<u8>)>, String> {
    let env = simulation.env();
    let read = |name: String| {
        let bytes = read(simulation, &name)?;
        Ok((name, bytes))
    };
    let names = env.fs.list(Path::new(DIR)).map_err(|error| error.to_string())?;
    let files: std::io::Result<Vec<_>> =
        names.into_iter().filter(|name| name != "LOCK" && !name.starts_with("WRITER-")).map(read).collect();
    files.map_err(|error| error.to_string())
}

fn read(simulation: &Simulation, name: &str) -> std::io::Result<Vec<u8>> {
    let file = simulation.env().fs.open(&Path::new(DIR).join(name), OpenMode::Read)?;
    let mut bytes = vec![0; file.len()? as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// Bytes up to the last one that is not zero.
fn used_bytes(simulation: &Simulation, name: &str) -> std::io::Result<u64> {
    let bytes = read(simulation, name)?;
    Ok(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1))
}
