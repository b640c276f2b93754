"""The flag that enables the simulation."""

from __future__ import annotations

import argparse
from collections.abc import Callable

MAX_NODES = 5_000


def add_simulation_flags(
    parser: argparse.ArgumentParser, whole_number: Callable[[str], int]
) -> None:
    def count(text: str) -> int:
        found = whole_number(text)
        if found > MAX_NODES:
            raise argparse.ArgumentTypeError(f"{text} are too many nodes: {MAX_NODES} at most")
        return found

    parser.add_argument_group("Simulation").add_argument(
        "--simulate-nodes",
        type=count,
        default=0,
        metavar="N",
        help="number of simulated nodes, with a scheduler; pods on them start, run"
        " and end without containers",
    )
