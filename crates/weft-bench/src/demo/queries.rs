//! The analytic queries that run while the writers write, on the same tables.

/// A query with the name under which its latencies are reported.
pub(super) struct Query {
    /// What it asks, in few words.
    pub(super) name: &'static str,
    /// The statement.
    pub(super) sql: &'static str,
}

/// Position in [`QUERIES`] of the query that tests its own snapshot: its second column must be 0.
pub(super) const SNAPSHOT_QUERY: usize = 5;

/// The queries, asked in turn.
pub(super) const QUERIES: &[Query] = &[
    Query {
        name: "delay by airline",
        sql: "SELECT a.name, count(*) AS flights, avg(f.dep_delay) AS dep_delay, avg(f.arr_delay) AS arr_delay \
              FROM live_flights f JOIN airlines a ON a.carrier = f.carrier WHERE f.dep_time IS NOT NULL \
              GROUP BY a.name ORDER BY dep_delay DESC",
    },
    Query {
        name: "delay by hour and rain",
        sql: "SELECT f.hour, w.precip > 0 AS rain, count(*) AS flights, avg(f.dep_delay) AS dep_delay \
              FROM live_flights f JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour \
              WHERE f.dep_delay IS NOT NULL GROUP BY f.hour, w.precip > 0 ORDER BY f.hour, rain",
    },
    Query {
        name: "busiest routes",
        sql: "SELECT origin, dest, count(*) AS flights, sum(distance) AS miles FROM live_flights \
              GROUP BY origin, dest ORDER BY flights DESC, origin, dest LIMIT 10",
    },
    Query {
        name: "on time by origin",
        sql: "SELECT origin, count(arr_delay) AS arrived, \
              sum(CASE WHEN arr_delay <= 15 THEN 1 ELSE 0 END) * 1.0 / nullif(count(arr_delay), 0) AS on_time \
              FROM live_flights GROUP BY origin ORDER BY origin",
    },
    Query {
        name: "seats by month",
        sql: "SELECT f.month, count(*) AS flights, sum(p.seats) AS seats FROM live_flights f \
              JOIN planes p ON p.tailnum = f.tailnum WHERE f.dep_time IS NOT NULL GROUP BY f.month ORDER BY f.month",
    },
    Query {
        name: "arrived, not departed",
        sql: "SELECT count(*) AS flights, sum(CASE WHEN arr_time IS NOT NULL AND dep_time IS NULL THEN 1 ELSE 0 END) \
              AS wrong FROM live_flights",
    },
];
