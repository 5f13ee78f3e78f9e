//! Circles of waiting transactions, beside a detector that tries everything.

use std::collections::{BTreeMap, BTreeSet};

use weft_env::sim::{RunEnd, SimOptions, Simulation};

use super::*;
use crate::testing::Prng;

const LOCKS: u64 = 4;
const TXNS: u64 = 9;

/// A lock table whose transactions wait without threads, and what each of them does.
struct Model {
    table: LockTable,
    clock: std::sync::Arc<dyn Clock>,
    held: BTreeMap<u64, HeldLocks>,
    /// Where it waits: the lock, the number of the wait, whether it holds the lock already.
    waits: BTreeMap<u64, (LockName, u64, bool)>,
    /// Ids go up: a transaction that ends is followed by another.
    next_txn: u64,
    circle_count: usize,
    queue_circle_count: usize,
}

fn name(lock: u64) -> LockName {
    LockName::key(TableId(1), &lock.to_be_bytes())
}

impl Model {
    fn new() -> Model {
        let (held, waits) = ((1..=TXNS).map(|txn| (txn, HeldLocks::default())).collect(), BTreeMap::new());
        let clock = Env::real().clock;
        Model {
            table: LockTable::new(),
            clock,
            held,
            waits,
            next_txn: TXNS + 1,
            circle_count: 0,
            queue_circle_count: 0,
        }
    }

    /// Every edge, by the definition: who waits, for whom, and whether only the order of the queue is in the way.
    fn edges(&self) -> Vec<(TxnId, TxnId, bool)> {
        let mut edges = Vec::new();
        for lock in 0..LOCKS {
            let shard = self.table.shard(name(lock)).0.lock();
            let Some(lock) = shard.get(&name(lock)) else { continue };
            let waiters: Vec<&Waiter> = lock.waiters().collect();
            for (place, waiter) in waiters.iter().enumerate() {
                for holder in lock.holders().filter(|holder| holder.txn != waiter.txn) {
                    let follows = waiter.follows && holder.handed.is_some();
                    if !(holder.mode.compatible(waiter.mode) || follows) {
                        edges.push((waiter.txn, holder.txn, false));
                    }
                }
                let ahead = waiters[..place].iter().filter(|ahead| !ahead.mode.compatible(waiter.mode));
                edges.extend(ahead.map(|ahead| (waiter.txn, ahead.txn, true)));
            }
        }
        edges
    }

    /// Whether a way leads from a transaction back to it.
    fn is_in_circle(&self, start: TxnId, with_queues: bool) -> bool {
        let edges = self.edges();
        let (mut reached, mut to_ask) = (BTreeSet::new(), vec![start]);
        while let Some(txn) = to_ask.pop() {
            for (_, next, _) in edges.iter().filter(|(from, _, queued)| *from == txn && (with_queues || !queued)) {
                if *next == start {
                    return true;
                }
                if reached.insert(*next) {
                    to_ask.push(*next);
                }
            }
        }
        false
    }

    /// Who was granted its lock goes on.
    fn settle(&mut self) {
        let table = &self.table;
        let (held, waits) = (&mut self.held, &mut self.waits);
        waits.retain(|&txn, &mut (name, wait, upgrade)| {
            if table.wait_of(Member { txn: TxnId(txn), name }) == Some(wait) {
                return true;
            }
            table.graph.remove(TxnId(txn));
            if !upgrade {
                held.get_mut(&txn).unwrap().0.push(name);
            }
            false
        });
    }

    fn end(&mut self, txn: u64) {
        let mut held = self.held.remove(&txn).unwrap();
        self.table.release(TxnId(txn), &mut held);
        self.held.insert(self.next_txn, HeldLocks::default());
        self.next_txn += 1;
        self.settle();
    }

    fn give_up(&mut self, txn: u64) {
        let (name, wait, _) = self.waits.remove(&txn).unwrap();
        self.table.graph.remove(TxnId(txn));
        self.table.leave(name, wait);
        self.settle();
    }

    fn acquire(&mut self, txn: u64, name: LockName, mode: LockMode, follows: bool) {
        let wait = Wait::AtMost(Duration::ZERO);
        let request = LockRequest {
            txn: TxnId(txn),
            mode,
            follows,
            wait,
            cancel: None,
            holds_slot: false,
            clock: &*self.clock,
            what: &String::new,
        };
        match self.table.attempt(name, &request) {
            Attempt::Granted { new } => {
                if new {
                    self.held.get_mut(&txn).unwrap().0.push(name);
                }
            }
            Attempt::Waits { wait, upgrade, .. } => {
                self.table.graph.insert(TxnId(txn), name);
                self.waits.insert(txn, (name, wait, upgrade));
                self.judge(txn, upgrade);
            }
            Attempt::Refused => unreachable!("it waits"),
        }
    }

