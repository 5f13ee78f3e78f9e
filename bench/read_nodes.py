#!/usr/bin/env python3
"""How far read nodes are behind their writer, what they cost it, and how fast they join.

    python3 bench/read_nodes.py [--weft target/release/weft] [--nodes 2] [--seconds 20] [--scale 10] [--connection] [--json]

A server and nodes that follow it, as processes on one machine. pgbench (TPC-B, `--scale`) makes the database and the
load. Visibility: a connection commits a number on the writer, and asks a node for it again and again from the moment
of the acknowledgement; the delay ends when the answer has it, so it has the time of one query in it. Cost: processor
time of the writer per transaction, without announcing, with it, and with nodes that follow, in turns. Joining: from
the start of the process until a node answers. With `--connection` each node has a directory of its own, and the server
feeds it over a connection.
"""

import argparse
import json
import os
import re
import shutil
import socket
import statistics
import struct
import subprocess
import tempfile
import threading
import time


class Connection:
    """As much of PostgreSQL's protocol as simple queries need, without a password."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        body = struct.pack("!i", 196608) + b"user\0weft\0database\0weft\0\0"
        self.socket.sendall(struct.pack("!i", len(body) + 4) + body)
        self.rows()

    def rows(self):
        """The rows until the server is ready; an error is raised."""
        rows, error = [], None
        while True:
            tag, length = struct.unpack("!ci", self.file.read(5))
            body = self.file.read(length - 4)
            if tag == b"E":
                error = body
            elif tag == b"D":
                at, row = 2, []
                for _ in range(struct.unpack("!h", body[:2])[0]):
                    (size,) = struct.unpack("!i", body[at : at + 4])
                    row.append(None if size < 0 else body[at + 4 : at + 4 + size].decode())
                    at += 4 + max(size, 0)
                rows.append(row)
            elif tag == b"Z":
                if error:
                    raise RuntimeError(error.replace(b"\0", b" ").decode())
                return rows

    def query(self, sql):
        text = sql.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", len(text) + 4) + text)
        return self.rows()


class Process:
    """A server or a node."""

    def __init__(self, weft, directory, *options):
        begun = time.monotonic()
        words = [weft, "serve", directory, "--listen", "127.0.0.1:0", "--auth", "trust", "--log-level", "error", *options]
        self.child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        for line in self.child.stdout:
            if found := re.match(r"listening on 127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
            if line.strip() == "ready":
                break
        Connection(self.port).query("SELECT 1")
        self.ready_seconds = time.monotonic() - begun

    def cpu(self):
        """Seconds of processor time so far."""
        fields = open(f"/proc/{self.child.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.child.terminate()
        self.child.wait()


def node_of(arguments, writer, directory, number):
    """A node of a server: over its directory, or with a directory of its own over a connection."""
    name = ["--node-name", f"n{number}"]
    if arguments.connection:
        url = f"postgres://weft@127.0.0.1:{writer.port}/weft?sslmode=disable"
        return Process(arguments.weft, f"{directory}-{number}", "--follow", url, *name)
    return Process(arguments.weft, directory, "--follow", *name)


def pgbench(port, *options):
    words = ["pgbench", "-h", "127.0.0.1", "-p", str(port), "-U", "weft", *options, "weft"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return done.stdout


def percentiles(values):
    values = sorted(values)
    at = lambda part: round(1000 * values[min(len(values) - 1, int(len(values) * part))], 2)
    return {"count": len(values), "p50_ms": at(0.5), "p99_ms": at(0.99), "p99.9_ms": at(0.999), "max_ms": at(1)}


def delays(writer, node, seconds):
    """Seconds from the acknowledgement until the node shows the commit."""
    there, here = Connection(writer.port), Connection(node.port)
    there.query("CREATE TABLE IF NOT EXISTS seen (id int PRIMARY KEY, v bigint)")
    there.query("INSERT INTO seen VALUES (1, 0) ON CONFLICT (id) DO NOTHING")
    token = there.query("SELECT weft_published_commit()")[0][0]
    here.query(f"SET freshness_token = '{token}'; SET freshness_timeout = '60s'; SELECT v FROM seen")
    here.query("RESET freshness_token; SET freshness = 'none'")
    found, number, end = [], int(there.query("SELECT v FROM seen")[0][0]), time.monotonic() + seconds
    while time.monotonic() < end:
        number += 1
        there.query(f"UPDATE seen SET v = {number} WHERE id = 1")
        acknowledged = time.monotonic()
        while int(here.query("SELECT v FROM seen WHERE id = 1")[0][0]) < number:
            pass
        found.append(time.monotonic() - acknowledged)
        time.sleep(0.002)
    return found


def latest(writer, node, seconds):
    """Seconds that a query for the latest takes on a node."""
    here = Connection(node.port)
    here.query("SET freshness = 'latest'")
    found, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        here.query("SELECT v FROM seen WHERE id = 1")
        found.append(time.monotonic() - begun)
        time.sleep(0.002)
    return found


def under_load(arguments, writer, run):
    load = threading.Thread(
        target=pgbench,
        args=(writer.port, "-n", "-c", str(arguments.clients), "-M", "prepared", "-T", str(arguments.seconds + 2)),
    )
    load.start()
    time.sleep(1)
    try:
        return run()
    finally:
        load.join()


def cost(arguments, directory):
    """Processor time of the writer per transaction, and transactions per second, by what is on."""
    kinds = {"nodes off": (["--nodes", "off"], 0), "nodes on": ([], 0), "two nodes": ([], arguments.nodes)}
    found = {kind: [] for kind in kinds}
    for _ in range(arguments.rounds):
        for kind, (options, count) in kinds.items():
            writer = Process(arguments.weft, directory, *options)
            nodes = [node_of(arguments, writer, directory, n) for n in range(count)]
            before = writer.cpu()
            out = pgbench(
                writer.port, "-n", "-c", str(arguments.clients), "-M", "prepared", "-T", str(arguments.seconds)
            )
            used = writer.cpu() - before
            transactions = int(re.search(r"processed: (\d+)", out)[1])
            found[kind].append((1e6 * used / transactions, transactions / arguments.seconds))
            for process in [*nodes, writer]:
                process.end()
    return {
        kind: {
            "writer_cpu_us_per_transaction": round(statistics.median(cpu for cpu, _ in runs), 1),
            "transactions_per_second": round(statistics.median(rate for _, rate in runs), 1),
        }
        for kind, runs in found.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default="target/release/weft")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--scale", type=int, default=10)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connection", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    scratch = tempfile.mkdtemp()
    directory = os.path.join(scratch, "db")
    found = {}
    try:
        writer = Process(arguments.weft, directory)
        pgbench(writer.port, "-i", "-q", "-s", str(arguments.scale))
        nodes = [node_of(arguments, writer, directory, n) for n in range(arguments.nodes)]
        found["join_seconds"] = [round(node.ready_seconds, 2) for node in nodes]
        found["visible, idle"] = percentiles(delays(writer, nodes[0], arguments.seconds))
        if not arguments.connection:
            found["latest, idle"] = percentiles(latest(writer, nodes[0], arguments.seconds / 4))
        run = lambda: delays(writer, nodes[0], arguments.seconds)
        found["visible, load"] = percentiles(under_load(arguments, writer, run))
        if not arguments.connection:
            run = lambda: latest(writer, nodes[0], arguments.seconds)
            found["latest, load"] = percentiles(under_load(arguments, writer, run))
        for process in [*nodes, writer]:
            process.end()
        found["cost"] = cost(arguments, directory)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if arguments.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name}: {value}")


if __name__ == "__main__":
    main()
