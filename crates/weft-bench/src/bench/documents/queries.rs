//! The queries of each shape: those of the paper's table 2, and such as name several leaves of one array.
//!
//! ```text
//!   sensors  q1 how many · q2 the greatest reading · q3 the ten hottest sensors · q4 those of one day
//!            e1 by a condition on two leaves of a reading · e2 by groups that the reading is not part of
//! ```

use weft_format::document::shapes::Shape;

/// A query's name, and its text.
pub(super) type Query = (&'static str, &'static str);

const COUNT: Query = ("q1", "SELECT count(*) FROM docs");

const CELL: &[Query] = &[
    COUNT,
    (
        "q2",
        "SELECT doc->>'caller' AS caller, max((doc->>'duration')::bigint) AS longest FROM docs
         GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    ),
    ("q3", "SELECT count(*) FROM docs WHERE (doc->>'duration')::bigint >= 600"),
];

const SENSORS: &[Query] = &[
    COUNT,
    ("q2", "SELECT max((r->>'temp')::float8) FROM docs, jsonb_array_elements(doc->'readings') AS r"),
    (
        "q3",
        "SELECT doc->>'sensor_id' AS sensor, max((r->>'temp')::float8) AS hottest
         FROM docs, jsonb_array_elements(doc->'readings') AS r GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    ),
    (
        "q4",
        "SELECT doc->>'sensor_id' AS sensor, max((r->>'temp')::float8) AS hottest
         FROM docs, jsonb_array_elements(doc->'readings') AS r
         WHERE (doc->>'report_time')::bigint >= 1556496000000 AND (doc->>'report_time')::bigint < 1556582400000
         GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    ),
    (
        "e1",
        "SELECT doc->>'sensor_id' AS sensor, max((r->>'temp')::float8 * 1.8 + 32) AS hottest
         FROM docs, jsonb_array_elements(doc->'readings') AS r
         WHERE (r->>'ts')::bigint % 86400000 < 43200000 AND (r->>'temp')::float8 * 1.8 + 32 > 60
         GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    ),
    (
        "e2",
        "SELECT doc->>'status' AS status, count(*), avg((r->>'temp')::float8), min((r->>'ts')::bigint)
         FROM docs, jsonb_array_elements(doc->'readings') AS r GROUP BY 1 ORDER BY 1",
    ),
];

const TWEETS: &[Query] = &[
    COUNT,
    (
        "q2",
        "SELECT doc->'user'->>'name' AS name, max(length(doc->>'text')) AS longest FROM docs
         GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    ),
    (
        "q3",
        "SELECT doc->>'lang' AS lang, count(*) FROM docs, jsonb_array_elements(doc->'entities'->'hashtags') AS h
         WHERE h->>'text' < 'm' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    ),
];

const WOS: &[Query] = &[
    COUNT,
    (
        "q2",
        "SELECT s->>'content' AS subject, count(*)
         FROM docs, jsonb_array_elements(doc #> '{static_data,fullrecord_metadata,category_info,subjects,subject}') AS s
         WHERE s->>'ascatype' < 'm' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    ),
];

/// The queries of a shape, in their order.
pub(super) fn of(shape: Shape) -> &'static [Query] {
    match shape {
        Shape::Cell => CELL,
        Shape::Sensors => SENSORS,
        Shape::Tweet1 | Shape::Tweet2 => TWEETS,
        Shape::Wos => WOS,
    }
}
