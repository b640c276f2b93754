"""deploy/grafana/fairlead.json is what tools/dashboard.py makes, and a whole dashboard."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import pytest
from support.composed import DEPLOY

TARGET = DEPLOY / "grafana" / "fairlead.json"
CONTENT: dict[str, Any] = json.loads(TARGET.read_text())


def test_it_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DEPLOY.parent / "tools"))
    import dashboard

    assert TARGET.read_text() == dashboard.dashboard(), "run tools/dashboard.py"


def test_every_panel_reads_the_chosen_source_in_its_own_place() -> None:
    panels = [panel for panel in CONTENT["panels"] if panel["type"] != "row"]
    assert len(panels) >= 15
    for panel in panels:
        assert panel["targets"]
        sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
        assert {source["uid"] for source in sources} == {"${datasource}"}
    assert len({panel["id"] for panel in CONTENT["panels"]}) == len(CONTENT["panels"])
    places = [panel["gridPos"] for panel in CONTENT["panels"]]
    assert not any(overlap(*pair) for pair in combinations(places, 2))


def overlap(first: dict[str, int], second: dict[str, int]) -> bool:
    return all(
        first[start] < second[start] + second[size] and second[start] < first[start] + first[size]
        for start, size in (("x", "w"), ("y", "h"))
    )


def test_servers_can_be_chosen() -> None:
    names = [variable["name"] for variable in CONTENT["templating"]["list"]]
    assert names == ["datasource", "instance"]
