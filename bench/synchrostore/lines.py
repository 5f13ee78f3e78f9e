"""The numbers of a run: JSON lines {experiment, system, configuration, x, metric, value, unit, ...}, one per round."""

import json
import statistics
import sys


class Lines:
    def __init__(self, lines, facts):
        self.lines, self.facts = lines, facts

    @classmethod
    def read(cls, path):
        with open(path, encoding="utf-8") as file:
            read = [json.loads(line) for line in file if line.strip()]
        facts = next((line["facts"] for line in read if "facts" in line), {})
        return cls([line for line in read if "facts" not in line], facts)

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
