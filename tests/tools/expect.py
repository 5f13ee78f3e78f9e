#!/usr/bin/env python3
"""Writes what PostgreSQL, and beside it Weft, answers to the statements of tools.

    python3 tests/tools/expect.py --weft "host=127.0.0.1 port=5432 user=weft dbname=weft"      all scripts of this folder
    python3 tests/tools/expect.py --weft ... --check pgadmin.txt                                 writes nothing, shows what differs

Starts a PostgreSQL of its own for as long as it runs; the server named by --weft is empty or has had schema.sql loaded.
The form of a script, and what is made equal before answers are compared, stand in README.md of this folder; the test that
compares Weft's answers from then on is crates/weft-server/tests/tools.rs. Needs psycopg 3, initdb and postgres.
"""

import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import psycopg

HERE = pathlib.Path(__file__).parent
# Rows that one side alone gives are written up to here; of PostgreSQL's further ones the number.
ROWS_MAX = 12

TYPES = {"unknown": 0, "bool": 16, "name": 19, "int8": 20, "int2": 21, "int4": 23, "text": 25, "oid": 26, "varchar": 1043, "_oid": 1028}
FAMILIES = {16: "bool", 20: "int8", 21: "int2", 23: "int4", 26: "oid", 700: "float4", 701: "float8", 1184: "timestamptz"}
FAMILIES |= {28: "int8", 114: "json", 1028: "oid[]", 1005: "int2[]", 1007: "int4[]"}

# Objects whose numbers a server gives: (their numbers, their names).
NUMBERED = [sql for sql in (HERE / "objects.sql").read_text().split(";\n") if sql.strip()]


class Statement:
    def __init__(self, block):
        head, _, rest = block.partition("\n")
        self.head = head
        self.name, *options = [part.strip() for part in head.split(";")]
        self.is_prepared = "prepared" in options
        self.is_sorted = "sorted" in options
        self.varies = next((option[8:].split(", ") for option in options if option.startswith("varies: ")), [])
        sql, _, _ = rest.partition("\n---")
        lines = sql.strip("\n").split("\n")
        self.params = []
        while lines and re.match(r"\$\d+ \w+ = ", lines[-1]):
            kind, value = re.match(r"\$\d+ (\w+) = (.*)", lines.pop()).groups()
            self.params.insert(0, (kind, value))
        self.sql = "\n".join(lines)

    def render(self, answer):
        params = "".join(f"${at} {kind} = {value}\n" for at, (kind, value) in enumerate(self.params, 1))
        return f"=== {self.head}\n{self.sql}\n{params}---\n{answer}\n"


