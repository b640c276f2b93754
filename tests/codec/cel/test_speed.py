"""The time that rules take."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from support.expressions import EXAMPLE, THING
from support.pace import in_time

from fairlead.codec.cel.compile import compile_expression

VARIABLES = {"self": THING, "oldSelf": THING}
TYPICAL = "!has(self.count) || !has(self.other) || self.count <= self.other"


def microseconds(action: Callable[[], object], times: int) -> float:
    """The CPU time of an action, the best of several rounds."""
    rounds = []
    for _ in range(7):
        start = process_time()
        for _ in range(times):
            action()
        rounds.append((process_time() - start) / times * 1e6)
    return min(rounds)


def test_a_rule_that_compares_two_integers_takes_at_most_three_microseconds() -> None:
    program = compile_expression("self.count <= self.other", VARIABLES)
    values = {"self": EXAMPLE, "oldSelf": EXAMPLE}
    assert in_time(microseconds(lambda: program.evaluate(values, 1000), 2000), 3)


def test_a_typical_rule_compiles_within_a_millisecond() -> None:
    assert in_time(microseconds(lambda: compile_expression(TYPICAL, VARIABLES), 50), 1000)
