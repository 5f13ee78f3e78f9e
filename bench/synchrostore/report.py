"""docs/benchmarks/synchrostore.md: our figures beside the paper's, the aims, and explanations that people write.

    <!-- explanation: fig6 -->
    what stands here is kept when the file is written again
    <!-- end explanation -->
"""

import os
import re

from . import plots

DOC = "synchrostore.md"

INTRODUCTION = """# The experiments of SynchroStore

SynchroStore's experiments (sections 1.2 and 4 of its paper) on Weft, beside DuckDB in the same run, both durable:

```sh
cargo build --release
python3 bench/xbench.py --rows 1500000 --memory-limit 768MB --update-doc
```

Not all of the figures below come from one run: each says its sizes. Table 1 and its form with pauses have wide rows, 1.2 GB:

```sh
python3 bench/xbench.py --add --memory-limit 768MB --only table1,paced --rows 300000 --mix-row-bytes 4096 \\
    --queries 20100 --schedulers cost,greedy --writes-per-second 1500 --reads-per-second 250 --update-doc
```

Figures 6 and 7a have all upserts of Weft measured (`--weft-update-seconds 0`, the default), those of DuckDB for `--update-seconds` of each
share. 1 was run with `--only fig1 --update-seconds 4`, 7b with `--only fig7b
--wide-rows 30000 --update-seconds 20`, 8 with `--only fig8 --sizes 1024,2048,4096,8192`, the soak with `--only soak --soak-seconds 1800`.

`weft bench xbench` runs on Weft what `bench/synchrostore/duck.py` runs on DuckDB: tables of 31 columns (`col_0 bigint PRIMARY
KEY`, 15 integers, 15 strings) by the same formula, and after each experiment both must have the same count and sum. The
paper's data has 10 to 20 GB on a machine with 48 cores; ratios are compared, not times.

| configuration | what it is |
|---|---|
| incremental columns | `WITH (incremental = 'columns')`: what is written becomes column tables at once |
| incremental rows | `WITH (incremental = 'rows')`: what is written stays in row tables, which are never converted |
| Weft | row tables that are converted in small steps |
| traditional | `WITH (compaction = 'whole')`: all incremental data is merged into all of the baseline |
| cost, greedy, off | `SET scheduler = ...`: jobs where idle cores are expected; as soon as there is work; only by hand |

An ablation is the same code with one idea taken out. Every statement is a prepared one with a commit of its own. Results are
read to the last value. DuckDB runs each statement in the fastest of the ways that its client offers (tried before the run).

The statements are the paper's as it prints them:

| | statement | here |
|---|---|---|
| SQL1 | `INSERT INTO table_1 VALUES (...)` | a new key; as an upsert with `ON CONFLICT (col_0) DO UPDATE`, half of the keys are new |
| SQL2 | `UPDATE table_1 SET col_1 = ..., col_k = ... WHERE col_0 = v` | k = `--update-columns` |
| SQL3 | `SELECT col_1 + ... + col_n FROM table_1 WHERE col_0 in [v_start, v_end)` | n = `--sum-columns`, `--range-rows` keys |
| SQL4 | `SELECT MAX(col_1), ..., MAX(col_k) FROM table_1 WHERE col_0 in [v_start, v_end)` | k = `--max-columns` |
| SQL5 | `SELECT t1.col_0, t1.col_1 FROM table_1 t1 JOIN table_2 t2 ON t1.col_1 = t2.col_0 WHERE t1.col_2 in [v_start, v_end)` | `--filter-width` values of col_2; table_2 has a tenth of the rows |

The paper's text says that SQL5 groups and sorts; its listing does not, and neither does this. SQL3 gives a row per key.
"""

QUANTILES = ["p50", "p75", "p99", "p99.9", "p99.99"]
# Table 1 of the paper: SynchroStore, SynchroStore-NoScheduler.
PAPER_TABLE1 = {"p50": (35.9, 39.58), "p75": (59.44, 73.32), "p99": (261.33, 356.69), "p99.9": (364.43, 553.3),
                "p99.99": (475.24, 731.22)}
# Under the mix, share of DuckDB; cost against greedy.
PAPER_FIG9 = {"insert": (0.27, 0.83), "update": (0.12, 0.81)}


def shown(value, digits=3):
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def percent(part, whole):
    return None if part is None or not whole else 100 * part / whole


