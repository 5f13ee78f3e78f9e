use weft_contract::JobKind;

use super::super::borders::Borders;
use super::super::job_kinds::{MERGE, MOVE, TO_BASELINE, TO_TRANSITION};
use super::super::options::{Compaction, Options};
use super::super::payload::Layer;
use super::{Pick, Shape, Standing, Work, pick};

/// G = 100, T = 20, a column table 8, incremental tables are collected from 30 on.
fn options() -> Options {
    Options {
        column_table_bytes: 8,
        bucket_bytes: 20,
        granularity_bytes: 100,
        incremental_bytes: 30,
        overlap_max: 3,
        ..Options::default()
    }
}

/// `incremental a..k 12 dead=5`, `claimed`, `full`; 100 rows each.
fn shape(line: &str) -> Shape<'_> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let layer = Layer::ALL.into_iter().find(|layer| layer.name() == words[0]).expect("a layer");
    let (min, max) = words[1].split_once("..").expect("a range");
    let dead = words.iter().find_map(|word| word.strip_prefix("dead=")).map_or(0, |dead| dead.parse().unwrap());
    let standing = match () {
        () if words.contains(&"claimed") => Standing::Claimed,
        () if words.contains(&"unlisted") => Standing::Unlisted,
        () => Standing::Free,
    };
    Shape {
        layer,
        key_min: min.as_bytes(),
        key_max: max.as_bytes(),
        rows: 100,
        dead,
        bytes: words[2].parse().unwrap(),
        full: words.contains(&"full"),
        standing,
        age: 0,
    }
}

fn picks_with(options: &Options, borders: &str, tables: &str) -> Vec<String> {
    let lines: Vec<&str> = tables.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut shapes: Vec<Shape<'_>> = lines.iter().map(|line| shape(line)).collect();
    shapes.sort_by_key(|shape| shape.key_min);
    (0..).zip(&mut shapes).for_each(|(age, shape)| shape.age = age);
    let borders = Borders::new(borders.split_whitespace().map(|key| key.as_bytes().into()).collect());
    let show = |pick: &Pick| {
        let name = |at: &usize| {
            let (min, max) = (shapes[*at].key_min, shapes[*at].key_max);
            format!("{}..{}", std::str::from_utf8(min).unwrap(), std::str::from_utf8(max).unwrap())
        };
        match &pick.work {
            Work::Merge(layer) => {
                let inputs: Vec<String> = pick.inputs.iter().map(name).collect();
                format!("{:?} {} for {}", pick.kind, inputs.join(" "), layer.name())
            }
            Work::Change { moved, dropped, added, removed } => {
                let moved = moved.iter().map(|(at, layer)| format!("{}→{}", name(at), layer.name()));
                let dropped = dropped.iter().map(|at| format!("-{}", name(at)));
                let text = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
                let added = added.iter().map(|key| format!("+|{}", text(key)));
                let removed = removed.iter().map(|key| format!("-|{}", text(key)));
                let all: Vec<String> = moved.chain(dropped).chain(added).chain(removed).collect();
                format!("move {}", all.join(" "))
            }
        }
    };
    pick(&shapes, &borders, options).iter().map(show).collect()
}

fn picks(borders: &str, tables: &str) -> Vec<String> {
    picks_with(&options(), borders, tables)
}

const NOTHING: [&str; 0] = [];

/// Baseline tables that keep two buckets around "g" from being joined.
fn over_baseline(tables: &str) -> Vec<String> {
    picks("g", &format!("{tables}\nbaseline c..c 40\nbaseline h..h 40"))
}

#[test]
fn incremental_tables_wait_until_they_are_many() {
    assert_eq!(over_baseline("incremental a..z 10\nincremental b..y 10"), NOTHING);
    assert_eq!(
        over_baseline("incremental a..z 10\nincremental b..y 10\nincremental c..x 10"),
        ["to transition a..z b..y c..x for transition"]
    );
    assert_eq!(over_baseline("incremental a..z 10\nincremental b..y 10\nincremental c..x 10 unlisted"), NOTHING);
}

#[test]
fn one_job_takes_no_more_than_g_and_others_run_beside_it() {
    let tables = "incremental a..z 60\nincremental b..y 30\nincremental c..x 60\nincremental d..w 50";
    let found = over_baseline(tables);
    assert_eq!(
        found,
        [
            "to transition a..z b..y for transition",
            "to transition c..x for transition",
            "to transition d..w for transition"
        ]
    );
}

