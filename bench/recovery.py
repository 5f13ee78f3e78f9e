#!/usr/bin/env python3
"""How long an opening takes after a crash, by what the log holds, with one build or with two in turns.

    python3 bench/recovery.py [--weft target/release/weft] [--before OLD] [--rows 200000] [--changes 200000] [--rounds 5]

Makes a database of `--rows` rows with a secondary index, checkpoints it, and changes rows one statement at a time with
jobs off, so that all of it is in the log only: updates of a column that no index has, updates of one that an index has,
inserts, deletes, and an index made among updates. A server writes it and is killed. Then a copy of the directory is
opened by `SELECT count(*)`, as often as `--rounds` says, each build in its turn; medians of the whole process.
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

KINDS = {
    "updates beside the index": lambda i, rows: f"UPDATE t SET c = c + 1 WHERE id = {i % rows}",
    "updates of the index": lambda i, rows: f"UPDATE t SET b = b + 1 WHERE id = {i % rows}",
    "inserts": lambda i, rows: f"INSERT INTO t VALUES ({rows + i}, {i % 1000}, {i}, 'a row of the log')",
    "deletes": lambda i, rows: f"DELETE FROM t WHERE id = {i % rows}",
    "an index among updates": lambda i, rows: (
        "CREATE INDEX t_c ON t (c)" if i == 1000 else f"UPDATE t SET c = c + 1 WHERE id = {i % rows}"
    ),
}


def make(weft, directory, kind, rows, changes):
    """A directory as the crash of its server leaves it."""
    setup = [
        "CREATE TABLE t (id bigint PRIMARY KEY, b bigint, c bigint, d text)",
        f"INSERT INTO t SELECT i, i % 1000, i, 'a row of ' || i FROM generate_series(0, {rows - 1}) i",
        "CREATE INDEX t_b ON t (b)",
        "CHECKPOINT",
    ]
    run = lambda *arguments, **more: subprocess.run([weft, *arguments], check=True, stdout=subprocess.DEVNULL, **more)
    run(directory, "-c", "; ".join(setup))
    statements = "SET durability = 'async';\n" + "".join(KINDS[kind](i, rows) + ";\n" for i in range(changes))
    # Without workers nobody writes what is in the log's buffer; this one does, with all before it.
    statements += "SET durability = 'full';\nUPDATE t SET d = 'the last' WHERE id = 0;\nINSERT INTO t VALUES (-1, 0, 0, '');\n"
    # Row memory and log have room for all of it, and nobody carries it to files.
    environment = dict(os.environ, WEFT_CHECKPOINT_LOG_SIZE="4GB", WEFT_ROW_MEMORY="2GB", WEFT_WORKERS="0")
    server = subprocess.Popen(
        [weft, "serve", directory, "--listen", "127.0.0.1:5997", "--auth", "trust"],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        url = "host=127.0.0.1 port=5997 user=weft dbname=weft"
        for _ in range(100):
            if subprocess.run(["psql", url, "-qAtc", "SELECT 1"], capture_output=True).returncode == 0:
                break
            time.sleep(0.1)
        done = subprocess.run(["psql", url, "-q", "-v", "ON_ERROR_STOP=1"], input=statements, text=True, capture_output=True)
        if done.returncode != 0:
            raise SystemExit(f"{kind}: {done.stderr}")
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()


def open_once(weft, made, place):
    """Seconds that an opening of a copy takes, and what it counts."""
    shutil.copytree(made, place, ignore=shutil.ignore_patterns(".s.*", "LOCK"))
    try:
        begun = time.monotonic()
        environment = dict(os.environ, WEFT_ROW_MEMORY="2GB", WEFT_CHECKPOINT_LOG_SIZE="4GB")
        done = subprocess.run(
            [weft, place, "--format", "csv", "-c", "SELECT count(*), sum(c) FROM t"],
            check=True, capture_output=True, text=True, env=environment,
        )
        return time.monotonic() - begun, done.stdout.split()[-1]
    finally:
        shutil.rmtree(place)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default="target/release/weft")
    parser.add_argument("--before", help="another build, asked in turns")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--changes", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    builds = [build for build in (arguments.before, arguments.weft) if build]
    print(f"{arguments.rows} rows, {arguments.changes} changes in the log, medians of {arguments.rounds}")
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as scratch:
            made = os.path.join(scratch, "made")
            make(arguments.weft, made, kind, arguments.rows, arguments.changes)
            log = sum(os.path.getsize(os.path.join(made, name)) for name in os.listdir(made) if name.startswith("log-"))
            seconds, answers = {build: [] for build in builds}, set()
            for turn in range(arguments.rounds):
                for build in builds if turn % 2 == 0 else builds[::-1]:
                    taken, answer = open_once(build, made, os.path.join(scratch, "copy"))
                    seconds[build].append(taken)
                    answers.add(answer)
            if len(answers) != 1:
                raise SystemExit(f"{kind}: the openings disagree: {answers}")
            medians = [statistics.median(seconds[build]) for build in builds]
            ratio = f"   ratio {medians[1] / medians[0]:.2f}" if len(medians) == 2 else ""
            times = "   ".join(f"{median:.2f} s" for median in medians)
            print(f"{kind:<26} log {log / 1e6:6.1f} MB   {times}{ratio}", flush=True)


if __name__ == "__main__":
    main()