def percent_text(value):
    return "-" if value is None else f"{value:.1f} %" if value < 1000 else f"{value:,.0f} %"


def table(head, rows):
    marks = ["---"] + ["---:"] * (len(head) - 1)
    return ["| " + " | ".join(row) + " |" for row in [head, marks, *rows]]


class Aims:
    """Wanted, seen, met."""

    def __init__(self):
        self.rows = []

    def at_most(self, what, seen, wanted, unit="%"):
        if seen is not None:
            self.rows.append([what, f"≤ {wanted:g} {unit}", f"{shown(seen)} {unit}", "yes" if seen <= wanted else "no"])

    def at_least(self, what, seen, wanted, unit):
        if seen is not None:
            self.rows.append([what, f"≥ {wanted:,} {unit}", f"{shown(seen)} {unit}", "yes" if seen >= wanted else "no"])

    def text(self):
        return [""] + table(["aim", "wanted", "seen", "met"], self.rows) if self.rows else []


def whole_weft(lines, experiment):
    """The configuration that is Weft as it is."""
    return next((name for name in ("fine", "cost", "default") if name in lines.configurations(experiment)), "fine")


def not_slower_than_duckdb(lines, aims, experiment, metric, what, bare="%"):
    """An ablation is no strawman: at the last point none takes longer than DuckDB."""
    for name in lines.configurations(experiment):
        points = lines.series(experiment, name, metric)
        other = dict(lines.series(experiment, "duckdb", metric))
        if name not in ("duckdb", "none") and points and points[-1][0] in other:
            x, value = points[-1]
            aims.at_most(f"{what}, {plots.label(name)} : DuckDB at {x:g}", percent(value, other[x]), 100, bare)


def by_ratio(lines, experiment, metric, unit):
    """A row per ratio with the configurations side by side."""
    names = lines.configurations(experiment)
    rows = [[f"{x:g} %", *(shown(lines.value(experiment, name, x, metric)) for name in names)]
            for x in lines.xs(experiment, metric)]
    return table([f"updated ({unit})", *map(plots.label, names)], rows)


def fig1(lines):
    text = ["UPDATE of one column of a share of all rows, one commit each, then `SELECT col_1 FROM table_1`. The paper gives "
            "curves without numbers: rows are far cheaper to update, and the query after them grows with their share while "
            "columns stay flat.", "", *by_ratio(lines, "fig1", "update_s", "s for all updates"), "",
            *by_ratio(lines, "fig1", "query_ms", "ms for the query")]
    aims = Aims()
    not_slower_than_duckdb(lines, aims, "fig1", "update_mean_us", "one update")
    not_slower_than_duckdb(lines, aims, "fig1", "query_ms", "the query")
    return text + aims.text()


def beside_ablations(lines, experiment, metric):
    """Of each point what Weft is of incremental columns, and of incremental rows, in percent."""
    for x in lines.xs(experiment, metric):
        names = (whole_weft(lines, experiment), "columns", "rows")
        ours, columns, rows = (lines.value(experiment, name, x, metric) for name in names)
        yield x, percent(ours, columns), percent(ours, rows)


def ablation_table(points, paper):
    """The same beside the paper's texts for some of the points."""
    rows = []
    for x, of_columns, of_rows in points:
        wanted = paper.get(x, ("-", "-"))
        rows.append([f"{x:g} %", percent_text(of_columns), wanted[0], percent_text(of_rows), wanted[1]])
    return table(["updated", "Weft : columns", "paper", "Weft : rows", "paper"], rows)


def fig6(lines):
    points, aims = list(beside_ablations(lines, "fig6", "update_s")), Aims()
    for x, of_columns, of_rows in points:
        if x in (1, 100):
            aims.at_most(f"time of updates of {x} %, Weft : incremental columns", of_columns, {1: 4.8, 100: 1.2}[x])
        if x == 1:
            aims.at_most("time of updates of 1 %, Weft : incremental rows", of_rows, 105)
    not_slower_than_duckdb(lines, aims, "fig6", "update_mean_us", "one upsert")
    cut = [line for line in lines.select("fig6", "update_s") if line["measured"] < line["updates"]]
    note = ["", "Where updates took longer than `--update-seconds`, those that were left ran in large transactions, and count "
            "with the mean of the measured ones."] if cut else []
    return ["Random single-row upserts of one column, one commit each.", "",
            *by_ratio(lines, "fig6", "update_s", "s for all upserts"), *note, "",
            *ablation_table(points, {1: ("4.8 %", "105 %"), 100: ("1.2 %", "-")}), *aims.text()]


