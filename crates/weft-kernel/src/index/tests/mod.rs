//! An index on its own: with a manifest and a timeline, and a list of what was added for a log.

mod concurrent;
mod crash;
mod files;
mod memory;
mod model;
#[cfg(feature = "faults")]
mod planted;
mod speed;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use weft_contract::RecoveredTable;
use weft_env::Env;
use weft_format::{FileId, Result, TableId, Timestamp};

use super::*;
use crate::EngineOptions;
use crate::budget::RowBudget;
use crate::cache::CachePool;
use crate::files::Files;
use crate::manifest::{Hooks, Manifest};
use crate::sched::{Load, SchedulerMode, Wake};
use crate::services::Services;
use crate::testing::Prng;
use crate::timeline::Horizon;
use crate::txn::Timeline;

const INDEX: TableId = TableId(5);

type EntryBytes = (Vec<u8>, Vec<u8>);

/// What happened, in log order; survives crashes.
#[derive(Clone)]
enum Logged {
    Add(EntryBytes, Timestamp),
    Attach(Vec<FileId>, Timestamp),
}

/// What the index must hold.
#[derive(Default)]
struct Model {
    /// Greatest timestamp of each entry ever added.
    entries: BTreeMap<EntryBytes, Timestamp>,
    /// Those that nobody needs any more: they may be there or not.
    dead: BTreeSet<EntryBytes>,
    log: Vec<Logged>,
}

impl Model {
    fn add(&mut self, entry: EntryBytes, ts: Timestamp) {
        self.dead.remove(&entry);
        self.log.push(Logged::Add(entry.clone(), ts));
        let last = self.entries.entry(entry).or_default();
        *last = (*last).max(ts);
    }

    fn expect(&self, found: &[(EntryBytes, Timestamp)], wanted: impl Fn(&EntryBytes) -> bool, what: &str) {
        let mut found: BTreeMap<&EntryBytes, Timestamp> = found.iter().map(|(entry, ts)| (entry, *ts)).collect();
        for (entry, &ts) in self.entries.iter().filter(|(entry, _)| wanted(entry)) {
            match found.remove(entry) {
                // Of an entry that nobody needs a merge may have dropped the later of two.
                Some(other) if self.dead.contains(entry) => assert!(other <= ts, "{what}: timestamp of {entry:?}"),
                Some(other) => assert_eq!(other, ts, "{what}: timestamp of {entry:?}"),
                None => assert!(self.dead.contains(entry), "{what}: {entry:?} @ {ts} is missing"),
            }
        }
        assert!(found.is_empty(), "{what}: {found:?} was never added or does not belong here");
    }
}

/// Keeps what the model does not call dead.
struct ModelKeep(Arc<Mutex<Model>>);

impl Keep for ModelKeep {
    fn keep(&self, value: &[u8], key: &[u8], _: Timestamp) -> Result<bool> {
        Ok(!self.0.lock().unwrap().dead.contains(&(value.to_vec(), key.to_vec())))
    }
}

/// One opening of the index.
struct World {
    services: Arc<Services>,
    store: Arc<IndexStore>,
}

fn small() -> IndexOptions {
    IndexOptions {
        memory_bytes: 8_000,
        range_bytes_max: 6000,
        runs_max: 4,
        block_bytes: 256,
        sort_bytes: 4000,
        filter_misses_min: 50,
        filter_false_ratio: 32,
        stale_max: 20,
    }
}

fn services(env: &Env, dir: &Path, cache_bytes: u64) -> (Arc<Services>, RecoveredTable) {
    if !env.fs.exists(dir).unwrap() {
        env.fs.create_dir_all(dir).unwrap();
        env.fs.sync_dir(dir.parent().unwrap()).unwrap();
    }
    let (manifest, mut recovered) = Manifest::open(env, dir).unwrap();
    let manifest = Arc::new(manifest.rewritten_above(2000));
    manifest.settle(false).unwrap();
    manifest.connect(Hooks {
        flush: Box::new(|| Ok(weft_format::Lsn(0))),
        name_edits: Box::new(|| Ok(())),
        tell: Box::new(|_, _| {}),
        fold: Box::new(|_, payloads| fold_payloads(payloads)),
    });
    let cache = Arc::new(CachePool::new(cache_bytes));
    let (handles, cached) = (weft_env::Handles::new(env.fs.clone(), 16), cache.clone());
    let files = Files::new(env, dir, handles, Box::new(move |file| cached.forget_file(file)), None);
    files.number_behind(recovered.file_max).unwrap();
    let row_budget = Arc::new(RowBudget::new(1 << 30));
    let services = Services {
        account: Arc::default(),
        files,
        manifest,
        cache: cache.clone(),
        block_cache: cache,
        options: EngineOptions::default(),
        timeline: Arc::new(Timeline::new(recovered.cut_max)),
        load: Arc::new(Load::new(env.clock.clone(), row_budget.clone(), 2, SchedulerMode::Cost)),
        row_budget,
        wake: Wake::default(),
        wanted: Default::default(),
        poison: Default::default(),
        log: std::sync::OnceLock::new(),
    };
    (Arc::new(services), recovered.tables.remove(&INDEX).unwrap_or_default())
}

