//! What the engine does by itself, for the log: jobs that fail, the log being cut off, the engine's stop.
//!
//! A thread looks at the engine's numbers every second. It costs nothing that statements would notice, and the kernel
//! needs to know no log.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use weft::EngineStatus;

use super::shared::Shared;

const PERIOD: Duration = Duration::from_secs(1);

/// Starts the thread; it ends by itself when the server closes, and sooner when it is unparked then.
pub(super) fn start(shared: &Arc<Shared>) -> std::io::Result<thread::JoinHandle<()>> {
    let shared = Arc::clone(shared);
    thread::Builder::new().name("weft-watch".into()).spawn(move || {
        let mut known = shared.database().status();
        while !shared.is_closing() {
            thread::park_timeout(PERIOD);
            let now = shared.database().status();
            tell(&shared, &known, &now);
            known = now;
        }
    })
}

fn tell(shared: &Shared, known: &EngineStatus, now: &EngineStatus) {
    let log = shared.log();
    if now.jobs_failed > known.jobs_failed {
        log.error("jobs_failed", &[("count", &(now.jobs_failed - known.jobs_failed))]);
    }
    if now.log_bytes < known.log_bytes {
        log.info("log_cut", &[("before_bytes", &known.log_bytes), ("after_bytes", &now.log_bytes)]);
    }
    if let (None, Some(cause)) = (&known.poisoned, &now.poisoned) {
        log.error("stopped", &[("cause", cause), ("remedy", &"look after the disk, then start the server again")]);
    }
}