def fig6_async(lines):
    points = list(beside_ablations(lines, "fig6-async", "update_s"))
    return ["The same upserts, each a commit that does not wait for the log: without a sync in each of them the difference between the "
            "forms of increments shows.", "", *by_ratio(lines, "fig6-async", "update_s", "s for all upserts"), "",
            *ablation_table(points, {1: ("4.8 %", "105 %"), 100: ("1.2 %", "-")})]


def fig7a(lines):
    points, aims = list(beside_ablations(lines, "fig7a", "query_ms")), Aims()
    for x, of_columns, of_rows in points:
        if x == 20:
            aims.at_most("query after updates of 20 %, Weft : incremental columns", of_columns, 102)
            aims.at_most("query after updates of 20 %, Weft : incremental rows", of_rows, 43)
    not_slower_than_duckdb(lines, aims, "fig7a", "query_ms", "the query")
    return ["`SELECT col_1 FROM table_1` after these upserts and the jobs that they caused; 0 % is the loaded table.", "",
            *by_ratio(lines, "fig7a", "query_ms", "ms"), "",
            "Right after the upserts, beside the jobs:", "", *by_ratio(lines, "fig7a", "query_at_once_ms", "ms"), "",
            *ablation_table(points, {20: ("102 %", "43 %"), 100: ("-", "15 %")}), *aims.text()]


def fig7b(lines):
    weft = whole_weft(lines, "fig7b")
    names = lines.configurations("fig7b")
    head = ["columns (ms)", *map(plots.label, names), "Weft : columns", "paper", "Weft : rows", "paper"]
    rows, aims = [], Aims()
    for x in lines.xs("fig7b", "query_ms"):
        ours, columns, row = (lines.value("fig7b", name, x, "query_ms") for name in (weft, "columns", "rows"))
        wanted = ("103 %", "16 %") if x == 5 else ("-", "-")
        rows.append([f"{x:g}", *(shown(lines.value("fig7b", name, x, "query_ms")) for name in names),
                     percent_text(percent(ours, columns)), wanted[0], percent_text(percent(ours, row)), wanted[1]])
        if x == 5:
            aims.at_most("projection of 5 columns, Weft : incremental rows", percent(ours, row), 16)
    not_slower_than_duckdb(lines, aims, "fig7b", "query_ms", "projection, columns")
    return ["Projections, integers and strings in turn, of rows of about 4 KB after all of these were upserted one by one.", "",
            *table(head, rows), *aims.text()]


def fig8(lines):
    rows, largest = [], {}
    for name in lines.configurations("fig8"):
        for x in lines.xs("fig8", "job_max_bytes"):
            for line in lines.select("fig8", "job_max_bytes", configuration=name, x=x):
                mean = lines.value("fig8", name, x, "job_mean_bytes", kind=line["kind"])
                most = lines.value("fig8", name, x, "job_max_bytes", kind=line["kind"])
                cpu = lines.value("fig8", name, x, "cpu_ms", kind=line["kind"])
                written = lines.value("fig8", name, x, "written_bytes", kind=line["kind"])
                row = [f"{x / 2**20:,.0f}", plots.label(name), line["kind"], shown(line["count"]), shown(mean / 2**20),
                       shown(most / 2**20), percent_text(percent(most, x)), shown(written and written / 2**20),
                       shown(cpu and cpu / 1000)]
                largest.setdefault(name, {}).setdefault(x, 0)
                largest[name][x] = max(largest[name][x], most)
                if row[:3] not in [known[:3] for known in rows]:
                    rows.append(row)
    aims = Aims()
    for name in ("fine-compaction", "default"):
        sizes = sorted(largest.get(name, {}))
        if len(sizes) > 1 and largest[name][sizes[0]]:
            grown, data = largest[name][sizes[-1]] / largest[name][sizes[0]], sizes[-1] / sizes[0]
            aims.at_most(f"the largest job grows, while the data grows {data:g} × (wanted: its root)", grown, data**0.5, "×")
    return ["Bytes that one job took in (files, and the row table that a conversion frees) or wrote, whichever are more, counted while it "
            "ran; every row was updated. In the paper a traditional compaction of 20 GB is one of 20 GB, a "
            "conversion one of 64 MB (the row table), and no other job passes 795 MB: 4 % of the data.", "",
            *table(["table, MB", "compaction", "kind", "jobs", "mean, MB", "largest, MB", "largest : table", "written, MB",
                    "core time, s"], rows), "", *amplification(lines),
            *aims.text()]


