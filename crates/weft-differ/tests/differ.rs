//! Random queries: Weft's engines beside PostgreSQL.
//!
//! ```text
//!   cargo test --release -p weft-differ                            2,000 statements from seed 1 on
//!   WEFT_DIFFER=40000 cargo test --release -p weft-differ          so many
//!   WEFT_TEST_FULL=1 cargo test --release -p weft-differ           a million
//!   WEFT_DIFFER_SEED=7 WEFT_DIFFER_SECONDS=120 cargo test ...      from another seed on, for so long
//!   WEFT_DIFFER_CASE=7:13 cargo test ... -- --nocapture            one of them, with all answers
//! ```
//!
//! A seed gives tables and a hundred statements. Each is asked of Weft as text by its router, of the query engine, and
//! twice with parameters for its constants; every answer must be PostgreSQL's, a refusal (0A000, counted by reason),
//! listed in `weft_differ::explained`, or of a class in `weft_differ::open`. What differs otherwise is shrunk and
//! printed as a script. A run with WEFT_TEST_FULL=1 fails when it meets nothing of an open class: take it off the list.
//!
//! Of many statements a few still differ and are in neither list; docs/decisions/2026-11-23-nothing-wrong.md says how
//! many.
//!
//! PostgreSQL 15 is started for the test; where it is not installed the test is told as skipped, and with
//! `WEFT_CLIENTS=required` that is a failure.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test starts programs and threads, and looks at the clock"
)]

#[path = "differ/campaign.rs"]
mod campaign;
#[path = "differ/postgres.rs"]
mod postgres;
#[path = "differ/report.rs"]
mod report;
#[path = "differ/weft_engines.rs"]
mod weft_engines;

use campaign::Campaign;
use postgres::Postgres;
use weft_differ::compare::{Verdict, compare};
use weft_differ::generate;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text}")))
}

/// None, and a word about it, where there is no PostgreSQL and none is required.
fn postgres() -> Option<Postgres> {
    match Postgres::start() {
        Ok(postgres) => Some(postgres),
        Err(reason) if std::env::var("WEFT_CLIENTS").is_ok_and(|clients| clients == "required") => {
            panic!("PostgreSQL is required: {reason}")
        }
        Err(reason) => {
            eprintln!("skipped: {reason}");
            None
        }
    }
}

/// What is asked has one answer: PostgreSQL gives it by whatever plan.
#[test]
fn answers_do_not_depend_on_plans() {
    const PLANS: [&str; 2] = [
        "SET enable_hashjoin = off; SET enable_hashagg = off; SET enable_nestloop = off; SET enable_seqscan = off",
        "SET enable_mergejoin = off; SET enable_hashjoin = off; SET enable_sort = off; SET enable_material = off",
    ];
    let Some(postgres) = postgres() else { return };
    let mut usual = postgres.connect("usual", "");
    for (place, plans) in PLANS.into_iter().enumerate() {
        let mut other = postgres.connect(&format!("plans{place}"), plans);
        for seed in 1..=3 {
            let tables = generate::tables(seed);
            for number in 0..100 {
                let case = generate::case(seed, number, &tables);
                let (expected, found) = (usual.ask(&case), other.ask(&case));
                let verdict = compare(&case, &expected, &found);
                let is_one = matches!(verdict, Verdict::Equal | Verdict::EqualError | Verdict::Slow);
                assert!(is_one, "{verdict:?} with {plans}: seed {seed}, statement {number}\n{}", case.script());
            }
        }
    }
}

#[test]
fn every_answer_is_postgresqls() {
    let Some(postgres) = postgres() else { return };
    if let Ok(place) = std::env::var("WEFT_DIFFER_CASE") {
        let (seed, number) = place.split_once(':').expect("WEFT_DIFFER_CASE is seed:number");
        return campaign::show(&postgres, seed.parse().unwrap(), number.parse().unwrap());
    }
    let full = std::env::var_os("WEFT_TEST_FULL").is_some();
    let queries = number("WEFT_DIFFER").unwrap_or(if full { 1_000_000 } else { 2_000 });
    let campaign = Campaign {
        queries: queries as usize,
        seed: number("WEFT_DIFFER_SEED").unwrap_or(1),
        seconds: number("WEFT_DIFFER_SECONDS").unwrap_or(u64::MAX),
    };
    let report = campaign.run(&postgres);
    println!("{report}");
    assert!(report.is_clean(), "{} differences, see above", report.differences());
    let is_whole = full && ["WEFT_DIFFER", "WEFT_DIFFER_SECONDS"].iter().all(|name| number(name).is_none());
    if is_whole {
        let gone = report.never_met();
        assert!(gone.is_empty(), "no longer met, so no longer open; take off the list: {gone:?}");
    }
}
