#!/usr/bin/env python3
"""Sums, averages, quotients and frames of two builds of Weft, in turns.

    python3 bench/sums.py OLD NEW [--rows 2000000] [--rounds 5]

OLD and NEW are `weft` binaries; each serves a table of its own on loopback. Every query runs in the one, then in the other; stated are
the medians in milliseconds and the ratio. Needs psycopg2.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time

import psycopg2

TABLE = """CREATE TABLE t (id integer PRIMARY KEY, l bigint, n numeric(12,2), d double precision, i integer, g integer, w numeric)"""
ROWS = """INSERT INTO t SELECT x, x * 7919::bigint % 1000003, (x % 100000) / 100.0, x * 0.37, x % 1000, x % 997, x % 1013
FROM generate_series(1, {}) AS s (x)"""
FRAME = "SELECT max(s) FROM (SELECT {} OVER (ORDER BY id ROWS {} PRECEDING) AS s FROM t WHERE id <= 300000) q"
QUERIES = {
    "sum(bigint)": "SELECT sum(l) FROM t",
    "sum(bigint) by group": "SELECT g, sum(l) FROM t GROUP BY g",
    "sum(numeric(12,2)) by group": "SELECT g, sum(n) FROM t GROUP BY g",
    "sum(numeric) by group": "SELECT g, sum(w) FROM t GROUP BY g",
    "sum(integer) by group": "SELECT g, sum(i) FROM t GROUP BY g",
    "avg(numeric(12,2)) by group": "SELECT g, avg(n) FROM t GROUP BY g",
    "avg(integer) by group": "SELECT g, avg(i) FROM t GROUP BY g",
    "sum of quotients": "SELECT sum(n / 3) FROM t",
    "sum of products": "SELECT sum(n * n) FROM t",
    "stddev(double) by group": "SELECT g, stddev(d) FROM t GROUP BY g",
    "count(DISTINCT), sum(bigint)": "SELECT count(DISTINCT g), sum(l) FROM t",
    "sum(double), frames of 11": FRAME.format("sum(d)", 10),
    "avg(double), frames of 101": FRAME.format("avg(d)", 100),
    "sum(numeric(12,2)), frames of 11": FRAME.format("sum(n)", 10),
}


def serve(binary, folder, port):
    directory = os.path.join(folder, str(port))
    subprocess.run([binary, "init", directory], env={**os.environ, "WEFT_PASSWORD": "bench"}, stdout=subprocess.DEVNULL, check=True)
    child = subprocess.Popen([binary, "serve", directory, "--listen", f"127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(50):
        time.sleep(0.1)
        try:
            connection = psycopg2.connect(f"host=127.0.0.1 port={port} user=weft password=bench dbname=weft")
            connection.autocommit = True
            return child, connection.cursor()
        except psycopg2.OperationalError:
            continue
    raise SystemExit(f"{binary} does not answer on port {port}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs=2, metavar=("OLD", "NEW"))
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="weft-sums-") as folder:
        servers = [serve(binary, folder, 6001 + at) for at, binary in enumerate(args.builds)]
        try:
            for _, cursor in servers:
                cursor.execute(TABLE)
                cursor.execute(ROWS.format(args.rows))
                cursor.execute("CHECKPOINT")
            print("| query | old, ms | new, ms | ratio |\n|---|---:|---:|---:|")
            for name, query in QUERIES.items():
                times = [[], []]
                for _ in range(args.rounds):
                    for (_, cursor), taken in zip(servers, times):
                        begun = time.perf_counter()
                        cursor.execute(query)
                        cursor.fetchall()
                        taken.append((time.perf_counter() - begun) * 1e3)
                old, new = (statistics.median(taken) for taken in times)
                print(f"| {name} | {old:.1f} | {new:.1f} | {new / old:.2f} |", flush=True)
        finally:
            for child, _ in servers:
                child.terminate()
                child.wait()


if __name__ == "__main__":
    main()
