#!/usr/bin/env python3
"""Notes in the files of this folder what PostgreSQL does where it differs.

    python3 tests/anomalies/postgres.py                      starts a server of its own for as long as it runs
    python3 tests/anomalies/postgres.py --dsn "host=..."     asks a server that runs; it is given a database anomaly_check
    python3 tests/anomalies/postgres.py --check FILE...      writes nothing; exit code 1 where a note is not right

Runs the steps of each file at each level in one psql per session. Where the outcome of a step differs (other rows, another
tag or SQLSTATE, a wait), it stands under the step in lines that begin `PostgreSQL:`; texts of errors are not compared. A step
waits when the server says that its session is blocked. Needs psql; a server of its own also needs initdb and postgres.
"""

import argparse
import glob
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

LEVELS = ["read committed", "repeatable read", "serializable"]
NOTE = "PostgreSQL:"
DONE = "##answered"
# A session counts as waiting when the server has said so for longer than it takes to look for a deadlock.
DEADLOCK_MS, BLOCKED_S, HANGS_S = 100, 0.4, 60


class Script:
    """A file; the format stands in crates/weft/tests/anomalies/script.rs."""

    def __init__(self, text):
        self.head, _, rest = text.partition("\n----")
        lines = [line.rstrip() for line in self.head.split("\n") if line.strip() and not line.startswith("#")]
        self.steps = [line for line in lines if is_step(line)]
        self.setup = [line for line in lines if not is_step(line)]
        self.levels = {}
        for section in filter(None, rest.split("\n----")):
            levels, _, body = section.partition("\n")
            for level in levels.split(","):
                self.levels[level.strip()] = Transcript(body, self.steps)

    def render(self):
        sections = []
        for level in LEVELS:
            body = self.levels[level].render()
            if sections and sections[-1][1] == body:
                sections[-1][0].append(level)
            else:
                sections.append(([level], body))
        return self.head.rstrip() + "\n" + "".join(f"\n---- {', '.join(levels)}\n{body}" for levels, body in sections)


class Transcript:
    def __init__(self, body, steps):
        self.steps = []  # (comments before, step, outcome, notes)
        comments = []
        for line in body.split("\n"):
            if line.startswith("#"):
                comments.append(line)
            elif line.startswith("  "):
                self.steps[-1][3 if line.strip().startswith(NOTE) else 2].append(line.strip())
            elif line.strip():
                self.steps.append((comments, line, [], []))
                comments = []
        self.last = comments
        if [step[1] for step in self.steps] != steps:
            sys.exit("a transcript is older than the steps; rewrite it first (WEFT_GOLDEN=rewrite)")

    def render(self):
        lines = []
        for comments, step, outcome, notes in self.steps:
            lines += comments + [step] + ["  " + line for line in outcome + notes]
        return "".join(line + "\n" for line in lines + self.last)


def is_step(line):
    return re.match(r"[a-z]: |await [a-z]$", line) is not None


class Psql:
    """One session."""

    def __init__(self, dsn):
        command = ["psql", "-X", "-A", "-t", "-F", " | ", "-P", "null=NULL", "-v", "VERBOSITY=terse", dsn]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
        )
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.run("set client_min_messages = error")
        self.run(f"set deadlock_timeout = {DEADLOCK_MS}")
        self.pid = self.run("select pg_backend_pid()")[0]

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def send(self, sql):
        self.sql, self.found = sql, []
        self.process.stdin.write(f"{sql};\n\\echo {DONE} :SQLSTATE :LAST_ERROR_MESSAGE\n")
        self.process.stdin.flush()

    def answer(self, seconds=0.0):
        """The lines of the answer; None when there is none within that time."""
        until = time.monotonic() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.001, until - time.monotonic()))
            except queue.Empty:
                return None
            if line is None:
                sys.exit(f"psql ended at {self.sql!r}: {self.found}")
            if line.startswith(DONE):
                return self.lines_of(line[len(DONE) :].split(None, 1))
            if line:
                self.found.append(line)

    def lines_of(self, end):
        if end[0] != "00000":
            return [f"error {end[0]}: {end[1].strip() if len(end) > 1 else ''}"]
        found = [line for line in self.found if not self.sql.upper().startswith(line)]
        return found or (["(0 rows)"] if self.sql.lower().startswith("select") else [])

    def run(self, sql):
        self.send(sql)
        lines = self.answer(HANGS_S)
        if lines is None or any(line.startswith("error") for line in lines):
            sys.exit(f"{sql}: {lines}")
        return lines

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Cast:
    def __init__(self, dsn, control, level):
        self.dsn, self.control, self.level = dsn, control, level
        self.sessions, self.busy = {}, set()

    def play(self, step):
        if step.startswith("await "):
            name = step[6:]
            answers = []
            if name in self.busy:
                answers = [(name, self.sessions[name].answer(HANGS_S))]
                self.busy.discard(name)
                answers += self.settle()
            return self.report(name, answers, [])
        name, _, sql = step.partition(": ")
        if name in self.busy:
            return [f"not sent: {name} still waits"]
        if name not in self.sessions:
            self.sessions[name] = Psql(self.dsn)
            self.sessions[name].run(f"set default_transaction_isolation = '{self.level}'")
        self.busy.add(name)
        self.sessions[name].send(sql)
        answers = self.settle()
        return self.report(name, answers, ["waits"] if name in self.busy else [])

    def settle(self):
        answers, blocked_since, start = [], None, time.monotonic()
        while self.busy:
            came = [(name, lines) for name in sorted(self.busy) if (lines := self.sessions[name].answer(0.005)) is not None]
            answers += came
            self.busy -= {name for name, _ in came}
            if came or not self.all_blocked():
                blocked_since = None
            elif blocked_since is None:
                blocked_since = time.monotonic()
            elif time.monotonic() - blocked_since > BLOCKED_S:
                break
            if time.monotonic() - start > HANGS_S:
                sys.exit(f"{self.busy} neither answer nor wait")
        return answers

    def all_blocked(self):
        pids = ",".join(session.pid for session in self.sessions.values())
        asked = [f"pg_isolation_test_session_is_blocked({self.sessions[name].pid}, '{{{pids}}}')" for name in self.busy]
        return not asked or self.control.run("select " + " and ".join(asked)) == ["t"]

    @staticmethod
    def report(own, answers, lines):
        for name, found in sorted(answers, key=lambda answer: (answer[0] != own, answer[0])):
            lines += [line if name == own else f"{name}: {line}" for line in found]
        return lines

    def leave(self):
        left = sorted(self.sessions)
        while left:
            idle = next(name for name in left if name not in self.busy)
            left.remove(idle)
            self.play(f"{idle}: rollback")
        for session in self.sessions.values():
            session.close()