def amplification(lines):
    """Bytes written for each byte of an updated row."""
    rows = [[f"{x / 2**20:,.0f}", plots.label(name), shown(lines.value("fig8", name, x, "write_amplification")),
             shown(lines.value("fig8", name, x, "write_amplification_with_log"))]
            for name in lines.configurations("fig8") for x in lines.xs("fig8", "write_amplification")
            if lines.value("fig8", name, x, "write_amplification") is not None]
    return table(["table, MB", "compaction", "written by jobs : updated rows", "with the log"], rows) if rows else []


LAYERS = ["row tables", "incremental", "transition", "baseline"]


def met(lines, experiment, names):
    """What queries met: means over the run of table_1's layers, the jobs that ran, and SQL3 beside these."""
    rows = []
    for layer in LAYERS:
        values = [(lines.value(experiment, name, layer, "parts_mean"), lines.value(experiment, name, layer, "rows_mean"))
                  for name in names]
        if any(parts for parts, _ in values):
            rows.append([layer, *(f"{shown(parts)} ({shown(rows)})" for parts, rows in values)])
    for kind in [x for x in lines.xs(experiment, "jobs") if isinstance(x, str)]:
        metrics = ("jobs", "jobs_s", "jobs_cpu_s", "jobs_paused_s")
        values = [tuple(lines.value(experiment, name, kind, metric) for metric in metrics) for name in names]
        if any(count for count, *_ in values):
            rows.append([f"{kind} jobs: time, of it on a core, of it pauses", *(
                "-" if count is None else f"{shown(count)}: {shown(time)}, {shown(cpu)}, {shown(paused)} s"
                for count, time, cpu, paused in values)])
    for x, label in (("sql3_beside_jobs", "SQL3 beside working jobs"), ("sql3_without_jobs", "SQL3 without them")):
        shares = [share_of_sql3(lines, experiment, name, x) for name in names]
        if any(text != "-" for text in shares):
            rows.append([f"{label}: of all, p50 / p99 / p99.9", *shares])
    return ["", *table(["tables (rows), jobs", *map(plots.label, names)], rows)] if rows else []


def share_of_sql3(lines, experiment, name, x):
    """How many of all runs of SQL3 were such runs, and their quantiles."""
    some = dict((line["metric"], line) for line in lines.select(experiment, configuration=name, x=x))
    every = [line["count"] for line in lines.select(experiment, "p50", configuration=name, x="sql3")]
    if not some or not every:
        return "-"
    times = " / ".join(shown(some[quantile]["value"]) for quantile in ("p50", "p99", "p99.9"))
    return f"{percent_text(percent(some['p50']['count'], every[0]))}, {times} ms"


def tails(lines, experiment, mix):
    """Quantiles of SQL3 by scheduler, and their aims."""
    names = lines.configurations(experiment)
    head = ["SQL3 (ms)", *map(plots.label, names), "cost : greedy", "SynchroStore", "without scheduler", "paper's ratio"]
    rows, aims = [], Aims()
    for quantile in QUANTILES:
        values = {name: lines.value(experiment, name, "sql3", quantile) for name in names}
        ratio = percent(values.get("cost"), values.get("greedy"))
        full, without = PAPER_TABLE1[quantile]
        rows.append([quantile, *(shown(values[name]) for name in names), percent_text(ratio), shown(full), shown(without),
                     percent_text(percent(full, without))])
        if quantile in ("p99", "p99.9"):
            aims.at_most(f"{quantile} of SQL3, cost : greedy", ratio, {"p99": 75, "p99.9": 66}[quantile])
    counts = [line["count"] for line in lines.select(experiment, "p99", x="sql3")]
    if counts:
        aims.at_least("queries behind each of these", min(counts), 20_000, "")
    return [f"SQL3 under the mix: inserts and updates by one client, SQL3, SQL4 and SQL5 in turn by another, {mix}. The schedulers "
            "run in turns of some seconds, each on a database of its own, until SQL3 ran as often as wanted with each.",
            "", *table(head, rows), *met(lines, experiment, names), *aims.text()]


