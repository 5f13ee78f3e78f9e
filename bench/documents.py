#!/usr/bin/env python3
"""Documents in a jsonb column beside DuckDB, chdb (ClickHouse) and PostgreSQL: loading, bytes, queries, in one run.

    python3 bench/documents.py [--shape sensors] [--count 200000] [--rounds 5] [--weft target/release/weft]
                               [--systems weft,duckdb-typed,duckdb-json,duckdb-variant,chdb,postgresql] [--update-doc]

`weft bench documents --write` makes one file of documents, a line each. Every system loads that file with nothing said about
its fields (DuckDB's typed form infers them, which is its way), and answers the same queries; the first run of each is not
counted. Answers are compared with Weft's. Two threads for everybody.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import packages

packages.ensure("duckdb", "chdb")

import duckdb  # noqa: E402

import machine  # noqa: E402
import transactions as base  # noqa: E402

DOC = os.path.join(base.ROOT, "docs", "benchmarks", "documents.md")
SYSTEMS = ["weft", "duckdb-typed", "duckdb-json", "duckdb-variant", "chdb", "postgresql"]
DAY = (1556496000000, 1556582400000)
TOP = "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10"

# Per system: how an element and its members are said. Weft's own texts are in crates/weft-bench/src/bench/documents/queries.rs.
SENSORS = {
    "q1": "SELECT count(*) FROM docs",
    "q2": "SELECT max({temp}) FROM {elements}",
    "q3": "SELECT {sensor_id}, max({temp}) FROM {elements} " + TOP,
    "q4": "SELECT {sensor_id}, max({temp}) FROM {elements} WHERE {report_time} >= %d AND {report_time} < %d " % DAY + TOP,
    "e1": "SELECT {sensor_id}, max({temp} * 1.8 + 32) FROM {elements} "
          "WHERE {ts} % 86400000 < 43200000 AND {temp} * 1.8 + 32 > 60 " + TOP,
    "e2": "SELECT {status}, count(*), avg({temp}), min({ts}) FROM {elements} GROUP BY 1 ORDER BY 1",
}
WORDS = {
    "duckdb-typed": {"elements": "docs, unnest(readings) AS u(r)", "temp": "r.temp", "ts": "r.ts", "status": "status",
                     "sensor_id": "sensor_id", "report_time": "report_time"},
    "duckdb-json": {"elements": "(SELECT doc, unnest(CAST(doc->'$.readings' AS JSON[])) AS r FROM docs)",
                    "temp": "CAST(r->>'$.temp' AS DOUBLE)", "ts": "CAST(r->>'$.ts' AS BIGINT)", "status": "doc->>'$.status'",
                    "sensor_id": "doc->>'$.sensor_id'", "report_time": "CAST(doc->>'$.report_time' AS BIGINT)"},
    "duckdb-variant": {"elements": "(SELECT doc, unnest(CAST(doc.readings AS VARIANT[])) AS r FROM docs)",
                       "temp": "CAST(r.temp AS DOUBLE)", "ts": "CAST(r.ts AS BIGINT)", "status": "CAST(doc.status AS VARCHAR)",
                       "sensor_id": "CAST(doc.sensor_id AS VARCHAR)", "report_time": "CAST(doc.report_time AS BIGINT)"},
    "chdb": {"elements": "docs ARRAY JOIN doc.readings[].temp.:Float64 AS temp, doc.readings[].ts.:Int64 AS ts",
             "temp": "temp", "ts": "ts", "status": "doc.status.:String", "sensor_id": "doc.sensor_id.:String",
             "report_time": "doc.report_time.:Int64"},
    "postgresql": {"elements": "docs, jsonb_array_elements(doc->'readings') AS r", "temp": "(r->>'temp')::float8",
                   "ts": "(r->>'ts')::bigint", "status": "doc->>'status'", "sensor_id": "doc->>'sensor_id'",
                   "report_time": "(doc->>'report_time')::bigint"},
}


def texts(system):
    return {name: text.format(**WORDS[system]) if "{" in text else text for name, text in SENSORS.items()}


def timed(work):
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def queries(run, system, args):
    results, answers = {}, {}
    for name, sql in texts(system).items():
        if args.only and name not in args.only.split(","):
            continue
        try:
            answers[name] = rounded(run(sql))
            results[name] = statistics.median(timed(lambda sql=sql: run(sql))[0] for _ in range(args.rounds)) * 1e3
        except Exception as error:  # noqa: BLE001: whatever a system says of a query, the others go on
            print(f"{system} {name}: {str(error).splitlines()[0][:200]}", flush=True)
    return results, answers


def rounded(rows):
    """Answers as texts that all systems agree on: doubles to nine digits."""
    return sorted(tuple(f"{float(v):.9g}" if is_number(v) else str(v) for v in row) for row in rows)


def is_number(value):
    try:
        float(value)
        return True
    except (TypeError, ValueError):
        return False


def run_weft(file, args, folder):
    command = [args.weft, "bench", "documents", "--shapes", args.shape, "--count", str(args.count), "--file", file,
               "--rounds", str(args.rounds), "--dir", os.path.join(folder, "weft"), "--show"]
    if args.only:
        command += ["--only", args.only]
    results, answers = {}, {}
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in out.splitlines():
        if line.startswith("{"):
            found = json.loads(line)
            results[found["name"].split(".", 1)[1]] = found["value"]
        else:
            name, row = line.split(": ", 1)
            answers.setdefault(name.split(".", 1)[1], []).append(row.split(" | "))
    return results, {name: rounded(rows) for name, rows in answers.items()}


def run_duckdb(system, file, args, folder):
    path = os.path.join(folder, system)
    connection = duckdb.connect(path, config={"threads": 2})
    source = {"duckdb-typed": f"SELECT * FROM read_json_auto('{file}', format='newline_delimited')",
              "duckdb-json": f"SELECT json AS doc FROM read_ndjson_objects('{file}')",
              "duckdb-variant": f"SELECT CAST(json AS VARIANT) AS doc FROM read_ndjson_objects('{file}')"}[system]

    def load():
        connection.execute(f"CREATE TABLE docs AS {source}")
        connection.execute("CHECKPOINT")

    taken, _ = timed(load)
    results, answers = queries(lambda sql: connection.execute(sql).fetchall(), system, args)
    connection.close()
    return {"load": taken, "database": os.path.getsize(path) / 1e6, **results}, answers


def run_chdb(file, args, folder):
    from chdb import session as sessions
    session = sessions.Session(os.path.join(folder, "chdb"))
    session.query("CREATE TABLE docs (doc JSON) ENGINE = MergeTree ORDER BY tuple()")
    session.query("SET max_threads = 2")
    load = f"INSERT INTO docs SELECT json FROM file('{file}', 'JSONAsObject', 'json JSON')"
    taken, _ = timed(lambda: session.query(load))
    session.query("OPTIMIZE TABLE docs FINAL")
    size = float(str(session.query("SELECT sum(bytes_on_disk) FROM system.parts WHERE table = 'docs' AND active", "TSV")).strip())

    def run(sql):
        return [line.split("\t") for line in str(session.query(sql, "TSV")).splitlines()]

    results, answers = queries(run, "chdb", args)
    session.close()
    return {"load": taken, "database": size / 1e6, **results}, answers


def run_postgresql(file, args, folder):
    place = os.path.join(folder, "pg")
    os.mkdir(place)
    server = base.Server(place, "2GB")
    try:
        server.sql("postgres", "CREATE TABLE docs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, doc jsonb)")
        # Quote and delimiter are characters that no document has: a line is a value.
        copy = f"\\copy docs (doc) from '{file}' with (format csv, quote e'\\x01', delimiter e'\\x02')"
        command = ["psql", "-qX", "-h", server.folder, "-U", "bench", "-d", "postgres", "-c", copy]
        taken, _ = timed(lambda: subprocess.run(command, check=True))
        server.sql("postgres", "VACUUM ANALYZE docs")
        size = float(server.sql("postgres", "SELECT pg_total_relation_size('docs')"))

        def run(sql):
            out = subprocess.run([*command[:-2], "-At", "-F", "\t", "-c", sql], stdout=subprocess.PIPE, text=True, check=True).stdout
            return [line.split("\t") for line in out.splitlines()]

        results, answers = queries(run, "postgresql", args)
    finally:
        server.stop()
    return {"load": taken, "database": size / 1e6, **results}, answers


def markdown(results, facts, text_mb):
    units = {"load": "load, s", "database": "bytes, MB", "updates": "updates, 1/s"}
    names = ["load", "database", *SENSORS, "updates", *(f"updated.{name}" for name in SENSORS)]
    systems = list(results)
    lines = [f"{facts['count']} documents, {text_mb:.0f} MB; median of {facts['rounds']} runs, milliseconds where nothing else is said.", ""]
    lines += [f"- {name}: {facts[name]}" for name in ("date", "cpu", "cpus", "memory", "load")]
    lines += ["", "| | " + " | ".join(systems) + " |", "|---|" + "---:|" * len(systems)]
    for name in names:
        values = [results[system].get(name) for system in systems]
        if any(value is not None for value in values):
            lines.append(f"| {units.get(name, name)} | " + " | ".join("" if v is None else f"{v:.3g}" if v < 100 else f"{v:.0f}" for v in values) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="sensors", choices=["sensors"])
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only")
    parser.add_argument("--weft", default=os.path.join(base.ROOT, "target", "release", "weft"))
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--update-doc", action="store_true", help="write the table into docs/benchmarks/documents.md")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="weft-documents-")
    os.chmod(folder, 0o755)
    facts = {"count": args.count, "rounds": args.rounds, **machine.facts(folder)}
    file = os.path.join(folder, "documents.json")
    try:
        subprocess.run([args.weft, "bench", "documents", "--shapes", args.shape, "--count", str(args.count), "--write", file], check=True)
        os.chmod(file, 0o644)
        results, answers = {}, {}
        for system in args.systems.split(","):
            run = {"weft": run_weft, "chdb": run_chdb, "postgresql": run_postgresql}.get(system)
            try:
                results[system], answers[system] = run(file, args, folder) if run else run_duckdb(system, file, args, folder)
            except Exception as error:  # noqa: BLE001: a system that is not there is left out, and said
                print(f"{system} is left out: {str(error).splitlines()[0][:300]}", flush=True)
                continue
            print(system, json.dumps({name: round(value, 2) for name, value in results[system].items()}), flush=True)
        for system, found in answers.items():
            for name, rows in found.items():
                expected = answers.get("weft", {}).get(name)
                if expected is not None and rows != expected:
                    print(f"{system} {name}: another answer than Weft's: {rows[:3]} and {expected[:3]}")
        text = markdown(results, facts, os.path.getsize(file) / 1e6)
        if args.update_doc:
            machine.write_between(DOC, "documents.py", text)
        print(text)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
