use std::sync::Arc;
use std::time::Duration;

use super::*;

static GLOBAL: Mutex<u32> = Mutex::new(5);

#[test]
fn locks_on_real_threads() {
    assert_eq!(*GLOBAL.lock(), 5);
    let counter = Arc::new((Mutex::new(0), RwLock::new(0)));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let counter = Arc::clone(&counter);
            std::thread::spawn(move || {
                for _ in 0..1000 {
                    *counter.0.lock() += 1;
                    *counter.1.write() += 1;
                    assert!(*counter.1.read() > 0);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!((*counter.0.lock(), *counter.1.read()), (4000, 4000));
    let held = counter.0.lock();
    assert!(counter.0.try_lock().is_none());
    drop(held);
    assert!(counter.0.try_lock().is_some());
    let reading = counter.1.read();
    assert!(counter.1.try_read().is_some() && counter.1.try_write().is_none());
    drop(reading);
    assert!(counter.1.try_write().is_some());
}

#[test]
fn condvar_on_real_threads() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let mut guard = shared.0.lock();
    assert!(shared.1.wait_timeout(&mut guard, Duration::from_millis(1)));
    let other = Arc::clone(&shared);
    let thread = std::thread::spawn(move || {
        *other.0.lock() = true;
        other.1.notify_one();
    });
    while !*guard {
        shared.1.wait(&mut guard);
    }
    drop(guard);
    thread.join().unwrap();
}

#[test]
fn a_panic_does_not_poison() {
    let mutex = Arc::new(Mutex::new(1));
    let other = Arc::clone(&mutex);
    let result = std::thread::spawn(move || {
        let _guard = other.lock();
        std::panic::resume_unwind(Box::new("quiet"));
    })
    .join();
    assert!(result.is_err());
    assert_eq!(*mutex.lock(), 1);
}

/// Prints what a lock costs on a real thread; the numbers depend on the machine, so nothing is asserted.
#[test]
#[ignore = "a measurement"]
fn overhead_on_a_real_thread() {
    let rounds = 20_000_000_u32;
    let (ours, theirs) = (Mutex::new(0_u64), parking_lot::Mutex::new(0_u64));
    for _ in 0..3 {
        let start = std::time::Instant::now();
        for _ in 0..rounds {
            *std::hint::black_box(&ours).lock() += 1;
        }
        let middle = start.elapsed();
        for _ in 0..rounds {
            *std::hint::black_box(&theirs).lock() += 1;
        }
        let end = start.elapsed() - middle;
        let nanos = |time: Duration| time.as_secs_f64() * 1e9 / f64::from(rounds);
        println!("weft {:.2} ns, parking_lot {:.2} ns", nanos(middle), nanos(end));
    }
}
