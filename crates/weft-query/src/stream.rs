//! A running query, pulled batch by batch.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::ExecutionPlan;
use futures::{Future, StreamExt};
use tokio::runtime::Handle;
use tokio::task::unconstrained;
use weft_env::sync::{Condvar, Mutex};
use weft_format::Result;
use weft_kernel::sched::QueryRun;
use weft_sql::CancelToken;
use weft_sql::queries::QueryStream;

use super::error::unwrap;
use super::forecast::learn;
use super::guard::guarded;
use super::output::Converter;
use super::templates::Lease;

/// How long a wait for the workers lasts before the cancel token is asked again.
const PATIENCE: Duration = Duration::from_millis(20);

/// Wakes the thread that pulls. (Timers of the worker threads do not run while all of them compute.)
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    wake: Condvar,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.rung.lock() = true;
        self.wake.notify_all();
    }
}

impl Bell {
    /// Waits until it is rung, or for [`PATIENCE`].
    fn wait(&self) {
        let mut rung = self.rung.lock();
        if !*rung {
            self.wake.wait_timeout(&mut rung, PATIENCE);
        }
        *rung = false;
    }
}

/// What runs, and its place among the engine's queries.
pub(super) struct Running {
    pub(super) stream: SendableRecordBatchStream,
    /// The plan, when it is asked what it took.
    pub(super) observed: Option<Arc<dyn ExecutionPlan>>,
    pub(super) run: QueryRun,
    /// The template that it has alone.
    pub(super) lease: Option<Lease>,
}

/// A running query. Dropping it cancels what is still running.
pub(super) struct RunningQuery {
    running: Option<Running>,
    handle: Handle,
    converter: Converter,
    cancel: CancelToken,
    text: Arc<str>,
    stopped: Arc<AtomicBool>,
    bell: Arc<Bell>,
}

impl RunningQuery {
    pub(super) fn new(
        running: Running,
        handle: Handle,
        converter: Converter,
        cancel: CancelToken,
        text: Arc<str>,
        stopped: Arc<AtomicBool>,
    ) -> RunningQuery {
        RunningQuery { running: Some(running), handle, converter, cancel, text, stopped, bell: Arc::default() }
    }

    fn pull(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(Running { stream, .. }) = &mut self.running {
            self.cancel.check()?;
            match poll_once(&self.handle, stream, &self.bell) {
                Poll::Pending => self.bell.wait(),
                Poll::Ready(None) => return Ok(None),
                Poll::Ready(Some(Ok(batch))) if batch.num_rows() == 0 => {}
                Poll::Ready(Some(Ok(batch))) => {
                    let converted = self.converter.convert(batch);
                    return converted.map(Some).map_err(|error| unwrap(error.into(), &self.text));
                }
                Poll::Ready(Some(Err(error))) => return Err(unwrap(error, &self.text)),
            }
        }
        Ok(None)
    }

    /// Lets the plan go; one that ran to its end tells what it took.
    fn finish(&mut self, is_complete: bool) {
        let _entered = self.handle.enter();
        self.stopped.store(true, Ordering::Relaxed);
        let Some(Running { stream, observed, run, lease }) = self.running.take() else { return };
        drop(stream);
        drop(lease);
        if let Some(plan) = observed
            && is_complete
        {
            learn(run, &plan);
        }
    }
}

impl QueryStream for RunningQuery {
    fn schema(&self) -> &SchemaRef {
        self.converter.schema()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let waiting = self.running.as_ref().map(|running| running.run.waiting());
        let next = guarded(|| self.pull());
        drop(waiting);
        if !matches!(next, Ok(Some(_))) {
            self.finish(next.is_ok());
        }
        next
    }
}

impl Drop for RunningQuery {
    fn drop(&mut self) {
        self.finish(false);
    }
}

/// Waits for a future in this thread, whatever else runs here: also inside an executor of the caller's.
pub(super) fn wait<F: Future>(handle: &Handle, future: F) -> F::Output {
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut context = Context::from_waker(&waker);
    let mut future = Box::pin(unconstrained(future));
    let _entered = handle.enter();
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => bell.wait(),
        }
    }
}

/// Polls in this thread, with a fresh allowance of steps, so that a query that runs here comes back now and then.
fn poll_once(
    handle: &Handle,
    stream: &mut SendableRecordBatchStream,
    bell: &Arc<Bell>,
) -> Poll<Option<datafusion::common::Result<RecordBatch>>> {
    let waker = Waker::from(Arc::clone(bell));
    let mut context = Context::from_waker(&waker);
    if Handle::try_current().is_err() {
        return handle.block_on(async { stream.poll_next_unpin(&mut context) });
    }
    // The caller runs tasks of its own in this thread: their allowance is not ours to use up.
    let _entered = handle.enter();
    let mut next = unconstrained(stream.next());
    Pin::new(&mut next).poll(&mut context)
}
