//! Jobs that failed: how long each rests before it is tried again, and what is told of it meanwhile.
//!
//! ```text
//!   convert t3 #2   EMFILE                    rests 1 s, 2 s, 4 s, ... 5 min    with it all conversions of t3
//!   merge t3 #17    block 4 fails its sum     rests 1 s, ...                    other merges of t3 go on
//!   convert t4 #9   no space                  rests 0.1 s, ... 5 s
//! ```
//!
//! 1. A failure is that of its table and kind; damaged data only that of the job that read it. All others go on.
//! 2. A job that ends well forgets the failures of its table and kind.
//! 3. Failures that nobody tried again for long are forgotten: the job is offered no more.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use weft_contract::{JobKind, JobOffer, Price};
use weft_format::{Code, Error, TableId};

use super::pick::Running;
use crate::fault::{Fault, active};

/// The first pause after a failure, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
/// The same where others are to go on first: on a full disk, and while a backup copies.
const PAUSE_SHORT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// How long a failure is remembered after its pause.
const FORGET_AFTER: Duration = Duration::from_secs(900);

/// The pause after so many failures in a row: twice as long each time, up to five minutes.
pub fn pause_after(tries: u32, code: Code) -> Duration {
    let is_short = matches!(code, Code::DiskFull | Code::ObjectInUse);
    let (first, longest) = if is_short { PAUSE_SHORT } else { PAUSE };
    first.saturating_mul(1 << tries.saturating_sub(1).min(20)).min(longest)
}

/// When something that failed may be tried again: the same pauses, for whoever keeps jobs away from a damaged file.
#[derive(Debug, Default)]
pub struct Setback {
    tries: AtomicU32,
    until_nanos: AtomicU64,
}

impl Setback {
    /// It failed once more.
    pub fn note(&self, code: Code, now_nanos: u64) {
        let tries = self.tries.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let until_nanos = now_nanos + pause_after(tries, code).as_nanos() as u64;
        self.until_nanos.store(until_nanos, Ordering::Relaxed);
    }

    /// Whether it is not to be tried yet.
    pub fn is_near(&self, now_nanos: u64) -> bool {
        self.until_nanos.load(Ordering::Relaxed) > now_nanos && !active(Fault::OFFER_DAMAGED)
    }
}

/// Why a job is not running, and when it will be tried again.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// What it said last.
    pub error: String,
    /// What to do.
    pub hint: Option<String>,
    /// How often it failed in a row.
    pub tries: u32,
    /// How long until it is tried again.
    pub again_in: Duration,
}

/// A job that failed.
#[derive(Clone, Debug)]
pub(crate) struct Rest {
    pub(super) price: Price,
    pub(super) failed_nanos: u64,
    error: Error,
    tries: u32,
    until_nanos: u64,
}

impl Rest {
    /// What is told of it.
    pub(crate) fn trouble(&self, now_nanos: u64) -> Trouble {
        let again_in = Duration::from_nanos(self.until_nanos.saturating_sub(now_nanos));
        let hint = self.error.hint_text().map(str::to_owned);
        Trouble { error: self.error.message().to_owned(), hint, tries: self.tries, again_in }
    }

    /// Whether it keeps other jobs of its table and kind from running (rest 1).
    fn is_shared(&self) -> bool {
        self.error.code() != Code::DataCorrupted
    }
}

/// The jobs that rest.
#[derive(Debug, Default)]
pub(crate) struct Rests {
    jobs: BTreeMap<Running, Rest>,
    /// What is due between jobs.
    house: Option<Rest>,
}

impl Rests {
    /// Notes a failure.
    pub(crate) fn fail(&mut self, offer: &JobOffer, error: &Error, now_nanos: u64) {
        let job = Running::of(offer);
        let before = match error.code() {
            Code::DataCorrupted => self.jobs.get(&job).map_or(0, |rest| rest.tries),
            _ => self
                .of(job.table, job.kind)
                .filter(|(_, rest)| rest.is_shared())
                .map(|(_, rest)| rest.tries)
                .max()
                .unwrap_or(0),
        };
        if error.code() != Code::DataCorrupted {
            self.jobs.retain(|other, rest| (other.table, other.kind) != (job.table, job.kind) || !rest.is_shared());
        }
        self.jobs.insert(job, rest(before + 1, error, offer.price, now_nanos));
        let shared = self.of(job.table, job.kind).filter(|(_, rest)| rest.is_shared());
        debug_assert!(shared.count() <= 1, "a table and kind have one failure that keeps all from running (rest 1)");
    }

    /// Forgets what a job that ended well disproves (rest 2).
    pub(crate) fn succeed(&mut self, job: Running) {
        self.jobs.retain(|other, rest| {
            *other != job && ((other.table, other.kind) != (job.table, job.kind) || !rest.is_shared())
        });
    }