    /// Compares what the table finds with what there is, and ends the circle.
    fn judge(&mut self, txn: u64, upgrade: bool) {
        let expected = self.is_in_circle(TxnId(txn), true);
        let in_the_way = upgrade || self.held[&txn].0.iter().any(|&name| self.table.is_waited_for(name));
        assert!(in_the_way || !expected, "who is in nobody's way is in no circle");
        let found = self.table.circle(TxnId(txn));
        assert_eq!(found.is_some(), expected, "transaction {txn}: {:?}", self.edges());
        let Some(found) = found else { return };
        let edges = self.edges();
        for (member, next) in found.iter().zip(found.iter().cycle().skip(1)) {
            let is_edge = |(from, to, _): &(TxnId, TxnId, bool)| (*from, *to) == (member.txn, next.txn);
            assert!(edges.iter().any(is_edge), "{found:?} is no circle of {edges:?}");
        }
        self.circle_count += 1;
        self.queue_circle_count += usize::from(!self.is_in_circle(TxnId(txn), false));
        let ended = self.table.end_circle(TxnId(txn)).expect("it is still there");
        assert_eq!(ended[0].txn, TxnId(txn));
        self.waits.remove(&txn);
        self.table.graph.remove(TxnId(txn));
        self.settle();
        assert!(!self.is_in_circle(TxnId(txn), true));
        self.end(txn);
    }

    fn step(&mut self, random: &mut Prng) {
        let txns: Vec<u64> = self.held.keys().copied().collect();
        let txn = txns[random.below(TXNS) as usize];
        if self.waits.contains_key(&txn) {
            if random.below(20) == 0 {
                self.give_up(txn);
            }
            return;
        }
        match random.below(12) {
            0 | 1 => self.end(txn),
            2 => {
                let handed: Handed = Arc::new(());
                self.table.hand_on(TxnId(txn), &self.held[&txn], &handed);
                self.settle();
                // It works no more, so it waits for nothing: it ends soon.
                if random.below(2) == 0 {
                    self.end(txn);
                }
            }
            _ => {
                let columns = |random: &mut Prng| -> crate::lock::ColumnSet {
                    (0..3).filter(|_| random.below(3) == 0).map(|column| column as usize).collect()
                };
                let mode = match random.below(4) {
                    0 => LockMode::EXCLUSIVE,
                    1 => LockMode::SHARED,
                    _ => LockMode::columns(columns(random), columns(random)),
                };
                let (lock, follows) = (name(random.below(LOCKS)), random.below(4) == 0);
                self.acquire(txn, lock, mode, follows);
            }
        }
    }
}

fn circles_of(seeds: std::ops::Range<u64>) -> (usize, usize) {
    let mut found = (0, 0);
    for seed in seeds {
        let (mut model, mut random) = (Model::new(), Prng(seed));
        for _ in 0..600 {
            model.step(&mut random);
            for &txn in model.waits.keys() {
                assert!(
                    !model.is_in_circle(TxnId(txn), true),
                    "seed {seed}: nobody has seen that {txn} is in a circle"
                );
            }
        }
        found.0 += model.circle_count;
        found.1 += model.queue_circle_count;
    }
    found
}

#[test]
fn circles_are_those_that_a_search_of_all_edges_finds() {
    let (all, through_queues) = circles_of(0..60);
    assert!(all > 500 && through_queues > 20, "{all} circles, {through_queues} of them through queues");
}

/// Transactions of threads that lock what they like in any order: all end, and of each two that block each other one.
#[test]
fn of_those_who_close_a_circle_at_once_one_leaves_it() {
    for seed in 0..150 {
        let end = Simulation::new(SimOptions::seeded(seed)).run(|env| {
            let locks = Arc::new(LockTable::new());
            let threads = [(1, 0, 1), (2, 1, 0)].map(|(txn, first, second)| {
                let (locks, clock) = (Arc::clone(&locks), Arc::clone(&env.clock));
                let work = move || {
                    let mut held = HeldLocks::default();
                    let request = LockRequest {
                        txn: TxnId(txn),
                        mode: LockMode::EXCLUSIVE,
                        follows: false,
                        wait: Wait::AtMost(Duration::from_secs(5)),
                        cancel: None,
                        holds_slot: false,
                        clock: &*clock,
                        what: &String::new,
                    };
                    locks.acquire(name(first), &request, &mut held).expect("nobody comes between");
                    clock.sleep(Duration::from_millis(5));
                    let error = locks.acquire(name(second), &request, &mut held).err();
                    assert!(error.as_ref().is_none_or(|error| error.code() == Code::DeadlockDetected), "{error:?}");
                    locks.release(TxnId(txn), &mut held);
                    drop(locks);
                    usize::from(error.is_some())
                };
                let (told, heard) = std::sync::mpsc::channel();
                let thread = env.spawn.spawn("locks", Box::new(move || told.send(work()).expect("it is heard")));
                (thread.expect("starts"), heard)
            });
            let victims: usize = threads
                .into_iter()
                .map(|(thread, heard)| {
                    thread.join().unwrap_or_else(|text| panic!("{text}"));
                    heard.try_recv().expect("it has told")
                })
                .sum();
            assert_eq!(victims, 1);
            assert_eq!(locks.lock_count(), 0);
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
    }
}

#[cfg(feature = "faults")]
#[test]
#[ignore = "plants faults for the whole process: `planted_faults_are_caught_apart` runs it"]
fn a_planted_search_that_overlooks_queues_is_caught() {
    crate::fault::plant(Some(Fault::OVERLOOK_QUEUE));
    let caught = std::panic::catch_unwind(|| circles_of(0..60)).is_err();
    crate::fault::plant(None);
    assert!(caught);
}
