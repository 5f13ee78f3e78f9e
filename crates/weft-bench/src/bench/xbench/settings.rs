//! The command line of the suite: sizes, ratios, times, and the switches that reach Weft's options.
//!
//! | group | options |
//! |---|---|
//! | size | `--rows` `--row-bytes` `--wide-rows` `--sizes` `--ratios` `--projections` |
//! | time | `--seconds` `--queries` `--turn-seconds` `--update-seconds` `--soak-seconds` `--window-seconds` |
//! | mix | `--mix-row-bytes`: of table 1's rows, 0 for short strings |
//! | | `--writes` `--reads`: its statements; `--writes-per-second` `--reads-per-second`: of the paced one |
//! | statements | `--update-columns` `--sum-columns` `--max-columns` `--range-rows` `--filter-width` |
//! | ablations | `--configurations` `--compactions` `--schedulers` |
//! | Weft | `--memory-limit` `--commit` `--scheduler` and the table options of [`SWITCHES`] |

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use weft::{Durability, Options};

use super::configuration::Configuration;
use super::pauses::Rates;
use super::reader::Read;
use super::table::Shape;
use super::writer::Write;
use crate::bench::data::COLUMNS_EACH;
use crate::directory;
use crate::subcommand::{Arguments, Failure};

/// Switches that are options of the tables.
const SWITCHES: &[&str] = &[
    "incremental",
    "compaction",
    "conflict",
    "granularity_bytes",
    "bucket_bytes",
    "incremental_bytes",
    "row_table_bytes",
    "column_table_bytes",
];

/// All that an experiment may be told.
#[derive(Clone)]
pub(super) struct Settings {
    /// Where databases are made, each in a directory of its own.
    pub(super) dir: PathBuf,
    pub(super) dir_was_named: bool,
    /// Rows of `table_1`.
    pub(super) rows: u64,
    /// Bytes of a wide row, and how many of these figure 7b has.
    pub(super) row_bytes: u64,
    pub(super) wide_rows: u64,
    /// Sizes of the table of figure 8, bytes.
    pub(super) sizes_bytes: Vec<u64>,
    /// Shares of the rows that are updated, percent, ascending; none: each figure's own.
    ratios: Option<Vec<u64>>,
    /// Numbers of columns of figure 7b.
    pub(super) projections: Vec<u64>,
    /// How long the mix runs; at least as long as `queries` runs of SQL3 take in table 1.
    pub(super) time: Duration,
    pub(super) queries: u64,
    /// How long one scheduler runs before the next has its turn, in table 1.
    pub(super) turn: Duration,
    /// Bytes of the rows of table 1; 0: short strings.
    mix_row_bytes: u64,
    /// How long updates are measured at most for one point of a figure; the rest is done in large transactions. All are
    /// measured with `--update-seconds 0`.
    pub(super) update_time_max: Duration,
    pub(super) soak_time: Duration,
    pub(super) window: Duration,
    /// SQL2, SQL3 and SQL4: how many columns; SQL3 and SQL4: how many keys; SQL5: how many values of col_2.
    pub(super) update_columns: u64,
    pub(super) sum_columns: u64,
    pub(super) max_columns: u64,
    pub(super) range_rows: u64,
    pub(super) filter_width: u64,
    pub(super) memory_limit_bytes: Option<u64>,
    durability: Durability,
    switches: BTreeMap<String, String>,
    scheduler: Option<String>,
    /// The statements of the mix in table 1 and figure 9.
    pub(super) writes: Vec<Write>,
    pub(super) reads: Vec<Read>,
    /// How many of them each client starts in a second in the paced mix.
    pub(super) rates: Rates,
    configurations: Vec<String>,
    compactions: Vec<String>,
    schedulers: Vec<String>,
}

/// The defaults that `--quick` makes smaller: both.
const ROWS: [u64; 2] = [200_000, 20_000];
const WIDE_ROWS: [u64; 2] = [20_000, 2_000];
const SIZES_MB: [&[u64]; 2] = [&[32, 64, 128], &[8, 16]];
const SECONDS: [u64; 2] = [10, 2];
const QUERIES: [u64; 2] = [20_000, 300];
const TURN_SECONDS: [u64; 2] = [5, 1];
const UPDATE_SECONDS: [u64; 2] = [60, 2];
const SOAK_SECONDS: [u64; 2] = [60, 4];
const WINDOW_SECONDS: [u64; 2] = [10, 1];
const WRITES_PER_SECOND: [u64; 2] = [4_000, 400];
const READS_PER_SECOND: [u64; 2] = [200, 200];

