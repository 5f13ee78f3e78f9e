//! Faults of the router, planted: each is noticed.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

mod servers;

use servers::Company;
use servers::checks::{
    after_a_failed_batch, beside_an_ended_session, cancelled, cancelled_where_a_node_hangs, is_told_the_commit,
    read_where_a_node_hangs, rolled_back_settings,
};
use servers::wire::names;
use weft_kernel::fault::{Fault, plant};
use weft_router::faults;
use weft_sql::route::{READ_LOCKS, Route, route_of};

/// Holds without the fault, and not with it.
fn caught(fault: Fault, holds: impl Fn() -> bool) {
    assert!(holds(), "{} is not planted", fault.name());
    plant(Some(fault));
    let held = holds();
    plant(None);
    assert!(!held, "{} is noticed", fault.name());
    println!("{} is noticed", fault.name());
}

#[test]
fn planted_faults_are_caught() {
    caught(READ_LOCKS, || route_of("SELECT id FROM t FOR UPDATE") != Route::Anywhere);
    let Some(company) = Company::start(|options| options.tell = true) else { return };
    caught(faults::FORGET_TOKEN, || is_told_the_commit().unwrap());
    caught(faults::KEEP_ROLLED_BACK, || rolled_back_settings(&company) == "one");
    caught(faults::TRUST_OLD_NAME, || names(company.address().port()).is_ok());
    caught(faults::CANCEL_ELSEWHERE, || cancelled(&company) == "57014");
    caught(faults::LEAVE_OPEN, || after_a_failed_batch().unwrap() == "7");
    caught(faults::FORGET_CANCEL, || cancelled_where_a_node_hangs().unwrap() == "57014");
    caught(faults::WAIT_FOR_SILENT, || read_where_a_node_hangs().unwrap() == "2 writer");
    caught(faults::TELL_OTHERS, || beside_an_ended_session().unwrap() == "7");
}
