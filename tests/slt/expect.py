#!/usr/bin/env python3
"""Fills in what a PostgreSQL server answers.

    python3 tests/slt/expect.py "host=... dbname=..." FILE.slt...

Reads the statements of each file, runs them on an emptied schema `public`, and writes the file again with the server's results
and SQLSTATEs. Lines of comments, `connection`, `skipif` and `onlyif` are kept; records under `onlyif weft` are left alone: they are
the known differences. Needs psycopg2. A file that begins with
`# weft only` is left alone: its statements are Weft's own.
"""

import re
import sys

import psycopg2
import psycopg2.extensions as ext

OIDS = (16, 17, 18, 19, 20, 21, 23, 25, 26, 114, 199, 700, 701, 705, 1000, 1005, 1007, 1009, 1014, 1015, 1016, 1021, 1022, 1042, 1043)
OIDS += (1082, 1083, 1114, 1115, 1182, 1183, 1184, 1185, 1186, 1187, 1231, 1700, 2950, 2951, 3802, 3807, 1001)
OIDS += (1266, 869, 1560, 790)
OIDS += (22, 24, 30, 1002, 1003, 1028, 1034, 2205, 2206, 2210, 2211, 4089, 4096)


def connect(dsn):
    connection = psycopg2.connect(dsn)
    connection.autocommit = True
    ext.register_type(ext.new_type(OIDS, "TEXT", lambda value, cursor: value), connection)
    connection.cursor().execute("SET timezone = 'UTC'; SET client_min_messages = error")
    return connection


def letter(oid):
    if oid in (20, 21, 23):
        return "I"
    return "R" if oid in (700, 701, 1700) else "T"


def shown(value):
    if value is None:
        return "NULL"
    return "(empty)" if value == "" else value


def answer(connection, sql):
    cursor = connection.cursor()
    try:
        cursor.execute(sql)
    except psycopg2.Error as error:
        return f"statement error ({error.pgcode})\n{sql}\n"
    if cursor.description is None:
        if cursor.statusmessage.split()[0] in ("INSERT", "UPDATE", "DELETE", "MERGE"):
            return f"statement count {cursor.rowcount}\n{sql}\n"
        return f"statement ok\n{sql}\n"
    letters = "".join(letter(column.type_code) for column in cursor.description)
    rows = [" ".join(shown(value) for value in row) for row in cursor.fetchall()]
    sort = "nosort" if re.search(r"\border by\b", sql, re.I) and not sql.startswith("(") else "rowsort"
    if sort == "rowsort":
        rows.sort()
    return "\n".join([f"query {letters} {sort}", sql, "----", *rows, ""])


def statements(text):
    """Blocks of a .slt file: (all of it, lines before, statement)."""
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.split("\n")
        before = []
        while lines and re.match(r"#|connection |skipif |onlyif |control ", lines[0]):
            before.append(lines.pop(0))
        if lines and re.match(r"(statement|query) ", lines[0]):
            lines.pop(0)
        sql = []
        for line in lines:
            if line == "----":
                break
            sql.append(line)
        yield block, before, "\n".join(sql)


def fill(dsn, path):
    text = open(path, encoding="utf-8").read()
    if text.startswith("# weft only"):
        return 0
    cleaner = connect(dsn)
    cleaner.cursor().execute("DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public")
    connections = {}
    out, count, name = [], 0, "default"
    for raw, before, sql in statements(text):
        # As in sqllogictest, a connection's name holds for one statement.
        names = [line.split()[1] for line in before if line.startswith("connection ")]
        name = names[-1] if names else "default"
        block = "".join(line + "\n" for line in before)
        if "onlyif weft" in before:
            block = raw + "\n"
        elif sql:
            if name not in connections:
                connections[name] = connect(dsn)
            block += answer(connections[name], sql)
            count += 1
        out.append(block)
    open(path, "w", encoding="utf-8").write("\n".join(out))
    return count


if __name__ == "__main__":
    for file in sys.argv[2:]:
        print(file, fill(sys.argv[1], file), "statements")
