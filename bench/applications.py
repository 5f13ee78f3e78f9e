#!/usr/bin/env python3
"""The test suites of real packages, against Weft beside PostgreSQL 15 in one run.

    python3 bench/applications.py --postgres "host=/tmp user=postgres" [--weft target/release/weft] [--suites sqlalchemy-psycopg,...]
                                  [--only weft] [--seconds 900] [--out bench/out/applications] [--sources bench/out/sources]

For each suite: a new database on PostgreSQL (two for Django), a new directory of Weft (two for Django), and the suite's own tests
on both, as they come with the package. What became of each test stands in OUT/SUITE.SYSTEM.jsonl; with `--only` the other system's
outcomes are those of an earlier run. Printed, and written to OUT/summary.md: per suite the tests, those with the same outcome, and
those that pass on PostgreSQL but not on Weft, grouped by SQLSTATE and message (without names), most frequent first.

Two things are not as the packages have them: SQLAlchemy's tests do without the extensions citext and hstore, on both systems, and
on Weft Django's addresses are texts (there is no inet); bench/suites has both.

The role of the connection string makes databases, so it is a superuser. The suites themselves come from PyPI (the sources of
Django and SQLAlchemy) and from GitHub (psycopg's; or put them into SOURCES/psycopg-VERSION yourself).
"""

import argparse
import atexit
import collections
import glob
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import packages

packages.ensure("sqlalchemy", "psycopg", "psycopg2", "django", "pytest", "pytest_timeout", "anyio", "pproxy", "jinja2")

import psycopg  # noqa: E402
from pgbench import Weft  # noqa: E402
from psycopg.conninfo import conninfo_to_dict  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PLUGINS = os.path.join(HERE, "suites")
DJANGO = ["queries", "aggregation", "expressions", "transactions", "introspection", "migrations"]
MORE = ["aggregation_regress", "annotations", "backends", "basic", "bulk_create", "constraints", "custom_columns", "custom_pk",
        "datatypes", "dates", "datetimes", "db_functions", "defer", "delete", "distinct_on_fields", "expressions_case",
        "expressions_window", "field_defaults", "filtered_relation", "from_db_value", "get_or_create", "indexes", "inspectdb",
        "lookup", "many_to_many", "many_to_one", "model_fields", "model_inheritance", "null_queries", "ordering",
        "prefetch_related", "raw_query", "schema", "select_for_update", "select_related", "timezones", "update", "xor_lookups"]
SUITES = ["sqlalchemy-psycopg", "sqlalchemy-psycopg2", "sqlalchemy-postgresql", "psycopg",
          *[f"django-{name}" for name in DJANGO + MORE]]
SHOWN = 25


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", required=True)
    parser.add_argument("--weft", default=os.path.join(ROOT, "target", "release", "weft"))
    parser.add_argument("--suites", default=",".join(SUITES))
    parser.add_argument("--only", choices=["PostgreSQL", "Weft"])
    parser.add_argument("--seconds", type=int, default=900, help="limit of one suite on one system")
    parser.add_argument("--out", default=os.path.join(HERE, "out", "applications"))
    parser.add_argument("--sources", default=os.path.join(HERE, "out", "sources"))
    return parser.parse_args()


class PostgreSQL:
    """Databases of a suite on a server that runs already."""

    name = "PostgreSQL"

    def __init__(self, conninfo, suite):
        self.conninfo = conninfo
        self.names = [f"{suite.replace('-', '_')}_{role}" for role in ("default", "other")]

    def __enter__(self):
        self.sql(*[f"DROP DATABASE IF EXISTS {name} WITH (FORCE)" for name in self.names],
                 *[f"CREATE DATABASE {name}" for name in self.names])
        place = conninfo_to_dict(self.conninfo)
        return [{"host": place["host"], "port": str(place.get("port", 5432)), "user": place["user"], "dbname": name}
                for name in self.names]

    def __exit__(self, *_):
        self.sql(*[f"DROP DATABASE {name} WITH (FORCE)" for name in self.names])

    def sql(self, *statements):
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)