/// Opens, redoes what is behind the cut, removes orphans: as the engine will.
fn open(env: &Env, dir: &Path, options: IndexOptions, model: &Arc<Mutex<Model>>) -> World {
    let (services, recovered) = services(env, dir, 40_000);
    let context = IndexContext {
        id: INDEX,
        name: "t_v".into(),
        env: env.clone(),
        services: services.clone(),
        horizon: Arc::new(Horizon::new(services.timeline.clone())),
        options,
        keep: Arc::new(ModelKeep(model.clone())),
    };
    let store = IndexStore::open(context, &recovered).unwrap();
    let mut named: BTreeSet<FileId> = recovered.files.iter().copied().collect();
    let log = model.lock().unwrap().log.clone();
    let mut last = recovered.cut;
    for logged in log {
        match logged {
            Logged::Add((value, key), ts) if ts > recovered.cut => {
                store.add(&value, &key, ts);
                last = last.max(ts);
            }
            Logged::Attach(files, ts) => {
                store.attach(&files, ts).unwrap();
                named.extend(files);
                last = last.max(ts);
            }
            Logged::Add(..) => {}
        }
    }
    services.timeline.recover_to(last);
    services.files.remove_orphans(services.files.list().unwrap(), &named).unwrap();
    World { services, store: Arc::new(store) }
}

impl World {
    /// Takes a timestamp, does the work of a commit, publishes it.
    fn commit(&self, work: impl FnOnce(&IndexStore, Timestamp)) -> Timestamp {
        let timeline = &self.services.timeline;
        let ts = timeline.last_sequenced().next();
        timeline.sequence(ts);
        work(&self.store, ts);
        timeline.publish(ts).unwrap();
        ts
    }

    /// Runs jobs until there are none.
    fn run_jobs(&self) -> usize {
        let mut count = 0;
        while let Some(offer) = self.store.jobs().first() {
            self.store.run(offer).unwrap();
            count += 1;
            assert!(count < 1000, "jobs come to an end: {offer:?}");
        }
        count
    }
}

fn scan(store: &IndexStore, low: Bound<&[u8]>, high: Bound<&[u8]>, way: Direction) -> Vec<(EntryBytes, Timestamp)> {
    collect(store.scan(low, high, way).unwrap())
}

fn collect(mut cursor: Cursor) -> Vec<(EntryBytes, Timestamp)> {
    let mut found = Vec::new();
    while let Some(Entry { value, key, ts }) = cursor.next().unwrap() {
        found.push(((value.to_vec(), key.to_vec()), ts));
    }
    found
}

/// Compares everything: whole scans both ways, random ranges, random lookups, the checks.
fn verify(world: &World, model: &Model, rng: &mut Prng) {
    let store = &world.store;
    let all = (Bound::Unbounded, Bound::Unbounded);
    let forward = scan(store, all.0, all.1, Direction::Forward);
    assert!(forward.is_sorted_by(|a, b| a.0 < b.0), "entries ascend, each once");
    model.expect(&forward, |_| true, "scan");
    let mut backward = scan(store, all.0, all.1, Direction::Backward);
    backward.reverse();
    assert_eq!(forward, backward, "both ways meet the same");
    for _ in 0..10 {
        let (a, b) = (value(rng.below(VALUES + 5)), value(rng.below(VALUES + 5)));
        let prefix = 1 + rng.below(a.len() as u64) as usize;
        let (low, high) = match rng.below(4) {
            0 => (Bound::Included(&a[..]), Bound::Included(&b[..])),
            1 => (Bound::Excluded(&a[..]), Bound::Unbounded),
            2 => (Bound::Included(&a[..prefix]), Bound::Included(&a[..prefix])),
            _ => (Bound::Unbounded, Bound::Excluded(&b[..])),
        };
        let wanted = |(value, _): &EntryBytes| {
            let after_low = match low {
                Bound::Included(low) => &value[..] >= low,
                Bound::Excluded(low) => &value[..] > low && !value.starts_with(low),
                Bound::Unbounded => true,
            };
            let before_high = match high {
                Bound::Included(high) => &value[..] <= high || value.starts_with(high),
                Bound::Excluded(high) => &value[..] < high,
                Bound::Unbounded => true,
            };
            after_low && before_high
        };
        let found = scan(store, low, high, Direction::Forward);
        model.expect(&found, wanted, "range");
        let mut reversed = scan(store, low, high, Direction::Backward);
        reversed.reverse();
        assert_eq!(found, reversed, "a range both ways");
        let looked_up = collect(store.lookup(&a).unwrap());
        model.expect(&looked_up, |(value, _)| *value == a, "lookup");
    }
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

const VALUES: u64 = 300;

/// A value: some are short, some long, many share beginnings; prefix-free, as texts are.
fn value(n: u64) -> Vec<u8> {
    let n = n * 7919 % (VALUES + 5);
    let mut value = format!("{:03}", n % 400).into_bytes();
    value.extend(std::iter::repeat_n(b'x', (n % 17 * (n % 3)) as usize));
    value.extend([0, 0]);
    value
}

fn key(n: u64) -> Vec<u8> {
    (n as u32 ^ 1 << 31).to_be_bytes().to_vec()
}

fn random_entry(rng: &mut Prng) -> EntryBytes {
    // One value of many rows: borders fall inside it.
    let n = if rng.below(4) == 0 { 7 } else { rng.below(VALUES) };
    (value(n), key(rng.below(500)))
}
