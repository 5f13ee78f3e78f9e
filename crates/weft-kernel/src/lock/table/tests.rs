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
            timeout: Duration::from_millis(20),
            cancel: None,
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
    locks.take(1, a, LockMode::Shared, &mut one).unwrap();
    locks.take(2, a, LockMode::Shared, &mut two).unwrap();
    assert_eq!(locks.take(3, a, LockMode::Exclusive, &mut three).unwrap_err().code(), Code::LockTimeout);
    let holders = vec![TxnId(1), TxnId(2)];
    assert_eq!(locks.table.states(), [LockState { name: a, mode: LockMode::Shared, holders, waiters: Vec::new() }]);
    assert_eq!(locks.take(1, a, LockMode::Exclusive, &mut one).unwrap_err().code(), Code::LockTimeout);
    locks.table.release(TxnId(2), &mut two);
    locks.take(1, a, LockMode::Exclusive, &mut one).unwrap();
    locks.take(1, a, LockMode::Shared, &mut one).unwrap();
    assert_eq!(one.count(), 1);
    assert_eq!(locks.take(2, a, LockMode::Shared, &mut two).unwrap_err().code(), Code::LockTimeout);
    locks.table.release(TxnId(1), &mut one);
    assert_eq!(locks.table.lock_count(), 0);
}

#[test]
fn two_upgrades_are_a_deadlock() {
    let locks = Locks::new();
    let (a, _) = names();
    let mut held = [HeldLocks::default(), HeldLocks::default()];
    for (i, held) in held.iter_mut().enumerate() {
        locks.take(i as u64, a, LockMode::Shared, held).unwrap();
    }
    let [one, two] = &mut held;
    let request = |txn| LockRequest {
        txn: TxnId(txn),
        mode: LockMode::Exclusive,
        timeout: Duration::ZERO,
        cancel: None,
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
                    mode: if txn % 3 == 0 { LockMode::Shared } else { LockMode::Exclusive },
                    timeout: Duration::ZERO,
                    cancel: None,
                    clock: &*locks.clock,
                    what: &|| "it".into(),
                };
                let mut held = HeldLocks::default();
                for _ in 0..2000 {
                    locks.table.acquire(a, &request, &mut held).unwrap();
                    locks.table.acquire(b, &request, &mut held).unwrap();
                    if request.mode == LockMode::Exclusive {
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
