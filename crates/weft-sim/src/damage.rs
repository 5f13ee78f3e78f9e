//! One bit of a file is damaged for good between two runs: the next open says so and names the file, or the bit meant
//! nothing and the state is right. It is never a wrong state.
//!
//! ```text
//!   round, crash ─ a file of the kind ─ flip bit 3117 ─ open, check, read:   "... log-0000000000009000 ..." (XX001)
//! ```

use std::path::Path;
use std::sync::{Arc, Mutex};

use weft_env::OpenMode;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::{Code, Error};
use weft_kernel::log::read_log;

use crate::history::History;
use crate::random::Random;
use crate::round::{open_engine, round, verify};
use crate::scenario::Scenario;
use crate::tables::DIR;

/// Which kind of file is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// A log segment, in the first half of what was written to it and before the last block: the blocks that follow
    /// prove that it was durable.
    Log,
    /// The manifest or CURRENT, in the first half, likewise.
    Manifest,
    /// A data file, anywhere.
    DataFile,
}

impl Damaged {
    fn includes(self, name: &str) -> bool {
        match self {
            Damaged::Log => name.starts_with("log-") && !name.ends_with(".tmp"),
            Damaged::Manifest => name.starts_with("MANIFEST-") || name == "CURRENT",
            Damaged::DataFile => name.ends_with(".col"),
        }
    }
}

/// Whether an error is about damaged bytes and names the file.
pub fn names_the_damage(error: &Error) -> bool {
    let message = error.message();
    let file = [".col", "file ", "log-", "MANIFEST", "CURRENT"].iter().any(|part| message.contains(part));
    error.code() == Code::DataCorrupted && file
}

/// Damages one bit after a crash and opens. True: it was reported; false: the state was right; none: there was no file.
pub fn damage(seed: u64, kind: Damaged) -> Result<Option<bool>, String> {
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let history = Arc::new(History::default());
    let scenario = Scenario { async_percent: 0, ..Scenario::seeded(seed) };
    let mut random = Random::new(seed, 53);
    for number in 0..2 {
        if number == 1 {
            // Ended by a crash, so that the log holds what no data file does.
            simulation.crash_after(100 + random.below(300));
        }
        let (scenario, history) = (scenario.clone(), Arc::clone(&history));
        let end = simulation.run(move |env| round(&env, &scenario, &history, number, |_, _| ()));
        if let RunEnd::Panicked { thread, message } = end {
            return Err(format!("{thread}: {message}"));
        }
    }
    simulation.cancel_crash();
    let names = simulation.env().fs.list(Path::new(DIR)).map_err(|error| error.to_string())?;
    let names: Vec<&String> = names.iter().filter(|name| kind.includes(name)).collect();
    if names.is_empty() {
        return Ok(None);
    }
    let name = names[random.below(names.len() as u64) as usize].clone();
    let used = used_bytes(&simulation, &name).map_err(|error| error.to_string())?;
    if used < 8 {
        return Ok(None);
    }
    let bits = match kind {
        Damaged::Log => last_block(&simulation, &name)?.unwrap_or(used).min(used / 2) * 8,
        Damaged::Manifest => used * 4,
        Damaged::DataFile => used * 8,
    };
    let bit = random.below(bits);
    simulation.faults().damage(&Path::new(DIR).join(&name), bit).map_err(|error| error.to_string())?;

    let reported = Arc::new(Mutex::new(false));
    let result = Arc::clone(&reported);
    let end = simulation.run(move |env| match open_and_check(&env, &scenario) {
        Ok(engine) => verify(&engine, &history, &mut random),
        Err(error) => {
            assert!(names_the_damage(&error), "violation: the error does not name the damage: {error}");
            *result.lock().expect("nobody panics with it") = true;
        }
    });
    if end != RunEnd::Finished {
        return Err(format!("bit {bit} of {name} ({used} bytes are used) was damaged: {end:?}"));
    }
    let reported = *reported.lock().expect("nobody panics with it");
    Ok(Some(reported))
}

/// What `check` finds becomes an error.
fn open_and_check(env: &weft_env::Env, scenario: &Scenario) -> weft_format::Result<Arc<weft_kernel::Engine>> {
    let engine = open_engine(env, scenario)?;
    match engine.check()?.first() {
        Some(line) => Err(Error::corrupt(line.clone())),
        None => Ok(engine),
    }
}

/// Where the last block of the log begins, when this is the last segment.
fn last_block(simulation: &Simulation, name: &str) -> Result<Option<u64>, String> {
    let env = simulation.env();
    let fail = |error: Error| error.to_string();
    let segments = env.fs.list(Path::new(DIR)).map_err(|error| error.to_string())?;
    let last = segments.iter().filter(|other| Damaged::Log.includes(other)).max();
    if last.is_none_or(|last| last != name) {
        return Ok(None);
    }
    let mut reader = read_log(&env, Path::new(DIR)).map_err(fail)?;
    while reader.next().map_err(fail)?.is_some() {}
    Ok(Some(reader.finish().last_block_offset().unwrap_or(0).max(1)))
}

/// Bytes up to the last one that is not zero.
fn used_bytes(simulation: &Simulation, name: &str) -> std::io::Result<u64> {
    let file = simulation.env().fs.open(&Path::new(DIR).join(name), OpenMode::Read)?;
    let mut bytes = vec![0; file.len()? as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1))
}
