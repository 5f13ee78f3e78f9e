//! Aggregates over frames that slide, computed anew for each frame where taking out what left it does not give what was
//! there before.
//!
//! ```text
//!   sum of 1e20, 1, 1 over ROWS 1 PRECEDING     1e20, 1e20, 2; by taking 1e20 out of 1e20 + 1: 0 + 1
//!   sum of 'Infinity', 1, 1                     Infinity, Infinity, 2; by taking it out: NaN from then on
//! ```
//!
//! That is what PostgreSQL does, too: aggregates of floats, and those without an inverse, cost the length of the frame
//! for each row. Values leave a frame in the order in which they came. Sums and averages are added up in that order;
//! a frame that begins at the current row and has no end, the engine may read from its end.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::concat;
use arrow::datatypes::{DataType as ArrowType, FieldRef, Float64Type, Schema};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};

use super::stop::check_running;

/// More pieces than these are made one.
const PIECES_MAX: usize = 32;

/// The accumulator of an aggregate over a frame that slides.
pub(super) fn accumulator(aggregate: &Arc<AggregateUDF>, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
    let is_float = args.expr_fields.iter().any(|field| field.data_type().is_floating());
    let is_exact = matches!(aggregate.name(), "count" | "min" | "max");
    let anew = Recomputed { recipe: Recipe::of(aggregate, &args), pieces: VecDeque::new() };
    if is_float && !is_exact {
        return Ok(Box::new(anew));
    }
    match aggregate.create_sliding_accumulator(args) {
        Ok(inner) if inner.supports_retract_batch() => Ok(inner),
        _ => Ok(Box::new(anew)),
    }
}

/// What an accumulator is made of.
#[derive(Debug)]
struct Recipe {
    aggregate: Arc<AggregateUDF>,
    return_field: FieldRef,
    schema: Schema,
    ignore_nulls: bool,
    order_bys: Vec<PhysicalSortExpr>,
    is_reversed: bool,
    name: String,
    is_distinct: bool,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    expr_fields: Vec<FieldRef>,
}

impl Recipe {
    fn of(aggregate: &Arc<AggregateUDF>, args: &AccumulatorArgs<'_>) -> Recipe {
        Recipe {
            aggregate: Arc::clone(aggregate),
            return_field: Arc::clone(&args.return_field),
            schema: args.schema.clone(),
            ignore_nulls: args.ignore_nulls,
            order_bys: args.order_bys.to_vec(),
            is_reversed: args.is_reversed,
            name: args.name.into(),
            is_distinct: args.is_distinct,
            exprs: args.exprs.to_vec(),
            expr_fields: args.expr_fields.to_vec(),
        }
    }

    fn types(&self) -> Vec<ArrowType> {
        self.expr_fields.iter().map(|field| field.data_type().clone()).collect()
    }

    fn accumulator(&self) -> Result<Box<dyn Accumulator>> {
        self.aggregate.accumulator(AccumulatorArgs {
            return_field: Arc::clone(&self.return_field),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &self.order_bys,
            is_reversed: self.is_reversed,
            name: &self.name,
            is_distinct: self.is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.expr_fields,
        })
    }
}

/// Keeps the values of the frame.
#[derive(Debug)]
struct Recomputed {
    recipe: Recipe,
    /// The arguments' columns of some rows each, none of them empty.
    pieces: VecDeque<Vec<ArrayRef>>,
}

impl Recomputed {
    /// The sum or average, value by value; the engine's own adds in lanes.
    fn added_up(&self) -> Result<ScalarValue> {
        let (mut sum, mut count) = (0.0, 0_u64);
        for piece in &self.pieces {
            check_running()?;
            for value in piece[0].as_primitive::<Float64Type>().iter().flatten() {
                sum += value;
                count += 1;
            }
        }
        let made = if self.recipe.aggregate.name() == "avg" { sum / count as f64 } else { sum };
        Ok(ScalarValue::Float64((count > 0).then_some(made)))
    }

    fn join_pieces(&mut self) -> Result<()> {
        let width = self.pieces[0].len();
        let column = |at: usize| {
            let parts: Vec<&dyn Array> = self.pieces.iter().map(|piece| piece[at].as_ref()).collect();
            concat(&parts)
        };
        let joined = (0..width).map(column).collect::<std::result::Result<Vec<_>, _>>()?;
        self.pieces = VecDeque::from([joined]);
        Ok(())
    }
}

impl Accumulator for Recomputed {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if values[0].is_empty() {
            return Ok(());
        }
        self.pieces.push_back(values.to_vec());
        if self.pieces.len() > PIECES_MAX { self.join_pieces() } else { Ok(()) }
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut left = values[0].len();
        while left > 0 {
            let Some(mut piece) = self.pieces.pop_front() else {
                return datafusion::common::internal_err!("more values leave a frame than came into it");
            };
            let rows = piece[0].len();
            if rows > left {
                for column in &mut piece {
                    *column = column.slice(left, rows - left);
                }
                self.pieces.push_front(piece);
            }
            left = left.saturating_sub(rows);
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        datafusion::common::internal_err!("a window has no partial aggregates")
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if let ("sum" | "avg", [ArrowType::Float64]) = (self.recipe.aggregate.name(), &self.recipe.types()[..]) {
            return self.added_up();
        }
        let mut inner = self.recipe.accumulator()?;
        for piece in &self.pieces {
            check_running()?;
            inner.update_batch(piece)?;
        }
        inner.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        datafusion::common::internal_err!("a window has no partial aggregates")
    }

    fn size(&self) -> usize {
        self.pieces.iter().flatten().map(|column| column.get_array_memory_size()).sum()
    }
}
