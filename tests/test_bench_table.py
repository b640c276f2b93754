"""The table of docs/performance.md and the quick baseline match the measurements."""

from __future__ import annotations

import json

from bench.document import (
    BEGIN,
    BEGIN_BESIDE,
    END,
    PAGE,
    PUBLISHED,
    PUBLISHED_BESIDE,
    missing,
    rendered,
    rendered_beside,
)
from bench.objects import message, new, with_number
from bench.quick import BASELINE, MAX_RATIO, table
from bench.quick_cases import CASES
from bench.targets import TARGETS


def test_the_table_is_what_the_kept_figures_say() -> None:
    _, _, rest = PAGE.read_text().partition(BEGIN)
    assert rest.partition(END)[0] == rendered(json.loads(PUBLISHED.read_text()))


def test_the_table_beside_a_reference_is_what_the_kept_figures_say() -> None:
    _, _, rest = PAGE.read_text().partition(BEGIN_BESIDE)
    kept = json.loads(PUBLISHED_BESIDE.read_text())
    assert rest.partition(END)[0] == rendered_beside(kept)
    assert [row["name"] for row in kept["rows"] if row["error"]] == []


def test_every_case_has_a_figure_and_says_what_bounds_it() -> None:
    assert missing(json.loads(PUBLISHED.read_text())) == []
    assert [name for name, item in TARGETS.items() if not item.bounds] == ["etcd-alone"]


def test_every_quick_case_has_a_baseline() -> None:
    for name, kept in json.loads(BASELINE.read_text()).items():
        assert kept["a request"].keys() == CASES.keys(), name


def test_a_case_fails_over_its_bound_and_without_a_baseline() -> None:
    known = {"dear": 100.0, "same": 100.0}
    costs = {"dear": 100.0 * MAX_RATIO + 1, "same": 100.0 * MAX_RATIO, "new": 1.0}
    assert table(costs, known)[1] == ["dear", "new"]


def test_numbered_objects_are_whole_in_both_forms() -> None:
    for number in (1, 20_000, 12_345_678):
        text = with_number(json.dumps(new("pods")).encode(), number)
        value = json.loads(text)
        assert value["metadata"]["name"] == f"pod-{number:08d}"
        assert with_number(message("pods", new("pods")), number) == message("pods", value)
