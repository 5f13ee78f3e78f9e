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
    let follows = |node: &NodeSurveyed| node.is_heard && node.published == ts && node.lag_bytes == 0;
    until("both have told that they show it", || look().nodes.iter().all(follows));
    let mut seen = look();
    until("a writer and both nodes are heard", || {
        seen = look();
        seen.nodes.iter().all(follows) && seen.writer.as_ref().is_some_and(|writer| writer.is_heard)
    });
    let who = seen.writer.clone().unwrap();
    assert_eq!((who.is_heard, who.is_closed, who.last, who.epoch), (true, false, ts, writer.epoch()));
    let nodes: Vec<_> = seen.nodes.iter().map(|node| (node.name.as_str(), node.phase, node.is_heard)).collect();
    assert_eq!(nodes, [("berlin", Phase::Following, true), ("oslo", Phase::Following, true)]);
    // One leaves; one is killed, which leaves its file; the writer goes on.
    let left = Place::of(&Env::real(), bench.dir.path());
    oslo.stop();
    left.registered_to("killed").unwrap().write_at(&Registration::default().encode(), 0).unwrap();
    let ts = put(&writer, 2, 2);
    assert_eq!(berlin.wait_for(ts, LIMIT, None).unwrap(), Waited::Shown);
    until("one is heard and one is not", || {
        let nodes: Vec<_> = look().nodes.into_iter().map(|node| (node.name, node.is_heard)).collect();
        nodes == [("berlin".to_owned(), true), ("killed".to_owned(), false)]
    });
    // The writer hangs: its words stay, and do not move.
    herald.stop();
    let who = look().writer.unwrap();
    assert_eq!((who.is_heard, who.is_closed, who.last), (false, false, ts));
    herald.farewell();
    let who = look().writer.unwrap();
    assert_eq!((who.is_heard, who.is_closed), (false, true), "it says that it has closed");
}
