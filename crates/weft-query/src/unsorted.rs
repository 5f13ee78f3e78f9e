//! Aggregates over frames that slide, whose results the engine must not take for sorted.
//!
//! ```text
//!   max(v) OVER (ORDER BY v DESC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS m ... ORDER BY m
//!     v = 3, 2, 1      m = 3, 3, 2: the engine says that m ascends, as the maximum of ever more rows does
//!   max(7) OVER (ORDER BY v ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING)
//!     7 is sorted, and so m were: but the first frame is empty, and its m is NULL
//! ```
//!
//! What `count` says of its order holds for frames that only grow. Over others no aggregate says anything here; `min`
//! and `max` never do (`extremes`), for the first of their results may be NULL.

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature,
    WindowFunctionDefinition,
};

use super::sliding;

/// Makes the aggregate of a window function silent about the order of its results, if its frame slides; whether it did.
pub(super) fn silenced(window: &mut WindowFunction) -> bool {
    let WindowFunctionDefinition::AggregateUDF(aggregate) = &window.fun else { return false };
    if window.params.window_frame.start_bound.is_unbounded() || aggregate.inner().is::<Silent>() {
        return false;
    }
    let silent = AggregateUDF::from(Silent { inner: Arc::clone(aggregate) });
    window.fun = WindowFunctionDefinition::AggregateUDF(Arc::new(silent));
    true
}

/// An aggregate that says nothing of the order of its results.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Silent {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Silent {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        self.inner.return_type(types)
    }

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        self.inner.return_field(fields)
    }

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        self.inner.coerce_types(types)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        sliding::accumulator(&self.inner, args)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }

    fn default_value(&self, data_type: &ArrowType) -> Result<ScalarValue> {
        self.inner.default_value(data_type)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.inner.reverse_udf() {
            ReversedUDAF::Identical => ReversedUDAF::Identical,
            ReversedUDAF::NotSupported => ReversedUDAF::NotSupported,
            ReversedUDAF::Reversed(inner) => ReversedUDAF::Reversed(Arc::new(AggregateUDF::from(Silent { inner }))),
        }
    }

    fn set_monotonicity(&self, _: &ArrowType) -> SetMonotonicity {
        SetMonotonicity::NotMonotonic
    }
}
