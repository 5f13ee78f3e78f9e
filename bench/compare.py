#!/usr/bin/env python3
"""Weft beside DuckDB and SQLite on the same data, in one run, all durable.

    python3 bench/compare.py [--rows 1000000] [--rounds 3] [--weft target/release/weft] [--out bench/out]

Needs the Python package duckdb (and pyarrow, numpy); without them it makes bench/.venv and installs them there. Each round
runs all systems one after the other; the table has the median of the rounds, and ratios. The data is the formula of
`crates/weft-bench/src/bench/data.rs`; both assert the same sum of the first rows.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import packages

HERE = os.path.dirname(os.path.abspath(__file__))

packages.ensure("duckdb", "numpy", "pyarrow")
import duckdb  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import sqlite3  # noqa: E402

EACH = 15
INTS = [f"col_{j}" for j in range(1, EACH + 1)]
TEXTS = [f"str_{j}" for j in range(1, EACH + 1)]
NAMES = ["id", *INTS, *TEXTS]
RUNS, BATCH, BATCHES, RATE_SECONDS = 2000, 1000, 30, 3.0
SET_ALL = ", ".join(f"{name} = excluded.{name}" for name in NAMES[1:])


def mix(rows, column):
    with np.errstate(over="ignore"):
        x = rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(column * 0xBF58476D1CE4E5B9 % 2**64)
        x ^= x >> np.uint64(32)
        x *= np.uint64(0x94D049BB133111EB)
        return (x ^ (x >> np.uint64(29))) >> np.uint64(11)


def integers(rows, column):
    return (mix(rows, column) % np.uint64(1_000_000)).astype(np.int32)


def strings(rows, column):
    return [f"s{v}" for v in (mix(rows, 100 + column) % np.uint64(10_000)).tolist()]


def table(ids, of=None):
    """An Arrow table of rows with the keys `ids` and the values of rows `of`."""
    of = ids if of is None else of
    columns = {"id": pa.array(ids.astype(np.int64))}
    columns.update({name: pa.array(integers(of, j)) for j, name in enumerate(INTS, 1)})
    columns.update({name: pa.array(strings(of, j)) for j, name in enumerate(TEXTS, 1)})
    return pa.table(columns)


def tuples(ids, of=None):
    return list(zip(*(column.to_pylist() for column in table(ids, of).columns)))


assert int(integers(np.arange(1000), 1).sum()) == 500_843_356, "the formula of crates/weft-bench/src/bench/data.rs"
assert strings(np.array([7]), 3) == ["s2296"]


def create(text_type, int_type, key_type):
    columns = [f"id {key_type} PRIMARY KEY"] + [f"{n} {int_type}" for n in INTS] + [f"{n} {text_type}" for n in TEXTS]
    return f"CREATE TABLE t ({', '.join(columns)})"


def new_literals(rows):
    text = ",".join("(" + ",".join(f"'{v}'" if isinstance(v, str) else str(v) for v in row) + ")" for row in rows)
    return f"INSERT INTO t VALUES {text}"


def literals(rows):
    return f"{new_literals(rows)} ON CONFLICT (id) DO UPDATE SET {SET_ALL}"


def median_time(runs, work, scale):
    times = []
    for number in range(runs):
        begun = time.perf_counter()
        work(number)
        times.append((time.perf_counter() - begun) * scale)
    return statistics.median(times)


def size(path):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(path) for f in files) / 1e6


class System:
    """The workloads; a system says how it connects, loads and runs one statement."""

    def __init__(self, rows):
        self.rows = rows
        self.next_id = rows
        self.results = {}

    def fresh(self, count):
        first = self.next_id
        self.next_id += count
        return np.arange(first, first + count)

    def run(self, folder):
        self.open(folder)
        data = table(np.arange(self.rows))
        if isinstance(self, SQLite):
            data = tuples(np.arange(self.rows))
        begun = time.perf_counter()
        self.load(data)
        self.results["load"] = time.perf_counter() - begun
        del data
        self.checkpoint()
        self.results["disk"] = size(folder)
        self.results["sum"] = self.sum()
        self.results["point"] = median_time(20_000, self.point, 1e6)
        self.singles()
        self.writers()
        self.batches()
        self.dirty()
        self.close()
        return self.results

    def point(self, number):
        key = (number + 1) * 7919 % self.rows
        assert self.one("SELECT col_1 FROM t WHERE id = ?", (key,))[0] is not None

    def sum(self):
        return median_time(51, lambda _: self.one("SELECT sum(col_1) FROM t", ()), 1e3)

    def singles(self):
        marks = ", ".join("?" * len(NAMES))
        rows = tuples(self.fresh(RUNS))
        insert = f"INSERT INTO t VALUES ({marks})"
        self.results["insert"] = median_time(RUNS, lambda n: self.write(insert, rows[n]), 1e3)
        update = "UPDATE t SET col_1 = ?, col_2 = ?, str_1 = ? WHERE id = ?"
        numbers = np.arange(1, RUNS + 1)
        values = list(zip(integers(numbers, 1).tolist(), integers(numbers, 2).tolist(), strings(numbers, 1),
                          (numbers * 104_729 % self.rows).tolist()))
        self.results["update"] = median_time(RUNS, lambda n: self.write(update, values[n]), 1e3)
        fresh = self.fresh(RUNS // 2 + 1)
        ids = np.where(numbers % 2 == 0, numbers * 15_485_863 % self.rows, fresh[0] + numbers // 2)
        rows = tuples(ids, numbers)
        self.upsert = f"{insert} ON CONFLICT (id) DO UPDATE SET {SET_ALL}"
        runs = self.upsert_runs
        self.results["upsert"] = median_time(runs, lambda n: self.write(self.upsert, rows[n]), 1e3)

    def writers(self):
        for writers in (1, 4):
            done, stop = [0] * writers, threading.Event()
            numbers = np.arange(1, 20_001)
            work = [tuples(numbers * 7919 % (self.rows // writers) * writers + w, numbers) for w in range(writers)]

            def write(at):
                connection = self.connection()
                while not stop.is_set():
                    row = work[at][done[at] % len(work[at])]
                    if self.write_on(connection, self.upsert, row):
                        done[at] += 1

            threads = [threading.Thread(target=write, args=(at,)) for at in range(writers)]
            begun = time.perf_counter()
            for thread in threads:
                thread.start()
            time.sleep(RATE_SECONDS)
            stop.set()
            for thread in threads:
                thread.join()
            self.results[f"upserts_{writers}"] = sum(done) / (time.perf_counter() - begun)

    def batches(self):
        numbers = np.arange(BATCH * BATCHES)
        chunks = [numbers[at:at + BATCH] for at in range(0, len(numbers), BATCH)]
        fresh = self.fresh(BATCH * BATCHES)
        texts = [new_literals(tuples(fresh[at:at + BATCH])) for at in range(0, len(fresh), BATCH)]
        ms = median_time(BATCHES, lambda n: self.script(texts[n]), 1e3)
        self.results["insert_literals"] = BATCH / ms * 1e3
        texts = [literals(tuples(chunk * 6007 % self.rows, chunk)) for chunk in chunks]
        ms = median_time(BATCHES, lambda n: self.script(texts[n]), 1e3)
        self.results["batch_literals"] = BATCH / ms * 1e3
        rows = [tuples(chunk * 6007 % self.rows, chunk + BATCH * BATCHES) for chunk in chunks]
        if self.many_batches:
            ms = median_time(self.many_batches, lambda n: self.many(self.upsert, rows[n]), 1e3)
            self.results["batch_prepared"] = BATCH / ms * 1e3
        fresh = self.fresh(BATCH * BATCHES)
        tables = [table(fresh[at:at + BATCH]) for at in range(0, len(fresh), BATCH)]
        if hasattr(self, "arrow"):
            ms = median_time(BATCHES, lambda n: self.arrow(tables[n]), 1e3)
            self.results["batch_arrow"] = BATCH / ms * 1e3

    def dirty(self):
        count = self.rows // 5 // 100 * 100
        numbers = np.arange(count)
        values = list(zip(integers(numbers, 20).tolist(), (numbers * 999_983 % self.rows).tolist()))
        self.update_all(values)
        self.results["sum_dirty"] = self.sum()
        self.checkpoint()
        self.results["sum_converted"] = self.sum()
        self.results["disk_after"] = size(self.folder)


    def update_all(self, values):
        begun = time.perf_counter()
        for at in range(0, len(values), 100):
            self.many("UPDATE t SET col_1 = ? WHERE id = ?", values[at:at + 100])
        self.results["updates_in_hundreds"] = len(values) / (time.perf_counter() - begun)


class DuckDB(System):
    upsert_runs = 300
    # A statement of its own per row takes DuckDB tens of milliseconds: not measured.
    many_batches = 0

    def open(self, folder):
        self.folder = folder
        self.db = duckdb.connect(os.path.join(folder, "t.duckdb"))
        self.db.execute(create("VARCHAR", "INTEGER", "BIGINT"))

    def connection(self):
        return self.db.cursor()

    def load(self, data):
        self.db.register("data", data)
        self.db.execute("INSERT INTO t SELECT * FROM data")

    def checkpoint(self):
        self.db.execute("CHECKPOINT")

    def one(self, sql, params):
        return self.db.execute(sql, params).fetchone()

    def write(self, sql, params):
        self.db.execute(sql, params)

    def write_on(self, connection, sql, params):
        try:
            connection.execute(sql, params)
            return True
        except duckdb.TransactionException:
            return False

    def script(self, sql):
        self.db.execute(sql)

    def arrow(self, data):
        self.db.register("batch", data)
        self.db.execute("INSERT INTO t SELECT * FROM batch")

    def update_all(self, values):
        """By thousands, for the state they leave: row by row it would take minutes."""
        for at in range(0, len(values), 1000):
            new, ids = zip(*values[at:at + 1000])
            self.db.register("changes", pa.table({"v": pa.array(new, pa.int32()), "key": pa.array(ids, pa.int64())}))
            self.db.execute("UPDATE t SET col_1 = v FROM changes WHERE id = key")

    def close(self):
        self.db.close()


class SQLite(System):
    upsert_runs = RUNS
    many_batches = BATCHES

    def open(self, folder):
        self.folder = folder
        self.db = self.connection()
        self.db.execute(create("TEXT", "INTEGER", "INTEGER"))

    def connection(self):
        db = sqlite3.connect(os.path.join(self.folder, "t.sqlite"), isolation_level=None, timeout=60)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        return db

    def load(self, rows):
        self.db.execute("BEGIN")
        self.db.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(NAMES))})", rows)
        self.db.execute("COMMIT")

    def checkpoint(self):
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def one(self, sql, params):
        return self.db.execute(sql, params).fetchone()

    def write(self, sql, params):
        self.db.execute(sql, params)

    def write_on(self, connection, sql, params):
        connection.execute(sql, params)
        return True

    def script(self, sql):
        self.db.execute(sql)

    def many(self, sql, rows):
        self.db.execute("BEGIN")
        self.db.executemany(sql, rows)
        self.db.execute("COMMIT")

    def close(self):
        self.db.close()


def run_weft(program, rows, folder):
    out = subprocess.run([program, "bench", "--rows", str(rows), "--dir", os.path.join(folder, "db")], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return {line["name"]: line["value"] for line in lines}


# Name, what it is, unit, whether more is better.
LINES = [
    ("load", "load from Arrow batches (SQLite: executemany)", "s", False),
    ("disk", "bytes on disk after the load", "MB", False),
    ("sum", "`SELECT sum(col_1)`, clean", "ms", False),
    ("point", "prepared point select", "µs", False),
    ("insert", "insert of one row", "ms", False),
    ("update", "update of three columns by key", "ms", False),
    ("upsert", "upsert of one row", "ms", False),
    ("upserts_1", "upserts per second, 1 writer", "rows/s", True),
    ("upserts_4", "upserts per second, 4 writers", "rows/s", True),
    ("insert_literals", "new rows, 1,000 per statement of literals", "rows/s", True),
    ("batch_literals", "upserts, 1,000 rows per statement of literals", "rows/s", True),
    ("batch_prepared", "upserts, 1,000 prepared per transaction", "rows/s", True),
    ("batch_arrow", "new rows, 1,000 per Arrow batch", "rows/s", True),
    ("updates_in_hundreds", "updates by key, 100 per transaction", "rows/s", True),
    ("sum_dirty", "`SELECT sum(col_1)` after 20 % were updated", "ms", False),
    ("sum_converted", "the same after VACUUM and a checkpoint", "ms", False),
    ("disk_after", "bytes on disk at the end", "MB", False),
]


def ratio(weft, other, more):
    """How many times better Weft is."""
    if not weft or not other:
        return "-"
    return f"{(weft / other if more else other / weft):.2f} ×"


def shown(value):
    return "-" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def markdown(medians, rows, rounds):
    lines = [f"{rows:,} rows × {len(NAMES)} columns, median of {rounds} rounds; × says how many times better Weft is.", "",
             "| | unit | Weft | DuckDB | SQLite | Weft : DuckDB | Weft : SQLite |", "|---|---|---:|---:|---:|---:|---:|"]
    for name, what, unit, more in LINES:
        w, d, s = (medians[system].get(name) for system in ("weft", "duckdb", "sqlite"))
        lines.append(f"| {what} | {unit} | {shown(w)} | {shown(d)} | {shown(s)} | {ratio(w, d, more)} | {ratio(w, s, more)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--weft", default=os.path.join(HERE, "..", "target", "release", "weft"))
    parser.add_argument("--out", default=os.path.join(HERE, "out"))
    parser.add_argument("--systems", default="weft,duckdb,sqlite")
    args = parser.parse_args()
    results = {"weft": [], "duckdb": [], "sqlite": []}
    for number in range(args.rounds):
        for system in args.systems.split(","):
            folder = tempfile.mkdtemp(prefix="weft-compare-")
            try:
                if system == "weft":
                    measured = run_weft(args.weft, args.rows, folder)
                else:
                    measured = {"duckdb": DuckDB, "sqlite": SQLite}[system](args.rows).run(folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            results[system].append(measured)
            print(f"round {number + 1}: {system}", json.dumps({k: round(v, 4) for k, v in measured.items()}), flush=True)
    medians = {
        system: {name: statistics.median(run[name] for run in runs if name in run) for name in (runs[0] if runs else {})}
        for system, runs in results.items()
    }
    os.makedirs(args.out, exist_ok=True)
    text = markdown(medians, args.rows, args.rounds)
    with open(os.path.join(args.out, "compare.json"), "w", encoding="utf-8") as file:
        json.dump({"rows": args.rows, "duckdb": duckdb.__version__, "sqlite": sqlite3.sqlite_version, "runs": results,
                   "medians": medians}, file, indent=1)
    with open(os.path.join(args.out, "compare.md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text)


if __name__ == "__main__":
    main()
