//! Versions become columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use weft_contract::{SINCE, UNTIL};
use weft_format::arrow_values::array_of;
use weft_format::{Result, Timestamp, Value};

use super::super::scan::Plan;

/// Versions that were found and not handed out.
#[derive(Default)]
pub(super) struct Found {
    /// Of the columns of the projection; nothing of SINCE and UNTIL.
    columns: Vec<Vec<Value>>,
    since: Vec<Timestamp>,
    /// MAX: it has not ended.
    until: Vec<Timestamp>,
}

impl Found {
    /// How many.
    pub(super) fn len(&self) -> usize {
        self.since.len()
    }

    /// Adds a version when it satisfies the conditions; `value` gives what it has in a column.
    pub(super) fn push(
        &mut self,
        plan: &Plan,
        (since, until): (Timestamp, Timestamp),
        mut value: impl FnMut(usize) -> Result<Value>,
    ) -> Result<()> {
        for predicate in &plan.request.predicates {
            if !predicate.matches(value(predicate.column())?.as_ref()) {
                return Ok(());
            }
        }
        let projection = &plan.request.projection;
        self.columns.resize_with(projection.len(), Vec::new);
        let stored = self.columns.iter_mut().zip(projection).filter(|(_, ordinal)| !matches!(**ordinal, SINCE | UNTIL));
        for (values, &ordinal) in stored {
            values.push(value(ordinal)?);
        }
        self.since.push(since);
        self.until.push(until);
        Ok(())
    }

    /// All of them as a batch; none when there is none.
    pub(super) fn take(&mut self, plan: &Plan) -> Result<Option<RecordBatch>> {
        let found = std::mem::take(self);
        if found.since.is_empty() {
            return Ok(None);
        }
        let column = |(values, &ordinal): (&Vec<Value>, &usize)| match ordinal {
            SINCE => commits(&found.since),
            UNTIL => commits(&found.until),
            _ => array_of(plan.schema.columns[ordinal].data_type, values.iter().map(Value::as_ref)),
        };
        let columns = found.columns.iter().zip(&plan.request.projection).map(column).collect();
        plan.batch(columns, found.since.len()).map(Some)
    }
}

/// Commits as a column of a scan has them.
fn commits(all: &[Timestamp]) -> ArrayRef {
    let number = |ts: &Timestamp| (*ts < Timestamp::MAX).then(|| ts.0.cast_signed());
    Arc::new(all.iter().map(number).collect::<Int64Array>())
}
