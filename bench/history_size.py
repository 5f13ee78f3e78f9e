#!/usr/bin/env python3
"""A long history in little memory: load, AS OF scans, one row's history, and the most memory that the server took.

    python3 bench/history_size.py [--rows 1000000] [--rounds 99] [--memory-limit 512MB] [--chunk 10000]
        [--weft target/release/weft] [--folder DIR] [--update-doc]

`weft serve` on a `lineage` table of ten columns that promises all its history. After a COPY of all rows, each round updates two of the
columns of every row, in statements of `--chunk` rows, so that the table has ROWS x (ROUNDS + 1) versions in the end. Then the sum of a column
is asked as of some rounds and compared with what was written, and the history of single rows. Memory is the most that the process had
resident (VmHWM of Linux), which includes the program itself; the file is the size of the directory when it is at rest.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import machine
from pgbench import Weft

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
DOC = os.path.join(ROOT, "docs", "benchmarks", "lineage.md")
BEGIN, END = "<!-- history size: begin -->", "<!-- history size: end -->"
COLUMNS = 10


def psql(server, text, tuples=True):
    """What statements print; it stops at the first error."""
    words = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *(["-A", "-t"] if tuples else [])]
    done = subprocess.run(words, input=text, env=server.environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"psql failed: {done.stderr}")
    return done.stdout


def timed(server, text, repeats=5):
    """The median of some runs in milliseconds, and the answer."""
    seconds, answer = [], None
    for _ in range(repeats):
        lines = psql(server, f"\\timing on\n{text};\n").split("\n")
        seconds.append(float(re.search(r"Time: ([0-9.]+) ms", "\n".join(lines))[1]))
        answer = lines[0]
    return statistics.median(seconds), answer


def resident(server, name):
    """A line of /proc/PID/status, in MB."""
    with open(f"/proc/{server.child.pid}/status", encoding="ascii") as status:
        return int(re.search(rf"{name}:\s+(\d+) kB", status.read())[1]) / 1024


def size(folder):
    """Bytes of the files below."""
    return sum(os.path.getsize(os.path.join(base, name)) for base, _, names in os.walk(folder) for name in names
               if os.path.isfile(os.path.join(base, name)))


def value(row, column, number):
    """What a round writes into a column of a row, as SQL."""
    return f"({row} * 7 + {column} * 1000003 + {number} * 101) % 1000000007"


def pair(number):
    """The columns that a round changes."""
    return 1 + number * 2 % COLUMNS, 1 + (number * 2 + 1) % COLUMNS


def load(server, rows):
    """COPY of all rows."""
    columns = ", ".join(f"c{at} bigint" for at in range(1, COLUMNS + 1))
    psql(server, f"CREATE TABLE t (id integer PRIMARY KEY, {columns}) USING lineage WITH (history = 'all')")
    copying = subprocess.Popen(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", "COPY t FROM STDIN"],
                               stdin=subprocess.PIPE, env=server.environment, text=True)
    for row in range(rows):
        values = [(row * 7 + at * 1000003) % 1000000007 for at in range(1, COLUMNS + 1)]
        copying.stdin.write(f"{row}\t" + "\t".join(map(str, values)) + "\n")
    copying.stdin.close()
    if copying.wait() != 0:
        sys.exit("COPY failed")


def rest(server, folder):
    """Until the directory stays as it is."""
    psql(server, "CHECKPOINT")
    before = -1
    for _ in range(120):
        now = size(folder)
        if now == before:
            return
        before = now
        time.sleep(2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=99)
    parser.add_argument("--chunk", type=int, default=10_000)
    parser.add_argument("--memory-limit", default="512MB")
    parser.add_argument("--weft", default=os.path.join(ROOT, "target", "release", "weft"))
    parser.add_argument("--folder", help="where the directory is made")
    parser.add_argument("--update-doc", action="store_true")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="weft-history-", dir=options.folder)
    server = None
    try:
        server = Weft(options.weft, folder, "--memory-limit", options.memory_limit)
        report(measure(server, folder, options), folder, options)
        server.stop()
        server = None
    finally:
        if server:
            server.child.kill()
        shutil.rmtree(folder, ignore_errors=True)


def measure(server, folder, options):
    """The lines of the table."""
    rows, lines = options.rows, []
    begun = time.monotonic()
    load(server, rows)
    lines.append((f"COPY of {rows:,} rows", f"{time.monotonic() - begun:.1f} s"))
    commits, seconds = [int(psql(server, "SELECT weft_commit_at(now())"))], []
    for number in range(1, options.rounds + 1):
        first, second = pair(number)
        begun = time.monotonic()
        statements = []
        for start in range(0, rows, options.chunk):
            end = min(start + options.chunk, rows) - 1
            statements.append(f"UPDATE t SET c{first} = {value('id', first, number)}, c{second} = {value('id', second, number)} "
                              f"WHERE id BETWEEN {start} AND {end};\n")
        statements.append("SELECT weft_last_commit();\n")
        commits.append(int(psql(server, "".join(statements))))
        seconds.append(time.monotonic() - begun)
        if number % 10 == 0 or number == options.rounds:
            print(f"round {number}: {rows / statistics.median(seconds[-10:]):,.0f} rows a second, resident "
                  f"{resident(server, 'VmRSS'):.0f} MB, most {resident(server, 'VmHWM'):.0f} MB, directory {size(folder) / 1e6:,.0f} MB",
                  flush=True)
    lines.append((f"{options.rounds} updates of two columns of every row, {options.chunk:,} rows a statement, durable",
                  f"{sum(seconds):.0f} s, {rows * options.rounds / sum(seconds):,.0f} rows a second; first round "
                  f"{seconds[0]:.1f} s, slowest {max(seconds):.1f} s"))
    lines.append(("most memory while loading", f"{resident(server, 'VmHWM'):.0f} MB"))
    rest(server, os.path.join(folder, "db"))
    count = rows * (options.rounds + 1)
    lines.append(("directory at rest", f"{size(folder) / 1e6:,.0f} MB, {size(folder) / count:.1f} bytes a version"))
    for number in sorted({0, options.rounds // 2, options.rounds}):
        lines.append((f"sum of a column as of round {number}", scan(server, commits, number, rows)))
    now, _ = timed(server, "SELECT sum(c1), sum(c2) FROM t")
    lines.append(("the same now", f"{now:.1f} ms"))
    key = rows * 2 // 3
    took, answer = timed(server, f"SELECT count(*) FROM t FOR SYSTEM_TIME ALL WHERE id = {key}")
    assert int(answer) == options.rounds + 1, f"a row has {answer} versions"
    lines.append((f"versions of one row ({answer})", f"{took:.1f} ms"))
    took, answer = timed(server, f"SELECT count(*) FROM weft_row_history('t', {key})")
    lines.append((f"history of one row, column by column ({answer} changes)", f"{took:.1f} ms"))
    lines.append(("most memory in all", f"{resident(server, 'VmHWM'):.0f} MB, of a limit of {options.memory_limit}"))
    return lines


def scan(server, commits, number, rows):
    """A sum as of a round, tested."""
    took, answer = timed(server, f"SELECT sum(c1), sum(c2) FROM t FOR SYSTEM_TIME AS OF {commits[number]}")
    expected = []
    for column in (1, 2):
        last = max([at for at in range(1, number + 1) if column in pair(at)], default=0)
        expected.append(sum((row * 7 + column * 1000003 + last * 101) % 1000000007 for row in range(rows)))
    assert answer == f"{expected[0]}|{expected[1]}", f"as of round {number}: {answer}, not {expected}"
    return f"{took:.1f} ms"


def report(lines, folder, options):
    """Prints the table; writes it into the document."""
    versions = options.rows * (options.rounds + 1)
    text = [f"`python3 bench/history_size.py --rows {options.rows} --rounds {options.rounds}`: {versions:,} versions, "
            f"`memory_limit = {options.memory_limit}`.", ""]
    text += [f"- {name}: {fact}" for name, fact in machine.facts(folder).items()]
    text += ["", "| | |", "|---|---|"] + [f"| {what} | {figure} |" for what, figure in lines]
    block = "\n".join(text)
    print(block)
    if options.update_doc:
        with open(DOC, encoding="utf-8") as file:
            before, rest_of = file.read().split(BEGIN)
            after = rest_of.split(END)[1]
        with open(DOC, "w", encoding="utf-8") as file:
            file.write(f"{before}{BEGIN}\n{block}\n{END}{after}")


if __name__ == "__main__":
    main()
