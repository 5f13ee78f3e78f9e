#!/usr/bin/env python3
"""Two builds of Weft in turns, over the benchmarks of docs/benchmarks: is the new one slower anywhere?

    python3 bench/versions.py OLD NEW [--rounds 5] [--only statements,commits,...] [--out bench/out]

OLD and NEW are `weft` binaries. In each round every benchmark runs with the old build, the new one, and the old one again,
each time on a fresh database. So a drift of the machine hits both, and what the old build differs from itself says how much
the machine alone makes of a difference. Stated are medians over the rounds; a ratio above 1 says that the new build is
better. What is outside the noise and below 0.97 is marked and comes first.

`statements` is `weft bench`, `insert` to `orders` are those of `weft bench transactions`, `fig1` to `table1` those of `weft
bench xbench`, all at sizes that take seconds; `server` is pgbench (Debian: apt install postgresql-15), select-only and TPC-B.
Openings after a crash have `bench/recovery.py --before`, sums and frames `bench/sums.py`.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import machine
import pgbench
import transactions

HERE = os.path.dirname(os.path.abspath(__file__))
ALLOWED = 0.97
SIZE = {"people": 300_000, "bulk": [150_000], "records": 300_000, "active": [300_000, 10_000], "warehouses": 1}
FIGURES = {
    "fig1": ["--rows", "100000", "--ratios", "20,60"],
    "fig6": ["--rows", "100000", "--row-bytes", "1024", "--ratios", "20", "--update-seconds", "3"],
    "table1": ["--rows", "100000", "--queries", "3000", "--schedulers", "cost"],
}
# Of a figure's lines, what a user feels; the rest says how it came about.
FELT = ["query_ms", "query_at_once_ms", "update_mean_us", "update_p50_us", "update_p99_us", "p50", "p99", "writes_per_s", "reads_per_s"]
WORKS = ["statements", *transactions.WORKS, *FIGURES, "server"]


def lines_of(words):
    """The JSON lines that a benchmark prints."""
    result = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)} failed")
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


def more_is_better(unit):
    return unit.endswith("/s")


def measure(program, work, folder, csv):
    """What one run of one benchmark yields: value and whether more is better, by name."""
    if work == "statements":
        lines = lines_of([program, "bench", "--rows", "300000", "--dir", os.path.join(folder, "db")])
        return {line["name"]: (line["value"], more_is_better(line["unit"])) for line in lines}
    if work in transactions.WORKS:
        better = {name: more for name, _, _, more in transactions.lines_of(SIZE)}
        found = transactions.run_weft(program, folder, SIZE, 1, csv, [work])
        return {name: (value, better[name]) for name, value in found.items() if name in better}
    if work in FIGURES:
        lines = lines_of([program, "bench", "xbench", "--only", work, "--dir", folder, *FIGURES[work]])
        return {
            f"{work}: {line['configuration']}, {line['x']}, {line['metric']}": (line["value"], more_is_better(line["unit"]))
            for line in lines if line["metric"] in FELT
        }
    server = pgbench.Weft(program, folder)
    try:
        pgbench.program(server, "pgbench", "-i", "-q", "-s", "5")
        return {f"server: {name}": (pgbench.rate(server, words, clients, 4), True) for name, words, clients in pgbench.RATES}
    finally:
        server.stop()


class Metric:
    """The values of one number: triples of old, new, old again."""

    def __init__(self, more):
        self.more, self.rounds = more, []

    def better(self, before, after):
        """How many times better the second is."""
        return after / before if self.more else before / after

    def ratios(self):
        return [self.better((first * again) ** 0.5, new) for first, new, again in self.rounds]

    def noise(self):
        return [self.better(first, again) for first, _, again in self.rounds]

    def slower(self):
        """Whether the new one is slower by more than is allowed, and by more than the old one differs from itself."""
        spread = statistics.median(abs(1 - ratio) for ratio in self.noise())
        ratio = statistics.median(self.ratios())
        return ratio < ALLOWED and ratio < 1 - spread


def markdown(metrics):
    lines = ["| | old | new | new : old | least and most | old again : old, least and most | |", "|---|---:|---:|---:|---|---|---|"]
    ordered = sorted(metrics.items(), key=lambda item: (not item[1].slower(), statistics.median(item[1].ratios())))
    for name, metric in ordered:
        ratios, noise = metric.ratios(), metric.noise()
        old = statistics.median(value for first, _, again in metric.rounds for value in (first, again))
        new = statistics.median(new for _, new, _ in metric.rounds)
        lines.append(f"| {name} | {transactions.shown(old)} | {transactions.shown(new)} | {statistics.median(ratios):.2f} | "
                     f"{min(ratios):.2f} to {max(ratios):.2f} | {min(noise):.2f} to {max(noise):.2f} | {'slower' if metric.slower() else ''} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs=2, metavar=("OLD", "NEW"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(WORKS))
    parser.add_argument("--out", default=os.path.join(HERE, "out"))
    args = parser.parse_args()
    works = args.only.split(",")
    if not set(works) <= set(WORKS):
        parser.error(f"--only takes {','.join(WORKS)}")
    old, new = args.builds
    metrics, top = {}, tempfile.mkdtemp(prefix="weft-versions-")
    try:
        os.chmod(top, 0o755)
        facts = machine.facts(top)
        for rows in SIZE["bulk"] + [SIZE["people"]]:
            transactions.write_csv(top, rows)
        for number in range(args.rounds):
            for work in works:
                begun, runs = time.perf_counter(), []
                for program in (old, new, old):
                    folder = tempfile.mkdtemp(dir=top)
                    runs.append(measure(program, work, folder, top))
                    shutil.rmtree(folder, ignore_errors=True)
                for name, (_, more) in runs[0].items():
                    triple = tuple(run.get(name, (0, more))[0] for run in runs)
                    if all(value > 0 for value in triple):
                        metrics.setdefault(name, Metric(more)).rounds.append(triple)
                print(f"round {number + 1}: {work}, {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    text = "\n".join(f"- {name}: {value}" for name, value in facts.items()) + f"\n- rounds: {args.rounds}\n\n" + markdown(metrics)
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "versions.md"), "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(args.out, "versions.json"), "w", encoding="utf-8") as file:
        json.dump({**facts, "rounds": {name: metric.rounds for name, metric in metrics.items()}}, file, indent=1)
    print(text)


if __name__ == "__main__":
    main()
