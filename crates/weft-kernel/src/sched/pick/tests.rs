use super::*;

const CONVERT: JobKind = JobKind::freeing("convert");
const TO_BASELINE: JobKind = JobKind::tidying("to baseline");
const FLUSH: JobKind = JobKind::freeing("flush");
const INDEX_MERGE: JobKind = JobKind::tidying("index merge");

/// `convert t3 #2 mem=4 log=9 dead=0 cost=2`; sizes in MB, cost in ms.
fn offer(line: &str) -> JobOffer {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |name: &str| {
        let word = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        word.map_or(0, |word| word.parse::<u64>().unwrap())
    };
    let kind = match words[0] {
        "convert" => CONVERT,
        "baseline" => TO_BASELINE,
        "flush" => FLUSH,
        _ => INDEX_MERGE,
    };
    let price = Price {
        cpu_us: number("cost") * 1000,
        memory_freed_bytes: number("mem") << 20,
        log_released_bytes: number("log") << 20,
        dead_rows: number("dead"),
        ..Price::default()
    };
    let table = TableId(words[1][1..].parse().unwrap());
    JobOffer { table, kind, number: words[2][1..].parse().unwrap(), price, reason: "test".into() }
}

fn picked(offers: &str, running: &str) -> String {
    let lines: Vec<&str> = offers.trim().lines().map(str::trim).collect();
    let offers: Vec<JobOffer> = lines.iter().map(|line| offer(line)).collect();
    let running: Vec<Running> =
        running.trim().lines().filter(|line| !line.trim().is_empty()).map(|line| Running::of(&offer(line))).collect();
    match pick(&offers, &running) {
        Some(choice) => lines[choice.index].split(" mem").next().unwrap().split(" dead").next().unwrap().to_owned(),
        None => "nothing".into(),
    }
}

#[test]
fn conversion_comes_before_compaction() {
    let offers = "baseline t1 #1 dead=900000 cost=1\nconvert t2 #4 mem=1 cost=50";
    assert_eq!(picked(offers, ""), "convert t2 #4");
}

#[test]
fn the_best_worth_wins_and_ties_go_to_the_lowest() {
    let offers = "convert t1 #1 mem=4 cost=10\nconvert t2 #1 mem=4 log=9 cost=10\nconvert t3 #1 mem=4 cost=10";
    assert_eq!(picked(offers, ""), "convert t2 #1");
}

#[test]
fn one_conversion_per_table() {
    let offers = "convert t1 #2 mem=4 cost=10\nbaseline t1 #7 dead=5 cost=10";
    assert_eq!(picked(offers, "convert t1 #1"), "baseline t1 #7");
    assert_eq!(picked(offers, "convert t1 #1\nbaseline t1 #7"), "nothing");
    assert_eq!(picked(offers, "baseline t1 #7"), "convert t1 #2");
}

#[test]
fn indexes_flush_one_by_one_and_merge_side_by_side() {
    let offers = "merge t9 #1 dead=9 cost=10\nflush t9 #4 mem=1 cost=10\nconvert t2 #1 mem=4 cost=10";
    assert_eq!(picked(offers, ""), "convert t2 #1");
    assert_eq!(picked(offers, "convert t2 #1"), "flush t9 #4");
    assert_eq!(picked(offers, "convert t2 #1\nflush t9 #3"), "merge t9 #1");
    assert_eq!(picked("merge t9 #1 dead=9 cost=10", "merge t9 #2 dead=9 cost=10\nflush t9 #3"), "merge t9 #1");
    assert_eq!(picked("merge t9 #1 dead=9 cost=10", "merge t9 #1 dead=9 cost=10"), "nothing");
}

#[test]
fn the_choice_explains_itself() {
    let offers = [offer("convert t3 #2 mem=4 log=9 cost=2")];
    let choice = pick(&offers, &[]).unwrap();
    assert_eq!(
        choice.reason,
        "memory first; of 1 offers the best: frees 4194304 bytes, releases 9437184 bytes of log, drops 0 dead rows \
         for 2000 us; test"
    );
}