class WeftPair:
    """Two new directories, each with a server."""

    name = "Weft"

    def __init__(self, program, log):
        self.program, self.servers, self.log = program, [], log
        self.folder = tempfile.mkdtemp(prefix="weft-applications-")

    def __enter__(self):
        places = []
        for role in ("default", "other"):
            folder = os.path.join(self.folder, role)
            os.mkdir(folder)
            server = Weft(self.program, folder, log=self.log)
            self.servers.append(server)
            places.append({"host": "127.0.0.1", "port": server.environment["PGPORT"], "user": "weft", "dbname": "weft"})
        return places

    def __exit__(self, *_):
        for server in self.servers:
            server.child.terminate()
            try:
                server.child.wait(60)
            except subprocess.TimeoutExpired:
                print("Weft does not end: killed", flush=True)
                server.child.kill()
                server.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def source(package, sources):
    """The folder of a package's sources, of the version that is installed."""
    version = importlib.metadata.version(package)
    folder = os.path.join(sources, f"{package}-{version}")
    if os.path.isdir(folder):
        return folder
    os.makedirs(sources, exist_ok=True)
    if package == "psycopg":
        words = ["git", "clone", "-q", "--depth", "1", "--branch", version, "https://github.com/psycopg/psycopg", folder]
        subprocess.run(words, check=True)
        return folder
    words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", package, "-d", sources, f"{package}=={version}"]
    subprocess.run(words, check=True)
    shutil.unpack_archive(glob.glob(os.path.join(sources, f"{package}-{version}.tar.gz"))[0], sources)
    return folder


def pytest_words(*more):
    # psycopg's tests keep in it that they have crashed, and do not begin again.
    cache = tempfile.mkdtemp(prefix="weft-applications-")
    atexit.register(shutil.rmtree, cache, True)
    return [sys.executable, "-m", "pytest", "-p", "outcomes", "-o", "addopts=", "-o", f"cache_dir={cache}", "-q", "--tb=short",
            "--timeout=60", *more]


def command(suite, places, sources):
    """The words of a suite, the folder it runs in, and what its environment has more."""
    first = places[0]
    kind, _, part = suite.partition("-")
    if kind == "sqlalchemy":
        driver = part if part.startswith("psycopg") else "psycopg"
        tests = "test/dialect/postgresql" if part == "postgresql" else "test/dialect/test_suite.py"
        url = f"postgresql+{driver}://{first['user']}@{first['host']}:{first['port']}/{first['dbname']}"
        words = pytest_words("-p", "no_extensions", "-p", "warnings", "-p", "logging", "--dburi", url, tests)
        return words, source("sqlalchemy", sources), {}
    if kind == "psycopg":
        dsn = " ".join(f"{key}={value}" for key, value in first.items())
        words = pytest_words("-m", "not slow and not flakey and not timing and not subprocess and not gevent and not dns",
                             "--ignore=tests/pool", "--ignore=tests/crdb", "--ignore=tests/test_typing.py", "--test-dsn", dsn, "tests")
        return words, source("psycopg", sources), {}
    words = [sys.executable, "runtests.py", "--settings=django_settings", "--keepdb", "--noinput", "--parallel=1", "-v0", part]
    more = {"WEFT_SUITE_DATABASES": json.dumps({"default": places[0], "other": places[1]})}
    return words, os.path.join(source("django", sources), "tests"), more


