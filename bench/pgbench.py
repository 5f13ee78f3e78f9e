#!/usr/bin/env python3
"""Weft's server beside PostgreSQL 15 under pgbench, in one run, both durable, each over a unix socket.

    python3 bench/pgbench.py [--rounds 3] [--scale 10] [--seconds 10] [--weft target/release/weft] [--update-doc]

For each system: `pgbench -i -s SCALE`, then select-only and TPC-B with prepared statements, 1 and 8 clients, and select-only with one
client, quiet and while another loops TPC-H query 1 at scale 1 (`--tpch`) over `lineitem`, which `cargo run --release --example
tpch_csv` makes. After each round the sums that TPC-B's tables must satisfy are tested. The table has the median of the rounds.

Needs PostgreSQL's server and pgbench (Debian: apt install postgresql-15).
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading

import machine
from transactions import Server

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
DOC = os.path.join(ROOT, "docs", "benchmarks", "server.md")
RATES = [("select-only, 1 client", ["-S"], 1), ("select-only, 8 clients", ["-S"], 8), ("TPC-B, 1 client", [], 1),
         ("TPC-B, 8 clients", [], 8)]
AIMS = {"select-only, 1 client": 1.0, "select-only, 8 clients": 1.0, "TPC-B, 1 client": 1.0, "TPC-B, 8 clients": 1.5}
SUMS = ("SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)"
        " AND (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(bbalance) FROM pgbench_branches)")
TPCH = os.path.join(ROOT, "tests", "tpch")


class Weft:
    """`weft serve` on a directory of its own."""

    name = "Weft"

    def __init__(self, program, folder, *more, log=None):
        words = [program, "serve", os.path.join(folder, "db"), "--listen", "127.0.0.1:0", "--socket-dir", folder,
                 "--auth", "trust", "--tls", "off", *more]
        self.child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
        self.environment = {**os.environ, "PGHOST": folder, "PGUSER": "weft", "PGDATABASE": "weft"}
        for line in self.child.stdout:
            if found := re.match(r"listening on 127\.0\.0\.1:(\d+)", line):
                self.environment["PGPORT"] = found[1]
            if line == "ready\n":
                return
        sys.exit("weft serve ended before it was ready")

    def stop(self):
        self.child.terminate()
        assert self.child.wait(60) == 0, "the server ends with 0"


class PostgreSQL:
    """A PostgreSQL of its own."""

    name = "PostgreSQL"

    def __init__(self, _, folder):
        self.server = Server(folder)
        self.server.sql("postgres", "CREATE DATABASE bench")
        self.environment = {**os.environ, "PGHOST": folder, "PGUSER": "bench", "PGDATABASE": "bench"}

    def stop(self):
        self.server.stop()


def program(system, *words):
    result = subprocess.run(words, env=system.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{system.name}: {' '.join(words)} failed:\n{result.stderr}")
    return result.stdout


def rate(system, words, clients, seconds, log=None):
    threads = str(min(clients, 2))
    more = ["-l", "--log-prefix", log] if log else []
    out = program(system, "pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", threads, "-T", str(seconds), *more, *words)
    if failed := re.search(r"number of failed transactions: ([1-9]\d*)", out):
        raise RuntimeError(f"{system.name}: {failed[0]}")
    return float(re.search(r"tps = ([\d.]+)", out)[1])


def p99(prefix):
    """The 99th percentile of the latencies in pgbench's logs, ms."""
    folder, name = os.path.split(prefix)
    micros = []
    for file in os.listdir(folder):
        if file.startswith(name):
            with open(os.path.join(folder, file), encoding="utf-8") as lines:
                micros += [int(line.split()[2]) for line in lines]
    return statistics.quantiles(micros, n=100)[98] / 1000


def make_lineitem(folder, scale):
    """TPC-H's lineitem as a CSV file; the name of the file."""
    file = os.path.join(folder, "lineitem.csv")
    with open(file, "wb") as out:
        words = ["cargo", "run", "--release", "-q", "-p", "weft", "--example", "tpch_csv", "--", str(scale)]
        subprocess.run(words, cwd=ROOT, stdout=out, check=True)
    return file


