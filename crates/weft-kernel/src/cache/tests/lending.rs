use super::*;
use crate::budget::RowBudget;

const ROWS: u64 = 1_600_000;
const CACHE: u64 = 320_000;

fn parts(is_on: bool) -> (Arc<CachePool>, Arc<RowBudget>, Lending) {
    let (cache, budget) = (Arc::new(CachePool::new(CACHE)), Arc::new(RowBudget::new(ROWS)));
    let lending = Lending::new(cache.clone(), &budget, &Arc::default(), is_on);
    (cache, budget, lending)
}

fn shares(cache: &CachePool) -> u64 {
    cache.partitions().iter().map(|partition| partition.bytes_max).sum()
}

/// Fills the cache; what it keeps then.
fn filled(cache: &CachePool, file: u64) -> u64 {
    (0..4000).for_each(|number| get(cache, file, number % 2000));
    cache.counters().bytes
}

#[test]
fn what_row_tables_leave_is_lent_and_taken_back() {
    let (cache, budget, lending) = parts(true);
    let own = shares(&cache);
    assert_eq!(own, CACHE / 16 * 15);
    let before = filled(&cache, 1);
    lending.look();
    assert_eq!(shares(&cache), own + 1_400_000, "an eighth is kept");
    let with_all = filled(&cache, 2);
    assert!(before <= CACHE && with_all > CACHE * 4, "{before} {with_all}");
    budget.charge(650_000);
    lending.look();
    assert_eq!(shares(&cache), own + 700_000, "1,400,000 - 650,000, in whole 16ths");
    assert!(cache.counters().bytes <= own + 700_000 && cache.counters().bytes > own, "blocks went");
    cache.add_partition().unwrap();
    assert_eq!(shares(&cache), own + 700_000);
    budget.charge(900_000);
    lending.look();
    assert_eq!(shares(&cache), own);
    assert!(cache.counters().bytes <= CACHE);
}

#[test]
fn nothing_is_lent_while_queries_have_much() {
    let (cache, _, lending) = parts(true);
    let own = shares(&cache);
    lending.look();
    lending.queries_grew(ROWS / 8);
    assert_eq!(shares(&cache), own + 1_400_000);
    lending.queries_grew(1);
    assert_eq!(shares(&cache), own, "it is called back at once");
    lending.look();
    assert_eq!(shares(&cache), own);
    lending.queries_shrank(ROWS / 8);
    assert_eq!(shares(&cache), own, "and lent again at the next look");
    lending.look();
    assert_eq!(shares(&cache), own + 1_400_000);
    let (cache, _, lending) = parts(false);
    lending.look();
    assert_eq!(shares(&cache), own, "it is off");
}
