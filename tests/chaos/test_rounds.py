"""Short rounds of what `make chaos` does for half an hour."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from support.chaos.fleets import Fleet, Single
from support.chaos.rounds import Report, play_round

Chaos = Callable[[Fleet, int, float], Report]


def play(fleet: Fleet, seed: int, seconds: float) -> Report:
    async def round_() -> Report:
        try:
            await fleet.start()
            return await play_round(fleet, seed, seconds)
        finally:
            await fleet.close()

    return asyncio.run(round_())


@pytest.mark.parametrize("seed", [1])
def test_one_process_is_linearizable_and_its_watches_have_no_gaps(
    seed: int, tmp_path: Path
) -> None:
    report = play(Single(tmp_path), seed, 10.0)
    assert not report.problems, report.evidence
