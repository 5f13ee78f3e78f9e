"""The tables and statements of crates/weft-bench/src/bench/xbench (table.rs, statements.rs, bench/data.rs), for DuckDB."""

import os

import numpy as np
import pyarrow as pa

EACH = 15
COLUMNS = 2 * EACH
INTEGERS = range(1, EACH + 1)
TEXTS = range(EACH + 1, COLUMNS + 1)
NARROW_BYTES = 8 + 4 * EACH
SHORT_ROW_BYTES = NARROW_BYTES + 5 * EACH
BATCH_BYTES, BATCH_ROWS = 16 << 20, 65_536
# The column of the formula that updates take their values from.
UPDATED = 20
with open(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "words.txt"), encoding="ascii") as file:
    WORDS = [f"{line.strip()} " for line in file]


def mix(rows, column):
    with np.errstate(over="ignore"):
        x = rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(column * 0xBF58476D1CE4E5B9 % 2**64)
        x ^= x >> np.uint64(32)
        x *= np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(29))


def integers(rows, column):
    return ((mix(rows, column) >> np.uint64(11)) % np.uint64(1_000_000)).astype(np.int32)


def short_texts(rows, column):
    return [f"s{v}" for v in ((mix(rows, 100 + column) >> np.uint64(11)) % np.uint64(10_000)).tolist()]


def wide_texts(rows, column, chars):
    """Words, frequent ones first: a word's number is the product of two bytes of the formula / 256. A list of texts."""
    texts, four = [""] * len(rows), 0
    while any(len(text) < chars for text in texts):
        four += 1
        pairs = mix(rows, 1_000 * four + column).astype(">u8").view(np.uint8).reshape(len(rows), 4, 2).astype(np.uint32)
        numbers = (pairs[:, :, 0] * pairs[:, :, 1] // 256).tolist()
        texts = [text + "".join(WORDS[number] for number in some) for text, some in zip(texts, numbers)]
    return [text[:chars] for text in texts]


def text_chars(row_bytes):
    return 0 if row_bytes is None else max((row_bytes - NARROW_BYTES) // EACH, 8)


def actual_row_bytes(row_bytes):
    return SHORT_ROW_BYTES if row_bytes is None else NARROW_BYTES + text_chars(row_bytes) * EACH


def batch_rows(row_bytes):
    return min(BATCH_BYTES // actual_row_bytes(row_bytes), BATCH_ROWS)


def text_array(rows, column, chars):
    if chars == 0:
        return pa.array(short_texts(rows, column))
    return pa.array(wide_texts(rows, column, chars))


def table(rows, row_bytes=None):
    """An Arrow table of these rows."""
    chars = text_chars(row_bytes)
    columns = {"col_0": pa.array(rows.astype(np.int64))}
    columns.update({f"col_{j}": pa.array(integers(rows, j)) for j in INTEGERS})
    columns.update({f"col_{j}": text_array(rows, j - EACH, chars) for j in TEXTS})
    return pa.table(columns)


def tuples(keys, of):
    """Rows with these keys and the values of rows `of`, short."""
    columns = [keys.tolist()] + [integers(of, j).tolist() for j in INTEGERS]
    return list(zip(*columns, *(short_texts(of, j - EACH) for j in TEXTS)))


def scattered(count):
    """0..count in the order in which rows are updated."""
    bits = max(int(count - 1).bit_length(), 2)
    mask, shift = np.uint64((1 << bits) - 1), np.uint64(bits // 2)
    numbers = np.arange(count, dtype=np.uint64)
    waiting = np.arange(count)
    with np.errstate(over="ignore"):
        while len(waiting):
            x = numbers[waiting]
            for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9):
                x = (x * np.uint64(factor)) & mask
                x ^= x >> shift
            numbers[waiting] = x
            waiting = waiting[x >= count]
    return numbers.astype(np.int64)


def create(name):
    columns = [f"col_{j} INTEGER" for j in INTEGERS] + [f"col_{j} VARCHAR" for j in TEXTS]
    return f"CREATE TABLE {name} (col_0 BIGINT PRIMARY KEY, {', '.join(columns)})"


INSERT = f"INSERT INTO table_1 VALUES ({', '.join(f'${j}' for j in range(1, COLUMNS + 2))})"
UPSERT = f"{INSERT} ON CONFLICT (col_0) DO UPDATE SET " + ", ".join(
    f"col_{j} = excluded.col_{j}" for j in range(1, COLUMNS + 1))
UPSERT_ONE = ("INSERT INTO table_1 (col_0, col_1) VALUES ($1, $2) "
              "ON CONFLICT (col_0) DO UPDATE SET col_1 = excluded.col_1")
UPDATE_ONE = "UPDATE table_1 SET col_1 = $2 WHERE col_0 = $1"
JOIN = ("SELECT t1.col_0, t1.col_1 FROM table_1 t1 JOIN table_2 t2 ON t1.col_1 = t2.col_0 "
        "WHERE t1.col_2 >= $1 AND t1.col_2 < $2")
RANGE = "FROM table_1 WHERE col_0 >= $1 AND col_0 < $2"


def update(columns):
    return f"UPDATE table_1 SET {', '.join(f'col_{j} = ${j}' for j in range(1, columns + 1))} WHERE col_0 = ${columns + 1}"


def sum_of(columns):
    return f"SELECT {' + '.join(f'col_{j}' for j in range(1, columns + 1))} {RANGE}"


def max_of(columns):
    return f"SELECT {', '.join(f'MAX(col_{j})' for j in range(1, columns + 1))} {RANGE}"


def projection(columns):
    names = [f"col_{at // 2 + 1 if at % 2 == 0 else EACH + 1 + at // 2}" for at in range(columns)]
    return f"SELECT {', '.join(names)} FROM table_1"


# What table.rs and bench/data.rs assert.
assert int(integers(np.arange(1000), 1).sum()) == 500_843_356 and short_texts(np.array([7]), 3) == ["s2296"]
assert wide_texts(np.array([7]), 3, 268)[0][:20] == "hand some as a both "
assert scattered(1000)[:8].tolist() == [0, 44, 515, 728, 39, 654, 847, 31]
assert sorted(scattered(1023).tolist()) == list(range(1023))
