//! Rows of the views of background jobs and of their scheduler.
//!
//! ```text
//!   SELECT relation, kind, state, reason FROM weft_jobs        the last hundred that were started, and those that wait
//!     u   convert   done      memory first; ...; 1.8 of 2 cores are expected to be idle for its 71 ms
//!     u   compact   waiting   0.2 of 2 cores are expected to be idle for its 35 ms
//!
//!   SELECT mode, idle_cores_expected, idle_cores_found, operator, phi FROM weft_scheduler
//!     cost   1.2   1.1   scan        1.31                      the engine's columns are the same in each row
//!     cost   1.2   1.1   aggregate   0.87
//! ```

use std::collections::BTreeMap;

use weft_format::{TableId, Value};
use weft_kernel::Engine;
use weft_kernel::sched::{HORIZON_US, JobRecord, OperatorKind, Phi};

use super::values::{int, text};

/// The time between two looks of the scheduler's monitor, microseconds.
const LOOK_US: f64 = 100_000.0;

fn ms(nanos: u64) -> Value {
    Value::Float(nanos as f64 / 1e6)
}

pub(super) fn jobs(engine: &Engine) -> Vec<Vec<Value>> {
    let mut names: BTreeMap<TableId, String> =
        engine.tables().iter().map(|table| (table.id(), table.def.name.clone())).collect();
    names.extend(engine.indexes().into_iter().map(|(_, index)| (index.id(), index.name().to_string())));
    let row = |job: JobRecord| {
        vec![
            names.get(&job.table).map_or(Value::Null, |name| text(name.as_str())),
            text(job.kind.name().to_owned()),
            int(job.number),
            text(job.state.name()),
            job.started_micros.map_or(Value::Null, Value::Int),
            ms(job.duration_nanos),
            job.spent.map_or(Value::Null, |spent| ms(spent.paused_nanos)),
            job.spent.map_or(Value::Null, |spent| ms(spent.thread_nanos)),
            Value::Float(job.price.cpu_us as f64 / 1e3),
            job.spent.map_or(Value::Null, |spent| int(spent.read_bytes)),
            int(job.price.read_bytes),
            job.spent.map_or(Value::Null, |spent| int(spent.written_bytes)),
            int(job.price.write_bytes),
            int(job.price.memory_freed_bytes),
            text(job.reason),
        ]
    };
    engine.jobs().into_iter().map(row).collect()
}

pub(super) fn scheduler(engine: &Engine) -> Vec<Vec<Value>> {
    let status = engine.scheduler();
    let (forecast, seen) = (&status.forecast, status.comparison);
    let whole = vec![
        text(status.mode.name()),
        int(forecast.cores() as u64),
        int(status.query_count as u64),
        int(status.job_count as u64),
        Value::Float(forecast.busy_mean(0.0, 0.0)),
        Value::Float(forecast.busy_mean(0.0, LOOK_US)),
        Value::Float(forecast.busy_mean(0.0, HORIZON_US)),
        Value::Float(seen.idle_expected),
        Value::Float(seen.idle_found),
        int(seen.count),
        Value::Float(seen.error),
    ];
    let of_operators = OperatorKind::ALL.map(|kind| (kind.name().to_owned(), *status.operators.of(kind)));
    let of_jobs = status.jobs.iter().map(|(kind, phi)| (format!("job: {}", kind.name()), *phi));
    let row = |(name, phi): (String, Phi)| {
        let learned = vec![
            text(name),
            Value::Float(phi.mean),
            Value::Float(phi.variance),
            int(phi.count),
            Value::Float(phi.estimated_us / 1e3),
            Value::Float(phi.actual_us / 1e3),
            Value::Float(phi.error_uncorrected),
            Value::Float(phi.error),
        ];
        [whole.clone(), learned].concat()
    };
    of_operators.into_iter().chain(of_jobs).map(row).collect()
}
