use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::Env;

use crate::binding::CancelToken;

#[test]
fn passwords_are_hidden_and_other_texts_are_not() {
    for text in [
        "CREATE ROLE ann LOGIN PASSWORD 'secret'",
        "alter user ann with encrypted password 'secret'",
        "ALTERR ROLE ann PASSWORD 'secret'",
        "ALTER USEER ann PASSWORD 'secret'",
        "CREATE USER ann PASSWORT 'secret'",
        "CREATE ROLE ann PASSWORD $$secret$$",
        "UPDATE x SET v = 'SCRAM-SHA-256$4096:abc'",
        "SELECT 1; ALTER\nROLE\tann\nPASSWORD\n'secret'",
    ] {
        assert!(hides(text), "{text}");
    }
    for text in [
        "SELECT password FROM users WHERE id = 'x'",
        "CREATE TABLE users (password text)",
        "SELECT * FROM pg_stat_activity WHERE usename = 'x'",
        "ALTER ROLE ann NOLOGIN",
        "INSERT INTO t VALUES ('x')",
    ] {
        assert!(!hides(text), "{text}");
    }
}

#[test]
fn counts_go_on_when_sessions_end() {
    let env = Env::real();
    let activities = Activities::new(&env);
    let text: Arc<str> = "SELECT 1".into();
    let (number, activity) = activities.enter(&CancelToken::new(&env));
    activity.set_origin(7, Origin { user: "ann".into(), ..Origin::default() });
    activity.begin(&text, activities.now_nanos());
    assert_eq!(activities.all()[0].state, State::Active);
    activity.uses(EngineUsed::Point);
    activities.end(&activity, State::IdleInTransaction, Ok(3));
    let shown = &activities.all()[0];
    assert_eq!(
        (shown.pid, shown.state, &*shown.text, &*shown.origin.user),
        (7, State::IdleInTransaction, "SELECT 1", "ann")
    );
    assert!(shown.transaction_nanos > 0);
    activity.note_transaction(true);
    let before = activities.counters();
    assert_eq!((before.statements(EngineUsed::Point), before.rows, before.commits, before.sessions), (1, 3, 1, 1));
    assert!(activities.cancel(7) && !activities.cancel(8) && !activities.cancel(0));
    activities.leave(number);
    assert_eq!(activities.counters(), before);
    assert!(activities.all().is_empty() && !activities.terminate(7));
}

#[test]
fn long_statements_are_told() {
    let env = Env::real();
    let activities = Activities::new(&env);
    let told = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&told);
    activities.observe(Box::new(move |ended| {
        assert!(!ended.succeeded && ended.engine == EngineUsed::Utility);
        counted.fetch_add(1, Ordering::Relaxed);
    }));
    let (_, activity) = activities.enter(&CancelToken::new(&env));
    let run = || {
        activity.begin(&"x".into(), activities.now_nanos());
        activities.end(&activity, State::Idle, Err(()));
        told.load(Ordering::Relaxed)
    };
    assert_eq!(run(), 0);
    activities.set_observed(Some(0));
    assert_eq!(run(), 1);
    activities.set_observed(Some(u64::MAX / 4));
    assert_eq!(run(), 1);
    assert_eq!(activities.counters().failed, 3);
}
