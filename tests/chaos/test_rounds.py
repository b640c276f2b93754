"""Short rounds of `make chaos`: one of each shape, and more with `--all`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from support.chaos.fleets import Fleet, OnEtcd, Single, Workers
from support.chaos.rounds import Report, play_round
from support.etcd import needs_etcd

SECONDS = 20.0
MORE = pytest.mark.slow


def play(make: Callable[[Path], Fleet], directory: Path, seed: int) -> Report:
    async def round_() -> Report:
        fleet = make(directory)
        try:
            await fleet.start()
            return await play_round(fleet, seed, SECONDS)
        finally:
            await fleet.close()

    return asyncio.run(round_())


def test_one_process_is_linearizable_and_its_watches_have_no_gaps(tmp_path: Path) -> None:
    report = play(Single, tmp_path, 1)
    assert not report.problems, report.evidence


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=MORE)])
def test_workers_are_linearizable_and_their_watches_have_no_gaps(tmp_path: Path, seed: int) -> None:
    report = play(Workers, tmp_path, seed)
    assert not report.problems, report.evidence


@needs_etcd
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=MORE) for seed in (2, 3))])
def test_servers_on_etcd_are_linearizable_and_their_watches_have_no_gaps(
    tmp_path: Path, seed: int
) -> None:
    report = play(OnEtcd, tmp_path, seed)
    assert not report.problems, report.evidence
