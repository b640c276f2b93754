"""Counters, gauges and histograms of the process: plain dictionaries, formatted only on request.

All updates happen on the event loop, so there are no locks. `snapshot` copies there; the copy may
be formatted in another thread, by `format_text`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairlead.base.compiled import mypyc_attr

Labels = tuple[str, ...]

SECONDS: Final[tuple[float, ...]] = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
    10.0,
)  # fmt: skip
SIZES: Final[tuple[float, ...]] = (
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    50.0,
    100.0,
    200.0,
    500.0,
    1000.0,
    2000.0,
    5000.0,
)


CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"  # of `format_text`
_EXPONENT_FROM: Final = 1e6
_NOT_FINITE: Final = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}


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

    def as_tuple(self) -> tuple[Any, ...]:
        """Return the fields as a tuple that can be sent to another process."""
        rows = dict(self.rows)
        return self.name, self.kind, self.text, self.labels, self.bounds, rows, self.common


def merged(processes: Iterable[Iterable[Family]]) -> list[Family]:
    """Merge the metrics of all processes of a server: common metrics are taken from the first
    process that has them, all others are added up."""
    families_by_name: dict[str, Family] = {}
    for families in processes:
        for family in families:
            before = families_by_name.get(family.name)
            if before is None:
                families_by_name[family.name] = family
            elif not family.common:
                families_by_name[family.name] = _sum(before, family)
    return list(families_by_name.values())


def _sum(first: Family, second: Family) -> Family:
    rows = dict(first.rows)
    for labels, row in second.rows.items():
        before = rows.get(labels)
        if before is None:
            rows[labels] = row
        elif isinstance(row, float | int) and isinstance(before, float | int):
            rows[labels] = before + row
        elif isinstance(row, Sequence) and isinstance(before, Sequence):
            rows[labels] = [a + b for a, b in zip(before, row, strict=True)]
    return Family(
        first.name, first.kind, first.text, first.labels, first.bounds, rows, first.common
    )


def format_text(families: Iterable[Family]) -> bytes:
    """Return metrics in Prometheus' text format."""
    out: list[str] = []
    for family in families:
        name, text = family.name, family.text.replace("\\", r"\\").replace("\n", r"\n")
        out.append(f"# HELP {name} {text}\n# TYPE {name} {family.kind}\n")
        for values, row in family.rows.items():
            labels = [
                f'{label}="{_escaped(value)}"'
                for label, value in zip(family.labels, values, strict=True)
            ]
            if isinstance(row, float | int):
                out.append(_sample(name, labels, row))
            else:
                out += _histogram_samples(name, labels, family.bounds, row)
    return "".join(out).encode()


def _histogram_samples(
    name: str, labels: list[str], bounds: tuple[float, ...], row: Sequence[float]
) -> list[str]:
    out: list[str] = []
    total = 0.0
    for bound, count in zip((*map(str, map(float, bounds)), "+Inf"), row, strict=False):
        total += count
        out.append(_sample(f"{name}_bucket", [*labels, f'le="{bound}"'], total))
    out.append(_sample(f"{name}_count", labels, total))
    out.append(_sample(f"{name}_sum", labels, row[-1]))
    return out


def _sample(name: str, labels: list[str], value: float) -> str:
    shown = f"{{{','.join(sorted(labels))}}}" if labels else ""
    return f"{name}{shown} {_number(value)}\n"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    """Format a number as briefly as possible, with an exponent from a million on."""
    text = repr(float(value))
    if value >= _EXPONENT_FROM and "." in text and "e" not in text:
        digits = text.replace(".", "").rstrip("0")
        return f"{value:.{len(digits) - 1}e}"
    return _NOT_FINITE.get(text, text)


@mypyc_attr(allow_interpreted_subclasses=True)
class Counter:
    """A number that only rises. `_total` is appended to its name unless it is `bare`. If `read` is
    set, a snapshot calls it for the current values."""

    kind = "counter"
    read: Callable[[], dict[Labels, float]] | None = None
    common = False  # see Family

    def __init__(self, name: str, text: str, labels: Labels = (), *, bare: bool = False) -> None:
        self.name = name if bare else f"{name}_total"
        self.text = text
        self.labels = labels
        self.values: dict[Labels, float] = {}

    def add(self, by: float = 1, of: Labels = ()) -> None:
        values = self.values
        values[of] = values.get(of, 0) + by

    def value(self, of: Labels = ()) -> float:
        return self.values.get(of, 0)

    def snapshot(self) -> Family:
        values = dict(self.values) if self.read is None else self.read()
        return Family(self.name, self.kind, self.text, self.labels, (), values, self.common)


@mypyc_attr(allow_interpreted_subclasses=True)
class Gauge(Counter):
    """A number that rises and falls."""

    kind = "gauge"

    def __init__(self, name: str, text: str, labels: Labels = ()) -> None:
        super().__init__(name, text, labels, bare=True)

    def set(self, value: float, of: Labels = ()) -> None:
        self.values[of] = value


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
        self.observe_in(self.row(of), value)

    def observe_in(self, row: list[float], value: float) -> None:
        """Count an observation in a row that a hot path got from `row` once."""
        row[bisect_left(self.bounds, value)] += 1
        row[-1] += value

    def row(self, of: Labels) -> list[float]:
        """Return the counts for a set of label values: the buckets, then the sum."""
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
        counter = Counter(name, text, labels, bare=bare)
        self._metrics.append(counter)
        return counter

    def gauge(self, name: str, text: str, labels: Labels = ()) -> Gauge:
        gauge = Gauge(name, text, labels)
        self._metrics.append(gauge)
        return gauge

    def histogram(
        self, name: str, text: str, bounds: tuple[float, ...] = SECONDS, labels: Labels = ()
    ) -> Histogram:
        histogram = Histogram(name, text, bounds, labels)
        self._metrics.append(histogram)
        return histogram

    def snapshot(self) -> list[Family]:
        return [metric.snapshot() for metric in self._metrics]


REGISTRY: Final = Registry()
