#!/usr/bin/env python3
"""What a console and an application send all day: `\\d t`, SELECT version(), point statements; beside PostgreSQL 15, in one run.

    python3 bench/small.py [--rounds 5] [--tables 10,2000] [--weft target/release/weft] [--old OTHER_WEFT] [--update-doc]

The queries of `\\d t` are those that the installed psql sends (`psql -E`), for ten tables in turn. Warm: 200 of them on one
connection. Cold: the first one after the server has started. `--old` names another build of Weft that runs in turn with the
first one: `SELECT version()`, point statements by prepared statements, and pgbench's select-only and TPC-B with one client;
the ratio is the median of the ratios of the rounds.

Needs PostgreSQL's server, psql, pgbench and libpq (Debian: apt install postgresql-15).
"""

import argparse
import ctypes
import ctypes.util
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import machine
from pgbench import PostgreSQL, Weft, program, rate

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
DOC = os.path.join(ROOT, "docs", "benchmarks", "small.md")
TABLE = ("CREATE TABLE t{0} (id bigint PRIMARY KEY, name text NOT NULL, amount numeric(10,2) DEFAULT 0 CHECK (amount >= 0));"
         "CREATE INDEX t{0}_name ON t{0} (name);")
POINT = {
    "point SELECT": ("SELECT name, amount FROM t1 WHERE id = $1", lambda place: [place % 1000]),
    "point UPDATE": ("UPDATE t1 SET amount = amount + 1 WHERE id = $1", lambda place: [place % 1000]),
    "INSERT": ("INSERT INTO t2 (id, name) VALUES ($1, 'x')", lambda place: [place]),
    "DELETE": ("DELETE FROM t2 WHERE id = $1", lambda place: [place]),
}


class Libpq:
    """One connection; what it is sent is answered, or the run ends."""

    lib = None

    def __init__(self, environment):
        if Libpq.lib is None:
            lib = ctypes.CDLL(ctypes.util.find_library("pq") or sys.exit("libpq is missing"))
            for name in ("PQconnectdb", "PQexec", "PQprepare", "PQexecPrepared"):
                getattr(lib, name).restype = ctypes.c_void_p
            lib.PQerrorMessage.restype = ctypes.c_char_p
            Libpq.lib = lib
        words = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE"}
        text = " ".join(f"{word}={environment[name]}" for word, name in words.items() if name in environment)
        self.link = ctypes.c_void_p(self.lib.PQconnectdb(text.encode()))
        assert Libpq.lib.PQstatus(self.link) == 0, Libpq.lib.PQerrorMessage(self.link)

    def _take(self, result):
        result = ctypes.c_void_p(result)
        assert self.lib.PQresultStatus(result) in (1, 2), self.lib.PQerrorMessage(self.link)
        self.lib.PQclear(result)

    def query(self, text):
        self._take(self.lib.PQexec(self.link, text))

    def prepare(self, name, text):
        self._take(self.lib.PQprepare(self.link, name, text, 0, None))

    def execute(self, name, values):
        words = (ctypes.c_char_p * len(values))(*[str(value).encode() for value in values])
        self._take(self.lib.PQexecPrepared(self.link, name, len(values), words, None, None, 0))

    def close(self):
        self.lib.PQfinish(self.link)


def milliseconds(work):
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def queries_of(system, table):
    """What psql sends for `\\d table`."""
    out = program(system, "psql", "-X", "-E", "-c", f"\\d {table}")
    found = re.findall(r"\*+ QUERY \*+\n(.*?)\n\*+\n", out, re.S)
    assert len(found) > 3, out
    return [text.encode() for text in found]


