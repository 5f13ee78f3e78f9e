mod circles;

use super::*;
use weft_env::Env;
use weft_format::TableId;

struct Locks {
    table: LockTable,
    clock: std::sync::Arc<dyn Clock>,
}

impl Locks {
    fn new() -> Locks {
        Locks { table: LockTable::new(), clock: Env::real().clock }
    }

    fn take(&self, txn: u64, name: LockName, mode: LockMode, held: &mut HeldLocks) -> Result<()> {
        let request = LockRequest {
            txn: TxnId(txn),
            mode,
            follows: false,
            wait: Wait::AtMost(Duration::from_millis(20)),
            cancel: None,
            holds_slot: false,
            clock: &*self.clock,
            what: &|| "it".into(),
        };
        self.table.acquire(name, &request, held)
    }
}

fn names() -> (LockName, LockName) {
    (LockName::key(TableId(1), b"a"), LockName::key(TableId(1), b"b"))
}

#[test]
fn shared_locks_share_and_exclusive_ones_do_not() {
    let locks = Locks::new();
    let (a, _) = names();
    let (mut one, mut two, mut three) = (HeldLocks::default(), HeldLocks::default(), HeldLocks::default());
    locks.take(1, a, LockMode::SHARED, &mut one).unwrap();
    locks.take(2, a, LockMode::SHARED, &mut two).unwrap();
    assert_eq!(locks.take(3, a, LockMode::EXCLUSIVE, &mut three).unwrap_err().code(), Code::LockTimeout);
    assert_eq!(locks.take(1, a, LockMode::EXCLUSIVE, &mut one).unwrap_err().code(), Code::LockTimeout);
    let holders = vec![(TxnId(1), LockMode::SHARED), (TxnId(2), LockMode::SHARED)];
    assert_eq!(locks.table.states(), [LockState { name: a, holders, waiters: Vec::new(), advisory: None }]);
    locks.table.release(TxnId(2), &mut two);
    locks.take(1, a, LockMode::EXCLUSIVE, &mut one).unwrap();
    locks.take(1, a, LockMode::SHARED, &mut one).unwrap();
    assert_eq!(one.count(), 1);
    assert_eq!(locks.take(2, a, LockMode::SHARED, &mut two).unwrap_err().code(), Code::LockTimeout);
    locks.table.release(TxnId(1), &mut one);
    assert_eq!(locks.table.lock_count(), 0);
}

#[test]
fn two_upgrades_are_a_deadlock() {
    let locks = Locks::new();
    let (a, _) = names();
    let mut held = [HeldLocks::default(), HeldLocks::default()];
    for (i, held) in held.iter_mut().enumerate() {
        locks.take(i as u64, a, LockMode::SHARED, held).unwrap();
    }
    let [one, two] = &mut held;
    let request = |txn| LockRequest {
        txn: TxnId(txn),
        mode: LockMode::EXCLUSIVE,
        follows: false,
        wait: Wait::AtMost(Duration::ZERO),
        cancel: None,
        holds_slot: false,
        clock: &*locks.clock,
        what: &|| "it".into(),
    };
    std::thread::scope(|scope| {
        let (locks, request) = (&locks, &request);
        let work = |txn: u64, held: &mut HeldLocks| {
            let result = locks.table.acquire(a, &request(txn), held);
            locks.table.release(TxnId(txn), held);
            result
        };
        let first = scope.spawn(move || work(0, one));
        let second = work(1, two);
        let results = [first.join().unwrap(), second];
        let errors: Vec<&Error> = results.iter().filter_map(|result| result.as_ref().err()).collect();
        assert_eq!(errors.len(), 1, "{results:?}");
        assert_eq!(errors[0].code(), Code::DeadlockDetected);
    });
    assert_eq!(locks.table.lock_count(), 0);
}

#[test]
fn waiters_are_served_in_order_and_none_is_forgotten() {
    let locks = Locks::new();
    let (a, b) = names();
    let counter = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for txn in 1..=8u64 {
            let (locks, counter) = (&locks, &counter);
            scope.spawn(move || {
                let request = LockRequest {
                    txn: TxnId(txn),
                    mode: if txn % 3 == 0 { LockMode::SHARED } else { LockMode::EXCLUSIVE },
                    follows: false,
                    wait: Wait::AtMost(Duration::ZERO),
                    cancel: None,
                    holds_slot: false,
                    clock: &*locks.clock,
                    what: &|| "it".into(),
                };
                let mut held = HeldLocks::default();
                for _ in 0..2000 {
                    locks.table.acquire(a, &request, &mut held).unwrap();
                    locks.table.acquire(b, &request, &mut held).unwrap();
                    if request.mode == LockMode::EXCLUSIVE {
                        let seen = counter.load(std::sync::atomic::Ordering::Relaxed);
                        counter.store(seen + 1, std::sync::atomic::Ordering::Relaxed);
                    }
                    locks.table.release(TxnId(txn), &mut held);
                }
            });
        }
    });
    assert_eq!(counter.into_inner(), 6 * 2000);
    assert_eq!(locks.table.lock_count(), 0);
}

#[test]
fn writers_of_different_columns_share_a_lock() {
    let locks = Locks::new();
    let (a, _) = names();
    let mut held: [HeldLocks; 4] = Default::default();
    let [one, two, three, four] = &mut held;
    let columns = |reads: &[usize], writes: &[usize]| {
        LockMode::columns(reads.iter().copied().collect(), writes.iter().copied().collect())
    };
    locks.take(1, a, columns(&[], &[1]), one).unwrap();
    assert_eq!(locks.table.mixed_count(), 0);
    locks.take(2, a, columns(&[3], &[2]), two).unwrap();
    assert_eq!(locks.table.mixed_count(), 1);
    let timeout = |result: Result<()>| assert_eq!(result.unwrap_err().code(), Code::LockTimeout);
    timeout(locks.take(3, a, columns(&[], &[2]), three));
    timeout(locks.take(3, a, columns(&[2], &[4]), three));
    timeout(locks.take(3, a, columns(&[], &[3]), three));
    timeout(locks.take(3, a, LockMode::EXCLUSIVE, three));
    timeout(locks.take(1, a, columns(&[2], &[1]), one));
    locks.take(3, a, columns(&[3], &[4]), three).unwrap();
    // A wider lock of the same holder.
    locks.take(1, a, columns(&[1], &[1, 5]), one).unwrap();
    timeout(locks.take(4, a, columns(&[], &[5]), four));
    for (txn, held) in [(2, two), (1, one), (3, three)] {
        locks.table.release(TxnId(txn), held);
    }
    assert_eq!(locks.table.lock_count(), 0);
}

#[test]
fn who_never_waits_is_told_who_holds_the_lock() {
    let locks = Locks::new();
    let (a, _) = names();
    let (mut one, mut two) = (HeldLocks::default(), HeldLocks::default());
    locks.take(1, a, LockMode::EXCLUSIVE, &mut one).unwrap();
    let request = LockRequest {
        txn: TxnId(2),
        mode: LockMode::SHARED,
        follows: false,
        wait: Wait::Never,
        cancel: None,
        holds_slot: false,
        clock: &*locks.clock,
        what: &|| "it".into(),
    };
    let error = locks.table.acquire(a, &request, &mut two).unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::LockTimeout, "could not obtain lock on it"));
    assert!(error.hint_text().is_some_and(|hint| hint.contains("transaction 1")), "{error:?}");
    assert_eq!(two.count(), 0);
    locks.table.release(TxnId(1), &mut one);
    locks.table.acquire(a, &request, &mut two).unwrap();
    locks.table.release(TxnId(2), &mut two);
}
