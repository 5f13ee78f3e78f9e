//! Brings the partitions of a query to the thread that pulls, with few wake-ups.
//!
//! ```text
//!   worker 0   ▄▄▄▄▄▄▄▄ end           queue   [b b b b b b]     up to 1 MiB, or a batch per partition
//!   worker 1   ▄▄▄▄▄▄▄▄▄▄▄ end                ↑ 256 KiB: the pulling thread is woken; it takes all there is
//!   pulls      z z z z █ z z █ z █            ↓ half empty: workers that waited for room go on
//! ```
//!
//! 1. A wake-up costs about as much as a batch of 8,192 integers. So it comes when much waits, when a worker has to
//!    wait for room, with an error, and at the end.
//! 2. What is too little for a wake-up is found by who looks without one:
//!    [`QueryStream`](super::stream::RunningQuery) does after 20 ms at the latest.
//! 3. Batches come in any order, those of one partition in theirs. Errors do not overtake batches.
//! 4. Dropping the stream stops the workers. A panic of a worker goes on in the thread that pulls; one that is stopped
//!    otherwise is an error there.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, execute_stream};
use futures::future::poll_fn;
use futures::{FutureExt, Stream, StreamExt};
use tokio::task::JoinSet;
use weft_env::sync::Mutex;

/// Workers wait for room when so many bytes are queued, and a batch per partition.
const QUEUE_BYTES_MAX: usize = 1 << 20;
/// So many queued bytes are worth a wake-up.
const WAKE_BYTES: usize = 256 << 10;

/// Runs a plan; its partitions side by side in the runtime that this thread has entered.
pub(super) fn gather(plan: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
    let schema = plan.schema();
    // The planner's own operator for this hands over batch by batch.
    let coalesced = plan.downcast_ref::<CoalescePartitionsExec>().filter(|node| node.fetch().is_none());
    let input = coalesced.map_or(&plan, CoalescePartitionsExec::input);
    let partitions = input.output_partitioning().partition_count();
    if partitions < 2 {
        return execute_stream(plan, context);
    }
    let source = |partition: usize| {
        let (input, context) = (Arc::clone(input), Arc::clone(&context));
        move || input.execute(partition, context)
    };
    Ok(gather_sources(schema, (0..partitions).map(source).collect()))
}

/// One stream of what all sources give.
fn gather_sources<S>(schema: SchemaRef, sources: Vec<S>) -> SendableRecordBatchStream
where
    S: FnOnce() -> Result<SendableRecordBatchStream> + Send + 'static,
{
    let queue = Arc::new(Queue::new(sources.len()));
    let mut workers = JoinSet::new();
    for source in sources {
        let mut worker = Worker { queue: Arc::clone(&queue), has_ended: false };
        workers.spawn(async move {
            let ended = AssertUnwindSafe(produce(&worker.queue, source)).catch_unwind().await;
            worker.has_ended = true;
            worker.queue.end(ended.err());
        });
    }
    Box::pin(Gathered { schema, queue, _workers: workers })
}

/// One partition's worker. Gone before its end, with its runtime, it leaves an error: less than all rows is no answer.
struct Worker {
    queue: Arc<Queue>,
    has_ended: bool,
}

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.has_ended {
            self.queue.push(Err(DataFusionError::Execution("the threads of queries were stopped".into())));
            self.queue.end(None);
        }
    }
}

async fn produce<S>(queue: &Queue, source: S)
where
    S: FnOnce() -> Result<SendableRecordBatchStream>,
{
    let mut stream = match source() {
        Ok(stream) => stream,
        Err(error) => return queue.push(Err(error)),
    };
    while let Some(item) = stream.next().await {
        let is_error = item.is_err();
        queue.push(item);
        if is_error {
            return;
        }
        poll_fn(|context| queue.poll_room(context)).await;
    }
}

/// Batches between workers and who pulls.
struct Queue {
    state: Mutex<State>,
    partitions: usize,
}

#[derive(Default)]
struct State {
    /// Each with its bytes.
    items: VecDeque<(Result<RecordBatch>, usize)>,
    bytes: usize,
    /// Workers that have not ended.
    running: usize,
    /// Who pulls, when it found nothing.
    puller: Option<Waker>,
    /// Workers that wait for room.
    waiting: Vec<Waker>,
    panic: Option<Box<dyn Any + Send>>,
}

impl State {
    fn is_full(&self, partitions: usize) -> bool {
        self.bytes >= QUEUE_BYTES_MAX && self.items.len() >= partitions
    }

    /// Far enough from full that workers go on for some time.
    fn has_room(&self, partitions: usize) -> bool {
        self.bytes <= QUEUE_BYTES_MAX / 2 || self.items.len() < partitions
    }
}

impl Queue {
    fn new(partitions: usize) -> Queue {
        Queue { state: Mutex::new(State { running: partitions, ..State::default() }), partitions }
    }

    fn push(&self, item: Result<RecordBatch>) {
        let bytes = item.as_ref().map_or(0, RecordBatch::get_array_memory_size);
        let mut state = self.state.lock();
        let is_urgent = item.is_err();
        state.items.push_back((item, bytes));
        state.bytes += bytes;
        let woken = if is_urgent || state.bytes >= WAKE_BYTES { state.puller.take() } else { None };
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Ready when the queue is not full.
    fn poll_room(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state.lock();
        if !state.is_full(self.partitions) {
            return Poll::Ready(());
        }
        state.waiting.push(context.waker().clone());
        let woken = state.puller.take();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        Poll::Pending
    }

    /// A worker ends, maybe with a panic.
    fn end(&self, panic: Option<Box<dyn Any + Send>>) {
        let mut state = self.state.lock();
        state.running -= 1;
        let is_urgent = state.running == 0 || panic.is_some();
        state.panic = state.panic.take().or(panic);
        let woken = if is_urgent { state.puller.take() } else { None };
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    fn poll_pop(&self, context: &Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        let mut state = self.state.lock();
        if let Some((item, bytes)) = state.items.pop_front() {
            state.bytes -= bytes;
            let woken = if state.has_room(self.partitions) { std::mem::take(&mut state.waiting) } else { Vec::new() };
            drop(state);
            woken.into_iter().for_each(Waker::wake);
            return Poll::Ready(Some(item));
        }
        if let Some(panic) = state.panic.take() {
            drop(state);
            resume_unwind(panic);
        }
        if state.running == 0 {
            return Poll::Ready(None);
        }
        state.puller = Some(context.waker().clone());
        Poll::Pending
    }
}

/// The gathered batches; dropping it stops the workers.
struct Gathered {
    schema: SchemaRef,
    queue: Arc<Queue>,
    _workers: JoinSet<()>,
}

impl Stream for Gathered {
    type Item = Result<RecordBatch>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        self.queue.poll_pop(context)
    }
}

impl RecordBatchStream for Gathered {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

#[cfg(test)]
mod tests;