def run(suite, system, arguments):
    """Runs a suite on a system; its outcomes are in a file then."""
    file = os.path.join(arguments.out, f"{suite}.{system.name}.jsonl")
    if os.path.exists(file):
        os.remove(file)
    begun = time.monotonic()
    with system as places, open(os.path.join(arguments.out, f"{suite}.{system.name}.log"), "w", encoding="utf-8") as log:
        prepare(suite, places)
        words, folder, more = command(suite, places, arguments.sources)
        environment = {**os.environ, **more, "WEFT_OUTCOMES": file, "WEFT_SUITE_SYSTEM": system.name,
                       "PYTHONPATH": PLUGINS}
        try:
            subprocess.run(words, cwd=folder, env=environment, stdout=log, stderr=log, timeout=arguments.seconds, check=False)
        except subprocess.TimeoutExpired:
            print(f"{suite} on {system.name}: stopped after {arguments.seconds} s", flush=True)
    print(f"{suite} on {system.name}: {len(outcomes(file))} tests, {time.monotonic() - begun:.0f} s", flush=True)


def prepare(suite, places):
    """The schemas that SQLAlchemy's README.unittests asks for."""
    if suite.startswith("sqlalchemy"):
        with psycopg.connect(**places[0], autocommit=True) as connection:
            connection.execute("CREATE SCHEMA test_schema")
            connection.execute("CREATE SCHEMA test_schema_2")


def outcomes(file):
    """Test to (outcome, reason); the worst where a test has several."""
    found = {}
    if not os.path.exists(file):
        return found
    with open(file, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if found.get(line["test"], ("", ""))[0] != "failed":
                found[line["test"]] = (line["outcome"], line["reason"])
    return found


def normal(test):
    """A test's name without the server's version, which SQLAlchemy puts into it."""
    return re.sub(r"_postgresql\+[a-z]+2?(_\d+)*", "", test)


def compare(suite, folder):
    """The table of a suite, as lines of Markdown; (tests, passed on PostgreSQL, the same, lost)."""
    first, second = (outcomes(os.path.join(folder, f"{suite}.{name}.jsonl")) for name in ("PostgreSQL", "Weft"))
    first, second = ({normal(test): outcome for test, outcome in found.items()} for found in (first, second))
    groups, same, passed = collections.Counter(), 0, 0
    for test, (outcome, _) in first.items():
        other = second.get(test, ("not run", "not run"))
        passed += outcome == "passed"
        if outcome == other[0]:
            same += 1
        elif outcome == "passed":
            groups[f"{other[0]}: {other[1]}" if other[0] == "skipped" else other[1]] += 1
        else:
            groups[f"({outcome} on PostgreSQL, {other[0]} on Weft)"] += 1
    lines = [f"## {suite}", "", f"{len(first)} tests, {passed} pass on PostgreSQL, {same} have the same outcome on Weft.", ""]
    if groups:
        lines += ["| tests | on Weft |", "|---:|---|"]
        lines += [f"| {count} | {text.replace('|', chr(92) + '|')} |" for text, count in groups.most_common(SHOWN)]
        rest = groups.most_common()[SHOWN:]
        if rest:
            lines.append(f"| {sum(count for _, count in rest)} | {len(rest)} others |")
        lines.append("")
    return lines, (suite, len(first), passed, same, len(first) - same)


def main():
    given = arguments()
    for name in ("out", "sources", "weft"):
        setattr(given, name, os.path.abspath(getattr(given, name)))
    os.makedirs(given.out, exist_ok=True)
    suites = given.suites.split(",")
    for suite in suites:
        if given.only != "Weft":
            run(suite, PostgreSQL(given.postgres, suite), given)
        if given.only != "PostgreSQL":
            with open(os.path.join(given.out, f"{suite}.server.log"), "w", encoding="utf-8") as log:
                run(suite, WeftPair(given.weft, log), given)
    text, rows = [], []
    for suite in suites:
        lines, row = compare(suite, given.out)
        text += lines
        rows.append(row)
    table = ["| suite | tests | pass on PostgreSQL | same outcome | other outcome |", "|---|---:|---:|---:|---:|"]
    table += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    text = "\n".join([*table, "", *text])
    with open(os.path.join(given.out, "summary.md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text)


if __name__ == "__main__":
    main()
