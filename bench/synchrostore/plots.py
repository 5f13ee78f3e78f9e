"""The figures as SVG: small, the same bytes for the same numbers."""

import os

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

matplotlib.rcParams.update({
    "svg.hashsalt": "weft", "svg.fonttype": "none", "font.size": 8, "axes.grid": True, "grid.color": "#dddddd",
    "axes.axisbelow": True, "legend.fontsize": 7, "axes.spines.top": False, "axes.spines.right": False,
    "font.family": "sans-serif", "lines.markersize": 3.5, "lines.linewidth": 1.2,
})

LABELS = {"columns": "incremental columns", "rows": "incremental rows", "fine": "Weft", "default": "Weft",
          "none": "no updates", "duckdb": "DuckDB", "cost": "Weft, cost", "greedy": "Weft, greedy", "off": "Weft, off",
          "fine-compaction": "fine-grained", "whole": "traditional"}
COLORS = {"columns": "#c46a1b", "rows": "#6b4fa0", "fine": "#1b6ac4", "default": "#1b6ac4", "none": "#777777",
          "duckdb": "#b8a000", "cost": "#1b6ac4", "greedy": "#c4421b", "off": "#777777", "fine-compaction": "#1b6ac4",
          "whole": "#c4421b"}


def label(name):
    return LABELS.get(name, name)


def color(name):
    return COLORS.get(name)


def panels(count):
    figure, axes = plt.subplots(1, count, figsize=(3.5 * count, 2.6), squeeze=False)
    return figure, list(axes[0])


def curve(axis, points, name, **style):
    if points:
        xs, ys = zip(*points)
        axis.plot(xs, ys, marker="o", label=style.pop("label", label(name)), color=style.pop("color", color(name)), **style)


def named(axis, title, x, y, log=False):
    axis.set_title(title, fontsize=8)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    if log:
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(frameon=False)


def updates_and_queries(lines, updates, queries, figure_name):
    figure, (left, right) = panels(2)
    for name in lines.configurations(updates):
        curve(left, lines.series(updates, name, "update_s"), name)
    for name in lines.configurations(queries):
        points = lines.series(queries, name, "query_ms")
        curve(right, points, name)
        if name in ("fine", "default") and points and points[0][0] == 0:
            right.axhline(points[0][1], color=color("none"), linestyle=":", linewidth=1, label=label("none"))
    named(left, f"{figure_name[0]} updates", "updated rows, %", "time of all updates, s", log=True)
    named(right, f"{figure_name[1]} query of one column", "updated rows, %", "time, ms")
    return figure


def fig1(lines):
    return updates_and_queries(lines, "fig1", "fig1", ("1a", "1b"))


def fig6(lines):
    return updates_and_queries(lines, "fig6", "fig7a", ("6", "7a"))


def fig7b(lines):
    figure, (axis,) = panels(1)
    for name in lines.configurations("fig7b"):
        curve(axis, lines.series("fig7b", name, "query_ms"), name)
    named(axis, "7b projection after all rows were updated", "columns", "time, ms", log=True)
    return figure


def fig8(lines):
    figure, axes = panels(2)
    for axis, metric, title in zip(axes, ("job_mean_bytes", "job_max_bytes"), ("mean", "largest")):
        styles = iter(["-", "--", ":", "-."] * 3)
        for name in lines.configurations("fig8"):
            for kind in sorted({line["kind"] for line in lines.select("fig8", metric, configuration=name)}):
                points = [(x / 2**20, y / 2**20) for x, y in lines.series("fig8", name, metric, kind=kind)]
                curve(axis, points, name, label=f"{label(name)}: {kind}", linestyle=next(styles))
        named(axis, f"8 {title} job", "table, MB", "bytes of one job, MB", log=True)
    return figure


def tails(lines, experiment, title):
    figure, (axis,) = panels(1)
    for name in lines.configurations(experiment):
        points = [(metric, lines.value(experiment, name, "sql3", metric)) for metric in ("p50", "p75", "p99", "p99.9", "p99.99")]
        curve(axis, [point for point in points if point[1] is not None], name)
    named(axis, title, "quantile", "time, ms", log=True)
    return figure


def table1(lines):
    return tails(lines, "table1", "table 1 SQL3 under the mix")


def paced(lines):
    return tails(lines, "paced", "SQL3 under the mix with pauses")


def fig9(lines):
    figure, axes = panels(2)
    names = lines.configurations("fig9")
    for axis, statements, title in zip(axes, (["insert", "update", "upsert"], ["sql3", "sql4", "sql5"]), ("9a", "9b")):
        width = 0.8 / max(len(names), 1)
        for place, name in enumerate(names):
            values = [lines.value("fig9", name, statement, "p50") or 0 for statement in statements]
            axis.bar([at + place * width for at in range(len(statements))], values, width, label=label(name), color=color(name))
        axis.set_xticks([at + 0.4 - width / 2 for at in range(len(statements))], statements)
        named(axis, f"{title} p50 under the mix", "", "time, ms", log=title == "9a")
    return figure


def soak(lines):
    figure, axes = panels(3)
    for name in lines.configurations("soak"):
        def numbers(metric, scale=1.0, name=name):
            return [(x / 60, y * scale) for x, y in lines.series("soak", name, metric) if not isinstance(x, str)]

        curve(axes[0], numbers("reads_p99"), name, label="p99 of queries")
        curve(axes[0], numbers("reads_p50"), name, label="p50", color="#777777")
        curve(axes[1], numbers("resident", 2**-20), name, label="resident")
        limit = lines.value("soak", name, "end", "memory_limit")
        if limit:
            axes[1].axhline(limit / 2**20, color="#c4421b", linestyle=":", label="memory_limit")
        curve(axes[2], numbers("space", 2**-20), name, label="all files")
        curve(axes[2], numbers("log", 2**-20), name, label="log", color="#777777")
        live = lines.value("soak", name, "end", "live_bytes")
        if live:
            axes[2].axhline(live / 2**20, color="#c4421b", linestyle=":", label="live rows")
    for axis, title, unit in zip(axes, ("latency", "memory", "space"), ("ms", "MB", "MB")):
        named(axis, f"soak: {title}", "minutes", unit)
    return figure


FIGURES = {"fig1": fig1, "fig6": fig6, "fig7b": fig7b, "fig8": fig8, "table1": table1, "paced": paced, "fig9": fig9, "soak": soak}


def draw_all(lines, folder):
    """One file per figure that has numbers; their names."""
    os.makedirs(folder, exist_ok=True)
    drawn = []
    for name, draw in FIGURES.items():
        if lines.select(name):
            figure = draw(lines)
            figure.tight_layout()
            figure.savefig(os.path.join(folder, f"synchrostore-{name}.svg"), metadata={"Date": None})
            plt.close(figure)
            drawn.append(name)
    return drawn
