//! A reading client: whole snapshots while writers and jobs run.

use std::sync::Arc;
use std::time::Duration;

use weft_env::Env;
use weft_format::Result;
use weft_kernel::{Engine, Transaction};

use crate::client::unless_expected;
use crate::history::History;
use crate::members::check_emails;
use crate::model::State;
use crate::placed::places_of;
use crate::random::Random;
use crate::scan::{check_reads, scan};
use crate::tables::{ACCOUNTS, PAIRS, TOTAL, balance_column, static_name};

/// One reader.
pub(crate) struct Reader {
    pub(crate) number: usize,
    pub(crate) env: Env,
    pub(crate) engine: Arc<Engine>,
    pub(crate) history: Arc<History>,
    /// Whether nothing of what it sees can be lost any more.
    pub(crate) notes: bool,
    pub(crate) random: Random,
}

impl Reader {
    /// Takes snapshots until there were enough.
    pub(crate) fn run(&mut self) {
        for _ in 0..3 {
            self.env.clock.sleep(Duration::from_micros(self.random.below(3000)));
            if let Some(error) = unless_expected(self.snapshot(), &[]) {
                panic!("violation: reader {} met an unexpected error: {error}", self.number);
            }
        }
    }

    fn snapshot(&mut self) -> Result<()> {
        let before = self.history.acknowledged_now();
        let txn = self.engine.begin()?;
        if self.random.chance(50) {
            self.env.clock.sleep(Duration::from_micros(self.random.below(2000)));
        }
        let state = read_state(&txn, &mut self.random)?;
        check_total(&state);
        check_emails(&state);
        if let Err(violation) = self.history.check_snapshot(txn.read_ts().0, &before, &state) {
            panic!("violation: reader {}: {violation}", self.number);
        }
        if self.notes {
            self.history.moments.note(&txn, &state, &mut self.random);
        }
        // The same again later, after jobs have moved the rows.
        for def in txn.tables() {
            let table = txn.table(&def.name)?;
            self.env.clock.sleep(Duration::from_micros(self.random.below(1500)));
            let rows = scan(&txn, &table, &mut self.random)?;
            let name = static_name(&def.name).expect("the workload's tables have known names");
            let again: State = rows.iter().flat_map(|(key, row)| places_of(name, &table, key, row)).collect();
            let first: State =
                state.range((name, Vec::new())..).take_while(|(place, _)| place.0 == name).map(owned).collect();
            let differences = crate::model::differences(&first, &again);
            assert!(
                differences.is_empty(),
                "violation: two scans of one snapshot differ:\n  {}",
                differences.join("\n  ")
            );
            check_reads(&txn, &table, &rows, &mut self.random)?;
        }
        let past = self.history.moments.check(&txn, &mut self.random);
        self.history.count(|counts| counts.past += past);
        Ok(())
    }
}

fn owned<A: Clone, B: Clone>((a, b): (&A, &B)) -> (A, B) {
    (a.clone(), b.clone())
}

/// Everything that a transaction sees: the tables and their rows.
pub(crate) fn read_state(txn: &Transaction, random: &mut Random) -> Result<State> {
    let mut state = State::new();
    for def in txn.tables() {
        let name = static_name(&def.name).unwrap_or_else(|| panic!("violation: there is a table {:?}", def.name));
        state.insert(("", name.into()), [].into());
        let table = txn.table(name)?;
        for (key, row) in scan(txn, &table, random)? {
            state.extend(places_of(name, &table, &key, &row));
        }
    }
    Ok(state)
}

/// No money comes into being, none is lost.
pub(crate) fn check_total(state: &State) {
    let mut total = 0;
    for ((table, _), row) in state.iter().filter(|((table, _), _)| *table == ACCOUNTS || *table == PAIRS) {
        // Rows of both tables begin with the number of columns and a null bitmap of one byte; slots follow in order.
        let slot = 3 + if balance_column(table) == 1 { 4 } else { 8 + 4 };
        total += i64::from_le_bytes(row[slot..slot + 8].try_into().expect("eight bytes"));
    }
    assert!(total == TOTAL || !state.contains_key(&("", ACCOUNTS.into())), "violation: the balances add up to {total}");
}
