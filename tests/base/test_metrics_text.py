"""Metrics in Prometheus' text format."""

from __future__ import annotations

import math

import pytest

from fairlead.base.metrics import Counter, Gauge, Histogram, format_text


def test_a_counter_has_its_suffix_and_its_labels_in_order() -> None:
    counter = Counter("requests", "All of them.", ("verb", "code"))
    counter.add(2, ("GET", "200"))
    assert format_text([counter.snapshot()]).decode() == (
        "# HELP requests_total All of them.\n"
        "# TYPE requests_total counter\n"
        'requests_total{code="200",verb="GET"} 2.0\n'
    )


def test_a_bare_counter_has_no_suffix() -> None:
    assert b"# TYPE rejection_count counter" in format_text(
        [Counter("rejection_count", "", bare=True).snapshot()]
    )


def test_a_gauge_is_read_when_the_snapshot_is_taken() -> None:
    gauge = Gauge("bytes", "Size.")
    gauge.read = lambda: {(): 5}
    assert format_text([gauge.snapshot()]).decode().splitlines()[-1] == "bytes 5.0"


def test_a_histogram_has_buckets_that_add_up_then_count_and_sum() -> None:
    histogram = Histogram("seconds", "Time.", (0.5, 1.0), ("name",))
    for seconds in (0.25, 0.5, 0.75, 3.0):
        histogram.observe(seconds, ("x",))
    assert format_text([histogram.snapshot()]).decode().splitlines()[2:] == [
        'seconds_bucket{le="0.5",name="x"} 2.0',
        'seconds_bucket{le="1.0",name="x"} 3.0',
        'seconds_bucket{le="+Inf",name="x"} 4.0',
        'seconds_count{name="x"} 4.0',
        'seconds_sum{name="x"} 4.5',
    ]


def test_text_from_elsewhere_cannot_end_a_line_or_a_label() -> None:
    gauge = Gauge("a", "one\\two\nthree", ("label",))
    gauge.set(1, ('x"} 5\n\\',))
    assert format_text([gauge.snapshot()]).decode().splitlines() == [
        r"# HELP a one\\two\nthree",
        "# TYPE a gauge",
        r'a{label="x\"} 5\n\\"} 1.0',
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999999, "999999.0"),
        (1_000_000, "1e+06"),
        (1_234_567.5, "1.2345675e+06"),
        (2**53, "9.007199254740992e+15"),
        (1e20, "1e+20"),
        (math.inf, "+Inf"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_are_written_as_prometheus_does(value: float, text: str) -> None:
    gauge = Gauge("a", "")
    gauge.set(value)
    assert format_text([gauge.snapshot()]).decode().splitlines()[-1] == f"a {text}"
