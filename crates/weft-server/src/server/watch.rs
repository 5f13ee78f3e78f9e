//! What nobody asks for: what the engine does by itself, for the log, and clients that are gone.
//!
//! ```text
//!   0 ms    the client of 4711 is killed while its query runs
//!   < 250   a look finds its socket ended          it may still have been about to send its farewell
//!   < 500   the next look finds it so again        the query is cancelled, its transaction rolled back, the slot free
//! ```
//!
//! A thread looks at all sockets four times a second, with one call to the system, and at the engine's numbers every
//! second. It costs nothing that statements would notice, and the kernel needs to know no log.
//!
//! 1. A client that has ended its half of the connection is gone, as for PostgreSQL's client_connection_check_interval.
//! 2. Nothing is read: what a client has sent ahead is not taken from its connection's thread, under TLS neither.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use weft::EngineStatus;

use super::shared::Shared;

const PERIOD: Duration = Duration::from_millis(250);
/// Looks at the sockets from one at the engine to the next.
const LOOKS: u32 = 4;

/// Starts the thread; it ends by itself when the server closes, and sooner when it is unparked then.
pub(super) fn start(shared: &Arc<Shared>) -> std::io::Result<thread::JoinHandle<()>> {
    let shared = Arc::clone(shared);
    thread::Builder::new().name("weft-watch".into()).spawn(move || {
        let mut known = shared.database().status();
        let mut told = BTreeSet::new();
        let mut looks = 0;
        while !shared.is_closing() {
            thread::park_timeout(PERIOD);
            shared.end_gone();
            looks += 1;
            if looks % LOOKS == 0 {
                let now = shared.database().status();
                tell(&shared, &known, &now);
                told = tell_troubles(&shared, &told);
                known = now;
            }
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

/// Tells what is wrong that was not a moment ago; what is wrong now.
fn tell_troubles(shared: &Shared, told: &BTreeSet<String>) -> BTreeSet<String> {
    let troubles = shared.database().troubles();
    for (what, remedy) in troubles.iter().filter(|(what, _)| !told.contains(what)) {
        shared.log().error("trouble", &[("what", what), ("remedy", remedy)]);
    }
    troubles.into_iter().map(|(what, _)| what).collect()
}
