"""psycopg 3 against Weft: types in text and binary, transactions, pipelines, COPY, cursors, errors, cancelling.

Connects by libpq's environment (PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE). Ends with 0 when all is as it should be.
"""

import datetime as dt
import decimal
import enum
import threading
import time

import psycopg
from psycopg import errors
from psycopg.rows import dict_row
from psycopg.types.enum import EnumInfo, register_enum


def main():
    with psycopg.connect() as conn:
        conn.execute("DROP TABLE IF EXISTS readings")
        conn.execute(
            "CREATE TABLE readings (id integer PRIMARY KEY, at timestamptz, day date, amount numeric(12,3),"
            " ratio double precision, small smallint, big bigint, good boolean, note text)"
        )
    values_both_ways()
    transactions()
    pipelines()
    copies()
    cursors()
    enums()
    cancelling()
    print("psycopg: ok")


def values_both_ways():
    row = (
        1,
        dt.datetime(2026, 11, 21, 12, 30, 15, 123456, tzinfo=dt.timezone.utc),
        dt.date(1999, 12, 31),
        decimal.Decimal("-12345.678"),
        0.1,
        -7,
        2**62,
        True,
        "naïve ' \\ text",
    )
    marks = ", ".join(["%s"] * len(row))
    for binary in (False, True):
        with psycopg.connect(autocommit=True) as conn:
            conn.execute("DELETE FROM readings")
            conn.execute(f"INSERT INTO readings VALUES ({marks})", row, binary=binary)
            conn.execute(f"INSERT INTO readings VALUES ({marks})", (2,) + (None,) * 8, binary=binary)
            cursor = conn.cursor(binary=binary)
            found = cursor.execute("SELECT * FROM readings ORDER BY id").fetchall()
            assert found == [row, (2,) + (None,) * 8], found
            names = [column.name for column in cursor.description]
            assert names[:3] == ["id", "at", "day"], names
            for value in (5, 2**40, 1.25, "x", True, decimal.Decimal("1.50"), dt.date(2020, 2, 29)):
                back = conn.execute("SELECT %s", (value,), binary=binary).fetchone()[0]
                assert back == value, (value, back)


def transactions():
    with psycopg.connect() as conn:
        conn.execute("DELETE FROM readings")
        try:
            with conn.transaction():
                conn.execute("INSERT INTO readings (id) VALUES (1)")
                with conn.transaction():
                    conn.execute("INSERT INTO readings (id) VALUES (2)")
                    raise psycopg.Rollback()
        except psycopg.Rollback:
            pass
    with psycopg.connect() as conn:
        conn.execute("INSERT INTO readings (id) VALUES (3)")
        conn.rollback()
        try:
            conn.execute("INSERT INTO readings (id) VALUES (4), (4)")
            raise AssertionError("a duplicate key was taken")
        except errors.UniqueViolation as error:
            assert error.diag.constraint_name == "readings_pkey", error.diag.constraint_name
            assert error.diag.table_name == "readings"
        assert conn.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
        conn.rollback()
        conn.read_only = True
        try:
            conn.execute("DELETE FROM readings")
            raise AssertionError("a read-only transaction wrote")
        except errors.ReadOnlySqlTransaction:
            conn.rollback()
        assert conn.execute("SELECT count(*) FROM readings").fetchone() == (1,)


def pipelines():
    with psycopg.connect(autocommit=True) as conn:
        conn.execute("DELETE FROM readings")
        with conn.pipeline():
            for key in range(500):
                conn.execute("INSERT INTO readings (id, big) VALUES (%s, %s)", (key, key * key))
        assert conn.execute("SELECT count(*), sum(big) FROM readings").fetchone()[0] == 500
        with conn.cursor() as cursor:
            cursor.executemany("UPDATE readings SET note = %s WHERE id = %s", [(str(key), key) for key in range(500)])
            assert cursor.rowcount == 500, cursor.rowcount
        prepared = conn.execute("SELECT note FROM readings WHERE id = %s", (77,), prepare=True)
        assert prepared.fetchone() == ("77",)


def copies():
    with psycopg.connect(autocommit=True) as conn:
        conn.execute("DELETE FROM readings")
        with conn.cursor() as cursor:
            with cursor.copy("COPY readings (id, amount, note) FROM STDIN") as copy:
                for key in range(1000):
                    copy.write_row((key, decimal.Decimal(key) / 8, None if key % 3 else f"tab\t{key}\nline"))
            with cursor.copy("COPY (SELECT id, note FROM readings WHERE id < 4 ORDER BY id) TO STDOUT") as copy:
                rows = list(copy.rows())
            assert rows == [("0", "tab\t0\nline"), ("1", None), ("2", None), ("3", "tab\t3\nline")], rows
            with cursor.copy("COPY readings (id, note) FROM STDIN (FORMAT binary)") as copy:
                copy.set_types(["int4", "text"])
                copy.write_row((5000, "binary"))
        assert conn.execute("SELECT count(*), sum(amount) FROM readings").fetchone() == (1001, decimal.Decimal("62437.500"))


def cursors():
    with psycopg.connect(row_factory=dict_row) as conn:
        with conn.cursor(name="walk") as cursor:
            cursor.itersize = 100
            cursor.execute("SELECT id FROM readings ORDER BY id")
            assert [row["id"] for row in cursor][:3] == [0, 1, 2]


class Mood(enum.Enum):
    sad = 1
    ok = 2
    happy = 3


def enums():
    with psycopg.connect(autocommit=True) as conn:
        conn.execute("DROP TABLE IF EXISTS people")
        conn.execute("DROP TYPE IF EXISTS mood")
        conn.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
        conn.execute("CREATE TABLE people (id integer PRIMARY KEY, m mood, ms mood[])")
        info = EnumInfo.fetch(conn, "mood")
        assert list(info.labels) == ["sad", "ok", "happy"], info.labels
        register_enum(info, conn, Mood)
        rows = [(1, Mood.ok, [Mood.sad, Mood.happy]), (2, Mood.happy, None), (3, Mood.sad, [])]
        conn.cursor().executemany("INSERT INTO people VALUES (%s, %s, %s)", rows)
        for binary in (False, True):
            cursor = conn.cursor(binary=binary)
            found = cursor.execute("SELECT id, m, ms FROM people ORDER BY m DESC").fetchall()
            assert found == [rows[1], rows[0], rows[2]], found
        assert conn.execute("SELECT id FROM people WHERE m = %s", (Mood.ok,)).fetchall() == [(1,)]
        some = [Mood.ok, Mood.happy]
        assert conn.execute("SELECT id FROM people WHERE m = ANY(%s) ORDER BY id", (some,)).fetchall() == [(1,), (2,)]
        with conn.cursor().copy("COPY people TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["int4", "mood", "mood[]"])
            assert sorted(copy.rows()) == rows
        try:
            conn.execute("INSERT INTO people VALUES (4, 'angry')")
            raise AssertionError("a label that there is not was taken")
        except errors.InvalidTextRepresentation:
            pass


def cancelling():
    joined = "SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 100000) b(y) WHERE x + y = 1"
    for long in ("SELECT pg_sleep(20)", joined):
        with psycopg.connect(autocommit=True) as conn:
            timer = threading.Timer(0.2, conn.cancel)
            begun = time.monotonic()
            timer.start()
            try:
                conn.execute(long)
                raise AssertionError(f"it was not cancelled: {long}")
            except errors.QueryCanceled:
                assert time.monotonic() - begun < 5
            assert conn.execute("SELECT 1").fetchone() == (1,)


main()