class Server:
    def __init__(self, dsn, is_loaded):
        self.dsn = dsn
        if not is_loaded:
            subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", dsn, "-f", HERE / "schema.sql"], check=True)
        self.numbers, self.names = {}, {}
        with psycopg.connect(dsn, autocommit=True) as connection:
            for sql in NUMBERED:
                for number, name in connection.execute(sql):
                    self.numbers[name] = str(number)
                    if int(number) >= 16384:
                        self.names.setdefault(str(number), name)
        self.session()

    def session(self):
        """Each script has a session of its own."""
        self.connection = psycopg.connect(self.dsn, autocommit=True)

    def named(self, text):
        return re.sub(r"[\d.]*\d[\d.]*", lambda found: self.shown(found.group()), text)

    def shown(self, number):
        return f"<{self.names[number]}>" if number in self.names else number

    def numbered(self, text):
        return re.sub(r"@\{([^}]*)\}", lambda found: self.numbers[found.group(1)], text)

    def answer(self, statement):
        wire, lines = self.connection.pgconn, []
        sql = self.numbered(statement.sql).encode()
        if statement.is_prepared:
            values = [self.numbered(value).encode() for _, value in statement.params]
            wire.send_query_params(sql, values, [TYPES[kind] for kind, _ in statement.params])
        else:
            wire.send_query(sql)
        while True:
            while wire.is_busy():
                wire.consume_input()
            result = wire.get_result()
            if result is None:
                return lines
            lines += self.lines(result, statement)

    def lines(self, result, statement):
        if result.error_message:
            return [f"error {result.error_field(psycopg.pq.DiagnosticField.SQLSTATE).decode()}"]
        if result.nfields == 0:
            return [result.command_status.decode() if result.command_status else ""]
        names = [result.fname(column).decode() for column in range(result.nfields)]
        types = [FAMILIES.get(result.ftype(column), "text") for column in range(result.nfields)]
        rows = []
        for row in range(result.ntuples):
            values = [result.get_value(row, column) for column in range(result.nfields)]
            rows.append(" | ".join(self.cell(name, value, statement) for name, value in zip(names, values)))
        if statement.is_sorted:
            rows.sort(key=lambda row: row.encode())
        return [" | ".join(f"{name}:{kind}" for name, kind in zip(names, types)), *rows]

    def cell(self, name, value, statement):
        if value is None:
            return "NULL"
        if name in statement.varies:
            return "(varies)"
        if name == "attoptions" and re.fullmatch(rb"\{pg_attver=\d+\}", value):
            return "NULL"
        return self.named(value.decode().replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r"))


def merged(postgresql, weft):
    """Lines of both begin with two blanks, those of one with its name."""
    out, equal = [], True
    for op, a, b, c, d in difflib.SequenceMatcher(None, postgresql, weft, autojunk=False).get_opcodes():
        if op == "equal":
            out += ["  " + line for line in postgresql[a:b]]
            continue
        equal = False
        theirs = postgresql[a:b]
        if len(theirs) > ROWS_MAX:
            theirs = theirs[:ROWS_MAX] + [f"... and {len(theirs) - ROWS_MAX} more lines"]
        out += ["postgresql: " + line for line in theirs] + ["weft: " + line for line in weft[c:d]]
    return "\n".join(line.rstrip() for line in out) + "\n", equal


def postgres(folder):
    """Starts a server whose database and superuser are named weft."""
    found = shutil.which("initdb") or sorted(map(str, pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")))[-1]
    bin_dir, data = os.path.dirname(found), folder + "/data"
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres")
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder}
    init = [f"{bin_dir}/initdb", "-D", data, "-U", "weft", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]
    subprocess.run(as_user + init, **quiet)
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off -c TimeZone=UTC -c autovacuum=off"
    subprocess.run(as_user + [f"{bin_dir}/pg_ctl", "-D", data, "-w", "-o", options, "start"], **quiet)
    # The first database has the same number everywhere.
    subprocess.run(["psql", "-X", "-q", "-h", folder, "-U", "weft", "-d", "template1", "-c", "ALTER DATABASE postgres RENAME TO weft"], check=True)
    return lambda: subprocess.run(as_user + [f"{bin_dir}/pg_ctl", "-D", data, "-m", "immediate", "stop"], **quiet)


def scripts(names):
    return [HERE / name for name in names] or sorted(path for path in HERE.glob("*.txt"))


def fill(path, theirs, ours, check):
    text = path.read_text(encoding="utf-8")
    head, *blocks = re.split(r"^=== ", text, flags=re.M)
    theirs.session()
    ours.session()
    out, equal = [head], 0
    for block in blocks:
        statement = Statement(block)
        answer, same = merged(theirs.answer(statement), ours.answer(statement))
        equal += same
        out.append(statement.render(answer))
        if check and not same:
            print(statement.render(answer))
    if not check:
        path.write_text("".join(out).rstrip("\n") + "\n", encoding="utf-8")
    print(f"{path.name}: {len(blocks)} statements, {equal} answered as PostgreSQL does")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stop = postgres(folder)
        try:
            theirs = Server(f"host={folder} user=weft dbname=weft", False)
            with psycopg.connect(arguments.weft) as connection:
                is_loaded = connection.execute("SELECT to_regclass('shop.orders')::text").fetchone()[0] is not None
            ours = Server(arguments.weft, is_loaded)
            for path in scripts(arguments.files):
                fill(path, theirs, ours, arguments.check)
        finally:
            stop()


if __name__ == "__main__":
    sys.exit(main())
