"""The experiments on DuckDB: the same rows, statements and lines as `weft bench xbench`.

DuckDB runs in this process. Its client for Python offers several ways to run a statement; before anything is measured each
is tried on a small table, and the fastest one is used (`Forms`). What is timed is that call alone: parameters and texts are
made before, results are taken as Arrow or numpy columns, not as Python objects, where that is faster. Threads have a cursor
each; DuckDB gives the interpreter free while it works.
"""

import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
import warnings

import duckdb
import numpy as np
import pyarrow as pa

from . import data

# Of two threads that run Python the one whose statement has ended gets the interpreter soon.
sys.setswitchinterval(1e-4)
# "Arrow output on a DB-API result makes an extra copy": the other ways are tried as well.
warnings.filterwarnings("ignore", category=UserWarning, module=__name__)

RUNS, RUNS_AT_ONCE, RUNS_WIDE = 201, 3, 7
BATCH_ROWS = 100_000
TRIES = 30
QUANTILES = [("p50", 0.5), ("p75", 0.75), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)]
READS = ["sql3", "sql4", "sql5"]
FILTERED = 1_000_000


def literal(value):
    return f"'{value}'" if isinstance(value, str) else str(value)


class Statement:
    """A statement with parameters, run in one of several ways."""

    def __init__(self, cursor, name, sql, form):
        self.cursor, self.sql, self.form, self.name = cursor, sql, form, name
        if form == "EXECUTE":
            cursor.execute(f"PREPARE {name} AS {sql}")
        elif form == "statement":
            self.parsed = cursor.extract_statements(sql)[0]

    def ready(self, params):
        """What `run` takes: made before the clock starts."""
        if self.form == "EXECUTE":
            return f"EXECUTE {self.name}({', '.join(map(literal, params))})"
        return params

    def run(self, ready):
        if self.form == "EXECUTE":
            return self.cursor.execute(ready)
        if self.form == "statement":
            return self.cursor.execute(self.parsed, ready)
        return self.cursor.execute(self.sql, ready)


FORMS = ["execute", "statement", "EXECUTE"]
TAKES = {
    "numpy": lambda result: len(next(iter(result.fetchnumpy().values()))),
    "tuples": lambda result: len(result.fetchall()),
    "arrow": lambda result: result.to_arrow_table().num_rows,
}


class Database:
    """A file with the tables."""

    def __init__(self, folder, memory_limit=None):
        self.path = os.path.join(folder, "xbench.duckdb")
        self.db = duckdb.connect(self.path)
        if memory_limit:
            self.db.execute(f"SET memory_limit = '{memory_limit >> 10}KiB'")
        for name in ("table_1", "table_2"):
            self.db.execute(data.create(name))

    def load(self, table, rows, row_bytes=None):
        step, spent = data.batch_rows(row_bytes), 0.0
        for start in range(0, rows, step):
            batch = data.table(np.arange(start, min(rows, start + step)), row_bytes)
            self.db.register("batch", batch)
            begun = time.perf_counter()
            self.db.execute(f"INSERT INTO {table} SELECT * FROM batch")
            spent += time.perf_counter() - begun
            self.db.unregister("batch")
        self.db.execute("CHECKPOINT")
        return spent

    def one(self, sql):
        return self.db.execute(sql).fetchone()[0]


def fastest(measure, choices):
    """The choice with the least median time; ways that DuckDB does not offer for the statement are left out."""
    times = {}
    for choice in choices:
        try:
            times[choice] = measure(choice)
        except duckdb.Error:
            continue
    return min(times, key=times.get)


def median_ms(runs, work):
    times = []
    for number in range(runs):
        begun = time.perf_counter()
        work(number)
        times.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(times)


