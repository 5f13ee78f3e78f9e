//! Who is there, by the files alone.

use super::*;

#[test]
fn a_survey_tells_who_lives_from_who_is_silent() {
    let bench = Bench::new();
    let look = || survey(&Env::real(), bench.dir.path()).unwrap();
    assert_eq!(look(), Survey { writer: None, nodes: Vec::new() }, "nobody has been there");
    let (writer, herald) = bench.writer(quick());
    let ts = put(&writer, 1, 1);
    let (oslo, berlin) = (bench.node("oslo").unwrap(), bench.node("berlin").unwrap());
    for node in [&oslo, &berlin] {
        assert_eq!(node.wait_for(ts, LIMIT, None).unwrap(), Waited::Shown);
    }
    until("both have told what they show", || look().nodes.iter().all(|node| node.published == ts));
    let seen = look();
    let who = seen.writer.clone().unwrap();
    assert_eq!((who.is_heard, who.is_closed, who.last, who.epoch), (true, false, ts, writer.epoch()));
    let nodes: Vec<_> = seen.nodes.iter().map(|node| (node.name.as_str(), node.phase, node.is_heard)).collect();
    assert_eq!(nodes, [("berlin", Phase::Following, true), ("oslo", Phase::Following, true)]);
    assert!(seen.nodes.iter().all(|node| (node.position, node.lag_bytes) == (who.durable, 0)), "{seen:?}");
    // One leaves; one is killed, which leaves its file; the writer goes on.
    let left = Place::of(&Env::real(), bench.dir.path());
    oslo.stop();
    left.registered_to("killed").unwrap().write_at(&Registration::default().encode(), 0).unwrap();
    let ts = put(&writer, 2, 2);
    assert_eq!(berlin.wait_for(ts, LIMIT, None).unwrap(), Waited::Shown);
    let nodes: Vec<_> = look().nodes.into_iter().map(|node| (node.name, node.is_heard)).collect();
    assert_eq!(nodes, [("berlin".to_owned(), true), ("killed".to_owned(), false)]);
    // The writer hangs: its words stay, and do not move.
    herald.stop();
    let who = look().writer.unwrap();
    assert_eq!((who.is_heard, who.is_closed, who.last), (false, false, ts));
    herald.farewell();
    let who = look().writer.unwrap();
    assert_eq!((who.is_heard, who.is_closed), (false, true), "it says that it has closed");
}
