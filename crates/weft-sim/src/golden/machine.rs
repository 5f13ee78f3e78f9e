//! Runs a script: one machine, one simulated process after the other.
//!
//! ```text
//!   run 1   open · create t · insert t 1-10 · crash      the power fails: what was not synced is kept, torn or lost
//!   run 2   files · open · read t · crash-at convert: files synced · run-job
//!   run 3   files · open
//! ```

use std::sync::{Arc, Mutex};
use std::time::Duration;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_kernel::EngineOptions;

use super::command::Command;
use super::process::Process;
use super::progress::{Progress, Shared};
use super::script::Script;
use super::trace::STEP_PREFIX;

/// The machine when the script does not say otherwise.
const SEED: u64 = 1;
/// How long a sync takes: longer than anything that threads do without waiting.
const SYNC_DURATION: Duration = Duration::from_millis(100);

/// Runs a script; the same script with what its commands print now.
pub fn run_script(script: &Script) -> Script {
    let lines = script.blocks.iter().flat_map(|block| &block.commands);
    let commands: Vec<Command> = lines.map(|line| Command::parse(line)).collect();
    let seed = commands.iter().find_map(|command| command.options.get("seed")?.parse().ok()).unwrap_or(SEED);
    let options = SimOptions {
        record_trace: true,
        // Threads change only where one waits (golden 1), so that a script says who runs when.
        switch_permille: Some(0),
        sync_duration: SYNC_DURATION,
        ..SimOptions::seeded(seed)
    };
    let progress = Progress { commands, outputs: Vec::new(), options: engine_options(), trace_seen: 0 };
    let shared = Shared { progress: Arc::new(Mutex::new(progress)), simulation: Arc::new(Simulation::new(options)) };
    while !shared.is_done() {
        let process = shared.clone();
        match shared.simulation.run(move |env| Process::new(env, process).run()) {
            RunEnd::Finished => {}
            RunEnd::Crashed { operation, .. } => {
                let operation = operation.replace("db/", "");
                if !operation.contains(STEP_PREFIX) {
                    shared.print([format!("crashed in: {operation}")]);
                }
            }
            RunEnd::Panicked { thread, message } => {
                shared.print([format!("thread {thread} panicked: {message}")]);
                break;
            }
        }
    }
    let mut outputs = shared.with(|progress| std::mem::take(&mut progress.outputs)).into_iter();
    let mut found = script.clone();
    for block in &mut found.blocks {
        let lines = outputs.by_ref().take(block.commands.len()).flatten();
        // An empty line ends what is expected, so none is printed.
        block.output =
            lines.filter(|line| !line.trim().is_empty()).map(|line| format!("{}\n", line.trim_end())).collect();
    }
    found
}

/// Small files, no threads: scripts say when jobs run.
fn engine_options() -> EngineOptions {
    EngineOptions {
        row_table_bytes: 1 << 20,
        row_memory_bytes: 16 << 20,
        cache_bytes: 1 << 20,
        log_segment_bytes: 8 << 10,
        checkpoint_log_bytes: 1 << 20,
        manifest_bytes: 1 << 20,
        lock_timeout: Duration::from_secs(10),
        workers: 0,
        owner: Some("golden".into()),
        ..EngineOptions::default()
    }
}
