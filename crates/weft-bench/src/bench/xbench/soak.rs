//! Minutes of the mix at full rate on a table that keeps its size: does anything grow?
//!
//! ```text
//!   INSERT a new key · UPDATE any · upsert any · DELETE the lowest key        beside SQL3, SQL4, SQL5
//!   per window of 10 s    p99 of the queries, writes/s, reads/s, most resident memory, most bytes on disk
//!                         and how fast the host is: a loop of additions, a sync of 4 KiB
//!   at the end            VACUUM, checkpoint: the bytes that the live rows need
//! ```
//!
//! The paper's mix only adds rows, and a table that grows makes its scans longer by itself; a DELETE per INSERT keeps
//! the number of rows.
//!
//! 1. Resident memory is the process's without the clients' histograms, which grow with the number of windows.
//! 2. The probe of the host runs once in a window, between two samples: a slow host is not a slow engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weft_env::{Env, File, OpenMode};

use super::lines::Lines;
use super::mix::{Mix, Plan, Ran};
use super::pauses::Rates;
use super::process;
use super::settings::Settings;
use super::table::Shape;
use super::trial::Trial;
use super::writer::Write;
use crate::directory;
use crate::subcommand::Failure;

const WRITES: [Write; 4] = [Write::Insert, Write::Update, Write::Replace, Write::Delete];

/// How often memory and space are looked at.
const SAMPLE: Duration = Duration::from_secs(1);

/// The most that a window saw.
#[derive(Clone, Copy, Default)]
struct Peak {
    resident_bytes: u64,
    space_bytes: u64,
    log_bytes: u64,
    row_memory_bytes: u64,
    spin: Duration,
    sync: Duration,
}

/// How fast the host is.
struct Probe {
    file: Arc<dyn File>,
}

/// Additions of a probe: a millisecond or two.
const SPINS: u64 = 2_000_000;
/// Bytes that a probe writes and syncs.
const SYNCED: [u8; 4096] = [7; 4096];

impl Probe {
    /// With a file beside the database's directory.
    fn new(trial: &Trial) -> Result<Probe, Failure> {
        let path = trial.dir.with_extension("probe");
        let failed = |error| Failure::io(format!("cannot make {}", path.display()), &error);
        let fs = Env::real().fs;
        let file = fs.open(&path, OpenMode::CreateNew).map_err(failed)?;
        fs.remove(&path).map_err(failed)?;
        Ok(Probe { file })
    }

    fn spin(&self) -> Duration {
        let begun = Instant::now();
        std::hint::black_box((0..SPINS).fold(0_u64, |sum, number| std::hint::black_box(sum.wrapping_add(number))));
        begun.elapsed()
    }

    fn sync(&self) -> Result<Duration, Failure> {
        let begun = Instant::now();
        let written = self.file.write_at(&SYNCED, 0).and_then(|()| self.file.sync_data());
        written.map_err(|error| Failure::io("cannot sync the probe's file".to_owned(), &error))?;
        Ok(begun.elapsed())
    }
}

/// The mix, sampled every second.
pub(super) fn run(settings: &Settings) -> Result<(), Failure> {
    let configuration = settings.plain()?;
    let lines = Lines { experiment: "soak", configuration: &configuration.name, rows: settings.rows };
    let trial = Trial::start(settings, lines, &configuration, Shape::SHORT)?;
    trial.load_second()?;
    trial.settle()?;
    let mut mix = Mix::new(settings, &trial)?;
    let mut peaks: Vec<Peak> = Vec::new();
    let own_bytes = AtomicU64::new(0);
    let probe = Probe::new(&trial)?;
    let plan = Plan {
        writes: &WRITES,
        rates: Rates::default(),
        time: settings.soak_time,
        queries: 0,
        window: settings.window,
        sample: SAMPLE,
        own_bytes: &own_bytes,
    };
    let sample = |time: Duration| {
        let window = (time.as_nanos() / settings.window.as_nanos()) as usize;
        if peaks.len() <= window {
            peaks.resize(window + 1, Peak::default());
            peaks[window].probe(&probe)?;
        }
        peaks[window].sample(&trial, own_bytes.load(Ordering::Relaxed))
    };
    let ran = mix.run(&plan, sample, || Ok(true))?;
    put(lines, &ran, &peaks, settings.window);
    let (count, sum) = mix.expected();
    trial.expect(count, sum)?;
    if let Some(limit) = settings.memory_limit_bytes {
        lines.put("end", "memory_limit", limit as f64, "bytes");
    }
    trial.database.session()?.execute("VACUUM")?;
    trial.database.checkpoint()?;
    trial.settle()?;
    let layout = trial.database.layout();
    let live: u64 = layout.iter().flat_map(|(_, _, layers)| layers).map(|layer| layer.bytes).sum();
    lines.put("end", "live_bytes", live as f64, "bytes");
    trial.finish()
}

impl Peak {
    fn probe(&mut self, probe: &Probe) -> Result<(), Failure> {
        self.spin = probe.spin();
        self.sync = probe.sync()?;
        Ok(())
    }

    fn sample(&mut self, trial: &Trial, own_bytes: u64) -> Result<(), Failure> {
        let status = trial.database.status();
        self.resident_bytes = self.resident_bytes.max(process::resident_bytes()?.saturating_sub(own_bytes));
        self.space_bytes = self.space_bytes.max(directory::bytes(&trial.dir)?);
        self.log_bytes = self.log_bytes.max(status.log_bytes);
        self.row_memory_bytes = self.row_memory_bytes.max(status.row_memory_bytes);
        Ok(())
    }
}

/// Prints the windows that were over when the run ended.
fn put(lines: Lines, ran: &Ran, peaks: &[Peak], window: Duration) {
    let whole = ((ran.time.as_nanos() / window.as_nanos()) as usize).max(1);
    for (number, timings) in ran.windows.iter().enumerate().take(whole) {
        let start_s = number as u64 * window.as_secs();
        for kind in ["reads", "writes"] {
            let Some(latencies) = timings.get(kind) else { continue };
            let rate = latencies.count() as f64 / window.as_secs_f64();
            lines.put(start_s, &format!("{kind}_per_s"), rate, "1/s");
            for (name, quantile) in [("p50", 0.5), ("p99", 0.99)] {
                let ms = latencies.quantile_ns(quantile) as f64 / 1e6;
                lines.put(start_s, &format!("{kind}_{name}"), ms, "ms");
            }
        }
        let Some(peak) = peaks.get(number).filter(|peak| peak.resident_bytes > 0) else { continue };
        lines.put(start_s, "host_spin", peak.spin.as_secs_f64() * 1e6, "us");
        lines.put(start_s, "host_sync", peak.sync.as_secs_f64() * 1e6, "us");
        lines.put(start_s, "resident", peak.resident_bytes as f64, "bytes");
        lines.put(start_s, "space", peak.space_bytes as f64, "bytes");
        lines.put(start_s, "log", peak.log_bytes as f64, "bytes");
        lines.put(start_s, "row_memory", peak.row_memory_bytes as f64, "bytes");
    }
}
