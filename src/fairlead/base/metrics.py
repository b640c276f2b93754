"""Counters, gauges and histograms of the process: plain dictionaries, formatted only on request.

All updates happen on the event loop, so there are no locks. `snapshot` copies there; the copy may
be formatted in another thread.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlead.base.compiled import mypyc_attr

Labels = tuple[str, ...]

SECONDS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
    10.0,
)  # fmt: skip
SIZES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)


@dataclass(frozen=True, slots=True)
class Family:
    """A snapshot of one metric. `rows` maps label values to a number, or for a histogram to the
    counts of the buckets (the last is open) followed by the sum. A `common` metric has the same
    value in every process of a server."""

    name: str
    kind: str
    text: str
    labels: Labels
    bounds: tuple[float, ...]
    rows: Mapping[Labels, float | Sequence[float]]
    common: bool = False

    def plain(self) -> tuple[Any, ...]:
        """Return the fields as a tuple that can be sent to another process."""
        rows = dict(self.rows)
        return self.name, self.kind, self.text, self.labels, self.bounds, rows, self.common


def merged(processes: Iterable[Iterable[Family]]) -> list[Family]:
    """Merge the metrics of all processes of a server: common metrics are taken from the first
    process that has them, all others are added up."""
    found: dict[str, Family] = {}
    for families in processes:
        for family in families:
            before = found.get(family.name)
            if before is None:
                found[family.name] = family
            elif not family.common:
                found[family.name] = _sum(before, family)
    return list(found.values())


def _sum(one: Family, other: Family) -> Family:
    rows = dict(one.rows)
    for labels, row in other.rows.items():
        before = rows.get(labels)
        if before is None:
            rows[labels] = row
        elif isinstance(row, float | int) and isinstance(before, float | int):
            rows[labels] = before + row
        elif isinstance(row, Sequence) and isinstance(before, Sequence):
            rows[labels] = [a + b for a, b in zip(before, row, strict=True)]
    return Family(one.name, one.kind, one.text, one.labels, one.bounds, rows, one.common)


@mypyc_attr(allow_interpreted_subclasses=True)
class Counter:
    """A number that only rises. Its name is given without `_total`, which the output appends unless
    it is `bare`."""

    kind = "counter"

    def __init__(self, name: str, text: str, labels: Labels = (), *, bare: bool = False) -> None:
        self.name = name
        self.text = text
        self.labels = labels
        self.bare = bare
        self.values: dict[Labels, float] = {}

    def add(self, by: float = 1, of: Labels = ()) -> None:
        values = self.values
        values[of] = values.get(of, 0) + by

    def value(self, of: Labels = ()) -> float:
        return self.values.get(of, 0)

    def snapshot(self) -> Family:
        return Family(self.name, self.kind, self.text, self.labels, (), dict(self.values))


@mypyc_attr(allow_interpreted_subclasses=True)
class Gauge(Counter):
    """A number that rises and falls. If `read` is set, a snapshot calls it for the current
    value."""

    kind = "gauge"
    read: Callable[[], float] | None = None

    def set(self, value: float, of: Labels = ()) -> None:
        self.values[of] = value

    def snapshot(self) -> Family:
        if self.read is not None:
            self.set(self.read())
        return super().snapshot()


class Histogram:
    """Counts observations by bucket."""

    def __init__(
        self, name: str, text: str, bounds: tuple[float, ...] = SECONDS, labels: Labels = ()
    ) -> None:
        self.name = name
        self.text = text
        self.bounds = bounds
        self.labels = labels
        self.rows: dict[Labels, list[float]] = {}

    def observe(self, value: float, of: Labels = ()) -> None:
        row = self.row(of)
        row[bisect_left(self.bounds, value)] += 1
        row[-1] += value

    def row(self, of: Labels) -> list[float]:
        """Return the counts for a set of label values (the buckets, then the sum), for hot paths
        that update them directly."""
        row = self.rows.get(of)
        if row is None:
            row = self.rows[of] = [0.0] * (len(self.bounds) + 2)
        return row

    def snapshot(self) -> Family:
        rows = {key: tuple(row) for key, row in self.rows.items()}
        return Family(self.name, "histogram", self.text, self.labels, self.bounds, rows)


class Registry:
    """The metrics of a process, in order of creation."""

    def __init__(self) -> None:
        self._metrics: list[Counter | Histogram] = []

    def counter(self, name: str, text: str, labels: Labels = (), *, bare: bool = False) -> Counter:
        made = Counter(name, text, labels, bare=bare)
        self._metrics.append(made)
        return made

    def gauge(self, name: str, text: str, labels: Labels = ()) -> Gauge:
        made = Gauge(name, text, labels)
        self._metrics.append(made)
        return made

    def histogram(
        self, name: str, text: str, bounds: tuple[float, ...] = SECONDS, labels: Labels = ()
    ) -> Histogram:
        made = Histogram(name, text, bounds, labels)
        self._metrics.append(made)
        return made

    def add(self, metric: Counter | Histogram) -> None:
        """Register a metric that was created elsewhere."""
        self._metrics.append(metric)

    def bare_names(self) -> list[str]:
        """Return the names of the counters that are shown without `_total`."""
        return [one.name for one in self._metrics if isinstance(one, Counter) and one.bare]

    def snapshot(self) -> list[Family]:
        return [metric.snapshot() for metric in self._metrics]


REGISTRY = Registry()