    /// Whether an offer must wait.
    pub(crate) fn keeps(&self, offer: &JobOffer, now_nanos: u64) -> bool {
        let job = Running::of(offer);
        let is_kept =
            |(other, rest): (&Running, &Rest)| rest.until_nanos > now_nanos && (*other == job || rest.is_shared());
        !active(Fault::NO_PAUSE) && self.of(job.table, job.kind).any(is_kept)
    }

    /// The error of a table's failing jobs that free memory, if there are any.
    pub(crate) fn of_memory(&self, table: TableId) -> Option<&Error> {
        let frees = |job: &Running| job.table == table && job.kind.frees_memory();
        self.jobs.iter().find(|(job, _)| frees(job)).map(|(_, rest)| &rest.error)
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Running, &Rest)> {
        self.jobs.iter()
    }

    /// Forgets what nobody tries any more (rest 3), and tables that are gone.
    pub(crate) fn prune(&mut self, now_nanos: u64, is_there: impl Fn(TableId) -> bool) {
        let late = FORGET_AFTER.as_nanos() as u64;
        self.jobs.retain(|job, rest| rest.until_nanos.saturating_add(late) > now_nanos && is_there(job.table));
    }

    /// Notes how the work between jobs ended.
    pub(crate) fn note_house(&mut self, error: Option<&Error>, now_nanos: u64) {
        let before = self.house.as_ref().map_or(0, |rest| rest.tries);
        self.house = error.map(|error| rest(before + 1, error, Price::default(), now_nanos));
    }

    /// Whether the work between jobs must wait.
    pub(crate) fn keeps_house(&self, now_nanos: u64) -> bool {
        self.house.as_ref().is_some_and(|rest| rest.until_nanos > now_nanos)
    }

    /// Why the work between jobs waits.
    pub(crate) fn house(&self, now_nanos: u64) -> Option<Trouble> {
        self.house.as_ref().map(|rest| rest.trouble(now_nanos))
    }

    fn of(&self, table: TableId, kind: JobKind) -> impl Iterator<Item = (&Running, &Rest)> {
        let number = |number| Running { table, kind, number };
        self.jobs.range(number(0)..=number(u64::MAX))
    }
}

fn rest(tries: u32, error: &Error, price: Price, now_nanos: u64) -> Rest {
    let pause = pause_after(tries, error.code());
    Rest {
        price,
        failed_nanos: now_nanos,
        error: error.clone(),
        tries,
        until_nanos: now_nanos + pause.as_nanos() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONVERT: JobKind = JobKind::freeing("convert");
    const MERGE: JobKind = JobKind::tidying("merge");

    fn offer(table: u32, kind: JobKind, number: u64) -> JobOffer {
        JobOffer { table: TableId(table), kind, number, price: Price::default(), reason: String::new() }
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn pauses_grow_to_five_minutes() {
        let seconds = |tries| pause_after(tries, Code::Io).as_secs();
        assert_eq!([1, 2, 3, 9, 10, 1000].map(seconds), [1, 2, 4, 256, 300, 300]);
        let millis = |tries| pause_after(tries, Code::DiskFull).as_millis();
        assert_eq!([1, 2, 6, 7, 1000].map(millis), [100, 200, 3200, 5000, 5000]);
    }

    #[test]
    fn a_failure_keeps_its_table_and_kind_and_damage_only_its_job() {
        let mut rests = Rests::default();
        let (convert, merge, other) = (offer(1, CONVERT, 4), offer(1, MERGE, 7), offer(1, MERGE, 9));
        let io = Error::new(Code::Io, "no handle is left");
        rests.fail(&convert, &io, 0);
        rests.fail(&merge, &Error::corrupt("block 4"), 0);
        let kept = |rests: &Rests, at| [&convert, &merge, &other, &offer(2, CONVERT, 4)].map(|o| rests.keeps(o, at));
        assert_eq!(kept(&rests, S / 2), [true, true, false, false]);
        assert_eq!(kept(&rests, S), [false, false, false, false]);
        // Another number, the same trouble: the pause grows.
        rests.fail(&offer(1, CONVERT, 5), &io, S);
        assert_eq!((kept(&rests, 3 * S - 1)[0], kept(&rests, 3 * S)[0]), (true, false));
        assert!(rests.of_memory(TableId(1)).is_some() && rests.of_memory(TableId(2)).is_none());
        rests.succeed(Running::of(&offer(1, CONVERT, 6)));
        assert_eq!(rests.all().count(), 1, "the damage is remembered");
        rests.prune(2000 * S, |_| true);
        assert_eq!(rests.all().count(), 0);
    }
}