#[test]
fn few_bytes_in_many_tables_are_merged_first() {
    let tables = "incremental a..z 1\nincremental b..y 2\nincremental c..x 1\nincremental d..w 20";
    assert_eq!(over_baseline(tables), ["merge a..z b..y c..x for incremental"]);
    let tables = "incremental a..z 5 dead=50\nincremental b..y 2";
    assert_eq!(over_baseline(tables), ["merge a..z for incremental"]);
}

#[test]
fn tables_within_a_bucket_move_by_an_edit() {
    let tables = "incremental a..b 10\nincremental c..d 10\nincremental d..e 5\nincremental h..i 10\nbaseline h..k 8";
    assert_eq!(
        picks("g", tables),
        ["move a..b→baseline c..d→baseline d..e→transition h..i→transition"],
        "of those that overlap each other the largest becomes baseline"
    );
    let dead = "incremental a..b 10 dead=15\nincremental c..d 10 dead=100\nincremental h..i 10";
    assert_eq!(picks("g", dead), ["move a..b→transition h..i→baseline -c..d"]);
    let busy = "incremental a..b 10\nincremental c..d 10\nincremental h..i 10\nbaseline e..f 8 claimed";
    assert_eq!(picks("g", busy), ["move a..b→transition c..d→transition h..i→baseline"]);
}

#[test]
fn a_load_in_key_order_is_never_rewritten_for_what_was_written_over_it() {
    let load = "incremental a..f 20\nincremental g..m 20\nincremental n..s 20 dead=5";
    let found = picks("", &format!("{load}\nincremental b..r 3\nincremental c..q 2"));
    assert_eq!(
        found,
        ["move a..f→baseline b..r→transition c..q→transition g..m→baseline n..s→baseline"],
        "the load becomes baseline by an edit"
    );
    let dead = picks("", &format!("{}\nincremental b..r 3", load.replace("dead=5", "dead=15")));
    assert_eq!(dead, ["move a..f→baseline b..r→transition g..m→baseline n..s→transition"], "it is due for a rewrite");
}

#[test]
fn a_large_bucket_goes_with_just_the_baseline_under_it() {
    let tables = "transition a..c 12\ntransition b..c 8\nbaseline a..b 8\nbaseline c..d 8\nbaseline e..f 8\n\
                  transition h..i 12\nbaseline h..z 8";
    assert_eq!(picks("g", tables), ["to baseline a..c a..b b..c c..d for baseline"]);
    assert_eq!(
        picks("g", &tables.replace("baseline e..f 8", "baseline e..f 8 claimed")),
        NOTHING,
        "one job per bucket"
    );
    let dead = tables.replace("baseline e..f 8", "baseline e..f 8 dead=20");
    assert_eq!(picks("g", &dead), ["to baseline a..c a..b b..c c..d e..f for baseline"], "dead rows come along");
}

#[test]
fn dead_rows_take_the_bucket_or_just_their_tables() {
    let tables = "transition a..d 5\nbaseline a..b 8 dead=15\nbaseline c..d 8 dead=8\nbaseline e..f 8 dead=14";
    assert_eq!(
        picks("", tables),
        ["to baseline a..d a..b c..d e..f for baseline"],
        "tables that are nearly due come along"
    );
    let alone = "transition a..f 5\ntransition a..b 1\nbaseline a..b 8 dead=15\nbaseline c..d 8\nbaseline e..f 8";
    assert_eq!(picks("", alone), ["to baseline a..b a..b for baseline"]);
    let transition = "transition a..d 5 dead=80\nbaseline a..b 8";
    assert_eq!(picks("", transition), ["to baseline a..d a..b for baseline"]);
}

#[test]
fn many_tables_over_one_key_are_merged_within_the_bucket() {
    let tables = "transition a..d 1\ntransition a..d 2\ntransition b..d 1\ntransition c..f 9\nbaseline a..z 8";
    assert_eq!(picks("", tables), ["merge a..d a..d b..d for transition"], "the large one waits for its like");
}

#[test]
fn runs_of_small_tables_are_merged() {
    let small: String = ('a'..='h').map(|key| format!("baseline {key}..{key} 4\n")).collect();
    assert_eq!(picks("", &small), ["merge a..a b..b c..c d..d e..e f..f g..g h..h for baseline"]);
    assert_eq!(picks("", &small.replace("d..d 4", "d..d 8")), NOTHING);
    assert_eq!(picks("", &small.replace("d..d 4", "d..d 4 full")), NOTHING);
    assert_eq!(picks("e", &small), NOTHING, "a run lies in one bucket");
}

