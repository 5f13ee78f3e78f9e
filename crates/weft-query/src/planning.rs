//! A physical plan for each execution: of a template where there is a good one (see `templates`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DataFusionError, Result as PlanResult, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::physical_plan::ExecutionPlan;
use weft_format::Result;
use weft_sql::Binding;

use super::catalog::{narrowed, with_catalog};
use super::engine::DataFusionEngine;
use super::error::unwrap_planned;
use super::local::{local_of, state_for};
use super::planned::Planned;
use super::provider::{partition_count, refresh_estimates};
use super::scan::WeftScanExec;
use super::shapes::{Shape, is_reusable, shape_of};
use super::slots::{Slots, with_closed, with_slots};
use super::templates::{Runnable, Stage, Template};

/// How often a plan with open parameters is compared with one that has the values before it is given up.
const TRIALS_MAX: u32 = 3;

impl DataFusionEngine {
    /// Makes the template of a query without parameters.
    pub(super) fn prepare_template(&self, query: &Planned) -> Result<()> {
        let template = self.made(query, &[], &[], Vec::new()).map_err(|error| unwrap_planned(error, &query.text))?;
        if is_reusable(&template.plan) {
            query.templates.set_stage(Stage::Closed);
            query.templates.keep(template);
        } else {
            query.templates.set_stage(Stage::Single);
        }
        Ok(())
    }

    /// A physical plan for one execution with these values of parameters: of a template where there is one.
    pub(super) fn unbound(&self, query: &Planned, binding: &Binding, given: Vec<ScalarValue>) -> Result<Runnable> {
        let wrong = |error| unwrap_planned(error, &query.text);
        let given: Arc<[ScalarValue]> = given.into();
        self.refresh(query, binding);
        if !query.is_fixed {
            let plan = self.clocked(query, binding, &given).map_err(wrong)?;
            let expected = self.expected(&plan);
            return Ok(Runnable { plan, expected, given, lease: None });
        }
        let closed = |is_open: &[bool]| -> Vec<ScalarValue> {
            let values = given.iter().zip(is_open);
            values.filter(|(_, is_open)| !**is_open).map(|(value, _)| value.clone()).collect()
        };
        let templates = &query.templates;
        let stage = templates.stage();
        let is_open = if matches!(stage, Stage::Open) { Arc::clone(&query.is_open) } else { none_of(&query.is_open) };
        let key = closed(&is_open);
        if let Some((template, generation)) = templates.take(&key) {
            return templates.lend(template, generation, given).map_err(wrong);
        }
        match stage {
            Stage::Open => {
                if let Ok(template) = self.made(query, &is_open, &given, key)
                    && is_reusable(&template.plan)
                {
                    return templates.add(template, given).map_err(wrong);
                }
            }
            Stage::Trial(shape, trials) if query.is_open.contains(&true) => {
                let key = closed(&query.is_open);
                if let Some(runnable) = self.tried(query, &given, key, &shape, trials).map_err(wrong)? {
                    return Ok(runnable);
                }
            }
            _ => {}
        }
        let template = self.made(query, &none_of(&is_open), &given, given.to_vec()).map_err(wrong)?;
        if !is_reusable(&template.plan) {
            templates.set_stage(Stage::Single);
            return Ok(alone(template, given));
        }
        match templates.stage() {
            Stage::New if query.is_open.contains(&true) => {
                templates.set_stage(Stage::Trial(shape_of(&template.plan, &given).map_err(wrong)?, 0));
                Ok(alone(template, given))
            }
            Stage::New | Stage::Closed => {
                templates.set_stage(Stage::Closed);
                templates.add(template, given).map_err(wrong)
            }
            Stage::Trial(..) | Stage::Open | Stage::Single => Ok(alone(template, given)),
        }
    }

