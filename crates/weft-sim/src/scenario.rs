//! What a seed decides before it runs: sizes, workers, durability, how many clients.

use std::time::Duration;

use weft_format::Code;
use weft_kernel::{Durability, EngineOptions};

use crate::random::Random;
use crate::tables::LINEAGE_PERCENT;

/// The fixed choices of one seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed.
    pub seed: u64,
    /// Small sizes, so that everything happens often.
    pub options: EngineOptions,
    /// Writing clients.
    pub clients: usize,
    /// Reading clients.
    pub readers: usize,
    /// Transactions per client and round.
    pub transactions: u64,
    /// One transaction of so many is over the table of members.
    pub members_every: u64,
    /// Percent of tables that are lineage tables.
    pub lineage_percent: u64,
    /// Percent of the others that are row tables.
    pub row_percent: u64,
    /// Percent of transactions that commit asynchronously.
    pub async_percent: u64,
    /// Errors that clients may meet besides conflicts: those of injected faults.
    pub tolerated: Vec<Code>,
}

impl Scenario {
    /// The scenario of a seed.
    pub fn seeded(seed: u64) -> Scenario {
        let mut random = Random::new(seed, 10);
        // A sequence of its own: what else a seed decides stays as it was.
        let mut log = Random::new(seed, 12);
        let options = EngineOptions {
            row_table_bytes: random.pick(&[2 << 10, 4 << 10, 8 << 10]),
            row_memory_bytes: random.pick(&[64 << 10, 256 << 10, 1 << 20, 16 << 20]),
            cache_bytes: random.pick(&[64 << 10, 1 << 20]),
            log_segment_bytes: 64 << 10,
            log_zero_ahead_bytes: log.pick(&[0, 4 << 10, 1 << 20]),
            log_batch_bytes: log.pick(&[1 << 10, 16 << 10, 8 << 20]),
            log_chunk_bytes: log.pick(&[512, 4 << 10, 256 << 10]),
            undecided_bytes: [0, 1 << 10, 16 << 20][(seed / 3 % 3) as usize],
            checkpoint_log_bytes: random.pick(&[32 << 10, 64 << 10, 256 << 10]),
            manifest_bytes: random.pick(&[4 << 10, 16 << 10]),
            serializable_memory_bytes: [1 << 10, u64::MAX, u64::MAX][(seed % 3) as usize],
            durability: Durability::Full,
            lock_timeout: Duration::from_millis(random.pick(&[5, 50, 500])),
            workers: 1 + random.below(2) as usize,
            ..EngineOptions::default()
        };
        Scenario {
            seed,
            options,
            clients: 4 + random.below(2) as usize,
            readers: 1 + random.below(2) as usize,
            transactions: 8 + random.below(12),
            members_every: 4,
            lineage_percent: LINEAGE_PERCENT,
            row_percent: [0, 30][(seed % 2) as usize],
            async_percent: random.pick(&[0, 0, 30, 100]),
            tolerated: Vec::new(),
        }
    }

    /// The scenario of a seed in which all transactions are over members: a unique index beside writers of other
    /// columns and bulk statements, at every moment.
    pub fn of_members(seed: u64) -> Scenario {
        Scenario { members_every: 1, ..Scenario::seeded(seed) }
    }

    /// The scenario of a seed in which all tables are lineage tables: what they were is read again and again.
    pub fn of_lineage(seed: u64) -> Scenario {
        Scenario { lineage_percent: 100, row_percent: 0, ..Scenario::seeded(seed) }
    }

    /// The scenario of a seed in which tables are row tables; of every third seed every other one.
    pub fn of_rows(seed: u64) -> Scenario {
        let row_percent = if seed.is_multiple_of(3) { 50 } else { 100 };
        Scenario { lineage_percent: 0, row_percent, ..Scenario::seeded(seed) }
    }
}
