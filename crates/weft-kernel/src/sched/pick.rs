//! Which job is worth most: a pure function that explains its choice.
//!
//! ```text
//!   worth = (bytes of memory freed + bytes of log released + 100 × dead rows) per microsecond of cost
//!   cost  = core time + bytes read and written at 1 GB/s
//! ```

use std::cmp::Ordering;

use weft_format::TableId;

use weft_contract::{JobKind, JobOffer, Price};

/// Bytes that a row which scans read in vain is worth.
const DEAD_ROW_BYTES: f64 = 100.0;
/// Bytes read or written in a microsecond.
const IO_BYTES_PER_US: f64 = 1000.0;

/// A job that is being run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Running {
    /// Its table.
    pub table: TableId,
    /// What it does.
    pub kind: JobKind,
    /// Its number.
    pub number: u64,
}

impl Running {
    /// The job of an offer.
    pub fn of(offer: &JobOffer) -> Running {
        Running { table: offer.table, kind: offer.kind, number: offer.number }
    }
}

/// The picked offer and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Its index among the offers.
    pub index: usize,
    /// For people.
    pub reason: String,
}

/// Picks the offer to run now, beside the running jobs. What frees memory comes before what puts files in order; among
/// equals the best worth wins, then the lowest table and number.
pub fn pick(offers: &[JobOffer], running: &[Running]) -> Option<Choice> {
    let fits = |offer: &JobOffer| fits_beside(offer, running);
    let fitting = offers.iter().enumerate().filter(|(_, offer)| fits(offer));
    let (index, best) = fitting.min_by(|one, other| compare(one.1, other.1))?;
    Some(Choice { index, reason: explain(best, offers.len()) })
}

/// Which of two offers comes first.
pub(crate) fn compare(one: &JobOffer, other: &JobOffer) -> Ordering {
    let order = rank(one.kind).cmp(&rank(other.kind)).then(worth(&other.price).total_cmp(&worth(&one.price)));
    order.then((one.table, one.number).cmp(&(other.table, other.number)))
}

/// Whether an offer may run beside running jobs.
pub(crate) fn fits_beside(offer: &JobOffer, running: &[Running]) -> bool {
    // One job of a kind that frees memory per table (sched 1).
    let keeps_off = |job: &Running| match offer.kind.frees_memory() {
        true => job.kind == offer.kind,
        false => *job == Running::of(offer),
    };
    !running.iter().any(|job| job.table == offer.table && keeps_off(job))
}

fn rank(kind: JobKind) -> u8 {
    u8::from(!kind.frees_memory())
}

fn worth(price: &Price) -> f64 {
    let gain =
        price.memory_freed_bytes as f64 + price.log_released_bytes as f64 + price.dead_rows as f64 * DEAD_ROW_BYTES;
    gain / (cost_us(price) + 1.0)
}

/// Core time and input and output, microseconds.
pub(crate) fn cost_us(price: &Price) -> f64 {
    price.cpu_us as f64 + (price.read_bytes + price.write_bytes) as f64 / IO_BYTES_PER_US
}

/// Why the offer is the best of so many.
pub(crate) fn explain(offer: &JobOffer, count: usize) -> String {
    let Price { memory_freed_bytes, log_released_bytes, dead_rows, .. } = offer.price;
    let first = if offer.kind.frees_memory() { "memory first" } else { "no memory waits" };
    format!(
        "{first}; of {count} offers the best: frees {memory_freed_bytes} bytes, releases {log_released_bytes} bytes of \
         log, drops {dead_rows} dead rows for {:.0} us; {}",
        cost_us(&offer.price),
        offer.reason
    )
}

#[cfg(test)]
mod tests;