def load_lineitem(system, file):
    with open(os.path.join(TPCH, "schema.sql"), encoding="utf-8") as text:
        table = re.search(r"create table lineitem .*?;", text.read(), re.S)[0]
    program(system, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", table, "-c", f"\\copy lineitem FROM '{file}' (FORMAT csv)",
            "-c", "VACUUM ANALYZE lineitem")


def stalls(system, folder, seconds):
    """p99 of point selects, quiet and beside a loop of TPC-H's query 1, ms; how many queries that were."""
    quiet = os.path.join(folder, "quiet")
    rate(system, ["-S"], 1, seconds, quiet)
    stop, queries = threading.Event(), [0]

    def loop():
        while not stop.is_set():
            program(system, "psql", "-X", "-q", "-f", os.path.join(TPCH, "q01.sql"))
            queries[0] += 1

    beside = os.path.join(folder, "beside")
    thread = threading.Thread(target=loop)
    thread.start()
    try:
        rate(system, ["-S"], 1, seconds, beside)
    finally:
        stop.set()
        thread.join()
    return p99(quiet), p99(beside), queries[0]


def round_of(kind, weft, scale, seconds, lineitem):
    with tempfile.TemporaryDirectory() as folder:
        system = kind(weft, folder)
        try:
            program(system, "pgbench", "-i", "-q", "-s", str(scale))
            found = {name: rate(system, words, clients, seconds) for name, words, clients in RATES}
            assert program(system, "psql", "-X", "-A", "-t", "-c", SUMS).strip() == "t", f"{system.name}: the sums differ"
            load_lineitem(system, lineitem)
            logs = os.path.join(folder, "logs")
            os.mkdir(logs)
            found["p99"] = stalls(system, logs, seconds)
            return found
        finally:
            system.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--tpch", type=float, default=1, help="scale of the table that query 1 reads")
    parser.add_argument("--weft", default=os.path.join(ROOT, "target", "release", "weft"))
    parser.add_argument("--update-doc", action="store_true", help="write the table into docs/benchmarks/server.md")
    args = parser.parse_args()
    rounds = {kind: [] for kind in (Weft, PostgreSQL)}
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        lineitem = make_lineitem(folder, args.tpch)
        for number in range(args.rounds):
            for kind, results in rounds.items():
                results.append(round_of(kind, args.weft, args.scale, args.seconds, lineitem))
                print(f"round {number + 1}, {kind.name}: {results[-1]}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        lines = [f"pgbench scale {args.scale}, {args.seconds} s per rate, lineitem at scale {args.tpch:g}, median of {args.rounds} rounds.", ""]
        lines += [f"- {name}: {value}" for name, value in machine.facts(folder).items()]
    lines += ["", "| transactions per second | Weft | PostgreSQL | Weft : PostgreSQL | aim | met |", "|---|---:|---:|---:|---:|---|"]
    for name, *_ in RATES:
        weft, other = (statistics.median(result[name] for result in rounds[kind]) for kind in (Weft, PostgreSQL))
        aim = AIMS[name]
        met = "yes" if weft / other >= aim else "no"
        lines.append(f"| {name} | {weft:,.0f} | {other:,.0f} | {weft / other:.2f} × | {aim} × | {met} |")
    lines += ["", "| point selects, one client | quiet, p99 ms | beside a loop of TPC-H query 1, p99 ms | × | queries |",
              "|---|---:|---:|---:|---:|"]
    for kind, results in rounds.items():
        quiet, beside, queries = (statistics.median(result["p99"][place] for result in results) for place in range(3))
        lines.append(f"| {kind.name} | {quiet:.3f} | {beside:.3f} | {beside / quiet:.1f} × | {queries:.0f} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if args.update_doc:
        machine.write_between(DOC, "pgbench.py", text)


if __name__ == "__main__":
    main()
