"""The formula of docs/sizing.md."""

from __future__ import annotations

import pytest

from bench.sizing import BEGIN, COSTS, END, PAGE, Size, needs, tables

ALL = dict.fromkeys(COSTS, 1.0)
ONE = Size("one", 1024, 1024, 1.0, 1.0, 2)


def test_formula_adds_up_what_each_costs() -> None:
    memory, cores, disk, written = needs(ALL, ONE)
    history = 300 / 1024  # MB of five minutes
    assert memory == pytest.approx(1 + 1 + 1 + history + 1)  # base, objects, watches, forms
    assert cores == pytest.approx(1 + 1e-6 * (1 + 2 + 1))  # idle, the update, two events, the get
    assert disk == pytest.approx(1 + history)
    assert written == pytest.approx(1 / 1024)


def test_formula_has_the_limits_of_the_flags() -> None:
    memory, _, disk, _ = needs(ALL, ONE._replace(objects=10**9, changes=10**6))
    stored = 10**9 / 1024
    assert memory == pytest.approx(1 + stored + 1 + 64 + 64)
    assert disk == pytest.approx(stored + 2048)


def test_page_has_the_measured_tables() -> None:
    _, _, rest = PAGE.read_text().partition(BEGIN)
    written, end, _ = rest.partition(END)
    assert end
    for name in COSTS:
        assert f"| `{name}` |" in written
    assert len(written.splitlines()) == len(tables(ALL, "note").splitlines())
