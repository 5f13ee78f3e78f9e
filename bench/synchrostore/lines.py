"""The numbers of a run: JSON lines {experiment, system, configuration, x, metric, value, unit, ...}, one per round."""

import json
import os
import statistics
import sys

# Figures that are measured by the run of another.
RUN_OF = {"fig7a": "fig6"}


class Lines:
    def __init__(self, lines, runs):
        """`runs` has for each run the names of its experiments, and the facts of the machine and the sizes."""
        self.lines, self.runs = lines, runs

    @classmethod
    def read(cls, path):
        with open(path, encoding="utf-8") as file:
            read = [json.loads(line) for line in file if line.strip()]
        runs = [line for line in read if "facts" in line]
        return cls([line for line in read if "facts" not in line], [(run["experiments"], run["facts"]) for run in runs])

    @staticmethod
    def text_without(path, experiments):
        """The text of a file of lines without those of some experiments; empty when there is no file."""
        if not os.path.exists(path):
            return ""
        kept = []
        with open(path, encoding="utf-8") as file:
            for line in map(json.loads, file):
                if "facts" in line:
                    line["experiments"] = [name for name in line["experiments"] if name not in experiments]
                    keeps = bool(line["experiments"])
                else:
                    keeps = RUN_OF.get(line["experiment"], line["experiment"]) not in experiments
                if keeps:
                    kept.append(json.dumps(line) + "\n")
        return "".join(kept)

    def select(self, experiment, metric=None, **fields):
        return [line for line in self.lines if line["experiment"] == experiment and metric in (None, line["metric"])
                and all(line.get(name) == value for name, value in fields.items())]

    def value(self, experiment, configuration, x, metric, **fields):
        """The median of the rounds; None when there is no such line."""
        values = [line["value"] for line in self.select(experiment, metric, configuration=configuration, x=x, **fields)]
        return statistics.median(values) if values else None

    def configurations(self, experiment):
        """In the order in which they ran; DuckDB last."""
        names = list(dict.fromkeys(line["configuration"] for line in self.select(experiment)))
        return sorted(names, key=lambda name: name == "duckdb")

    def xs(self, experiment, metric):
        xs = dict.fromkeys(line["x"] for line in self.select(experiment, metric))
        return sorted(xs, key=lambda x: (isinstance(x, str), x))

    def series(self, experiment, configuration, metric, **fields):
        """Points of a curve."""
        points = [(x, self.value(experiment, configuration, x, metric, **fields)) for x in self.xs(experiment, metric)]
        return [(x, value) for x, value in points if value is not None]

    def compare_sums(self):
        """Ends the run when two configurations or systems have different sums at the same point."""
        sums = {}
        for line in self.lines:
            if line["metric"] == "sum":
                sums.setdefault((line["experiment"], line["x"], line["rows"]), set()).add(int(line["value"]))
        for place, found in sums.items():
            if len(found) > 1:
                sys.exit(f"different sums at {place}: {sorted(found)}")
