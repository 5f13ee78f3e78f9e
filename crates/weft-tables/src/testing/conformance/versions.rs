//! Versions of a random period, of a table that gives them out: those of the model, each once.

use weft_contract::{Period, SINCE, ScanRequest, UNTIL};
use weft_format::{Code, CompareOp, Predicate, Timestamp, Value};
use weft_kernel::{TableRef, Transaction};

use super::{Suite, compare_rows, random_columns, random_predicates};
use crate::testing::rows_of;

impl Suite {
    /// What a transaction is given of a period.
    pub(super) fn look_at_versions(&mut self, table: &TableRef, txn: &Transaction) {
        if table.table.versions().is_none() {
            return;
        }
        let period = self.random_period(table, txn);
        let kept = txn.past(period.after).and_then(|past| past.view(table).map(|_| past));
        let _kept = match kept {
            Ok(kept) => kept,
            Err(error) => {
                assert_eq!(error.code(), Code::SnapshotTooOld, "{error}");
                return;
            }
        };
        let mut projection = random_columns(&table.def.schema, &mut self.random);
        for ordinal in [SINCE, UNTIL] {
            let at = self.random.below(projection.len() as u64 + 1) as usize;
            projection.insert(at, ordinal);
        }
        let predicates = match self.random.below(3) {
            0 => self.key_predicates(table),
            1 => random_predicates(&mut self.random),
            _ => Vec::new(),
        };
        let (partition_count, batch_rows) =
            (self.random.below(3) as usize + 1, [1, 7, 8192][self.random.below(3) as usize]);
        let mut view = txn.view(table).expect("it is kept");
        view.own = None;
        let ts = view.read_ts;
        let request = ScanRequest {
            view,
            projection: projection.clone(),
            predicates: predicates.clone(),
            partition_count,
            batch_rows,
        };
        let found = table.scan_versions(request, period).and_then(|out| rows_of(out, partition_count, batch_rows));
        let mut found = match found {
            Ok(found) => found,
            Err(error) => {
                // A node that follows has files that have forgotten it.
                assert_eq!(error.code(), Code::SerializationFailure, "{error}");
                return;
            }
        };
        let mut expected = Vec::new();
        for (row, since, until) in self.model.versions().filter(|version| version.1 <= ts) {
            let until = if until > ts { Timestamp::MAX } else { until };
            let matches = |predicate: &Predicate| predicate.matches(table.codec.get(row, predicate.column()));
            if !period.has(since, until) || !predicates.iter().all(matches) {
                continue;
            }
            let value = |&ordinal: &usize| match ordinal {
                SINCE => Value::Int(since.0.cast_signed()),
                UNTIL if until == Timestamp::MAX => Value::Null,
                UNTIL => Value::Int(until.0.cast_signed()),
                ordinal => table.codec.get(row, ordinal).to_value(),
            };
            expected.push(projection.iter().map(value).collect::<Vec<Value>>());
        }
        found.sort_by(|a, b| compare_rows(a, b));
        expected.sort_by(|a, b| compare_rows(a, b));
        let seed = self.options.seed;
        assert_eq!(found, expected, "seed {seed}: versions of {period:?} at {ts}, {projection:?} where {predicates:?}");
    }

    fn random_period(&mut self, table: &TableRef, txn: &Transaction) -> Period {
        let (floor, now) = (table.horizon().floor().max(self.made).0, txn.read_ts().0);
        let mut moment = |from: u64, to: u64| Timestamp(from + self.random.below(to.saturating_sub(from) + 1));
        let after = moment(floor.min(now), now);
        let (to, except) = (moment(after.0, now + 2), moment(floor.min(now), now));
        match self.random.below(3) {
            0 => Period { after, to: after, except: Some(except) },
            1 => Period { after: Timestamp(floor.min(now)), to: Timestamp::MAX, except: None },
            _ => Period { after, to, except: None },
        }
    }

    /// Of one key alone.
    pub(super) fn key_predicates(&mut self, table: &TableRef) -> Vec<Predicate> {
        let values = super::row_values(self.random.below(self.options.keys), &mut self.random);
        let equal = |&column: &usize| {
            let (op, value) = (CompareOp::Eq, values[column].clone());
            Predicate::Compare { column, op, value }
        };
        table.def.schema.key.iter().map(equal).collect()
    }
}