def comparable(lines):
    return [re.sub(r"(error \w{5}):.*", r"\1", line) for line in lines]


def note(path, dsn, control, check):
    text = path.read_text(encoding="utf-8")
    script = Script(text)
    differing = 0
    for level in LEVELS:
        control.run("drop schema public cascade")
        control.run("create schema public")
        for sql in script.setup:
            control.run(sql.rstrip(";"))
        cast = Cast(dsn, control, level)
        for _, step, outcome, notes in script.levels[level].steps:
            found = cast.play(step)
            notes.clear()
            if comparable(found) != comparable(outcome):
                differing += 1
                # A number of a process or of a transaction is another one each time.
                said = [re.sub(r"\b(process|transaction) \d+", r"\1 N", line) for line in found] or ["done"]
                notes += [f"{NOTE} {line}" for line in said]
        cast.leave()
    found = script.render()
    if not check:
        path.write_text(found, encoding="utf-8")
    print(f"{path.name}: {differing} steps differ{'' if found == text or not check else ', the file says otherwise'}", flush=True)
    return found == text


class Server:
    """A server in a directory of its own, reached by a socket in it."""

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="anomalies-")
        # The server refuses to run as root.
        self.user = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
        if self.user:
            shutil.chown(self.dir, "postgres", "postgres")
        data = os.path.join(self.dir, "data")
        subprocess.run(
            [program("initdb"), "-D", data, "-U", "weft", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"],
            check=True, stdout=subprocess.DEVNULL, cwd=self.dir, **self.user,
        )  # fmt: skip
        settings = ["listen_addresses=", f"unix_socket_directories={self.dir}", "fsync=off", "autovacuum=off"]
        options = [part for setting in settings for part in ("-c", setting)]
        log = open(os.path.join(self.dir, "log"), "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [program("postgres"), "-D", data, *options], stdout=log, stderr=log, cwd=self.dir, **self.user
        )
        dsn = f"host={self.dir} user=weft"
        for _ in range(100):
            if subprocess.run(["psql", "-X", "-c", "select 1", f"{dsn} dbname=postgres"], capture_output=True).returncode == 0:
                return dsn
            time.sleep(0.1)
        sys.exit("the server does not come up")

    def __exit__(self, *_):
        # An interrupt is a fast shutdown, which waits for no session.
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        shutil.rmtree(self.dir)


def program(name):
    found = shutil.which(name) or next(iter(sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))), None)
    return found or sys.exit(f"{name} is not there; install PostgreSQL, or name a server with --dsn")


def run(dsn, paths, check):
    database = "anomaly_check"
    for sql in (f"drop database if exists {database}", f"create database {database}"):
        subprocess.run(["psql", "-X", "-q", "-c", sql, f"{dsn} dbname=postgres"], check=True, stderr=subprocess.DEVNULL)
    dsn = f"{dsn} dbname={database}"
    control = Psql(dsn)
    print(control.run("show server_version")[0])
    right = [note(path, dsn, control, check) for path in paths]
    control.close()
    return 0 if all(right) or not check else 1


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("--dsn", help="a server that runs, as key=value words without dbname")
    arguments.add_argument("--check", action="store_true", help="write nothing, exit code 1 where a note is not right")
    arguments.add_argument("files", nargs="*", type=pathlib.Path)
    given = arguments.parse_args()
    paths = given.files or sorted(pathlib.Path(__file__).parent.glob("*.txt"))
    if given.dsn:
        return run(given.dsn, paths, given.check)
    with Server() as dsn:
        return run(dsn, paths, given.check)


if __name__ == "__main__":
    sys.exit(main())
