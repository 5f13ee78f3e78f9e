#!/usr/bin/env python3
"""Computes the reference answers with DuckDB.

    python3 tests/tpch/answers.py FOLDER      FOLDER holds region.1.csv ... lineitem.1.csv with headers, scale 0.1

The files come from the crate tpchgen (the same generator the test uses); write them with
`WEFT_TPCH_CSV=FOLDER cargo test --release -p weft --test tpch every_row`. Needs the Python package duckdb.
"""

import glob
import os
import sys

import duckdb

here = os.path.dirname(os.path.abspath(__file__))
con = duckdb.connect()
con.execute(open(os.path.join(here, "schema.sql")).read())
for table in "region nation part supplier partsupp customer orders lineitem".split():
    con.execute(f"copy {table} from '{os.path.join(sys.argv[1], table)}.*.csv' (header true)")
for query in sorted(glob.glob(os.path.join(here, "q*.sql"))):
    name = os.path.basename(query)[:-4]
    sql = open(query).read()
    con.execute(f"copy ({sql}) to '{os.path.join(here, 'answers', name)}.csv' (header true)")
    print(name, con.execute(f"select count(*) from ({sql})").fetchone()[0], "rows")
