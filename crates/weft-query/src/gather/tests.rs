//! What the queue between workers and the thread that pulls promises.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use tokio::runtime::Runtime;

use super::*;

type Source = Box<dyn FnOnce() -> Result<SendableRecordBatchStream> + Send>;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, false)]))
}

fn batch(first: i64, rows: usize) -> RecordBatch {
    let values: Vec<i64> = (first..first + rows as i64).collect();
    RecordBatch::try_new(schema(), vec![Arc::new(Int64Array::from(values)) as ArrayRef]).unwrap()
}

fn source(items: impl Stream<Item = Result<RecordBatch>> + Send + 'static) -> Source {
    Box::new(move || Ok(Box::pin(RecordBatchStreamAdapter::new(schema(), items)) as SendableRecordBatchStream))
}

/// The first values of all batches, up to the end or an error.
fn firsts(runtime: &Runtime, sources: Vec<Source>) -> Result<Vec<i64>> {
    runtime.block_on(async {
        let mut stream = gather_sources(schema(), sources);
        let mut firsts = Vec::new();
        while let Some(batch) = stream.next().await {
            firsts.push(batch?.column(0).as_any().downcast_ref::<Int64Array>().unwrap().value(0));
        }
        Ok(firsts)
    })
}

#[test]
fn every_batch_comes_once_and_each_partition_in_order() {
    let runtime = Runtime::new().unwrap();
    for rows in [1, 8192, 300_000] {
        let partition = |p: i64| source(stream::iter((0..100).map(move |n| Ok(batch(p * 1000 + n, rows)))));
        let found = firsts(&runtime, (0..3).map(partition).collect()).unwrap();
        assert_eq!(found.len(), 300);
        for p in 0..3 {
            let of: Vec<i64> = found.iter().copied().filter(|first| first / 1000 == p).collect();
            assert_eq!(of, (0..100).map(|n| p * 1000 + n).collect::<Vec<_>>());
        }
    }
    assert_eq!(firsts(&runtime, vec![source(stream::empty()), source(stream::empty())]).unwrap(), [0; 0]);
}

#[test]
fn errors_end_a_partition_after_its_batches() {
    let runtime = Runtime::new().unwrap();
    let wrong = || Err(DataFusionError::Execution("wrong".into()));
    let found = firsts(&runtime, vec![source(stream::iter([Ok(batch(1, 1)), wrong(), Ok(batch(2, 1))]))]);
    assert!(found.unwrap_err().to_string().contains("wrong"));
    let refused: Source = Box::new(|| Err(DataFusionError::Execution("refused".into())));
    let found = firsts(&runtime, vec![source(stream::pending()), refused]);
    assert!(found.unwrap_err().to_string().contains("refused"), "it does not wait for the others");
}

#[test]
#[should_panic(expected = "of a worker")]
fn a_panic_goes_on_where_batches_are_pulled() {
    let panics: Source = Box::new(|| panic!("of a worker"));
    let _ = firsts(&Runtime::new().unwrap(), vec![source(stream::pending()), panics]);
}

#[test]
fn workers_that_go_with_their_runtime_are_an_error() {
    let runtime = Runtime::new().unwrap();
    let mut stream = {
        let _entered = runtime.enter();
        let gives = stream::iter([Ok(batch(0, 1))]).chain(stream::pending());
        gather_sources(schema(), vec![source(gives), source(stream::pending())])
    };
    runtime.shutdown_timeout(Duration::from_secs(10));
    let other = Runtime::new().unwrap();
    let pull = async {
        while let Some(item) = stream.next().await {
            item?;
        }
        Ok::<(), DataFusionError>(())
    };
    let pulled = other.block_on(async { tokio::time::timeout(Duration::from_secs(10), pull).await });
    let error = pulled.expect("who pulls does not wait for ever").unwrap_err();
    assert!(error.to_string().contains("were stopped"), "{error}");
}

#[test]
fn who_does_not_pull_stops_the_workers() {
    let runtime = Runtime::new().unwrap();
    let made = Arc::new(AtomicUsize::new(0));
    for (rows, most) in [(8192, (QUEUE_BYTES_MAX >> 16) + 2), (400_000, 2)] {
        made.store(0, Ordering::Relaxed);
        let endless = || {
            let made = Arc::clone(&made);
            source(stream::repeat_with(move || {
                made.fetch_add(1, Ordering::Relaxed);
                Ok(batch(0, rows))
            }))
        };
        runtime.block_on(async {
            let mut stream = gather_sources(schema(), vec![endless(), endless()]);
            let _ = stream.next().await;
            let mut before = 0;
            while made.load(Ordering::Relaxed) != before {
                before = made.load(Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            assert!((2..=most + 3).contains(&before), "{before} batches of {rows} rows were made");
        });
        let gone = async {
            while Arc::strong_count(&made) > 1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(10), gone).await });
        waited.expect("workers go with their stream");
    }
}

#[test]
fn one_wake_up_brings_many_batches() {
    let queue = Queue::new(2);
    let bell = Arc::new(AtomicUsize::new(0));
    let waker = futures::task::waker(Arc::new(Counting(Arc::clone(&bell))));
    let context = Context::from_waker(&waker);
    assert!(queue.poll_pop(&context).is_pending());
    let mut pushed = 0;
    while bell.load(Ordering::Relaxed) == 0 {
        queue.push(Ok(batch(0, 8192)));
        pushed += 1;
    }
    assert!((4..=5).contains(&pushed), "{pushed} batches of 64 KiB until it is woken");
    for _ in 0..pushed {
        assert!(matches!(queue.poll_pop(&context), Poll::Ready(Some(Ok(_)))));
    }
    assert!(queue.poll_pop(&context).is_pending());
    queue.push(Ok(batch(0, 10)));
    queue.end(None);
    assert_eq!(bell.load(Ordering::Relaxed), 1, "another worker still runs");
    queue.end(None);
    assert_eq!(bell.load(Ordering::Relaxed), 2);
    assert!(matches!(queue.poll_pop(&context), Poll::Ready(Some(Ok(_)))));
    assert!(matches!(queue.poll_pop(&context), Poll::Ready(None)));
}

struct Counting(Arc<AtomicUsize>);

impl futures::task::ArcWake for Counting {
    fn wake_by_ref(counting: &Arc<Counting>) {
        counting.0.fetch_add(1, Ordering::Relaxed);
    }
}