def table1(lines):
    return tails(lines, "table1", "both at full speed")


def paced(lines):
    rates = [median([y for name in lines.configurations("paced") for _, y in lines.series("paced", name, metric)])
             for metric in ("writes_per_s", "reads_per_s")]
    return tails(lines, "paced", f"with pauses of random lengths: {shown(rates[0])} writes and {shown(rates[1])} reads per second")


def fig9(lines):
    names = lines.configurations("fig9")
    weft = whole_weft(lines, "fig9")
    rows, of_tails, aims = [], [], Aims()
    wanted = {"insert": 27, "update": 12, "upsert": 5, "sql3": 100, "sql4": 100, "sql5": 100}
    for statement, most in wanted.items():
        values = {name: lines.value("fig9", name, statement, "p50") for name in names}
        tails = {name: lines.value("fig9", name, statement, "p99") for name in names}
        ours = percent(values.get(weft), values.get("duckdb"))
        greedy = percent(values.get(weft), values.get("greedy"))
        paper = PAPER_FIG9.get(statement, (None, None))
        rows.append([statement, *(f"{shown(values[name])} ({shown(tails[name])})" for name in names), percent_text(ours),
                     percent_text(percent(paper[0], 1)), percent_text(greedy), percent_text(percent(paper[1], 1))])
        aims.at_most(f"{statement}, Weft : DuckDB", ours, most)
        for quantile in ("p99", "p99.9"):
            ratio = percent(*(lines.value("fig9", name, statement, quantile) for name in ("cost", "greedy")))
            aims.at_most(f"{quantile} of {statement}, cost : greedy", ratio, 100)
            of_tails.append([statement, quantile, *(shown(lines.value("fig9", name, statement, quantile)) for name in names),
                             percent_text(ratio)])
    rates = []
    for mix in ("mix", "upserts"):
        for kind in ("writes_per_s", "reads_per_s"):
            what = f"{kind.split('_')[0]} per second{' beside upserts' if mix == 'upserts' and kind[0] == 'r' else ''}" \
                f"{' (upserts)' if mix == 'upserts' and kind[0] == 'w' else ''}"
            rates.append([what, *(shown(lines.value("fig9", name, mix, kind)) for name in names)])
    aims.at_least("writes per second at once", lines.value("fig9", weft, "mix", "writes_per_s"), 4_000, "1/s")
    aims.at_least("reads per second at once", lines.value("fig9", weft, "mix", "reads_per_s"), 320, "1/s")
    head = ["p50 (p99), ms", *map(plots.label, names), "Weft : DuckDB", "paper", "cost : greedy", "paper"]
    return ["One writer and one reader at full speed: inserts and updates in turn beside SQL3, SQL4 and SQL5 in turn; then upserts "
            "beside the same queries. The schedulers run in turns of some seconds, each on a database of its own.", "",
            *table(["tails, ms", "", *map(plots.label, names), "cost : greedy"], of_tails), "", *table(head, rows), "", *table(["at once", *map(plots.label, names)], rates),
            *aims.text()]


