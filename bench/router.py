#!/usr/bin/env python3
"""What the router costs: the latency of pgbench at the writer, at a node, and through `weft route`.

    python3 bench/router.py [--weft target/release/weft] [--seconds 5] [--rounds 3] [--scale 1]

A server, two nodes that follow it, and the router, as processes on one machine, all on loopback without TLS. In each
round each load runs at each of the three places, one after the other, so that what else the machine does meets all of
them. Told are medians over the rounds, as multiples of the latency at the writer.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile

from read_nodes import Process, pgbench

LOADS = {
    "pgbench -S, 1 client, simple": ("-S", "-c", "1", "-M", "simple"),
    "pgbench -S, 1 client, prepared": ("-S", "-c", "1", "-M", "prepared"),
    "pgbench -S, 4 clients, prepared": ("-S", "-c", "4", "-j", "2", "-M", "prepared"),
    "pgbench (TPC-B), 4 clients, prepared": ("-c", "4", "-j", "2", "-M", "prepared"),
    "a write, then a read of it, 1 client": ("-f", "{mixed}", "-c", "1", "-M", "prepared"),
}
MIXED = """\\set aid random(1, 100000)
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""


class Router:
    def __init__(self, weft, writer, nodes):
        words = [weft, "route", "--auth", "trust", "--tls", "off", "--server-tls", "disable", "--log-level", "error"]
        words += ["--listen", "127.0.0.1:0", "--writer", f"127.0.0.1:{writer.port}"]
        for node in nodes:
            words += ["--node", f"127.0.0.1:{node.port}"]
        self.child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        for line in self.child.stdout:
            if found := re.match(r"listening on 127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
            if line.strip() == "ready":
                break

    def end(self):
        self.child.terminate()
        self.child.wait()


def latency(port, words, seconds):
    told = pgbench(port, "-n", "-T", str(seconds), *words)
    return float(re.search(r"latency average = ([\d.]+) ms", told)[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weft", default="target/release/weft")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=int, default=1)
    arguments = parser.parse_args()
    os.environ["PGSSLMODE"] = "disable"
    with tempfile.TemporaryDirectory() as folder:
        mixed = os.path.join(folder, "mixed.sql")
        with open(mixed, "w") as file:
            file.write(MIXED)
        db = os.path.join(folder, "db")
        writer = Process(arguments.weft, db)
        nodes = [Process(arguments.weft, db, "--follow", "--node-name", name) for name in "ab"]
        router = Router(arguments.weft, writer, nodes)
        pgbench(writer.port, "-i", "-I", "dtgp", "-q", "-s", str(arguments.scale))
        places = {"writer": writer.port, "node": nodes[0].port, "router": router.port}
        print("| | at a node | through the router |\n|---|---:|---:|")
        for load, words in LOADS.items():
            words = [word.format(mixed=mixed) for word in words]
            found = {place: [] for place in places}
            for _ in range(arguments.rounds):
                for place, port in places.items():
                    if place != "node" or "-S" in words:
                        found[place].append(latency(port, words, arguments.seconds))
            at = {place: statistics.median(values) for place, values in found.items() if values}
            times = lambda place: f"{at[place] / at['writer']:.2f} ×" if place in at else "—"
            print(f"| {load} | {times('node')} | {times('router')} |", flush=True)
        for process in (router, *nodes, writer):
            process.end()


if __name__ == "__main__":
    main()