#[test]
fn a_grown_baseline_is_split_and_small_neighbours_are_joined() {
    let grown: String = ('a'..='k').map(|key| format!("baseline {key}..{key} 8 full\n")).collect();
    assert_eq!(picks("", &grown), ["move +|f"], "88 bytes, G − T = 80");
    assert_eq!(picks("f", &grown), NOTHING);
    let moved: String = ('a'..='k').map(|key| format!("incremental {key}..{key} 8\n")).collect();
    let found = picks("", &moved);
    assert!(found[0].starts_with("move a..a→baseline") && found[0].ends_with("+|f"), "{found:?}");
    assert_eq!(picks("c f m", "baseline a..b 10\nbaseline c..c 5\nbaseline f..g 50"), ["move -|c"]);
    assert_eq!(picks("c f m", "baseline a..b 10 claimed\nbaseline c..c 5\nbaseline f..g 50"), NOTHING);
}

#[test]
fn the_traditional_way_takes_all_that_overlaps() {
    let whole = Options { compaction: Compaction::Whole, ..options() };
    let tables = "incremental a..z 20\nincremental b..c 20\nbaseline a..f 50\nbaseline g..m 50\nbaseline zz..zz 5";
    assert_eq!(picks_with(&whole, "", tables), ["to baseline a..z a..f b..c g..m for baseline"]);
    assert_eq!(picks_with(&whole, "", &tables.replace("zz..zz 5", "zz..zz 5 claimed")), NOTHING);
    let apart = "incremental a..b 20\nincremental c..d 20";
    assert_eq!(picks_with(&whole, "", apart), ["move a..b→baseline c..d→baseline"]);
}

/// Sizes and layers drawn at random; every job does what it would do; in the end none is left.
#[test]
fn picking_comes_to_an_end_and_jobs_are_bounded() {
    for seed in 0..300u64 {
        random_run(seed);
    }
}

#[derive(Clone, Debug)]
struct Table {
    layer: Layer,
    min: u8,
    max: u8,
    rows: u64,
    dead: u64,
    full: bool,
}

fn random_run(seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut options = options();
    if seed % 5 == 4 {
        options.compaction = Compaction::Whole;
    }
    let mut tables: Vec<Table> = Vec::new();
    let mut borders = Borders::default();
    for _ in 0..40 {
        for _ in 0..random(6) {
            let (a, b) = (random(200) as u8, random(200) as u8);
            let rows = 1 + random(12);
            tables.push(Table { layer: Layer::Incremental, min: a.min(b), max: a.max(b), rows, dead: 0, full: false });
        }
        for table in &mut tables {
            table.dead = (table.dead + random(table.rows + 1) / 4).min(table.rows);
        }
        let mut jobs = 0;
        while run_first(&options, &mut tables, &mut borders, &mut random) {
            jobs += 1;
            assert!(jobs < 500, "seed {seed}: picking does not end with {tables:?}");
        }
    }
    assert!(tables.iter().filter(|table| table.layer == Layer::Incremental).map(|table| table.rows).sum::<u64>() < 30);
}

