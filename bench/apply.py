#!/usr/bin/env python3
"""Subqueries that run for each row: Weft beside PostgreSQL, the same rows, in turns.

    python3 bench/apply.py WEFT "host=... dbname=..." [--rows 1000000] [--rounds 5]

WEFT is a `weft` binary, which serves a database of its own on loopback; the second argument says where PostgreSQL is, in whose
database the tables apply_inner and apply_outer are made anew. Stated are medians in milliseconds and the ratio. Needs psycopg2.
"""

import argparse
import statistics
import tempfile
import time

import psycopg2

import sums

TABLES = """
CREATE TABLE apply_inner (id integer PRIMARY KEY, g integer NOT NULL, v integer NOT NULL);
INSERT INTO apply_inner SELECT s, s % 10000, (s::bigint * 7919 % 100003)::integer FROM generate_series(1, {rows}) t (s);
CREATE INDEX apply_inner_g ON apply_inner (g);
CREATE TABLE apply_outer (k integer PRIMARY KEY, r integer NOT NULL, few integer NOT NULL);
INSERT INTO apply_outer SELECT s, s * 31 % {rows} + 1, s % 100 FROM generate_series(1, 100000) t (s)
"""
QUERIES = {
    "a join stands for it: value by key, 100,000 rows": "SELECT sum((SELECT v FROM apply_inner WHERE id = r)) FROM apply_outer",
    "value by key, applied, 10,000 rows": """SELECT sum((SELECT v FROM apply_inner WHERE id = r OFFSET 0)) FROM apply_outer
        WHERE k <= 10000""",
    "EXISTS by index and condition, 10,000 rows": """SELECT count(*) FROM apply_outer WHERE k <= 10000
        AND EXISTS (SELECT 1 FROM apply_inner WHERE g = r % 10000 AND v > k OFFSET 1)""",
    "top 3 of a group, LATERAL, 1,000 rows": """SELECT sum(l.v) FROM apply_outer,
        LATERAL (SELECT v FROM apply_inner WHERE g = r % 10000 ORDER BY v DESC LIMIT 3) l WHERE k <= 1000""",
    "100 outer values in 100,000 rows": """SELECT sum((SELECT max(v) FROM apply_inner WHERE g = few AND v < few * 1000 LIMIT 1))
        FROM apply_outer""",
    "a window inside, 1,000 rows": """SELECT sum((SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY v) n
        FROM apply_inner WHERE g = r % 10000) s)) FROM apply_outer WHERE k <= 1000""",
    "no table inside, 100,000 rows": "SELECT sum((SELECT count(*) FROM (VALUES (k), (r)) w (x) WHERE x > few)) FROM apply_outer",
    "the next key by order, 100 rows": """SELECT sum((SELECT v FROM apply_inner WHERE id >= r ORDER BY id LIMIT 1))
        FROM apply_outer WHERE k <= 100""",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("postgresql")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    peer = psycopg2.connect(args.postgresql)
    peer.autocommit = True
    with tempfile.TemporaryDirectory(prefix="weft-apply-") as folder:
        child, weft = sums.serve(args.weft, folder, 6001)
        try:
            peer = peer.cursor()
            peer.execute("DROP TABLE IF EXISTS apply_inner, apply_outer")
            for cursor in (weft, peer):
                for statement in TABLES.format(rows=args.rows).split(";"):
                    cursor.execute(statement)
            weft.execute("CHECKPOINT")
            peer.execute("VACUUM ANALYZE")
            print("| query | Weft, ms | PostgreSQL, ms | PostgreSQL : Weft |\n|---|---:|---:|---:|")
            for name, query in QUERIES.items():
                times, answers = ([], []), [None, None]
                for _ in range(args.rounds):
                    for place, cursor in enumerate((weft, peer)):
                        begun = time.perf_counter()
                        cursor.execute(query)
                        answers[place] = cursor.fetchall()
                        times[place].append((time.perf_counter() - begun) * 1e3)
                if answers[0] != answers[1]:
                    raise SystemExit(f"{name}: {answers[0]} and {answers[1]}")
                ours, theirs = (statistics.median(of) for of in times)
                print(f"| {name} | {ours:.1f} | {theirs:.1f} | {theirs / ours:.2f} |", flush=True)
        finally:
            child.kill()


if __name__ == "__main__":
    main()
