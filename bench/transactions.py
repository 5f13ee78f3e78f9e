#!/usr/bin/env python3
"""Weft beside PostgreSQL 15 and SQLite: transactions of many clients on the same tables, in one run, all durable.

    python3 bench/transactions.py [--rounds 3] [--scale small|paper|tiny] [--seconds 1] [--weft target/release/weft]
                                  [--systems weft,postgresql,sqlite] [--only insert,bulk,...] [--out bench/out]
                                  [--update-doc]

Weft runs in its process (`weft bench transactions`). PostgreSQL is started in a temporary directory on a unix socket and
driven by pgbench with prepared statements. SQLite is driven by Python processes, one per client. Each round runs all
systems one after the other on fresh databases; the table has the median of the rounds, and ratios. After each workload
each system must have the sums and counts that its committed transactions leave; otherwise the run ends.

Needs PostgreSQL's server and pgbench (Debian: apt install postgresql-15; no root rights are needed to run it). Tables and
rows are those of crates/weft-bench/src/bench/transactions/schema.sql.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import pwd
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import machine

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SOURCE = os.path.join(ROOT, "crates", "weft-bench", "src", "bench", "transactions")
DOC = os.path.join(ROOT, "docs", "benchmarks", "transactions.md")

SCALES = {
    "tiny": {"people": 20_000, "bulk": [15_000], "records": 20_000, "active": [20_000, 1_000], "warehouses": 1},
    "small": {"people": 1_000_000, "bulk": [150_000], "records": 1_000_000, "active": [1_000_000, 100_000, 10_000],
              "warehouses": 2},
    "paper": {"people": 10_000_000, "bulk": [150_000, 15_000_000], "records": 10_000_000,
              "active": [10_000_000, 100_000, 10_000], "warehouses": 2},
}
WORKS = ["insert", "bulk", "lookup", "micro", "commits", "columns", "orders"]
POINTS = ["select", "range", "update", "insert", "delete"]
# As in people.rs, micro.rs, commits.rs, orders.rs.
SPREAD, INSERT_ROWS, INSERT_AGES, CLIENT_IDS = 514_229, 100, 1_000_003, 1_000_000_000
MICRO_CLIENTS, CLIENT_ROWS, WIDE_ROWS = 4, 10_000, 4
PAD = "a text of some length that stands for what else is in a row of such a table"
LINES, ITEMS, CUSTOMERS, NAMES = 10, 100_000, 3_000, 1_000
MICRO_READ = "SELECT c1, c2, c3, c4 FROM micro WHERE id = {}"
MICRO_WRITE = "UPDATE micro SET c1 = c1 + 1, c2 = c2 - 1, c3 = c3 + 2, c4 = c4 - 2 WHERE id = {}"
MICRO_SCAN = "SELECT sum(c1) FROM micro WHERE id >= {} AND id < {}"
WIDE_SUM = "SELECT CAST(" + " + ".join(f"sum(c{column})" for column in range(16)) + " AS bigint) FROM wide"


def section(name, size):
    text = open(os.path.join(SOURCE, "schema.sql"), encoding="utf-8").read()
    body = re.search(rf"^-- section: {name}\n(.*?)(?=^-- section:|\Z)", text, re.M | re.S).group(1)
    for key in ("records", "people", "warehouses"):
        body = body.replace("{%s}" % key, str(size[key]))
    return body


def order_checks():
    """The queries that yield 0 after orders and payments, from orders.rs."""
    text = open(os.path.join(SOURCE, "orders.rs"), encoding="utf-8").read()
    checks = re.findall(r'^    "(SELECT .*)",$', re.search(r"const CHECKS.*?\];", text, re.S).group(0), re.M)
    assert len(checks) == 7, "orders.rs has the checks one a line"
    return checks


def people(rows):
    return ((row, f"name-{row:011}", row * SPREAD % rows) for row in range(rows))


def write_csv(folder, rows):
    path = os.path.join(folder, f"bulk-{rows}.csv")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{row},{name},{age}\n" for row, name, age in people(rows))
    return path


class System:
    """The workloads; a system says how it loads, runs clients and answers a query."""

    def __init__(self, size, seconds, csv):
        self.size, self.seconds, self.csv = size, seconds, csv
        self.results = {}

    def report(self, name, value):
        self.results[name] = value

    def expect(self, sql, expected):
        found = self.number(sql)
        if found != expected:
            sys.exit(f"{type(self).__name__} has wrong data: {sql} is {found} and must be {expected}")

    def run(self, works):
        for work in [*WORKS, "points"]:
            if work in works:
                getattr(self, work)()
        return self.results

    def make(self, name):
        self.script(section(name, self.size))
        self.settle()

    def insert(self):
        self.make("inserted")
        done = 0
        for number, clients in enumerate((1, 4, 16)):
            ran = self.clients("insert", clients, first=number * 20 * CLIENT_IDS)
            self.report(f"insert_{clients}", ran["rate"])
            done += ran["done"]
        self.expect("SELECT count(*) FROM inserted", done * INSERT_ROWS)
        self.expect("SELECT count(*) FROM inserted WHERE age <> id * 514229 % 1000003", 0)
        ages = self.number("SELECT count(*) FROM inserted WHERE age BETWEEN 1000 AND 1999")
        self.expect("SELECT count(*) FROM inserted WHERE age + 0 BETWEEN 1000 AND 1999", ages)

    def bulk(self):
        for rows in self.size["bulk"]:
            self.make("people")
            self.report(f"bulk_{rows}", self.load_people(rows))
            self.check_people(rows)

    def check_people(self, rows):
        self.expect("SELECT count(*) FROM people", rows)
        self.expect("SELECT sum(age) FROM people", rows * (rows - 1) // 2)
        self.expect(f"SELECT id FROM people WHERE age = {SPREAD % rows}", 1)
        self.script("DROP TABLE people")

    def lookup(self):
        rows = self.size["people"]
        self.make("people")
        self.load_people(rows)
        self.settle()
        for clients in (1, 4, 16):
            self.report(f"lookup_{clients}", self.clients("lookup", clients)["rate"])
        self.lookup_more()
        self.check_people(rows)

    def lookup_more(self):
        pass

    def micro(self):
        self.make("micro")
        sums = ["SELECT sum(c1 + c2) FROM micro", "SELECT sum(c3 + c4) FROM micro"]
        kept = [self.number(sql) for sql in sums]
        c1 = self.number("SELECT sum(c1) FROM micro")
        for active in self.size["active"]:
            for scans in (False, True):
                ran = self.clients("micro", MICRO_CLIENTS, active=active, scans=scans)
                self.report(f"micro_{active}{'_scanned' if scans else ''}", ran["rate"])
                if scans:
                    self.report(f"micro_{active}_scan", ran["beside_ms"])
                c1 += 2 * ran["done"]
                self.expect("SELECT sum(c1) FROM micro", c1)
                for sql, value in zip(sums, kept):
                    self.expect(sql, value)

    def commits(self):
        self.make("commits")
        total = 0
        for name, level in (("commits", "read committed"), ("commits_serializable", "serializable")):
            if level == "serializable" and not self.has_levels:
                continue
            for clients in (1, 2, 4, 8, 16):
                ran = self.clients("commits", clients, level=level)
                self.report(f"{name}_{clients}", ran["rate"])
                total += ran["done"]
                self.expect("SELECT CAST(sum(v) AS bigint) FROM counters", total)

    def columns(self):
        self.script("DROP TABLE IF EXISTS counters; DROP TABLE IF EXISTS wide")
        self.make("commits")
        total = 0
        for clients in (1, 2, 4, 8, 16):
            ran = self.clients("columns", clients)
            self.report(f"columns_{clients}", ran["rate"])
            total += ran["done"]
            self.expect(WIDE_SUM, total)

    def points(self):
        self.make("points")
        rows = self.size["records"]
        for kind in POINTS:
            for number, clients in enumerate((1, 4)):
                ran = self.clients("points", clients, kind=kind, number=number, count=clients)
                self.report(f"point_{kind}_{clients}", ran["rate"])
                rows += {"insert": 1, "delete": -1}.get(kind, 0) * ran["done"]
                self.expect("SELECT count(*) FROM points", rows)

    def orders(self):
        self.make("orders")
        done = 0
        for number, clients in enumerate((1, 4, 16)):
            ran = self.clients("orders", clients, first=number * 20 * CLIENT_IDS)
            self.report(f"orders_{clients}", ran["rate"])
            done += ran["done"]
            orders = self.number("SELECT count(*) FROM orders")
            payments = self.number("SELECT count(*) FROM history")
            if orders + payments != done:
                sys.exit(f"{type(self).__name__} has {orders} orders and {payments} payments of {done} transactions")
            self.expect("SELECT count(*) FROM order_line", orders * LINES)
            for check in order_checks():
                self.expect(check, 0)


# ---------------------------------------------------------------------------------------------------------- PostgreSQL


def postgresql_programs():
    """The folder with initdb, pg_ctl, psql and pgbench of PostgreSQL 15."""
    candidates = []
    for program in ("initdb", "postgres"):
        found = shutil.which(program)
        if found:
            candidates.append(os.path.dirname(os.path.realpath(found)))
    if shutil.which("pg_config"):
        candidates.append(subprocess.check_output(["pg_config", "--bindir"], text=True).strip())
    candidates += ["/usr/lib/postgresql/15/bin", "/usr/pgsql-15/bin"]
    for folder in candidates:
        if all(os.path.exists(os.path.join(folder, name)) for name in ("initdb", "pg_ctl", "psql", "pgbench")):
            return folder
    sys.exit("PostgreSQL is not installed: apt install postgresql-15 (server and pgbench), or --systems weft,sqlite")


class Server:
    """A PostgreSQL of its own in a temporary directory, reached over a unix socket."""

    def __init__(self, folder, shared_buffers="1GB"):
        self.programs = postgresql_programs()
        self.folder = folder
        self.data = os.path.join(folder, "data")
        self.user = None
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            self.user = next((name for name in ("postgres", "nobody") if any(u.pw_name == name for u in pwd.getpwall())))
            shutil.chown(folder, self.user)
        os.chmod(folder, 0o711)
        self.version = self.program("postgres", "--version").stdout.strip()
        self.program("initdb", "-D", self.data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--no-locale")
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a", encoding="utf-8") as file:
            file.write(f"listen_addresses = ''\nunix_socket_directories = '{folder}'\n"
                       f"shared_buffers = '{shared_buffers}'\n"
                       "max_connections = 50\n")
        log = os.path.join(folder, "log")
        self.program("pg_ctl", "start", "-w", "-D", self.data, "-l", log)
        self.settings = {name: self.sql("postgres", f"SHOW {name}") for name in
                         ("fsync", "synchronous_commit", "wal_sync_method", "full_page_writes", "shared_buffers")}
        assert self.settings["fsync"] == "on" and self.settings["synchronous_commit"] == "on", "durable"

    def program(self, name, *words, **more):
        command = [os.path.join(self.programs, name), *words]
        if self.user:
            command = ["setpriv", "--reuid", self.user, "--regid", str(pwd.getpwnam(self.user).pw_gid), "--clear-groups",
                       *command]
        # pg_ctl's server keeps what it inherits open: no pipes.
        with tempfile.TemporaryFile("w+") as out:
            result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, text=True,
                                    cwd=self.folder, check=False, **more)
            out.seek(0)
            result.stdout = out.read()
        if result.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed:\n{result.stdout}")
        return result

    def sql(self, database, text):
        return self.program("psql", "-h", self.folder, "-U", "bench", "-d", database, "-qAtX", "-v", "ON_ERROR_STOP=1",
                            "-c", text).stdout.strip()

    def stop(self):
        self.program("pg_ctl", "stop", "-w", "-m", "fast", "-D", self.data)


class PostgreSQL(System):
    has_levels = True

    def __init__(self, server, *rest):
        super().__init__(*rest)
        self.server = server
        server.sql("postgres", "DROP DATABASE IF EXISTS bench")
        server.sql("postgres", "CREATE DATABASE bench")

    def script(self, text):
        self.server.sql("bench", text)

    def number(self, sql):
        return int(self.server.sql("bench", sql) or 0)

    def settle(self):
        """What autovacuum and the checkpointer would do in their own time: known before it is measured."""
        self.server.sql("bench", "VACUUM ANALYZE")
        self.server.sql("bench", "CHECKPOINT")

    def load_people(self, rows):
        begun = time.perf_counter()
        self.server.sql("bench", f"COPY people FROM '{self.csv(rows)}' (FORMAT csv)")
        return time.perf_counter() - begun

    def pgbench(self, clients, scripts, level="read committed", options=()):
        words = ["-h", self.server.folder, "-U", "bench", "-n", "-M", "prepared", "-c", str(clients),
                 "-j", str(min(clients, os.cpu_count() or 1)), "-T", str(self.seconds), "--max-tries=1000", *options]
        paths = []
        for text in scripts:
            file = tempfile.NamedTemporaryFile("w", dir=self.server.folder, suffix=".sql", delete=False)
            with file:
                file.write(text)
            os.chmod(file.name, 0o644)
            paths += ["-f", file.name]
        environment = {**os.environ, "PGOPTIONS": "-c default_transaction_isolation=" + level.replace(" ", "\\ ")}
        return [os.path.join(self.server.programs, "pgbench"), *words, *paths, "bench"], environment

    def clients(self, work, clients, level="read committed", scans=False, **numbers):
        scripts, options = getattr(self, f"{work}_scripts")(**numbers)
        command, environment = self.pgbench(clients, scripts, level, options)
        beside = None
        if scans:
            prefix = os.path.join(tempfile.mkdtemp(dir=self.server.folder), "scan")
            tenth = self.size["records"] // 10
            text = (f"\\set low random(0, {self.size['records'] - tenth})\n\\set high :low + {tenth}\n"
                    + MICRO_SCAN.format(":low", ":high") + ";\n")
            words, _ = self.pgbench(1, [text], options=["-l", "--log-prefix", prefix])
            beside = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        ran = {}
        if beside:
            assert beside.wait() == 0, "the scan beside the clients failed"
            folder = os.path.dirname(prefix)
            lines = [line.split() for name in os.listdir(folder) for line in open(os.path.join(folder, name))]
            ran["beside_ms"] = statistics.median(int(line[2]) for line in lines) / 1e3
        done = re.search(r"actually processed: (\d+)", result.stdout)
        failed = re.search(r"failed transactions: (\d+)", result.stdout)
        rate = re.search(r"tps = ([\d.]+) \(without initial", result.stdout)
        if result.returncode != 0 or not done or not rate:
            raise RuntimeError(f"pgbench failed:\n{result.stdout}\n{result.stderr}")
        assert "aborted" not in result.stderr, result.stderr
        ran.update(done=int(done[1]), failed=int(failed[1]) if failed else 0, rate=float(rate[1]))
        return ran

    def insert_scripts(self, first):
        lines = [f"\\set base :base + {INSERT_ROWS}"]
        rows = []
        for row in range(INSERT_ROWS):
            lines.append(f"\\set i{row} {first} + :client_id * {CLIENT_IDS} + :base + {row}")
            lines.append(f"\\set a{row} :i{row} * {SPREAD} % {INSERT_AGES}")
            rows.append(f"(:i{row}, 'name-{row:011}', :a{row})")
        lines.append(f"INSERT INTO inserted VALUES {', '.join(rows)};")
        return ["\n".join(lines) + "\n"], ["-D", "base=0"]

    def lookup_scripts(self):
        # Every tenth age does not exist.
        bound = self.size["people"] // 9 * 10
        return [f"\\set age random(0, {bound - 1})\n"
                "SELECT id FROM people WHERE age = :age AND name >= 'name';\n"], []

    def micro_scripts(self, active):
        lines = [f"\\set k{n} random(0, {active - 1})" for n in range(10)]
        lines += ["\\set low least(:k8, :k9)", "\\set high greatest(:k8, :k9)", "BEGIN;"]
        lines += [MICRO_READ.format(f":k{n}") + ";" for n in range(8)]
        lines += [MICRO_WRITE.format(":low") + ";", MICRO_WRITE.format(":high") + ";", "COMMIT;"]
        return ["\n".join(lines) + "\n"], []

    def commits_scripts(self):
        return [f"\\set id :client_id * {CLIENT_ROWS} + random(0, {CLIENT_ROWS - 1})\n"
                "UPDATE counters SET v = v + 1 WHERE id = :id;\n"], []

    def columns_scripts(self):
        lines = [f"\\set id random(0, {WIDE_ROWS - 1})"]
        for client in range(16):
            lines.append(f"\\{'if' if client == 0 else 'elif'} :client_id = {client}")
            lines.append(f"UPDATE wide SET c{client} = c{client} + 1 WHERE id = :id;")
        return ["\n".join(lines) + "\n\\endif\n"], []

    def points_scripts(self, kind, number, count):
        records = self.size["records"]
        random_id = f"\\set id random(0, {records - 101})\n"
        if kind == "insert":
            return [f"\\set n :n + 1\n\\set id {records} + ({number} * 20 + :client_id + 1) * {CLIENT_IDS} + :n\n"
                    f"INSERT INTO points VALUES (:id, 0, '{PAD}');\n"], ["-D", "n=0"]
        if kind == "delete":
            return [f"\\set n :n + 1\n\\set id ({records // 2} * {number} + (:n - 1) * {count} + :client_id) % {records}"
                    f" * {SPREAD} % {records}\nDELETE FROM points WHERE id = :id;\n"], ["-D", "n=0"]
        return [random_id + {
            "select": "SELECT k, pad FROM points WHERE id = :id;\n",
            "range": "\\set high :id + 100\nSELECT id, k FROM points WHERE id >= :id AND id < :high ORDER BY id;\n",
            "update": "UPDATE points SET k = k + 1 WHERE id = :id;\n",
        }[kind]], []

    def orders_scripts(self, first):
        place = [f"\\set w random(1, {self.size['warehouses']})", "\\set d random(1, 10)"]
        order = [*place, f"\\set c random(1, {CUSTOMERS})", "BEGIN;", "SELECT w_tax FROM warehouse WHERE w_id = :w;",
                 "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w AND d_id = :d "
                 "RETURNING d_next_o_id - 1 AS o \\gset",
                 "SELECT c_discount, c_last FROM customer WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c;",
                 f"INSERT INTO orders VALUES (:w, :d, :o, :c, {LINES});", "INSERT INTO new_order VALUES (:w, :d, :o);"]
        share = ITEMS // LINES
        for line in range(LINES):
            order += [f"\\set i {line * share} + random(1, {share})", "\\set q random(1, 10)", "\\set r :q + 10",
                      "SELECT i_price AS price FROM item WHERE i_id = :i \\gset",
                      "UPDATE stock SET s_quantity = s_quantity - :q + CASE WHEN s_quantity >= :r THEN 0 ELSE 91 END, "
                      "s_ytd = s_ytd + :q, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = :w AND s_i_id = :i;",
                      "\\set amount :price * :q",
                      f"INSERT INTO order_line VALUES (:w, :d, :o, {line + 1}, :i, :q, :amount);"]
        order.append("COMMIT;")
        pay = [*place, "\\set h :h + 1", f"\\set id {first} + :client_id * {CLIENT_IDS} + :h",
               "\\set amount random(100, 500000)", f"\\set last random(0, {NAMES - 1})", f"\\set c random(1, {CUSTOMERS})",
               "\\set way random(0, 9)", "BEGIN;", "UPDATE warehouse SET w_ytd = w_ytd + :amount WHERE w_id = :w;",
               "UPDATE district SET d_ytd = d_ytd + :amount WHERE d_w_id = :w AND d_id = :d;", "\\if :way < 6",
               "SELECT c_id AS c FROM customer WHERE c_w_id = :w AND c_d_id = :d AND c_last = :last "
               "ORDER BY c_first, c_id LIMIT 1 \\gset", "\\endif",
               "UPDATE customer SET c_balance = c_balance - :amount, c_payment_cnt = c_payment_cnt + 1 "
               "WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c;",
               "INSERT INTO history VALUES (:id, :w, :d, :c, :amount);", "COMMIT;"]
        return ["\n".join(order) + "\n", "\n".join(pay) + "\n"], ["-D", "h=0"]


# -------------------------------------------------------------------------------------------------------------- SQLite


def connect(path):
    db = sqlite3.connect(path, isolation_level=None, timeout=60, cached_statements=64)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA busy_timeout = 60000")
    db.execute(f"PRAGMA cache_size = -{os.environ.get('WEFT_BENCH_SQLITE_CACHE_KB', '262144')}")
    return db


def sqlite_insert(db, client, size, numbers):
    base = numbers["first"] + client * CLIENT_IDS

    def work():
        nonlocal base
        rows = [(i, f"name-{i - base:011}", i * SPREAD % INSERT_AGES) for i in range(base, base + INSERT_ROWS)]
        base += INSERT_ROWS
        db.execute("BEGIN IMMEDIATE")
        db.executemany("INSERT INTO inserted VALUES (?, ?, ?)", rows)
        db.execute("COMMIT")

    return work


def sqlite_lookup(db, client, size, numbers):
    rows = size["people"]
    bound, random_of = rows // 9 * 10, random.Random(client).random

    def work():
        age = int(random_of() * bound)
        found = db.execute("SELECT id FROM people WHERE age = ? AND name >= 'name'", (age,)).fetchone()
        assert (found is None) == (age >= rows)

    return work


def sqlite_micro(db, client, size, numbers):
    active, random_of = numbers["active"], random.Random(client).random
    read, write = MICRO_READ.format("?"), MICRO_WRITE.format("?")

    def work():
        # IMMEDIATE: a transaction that read first and writes then would fail when another wrote in between.
        db.execute("BEGIN IMMEDIATE")
        for _ in range(8):
            db.execute(read, (int(random_of() * active),)).fetchone()
        for _ in range(2):
            db.execute(write, (int(random_of() * active),))
        db.execute("COMMIT")

    return work


def sqlite_scan(db, client, size, numbers):
    records = size["records"]
    tenth, random_of = records // 10, random.Random(client).random

    def work():
        low = int(random_of() * (records - tenth + 1))
        db.execute(MICRO_SCAN.format("?", "?"), (low, low + tenth)).fetchone()

    return work


def sqlite_commits(db, client, size, numbers):
    random_of = random.Random(client).random
    first = client * CLIENT_ROWS
    return lambda: db.execute("UPDATE counters SET v = v + 1 WHERE id = ?", (first + int(random_of() * CLIENT_ROWS),))


def sqlite_points(db, client, size, numbers):
    random_of, records, kind = random.Random(client).random, size["records"], numbers["kind"]
    series = itertools.count()
    first = records + (numbers["number"] * 20 + client + 1) * CLIENT_IDS
    half = records // 2 * numbers["number"]

    def key():
        return int(random_of() * (records - 100))

    def span():
        low = key()
        return db.execute("SELECT id, k FROM points WHERE id >= ? AND id < ? ORDER BY id", (low, low + 100)).fetchall()

    def delete():
        nth = (half + next(series) * numbers["count"] + client) % records
        db.execute("DELETE FROM points WHERE id = ?", (nth * SPREAD % records,))

    return {
        "select": lambda: db.execute("SELECT k, pad FROM points WHERE id = ?", (key(),)).fetchone(),
        "range": span,
        "update": lambda: db.execute("UPDATE points SET k = k + 1 WHERE id = ?", (key(),)),
        "insert": lambda: db.execute("INSERT INTO points VALUES (?, 0, ?)", (first + next(series), PAD)),
        "delete": delete,
    }[kind]


def sqlite_columns(db, client, size, numbers):
    random_of = random.Random(client).random
    sql = f"UPDATE wide SET c{client} = c{client} + 1 WHERE id = ?"
    return lambda: db.execute(sql, (int(random_of() * WIDE_ROWS),))


def sqlite_orders(db, client, size, numbers):
    between = random.Random(client).randint
    history_id = numbers["first"] + client * CLIENT_IDS

    def order(w, d):
        c = between(1, CUSTOMERS)
        db.execute("SELECT w_tax FROM warehouse WHERE w_id = ?", (w,)).fetchone()
        o = db.execute("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ? "
                       "RETURNING d_next_o_id - 1", (w, d)).fetchall()[0][0]
        db.execute("SELECT c_discount, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                   (w, d, c)).fetchone()
        db.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", (w, d, o, c, LINES))
        db.execute("INSERT INTO new_order VALUES (?, ?, ?)", (w, d, o))
        share = ITEMS // LINES
        for line in range(LINES):
            i, q = line * share + between(1, share), between(1, 10)
            price = db.execute("SELECT i_price FROM item WHERE i_id = ?", (i,)).fetchone()[0]
            db.execute("UPDATE stock SET s_quantity = s_quantity - ? + CASE WHEN s_quantity >= ? THEN 0 ELSE 91 END, "
                       "s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = ? AND s_i_id = ?",
                       (q, q + 10, q, w, i))
            db.execute("INSERT INTO order_line VALUES (?, ?, ?, ?, ?, ?, ?)", (w, d, o, line + 1, i, q, price * q))

    def pay(w, d):
        nonlocal history_id
        history_id += 1
        amount, c = between(100, 500_000), between(1, CUSTOMERS)
        db.execute("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", (amount, w))
        db.execute("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?", (amount, w, d))
        if between(0, 9) < 6:
            c = db.execute("SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? "
                           "ORDER BY c_first, c_id LIMIT 1", (w, d, str(between(0, NAMES - 1)))).fetchone()[0]
        db.execute("UPDATE customer SET c_balance = c_balance - ?, c_payment_cnt = c_payment_cnt + 1 "
                   "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", (amount, w, d, c))
        db.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?)", (history_id, w, d, c, amount))

    def work():
        w, d = between(1, size["warehouses"]), between(1, 10)
        db.execute("BEGIN IMMEDIATE")
        (pay if between(0, 1) else order)(w, d)
        db.execute("COMMIT")

    return work


def sqlite_client(path, work, client, size, numbers, seconds, barrier, results, timed):
    """One process: its connection, then work until the time is over."""
    db = connect(path)
    run = globals()[f"sqlite_{work}"](db, client, size, numbers)
    barrier.wait()
    done, times = 0, []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or (timed and not times):
        begun = time.perf_counter()
        run()
        done += 1
        if timed:
            times.append((time.perf_counter() - begun) * 1e3)
    db.close()
    results.put((done, statistics.median(times) if timed else None))


class SQLite(System):
    has_levels = False

    def __init__(self, folder, *rest):
        super().__init__(*rest)
        self.path = os.path.join(folder, "bench.sqlite")
        self.db = connect(self.path)
        numbers = max(self.size["records"], 200_000)
        self.db.execute("PRAGMA temp_store = FILE")
        self.db.execute("CREATE TEMP TABLE series (i INTEGER PRIMARY KEY)")
        self.db.executemany("INSERT INTO series VALUES (?)", ((i,) for i in range(1, numbers + 1)))

    def script(self, text):
        text = text.replace("bigint PRIMARY KEY", "INTEGER PRIMARY KEY").replace("integer PRIMARY KEY", "INTEGER PRIMARY KEY")
        # The rows of a table with a key of several columns lie in the key's tree, as a good user would have it.
        text = re.sub(r"(PRIMARY KEY \([a-z_, ]+\)\));", r"\1 WITHOUT ROWID;", text)
        text = re.sub(r"generate_series\(1, (\d+)\) AS (\w)\(i\)", r"(SELECT i FROM series WHERE i <= \1) AS \2", text)
        self.db.execute("BEGIN")
        for statement in re.sub(r"--.*", "", text).split(";"):
            if statement.strip():
                self.db.execute(statement)
        self.db.execute("COMMIT")

    def number(self, sql):
        return int(self.db.execute(sql).fetchone()[0] or 0)

    def settle(self):
        self.db.execute("ANALYZE main")
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def load_people(self, rows):
        begun = time.perf_counter()
        self.db.execute("BEGIN")
        self.db.executemany("INSERT INTO people VALUES (?, ?, ?)", people(rows))
        self.db.execute("COMMIT")
        return time.perf_counter() - begun

    def clients(self, work, clients, level=None, scans=False, **numbers):
        fork = multiprocessing.get_context("spawn")
        barrier, results = fork.Barrier(clients + int(scans) + 1), fork.Queue()
        jobs = [(work, client, False) for client in range(clients)] + ([("scan", clients, True)] if scans else [])
        processes = [fork.Process(target=sqlite_client, args=(self.path, name, client, self.size, numbers, self.seconds,
                                                              barrier, results, timed)) for name, client, timed in jobs]
        for process in processes:
            process.start()
        barrier.wait()
        begun = time.perf_counter()
        counted = []
        for number in range(len(processes)):
            counted.append(results.get(timeout=self.seconds + 300))
        elapsed = time.perf_counter() - begun
        for process in processes:
            process.join()
        done = sum(count for count, median in counted if median is None)
        ran = {"done": done, "rate": done / elapsed}
        ran.update({"beside_ms": median for _, median in counted if median is not None})
        return ran

    def lookup_more(self):
        """SQLite without Python's cost per statement: one statement that looks up many ages in its own loop."""
        rows, count = self.size["people"], 50_000
        ages = random.Random(0)
        self.db.execute("CREATE TEMP TABLE wanted (age INTEGER)")
        self.db.executemany("INSERT INTO wanted VALUES (?)", ((ages.randrange(rows // 9 * 10),) for _ in range(count)))
        sql = ("SELECT count(p.id) FROM wanted AS w CROSS JOIN people AS p INDEXED BY people_age "
               "WHERE p.age = w.age AND p.name >= 'name'")
        times = []
        for _ in range(3):
            begun = time.perf_counter()
            found = self.number(sql)
            times.append(time.perf_counter() - begun)
        assert found == self.number(f"SELECT count(*) FROM wanted WHERE age < {rows}")
        self.db.execute("DROP TABLE wanted")
        self.report("lookup_loop", count / statistics.median(times))


# ------------------------------------------------------------------------------------------------------------- the run


def run_weft(program, folder, size, seconds, csv_folder, works, options=()):
    words = [program, "bench", "transactions", "--dir", os.path.join(folder, "db"), "--seconds", str(seconds),
             "--people", str(size["people"]), "--bulk", ",".join(map(str, size["bulk"])), "--csv", csv_folder,
             "--records", str(size["records"]), "--active", ",".join(map(str, size["active"])),
             "--warehouses", str(size["warehouses"]), "--only", ",".join(works), *options]
    result = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)} failed")
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    return {line["name"]: line["value"] for line in lines}


def lines_of(size):
    """Name, what it is, unit, whether more is better."""
    lines = [(f"insert_{n}", f"transactions of 100 new rows, {n} clients", "tx/s", True) for n in (1, 4, 16)]
    lines += [(f"lookup_{n}", f"lookups by an indexed column, {n} clients", "1/s", True) for n in (1, 4, 16)]
    lines += [("lookup_loop", "the same, SQLite in one statement's loop (Weft: 1 client)", "1/s", True)]
    lines += [(f"bulk_{n}", f"load of {n:,} rows with an index (CSV; SQLite: executemany)", "s", False)
              for n in size["bulk"]]
    lines += [(f"bulk_arrow_{n}", f"load of {n:,} rows with an index, Arrow", "s", False) for n in size["bulk"]]
    for active in size["active"]:
        lines += [(f"micro_{active}", f"8 reads + 2 writes, active set {active:,}, 4 clients", "tx/s", True),
                  (f"micro_{active}_scanned", "the same with a scan beside", "tx/s", True),
                  (f"micro_{active}_scan", "that scan: sum over 10 % of the table", "ms", False)]
    lines += [(f"commits_{n}", f"one row per commit, {n} clients", "tx/s", True) for n in (1, 2, 4, 8, 16)]
    lines += [(f"commits_serializable_{n}", f"the same, SERIALIZABLE, {n} clients", "tx/s", True)
              for n in (1, 2, 4, 8, 16)]
    lines += [(f"columns_{n}", f"different columns of 4 rows, {n} clients", "tx/s", True) for n in (1, 2, 4, 8, 16)]
    lines += [(f"orders_{n}", f"TPC-C-like new-order and payment, {n} clients", "tx/s", True) for n in (1, 4, 16)]
    return lines


def ratio(weft, other, more):
    """How many times better Weft is."""
    if not weft or not other:
        return "-"
    return f"{(weft / other if more else other / weft):.2f} ×"


def shown(value):
    return "-" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def aims(medians, size):
    """The aims of the project that this run can tell, with what was seen."""
    weft, postgresql, sqlite = (medians.get(name, {}) for name in ("weft", "postgresql", "sqlite"))
    rows = []

    def add(what, value, other, aim, unit="×"):
        if value and other:
            seen = value / other
            rows.append((what, f"{aim:g} {unit}", f"{seen:.2f} {unit}", "yes" if seen >= aim else "no"))

    add("one row per commit, 16 clients : 1 client", weft.get("commits_16"), weft.get("commits_1"), 4)
    for n in (1, 4, 16):
        add(f"100-row transactions, {n} clients : PostgreSQL", weft.get(f"insert_{n}"), postgresql.get(f"insert_{n}"), 2)
    for n in (1, 2, 4, 8, 16):
        add(f"SERIALIZABLE : READ COMMITTED, {n} clients", weft.get(f"commits_serializable_{n}"),
            weft.get(f"commits_{n}"), 0.5)
    for n in (1, 4, 16):
        add(f"indexed lookups, {n} clients : PostgreSQL", weft.get(f"lookup_{n}"), postgresql.get(f"lookup_{n}"), 10)
    add("indexed lookups, 1 client : SQLite's own loop", weft.get("lookup_1"), sqlite.get("lookup_loop"), 1)
    for n in size["bulk"]:
        add(f"load of {n:,} rows with an index : PostgreSQL", postgresql.get(f"bulk_{n}"), weft.get(f"bulk_{n}"), 5)
    first = size["active"][0]
    add(f"8 reads + 2 writes on {first:,} rows", weft.get(f"micro_{first}"), 1, 15_000, "tx/s")
    scan = weft.get(f"micro_{first}_scan")
    if scan:
        rows.append(("a scan beside them, at most", "2 ms", f"{scan:.2f} ms", "yes" if scan <= 2 else "no"))
    return rows


def markdown(medians, size, facts):
    lines = [f"{facts['scale']} scale, {facts['seconds']} s per rate, median of {facts['rounds']} rounds; × says how many "
             "times better Weft is.", ""]
    lines += [f"- {name}: {facts[name]}" for name in ("date", "cpu", "cpus", "memory", "kernel", "file system", "load",
                                                      "postgresql", "sqlite")]
    lines += ["", "| | unit | Weft | PostgreSQL | SQLite | Weft : PostgreSQL | Weft : SQLite |",
              "|---|---|---:|---:|---:|---:|---:|"]
    for name, what, unit, more in lines_of(size):
        w, p, s = (medians.get(system, {}).get(name) for system in ("weft", "postgresql", "sqlite"))
        if name == "lookup_loop" and s:
            w = medians.get("weft", {}).get("lookup_1")
        if w or p or s:
            what = what.replace(" 1 clients", " 1 client")
            lines.append(f"| {what} | {unit} | {shown(w)} | {shown(p)} | {shown(s)} | {ratio(w, p, more)} | "
                         f"{ratio(w, s, more)} |")
    met = aims(medians, size)
    if met:
        lines += ["", "| aim | wanted, at least | seen | met |", "|---|---:|---:|---|"]
        lines += [f"| {what.replace(' 1 clients', ' 1 client')} | {aim} | {seen} | {yes} |" for what, aim, seen, yes in met]
    return "\n".join(lines) + "\n"


def update_doc(text):
    doc = open(DOC, encoding="utf-8").read()
    begin, end = "<!-- begin: generated by bench/transactions.py --update-doc -->", "<!-- end -->"
    head, rest = doc.split(begin)
    tail = rest.split(end, 1)[1]
    with open(DOC, "w", encoding="utf-8") as file:
        file.write(f"{head}{begin}\n\n{text}\n{end}{tail}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--seconds", type=int, default=None, help="per rate; 1, at paper scale 5")
    parser.add_argument("--weft", default=os.path.join(ROOT, "target", "release", "weft"))
    parser.add_argument("--out", default=os.path.join(HERE, "out"))
    parser.add_argument("--systems", default="weft,postgresql,sqlite")
    parser.add_argument("--only", default=",".join(WORKS))
    parser.add_argument("--update-doc", action="store_true", help="write the table into docs/benchmarks/transactions.md")
    args = parser.parse_args()
    works = args.only.split(",")
    if not set(works) <= set(WORKS):
        parser.error(f"--only takes {','.join(WORKS)}")
    systems = args.systems.split(",")
    size = SCALES[args.scale]
    seconds = args.seconds or (5 if args.scale == "paper" else 1)
    top = tempfile.mkdtemp(prefix="weft-transactions-")
    os.chmod(top, 0o755)
    files = {}

    def csv(rows):
        if rows not in files:
            files[rows] = write_csv(top, rows)
        return files[rows]

    results = {system: [] for system in systems}
    server = None
    try:
        facts = {"scale": args.scale, "seconds": seconds, "rounds": args.rounds, "sqlite": sqlite3.sqlite_version,
                 "postgresql": "not run", **machine.facts(top)}
        facts["load"] = f"{os.getloadavg()[0]:.2f} before the run"
        for rows in {*(size["bulk"] if "bulk" in works else []), *([size["people"]] if "lookup" in works else [])}:
            csv(rows)
        if "postgresql" in systems:
            folder = os.path.join(top, "pg")
            os.mkdir(folder)
            server = Server(folder)
            settings = ", ".join(f"{name} {value}" for name, value in server.settings.items())
            facts["postgresql"] = f"{server.version} ({settings})"
        for number in range(args.rounds):
            for system in systems:
                folder = tempfile.mkdtemp(dir=top)
                begun = time.perf_counter()
                if system == "weft":
                    measured = run_weft(args.weft, folder, size, seconds, top, works)
                elif system == "postgresql":
                    measured = PostgreSQL(server, size, seconds, csv).run(works)
                else:
                    measured = SQLite(folder, size, seconds, csv).run(works)
                shutil.rmtree(folder, ignore_errors=True)
                results[system].append(measured)
                print(f"round {number + 1}: {system}, {time.perf_counter() - begun:.0f} s",
                      json.dumps({k: round(v, 4) for k, v in measured.items()}), flush=True)
        facts["load"] += f", {os.getloadavg()[0]:.2f} after it (its own included)"
    finally:
        if server:
            server.stop()
        shutil.rmtree(top, ignore_errors=True)
    medians = {
        system: {name: statistics.median(run[name] for run in runs if name in run)
                 for name in {name: None for run in runs for name in run}}
        for system, runs in results.items()
    }
    os.makedirs(args.out, exist_ok=True)
    text = markdown(medians, size, facts)
    with open(os.path.join(args.out, "transactions.json"), "w", encoding="utf-8") as file:
        json.dump({**facts, "runs": results, "medians": medians}, file, indent=1)
    with open(os.path.join(args.out, "transactions.md"), "w", encoding="utf-8") as file:
        file.write(text)
    if args.update_doc:
        update_doc(text)
    print(text)


if __name__ == "__main__":
    main()