/// Runs one of the jobs; a row is a byte, and a table of many rows becomes tables of at most 8.
fn run_first(
    options: &Options,
    tables: &mut Vec<Table>,
    borders: &mut Borders,
    random: &mut impl FnMut(u64) -> u64,
) -> bool {
    tables.sort_by_key(|table| table.min);
    let keys: Vec<([u8; 1], [u8; 1])> = tables.iter().map(|table| ([table.min], [table.max])).collect();
    let shapes: Vec<Shape<'_>> = (0..)
        .zip(tables.iter().zip(&keys))
        .map(|(age, (table, (min, max)))| Shape {
            layer: table.layer,
            key_min: min,
            key_max: max,
            rows: table.rows,
            dead: table.dead,
            bytes: table.rows,
            full: table.full,
            standing: Standing::Free,
            age,
        })
        .collect();
    let found = pick(&shapes, borders, options);
    let mut taken: Vec<usize> = found.iter().flat_map(|pick| pick.inputs.iter().copied()).collect();
    taken.sort_unstable();
    assert!(taken.windows(2).all(|pair| pair[0] < pair[1]), "picks are disjoint (pick 1)");
    if found.is_empty() {
        return false;
    }
    let Pick { kind, inputs, work, .. } = found[random(found.len() as u64) as usize].clone();
    check_size(options, &shapes, borders, kind, &inputs);
    let mut outputs = Vec::new();
    match work {
        Work::Merge(layer) => outputs = merged(tables, &inputs, layer, borders, options),
        Work::Change { moved, dropped, added, removed } => {
            *borders = borders.changed(&added, &removed);
            for (at, layer) in moved {
                tables[at].layer = layer;
            }
            for at in (0..tables.len()).filter(|at| !dropped.contains(at)) {
                let table = &mut tables[at];
                table.layer = borders.settle(table.layer, &[table.min], &[table.max]);
            }
            keep(tables, |at| !dropped.contains(&at));
        }
    }
    if !outputs.is_empty() || kind != MOVE {
        keep(tables, |at| !inputs.contains(&at));
        tables.extend(outputs);
    }
    tables.sort_by_key(|table| table.min);
    let ends: Vec<([u8; 1], [u8; 1], Layer)> =
        tables.iter().map(|table| ([table.min], [table.max], table.layer)).collect();
    assert_eq!(borders.fault_of(ends.iter().map(|(min, max, layer)| (&min[..], &max[..], *layer))), None);
    true
}

fn keep(tables: &mut Vec<Table>, mut stays: impl FnMut(usize) -> bool) {
    let mut at = 0;
    tables.retain(|_| {
        at += 1;
        stays(at - 1)
    });
}

/// Formulas 1 and 2.
fn check_size(options: &Options, shapes: &[Shape<'_>], borders: &Borders, kind: JobKind, inputs: &[usize]) {
    let bytes: u64 = inputs.iter().map(|&at| shapes[at].bytes).sum();
    match kind {
        TO_TRANSITION | MERGE => {
            assert!(bytes <= options.granularity_bytes || inputs.len() <= 2, "{bytes} bytes (pick 2)");
        }
        TO_BASELINE if options.compaction == Compaction::Fine => {
            let bucket = borders.bucket_of(shapes[inputs[0]].key_min);
            let same = |shape: &&Shape<'_>| borders.bucket_of(shape.key_min) == bucket;
            let all: u64 = shapes.iter().filter(same).map(|shape| shape.bytes).sum();
            assert!(bytes <= all && bytes <= options.granularity_bytes + options.column_table_bytes, "{bytes} bytes");
        }
        _ => {}
    }
}

/// What a merge leaves: the living rows over the same range, cut at borders and baseline tables.
fn merged(tables: &[Table], inputs: &[usize], layer: Layer, borders: &Borders, options: &Options) -> Vec<Table> {
    let mut keys: Vec<u8> = Vec::new();
    for &at in inputs {
        let Table { min, max, rows, dead, .. } = tables[at];
        let living = rows - dead;
        let span = u64::from(max - min);
        let place = |row: u64| min + u8::try_from(if living > 1 { row * span / (living - 1) } else { 0 }).unwrap();
        keys.extend((0..living).map(place));
    }
    keys.sort_unstable();
    // Rows of one key are one in the end: the others would have been dead.
    keys.dedup();
    let mut cuts: Vec<u8> = Vec::new();
    if layer != Layer::Incremental {
        cuts.extend(borders.keys().iter().map(|key| key[0]));
    }
    if layer == Layer::Baseline {
        let stays = (0..tables.len()).filter(|at| !inputs.contains(at) && tables[*at].layer == Layer::Baseline);
        cuts.extend(stays.map(|at| tables[at].min));
    }
    let mut outputs: Vec<Table> = Vec::new();
    for key in keys {
        let new = outputs.last().is_none_or(|last| {
            last.rows >= options.column_table_bytes || cuts.iter().any(|&cut| last.max < cut && cut <= key)
        });
        match outputs.last_mut() {
            Some(last) if !new => {
                last.max = key;
                last.rows += 1;
            }
            _ => outputs.push(Table { layer, min: key, max: key, rows: 1, dead: 0, full: false }),
        }
    }
    for table in &mut outputs {
        table.full = table.rows >= options.column_table_bytes;
        table.layer = borders.settle(layer, &[table.min], &[table.max]);
    }
    outputs
}