impl Settings {
    /// Takes the options out of the command line.
    pub(super) fn read(words: &mut Arguments) -> Result<Settings, Failure> {
        let quick = usize::from(words.flag("--quick"));
        let ratios = words.numbers("--ratios", &[])?;
        let sizes_mb = words.numbers("--sizes", SIZES_MB[quick])?;
        let dir = words.option("--dir")?;
        let settings = Settings {
            dir_was_named: dir.is_some(),
            dir: dir.map_or_else(|| directory::temporary("xbench"), PathBuf::from),
            rows: words.number("--rows", ROWS[quick])?,
            row_bytes: words.number("--row-bytes", 4096)?,
            wide_rows: words.number("--wide-rows", WIDE_ROWS[quick])?,
            sizes_bytes: sizes_mb.iter().map(|mb| mb << 20).collect(),
            ratios: (!ratios.is_empty()).then_some(ratios),
            projections: words.numbers("--projections", &[1, 5, 10, 20, 30])?,
            time: seconds(words, "--seconds", SECONDS[quick])?,
            queries: words.number("--queries", QUERIES[quick])?,
            turn: seconds(words, "--turn-seconds", TURN_SECONDS[quick])?,
            mix_row_bytes: words.number("--mix-row-bytes", 0)?,
            update_time_max: update_time_max(words, UPDATE_SECONDS[quick])?,
            soak_time: seconds(words, "--soak-seconds", SOAK_SECONDS[quick])?,
            window: seconds(words, "--window-seconds", WINDOW_SECONDS[quick])?,
            update_columns: words.number("--update-columns", 3)?,
            sum_columns: words.number("--sum-columns", 10)?,
            max_columns: words.number("--max-columns", 10)?,
            range_rows: words.number("--range-rows", 10_000)?,
            filter_width: words.number("--filter-width", 10_000)?,
            memory_limit_bytes: words.bytes("--memory-limit")?,
            durability: durability(words)?,
            switches: switches(words)?,
            scheduler: words.option("--scheduler")?,
            writes: statements(words, "--writes", "insert,update", &Write::NAMED, Write::name)?,
            reads: statements(words, "--reads", "sql3,sql4,sql5", &Read::ALL, Read::name)?,
            rates: Rates {
                writes: Some(words.number("--writes-per-second", WRITES_PER_SECOND[quick])?),
                reads: Some(words.number("--reads-per-second", READS_PER_SECOND[quick])?),
            },
            configurations: names(words, "--configurations", "fine,rows,columns")?,
            compactions: names(words, "--compactions", "fine-compaction,whole")?,
            schedulers: names(words, "--schedulers", "cost,greedy,off")?,
        };
        settings.verify()
    }

    fn verify(self) -> Result<Settings, Failure> {
        let usage = |message: &str| Err(Failure::Usage(message.to_owned()));
        let all = 2 * COLUMNS_EACH;
        if self.rows < 100 || self.wide_rows < 100 {
            return usage("--rows and --wide-rows need 100 at least");
        }
        if !(1..=COLUMNS_EACH).contains(&self.sum_columns) {
            return Err(Failure::Usage(format!("--sum-columns needs 1 to {COLUMNS_EACH}: these are integers")));
        }
        if ![self.update_columns, self.max_columns].iter().chain(&self.projections).all(|k| (1..=all).contains(k)) {
            return Err(Failure::Usage(format!("a table has {all} columns besides its key")));
        }
        if self.reads.is_empty() {
            return usage("--reads needs one of sql3, sql4, sql5 at least");
        }
        if self.ratios.iter().flatten().any(|ratio| *ratio > 100) {
            return usage("--ratios are percent of all rows, 100 at most");
        }
        if self.rates.writes == Some(0) || self.rates.reads == Some(0) {
            return usage("--writes-per-second and --reads-per-second need 1 at least");
        }
        if self.window.is_zero() || self.turn.is_zero() || self.range_rows == 0 || self.filter_width == 0 {
            return usage("--window-seconds, --turn-seconds, --range-rows and --filter-width need 1 at least");
        }
        // Names are wrong before an hour has passed, not after.
        for names in [&self.configurations, &self.compactions, &self.schedulers] {
            self.named(names)?;
        }
        Ok(self)
    }