class Forms:
    """How each statement is run fastest, tried on a table of 20,000 rows."""

    ROWS = 20_000

    def __init__(self, options):
        folder = tempfile.mkdtemp(prefix="weft-xbench-forms-")
        try:
            database = Database(folder)
            database.load("table_1", self.ROWS)
            database.load("table_2", self.ROWS // 10)
            self.writes = {name: self.write(database, name, sql, options) for name, sql in writes(options).items()}
            self.reads = {name: self.read(database, name, sql, options) for name, sql in reads(options).items()}
            self.scan = fastest(lambda way: median_ms(TRIES, lambda _: WHOLE[way](database.db, data.projection(1))), WHOLE)
            self.wide = fastest(lambda way: median_ms(TRIES, lambda _: WHOLE[way](database.db, data.projection(5))), WHOLE)
            database.db.close()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def write(self, database, name, sql, options):
        numbers = random.Random(1)

        def measure(form):
            statement = Statement(database.db.cursor(), f"{name}_tried", sql, form)
            first = self.ROWS + len(FORMS) * TRIES * (FORMS.index(form) + 1) * 1000
            items = [statement.ready(params) for params in params_of(name, first, TRIES, self.ROWS, numbers, options)]
            return median_ms(TRIES, lambda number: statement.run(items[number]))

        return fastest(measure, FORMS)

    def read(self, database, name, sql, options):
        numbers = random.Random(2)

        def measure(choice):
            form, take = choice
            statement = Statement(database.db.cursor(), f"{name}_tried", sql, form)
            items = [statement.ready(range_of(name, self.ROWS, options, numbers)) for _ in range(TRIES)]
            return median_ms(TRIES, lambda number: TAKES[take](statement.run(items[number])))

        return fastest(measure, [(form, take) for form in FORMS for take in ("numpy", "tuples", "arrow")])

    def facts(self):
        """What was chosen, for the record."""
        return {**self.writes, **{name: " + ".join(choice) for name, choice in self.reads.items()},
                "scan": self.scan, "projection": self.wide}


# A query without parameters, all of it.
WHOLE = {
    "relation to Arrow": lambda db, sql: db.sql(sql).to_arrow_table().num_rows,
    "execute, numpy": lambda db, sql: len(next(iter(db.execute(sql).fetchnumpy().values()))),
    "execute, Arrow": lambda db, sql: db.execute(sql).to_arrow_table().num_rows,
}


def writes(options):
    return {"insert": data.INSERT, "update": data.update(options.update_columns), "upsert": data.UPSERT,
            "upsert_one": data.UPSERT_ONE, "update_one": data.UPDATE_ONE}


def reads(options):
    return {"sql3": data.sum_of(options.sum_columns), "sql4": data.max_of(options.max_columns), "sql5": data.JOIN}


def params_of(name, first, count, rows, numbers, options):
    """Parameters of `count` writes; new keys begin with `first`. `rows` keys are there."""
    of = np.arange(first, first + count)
    if name in ("upsert_one", "update_one"):
        return list(zip([numbers.randrange(rows) for _ in of], data.integers(of, data.UPDATED).tolist()))
    if name == "insert":
        return data.tuples(of, of)
    old = np.array([numbers.randrange(rows) for _ in of])
    if name == "update":
        return [row[1:options.update_columns + 1] + (key,) for row, key in zip(data.tuples(of, of), old.tolist())]
    # Half of the upserts have a new key.
    return data.tuples(np.where(of % 2 == 0, first + (of - first) // 2, old), of)


def range_of(name, rows, options, numbers):
    if name == "sql5":
        start = numbers.randrange(FILTERED - options.filter_width)
        return (start, start + options.filter_width)
    count = min(options.range_rows, rows // 2)
    start = numbers.randrange(rows - count + 1)
    return (start, start + count)


def quantile(ordered, share):
    return ordered[min(len(ordered) - 1, max(0, int(np.ceil(len(ordered) * share)) - 1))]


class Run:
    """The experiments; `lines` collects what they print."""

    def __init__(self, options, emit, forms):
        self.options, self.emit, self.forms = options, emit, forms

    def line(self, experiment, x, metric, value, unit, rows, **more):
        self.emit({"experiment": experiment, "system": "duckdb", "configuration": "duckdb", "x": x, "metric": metric,
                   "value": value, "unit": unit, "rows": rows, **more})

    def run(self, experiment):
        folder = tempfile.mkdtemp(prefix="weft-xbench-duckdb-", dir=self.options.dir)
        try:
            database = Database(folder, self.options.memory_limit)
            {"fig1": self.fig1, "fig6": self.fig6, "fig7b": self.fig7b, "fig9": self.fig9}[experiment](database)
            database.db.close()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def fig1(self, database):
        self.incremental(database, "fig1", "fig1", "update_one", self.options.fig1_ratios)

    def fig6(self, database):
        self.incremental(database, "fig6", "fig7a", "upsert_one", self.options.ratios)

    # ---------------------------------------------------------------------------- updates of a share, and a query after

    def updated(self, database, name, keys, values):
        """Single statements until the time is over, the rest in bulk; the times in seconds."""
        statement = Statement(database.db, name, writes(self.options)[name], self.forms.writes[name])
        times, at, spent = [], 0, 0.0
        while at < len(keys) and spent < self.options.update_seconds:
            ready = statement.ready((int(keys[at]), int(values[at])))
            begun = time.perf_counter()
            statement.run(ready)
            times.append(time.perf_counter() - begun)
            spent += times[-1]
            at += 1
        for start in range(at, len(keys), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            database.db.register("changes", pa.table({"k": keys[part], "v": values[part]}))
            database.db.execute("UPDATE table_1 SET col_1 = v FROM changes WHERE col_0 = k")
            database.db.unregister("changes")
        if self.forms.writes[name] == "EXECUTE":
            database.db.execute(f"DEALLOCATE {name}")
        return times

    def query(self, database, sql, way, runs, count):
        times = []
        for _ in range(runs):
            begun = time.perf_counter()
            found = WHOLE[way](database.db, sql)
            times.append((time.perf_counter() - begun) * 1e3)
            assert found == count, f"{sql} gave {found} rows instead of {count}"
        return statistics.median(times), min(times)

    def incremental(self, database, updates, queries, name, ratios):
        rows = self.options.rows
        self.line(updates, 0, "load_s", database.load("table_1", rows), "s", rows)
        order = data.scattered(rows)
        values = data.integers(np.arange(rows), data.UPDATED)
        old = data.integers(order, 1).astype(np.int64)
        total = int(old.sum())

        def look(ratio, metric, runs):
            median, least = self.query(database, "SELECT col_1 FROM table_1", self.forms.scan, runs, rows)
            self.line(queries, ratio, metric, median, "ms", rows, min=least)

        def check(ratio, expected):
            found = self.checked(database, rows, expected)
            self.line(updates, ratio, "sum", found, "check", rows)

        look(0, "query_ms", RUNS)
        check(0, total)
        done, spent = 0, 0.0
        for ratio in sorted(set(ratios) - {0}):
            until = rows * ratio // 100
            times = self.updated(database, name, order[done:until], values[done:until])
            total += int(values[done:until].sum(dtype=np.int64) - old[done:until].sum())
            mean = sum(times) / max(len(times), 1)
            spent += mean * (until - done)
            more = {"updates": until - done, "measured": len(times)}
            self.line(updates, ratio, "update_s", spent, "s", rows, **more)
            self.line(updates, ratio, "update_mean_us", mean * 1e6, "us", rows, **more)
            if times:
                ordered = sorted(times)
                self.line(updates, ratio, "update_p50_us", quantile(ordered, 0.5) * 1e6, "us", rows)
                self.line(updates, ratio, "update_p99_us", quantile(ordered, 0.99) * 1e6, "us", rows)
            done = until
            look(ratio, "query_at_once_ms", RUNS_AT_ONCE)
            database.db.execute("CHECKPOINT")
            look(ratio, "query_ms", RUNS)
            check(ratio, total)

    def checked(self, database, count, total):
        found = database.one("SELECT count(*) FROM table_1"), int(database.one("SELECT sum(col_1) FROM table_1"))
        assert found == (count, total), f"DuckDB has {found} instead of {(count, total)}"
        return total

    def fig7b(self, database):
        rows = self.options.wide_rows
        self.line("fig7b", 0, "load_s", database.load("table_1", rows, self.options.row_bytes), "s", rows)
        order, values = data.scattered(rows), data.integers(np.arange(rows), data.UPDATED)
        times = self.updated(database, "upsert_one", order, values)
        self.line("fig7b", 100, "update_mean_us", sum(times) / max(len(times), 1) * 1e6, "us", rows)
        database.db.execute("CHECKPOINT")
        for columns in self.options.projections:
            median, least = self.query(database, data.projection(columns), self.forms.wide, RUNS_WIDE, rows)
            self.line("fig7b", columns, "query_ms", median, "ms", rows, min=least)
        total = self.checked(database, rows, int(values.sum(dtype=np.int64)))
        self.line("fig7b", 100, "sum", total, "check", rows)

    # ---------------------------------------------------------------------------------------------------------- the mix

    def fig9(self, database):
        rows = self.options.rows
        self.line("fig9", 0, "load_s", database.load("table_1", rows), "s", rows)
        database.load("table_2", rows // 10)
        count, total = rows, int(data.integers(np.arange(rows), 1).sum(dtype=np.int64))
        mix = Mix(database, self.options, self.forms, count)
        times, seconds = mix.run(["insert", "update"])
        self.put(times, seconds, ["insert", "update", *READS], "mix", rows)
        times, seconds = mix.run(["upsert"])
        self.put(times, seconds, ["upsert"], "upserts", rows)
        self.checked(database, mix.next_key, total + mix.gained)

    def put(self, times, seconds, names, mix, rows):
        for name in names:
            ordered = sorted(times[name])
            for metric, share in QUANTILES if ordered else ():
                self.line("fig9", name, metric, quantile(ordered, share) * 1e3, "ms", rows, count=len(ordered))
        for kind, members in (("writes", ("insert", "update", "upsert")), ("reads", READS)):
            count = sum(len(times.get(name, ())) for name in members)
            self.line("fig9", mix, f"{kind}_per_s", count / seconds, "1/s", rows)


class Mix:
    """One writer and one reader at once, each a thread with a cursor of its own."""

    # Writes per second whose parameters are made before the threads begin; more are made on the way if that is too few.
    MADE_PER_S, MADE_MAX = 1_500, 60_000

    def __init__(self, database, options, forms, rows):
        self.database, self.options, self.forms, self.rows = database, options, forms, rows
        self.next_key, self.gained, self.written = rows, 0, 0
        self.changed = {}
        self.numbers = random.Random(1)

    def run(self, names):
        """Both threads for the time; the times of each statement in seconds, and the time of all."""
        stop, failed = threading.Event(), []
        times = {name: [] for name in (*names, *READS)}
        cursors = self.database.db.cursor(), self.database.db.cursor()
        texts = writes(self.options)
        statements = {name: Statement(cursors[0], f"write_{name}", texts[name], self.forms.writes[name])
                      for name in names}
        made = self.steps(names, statements, min(int(self.options.seconds * self.MADE_PER_S), self.MADE_MAX))

        def guarded(work, *rest):
            try:
                work(stop, times, *rest)
            except Exception as error:  # noqa: BLE001 - told to the main thread
                failed.append(error)
                stop.set()

        threads = [threading.Thread(target=guarded, args=(self.write, names, statements, made)),
                   threading.Thread(target=guarded, args=(self.read, cursors[1]))]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        stop.wait(self.options.seconds)
        stop.set()
        seconds = time.perf_counter() - begun
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
        return times, seconds

    def write(self, stop, times, names, statements, made):
        clock, stopped = time.perf_counter, stop.is_set
        while not stopped():
            done = 0
            for name, ready, _ in made:
                if stopped():
                    break
                run = statements[name].run
                begun = clock()
                run(ready)
                times[name].append(clock() - begun)
                done += 1
            self.note([change for _, _, change in made[:done]])
            if not stopped():
                made = self.steps(names, statements, len(made))

    def steps(self, names, statements, count):
        """The next writes: name, what `run` takes, and key, value of col_1 and whether the key is new."""
        per_name, key, chunks = max(count // len(names), 1), self.next_key, []
        for name in names:
            of = np.arange(self.written, self.written + per_name)
            self.written += per_name
            keys = np.array([self.numbers.randrange(self.rows) for _ in of])
            new = np.full(per_name, name == "insert") | ((of % 2 == 0) & (name == "upsert"))
            fresh = int(new.sum())
            keys[new] = np.arange(key, key + fresh)
            key += fresh
            rows = data.tuples(keys, keys if name == "insert" else of)
            k = self.options.update_columns
            params = [row[1:k + 1] + (row[0],) for row in rows] if name == "update" else rows
            changes = [(row[0], row[1], is_new) for row, is_new in zip(rows, new.tolist())]
            chunks.append([(name, statements[name].ready(one), change) for one, change in zip(params, changes)])
        return [step for together in zip(*chunks) for step in together]

    def note(self, changes):
        """Follows the count and the sum of col_1. New keys come in order: those not reached are used by the next steps."""
        for key, value, is_new in changes:
            if is_new:
                self.gained += value
                self.next_key = key + 1
            else:
                before = self.changed.get(key)
                self.gained += value - (int(data.integers(np.array([key]), 1)[0]) if before is None else before)
            self.changed[key] = value

    def read(self, stop, times, cursor):
        texts, numbers, number = reads(self.options), random.Random(2), 0
        ways = {name: self.forms.reads[name] for name in READS}
        statements = {name: Statement(cursor, f"read_{name}", texts[name], ways[name][0]) for name in READS}
        clock = time.perf_counter
        while not stop.is_set():
            name = READS[number % len(READS)]
            number += 1
            start, end = range_of(name, self.rows, self.options, numbers)
            ready = statements[name].ready((start, end))
            run, take = statements[name].run, TAKES[ways[name][1]]
            begun = clock()
            found = take(run(ready))
            times[name].append(clock() - begun)
            assert name != "sql3" or found == end - start, f"SQL3 gave {found} rows instead of {end - start}"
