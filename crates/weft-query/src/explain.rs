//! EXPLAIN of the query engine.
//!
//! ```text
//!   Query engine (warm: the physical plan is reused)
//!   AggregateExec: mode=Final, gby=[], aggr=[sum(t.a)]
//!     CoalescePartitionsExec
//!       AggregateExec: mode=Partial, gby=[], aggr=[sum(t.a)]
//!         WeftScanExec: table=t, columns=[a], predicates=[a >= 7], partitions=2, rows~1000, kept~930
//!   with ANALYZE also: metrics=[output_rows=..., parts=3, parts_pruned=1, ...] per operator, the time of the whole;
//!   of each scan, "Estimate: scan of t ~480 rows, 500 found, q-error 1.04"
//!   and layers=[row tables: 1 read, 0 pruned; incremental: 0 read, 1 pruned; transition: ...; baseline: ...]
//! ```

use std::fmt::Write;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use weft_format::Result;
use weft_kernel::table::Period;
use weft_sql::queries::{Plan, QueryStream};
use weft_sql::{Binding, When};

use super::apply::walk::applied_in;
use super::engine::DataFusionEngine;
use super::error::unwrap;
use super::planned::Planned;
use super::scan::WeftScanExec;

impl DataFusionEngine {
    /// The plan as text; with `analyze` it is run (its rows are dropped) and shown with what each operator did.
    pub(super) fn explained(&self, query: &Planned, binding: Binding, analyze: bool) -> Result<String> {
        let runnable = self.runnable(query, &binding)?;
        let plan = Arc::clone(&runnable.plan);
        let warm = if query.is_warm() { "warm: the physical plan is reused" } else { "planned for each execution" };
        let mut out = format!("Query engine ({warm})\n");
        for (number, moment) in (1..).zip(binding.moments.iter()) {
            let _ = match &moment.when {
                When::Commit(snapshot) => {
                    writeln!(out, "Moment {number}: {} is commit {}", moment.text, snapshot.read_ts())
                }
                When::Period(Some((_, period))) => {
                    let Period { after, to, .. } = period;
                    writeln!(
                        out,
                        "Moment {number}: {} is what ends after commit {after}, and begins up to {to}",
                        moment.text
                    )
                }
                When::Period(None) => writeln!(out, "Moment {number}: {} has no versions", moment.text),
                When::All => writeln!(out, "Moment {number}: {} that is kept", moment.text),
            };
        }
        if !analyze {
            let _ = write!(out, "{}", DisplayableExecutionPlan::new(plan.as_ref()).indent(false));
            write_applied(&mut out, &plan, &query.text)?;
            return Ok(out);
        }
        let started = self.clock.monotonic_nanos();
        let mut stream = self.start(query, runnable, binding)?;
        let mut rows = 0;
        while let Some(batch) = stream.next_batch()? {
            rows += batch.num_rows();
        }
        let elapsed = self.clock.monotonic_nanos() - started;
        let _ = write!(out, "{}", DisplayableExecutionPlan::with_metrics(plan.as_ref()).indent(false));
        write_applied(&mut out, &plan, &query.text)?;
        write_estimates(&mut out, &plan, &query.text)?;
        let _ = writeln!(out, "{rows} rows in {:.3} ms", elapsed as f64 / 1e6);
        Ok(out)
    }
}

/// What each scan was thought to give, what it gave, and by which factor that was wrong (its q-error).
fn write_estimates(out: &mut String, plan: &Arc<dyn ExecutionPlan>, text: &str) -> Result<()> {
    let written = plan.apply(|node| {
        if let Some(scan) = node.downcast_ref::<WeftScanExec>() {
            let (name, estimated, given) = scan.estimated();
            let (thought, found) = (estimated.max(1) as f64, given.max(1) as f64);
            let error = (thought / found).max(found / thought);
            let _ = writeln!(out, "Estimate: scan of {name} ~{estimated} rows, {given} found, q-error {error:.2}");
        }
        Ok(TreeNodeRecursion::Continue)
    });
    written.map(|_| ()).map_err(|error| unwrap(error, text))
}

/// The plans of subqueries that are applied in a plan.
fn write_applied(out: &mut String, plan: &Arc<dyn ExecutionPlan>, text: &str) -> Result<()> {
    for (name, plan) in applied_in(plan).map_err(|error| unwrap(error, text))? {
        let _ = write!(
            out,
            "{name}, for each row that asks:\n{}",
            DisplayableExecutionPlan::new(plan.as_ref()).indent(false)
        );
    }
    Ok(())
}
