//! The order of rows.

use crate::value::Datum;

/// Sorts rows by keys that stand before them.
pub(crate) fn sort_by_keys<T>(rows: &mut [(Vec<Datum>, T)], directions: &[(bool, bool)]) {
    rows.sort_by(|(left, _), (right, _)| {
        for ((left, right), (descending, nulls_first)) in left.iter().zip(right).zip(directions) {
            let order = match (left.is_null(), right.is_null()) {
                (false, false) if *descending => right.order(left),
                (false, false) => left.order(right),
                (a, b) if *nulls_first => b.cmp(&a),
                (a, b) => a.cmp(&b),
            };
            if order.is_ne() {
                return order;
            }
        }
        std::cmp::Ordering::Equal
    });
}
