//! The command line of the suite.
//!
//! | option | what | default, `--quick`, `--full` |
//! |---|---|---|
//! | `--rows` | rows of a table | 400,000, 20,000, 10,000,000 |
//! | `--active` | rows touched: low, medium, high contention | all, 100,000, 10,000; quick: 2,000, 200 |
//! | `--threads` | updaters of figure 7 | 1,2,4; 2; 1,2,4,8,16,22 |
//! | `--updaters` | updaters of all other experiments | 2; 2; 16 |
//! | `--millis` | one turn of one method | 700; 100; 5,000 |
//! | `--rounds` | turns of each method per point; the median counts | 1; 1; 3 |
//! | `--methods` | lineage, column, iuh, dbm | all |
//! | `--durability` | `async`: commits do not wait for the disk; `full`; `both` | async |
//! | `--page-rows` | rows of a page (iuh) and of a range (dbm) | 4096 |
//! | `--merge-changes` | changes of a delta that make a merge due (dbm) | 2048 |
//! | `--only` | experiments | all |
//! | `--json` | a JSON line for each turn as well | |

use std::path::PathBuf;
use std::time::Duration;

use weft_kernel::Durability;

use crate::directory;
use crate::subcommand::{Arguments, Failure};

/// Methods that can be measured; lineage is what the others are compared with.
const METHODS: &str = "lineage,column,iuh,dbm";

/// All that an experiment may be told.
pub(super) struct Settings {
    pub(super) dir: PathBuf,
    pub(super) dir_was_named: bool,
    pub(super) rows: u64,
    /// By contention: low, medium, high.
    pub(super) active: [u64; 3],
    pub(super) threads: Vec<u64>,
    pub(super) updaters: u64,
    pub(super) turn: Duration,
    pub(super) rounds: u64,
    pub(super) methods: Vec<String>,
    pub(super) durabilities: Vec<Durability>,
    pub(super) page_rows: u64,
    pub(super) merge_changes: u64,
    pub(super) prints_json: bool,
}

/// Names of the three degrees of contention.
pub(super) const CONTENTION: [&str; 3] = ["low", "medium", "high"];

/// Defaults: as they are, with `--quick`, with `--full`.
const ROWS: [u64; 3] = [400_000, 20_000, 10_000_000];
const ACTIVE: [[u64; 2]; 3] = [[100_000, 10_000], [2_000, 200], [100_000, 10_000]];
const THREADS: [&[u64]; 3] = [&[1, 2, 4], &[2], &[1, 2, 4, 8, 16, 22]];
const UPDATERS: [u64; 3] = [2, 2, 16];
const MILLIS: [u64; 3] = [700, 100, 5_000];
const ROUNDS: [u64; 3] = [1, 1, 3];

impl Settings {
    /// Takes the options out of the command line.
    pub(super) fn read(words: &mut Arguments) -> Result<Settings, Failure> {
        let size = match (words.flag("--quick"), words.flag("--full")) {
            (false, false) => 0,
            (true, false) => 1,
            (false, true) => 2,
            (true, true) => return Err(Failure::Usage("--quick and --full exclude each other".to_owned())),
        };
        let rows = words.number("--rows", ROWS[size])?;
        let [medium, high] = ACTIVE[size];
        let active = words.numbers("--active", &[rows, medium, high])?;
        let methods = words.option("--methods")?.unwrap_or_else(|| METHODS.to_owned());
        let dir = words.option("--dir")?;
        let durabilities = match words.option("--durability")?.as_deref() {
            None | Some("async") => vec![Durability::Async],
            Some("full") => vec![Durability::Full],
            Some("both") => vec![Durability::Async, Durability::Full],
            Some(other) => return Err(Failure::Usage(format!("--durability is async, full or both, not {other}"))),
        };
        let settings = Settings {
            dir_was_named: dir.is_some(),
            dir: dir.map_or_else(|| directory::temporary("lineage"), PathBuf::from),
            rows,
            active: active.try_into().map_err(|_| Failure::Usage("--active needs three numbers".to_owned()))?,
            threads: words.numbers("--threads", THREADS[size])?,
            updaters: words.number("--updaters", UPDATERS[size])?,
            turn: Duration::from_millis(words.number("--millis", MILLIS[size])?),
            rounds: words.number("--rounds", ROUNDS[size])?,
            methods: methods.split(',').map(str::to_owned).collect(),
            durabilities,
            page_rows: words.number("--page-rows", 4096)?,
            merge_changes: words.number("--merge-changes", 2048)?,
            prints_json: words.flag("--json"),
        };
        settings.verify()
    }

    fn verify(self) -> Result<Settings, Failure> {
        let usage = |message: String| Err(Failure::Usage(message));
        if let Some(unknown) = self.methods.iter().find(|name| !METHODS.split(',').any(|known| known == *name)) {
            return usage(format!("there is no method {unknown}; there are {METHODS}"));
        }
        if self.active.iter().any(|active| !(20..=self.rows).contains(active)) {
            return usage("--active needs 20 rows at least, and no more than --rows".to_owned());
        }
        if self.rounds == 0 || self.turn.is_zero() || self.updaters == 0 || self.threads.contains(&0) {
            return usage("--rounds, --millis, --updaters and --threads need 1 at least".to_owned());
        }
        if !(16..=1 << 16).contains(&self.page_rows) || !(1..=1 << 31).contains(&self.merge_changes) {
            return usage("--page-rows needs 16 to 65536, --merge-changes 1 to 2^31".to_owned());
        }
        Ok(self)
    }
}

/// How a durability is named in results.
pub(super) fn durability_name(durability: Durability) -> &'static str {
    match durability {
        Durability::Async => "async",
        Durability::Full => "full",
    }
}
