//! What the command line says about the demo.
//!
//! ```text
//!   demo --quick --readers 2 --seconds 10      18,000 flights, 4 writers of one event per transaction, 2 readers, 10 s
//! ```

use std::path::PathBuf;
use std::time::Duration;

use weft::Durability;

use super::source;
use crate::subcommand::{Arguments, Failure};

/// Flights of `--quick`: about the first three weeks of January.
const QUICK_FLIGHTS: u64 = 18_000;

/// The data, the sizes and the switches.
pub(super) struct Plan {
    pub(super) data: PathBuf,
    pub(super) dir: Option<PathBuf>,
    pub(super) writers: usize,
    pub(super) readers: usize,
    pub(super) flights: usize,
    pub(super) batch: usize,
    pub(super) seconds: Option<Duration>,
    pub(super) durability: Durability,
    pub(super) plain: bool,
}

impl Plan {
    /// Takes the options out of the command line.
    pub(super) fn new(arguments: &mut Arguments) -> Result<Plan, Failure> {
        let quick = arguments.flag("--quick");
        let flights = arguments.number("--flights", if quick { QUICK_FLIGHTS } else { u64::MAX })?;
        let seconds = arguments.number("--seconds", 0)?;
        Ok(Plan {
            data: source::find_data(arguments.option("--data")?)?,
            dir: arguments.option("--dir")?.map(PathBuf::from),
            writers: arguments.number("--writers", 4)?.clamp(1, 64) as usize,
            readers: arguments.number("--readers", 1)?.min(64) as usize,
            flights: usize::try_from(flights).unwrap_or(usize::MAX),
            batch: arguments.number("--batch", 1)?.clamp(1, 10_000) as usize,
            seconds: (seconds > 0).then(|| Duration::from_secs(seconds)),
            durability: if arguments.flag("--async") { Durability::Async } else { Durability::Full },
            plain: arguments.flag("--plain"),
        })
    }
}
