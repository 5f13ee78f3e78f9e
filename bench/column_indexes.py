#!/usr/bin/env python3
"""TPC-H on column tables, row tables, and row tables with column indexes, in one server, in turns.

    python3 bench/column_indexes.py [--scale 0.1] [--rounds 5] [--weft target/release/weft] [--row-memory 4GB] [--json]

Three schemas hold the same rows: `c` by method column, `r` by method row, `x` by method row with a column index of all
columns on each table. Each of the 22 queries of tests/tpch runs in each schema, and in `x` also with
`column_indexes = off` and `always`; answers are compared. A line has the median of the rounds in milliseconds over the
wire, how many times a column table's time the chosen path took, and how many times faster it was than row tables.
Inserts: rows per second into an empty `orders` of each schema, in statements of one row from one connection and of a
hundred.
"""

import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

from read_nodes import Connection, Process

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
CSV = os.path.join(ROOT, "target", "release", "examples", "tpch_csv")
SCHEMA = os.path.join(ROOT, "tests", "tpch", "schema.sql")
METHODS = {"c": "column", "r": "row", "x": "row"}
PATHS = [("column", "c", "auto"), ("row", "r", "auto"), ("chosen", "x", "auto"), ("off", "x", "off"),
         ("always", "x", "always")]


def tables():
    """The columns and keys of each table, and the names of its columns."""
    with open(SCHEMA, encoding="utf-8") as text:
        found = re.findall(r"create table (\w+) \((.*?)\);", text.read(), re.S)
    return {name: (body, names_in(body)) for name, body in found}


def names_in(body):
    parts = re.sub(r"\([^)]*\)", "", body).split(",")
    return [part.split()[0] for part in parts if part.split()[0] != "primary"]


def timed(connection, sql):
    begun = time.perf_counter()
    rows = connection.query(sql)
    return (time.perf_counter() - begun) * 1e3, rows


def load(connection, port, scale, folder):
    times = {}
    for table, (columns, names) in tables().items():
        path = os.path.join(folder, f"{table}.csv")
        with open(path, "wb") as out:
            subprocess.run([CSV, str(scale), table], check=True, stdout=out)
        for schema, method in METHODS.items():
            connection.query(f"CREATE TABLE {schema}.{table} ({columns}) USING {method}")
            begun = time.perf_counter()
            subprocess.run(["psql", "-qX", "-h", "127.0.0.1", "-p", str(port), "-U", "weft", "-d", "weft", "-c",
                            f"\\copy {schema}.{table} FROM '{path}' WITH (FORMAT csv)"], check=True)
            times[schema] = times.get(schema, 0) + time.perf_counter() - begun
        os.remove(path)
        ms, _ = timed(connection, f"CREATE INDEX {table}_columns ON x.{table} USING columns ({', '.join(names)})")
        times["index"] = times.get("index", 0) + ms / 1e3
    connection.query("CHECKPOINT")
    return times


def queries(port, rounds, only):
    """A connection for each path: what changes a setting plans anew."""
    lines, connections = {}, {}
    for path_name, schema, setting in PATHS:
        connections[path_name] = Connection(port)
        connections[path_name].query(f"SET search_path = {schema}; SET column_indexes = {setting}")
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "tpch", "q*.sql"))):
        name = os.path.basename(path)[:-4]
        if only and name not in only:
            continue
        sql = open(path, encoding="utf-8").read()
        taken, answers = {}, {}
        for number in range(rounds + 1):
            for path_name, connection in connections.items():
                ms, answers[path_name] = timed(connection, sql)
                if number > 0:
                    taken.setdefault(path_name, []).append(ms)
        for path_name in answers:
            if answers[path_name] != answers["column"]:
                print(f"{name}: the answer of {path_name} is another one: {answers[path_name][:2]}")
        lines[name] = {path_name: statistics.median(ms) for path_name, ms in taken.items()}
        print(name, {path_name: round(ms, 1) for path_name, ms in lines[name].items()}, flush=True)
    return lines


def inserts(connection, seconds):
    rates = {}
    columns, names = tables()["orders"]
    for schema, method in METHODS.items():
        connection.query(f"CREATE TABLE {schema}.fresh ({columns}) USING {method}")
    connection.query(f"CREATE INDEX fresh_columns ON x.fresh USING columns ({', '.join(names)})")
    key = 0
    for rows in (1, 100):
        for round_ in range(3):
            for schema in METHODS:
                begun, done = time.perf_counter(), 0
                while time.perf_counter() - begun < seconds:
                    values = ", ".join(f"({key + at}, {(key + at) % 1000}, 'O', 1.5, '1995-01-01', '1-URGENT', 'Clerk#1', 0,"
                                       " 'an order like the others')" for at in range(rows))
                    connection.query(f"INSERT INTO {schema}.fresh VALUES {values}")
                    key += rows
                    done += rows
                rates.setdefault(f"{schema} by {rows}", []).append(done / (time.perf_counter() - begun))
    return {name: statistics.median(each) for name, each in rates.items()}


def geometric(ratios):
    return statistics.geometric_mean(ratios)


def report(lines, times, rates):
    print("\n| | column | row | row + column index | off | always | chosen : column | row : chosen |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, ms in lines.items():
        print(f"| {name} | " + " | ".join(f"{ms[path]:.1f}" for path, _, _ in PATHS) +
              f" | {ms['chosen'] / ms['column']:.2f} | {ms['row'] / ms['chosen']:.1f} |")
    print(f"| geometric mean | | | | | | {geometric([ms['chosen'] / ms['column'] for ms in lines.values()]):.2f}"
          f" | {geometric([ms['row'] / ms['chosen'] for ms in lines.values()]):.1f} |")
    worst = max(lines, key=lambda name: lines[name]["chosen"] / min(lines[name]["off"], lines[name]["always"]))
    print(f"\nchosen against the better of the forced paths, worst: {worst}"
          f" {lines[worst]['chosen'] / min(lines[worst]['off'], lines[worst]['always']):.2f}")
    print("loading, s:", {name: round(value, 1) for name, value in times.items()})
    print("rows inserted per second:", {name: round(value) for name, value in rates.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--row-memory", default="4GB", help="what is loaded into a row table is in memory until its commit")
    parser.add_argument("--only", help="queries, as q01,q06")
    parser.add_argument("--weft", default=os.path.join(ROOT, "target", "release", "weft"))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not os.path.exists(CSV):
        words = ["cargo", "build", "--release", "-q", "--workspace", "--example", "tpch_csv"]
        subprocess.run(words, check=True, cwd=ROOT)
    folder = tempfile.mkdtemp(prefix="weft-columns-")
    server = Process(args.weft, os.path.join(folder, "db"), "--row-memory", args.row_memory)
    try:
        connection = Connection(server.port)
        for schema in METHODS:
            connection.query(f"CREATE SCHEMA {schema}")
        times = load(connection, server.port, args.scale, folder)
        print("loaded:", {name: round(value, 1) for name, value in times.items()}, flush=True)
        lines = queries(server.port, args.rounds, args.only and args.only.split(","))
        rates = inserts(connection, args.seconds)
        report(lines, times, rates)
        if args.json:
            print(json.dumps({"queries": lines, "load": times, "inserts": rates}))
    finally:
        server.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
