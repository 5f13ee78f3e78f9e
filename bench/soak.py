#!/usr/bin/env python3
"""An hour of Weft's server under its memory limit: does resident memory grow?

    python3 bench/soak.py [--seconds 3600] [--window 60] [--rows 1000000] [--memory-limit 768MB] [--weft target/release/weft]

`weft serve` has a table that keeps its size. One pgbench writes (UPDATE, upsert, and DELETE with INSERT of the same key in one
transaction), another reads (a sum over 10,000 keys, a GROUP BY of all rows, a join), both as fast as they can. Clients are processes of
their own, so the server's resident memory is the server's alone. Once in a window the host is probed: a loop of additions and a sync of
4 KiB, so that a slow host is not taken for a slow engine. At the end: least squares over the last two thirds of the windows, of the
most and of the least memory in each; the wanted slope is 1 MB per hour at most. The most has the queries of the moment in it, which
scatters by several MB from window to window; the least is what stays.

Needs pgbench and psql (Debian: apt install postgresql).
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

from pgbench import ROOT, Weft, program

TABLES = """
CREATE TABLE soak (id bigint PRIMARY KEY, kind integer NOT NULL, amount bigint NOT NULL, note text NOT NULL);
CREATE TABLE kinds (kind integer PRIMARY KEY, name text NOT NULL);
INSERT INTO soak SELECT i, i % 1000, i * 7 % 10007, 'note ' || i % 5003 FROM generate_series(1, {rows}) AS g(i);
INSERT INTO kinds SELECT i, 'kind ' || i FROM generate_series(0, 999) AS g(i);
CREATE INDEX ON soak (kind);
"""
WRITES = {
    "update": "UPDATE soak SET amount = amount + 1, note = 'note ' || :r WHERE id = :k;",
    "upsert": "INSERT INTO soak VALUES (:k, :r % 1000, :r, 'note ' || :r) ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, "
              "amount = excluded.amount;",
    "replace": "BEGIN;\nDELETE FROM soak WHERE id = :k;\nINSERT INTO soak VALUES (:k, :r % 1000, :r, 'note ' || :r) "
               "ON CONFLICT (id) DO NOTHING;\nCOMMIT;",
}
READS = {
    "range": "SELECT sum(amount) FROM soak WHERE id >= :k AND id < :k + 10000;",
    "groups": "SELECT kind, count(*), sum(amount) FROM soak GROUP BY kind ORDER BY 2 DESC LIMIT 10;",
    "join": "SELECT k.name, max(s.amount) FROM soak s JOIN kinds k ON k.kind = s.kind WHERE s.kind < 50 GROUP BY k.name;",
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.path.join(ROOT, "target", "release", "weft"))
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--window", type=int, default=60)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--memory-limit", default="768MB")
    return parser.parse_args()


def resident_mb(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def client(system, folder, name, statements, args):
    """A pgbench that runs these in turn at random; its log has a line for each transaction."""
    words = []
    for statement, text in statements.items():
        path = os.path.join(folder, f"{statement}.sql")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"\\set k random(1, {args.rows})\n\\set r random(1, 1000000)\n{text}\n")
        words += ["-f", path]
    log = os.path.join(folder, name)
    command = ["pgbench", "-n", "-M", "prepared", "-c", "1", "-T", str(args.seconds), "-l", "--log-prefix", log, *words]
    return subprocess.Popen(command, env=system.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Probe:
    """How fast the host is: microseconds of a loop, and of a sync."""

    def __init__(self, folder):
        self.file = open(os.path.join(folder, "probe"), "wb")

    def look(self):
        begun = time.perf_counter()
        sum(range(200_000))
        spun = time.perf_counter()
        self.file.seek(0)
        self.file.write(bytes(4096))
        self.file.flush()
        os.fdatasync(self.file.fileno())
        return (spun - begun) * 1e6, (time.perf_counter() - spun) * 1e6


def latencies(folder, name, begun, window):
    """By window: how many transactions, and their median and p99 in milliseconds."""
    windows = {}
    for file in os.listdir(folder):
        if file.startswith(f"{name}."):
            with open(os.path.join(folder, file), encoding="ascii") as lines:
                for line in lines:
                    fields = line.split()
                    at = int((int(fields[4]) + int(fields[5]) / 1e6 - begun) // window)
                    windows.setdefault(at, []).append(int(fields[2]) / 1000)
    cut = {at: statistics.quantiles(times, n=100) for at, times in windows.items() if len(times) > 1}
    return {at: (len(windows[at]), quantiles[49], quantiles[98]) for at, quantiles in cut.items()}


def slope_mb_per_hour(points):
    points = [(x / 3600, y) for x, y in points if x >= points[-1][0] / 3]
    mean_x, mean_y = (statistics.fmean(values) for values in zip(*points))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def soak(args, folder):
    system = Weft(args.weft, folder, "--memory-limit", args.memory_limit)
    try:
        script = os.path.join(folder, "tables.sql")
        with open(script, "w", encoding="ascii") as file:
            file.write(TABLES.format(rows=args.rows))
        program(system, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", script)
        probe, begun, windows = Probe(folder), time.time(), []
        clients = [client(system, folder, name, statements, args) for name, statements in (("writes", WRITES), ("reads", READS))]
        while all(one.poll() is None for one in clients):
            at = int((time.time() - begun) // args.window)
            resident = resident_mb(system.child)
            if len(windows) <= at:
                windows.append([resident, *probe.look(), resident])
            windows[-1][0], windows[-1][3] = max(windows[-1][0], resident), min(windows[-1][3], resident)
            time.sleep(1)
        for one in clients:
            out, error = one.communicate()
            if one.returncode != 0:
                sys.exit(f"pgbench ended with {one.returncode}:\n{out}\n{error}")
        count = program(system, "psql", "-X", "-A", "-t", "-c", "SELECT count(*) FROM soak").strip()
        if int(count) != args.rows:
            sys.exit(f"the table has {count} rows instead of {args.rows}")
    finally:
        system.stop()
    return windows, [latencies(folder, name, begun, args.window) for name in ("writes", "reads")]


def main():
    args = arguments()
    with tempfile.TemporaryDirectory(prefix="weft-soak-") as folder:
        windows, (writes, reads) = soak(args, folder)
    whole = max(args.seconds // args.window, 1)
    print("| minute | resident: most, least, MB | writes/s | p50, p99 ms | reads/s | p50, p99 ms | host: loop, sync µs |\n|---:|---:|---:|---:|---:|---:|---:|")
    for at, (most, spin, sync, least) in enumerate(windows[:whole]):
        columns = [f"{at * args.window / 60:.1f}", f"{most:.1f}, {least:.1f}"]
        for kind in (writes, reads):
            count, median, p99 = kind.get(at, (0, 0.0, 0.0))
            columns += [f"{count / args.window:,.0f}", f"{median:.2f}, {p99:.2f}"]
        print("| " + " | ".join([*columns, f"{spin:.0f}, {sync:.0f}"]) + " |")
    slopes = [slope_mb_per_hour([(at * args.window, window[of]) for at, window in enumerate(windows[:whole])]) for of in (0, 3)]
    most = max(window[0] for window in windows)
    print(f"\nresident memory: most {most:.0f} MB of {args.memory_limit}; slope over the last two thirds {slopes[0]:+.2f} MB/h of the most, "
          f"{slopes[1]:+.2f} MB/h of the least (wanted: 1 at most: {'yes' if slopes[1] <= 1 else 'no'})")


if __name__ == "__main__":
    main()
