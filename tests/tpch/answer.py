"""Computes the reference answers with DuckDB: python answer.py (needs the packages duckdb and tpchgen-cli)."""

import csv
import pathlib
import subprocess
import tempfile

import duckdb

HERE = pathlib.Path(__file__).parent
TABLES = ["region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tpchgen-cli", "csv", "-s", "0.1", f"--output-dir={folder}"], check=True)
        connection = duckdb.connect()
        connection.execute((HERE / "schema.sql").read_text())
        for table in TABLES:
            connection.execute(f"copy {table} from '{folder}/{table}.csv' (header)")
        for query in sorted(HERE.glob("q*.sql")):
            result = connection.execute(query.read_text())
            with open(HERE / "answers" / f"{query.stem}.csv", "w", newline="") as out:
                writer = csv.writer(out, lineterminator="\n")
                writer.writerow([column[0] for column in result.description])
                writer.writerows(result.fetchall())


if __name__ == "__main__":
    main()
