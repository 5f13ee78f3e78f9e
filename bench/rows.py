#!/usr/bin/env python3
"""Row tables beside column tables, PostgreSQL 15 and SQLite: which method for which work, in one run, all durable.

    python3 bench/rows.py [--rounds 3] [--scale small|tiny] [--seconds 1] [--memory 16] [--weft target/release/weft]
                          [--systems row,column,postgresql,sqlite] [--only points,micro,...] [--update-doc]

The workloads are those of transactions.py and the points: single rows by their key. --memory, MB, is Weft's cache,
PostgreSQL's shared_buffers and SQLite's cache: with 16 the million rows of the points are some eight times as large. (The
system's own cache of files is everybody's and is not limited.)
"""

import argparse
import json
import os
import shutil
import sqlite3
import statistics
import tempfile

import machine
import transactions as base

DOC = os.path.join(base.ROOT, "docs", "benchmarks", "row-tables.md")
WORKS = ["points", "commits", "micro", "orders", "insert"]
SYSTEMS = ["row", "column", "postgresql", "sqlite"]


def lines_of(size):
    what = {"select": "a row by its key", "range": "100 rows by a range of keys", "update": "one row updated",
            "insert": "one row inserted", "delete": "one row deleted"}
    lines = [(f"point_{kind}_{n}", f"{what[kind]}, {n} client{'s' if n > 1 else ''}", "1/s", True)
             for kind in base.POINTS for n in (1, 4)]
    return lines + [line for line in base.lines_of(size) if not line[0].startswith(("lookup", "bulk", "columns"))]


def markdown(medians, size, facts):
    lines = [f"{facts['scale']} scale, memory {facts['memory']}, {facts['seconds']} s per rate, median of "
             f"{facts['rounds']} rounds; × says how many times better row tables are.", ""]
    lines += [f"- {name}: {facts[name]}" for name in ("date", "cpu", "cpus", "file system", "load", "postgresql", "sqlite")
              if name in facts]
    lines += ["", "| | unit | row | column | PostgreSQL | SQLite | : column | : PostgreSQL | : SQLite |",
              "|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    for name, what, unit, more in lines_of(size):
        values = [medians.get(system, {}).get(name) for system in SYSTEMS]
        if any(values):
            ratios = [base.ratio(values[0], other, more) for other in values[1:]]
            lines.append(f"| {what} | {unit} | " + " | ".join([*map(base.shown, values), *ratios]) + " |")
    return "\n".join(lines) + "\n"


def measure(system, args, size, seconds, top, server, works):
    folder = tempfile.mkdtemp(dir=top)
    try:
        if system in ("row", "column"):
            options = ["--method", system]
            if args.memory:
                options += ["--cache-mb", str(args.memory)]
            return base.run_weft(args.weft, folder, size, seconds, top, works, options)
        if system == "postgresql":
            return base.PostgreSQL(server, size, seconds, None).run(works)
        return base.SQLite(folder, size, seconds, None).run(works)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def update_doc(text, part):
    doc = open(DOC, encoding="utf-8").read()
    begin, end = f"<!-- begin: {part} -->", f"<!-- end: {part} -->"
    head, rest = doc.split(begin)
    tail = rest.split(end, 1)[1]
    with open(DOC, "w", encoding="utf-8") as file:
        file.write(f"{head}{begin}\n\n{text}\n{end}{tail}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", choices=base.SCALES, default="small")
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--memory", type=int, help="MB of each system's cache")
    parser.add_argument("--weft", default=os.path.join(base.ROOT, "target", "release", "weft"))
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--only", default=",".join(WORKS))
    parser.add_argument("--update-doc", action="store_true", help="write the table into docs/benchmarks/row-tables.md")
    args = parser.parse_args()
    works, systems, size = args.only.split(","), args.systems.split(","), base.SCALES[args.scale]
    if not set(works) <= set(WORKS) or not set(systems) <= set(SYSTEMS):
        parser.error(f"--only takes {','.join(WORKS)}, --systems {','.join(SYSTEMS)}")
    if args.memory:
        os.environ["WEFT_BENCH_SQLITE_CACHE_KB"] = str(args.memory << 10)
    top = tempfile.mkdtemp(prefix="weft-rows-")
    os.chmod(top, 0o755)
    memory = f"{args.memory} MB" if args.memory else "as each has it"
    facts = {"scale": args.scale, "seconds": args.seconds, "rounds": args.rounds, "memory": memory,
             "sqlite": sqlite3.sqlite_version, **machine.facts(top), "load": f"{os.getloadavg()[0]:.2f} before the run"}
    results, server = {system: [] for system in systems}, None
    try:
        if "postgresql" in systems:
            folder = os.path.join(top, "pg")
            os.mkdir(folder)
            server = base.Server(folder, f"{args.memory}MB" if args.memory else "1GB")
            facts["postgresql"] = server.version
        for number in range(args.rounds):
            for system in systems:
                measured = measure(system, args, size, args.seconds, top, server, works)
                results[system].append(measured)
                print(f"round {number + 1}: {system}", json.dumps({k: round(v, 4) for k, v in measured.items()}), flush=True)
    finally:
        if server:
            server.stop()
        shutil.rmtree(top, ignore_errors=True)
    medians = {system: {name: statistics.median(run[name] for run in runs if name in run)
                        for name in {name: None for run in runs for name in run}} for system, runs in results.items()}
    text = markdown(medians, size, facts)
    if args.update_doc:
        update_doc(text, "small memory" if args.memory else "in memory")
    print(text)


if __name__ == "__main__":
    main()
