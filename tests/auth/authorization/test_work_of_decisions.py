"""The cost of a decision, counted in calls, which does not depend on the machine."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from types import FrameType

import pytest
from support.authorization import World, ask, rule, user

VERBS = ("get list watch", "create update patch", "delete deletecollection")
WARM, COLD = 8, 1100


def calls(work: Callable[[], object]) -> int:
    """Return the number of Python functions that run, built-in ones included."""
    count = 0

    def see(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def filled(bindings: int, spread: bool) -> World:
    """A role for every five bindings, of ten rules each."""
    world = World()
    roles = bindings // 5
    for number in range(roles):
        rules = [
            rule(
                "core apps batch",
                f"x{number}-{part} x{number}-{part}/status y{part}",
                VERBS[part % 3],
            )
            for part in range(10)
        ]
        world.role(f"role-{number}", *rules)
    for number in range(bindings):
        namespace = f"ns{number % 20}" if spread and number % 2 else ""
        subjects = [f"user:u{number % 300}", f"group:g{number % 50}"] if spread else ["group:all"]
        role = f"role-{number % roles}"
        world.bind(f"b{number}", role, *subjects, namespace=namespace, kind="ClusterRole")
    return world


QUESTION = ask(
    user("u7", "g1", "g2", "all", "system:authenticated"), "get", "apps:nothing/status", "ns7", "x"
)


@pytest.mark.parametrize("spread", [True, False], ids=["spread", "all-on-one-group"])
def test_a_decision_among_a_thousand_bindings_is_bounded_work(spread: bool) -> None:
    world = filled(1000, spread)
    assert calls(lambda: world.rbac.decide(QUESTION)) <= COLD


def test_bindings_of_others_cost_nothing() -> None:
    alone = filled(50, spread=True)
    crowd = filled(50, spread=True)
    for number in range(1000):
        crowd.bind(f"other{number}", "role-0", f"user:other{number}", kind="ClusterRole")
    assert calls(lambda: crowd.rbac.decide(QUESTION)) == calls(lambda: alone.rbac.decide(QUESTION))


@pytest.mark.parametrize("bindings", [50, 1000])
def test_a_remembered_decision_is_a_lookup(bindings: int) -> None:
    world = filled(bindings, spread=False)
    assert not asyncio.run(world.authorizer.allowed(QUESTION))
    assert calls(lambda: world.authorizer.decide_cached(QUESTION)) <= WARM