    /// The shares that are updated, percent, ascending.
    pub(super) fn ratios(&self, default: &[u64]) -> Vec<u64> {
        let mut ratios = self.ratios.clone().unwrap_or_else(|| default.to_vec());
        ratios.sort_unstable();
        ratios.dedup();
        ratios
    }

    /// The rows of table 1.
    pub(super) fn mix_shape(&self) -> Shape {
        if self.mix_row_bytes == 0 { Shape::SHORT } else { Shape::of_row_bytes(self.mix_row_bytes) }
    }

    /// Keys of a range of SQL3 and SQL4.
    pub(super) fn range(&self) -> u64 {
        self.range_rows.min(self.rows / 2)
    }

    /// Ways to store increments.
    pub(super) fn configurations(&self) -> Result<Vec<Configuration>, Failure> {
        self.named(&self.configurations)
    }

    /// Ways to compact.
    pub(super) fn compactions(&self) -> Result<Vec<Configuration>, Failure> {
        self.named(&self.compactions)
    }

    /// Ways to schedule.
    pub(super) fn schedulers(&self) -> Result<Vec<Configuration>, Failure> {
        self.named(&self.schedulers)
    }

    /// Weft with the switches alone.
    pub(super) fn plain(&self) -> Result<Configuration, Failure> {
        Configuration::named("default", &self.switches, self.scheduler.as_deref())
    }

    fn named(&self, names: &[String]) -> Result<Vec<Configuration>, Failure> {
        names.iter().map(|name| Configuration::named(name, &self.switches, self.scheduler.as_deref())).collect()
    }

    /// These settings with commits that do not wait for the log.
    pub(super) fn asynchronous(&self) -> Settings {
        Settings { durability: Durability::Async, ..self.clone() }
    }

    /// How a database of a configuration is opened.
    pub(super) fn options(&self, configuration: &Configuration) -> Options {
        let mut options = self.memory_limit_bytes.map_or_else(Options::default, Options::with_memory_limit);
        options.durability = self.durability;
        if configuration.keeps_rows() {
            // What is never converted is never freed, and a checkpoint would convert it. All of it must fit in half of
            // the limit: with a part of it for the cache and one for queries that is all that there is.
            options.row_memory_bytes = self.memory_limit_bytes.map_or(KEPT_BYTES, |limit| limit / 2);
            options.checkpoint_log_bytes = KEPT_BYTES;
        }
        options
    }
}

/// Log of row tables that are never converted, and their memory without a limit, at most.
const KEPT_BYTES: u64 = 64 << 30;

fn update_time_max(words: &mut Arguments, default: u64) -> Result<Duration, Failure> {
    let time = seconds(words, "--update-seconds", default)?;
    Ok(if time.is_zero() { Duration::MAX } else { time })
}

fn seconds(words: &mut Arguments, name: &str, default: u64) -> Result<Duration, Failure> {
    Ok(Duration::from_secs(words.number(name, default)?))
}

fn names(words: &mut Arguments, name: &str, default: &str) -> Result<Vec<String>, Failure> {
    let text = words.option(name)?.unwrap_or_else(|| default.to_owned());
    Ok(text.split(',').map(str::to_owned).collect())
}

/// Statements of the mix by their names; `none` is no statement.
fn statements<T: Copy>(
    words: &mut Arguments,
    option: &str,
    default: &str,
    known: &[T],
    name: fn(T) -> &'static str,
) -> Result<Vec<T>, Failure> {
    let wanted = names(words, option, default)?;
    let find = |text: &String| {
        let found = known.iter().copied().find(|one| name(*one) == text);
        found.ok_or_else(|| Failure::Usage(format!("{option} knows no {text}")))
    };
    wanted.iter().filter(|text| *text != "none").map(find).collect()
}

fn durability(words: &mut Arguments) -> Result<Durability, Failure> {
    match words.option("--commit")?.as_deref() {
        None | Some("sync") => Ok(Options::default().durability),
        Some("async") => Ok(Durability::Async),
        Some(other) => Err(Failure::Usage(format!("--commit is sync or async, not {other}"))),
    }
}

fn switches(words: &mut Arguments) -> Result<BTreeMap<String, String>, Failure> {
    let mut switches = BTreeMap::new();
    for option in SWITCHES {
        if let Some(value) = words.option(&format!("--{}", option.replace('_', "-")))? {
            switches.insert((*option).to_owned(), value);
        }
    }
    Ok(switches)
}