    /// Plans with open parameters, and compares with a plan that had values (templates 3): the first one, or one with
    /// the present values. None when they differ.
    fn tried(
        &self,
        query: &Planned,
        given: &Arc<[ScalarValue]>,
        closed: Vec<ScalarValue>,
        first: &Shape,
        trials: u32,
    ) -> PlanResult<Option<Runnable>> {
        let open = match self.made(query, &query.is_open, given, closed) {
            Ok(open) if is_reusable(&open.plan) => open,
            _ => {
                query.templates.set_stage(Stage::Closed);
                return Ok(None);
            }
        };
        let shape = shape_of(&open.plan, given)?;
        if shape.covers(first) {
            query.templates.set_stage(Stage::Open);
            return query.templates.add(open, Arc::clone(given)).map(Some);
        }
        let with_values = self.made(query, &none_of(&query.is_open), given, given.to_vec())?;
        let present = shape_of(&with_values.plan, given)?;
        if shape.covers(&present) {
            query.templates.set_stage(Stage::Open);
            return query.templates.add(open, Arc::clone(given)).map(Some);
        }
        let is_over = trials + 1 >= TRIALS_MAX;
        query.templates.set_stage(if is_over { Stage::Closed } else { Stage::Trial(present, trials + 1) });
        Ok(Some(alone(with_values, Arc::clone(given))))
    }

    /// A plan in which these parameters are open.
    fn made(
        &self,
        query: &Planned,
        is_open: &[bool],
        given: &[ScalarValue],
        closed: Vec<ScalarValue>,
    ) -> PlanResult<Template> {
        let slots = Arc::new(Slots::default());
        let plan = if query.params.is_empty() {
            self.physical(query, &query.state, &query.plan)?
        } else {
            let closed = with_closed(&query.plan, &query.params, is_open, given)?;
            let plan = |state: &SessionState| {
                let plan = with_slots(state.optimize(&closed)?, &slots)?;
                self.physical(query, state, &plan)
            };
            match plan(&query.state) {
                // An error of the engine's own says that it has no plan for a join that it made.
                Err(error) if query.has_subqueries && !matches!(error.find_root(), DataFusionError::External(_)) => {
                    let applying = state_for(self.applying(), local_of(query.state.config_options()));
                    plan(&applying).map_err(|_| error)?
                }
                made => made?,
            }
        };
        let expected = self.expected(&plan);
        Ok(Template { closed, slots, plan, expected })
    }

    /// Plans for the moment.
    fn clocked(&self, query: &Planned, binding: &Binding, given: &[ScalarValue]) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let plan = with_closed(&query.plan, &query.params, &none_of(&query.is_open), given)?;
        let mut state = state_for(&query.state, &binding.local);
        if let Some(catalog) = &binding.catalog {
            state = with_catalog(state, catalog);
        }
        state.execution_props_mut().query_execution_start_time =
            chrono::DateTime::from_timestamp_micros(binding.local.now_micros);
        let mut plan = state.optimize(&plan)?;
        if let Some(catalog) = &binding.catalog {
            plan = narrowed(plan, catalog)?;
        }
        self.physical(query, &state, &plan)
    }

    /// Drops the templates when a table has grown or shrunk so far that it would be read in another number of
    /// partitions.
    /// Looked at in the 1st, 2nd, 4th, 8th, ... and every 256th execution.
    fn refresh(&self, query: &Planned, binding: &Binding) {
        let count = query.executions.fetch_add(1, Ordering::Relaxed) + 1;
        if !count.is_power_of_two() && !count.is_multiple_of(256) {
            return;
        }
        let kept: Vec<_> = query.templates.plans();
        let spares = query.spares_memory.load(Ordering::Relaxed);
        let target = if spares { self.parallelism.max(2) } else { self.parallelism };
        let is_outgrown = |plan: &Arc<dyn ExecutionPlan>| {
            let outgrown = plan.exists(|node| {
                let Some(leaf) = node.downcast_ref::<WeftScanExec>() else {
                    return Ok(false);
                };
                let (table, partitions) = leaf.partitioned();
                Ok(binding.views.get(&table).is_some_and(|(table, _)| {
                    partition_count(table.table.statistics().row_count, target) != partitions
                }))
            });
            outgrown.unwrap_or(true)
        };
        if kept.is_empty() || kept.iter().any(is_outgrown) {
            refresh_estimates(&query.plan, &binding.views);
            query.templates.clear();
        }
    }
}

fn none_of(is_open: &[bool]) -> Arc<[bool]> {
    is_open.iter().map(|_| false).collect()
}

/// A plan that is not kept.
fn alone(template: Template, given: Arc<[ScalarValue]>) -> Runnable {
    Runnable { plan: template.plan, expected: template.expected, given, lease: None }
}
