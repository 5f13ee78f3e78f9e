//! What was the present once, as it was compared with the model then, and what is shown of it later.
//!
//! ```text
//!   reopened, verified at commit 41       noted: the rows of each table that promises to keep its past
//!   updates, merges, crashes
//!   reopened                              the table AS OF 41, by scan and by key, has just these rows
//! ```
//!
//! 1. A moment is noted when nothing of it can be lost any more: after a reopening, and while writers run when no
//!    commit is acknowledged before it is durable, and none fails to become so.
//! 2. A bounded number is kept, old ones and new ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_format::{CompareOp, Predicate, TableId, Timestamp};
use weft_kernel::{PastSnapshot, TableRef, Transaction};

use crate::model::{Row, State, differences, show};
use crate::placed::places_of;
use crate::random::Random;
use crate::scan::{scan, scan_at};
use crate::tables::static_name;

/// How many are kept.
const KEPT_MAX: usize = 12;
/// How many keys are read of each table at a moment.
const KEYS: u64 = 3;

/// A moment and what there was.
struct Moment {
    commit: Timestamp,
    tables: Vec<(TableId, &'static str)>,
    state: State,
}

/// Those of a seed.
#[derive(Default)]
pub(crate) struct Moments {
    kept: Mutex<Vec<Arc<Moment>>>,
}

impl Moments {
    /// Notes what a transaction that has written nothing sees: `state`.
    pub(crate) fn note(&self, txn: &Transaction, state: &State, random: &mut Random) {
        let keeps_past = |table: &TableRef| {
            table.def.method == "lineage" && table.def.options.get("history").is_some_and(|kept| kept == "all")
        };
        let named = txn.tables().into_iter().filter_map(|def| {
            let table = txn.table(&def.name).expect("it is among the tables");
            keeps_past(&table)
                .then(|| (def.id, static_name(&def.name).expect("the workload's tables have known names")))
        });
        let tables: Vec<(TableId, &'static str)> = named.collect();
        if tables.is_empty() {
            return;
        }
        let is_kept = |name: &str| tables.iter().any(|(_, kept)| *kept == name);
        let state = state.iter().filter(|(place, _)| is_kept(place.0));
        let state = state.map(|(place, row)| (place.clone(), row.clone())).collect();
        let moment = Arc::new(Moment { commit: txn.read_ts(), tables, state });
        let mut kept = self.kept();
        if kept.len() < KEPT_MAX {
            kept.push(moment);
        } else {
            kept[random.below(KEPT_MAX as u64) as usize] = moment;
        }
    }

    /// Reads tables as they were at one of the moments; how many were compared. Panics when they differ.
    pub(crate) fn check(&self, txn: &Transaction, random: &mut Random) -> u64 {
        let moment = {
            let kept = self.kept();
            if kept.is_empty() {
                return 0;
            }
            Arc::clone(&kept[random.below(kept.len() as u64) as usize])
        };
        let mut compared = 0;
        for &(id, name) in &moment.tables {
            // It may have been dropped, and another have its name.
            let Some(table) = txn.table(name).ok().filter(|table| table.def.id == id) else { continue };
            let commit = moment.commit;
            let past = txn.past(commit).unwrap_or_else(|error| panic!("violation: {name} as of {commit}: {error}"));
            let present = scan(txn, &table, random).unwrap_or_else(|error| panic!("violation: {name}: {error}"));
            moment.compare(name, &table, &past, &present, random);
            compared += 1;
        }
        compared
    }

    /// From this commit on all may be lost.
    pub(crate) fn forget_from(&self, commit: Timestamp) {
        self.kept().retain(|moment| moment.commit < commit);
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Arc<Moment>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Moment {
    fn compare(
        &self,
        name: &'static str,
        table: &TableRef,
        past: &PastSnapshot,
        present: &BTreeMap<Vec<u8>, Row>,
        random: &mut Random,
    ) {
        let commit = self.commit;
        let read = |predicates: Vec<Predicate>, random: &mut Random| {
            let view = past.view(table);
            let rows = view.and_then(|view| scan_at(view, table, predicates, random));
            rows.unwrap_or_else(|error| panic!("violation: {name} as of {commit}: {error}"))
        };
        let rows = read(Vec::new(), random);
        let found: State = rows.iter().flat_map(|(key, row)| places_of(name, table, key, row)).collect();
        let own = self.state.range((name, Vec::new())..).take_while(|(place, _)| place.0 == name);
        let expected: State = own.map(|(place, row)| (place.clone(), row.clone())).collect();
        let differences = differences(&expected, &found);
        assert!(
            differences.is_empty(),
            "violation: {name} as of {commit} is not what it was then:\n  {}",
            differences.join("\n  ")
        );
        // Those of now, too: they may not have been there, or not have been the same.
        for keys in [&rows, present] {
            for _ in 0..KEYS.min(keys.len() as u64) {
                let at = random.below(keys.len() as u64) as usize;
                let key = keys.keys().nth(at).expect("it is below the length");
                let read = table.table.read_row(key, commit);
                let read = read.unwrap_or_else(|error| panic!("violation: {name} as of {commit} by key: {error}"));
                assert_eq!(
                    show(read.as_ref()),
                    show(rows.get(key)),
                    "violation: {name} as of {commit} by key and by scan"
                );
            }
        }
        for _ in 0..KEYS.min(rows.len() as u64) {
            let (key, row) = rows.iter().nth(random.below(rows.len() as u64) as usize).expect("it is below the length");
            let equal = |&column: &usize| {
                let value = table.codec.get(row, column).to_value();
                Predicate::Compare { column, op: CompareOp::Eq, value }
            };
            let found = read(table.def.schema.key.iter().map(equal).collect(), random);
            assert!(
                found.len() == 1 && found.get(key) == Some(row),
                "violation: {name} as of {commit} by key is {}, by scan {}",
                show(found.get(key)),
                show(Some(row))
            );
        }
    }
}
