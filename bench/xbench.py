#!/usr/bin/env python3
"""The experiments of SynchroStore on Weft and DuckDB: figures 1, 6, 7, 8, 9, table 1, and a soak.

    python3 bench/xbench.py [--quick] [--only fig6,fig9] [--rounds 1] [--weft target/release/weft] [--out bench/out/xbench]
                            [--rows N] [--memory-limit 768MB] [--update-doc] [--add] [--from bench/out/xbench/lines.jsonl]

Weft runs as `weft bench xbench`, DuckDB in this process with the same rows and statements; both are durable, and after each
experiment both must have the same sums. Every number is a line of `lines.jsonl`, every figure an SVG; `--update-doc` writes
docs/benchmarks/synchrostore.md and its images, and leaves the explanations in it as they are. `--add` keeps the lines of
experiments that are not run now, so that they may run one at a time; `--from` draws and writes from the lines of earlier runs.
Options that this script does not know go to `weft bench xbench` as they are
(`--conflict antimatter`, `--granularity-bytes 262144`, ...).

Needs the Python packages duckdb, numpy, pyarrow and matplotlib; without them it makes bench/.venv and installs them there.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import packages

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)

packages.ensure("duckdb", "numpy", "pyarrow", "matplotlib")
import duckdb  # noqa: E402
import machine  # noqa: E402
from synchrostore import duck, plots, report  # noqa: E402
from synchrostore.lines import Lines  # noqa: E402

EXPERIMENTS = ["fig1", "fig6", "fig6-async", "fig7b", "fig8", "table1", "paced", "fig9", "soak"]
ON_DUCKDB = ["fig1", "fig6", "fig7b", "fig9"]
# Name, default, default of --quick; those of crates/weft-bench/src/bench/xbench/settings.rs. Lists are texts.
SIZES = [("rows", 200_000, 20_000), ("row_bytes", 4096, 4096), ("wide_rows", 20_000, 2_000), ("sizes", "32,64,128", "8,16"),
         ("projections", "1,5,10,20,30", "1,5,30"), ("seconds", 10, 2), ("queries", 20_000, 300), ("update_seconds", 60, 2),
         ("soak_seconds", 60, 4), ("window_seconds", 10, 1), ("update_columns", 3, 3), ("sum_columns", 10, 10),
         ("max_columns", 10, 10), ("range_rows", 10_000, 10_000), ("filter_width", 10_000, 10_000),
         ("writes_per_second", 4_000, 400), ("reads_per_second", 200, 200), ("mix_row_bytes", 0, 0), ("turn_seconds", 5, 1)]
RATIOS = {"fig1": "20,40,60,80,100", "fig6": "1,5,10,20,50,100", "fig6-async": "1,5,10,20,50,100"}
QUICK_RATIOS = {"fig1": "20,100", "fig6": "1,20,100", "fig6-async": "1,20,100"}
# What Weft is measured in to the last update.
IN_FULL = ["fig6", "fig6-async"]


def numbers(text):
    return [int(number.replace("_", "")) for number in text.split(",")]


def bytes_of(text):
    for unit, shift in (("kb", 10), ("mb", 20), ("gb", 30)):
        if text.lower().endswith(unit):
            return int(text[:-2]) << shift
    return int(text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.path.join(ROOT, "target", "release", "weft"))
    parser.add_argument("--out", default=os.path.join(HERE, "out", "xbench"))
    parser.add_argument("--dir", default=None, help="where databases are made; the system's temporary directory")
    parser.add_argument("--only", default=",".join(EXPERIMENTS), help="fig6 draws figure 7a as well")
    parser.add_argument("--systems", default="weft,duckdb")
    parser.add_argument("--rounds", type=int, default=1, help="each experiment this often; the median counts")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that all of it works")
    parser.add_argument("--memory-limit", default=None, help="of both systems, like 768MB")
    parser.add_argument("--ratios", default=None, help="percent of rows that are updated, in figures 1, 6 and 7a")
    parser.add_argument("--weft-update-seconds", type=int, default=0,
                        help="how long Weft's upserts of one share are measured in figure 6; 0: all of them")
    parser.add_argument("--update-doc", action="store_true", help="write docs/benchmarks/synchrostore.md and its images")
    parser.add_argument("--add", action="store_true", help="keep what earlier runs wrote of other experiments")
    parser.add_argument("--from", dest="from_lines", default=None, help="lines of an earlier run: nothing is run")
    for name, normal, quick in SIZES:
        parser.add_argument(f"--{name.replace('_', '-')}", default=None, type=type(normal), help=f"{normal}; quick: {quick}")
    args, rest = parser.parse_known_args()
    for name, normal, quick in SIZES:
        if getattr(args, name) is None:
            setattr(args, name, quick if args.quick else normal)
    args.weft_options = rest
    only = ["fig6" if name == "fig7a" else name for name in args.only.split(",")]
    if not set(only) <= set(EXPERIMENTS):
        parser.error(f"--only takes {','.join(EXPERIMENTS)}")
    args.only = [name for name in EXPERIMENTS if name in only]
    return args


def ratios(args, experiment):
    return args.ratios or (QUICK_RATIOS if args.quick else RATIOS)[experiment]


def weft_command(args, experiment, folder):
    words = [args.weft, "bench", "xbench", "--only", experiment, "--dir", folder]
    for name, _, _ in SIZES:
        words += [f"--{name.replace('_', '-')}", str(getattr(args, name))]
    if experiment in IN_FULL:
        words[words.index("--update-seconds") + 1] = str(args.weft_update_seconds)
    if experiment in RATIOS:
        words += ["--ratios", ratios(args, experiment)]
    if args.memory_limit:
        words += ["--memory-limit", args.memory_limit]
    return words + args.weft_options


def run_weft(args, experiment, emit):
    """The lines of one experiment; its error, if it has one. Lines before an error count."""
    folder = tempfile.mkdtemp(prefix="weft-xbench-", dir=args.dir)
    try:
        command = weft_command(args, experiment, folder)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if line.startswith("{"):
                    emit(json.loads(line))
            error = process.stderr.read().strip()
        return None if process.returncode == 0 else error or f"ended with {process.returncode}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class DuckOptions:
    """What `duck.Run` reads."""

    def __init__(self, args):
        for name, _, _ in SIZES:
            setattr(self, name, getattr(args, name))
        self.projections = numbers(args.projections)
        self.ratios, self.fig1_ratios = numbers(ratios(args, "fig6")), numbers(ratios(args, "fig1"))
        self.memory_limit = bytes_of(args.memory_limit) if args.memory_limit else None
        self.dir = args.dir


def run_all(args, out):
    """Runs everything; the failures."""
    failures, options, forms = [], DuckOptions(args), None
    systems = args.systems.split(",")
    if "duckdb" in systems and set(args.only) & set(ON_DUCKDB):
        forms = duck.Forms(options)
        print("DuckDB's statements:", json.dumps(forms.facts()), flush=True)
    for number in range(args.rounds):
        def emit(line):
            out.write(json.dumps({**line, "round": number}) + "\n")
            out.flush()

        for experiment in args.only:
            for system in systems:
                begun, error = time.perf_counter(), None
                if system == "weft":
                    error = run_weft(args, experiment, emit)
                elif experiment in ON_DUCKDB:
                    duck.Run(options, emit, forms).run(experiment)
                else:
                    continue
                print(f"round {number + 1}: {experiment}, {system}, {time.perf_counter() - begun:.0f} s", flush=True)
                if error:
                    failures.append(f"{experiment}, {system}: {error}")
                    print(failures[-1], file=sys.stderr, flush=True)
    return failures


def facts_of(args):
    facts = machine.facts(args.dir or tempfile.gettempdir())
    facts["DuckDB"] = duckdb.__version__
    facts["sizes"] = ", ".join(f"{name} {getattr(args, name)}" for name, _, _ in SIZES)
    facts["memory limit"] = args.memory_limit or "none"
    facts["more options"] = " ".join(args.weft_options) or "none"
    facts["rounds"] = args.rounds
    return facts


def main():
    args = arguments()
    os.makedirs(args.out, exist_ok=True)
    failures = []
    if args.from_lines:
        path = args.from_lines
    else:
        path = os.path.join(args.out, "lines.jsonl")
        kept = Lines.text_without(path, args.only) if args.add else ""
        with open(path, "w", encoding="utf-8") as out:
            out.write(kept)
            out.write(json.dumps({"facts": facts_of(args), "experiments": args.only}) + "\n")
            failures = run_all(args, out)
    lines = Lines.read(path)
    lines.compare_sums()
    plots.draw_all(lines, args.out)
    text = report.results(lines)
    with open(os.path.join(args.out, "synchrostore.md"), "w", encoding="utf-8") as file:
        file.write(text)
    if args.update_doc:
        report.update_doc(lines, os.path.join(ROOT, "docs", "benchmarks"))
    print(text)
    if failures:
        sys.exit("these failed:\n" + "\n".join(failures))


if __name__ == "__main__":
    main()
