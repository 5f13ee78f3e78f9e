//! Aggregates over the rows of a group.

use std::collections::HashSet;

use weft_format::Result;

use crate::eval::{Around, Execution};
use crate::function::json_text;
use crate::order::sort_by_keys;
use crate::tree::{Aggregate, AggregateKind};
use crate::value::{Datum, Row};

/// The value of an aggregate.
pub(crate) fn accumulate(
    execution: &Execution<'_>,
    aggregate: &Aggregate,
    rows: &[Row],
    outer: Option<&Around<'_>>,
) -> Result<Datum> {
    let mut taken: Vec<(Vec<Datum>, Vec<Datum>)> = Vec::with_capacity(rows.len());
    let mut seen = HashSet::new();
    for row in rows {
        let around = Around::row(row, outer);
        if let Some(filter) = &aggregate.filter
            && !execution.holds(filter, &around)?
        {
            continue;
        }
        let args = aggregate.args.iter().map(|ex| execution.eval(ex, &around)).collect::<Result<Vec<Datum>>>()?;
        if aggregate.distinct {
            let mut key = String::new();
            args.iter().for_each(|arg| arg.key(&mut key));
            if !seen.insert(key) {
                continue;
            }
        }
        let keys =
            aggregate.order.iter().map(|(ex, ..)| execution.eval(ex, &around)).collect::<Result<Vec<Datum>>>()?;
        taken.push((keys, args));
    }
    let directions: Vec<(bool, bool)> = aggregate.order.iter().map(|(_, a, b)| (*a, *b)).collect();
    sort_by_keys(&mut taken, &directions);
    let separator = taken.first().and_then(|(_, args)| args.get(1)).map(Datum::plain).unwrap_or_default();
    let firsts = taken.into_iter().map(|(_, args)| args.into_iter().next().unwrap_or(Datum::Null));
    if aggregate.kind == AggregateKind::CountAll {
        return Ok(Datum::Int(firsts.count() as i64));
    }
    if aggregate.kind == AggregateKind::ArrayAgg {
        let all: Vec<Datum> = firsts.collect();
        return Ok(if all.is_empty() { Datum::Null } else { Datum::list(all) });
    }
    let values: Vec<Datum> = firsts.filter(|value| !value.is_null()).collect();
    if aggregate.kind == AggregateKind::Count {
        return Ok(Datum::Int(values.len() as i64));
    }
    if values.is_empty() {
        return Ok(Datum::Null);
    }
    Ok(match aggregate.kind {
        AggregateKind::Min => values.into_iter().min_by(Datum::order).unwrap_or(Datum::Null),
        AggregateKind::Max => values.into_iter().max_by(Datum::order).unwrap_or(Datum::Null),
        AggregateKind::Sum if values.iter().all(|value| matches!(value, Datum::Int(_))) => {
            Datum::Int(values.iter().filter_map(Datum::int).fold(0, i64::saturating_add))
        }
        AggregateKind::Sum => Datum::Float(values.iter().filter_map(Datum::float).sum()),
        AggregateKind::Avg => Datum::Float(values.iter().filter_map(Datum::float).sum::<f64>() / values.len() as f64),
        AggregateKind::BoolAnd => Datum::Bool(values.iter().all(Datum::is_true)),
        AggregateKind::BoolOr => Datum::Bool(values.iter().any(Datum::is_true)),
        AggregateKind::StringAgg => Datum::text(values.iter().map(Datum::plain).collect::<Vec<_>>().join(&separator)),
        _ => Datum::text(format!("[{}]", values.iter().map(json_text).collect::<Vec<_>>().join(", "))),
    })
}
