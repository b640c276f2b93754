"""Short runs of `make soak`, and what it calls a growth."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.soak import Sample, Soak, growth


@pytest.mark.slow
def test_a_server_needs_no_more_after_hours_of_recurring_work(tmp_path: Path) -> None:
    soak = Soak(tmp_path)
    samples = asyncio.run(soak.play(4))
    assert soak.problems == []
    assert growth(samples) == []


@pytest.mark.parametrize("name", ["memory_mb", "files", "tasks", "store_kb", "events"])
def test_growth_in_the_second_half_is_told(name: str) -> None:
    flat = [Sample(hour, 60.0, 20, 140, 4000, 11) for hour in range(9)]
    assert growth(flat) == []
    risen = [
        sample._replace(**{name: getattr(sample, name) + 1000 * sample.hour}) for sample in flat
    ]
    (problem,) = growth(risen)
    assert problem.startswith(f"{name} grew")