def median(values):
    return sorted(values)[len(values) // 2] if values else None


def probes(lines, name):
    """How fast the host was at the beginning and at the end."""
    for metric, what in (("host_spin", "two million additions"), ("host_sync", "a sync of 4 KiB")):
        values = [y for x, y in lines.series("soak", name, metric) if not isinstance(x, str)]
        third = max(len(values) // 3, 1)
        if values:
            yield what, median(values[:third]), median(values[-third:])


def slope_mb_per_hour(points):
    """Least squares over the last two thirds of the windows; None when there are too few."""
    if len(points) < 6:
        return None
    points = [(x / 3600, y / 2**20) for x, y in points if x >= points[-1][0] / 3]
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else None


def soak(lines):
    name = whole_weft(lines, "soak")
    p99 = [(x, y) for x, y in lines.series("soak", name, "reads_p99") if not isinstance(x, str)]
    aims = Aims()
    text = ["INSERT, UPDATE, upsert and DELETE in turn, so that the table keeps its size, beside SQL3, SQL4 and SQL5.", ""]
    limit, live = (lines.value("soak", name, "end", metric) for metric in ("memory_limit", "live_bytes"))
    resident, space, log = (max((y for _, y in lines.series("soak", name, metric)), default=None)
                            for metric in ("resident", "space", "log"))
    if p99:
        step = p99[1][0] - p99[0][0] if len(p99) > 1 else 0
        end = p99[-1][0] + step
        part = min(300, end / 3)
        first = median([y for x, y in p99 if part / 5 <= x < part / 5 + part])
        last = median([y for x, y in p99 if x >= end - part])
        rows = [[what, shown(value), unit] for what, value, unit in (
            ("time", end, "s"),
            (f"p99 of queries, first {part:.0f} s after {part / 5:.0f} s (median of windows)", first, "ms"),
            (f"the same, last {part:.0f} s", last, "ms"),
            ("writes per second (median of windows)", median([y for _, y in lines.series("soak", name, "writes_per_s")]), "1/s"),
            ("reads per second (median of windows)", median([y for _, y in lines.series("soak", name, "reads_per_s")]), "1/s"),
            ("most resident memory, without the clients' histograms", resident and resident / 2**20, "MB"),
            *((f"host: {what}, first and last third (median)", f"{shown(begin)}, {shown(finish)}", "µs")
              for what, begin, finish in probes(lines, name)),
            ("memory_limit", limit and limit / 2**20, "MB"),
            ("most bytes of all files", space and space / 2**20, "MB"),
            ("most bytes of log among these", log and log / 2**20, "MB"),
            ("bytes of the live rows after VACUUM", live and live / 2**20, "MB"))]
        text += table(["", "seen", "unit"], rows)
        aims.at_most("p99 of queries, last : first", percent(last, first), 120)
    slope = slope_mb_per_hour([(x, y) for x, y in lines.series("soak", name, "resident") if not isinstance(x, str)])
    aims.at_most("slope of resident memory after the first third", slope, 1, "MB/h")
    aims.at_most("resident memory : memory_limit", percent(resident, limit), 100)
    aims.at_most("all files but the log : live rows", percent(space and space - (log or 0), live), 200)
    return text + aims.text()


# Name, title, text, the image that shows it, the explanation below it.
SECTIONS = [
    ("fig1", "Figure 1: updates and a query after them, rows against columns", fig1, "fig1"),
    ("fig6", "Figure 6: updates", fig6, "fig6"),
    ("fig6-async", "Figure 6 with commits that do not wait for the log", fig6_async, "fig6"),
    ("fig7a", "Figure 7a: a query of one column after updates", fig7a, "fig6"),
    ("fig7b", "Figure 7b: projections after updates", fig7b, "fig7b"),
    ("fig8", "Figure 8: the size of one job", fig8, "fig8"),
    ("table1", "Table 1: tail latency under the mix", table1, "table1"),
    ("paced", "Table 1 with pauses: tail latency when cores are idle at times", paced, "paced"),
    ("fig9", "Figure 9: each statement under the mix", fig9, "fig9"),
    ("soak", "Soak: what grows", soak, "soak"),
]


def sections(lines, explanations=None):
    text = []
    for name, title, write, image in SECTIONS:
        if not lines.select(name):
            continue
        text += ["", f"## {title}", ""]
        text += write(lines)
        if explanations is not None:
            text += ["", f"![{title}](img/synchrostore-{image}.svg)", "", f"<!-- explanation: {name} -->",
                     explanations.get(name, "").strip("\n"), "<!-- end explanation -->"]
    return text


def runs(lines):
    text = []
    for experiments, facts in lines.runs:
        text += ["", f"## The run of {', '.join(experiments)}", "", *(f"- {name}: {value}" for name, value in facts.items())]
    return text


def results(lines):
    """The tables alone."""
    return "\n".join(runs(lines) + sections(lines)).strip() + "\n"


def explanations_of(text):
    found = re.findall(r"<!-- explanation: (\S+) -->\n(.*?)<!-- end explanation -->", text, re.S)
    return dict(found)


def update_doc(lines, folder):
    """Writes the document and its images; explanations stay."""
    path, known = os.path.join(folder, DOC), {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            known = explanations_of(file.read())
    plots.draw_all(lines, os.path.join(folder, "img"))
    text = [INTRODUCTION.rstrip("\n"), *runs(lines), *sections(lines, known)]
    kept = [name for name in known if known[name].strip() and not lines.select(name)]
    for name in kept:
        text += ["", f"<!-- explanation: {name} -->", known[name].strip("\n"), "<!-- end explanation -->"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")
