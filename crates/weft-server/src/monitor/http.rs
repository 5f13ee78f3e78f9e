//! What the server says to who watches it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use weft::Database;
use weft_env::sync::Mutex;
use weft_format::Result;
use weft_wire::monitor::{Answer, Responder};

use super::metrics;

/// Where the server is in its life.
#[derive(Clone)]
enum Phase {
    Recovering,
    Serving(Database),
    Closing,
}

/// A running responder. Dropping it ends it.
pub struct Monitor {
    phase: Arc<Mutex<Phase>>,
    responder: Responder,
}

impl Monitor {
    /// Begins to answer, that the database recovers.
    pub fn start(address: SocketAddr) -> Result<Monitor> {
        let (phase, begun) = (Arc::new(Mutex::new(Phase::Recovering)), Instant::now());
        let of_thread = Arc::clone(&phase);
        let says = move |path: &str| {
            let phase = of_thread.lock().clone();
            match path {
                "/health" => Some(Answer::Health(health(&phase))),
                "/metrics" => {
                    let database = if let Phase::Serving(database) = &phase { Some(database) } else { None };
                    Some(Answer::Page(metrics::render(database, begun.elapsed(), health(&phase).is_ok())))
                }
                _ => None,
            }
        };
        Ok(Monitor { phase, responder: Responder::start(address, says)? })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.responder.address()
    }

    /// The database is open and clients are let in.
    pub fn serve(&self, database: &Database) {
        *self.phase.lock() = Phase::Serving(database.clone());
    }

    /// The server ends.
    pub fn close(&self) {
        *self.phase.lock() = Phase::Closing;
    }
}

/// Why the server cannot serve, if so.
fn health(phase: &Phase) -> std::result::Result<(), String> {
    match phase {
        Phase::Recovering => Err("recovering".into()),
        Phase::Closing => Err("shutting down".into()),
        Phase::Serving(database) => match database.status().poisoned {
            Some(cause) => Err(format!("stopped: {cause}")),
            None => Ok(()),
        },
    }
}