def described(kind, weft, tables, rounds):
    """`\\d t` with so many tables, ms: cold ones, warm ones; SELECT version(), µs."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        system = kind(weft, folder)
        try:
            schema = os.path.join(folder, "schema.sql")
            with open(schema, "w", encoding="ascii") as file:
                # PostgreSQL has room for the locks of so many tables of one transaction.
                for first in range(0, tables, 200):
                    made = "\n".join(TABLE.format(number) for number in range(first, min(first + 200, tables)))
                    file.write(f"BEGIN;\n{made}\nCOMMIT;\n")
            program(system, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", schema)
            texts = [queries_of(system, f"t{number * tables // 10}") for number in range(10)]
            cold = []
            for number in range(rounds):
                restart(system, weft, folder)
                link = Libpq(system.environment)
                cold.append(milliseconds(lambda: [link.query(text) for text in texts[number % 10]]))
                link.close()
            link = Libpq(system.environment)
            warm = [milliseconds(lambda: [link.query(text) for text in texts[place % 10]]) for place in range(210)][10:]
            versions = [milliseconds(lambda: link.query(b"SELECT version()")) * 1000 for _ in range(3000)][1000:]
            link.close()
            return cold, warm, versions
        finally:
            system.stop()


def restart(system, weft, folder):
    if isinstance(system, Weft):
        system.stop()
        system.__init__(weft, folder)
    else:
        server = system.server
        server.program("pg_ctl", "restart", "-w", "-m", "fast", "-D", server.data, "-l", os.path.join(folder, "log"))


def point_rates(weft, seconds):
    """Statements of one build: the median time of each, µs; pgbench's rates."""
    with tempfile.TemporaryDirectory() as folder:
        system = Weft(weft, folder)
        try:
            fill = "INSERT INTO t1 SELECT i, 'n' || i, i FROM generate_series(0, 999) AS s(i)"
            for text in (TABLE.format(1), TABLE.format(2), fill):
                program(system, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", text)
            link = Libpq(system.environment)
            found = {"SELECT version()": [milliseconds(lambda: link.query(b"SELECT version()")) for _ in range(3000)]}
            for name, (text, values) in POINT.items():
                link.prepare(name.encode(), text.encode())
                times = [milliseconds(lambda: link.execute(name.encode(), values(place))) for place in range(3000)]
                found[name] = times
            link.close()
            found = {name: statistics.median(times[1000:]) * 1000 for name, times in found.items()}
            program(system, "pgbench", "-i", "-q", "-s", "1")
            found["pgbench select-only"] = 1e6 / rate(system, ["-S"], 1, seconds)
            found["pgbench TPC-B"] = 1e6 / rate(system, [], 1, seconds)
            return found
        finally:
            system.stop()


def quantile(values, part):
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


def catalog_lines(args):
    lines = ["| | tables | cold p50 ms | cold worst ms | warm p50 ms | warm p95 ms | warm worst ms | SELECT version() p50 µs |",
             "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for tables in (int(word) for word in args.tables.split(",")):
        for kind in (Weft, PostgreSQL):
            cold, warm, versions = described(kind, args.weft, tables, args.rounds)
            numbers = [statistics.median(cold), max(cold), statistics.median(warm), quantile(warm, 0.95), max(warm)]
            shown = " | ".join(f"{number:.2f}" for number in numbers)
            lines.append(f"| {kind.name} | {tables:,} | {shown} | {statistics.median(versions):.0f} |")
            print(lines[-1], flush=True)
    return lines


def old_lines(args):
    kept = tempfile.mkdtemp()
    try:
        # A build may be replaced while this runs.
        programs = {name: shutil.copy(path, os.path.join(kept, name)) for name, path in (("new", args.weft), ("old", args.old))}
        rounds = {name: [] for name in programs}
        for number in range(args.rounds):
            for name in sorted(programs, reverse=number % 2 == 1):
                rounds[name].append(point_rates(programs[name], args.seconds))
                print(f"round {number + 1}, {name}: {rounds[name][-1]}", flush=True)
    finally:
        shutil.rmtree(kept)
    lines = ["", "| median time, µs | this build | the other one | this : other | range of the ratio |", "|---|---:|---:|---:|---|"]
    for name in rounds["new"][0]:
        new, old = ([found[name] for found in rounds[which]] for which in ("new", "old"))
        ratios = [mine / its for mine, its in zip(new, old)]
        lines.append(f"| {name} | {statistics.median(new):.1f} | {statistics.median(old):.1f} | {statistics.median(ratios):.2f} × |"
                     f" {min(ratios):.2f} to {max(ratios):.2f} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tables", default="10,2000")
    parser.add_argument("--seconds", type=int, default=4, help="of each of pgbench's rates")
    parser.add_argument("--weft", default=os.path.join(ROOT, "target", "release", "weft"))
    parser.add_argument("--old", help="another build of Weft to run in turn with this one")
    parser.add_argument("--update-doc", action="store_true", help="write the tables into docs/benchmarks/small.md")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = [f"- {name}: {value}" for name, value in machine.facts(folder).items()] + [""]
    lines += catalog_lines(args) if args.tables else []
    lines += old_lines(args) if args.old else []
    text = "\n".join(lines) + "\n"
    print(text)
    if args.update_doc:
        machine.write_between(DOC, "small.py", text)


if __name__ == "__main__":
    main()
